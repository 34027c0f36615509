"""tool: what is known of tools: log a call, ask for advice, list them, write their notes."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from memtool.cli import keeping, render
from memtool.cli.main import NO, OK
from memtool.memory.memory import Memory

if TYPE_CHECKING:
    from memtool.tools.odds import Odds
    from memtool.tools.tool_record import Trap, Way
    from memtool.tools.toolmemory import Advice

#: Traps of one tool that are told; --json has all that are kept.
TRAPS = 4


def flags(command: str, parser: argparse.ArgumentParser) -> None:
    """Give *parser* the flags of *command*."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    _log_flags(_action(actions, "log", "keep how one call of a tool ended"))
    advise = _action(actions, "advise", "tell which tool and parameters have the best record on a task")
    advise.add_argument("task", nargs="+", help="what is to be done, in plain words")
    advise.add_argument("--limit", type=int, default=3, metavar="N", help="tools at most (default 3)")
    advise.add_argument(
        "--ask-model", action="store_true", help="let the configured chat model weigh the record too"
    )
    _action(actions, "list", "name the tools with their records")
    keeping.signature_flags(_action(actions, "notes", "bring the notes below tools/ up to date"))


def _action(actions: Any, name: str, words: str) -> argparse.ArgumentParser:
    added: argparse.ArgumentParser = actions.add_parser(
        name, help=words, description=words[0].upper() + words[1:] + "."
    )
    quiet = argparse.SUPPRESS
    added.add_argument("--vault", metavar="DIR", default=quiet, help="the vault; found by itself otherwise")
    added.add_argument(
        "--json", action="store_true", default=quiet, help="one JSON document on standard output"
    )
    added.add_argument("--no-resident", action="store_true", default=quiet, help=quiet)
    return added


def _log_flags(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("name", help="the tool's name")
    add("--params", default="", metavar="JSON", help="its parameters; - reads them from standard input")
    ended = parser.add_mutually_exclusive_group(required=True)
    ended.add_argument("--ok", action="store_true", help="it worked")
    ended.add_argument("--failed", dest="ok", action="store_false", help="it did not")
    add("--error", default="", metavar="TEXT", help="what it said when it failed")
    add("--ms", type=float, metavar="N", help="how many milliseconds it took")
    add("--task", default="", metavar="TEXT", help="what the call was for, in plain words")
    add("--writer", default="", metavar="NAME", help="who called it: human or agent/NAME")
    add("--session", default="", metavar="ID", help="in which session")


def run(options: argparse.Namespace) -> int:
    """Run one of this group's commands."""
    writer, session = getattr(options, "writer", ""), getattr(options, "session", "")
    with Memory.open(options.vault, writer=writer, session=session) as memory:
        return {"log": _log, "advise": _advise, "list": _list, "notes": _notes}[options.action](
            memory, options
        )


def _log(memory: Memory, options: argparse.Namespace) -> int:
    from memtool.tools import tool_calls

    text = sys.stdin.read() if options.params == "-" else options.params
    params = tool_calls.parse_params(text)
    kept = memory.tool_log(
        options.name, params, ok=options.ok, error=options.error, ms=options.ms, task=options.task
    )
    if options.json:
        value = {"tool": kept["t"], "ok": kept["ok"], "params": kept["p"], "error_kind": kept.get("k")}
        render.document(value)
    else:
        ended = "worked" if options.ok else f"failed: {kept['k']}"
        render.out(f"{options.name}  {ended}")
    return OK


# -- advice ----------------------------------------------------------------------------------


def _advise(memory: Memory, options: argparse.Namespace) -> int:
    from memtool.tools import tool_counsel

    task = " ".join(options.task)
    found = memory.tool_advice(task, limit=max(1, options.limit))
    counsel, remark = "", ""
    if options.ask_model and found:
        counsel, remark = tool_counsel.ask(memory.config, task, found)
    if options.json:
        value = {"task": task, "advice": [advice_value(one) for one in found], "model": counsel or None}
        render.document({**value, "remark": remark or None, "notice": render.NOTICE})
        return OK if found else NO
    for advice in found:
        _tell(advice)
    if not found:
        render.err(f'nothing is known of tasks like "{render.shortened(task)}"')
    if counsel:
        render.out(f"model  {counsel}")
    if remark:
        render.err(remark)
    return OK if found else NO


def _tell(advice: Advice) -> None:
    from memtool.tools import tool_notes

    doubt = "" if advice.odds.sure else "; few trials, not sure"
    render.out(f"{advice.tool}  {odds_words(advice.odds)} ({advice.ok} of {advice.trials} worked{doubt})")
    if advice.params:
        render.out(f"    params: {render.json_text(advice.params)}")
    if advice.example and advice.example != advice.params:
        render.out(f"    worked: {render.json_text(advice.example)}")
    if advice.changed is not None:
        now = "works" if advice.odds.mean >= 0.5 else "fails"
        render.out(f"    since:  {tool_notes.day(advice.changed)} it {now}, otherwise than before")
    elif advice.contradicted:
        render.out(f"    newest: it {advice.contradicted} the last time, against all results before")
    for trap in advice.traps[:TRAPS]:
        shown = f"  with {render.json_text(trap.template)}" if trap.template != advice.params else ""
        when = f"{tool_notes.times(trap.times)}, last {tool_notes.day(trap.last)}"
        render.out(f"    trap:   {trap.kind} ({when}){shown}")
    for params, ok, trials in advice.avoid:
        render.out(f"    avoid:  {render.json_text(params)} ({ok} of {trials} worked)")


def odds_words(odds: Odds) -> str:
    """Say a chance with its bounds."""
    return f"{odds.mean * 100:.0f} % ({odds.low * 100:.0f}-{odds.high * 100:.0f})"


def advice_value(advice: Advice) -> dict[str, Any]:
    """Give advice as JSON values; keys are only ever added."""
    from memtool.tools import tool_notes

    return {
        "tool": advice.tool,
        "params": advice.params,
        "example": advice.example,
        "success": round(advice.odds.mean, 3),
        "low": round(advice.odds.low, 3),
        "high": round(advice.odds.high, 3),
        "sure": advice.odds.sure,
        "ok": advice.ok,
        "trials": advice.trials,
        "match": round(advice.match, 3),
        "since": tool_notes.day(advice.changed) if advice.changed is not None else None,
        "contradicted": advice.contradicted or None,
        "ms": round(advice.ms, 1),
        "last": tool_notes.day(advice.last),
        "traps": [_trap_value(trap) for trap in advice.traps],
        "avoid": [{"params": params, "ok": ok, "trials": trials} for params, ok, trials in advice.avoid],
    }


def _trap_value(trap: Trap) -> dict[str, Any]:
    from memtool.tools import tool_notes

    days = {"first": tool_notes.day(trap.first), "last": tool_notes.day(trap.last)}
    return {"kind": trap.kind, "times": trap.times, **days, "params": trap.template, "sample": trap.sample}


# -- the record ------------------------------------------------------------------------------


def _list(memory: Memory, options: argparse.Namespace) -> int:
    from memtool.tools import tool_notes, tool_record

    tools = tool_record.by_tool(memory.tool_ways())
    if options.json:
        render.document({"tools": [_tool_value(tool, ways) for tool, ways in sorted(tools.items())]})
        return OK if tools else NO
    for tool, ways in sorted(tools.items(), key=lambda one: (-max(way.last for way in one[1]), one[0])):
        value = _tool_value(tool, ways)
        traps = tool_notes.merged_traps([trap for way in ways for trap in way.traps])
        worst = f"; last error: {traps[0].kind}" if traps else ""
        last = value["last"]
        render.out(f"{tool}  {value['ok']} of {value['trials']} worked, last on {last}{worst}")
    if not tools:
        render.err("no tool call is logged yet")
    return OK if tools else NO


def _tool_value(tool: str, ways: list[Way]) -> dict[str, Any]:
    from memtool.tools import tool_notes

    return {
        "tool": tool,
        "ok": sum(way.ok for way in ways),
        "trials": sum(way.trials for way in ways),
        "last": tool_notes.day(max(way.last for way in ways)),
        "ways": [{"params": way.template, "ok": way.ok, "trials": way.trials} for way in ways],
    }


def _notes(memory: Memory, options: argparse.Namespace) -> int:
    report = memory.tool_notes(by=keeping.signed(options, memory.who))
    if options.json:
        found = render.findings_value(report.findings)
        render.document({"changed": list(report.changed), "same": report.same, "findings": found})
        return NO if report.findings else OK
    for path in report.changed:
        render.out(path)
    for finding in report.findings:
        render.err(str(finding))
    if not report.changed and not report.findings:
        render.err("nothing changed")
    return NO if report.findings else OK
