"""history, blame, diff, when: commands that tell what was, and who wrote it."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from typing import Any

from memtool.cli import render
from memtool.cli.main import NO, OK
from memtool.history.history import Revision
from memtool.history.timeline import Event
from memtool.memory.memory import Memory
from memtool.note.anchor import Anchor

_WHEN = "a commit, a tag, a branch, HEAD~3, or a date"


def flags(command: str, parser: argparse.ArgumentParser) -> None:
    """Give *parser* the flags of *command*."""
    add = parser.add_argument
    if command == "history":
        add("anchor", help="a note, or lines of it as they are now")
        add("--limit", type=int, metavar="N", help="only the newest N revisions")
    elif command == "blame":
        add("anchor", help="a note, or lines of it")
        add("--as-of", default="", metavar="WHEN", help=f"as it was at {_WHEN}")
    elif command == "diff":
        add("note", help="a note's path")
        add("revisions", nargs="?", default="", metavar="REV[..REV]", help=f"{_WHEN}; or two of them")
    elif command == "when":
        add("question", nargs="+", help="what to find, in plain words")
        add("--lexical", dest="mode", action="store_const", const="lexical", help="by words alone")
        add("--path", default="", metavar="GLOB", help="only notes whose path matches")


def run(options: argparse.Namespace) -> int:
    """Run one of this group's commands."""
    with Memory.open(options.vault) as memory:
        return perform(memory, options)


def perform(memory: Memory, options: argparse.Namespace) -> int:
    """Run one of this group's commands on a memory that is open already."""
    commands = {"history": _history, "blame": _blame, "diff": _diff, "when": _when}
    return commands[options.command](memory, options)


def _history(memory: Memory, options: argparse.Namespace) -> int:
    anchor = Anchor.parse(options.anchor)
    found = memory.past.history(anchor)[::-1]
    found = found[: options.limit] if options.limit else found
    remark = memory.past.remark(event.by for event in found)
    if options.json:
        events = [_event_value(event) for event in found]
        value = {"anchor": options.anchor, "events": events, "remarks": [remark] if remark else []}
        render.document({**value, "notice": render.NOTICE})
    else:
        _print_events(found, whole=not anchor.start)
        _print_remark(remark)
    return OK if found else NO


def _print_remark(remark: str) -> None:
    if remark:
        render.err(f"# {remark}")


def _print_events(found: list[Event], *, whole: bool = False) -> None:
    for event in found:
        place = event.anchor.path if whole else str(event.anchor)
        by = event.by
        why = f": {by.reason}" if by and by.reason else f": {by.subject}" if by and by.subject else ""
        render.out(
            f"{place}  {event.kind}  +{event.added} -{event.removed} words  {render.revision(by)}{why}"
        )
        for line in () if whole else event.text:
            render.out(f"    {line}")


def _event_value(event: Event) -> dict[str, Any]:
    return {
        "kind": event.kind,
        "anchor": str(event.anchor),
        "path": event.anchor.path,
        "start": event.anchor.start,
        "end": event.anchor.end,
        "words_added": event.added,
        "words_removed": event.removed,
        "committed": event.by is not None,
        **(render.revision_value(event.by) or {"revision": ""}),
        "text": list(event.text),
    }


def _blame(memory: Memory, options: argparse.Namespace) -> int:
    told, lines = memory.past.blame(Anchor.parse(options.anchor), options.as_of)
    remark = memory.past.remark(run.revision for run in told.runs)
    if options.json:
        value = {**render.provenance_value(told), "remarks": [remark] if remark else []}
        value["lines"] = [{"line": number, "text": text} for number, text in enumerate(lines, told.start)]
        render.document({"anchor": options.anchor, **value, "notice": render.NOTICE})
        return OK
    path, now = Anchor.parse(options.anchor).path, datetime.now(UTC)
    for run in told.runs:
        age = f", {_age(run.revision, now)}" if run.revision else ""
        mark = ", verified" if run.verified else ""
        render.out(f"{path}:{run.start}-{run.end}  {render.revision(run.revision)}{age}{mark}")
        for number in range(run.start, run.end + 1):
            render.numbered(number, lines[number - told.start])
    _print_remark(remark)
    return OK


def _age(by: Revision, now: datetime) -> str:
    days = (now - by.when).days
    if days < 0:
        return "in the future"
    if days < 1:
        return "today"
    count, unit = (
        (days, "day") if days < 60 else (days // 30, "month") if days < 730 else (days // 365, "year")
    )
    return f"{render.counted(count, unit)} ago"


def _diff(memory: Memory, options: argparse.Namespace) -> int:
    found = memory.past.diff(options.note, options.revisions)
    if options.json:
        render.document({**found._asdict(), "notice": render.NOTICE})
    else:
        for line in found.lines:
            render.out(line)
        if not found.lines:
            render.err(f"{found.old} and {found.new} do not differ")
    return OK


def _when(memory: Memory, options: argparse.Namespace) -> int:
    question = " ".join(options.question)
    found = memory.when(question, mode=options.mode or "hybrid", path=options.path)
    if options.json:
        render.document(
            {
                "question": question,
                "anchor": str(found.hit.anchor) if found.hit else "",
                "stands": found.stands,
                "events": [_event_value(event) for event in found.events],
                "remarks": list(found.remarks),
                "notice": render.NOTICE,
            }
        )
        return OK if found.hit else NO
    if not found.hit:
        render.err(f'nothing in any version answers "{question}"')
    _print_events(found.events)
    for remark in found.remarks:
        render.err(f"# {remark}")
    if found.hit:
        render.err(f"{found.hit.anchor} {'stands' if found.stands else 'stands no more'}")
    return OK if found.hit else NO
