"""init, index, catalog: commands that make a vault and what is worked out from it."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Callable, Iterable

from memtool.cli import keeping, render
from memtool.cli.main import NO, OK
from memtool.errors import UsageError
from memtool.memory.memory import Memory


def flags(command: str, parser: argparse.ArgumentParser) -> None:
    """Give *parser* the flags of *command*."""
    {"init": _init_flags, "index": _index_flags, "catalog": _catalog_flags}[command](parser)


def _init_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", nargs="?", default=".", metavar="DIR", help="where (default: here)")
    parser.add_argument("--yes", action="store_true", help="do not ask before touching a folder with content")
    parser.add_argument("--empty", action="store_true", help="without the notes of the template")
    parser.add_argument("--no-git", dest="git", action="store_false", help="without a git repository")
    parser.add_argument(
        "--git-hooks",
        action=argparse.BooleanOptionalAction,
        help="let git merge notes key by key, and MEMORY.md entry by entry; --no-git-hooks undoes it",
    )


def _index_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--rebuild", action="store_true", help="make the index anew (vectors are kept by their text)"
    )
    parser.add_argument(
        "--no-embed", dest="embed", action="store_false", help="words only; vectors come later"
    )
    parser.add_argument("--catalog", action="store_true", help="write MEMORY.md too")
    parser.add_argument(
        "--accept-loss", action="store_true", help="let the notes go that vanished all at once"
    )


def _catalog_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="only tell which pages would change")


def run(options: argparse.Namespace) -> int:
    """Run one of this group's commands."""
    if options.command == "init":
        return _init(options)
    with Memory.open(options.vault) as memory:
        return {"index": _index, "catalog": _catalog}[options.command](memory, options)


# -- init ----------------------------------------------------------------------------------


def _init(options: argparse.Namespace) -> int:
    from memtool import template

    plan = template.plan(options.dir, notes=not options.empty, git=options.git)
    if options.git_hooks is not None and (plan.occupied or not options.git_hooks):
        return keeping.set_drivers(plan.folder, options)
    if plan.occupied and not options.yes:
        _ask(
            f"{plan.folder} is not empty; add {len(plan.new)} files beside what is there (--empty: none)? "
            "Existing files stay as they are."
        )
    made = template.apply(plan)
    hooks = {"git_hooks": keeping.change_drivers(made.folder, install=True)} if options.git_hooks else {}
    if options.json:
        render.document({"vault": str(made.folder), "files": list(made.new), "git": made.git, **hooks})
        return OK
    render.out(
        f"{made.folder}: {render.counted(len(made.new), 'file')}"
        + (", a new git repository" if made.git else "")
    )
    if made.remark:
        render.err(made.remark)
    what = "how do I rotate the staging key" if made.new else "your question"
    render.err(f'next: memtool search --vault {shlex.quote(str(made.folder))} "{what}"')
    return OK


def _ask(question: str) -> None:
    """Go on only when a person says yes."""
    if not sys.stdin.isatty():
        raise UsageError(
            question.split(";")[0],
            why="nobody is there to be asked",
            fix="add --yes, or name an empty folder",
        )
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UsageError("nothing was done", fix="say yes, or name an empty folder")


# -- index ---------------------------------------------------------------------------------


def _index(memory: Memory, options: argparse.Namespace) -> int:
    if options.rebuild:
        memory.rebuild()
    begun = time.monotonic()
    report = memory.refresh(accept_loss=options.accept_loss, progress=_bar("reading", "note"))
    _phase(
        f"words: {render.counted(memory.index.count('notes'), 'note')} in "
        f"{render.counted(memory.index.chunk_count(), 'chunk')}; "
        f"{report.added} new, {report.changed} changed, {report.removed} gone",
        begun,
    )
    if options.embed:
        _embed(memory)
    if options.catalog:
        _tell_catalog(memory.catalog(), "written")
    if options.json:
        render.document(
            {
                **{key: value for key, value in report._asdict().items() if key != "findings"},
                "coverage": memory.coverage()._asdict() if options.embed else None,
                "findings": render.findings_value(report.findings),
            }
        )
    for remark in memory.take_remarks():
        render.err(remark)
    for finding in report.findings:
        render.err(str(finding))
    return NO if report.paused else OK


def _embed(memory: Memory) -> None:
    if memory.embedder is None:
        render.err("vectors: none, the embedder is switched off")
        return
    begun = time.monotonic()
    coverage = memory.coverage()
    if coverage.leads_missing and coverage.leads_missing < coverage.missing:
        _embed_round(memory, "vectors of notes", coverage.leads_missing)
    _embed_round(memory, "vectors of chunks", None)
    coverage = memory.coverage()
    _phase(f"vectors: {coverage.have} of {coverage.want} texts", begun)


def _embed_round(memory: Memory, name: str, most: int | None) -> None:
    tell, close = _meter(name)
    try:
        memory.embed(most=most, again=most is None, progress=tell)
    finally:
        close()


def _phase(words: str, begun: float) -> None:
    render.err(f"{words} ({time.monotonic() - begun:.1f} s)")


def _bar(name: str, unit: str) -> Callable[[Iterable[object], int], Iterable[object]] | None:
    """Give a progress bar on a terminal, nothing elsewhere: there one line a phase is enough."""
    if not sys.stderr.isatty():
        return None

    def wrap(items: Iterable[object], total: int) -> Iterable[object]:
        from tqdm import tqdm

        bar: Iterable[object] = tqdm(items, total=total, desc=name, unit=unit, leave=False)
        return bar

    return wrap


def _meter(name: str) -> tuple[Callable[[int, int], None] | None, Callable[[], None]]:
    if not sys.stderr.isatty():
        return None, lambda: None
    from tqdm import tqdm

    bar = tqdm(desc=name, unit="text", leave=False)

    def tell(done: int, total: int) -> None:
        bar.total = total
        bar.update(done - bar.n)

    return tell, bar.close


# -- catalog ---------------------------------------------------------------------------


def _catalog(memory: Memory, options: argparse.Namespace) -> int:
    report = memory.catalog(write=not options.dry_run)
    if options.json:
        render.document({**report._asdict(), "findings": render.findings_value(report.findings)})
    else:
        _tell_catalog(report, "would change" if options.dry_run else "written")
    return NO if report.findings else OK


def _tell_catalog(report: object, verb: str) -> None:
    from memtool.catalog.cataloguing import CatalogReport

    assert isinstance(report, CatalogReport)
    for path in report.changed:
        render.err(f"{path}: {verb}")
    if not report.changed:
        render.err(f"MEMORY.md: up to date ({render.counted(len(report.pages), 'page')})")
    for path in report.stale:
        render.err(f"{path}: nothing leads to this generated page any more; delete it")
    for finding in report.findings:
        render.err(str(finding))
