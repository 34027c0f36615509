"""state: what a unit of work is about; and how search and show take part in one."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from memtool.cli import render
from memtool.cli.main import NO, OK

if TYPE_CHECKING:
    from memtool.memory.attending import StateView
    from memtool.memory.memory import Memory
    from memtool.search.query import Leant

#: Where a unit of work is named that no flag names. Not MEMTOOL_SESSION: a unit outlives the sessions in it.
VARIABLE = "MEMTOOL_SESSION_STATE"

SIZES = ("8x8", "16x16", "32x32", "multi-head", "multi-head+words")


def flags(command: str, parser: argparse.ArgumentParser) -> None:
    """Give *parser* the flags of *command*."""
    add = parser.add_argument
    words = "UNIT to show it, `reset UNIT` to empty it, `drop UNIT` to throw it away; nothing lists all"
    add("what", nargs="*", metavar="UNIT", help=words)
    add("--list", action="store_true", help="all units of work, the one used last first")
    add("--size", choices=SIZES, default="", help="with `reset`: the size of the state from now on")
    add("--limit", type=int, default=5, metavar="N", help="lines it points at, at most")


def unit_flag(parser: argparse.ArgumentParser) -> None:
    """Let a command take part in a unit of work."""
    parser.add_argument(
        "--session",
        default=None,
        metavar="UNIT",
        help=f"the unit of work whose state takes part ('': none; default: {VARIABLE})",
    )


def opened_flag(parser: argparse.ArgumentParser) -> None:
    """Say what becomes of opened lines."""
    parser.add_argument(
        "--opened",
        choices=("lower", "keep", "omit"),
        default="lower",
        help="with --session: what becomes of chunks that were opened in full (default: lower)",
    )


def unit_of(options: argparse.Namespace) -> str:
    """Give the unit of work that a command takes part in, "" for none."""
    if options.session is not None:
        return str(options.session)
    environment = getattr(options, "environment", os.environ)
    return str(environment.get(VARIABLE, ""))


def open_in(memory: Memory, options: argparse.Namespace, anchor: str) -> None:
    """Tell the unit of work that lines were opened; what cannot be kept is a remark, never a failure."""
    unit = unit_of(options)
    if not unit:
        return
    from memtool.errors import MemtoolError

    try:
        memory.opened(unit, anchor)
    except (MemtoolError, OSError) as error:
        why = error.what if isinstance(error, MemtoolError) else error
        render.err(f"the session state of `{unit}` was not updated: {why}")


def leant(told: Leant) -> None:
    """Say how far a question was leant, and why."""
    how = f"leant by {told.alpha:.1f}" if told.alpha else "left alone"
    lowered = f"; {render.counted(told.lowered, 'opened chunk')} lower or left out" if told.lowered else ""
    render.err(f"# session `{told.unit}` ({told.size}): {how}, {told.why}{lowered}")


def run(options: argparse.Namespace) -> int:
    """Run one of this group's commands."""
    from memtool.errors import UsageError
    from memtool.memory.memory import Memory

    words = list(options.what)
    with Memory.open(options.vault) as memory:
        if len(words) == 2 and words[0] in ("reset", "drop"):
            return {"reset": _reset, "drop": _drop}[words[0]](memory, words[1], options)
        if len(words) > 1 or options.size:
            fix = "write `memtool state UNIT`, `state reset UNIT --size SIZE` or `state drop UNIT`"
            raise UsageError("this is no command about a state", fix=fix)
        unit = words[0] if words else os.environ.get(VARIABLE, "")
        return _list(memory, options) if options.list or not unit else _show(memory, unit, options)


def _reset(memory: Memory, unit: str, options: argparse.Namespace) -> int:
    memory.reset_state(unit, size=options.size)
    return _tell(memory.state(unit, limit=0), f"emptied {unit}", options)


def _drop(memory: Memory, unit: str, options: argparse.Namespace) -> int:
    there = memory.drop_state(unit)
    if options.json:
        render.document({"unit": unit, "dropped": there})
    else:
        (render.out if there else render.err)(
            f"dropped {unit}" if there else f"there is no state of `{unit}`"
        )
    return OK if there else NO


def _tell(view: StateView, words: str, options: argparse.Namespace) -> int:
    if options.json:
        render.document(_value(view))
    else:
        render.out(f"{words} ({view.size})")
    return OK


def _list(memory: Memory, options: argparse.Namespace) -> int:
    found, wrong = memory.states()
    if options.json:
        units = [one._asdict() for one in found]
        render.document({"units": units, "findings": render.findings_value(wrong)})
        return OK
    for one in found:
        render.out(
            f"{one.name}  {one.size}, {render.counted(one.updates, 'update')}, {render.size(one.bytes)}"
        )
    if not found:
        render.err("there is no session state yet; `memtool search QUESTION --session UNIT` makes one")
    for finding in wrong:
        render.err(str(finding))
    return OK


def _show(memory: Memory, unit: str, options: argparse.Namespace) -> int:
    memory.refresh()
    view = memory.state(unit, limit=max(0, options.limit))
    if options.json:
        render.document(_value(view))
        return OK
    size = f", {render.size(view.bytes)}" if view.bytes else ""
    render.out(f"{view.unit}  {view.size}, {render.counted(view.updates, 'update')}{size}")
    for one in view.direction:
        render.out(f"{one.anchor}  {one.weight:.2f}  {one.title}")
    if view.words:
        render.out(f"words     {', '.join(word for word, _ in view.words[:12])}")
    for event in view.events[-6:]:
        alpha = f"  leant by {event.alpha:.1f}" if event.alpha else ""
        render.out(f"{event.kind:8}  {event.what}{alpha}")
    for finding in view.findings:
        render.err(str(finding))
    return OK


def _value(view: StateView) -> dict[str, Any]:
    return {
        "unit": view.unit,
        "size": view.size,
        "updates": view.updates,
        "bytes": view.bytes,
        "alpha": round(view.alpha, 4),
        "direction": [
            {"anchor": str(one.anchor), "title": one.title, "weight": one.weight} for one in view.direction
        ],
        "words": [{"word": word, "weight": weight} for word, weight in view.words],
        "opened": [str(anchor) for anchor in view.opened],
        "events": [event._asdict() for event in view.events],
        "findings": render.findings_value(view.findings),
    }
