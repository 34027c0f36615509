"""trace, why: commands that tell how an answer came about, and why something did not come."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from memtool.cli import filters, render
from memtool.cli.main import NO, OK
from memtool.errors import UsageError
from memtool.memory.memory import Memory

if TYPE_CHECKING:
    from memtool.memory.tracing import Replay
    from memtool.traces.traces import Candidate, Trace

#: Candidates that are printed; --json has all that were kept.
MOST = 10


def flags(command: str, parser: argparse.ArgumentParser) -> None:
    """Give *parser* the flags of *command*."""
    add = parser.add_argument
    if command == "trace":
        add("action", choices=("last", "replay"), help="show searches that were kept; ask one again")
        add(
            "which",
            nargs="?",
            default="",
            metavar="N|ID",
            help="last: how many; replay: which (default: last)",
        )
        return
    add("anchor", help="path:start-end, path:line, or a whole note's path")
    add("question", nargs="+", help="what was asked")
    add("--limit", type=int, metavar="N", help="hits at most (default 5)")
    add("--type", action="append", default=[], metavar="TYPE", help="as in search")
    add("--tag", action="append", default=[], metavar="TAG", help="as in search")
    add("--path", default="", metavar="GLOB", help="as in search")
    add("--since", default="", metavar="DAY", help="as in search")
    add("--until", default="", metavar="DAY", help="as in search")
    add("--archived", action="store_true", help="as in search")
    add("--now", default="", metavar="DAY", help="as in search")
    filters.mode_flags(parser)


def run(options: argparse.Namespace) -> int:
    """Run one of this group's commands."""
    with Memory.open(options.vault) as memory:
        if options.command == "why":
            return _why(memory, options)
        return {"last": _last, "replay": _replay}[options.action](memory, options)


def _why(memory: Memory, options: argparse.Namespace) -> int:
    found = memory.why(options.anchor, " ".join(options.question), **filters.chosen(options))
    if options.json:
        render.document({"code": found.code, "says": found.says, "numbers": found.numbers})
    else:
        render.out(found.says)
        for name, value in found.numbers.items():
            if value is not None and name != "before it":
                render.out(f"    {name}: {_value(value)}")
        for one in found.numbers.get("before it", ()):
            render.out(f"    before it: {one['anchor']}  {one['score']:.2f}, ahead {one['in']}")
    return OK if found.came else NO


def _value(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


# -- trace -----------------------------------------------------------------------------------


def _last(memory: Memory, options: argparse.Namespace) -> int:
    if options.which and not options.which.isdecimal():
        raise UsageError(f"{options.which!r} is no number", fix="write `memtool trace last 5`")
    found = memory.traces(int(options.which or 1) or 1)
    if options.json:
        render.document({"traces": [trace_value(one) for one in found]})
        return OK if found else NO
    for one in found:
        _tell(one)
    if not found:
        off = "traces are off: `trace` is false" if not memory.config.trace else "no search was kept yet"
        render.err(off)
    return OK if found else NO


def _tell(trace: Trace) -> None:
    when = datetime.fromtimestamp(trace.when, UTC)
    render.out(f'{trace.id}  {when:%Y-%m-%d %H:%M} UTC  "{render.shortened(trace.question)}"')
    told = [
        f"{key} {_value(list(value) if isinstance(value, tuple) else value)}"
        for key, value in trace.settings.items()
    ]
    told += [f"{render.counted(trace.notes, 'note')}", f"by {' and '.join(trace.rankers)}"]
    told += [f"at {trace.revision[:7]}"] if trace.revision else []
    render.out(f"    asked: {', '.join(told)}")
    if trace.terms:
        render.out(f"    words: {', '.join(trace.terms)}")
    render.out(
        f"    line {trace.threshold:.2f}, confidence {trace.confidence:.2f}; {trace.measured} measured"
    )
    for one in trace.candidates[:MOST]:
        render.out(f"    {'shown' if one.shown else '  not'}  {one.anchor}  {_scores(one)}")
    if len(trace.candidates) > MOST:
        render.out(f"    and {len(trace.candidates) - MOST} more; --json names them all")


def _scores(one: Candidate) -> str:
    told = [f"words {one.words:.2f}" + (f" #{one.words_rank}" if one.words_rank else "")]
    if one.meaning is not None:
        told.append(f"meaning {one.meaning:.2f}" + (f" #{one.meaning_rank}" if one.meaning_rank else ""))
    told.append(f"together {one.fused:.2f}")
    told.append("left out" if one.final is None else f"final {one.final:.2f}")
    return ", ".join(told)


def trace_value(trace: Trace) -> dict[str, Any]:
    """Give a trace as JSON values; keys are only ever added."""
    value = trace._asdict()
    value["when"] = datetime.fromtimestamp(trace.when, UTC).isoformat(timespec="seconds")
    value["candidates"] = [one._asdict() for one in trace.candidates]
    return value


def _replay(memory: Memory, options: argparse.Namespace) -> int:
    found = memory.replay(options.which or "last")
    if options.json:
        value = {
            "trace": trace_value(found.trace),
            "now": [one._asdict() for one in found.now],
            **{
                key: getattr(found, key)
                for key in ("threshold", "confidence", "same", "changed", "gone", "settings")
            },
        }
        render.document(value)
        return OK if found.same else NO
    render.out(f'{found.trace.id}  "{render.shortened(found.trace.question)}"')
    for line in _differences(found):
        render.out(f"    {line}")
    return OK if found.same else NO


def _differences(found: Replay) -> list[str]:
    then, now = (
        {one.anchor: n for n, one in enumerate(some, 1)} for some in (found.trace.shown, found.shown)
    )
    told = [f"gone from the hits: {anchor} (was hit {then[anchor]})" for anchor in then if anchor not in now]
    told += [f"new among the hits: {anchor} (is hit {now[anchor]})" for anchor in now if anchor not in then]
    told += [
        f"moved: {anchor} from hit {then[anchor]} to {now[anchor]}"
        for anchor in now
        if anchor in then and then[anchor] != now[anchor]
    ]
    if found.same:
        told.append(f"the same {render.counted(len(now), 'hit')} in the same order")
    if abs(found.threshold - found.trace.threshold) >= 0.01:
        told.append(f"the line was {found.trace.threshold:.2f}, and is {found.threshold:.2f}")
    told += [f"changed since: {path}" for path in found.changed]
    told += [f"no note any more: {path}" for path in found.gone]
    return told + list(found.settings)
