"""verify, stale, types: commands that keep notes true."""

from __future__ import annotations

import argparse

from memtool.cli import render
from memtool.cli.main import NO, OK
from memtool.memory.memory import Memory


def flags(command: str, parser: argparse.ArgumentParser) -> None:
    """Give *parser* the flags of *command*."""
    add = parser.add_argument
    if command == "verify":
        add("anchor", help="path:start-end, or a whole note's path")
        add("--against", required=True, metavar="SOURCE", help="what it was checked against, in one line")
        add("--review-by", default="", metavar="DATE", help="the day from which it needs review")
        add("--dry-run", action="store_true", help="only show the change as a diff")
        add(
            "--writer",
            default="",
            metavar="NAME",
            help="in whose name (default: MEMTOOL_WRITER, else a person)",
        )
        add("--session", default="", metavar="ID", help="the session it belongs to")


def run(options: argparse.Namespace) -> int:
    """Run one of this group's commands."""
    if options.command == "types":
        return _types(options)
    writer, session = getattr(options, "writer", ""), getattr(options, "session", "")
    with Memory.open(options.vault, writer=writer, session=session) as memory:
        return {"verify": _verify, "stale": _stale}[options.command](memory, options)


def _verify(memory: Memory, options: argparse.Namespace) -> int:
    covered = memory.verify(
        options.anchor, against=options.against, review_by=options.review_by, dry_run=options.dry_run
    )
    if options.dry_run:
        for line in memory.planned.split("\n")[:-1]:
            render.out(line)
    elif options.json:
        render.document({"anchor": str(covered), "against": options.against, "review_by": options.review_by})
    else:
        render.out(f"{covered}  verified against {options.against}")
    return OK


def _stale(memory: Memory, options: argparse.Namespace) -> int:
    due, review = memory.stale()
    if options.json:
        notes = [{"path": one.path, "reasons": list(one.reasons)} for one in due]
        render.document({"needs_review": notes, "findings": render.findings_value(review.findings)})
    else:
        for one in due:
            render.out(f"{one.path}  needs review: {'; '.join(one.reasons)}")
        for finding in review.findings:
            render.err(str(finding))
        render.err(
            f"{render.counted(len(due), 'note')} to review" if due else "nothing that is watched moved"
        )
    return NO if due else OK


def _types(options: argparse.Namespace) -> int:
    from memtool import kinds

    if options.json:
        render.document({"types": [kind._asdict() for kind in kinds.KINDS.values()]})
    else:
        for row in kinds.table():
            render.out(row)
    return OK
