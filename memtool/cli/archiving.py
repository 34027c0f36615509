"""ask, bench: let a model answer from the notes, and see what that sends."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from memtool.cli import remembering, render, usage
from memtool.cli.main import NO, OK
from memtool.errors import UsageError

if TYPE_CHECKING:
    from memtool.archivist.archivist import Reply


def flags(command: str, parser: argparse.ArgumentParser) -> None:
    """Give *parser* the flags of *command*."""
    add = parser.add_argument
    if command == "ask":
        add("question", nargs="+", help="what to answer, in plain words")
        add("--budget", type=float, default=1500, metavar="TOKENS", help="tokens of context (default 1500)")
        add("--session", default="", metavar="ID", help="in which session (default: MEMTOOL_SESSION)")
        add("--no-record", dest="record", action="store_false", help="keep no note of question and answer")
        add("--paste-all", action="store_true", help="send every note, as was done before there was a search")
        usage.log_flag(parser)
    else:
        add("what", choices=("context",), help="context: characters sent per turn as the vault grows")
        add("--notes", default="100,1000,10000", metavar="N,...", help="sizes of the vaults that are made")
        add("--budget", type=float, default=1500, metavar="TOKENS", help="tokens of context (default 1500)")


def run(options: argparse.Namespace) -> int:
    """Run one of this group's commands."""
    return {"ask": _ask, "bench": _bench}[options.command](options)


def _ask(options: argparse.Namespace) -> int:
    from memtool.archivist.archivist import Archivist

    with Archivist(options.vault, budget=options.budget, session=options.session) as archivist:
        question = " ".join(options.question)
        reply = archivist.ask(question, record=options.record, paste_all=options.paste_all)
        shown = [item.anchor for item in reply.context.items if item.path] if reply.context else []
        usage.record(archivist.memory, options, "shown", shown, question)
        usage.record(archivist.memory, options, "cited", reply.anchors, question)
    if options.json:
        render.document(_document(reply))
    elif reply.model:
        _show(reply)
    else:
        assert reply.context is not None
        remembering.show(reply.context)
        render.err(reply.remarks[-1])
    return OK if reply.model or (reply.context and reply.context.items) else NO


def _show(reply: Reply) -> None:
    for line in reply.text.split("\n"):
        render.out(line)
    for anchor in reply.unknown:
        render.err(f"not among the lines that were sent: {anchor}; do not rely on it")
    if not reply.anchors:
        render.err("the answer names no line that was sent; do not rely on it")
    for remark in reply.remarks:
        render.err(f"# {remark}")
    kept = f", kept as {reply.recorded}" if reply.recorded else ""
    render.err(f"# by {reply.model} from {reply.sent} characters{kept}")


def _document(reply: Reply) -> dict[str, object]:
    return {
        "question": reply.question,
        "answer": reply.text,
        "model": reply.model,
        "anchors": list(reply.anchors),
        "unknown": list(reply.unknown),
        "recorded": str(reply.recorded) if reply.recorded else None,
        "sent": reply.sent,
        "context": remembering.document(reply.context) if reply.context else None,
        "remarks": list(reply.remarks),
        "notice": render.NOTICE,
    }


def _bench(options: argparse.Namespace) -> int:
    from memtool.archivist import growth

    try:
        sizes = [int(text) for text in options.notes.split(",")]
        if not all(0 < size <= 100_000 for size in sizes):
            raise ValueError("a vault has from 1 to 100,000 notes here")
    except ValueError as error:
        fix = "write it as `--notes 100,1000`"
        raise UsageError(f"{options.notes!r} names no sizes", why=str(error), fix=fix) from error
    rows = [growth.measure(size, budget=options.budget) for size in sizes]
    if options.json:
        render.document({"rows": [row._asdict() for row in rows]})
    else:
        body = [[str(row.notes), f"{row.context:.0f}", f"{row.paste_all:.0f}"] for row in rows]
        render.table(["notes", "context", "paste-all"], body)
    return OK
