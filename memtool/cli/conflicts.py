"""conflicts: the lines of notes that contradict each other, and what a person says of them."""

from __future__ import annotations

import argparse
from typing import Any

from memtool.cli import keeping, render
from memtool.cli.main import NO, OK
from memtool.errors import UsageError
from memtool.memory.conflicting import Conflict, Quote
from memtool.memory.memory import Memory


def flags(command: str, parser: argparse.ArgumentParser) -> None:
    """Give *parser* the flags of *command*."""
    add = parser.add_argument
    add(
        "what",
        nargs="*",
        metavar="NOTE|ANCHOR",
        help="a note, or lines of one (default: the whole vault); or: accept A B --as WHAT",
    )
    add("--since", default="", metavar="REV", help="only notes that changed since that revision or day")
    add("--judge", action="store_true", help="ask the configured chat model about each pair, once")
    add(
        "--as",
        dest="judgement",
        choices=("supersedes", "contradicts", "same"),
        help="with accept: A replaces B; they do contradict; they do not",
    )
    add("--dry-run", action="store_true", help="with accept: only show the change as a diff")
    keeping.signature_flags(parser)


def run(options: argparse.Namespace) -> int:
    """Run one of this group's commands."""
    with Memory.open(options.vault, writer=options.writer, session=options.session) as memory:
        return _accept(memory, options) if options.what[:1] == ["accept"] else _list(memory, options)


def _accept(memory: Memory, options: argparse.Namespace) -> int:
    if len(options.what) != 3 or not options.judgement:
        fix = "write `memtool conflicts accept A B --as supersedes`, contradicts or same"
        raise UsageError("accept needs two lines and what is said of them", fix=fix)
    by = keeping.signed(options, memory.who)
    _, one, other = options.what
    anchor = memory.accept_conflict(one, other, options.judgement, by=by, dry_run=options.dry_run)
    if options.json:
        render.document({"anchor": str(anchor), "as": options.judgement, "diff": memory.planned})
    elif options.dry_run:
        for line in memory.planned.split("\n")[:-1]:
            render.out(line)
    else:
        render.out(str(anchor))
    return OK


def _list(memory: Memory, options: argparse.Namespace) -> int:
    if len(options.what) > 1 or options.judgement:
        raise UsageError("one note is looked at, or all", fix="name one, or write `accept` before two lines")
    target = options.what[0] if options.what else ""
    found = memory.conflicts(target, since=options.since, judge=options.judge)
    if options.json:
        render.document({"conflicts": [_value(one) for one in found]})
    else:
        for one in found:
            _tell(one)
        for remark in memory.take_remarks():
            render.err(remark)
        render.err(render.counted(len(found), "possible conflict") if found else "nothing contradicts")
    return NO if found else OK


def _tell(one: Conflict) -> None:
    agreed = "  (agreed)" if one.agreed else ""
    render.out(f"{one.kind}  {one.one.word or '-'} | {one.other.word or '-'}{agreed}")
    for quote in (one.one, one.other):
        about = "  ".join(filter(None, (str(quote.anchor), quote.when, quote.writer)))
        render.out(f"  {about}")
        render.out(f"    {render.shortened(quote.text, 160)}")
    if one.verdict:
        render.out(f"  {one.verdict.model}: {one.verdict.verdict}. {one.verdict.why}".rstrip())
    render.out("")


def _value(one: Conflict) -> dict[str, Any]:
    return {
        "kind": one.kind,
        "one": _quote(one.one),
        "other": _quote(one.other),
        "likeness": one.likeness,
        "agreed": one.agreed or None,
        "verdict": one.verdict._asdict() if one.verdict else None,
    }


def _quote(quote: Quote) -> dict[str, Any]:
    return {
        **quote._asdict(),
        "anchor": str(quote.anchor),
        "path": quote.anchor.path,
        "line": quote.anchor.start,
    }
