"""search, show, status: commands that change nothing in the vault."""

from __future__ import annotations

import argparse

from memtool.cli import attending, filters, render, usage
from memtool.cli.main import NO, OK
from memtool.memory.memory import Memory
from memtool.note.anchor import Anchor


def flags(command: str, parser: argparse.ArgumentParser) -> None:
    """Give *parser* the flags of *command*."""
    if command == "search":
        _search_flags(parser)
    elif command == "show":
        parser.add_argument("anchor", help="path:start-end, path:line, or a whole note's path")
        parser.add_argument("--as-of", default="", metavar="WHEN", help="as it was at a commit, tag or date")
        attending.unit_flag(parser)
        usage.log_flag(parser)


def _search_flags(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("question", nargs="+", help="what to find, in plain words")
    add("--limit", type=int, metavar="N", help="hits at most (default 5; with --semantic 3)")
    add("--min-score", type=float, metavar="X", help="show hits from this score on (default: calibrated)")
    add(
        "--type",
        action="append",
        default=[],
        metavar="TYPE",
        help="only notes of this type (may be repeated)",
    )
    add(
        "--tag",
        action="append",
        default=[],
        metavar="TAG",
        help="only notes with this tag (repeated: with all)",
    )
    add("--path", default="", metavar="GLOB", help="only notes whose path matches")
    add("--since", default="", metavar="DAY", help="only notes of this ISO day or later")
    add("--until", default="", metavar="DAY", help="only notes of this ISO day or earlier")
    filters.mode_flags(parser)
    add("--fusion", choices=("weighted", "rrf"), default="weighted", help="how words and meaning are joined")
    add("--score", choices=("relevance", "recall"), help="recall: use and importance count, too")
    add("--archived", action="store_true", help="look into the archive, too")
    add("--explain", action="store_true", help="every ranker's score and rank, and the near misses")
    add("--budget", type=float, metavar="TOKENS", help="the best hits that fit into so many tokens")
    look = parser.add_mutually_exclusive_group()
    look.add_argument("--fresh", action="store_true", help="exit 2 unless all current bytes were searched")
    add("--as-of", default="", metavar="WHEN", help="search the vault as it was at a commit, tag or date")
    add("--now", default="", metavar="DAY", help="the day that counts as today (default: the clock's)")
    add("--blame", action="store_true", help="who wrote the lines shown, when, and were they verified")
    look.add_argument(
        "--no-refresh", dest="refresh", action="store_false", help="answer from the index as it is"
    )
    attending.unit_flag(parser)
    attending.opened_flag(parser)
    usage.log_flag(parser)


def run(options: argparse.Namespace) -> int:
    """Run one of this group's commands."""
    with Memory.open(options.vault) as memory:
        return perform(memory, options)


def perform(memory: Memory, options: argparse.Namespace) -> int:
    """Run one of this group's commands on a memory that is open already."""
    return {"search": _search, "show": _show, "status": _status}[options.command](memory, options)


def _search(memory: Memory, options: argparse.Namespace) -> int:
    question = " ".join(options.question)
    answer = memory.search(
        question,
        min_score=options.min_score,
        budget=options.budget,
        fusion=options.fusion,
        refresh=options.refresh,
        fresh=options.fresh,
        as_of=options.as_of,
        blame=options.blame or options.json,
        session="" if options.as_of else attending.unit_of(options),
        opened=options.opened,
        score=options.score,
        **filters.chosen(options),
    )
    if options.json:
        render.document(render.answer_document(question, answer, explain=options.explain))
    else:
        render.answer(question, answer, explain=options.explain)
        if answer.leant:
            attending.leant(answer.leant)
        if not answer and not options.archived and (many := memory.archived()):
            render.err(f"# {render.counted(many, 'archived note')} not searched; --archived looks into them")
    if not options.as_of:
        usage.record(memory, options, "shown", [hit.anchor for hit in answer], question)
    return OK if answer else NO


def _show(memory: Memory, options: argparse.Namespace) -> int:
    lines = memory.show(options.anchor, as_of=options.as_of)
    if not options.as_of:  # before anything is printed: whoever reads may stop after the first lines
        attending.open_in(memory, options, options.anchor)
    if options.json:
        numbered = [{"line": number, "text": text} for number, text in lines]
        version = {} if options.as_of else {"digest": memory.digest(lines)}
        render.document({"anchor": options.anchor, **version, "lines": numbered, "notice": render.NOTICE})
    else:
        for number, text in lines:
            render.numbered(number, text)
        if options.anchor.startswith("archive/") and not options.as_of:
            render.err("# it is archived; `memtool restore` brings it back, as opening it again will offer")
    if not options.as_of:
        anchor = Anchor.parse(options.anchor)
        usage.record(memory, options, "opened", [anchor._replace(path=memory.vault.resolve(anchor.path))])
    return OK


def _status(memory: Memory, options: argparse.Namespace) -> int:
    status = memory.status()
    if options.json:
        value = {**status._asdict(), "ahead": status.ahead._asdict(), "coverage": status.coverage._asdict()}
        value["findings"] = render.findings_value(status.findings)
        value["watcher"] = status.watcher._asdict() if status.watcher else None
        render.document(value)
        return OK
    ahead = status.ahead
    waiting = f"{ahead.read} to read, {ahead.gone} gone" if ahead.read or ahead.gone else "nothing to read"
    place = (
        f" at {status.revision[:7]}" + (f" on {status.branch}" if status.branch else "")
        if status.revision
        else ""
    )
    render.out(f"vault     {status.root}{place}")
    render.out(f"notes     {status.notes} in {render.counted(status.chunks, 'chunk')}; {waiting}")
    coverage = status.coverage
    if status.embedder == "none":
        render.out("vectors   none (the embedder is switched off)")
    else:
        waiting = f"; {render.counted(coverage.notes_waiting, 'note')} not looked at yet"
        told = f"vectors   {coverage.have} of {coverage.want} texts ({status.embedder})"
        render.out(told + (waiting if coverage.notes_waiting else ""))
    render.out(
        f"cache     words {render.size(status.index_bytes)}, vectors {render.size(status.vector_bytes)}"
    )
    if status.watcher:
        render.out(f"watcher   {status.watcher}")
    render.out(f"findings  {len(status.findings) or 'none'}")
    render.findings(status.findings)
    return OK
