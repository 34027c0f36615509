"""feedback, usage, unopened: commands about what was used; and how other commands record use."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from memtool.cli import render
from memtool.cli.main import FAILED, NO, OK

if TYPE_CHECKING:
    from memtool.memory.memory import Memory
    from memtool.note.anchor import Anchor
    from memtool.usage.unopened import Unopened
    from memtool.usage.usage import Use


def flags(command: str, parser: argparse.ArgumentParser) -> None:
    """Give *parser* the flags of *command*."""
    add = parser.add_argument
    if command == "feedback":
        add("anchor", help="path:start-end, path:line, or a whole note's path")
        add("judgement", choices=("good", "bad"), help="whether the lines helped")
        add("--reason", default="", metavar="TEXT", help="why, in a few words")
        add("--writer", default="", metavar="NAME", help="who judges: human or agent/NAME")
        add("--session", default="", metavar="ID", help="in which session")
    elif command == "usage":
        add(
            "note",
            nargs="?",
            default="",
            metavar="NOTE",
            help="one note only (default: all, most used first)",
        )
        add("--limit", type=int, default=20, metavar="N", help="notes at most (0: all)")
    elif command == "unopened":
        add("--limit", type=int, default=20, metavar="N", help="notes at most (0: all)")


def log_flag(parser: argparse.ArgumentParser) -> None:
    """Let a command that reads leave no trace in the usage ledger."""
    parser.add_argument(
        "--no-log", dest="log", action="store_false", help="do not count this use; as MEMTOOL_USAGE=0"
    )


def record(
    memory: Memory,
    options: argparse.Namespace,
    event: str,
    anchors: Iterable[Anchor | str],
    question: str = "",
) -> None:
    """Count what a command showed; a ledger that cannot be written is a remark, never a failure."""
    environment = getattr(options, "environment", os.environ)
    if not getattr(options, "log", True):
        return
    from memtool.errors import UsageError
    from memtool.identity import HUMAN, identify
    from memtool.usage import usage

    if not usage.is_on(environment):
        return
    try:
        who = identify("", "", environment)
    except UsageError:
        who = HUMAN
    remark = usage.record(
        memory.vault,
        event,
        anchors,
        question=question,
        session=who.session,
        writer=who.writer,
        environment=environment,
    )
    if remark:
        render.err(remark)


def run(options: argparse.Namespace) -> int:
    """Run one of this group's commands."""
    from memtool.memory.memory import Memory

    writer, session = getattr(options, "writer", ""), getattr(options, "session", "")
    with Memory.open(options.vault, writer=writer, session=session) as memory:
        return {"feedback": _feedback, "usage": _usage, "unopened": _unopened}[options.command](
            memory, options
        )


def _feedback(memory: Memory, options: argparse.Namespace) -> int:
    remark = memory.feedback(options.anchor, options.judgement == "good", reason=options.reason)
    if options.json:
        told = {
            "anchor": options.anchor,
            "judgement": options.judgement,
            "kept": not remark,
            "remark": remark,
        }
        render.document(told)
    elif not remark:
        render.out(f"{options.anchor}  {options.judgement}")
    if remark:
        render.err(remark)
    return FAILED if remark else OK


def _usage(memory: Memory, options: argparse.Namespace) -> int:
    counted = memory.usage(options.note)
    order = sorted(counted, key=lambda path: (-_weight(counted[path]), path))
    shown = order[: options.limit] if options.limit > 0 else order
    if options.json:
        render.document({"notes": [{"path": path, **use_value(counted[path])} for path in shown]})
        return OK if shown else NO
    for path in shown:
        render.out(f"{path}  {_told(counted[path])}")
        for reason in counted[path].reasons if options.note else ():
            render.out(f"    said: {reason}")
    if not shown:
        render.err(f"{options.note or 'no note'}: no use is recorded yet")
    if len(shown) < len(order):
        render.err(f"and {len(order) - len(shown)} more; --limit 0 names them all")
    return OK if shown else NO


def _weight(use: Use) -> int:
    return use.shown + 3 * (use.opened + use.cited + use.good)


def _told(use: Use) -> str:
    parts = [f"{name} {getattr(use, name)}" for name in ("shown", "opened", "cited", "good", "bad")]
    return ", ".join(parts)


def use_value(use: Use) -> dict[str, Any]:
    """Give counts as JSON values; keys are only ever added."""
    from datetime import UTC, datetime

    last = datetime.fromtimestamp(use.last, UTC).isoformat() if use.last else None
    return {**use._asdict(), "last": last, "best": use.best or None, "reasons": list(use.reasons)}


def _unopened(memory: Memory, options: argparse.Namespace) -> int:
    found = memory.unopened()
    shown = found[: options.limit] if options.limit > 0 else found
    if options.json:
        render.document({"notes": [_unopened_value(one) for one in shown], "count": len(found)})
        return NO if found else OK
    for one in shown:
        render.out(f"{one.path}  {one.title}" if one.title else one.path)
        for cause in one.causes:
            render.out(f"    why: {cause.what}")
            if cause.fix:
                render.out(f"    fix: {cause.fix}")
    if not found:
        render.err("every note was opened at least once")
    if len(shown) < len(found):
        render.err(f"and {len(found) - len(shown)} more; --limit 0 names them all")
    return NO if found else OK


def _unopened_value(one: Unopened) -> dict[str, Any]:
    causes = [cause._asdict() for cause in one.causes]
    return {"path": one.path, "title": one.title, "use": use_value(one.use), "causes": causes}
