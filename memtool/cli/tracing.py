"""cite, resolve, facts, doctor: commands that tell what became of lines, of values, and of the vault."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from memtool.checks.doctor import Diagnosis, State
from memtool.cli import render, usage
from memtool.cli.main import NO, OK
from memtool.facts.facts import Fact, Facts
from memtool.history.editions import who
from memtool.history.history import Revision
from memtool.memory.memory import Memory
from memtool.note.yaml_block import Value
from memtool.resolve.resolve import Resolution

#: Places of one kind that are named; --json has all of them.
MOST = 3


def flags(command: str, parser: argparse.ArgumentParser) -> None:
    """Give *parser* the flags of *command*."""
    add = parser.add_argument
    if command == "cite":
        add("anchor", help="path:start-end, path:line, or a whole note's path")
        usage.log_flag(parser)
    elif command == "resolve":
        add("anchor", help="what `memtool cite` printed: path:start-end@digest")
    elif command == "facts":
        add("note", help="the note's path")
        add("key", nargs="?", default="", metavar="KEY", help="one key only (default: all)")
        add("--as-of", default="", metavar="WHEN", help="what stood at a commit, a tag or a date")


def run(options: argparse.Namespace) -> int:
    """Run one of this group's commands."""
    with Memory.open(options.vault) as memory:
        return {"cite": _cite, "resolve": _resolve, "facts": _facts, "doctor": _doctor}[options.command](
            memory, options
        )


# -- cite and resolve ------------------------------------------------------------------------


def _cite(memory: Memory, options: argparse.Namespace) -> int:
    cited = memory.cite(options.anchor)
    if options.json:
        render.document({"anchor": str(cited), **cited._asdict()})
    else:
        render.out(str(cited))
    usage.record(memory, options, "cited", [cited])
    return OK


def _resolve(memory: Memory, options: argparse.Namespace) -> int:
    found = memory.resolve(options.anchor)
    if options.json:
        render.document(_resolution_value(found))
        return OK if found.stands else NO
    render.out(f"{found.pinned}  {found}")
    if not found.stands and found.anchor:
        render.out(f"{found.anchor}  what is left of it")
    for place in found.others[:MOST]:
        render.out(f"{place}  the same lines stand here too")
    if len(found.others) > MOST:
        render.err(f"and in {len(found.others) - MOST} more places; --json names them all")
    if found.uncommitted and found.anchor:
        render.err(f"{found.anchor.path} has edits that are not committed")
    if found.remark:
        render.err(found.remark)
    return OK if found.stands else NO


def _resolution_value(found: Resolution) -> dict[str, Any]:
    return {
        "status": found.status,
        "pinned": str(found.pinned),
        "anchor": str(found.anchor) if found.anchor else None,
        "path": found.anchor.path if found.anchor else None,
        "start": found.anchor.start if found.anchor else None,
        "end": found.anchor.end if found.anchor else None,
        "others": [str(place) for place in found.others],
        "by": revision_value(found.by) if found.by else None,
        "uncommitted": found.uncommitted,
        "sure": found.sure,
        "remark": found.remark,
    }


# -- facts -----------------------------------------------------------------------------------


def _facts(memory: Memory, options: argparse.Namespace) -> int:
    found = memory.facts(options.note, key=options.key, as_of=options.as_of)
    if options.json:
        values = [_fact_value(fact) for fact in found.facts]
        render.document(
            {"path": found.path, "facts": values, "remark": found.remark, "notice": render.NOTICE}
        )
        return OK if values else NO
    for fact in found.facts:
        value = f"not readable ({fact.gap})" if fact.gap else shown(fact.value)
        render.out(f"{fact.path}:{fact.line}  {fact.key}: {value}  {_from(fact, found)} -> {_to(fact)}")
    if not found.facts:
        what = f"{options.key!r} has no value" if options.key else "there is no key with a value"
        render.err(f"{found.path}: {what}" + (f" as of {options.as_of}" if options.as_of else ""))
    if found.remark:
        render.err(found.remark)
    return OK if found.facts else NO


def _from(fact: Fact, found: Facts) -> str:
    return _moment(fact.since) if fact.since else "(unknown)" if found.remark else "(not committed)"


def _to(fact: Fact) -> str:
    return _moment(fact.until) if fact.until else "(not committed)" if fact.ended else "now"


def _moment(by: Revision) -> str:
    return f"{by.when:%Y-%m-%d} {by.revision[:7]} {who(by)}"


def shown(value: Value) -> str:
    """Write a value on one line.

    >>> shown(["a", "b"]), shown({"days": "30"}), shown("")
    ('[a, b]', '{days: 30}', '""')
    """
    if isinstance(value, list):
        return f"[{', '.join(map(shown, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {shown(item)}' for key, item in value.items())}}}"
    return value or '""'


def _fact_value(fact: Fact) -> dict[str, Any]:
    since, until = fact.since, fact.until
    return {
        **fact._asdict(),
        "since": revision_value(since) if since else None,
        "until": revision_value(until) if until else None,
        "stands": until is None and not fact.ended,
        "gap": fact.gap or None,
    }


# -- doctor ----------------------------------------------------------------------------------


def _doctor(memory: Memory, options: argparse.Namespace) -> int:
    found = memory.doctor()
    if options.json:
        states = [state._asdict() for state in found.states]
        render.document({"light": found.light, "person": found.person, "states": states})
    else:
        render.out(f"{found.light}: {_verdict(found)}")
        for code in dict.fromkeys(state.code for state in found.states):
            _tell([state for state in found.states if state.code == code])
    return NO if found.person else OK


def _verdict(found: Diagnosis) -> str:
    if not found.states:
        return "nothing odd was found"
    needed = sum(state.person for state in found.states)
    verb = "need" if needed > 1 else "needs"
    return f"{render.counted(len(found.states), 'finding')}, {needed or 'none'} of them {verb} a person"


def _tell(states: Sequence[State]) -> None:
    """Print the states of one kind: what it means once, what it is and how it is mended for each."""
    for state in states[:MOST]:
        place = f"{state.path}:{state.line}" if state.line else state.path
        render.out(f"{place}  {state.light} {state.code}: {state.what}")
        if state is states[0]:
            render.out(f"    means: {state.means}")
        if state.mend:
            render.out(f"    mend:  {state.mend}")
        if state.advice:
            render.out(f"    note:  {state.advice}")
    if len(states) > MOST:
        render.out(f"    and {len(states) - MOST} more; --json names them all")


def revision_value(by: Revision) -> dict[str, Any]:
    """Give a revision as JSON values."""
    return {**by._asdict(), "when": by.when.isoformat(), "who": who(by)}
