"""turn, context: what was said in a session, and what goes into a prompt."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from memtool.cli import render, usage
from memtool.cli.main import NO, OK
from memtool.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from memtool.context.context import Context
    from memtool.folding.turns import Turn
    from memtool.memory.memory import Memory


def flags(command: str, parser: argparse.ArgumentParser) -> None:
    """Give *parser* the flags of *command*."""
    add = parser.add_argument
    add("--session", default=None, metavar="ID", help="of which session (default: MEMTOOL_SESSION)")
    if command == "turn":
        add("role", nargs="?", help="user, assistant, tool or system; `show` prints the turn that is named")
        add("text", nargs="*", help="what was said (default: standard input)")
        add("--list", action="store_true", help="print the turns that are kept")
        add("--summary", action="store_true", help="fold the turns that working memory no longer holds")
        add("--budget", type=float, metavar="TOKENS", help="size of the summary")
        add("--model", action="store_true", help="let the configured chat model write the summary")
    else:
        add("question", nargs="+", help="what is to be done or answered, in plain words")
        add("--budget", type=float, default=1500, metavar="TOKENS", help="tokens it may take (default 1500)")
        add("--no-turns", dest="turns", action="store_false", help="leave out what was said in the session")
        add("--why", action="store_true", help="name everything that was left out, and why")
        usage.log_flag(parser)


def run(options: argparse.Namespace) -> int:
    """Run one of this group's commands."""
    from memtool.memory.memory import Memory

    with Memory.open(options.vault) as memory:
        return perform(memory, options)


def perform(memory: Memory, options: argparse.Namespace) -> int:
    """Run one of this group's commands on a memory that is open already."""
    return {"turn": _turn, "context": _context}[options.command](memory, options)


# -- turn --------------------------------------------------------------------------------------


def _turn(memory: Memory, options: argparse.Namespace) -> int:
    if options.summary:
        return _summary(memory, options)
    if options.list:
        return _list(memory, options)
    if options.role == "show":
        return _show(memory, options)
    if not options.role:
        raise UsageError("no role is given", fix="write `memtool turn user TEXT`, or `memtool turn --list`")
    text = " ".join(options.text) if options.text else sys.stdin.read()
    turn = memory.turn(options.role, text, session=options.session)
    if options.json:
        render.document(turn._asdict())
    else:
        render.out(f"{turn.citation}  {turn.role}")
    return OK


def _list(memory: Memory, options: argparse.Namespace) -> int:
    turns = memory.turns(session=options.session)
    if options.json:
        render.document({"turns": [turn._asdict() for turn in turns], "notice": render.NOTICE})
    for turn in () if options.json else turns:
        render.out(f"{turn.citation}  {turn.when}  {turn.role}: {_begun(turn)}")
    if not turns:
        render.err("no turns are kept of this session")
    return OK if turns else NO


def _begun(turn: Turn) -> str:
    return render.shortened(" ".join(turn.text.split()))


def _show(memory: Memory, options: argparse.Namespace) -> int:
    turn = memory.cited_turn(" ".join(options.text), session=options.session)
    if options.json:
        render.document({**turn._asdict(), "notice": render.NOTICE})
        return OK
    render.out(f"{turn.citation}  {turn.when}  {turn.role}")
    for number, line in enumerate(turn.text.split("\n"), 1):
        render.numbered(number, line)
    return OK


def _summary(memory: Memory, options: argparse.Namespace) -> int:
    chat = None
    if options.model:
        from memtool import llm

        chat = llm.open_chat(memory.config)
        if chat is None:
            raise ConfigError("there is no chat model", fix=llm.HOW_TO)
    summary = memory.summary(session=options.session, budget=options.budget, chat=chat)
    if options.json:
        lines = [
            {"text": line.text, "turn": line.turn.number, "digest": line.turn.digest, "role": line.turn.role}
            for line in summary.lines
        ]
        told = {"first": summary.first, "last": summary.last, "by": summary.by, "remark": summary.remark}
        render.document({**told, "lines": lines, "notice": render.NOTICE})
    for line in () if options.json else summary.lines:
        render.out(str(line))
    if summary.remark:
        render.err(summary.remark)
    if not summary.lines:
        render.err("working memory still holds every turn, or nothing fits the budget")
    return OK if summary.lines else NO


# -- context -------------------------------------------------------------------------------------


def _context(memory: Memory, options: argparse.Namespace) -> int:
    question = " ".join(options.question)
    made = memory.context(question, budget=options.budget, session=options.session, turns=options.turns)
    usage.record(memory, options, "shown", [item.anchor for item in made.items if item.path], question)
    if options.json:
        render.document(document(made))
    else:
        show(made, why=options.why)
    return OK if made.items else NO


def show(made: Context, *, why: bool = False) -> None:
    """Print a context: the text on standard output, the rest on standard error."""
    for line in made.text.split("\n") if made.text else ():
        render.out(line)
    if not made.text:
        render.err(f"nothing fits into {made.budget:g} tokens")
    elif made.relevant and not made.sure:
        render.err("not sure: the lines may not answer this")
    if why:
        for left in made.left:
            render.err(f"left out: {left.anchor} ({left.tokens:.0f} tokens): {left.why}")
    render.err(f"# {made.tokens:.0f} of {made.budget:g} tokens")
    for remark in made.remarks:
        render.err(f"# {remark}")


def document(made: Context) -> dict[str, Any]:
    """Give a context as JSON values; keys are only ever added."""
    items = [{**item._asdict(), "tokens": round(item.tokens, 2)} for item in made.items]
    for item in items:
        del item["after"]
    return {
        "text": made.text,
        "tokens": round(made.tokens, 2),
        "budget": made.budget,
        "relevant": made.relevant,
        "confidence": round(made.confidence, 4),
        "sure": made.sure,
        "items": items,
        "left": [
            {"anchor": left.anchor, "kind": left.kind, "why": left.why, "tokens": round(left.tokens, 2)}
            for left in made.left
        ],
        "remarks": list(made.remarks),
        "notice": render.NOTICE,
    }
