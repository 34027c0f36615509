"""commit, merge-driver: commands that keep notes in git."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memtool.cli import render
from memtool.cli.main import NO, OK
from memtool.errors import GitError, UsageError

if TYPE_CHECKING:
    from memtool.commits.commit_report import CommitReport
    from memtool.identity import Signature
    from memtool.memory.memory import Memory


def flags(command: str, parser: argparse.ArgumentParser) -> None:
    """Give *parser* the flags of *command*."""
    if command == "commit":
        parser.add_argument("notes", nargs="*", metavar="NOTE", help="only these (default: all that changed)")
        signature_flags(parser)
        help_ = "let the likely secret in this line be committed; say why with --reason"
        parser.add_argument("--allow-secret", action="append", default=[], metavar="NOTE:LINE", help=help_)
        parser.add_argument("--accept-loss", action="store_true", help="commit that most notes are gone")
        parser.add_argument("--dry-run", action="store_true", help="only say what would be committed")
    elif command == "merge-driver":
        parser.add_argument("kind", choices=("note", "catalog"), help="what is merged")
        for name in ("base", "ours", "theirs"):
            parser.add_argument(name, type=Path, metavar=name.upper(), help=f"the file with {name}")


def signature_flags(parser: argparse.ArgumentParser) -> None:
    """Let a change be signed; `signed` reads these flags."""
    parser.add_argument("--writer", default="", metavar="NAME", help="who writes: human or agent/NAME")
    parser.add_argument("--session", default="", metavar="ID", help="in which session")
    parser.add_argument("--reason", default="", metavar="TEXT", help="why")


def signed(options: argparse.Namespace, who: Signature) -> Signature | None:
    """Read who signs: *who*, but for what the flags say; None when nobody does. Raises UsageError."""
    from memtool.identity import overridden

    return overridden(who, options.writer, options.session, options.reason)


def run(options: argparse.Namespace) -> int:
    """Run one of this group's commands."""
    if options.command == "merge-driver":
        return _merge(options)
    from memtool.memory.memory import Memory

    with Memory.open(options.vault) as memory:
        return _commit(memory, options)


def _commit(memory: Memory, options: argparse.Namespace) -> int:
    paths = [memory.vault.spell(path) for path in options.notes] or None
    by, loss = signed(options, memory.who), options.accept_loss
    for anchor in options.allow_secret:
        memory.allow_secret(anchor, by or memory.who)
    report = memory.commit(paths, by=by, again=True, accept_loss=loss, dry_run=options.dry_run)
    if options.json:
        render.document(report_value(report))
    else:
        tell(report)
        if report.complete and not report.commits:
            render.err("nothing to commit")
    return OK if report.complete else NO


def tell(report: CommitReport) -> None:
    """Print what was committed, and what was not."""
    for commit in report.commits:
        if commit.revision:
            render.out(f"{commit.revision[:10]}  {commit.subject}")
        else:
            render.out(f"would commit {', '.join(commit.paths)}")
            for line in ["", *commit.message.rstrip("\n").split("\n"), ""]:
                render.out(f"    {line}".rstrip())
    for finding in report.findings:
        render.err(str(finding))


def report_value(report: CommitReport) -> dict[str, Any]:
    """Give a report as JSON values; keys are only ever added."""
    return {
        "commits": [{**commit._asdict(), "paths": list(commit.paths)} for commit in report.commits],
        "left": list(report.left),
        "findings": render.findings_value(report.findings),
        "waiting": list(report.waiting),
    }


def _merge(options: argparse.Namespace) -> int:
    from memtool.merging import merging

    merge = merging.merge_note if options.kind == "note" else merging.merge_catalog
    try:
        merged = merge(*(file.read_bytes() for file in (options.base, options.ours, options.theirs)))
        options.ours.write_bytes(merged.data)
    except OSError as error:
        raise UsageError(
            f"the versions cannot be merged: {error}", fix="let git call this command"
        ) from error
    return OK if merged.clean else NO


def set_drivers(folder: Path, options: argparse.Namespace) -> int:
    """Set git's merge drivers up for the vault at *folder*, or take them out again, and tell."""
    changed = change_drivers(folder, install=options.git_hooks)
    if options.json:
        render.document({"vault": str(folder), "git_hooks": options.git_hooks, "changed": changed})
        return OK
    state = "set up" if options.git_hooks else "taken out"
    done = f" ({', '.join(changed)})" if changed else ", as before"
    render.out(f"{folder}: merge drivers and pre-commit hook {state}{done}")
    return OK


def change_drivers(folder: Path, *, install: bool) -> list[str]:
    """Set merge drivers and pre-commit hook up, or take them out; give what was changed in the repository."""
    import sys

    from memtool import git_hooks
    from memtool.git import Git
    from memtool.merging import drivers
    from memtool.vault import Vault

    git = Git(Vault.open(folder).root)
    if problem := git.problem():
        raise GitError(problem.what, fix=problem.fix)
    changed = drivers.install(git, sys.executable) if install else drivers.remove(git)
    hook = git_hooks.install(git, sys.executable) if install else git_hooks.remove(git)
    if hook.remark:
        render.err(hook.remark)
    return [*changed, *hook.changed]
