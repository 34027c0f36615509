"""Arguments of a tool that reads -> what an agent is told: one `Memory` call each."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from memtool import quoting
from memtool.errors import MemtoolError, UsageError
from memtool.mcp_server import told
from memtool.mcp_server.told import NOTICE, Told
from memtool.note.anchor import Anchor

if TYPE_CHECKING:
    from memtool.history.timeline import Event
    from memtool.memory.memory import Memory
    from memtool.tools.toolmemory import Advice


#: Names the unit of work that questions belong to; whoever starts the server sets it.
UNIT_VARIABLE = "MEMTOOL_SESSION_STATE"


def search(memory: Memory, given: dict[str, Any]) -> Told:
    """Find the lines that answer a question."""
    found = memory.search(
        given["question"],
        limit=given.get("limit"),
        types=given.get("types", []),
        tags=given.get("tags", []),
        path=given.get("path", ""),
        since=given.get("since", ""),
        until=given.get("until", ""),
        as_of=given.get("as_of", ""),
        blame=True,
        session="" if given.get("as_of") else os.environ.get(UNIT_VARIABLE, ""),
    )
    if not given.get("as_of"):
        _count(memory, "shown", [hit.anchor for hit in found], given["question"])
    return told.answer(found)


def read(memory: Memory, given: dict[str, Any]) -> Told:
    """Print lines of a note, with the digest that an edit hands back."""
    anchor, as_of = Anchor.parse(given["anchor"]), given.get("as_of", "")
    shown = memory.show(anchor, as_of=as_of)
    part, rest = list(shown)[: given["max_lines"]], list(shown)[given["max_lines"] :]
    first, last = (part[0][0], part[-1][0]) if part else (0, 0)
    here = str(Anchor(anchor.path, first, last)) if part else anchor.path
    text = "\n".join(line for _, line in part)
    value = {
        "anchor": here,
        "digest": "" if as_of else memory.digest(shown),
        "lines": told.lines(part),
        "more": f"{anchor.path}:{rest[0][0]}-{rest[-1][0]}" if rest else "",
        "gives_orders": quoting.suspicious(text),
        "notice": NOTICE,
    }
    if not as_of:
        _open_in(memory, anchor)
        _count(memory, "opened", [anchor._replace(path=memory.vault.resolve(anchor.path), digest="")])
    numbered = "\n".join(f"{number:>5}  {line}" for number, line in part)
    words = [quoting.enclose([quoting.quote(numbered, here, day=as_of)])]
    words += [f"digest: {value['digest']}"] if value["digest"] else []
    words += [f"more: {value['more']}"] if rest else []
    return Told(value, "\n".join(words))


def _open_in(memory: Memory, anchor: Anchor) -> None:
    """Tell the unit of work that lines were opened; a state that cannot be kept stops nobody."""
    if unit := os.environ.get(UNIT_VARIABLE, ""):
        with suppress(MemtoolError, OSError):
            memory.opened(unit, anchor)


def context(memory: Memory, given: dict[str, Any]) -> Told:
    """Gather what bears on a task, within a budget of tokens."""
    made = memory.context(given["question"], budget=given["budget"])
    items = [
        {
            "anchor": item.anchor,
            "kind": item.kind,
            "day": item.day,
            "writer": item.source or "",
            "text": item.text,
            "gives_orders": quoting.suspicious(item.text),
        }
        for item in made.items
    ]
    left = [{"anchor": one.anchor, "why": one.why} for one in made.left]
    value = {
        "items": items,
        "left_out": left[:50],
        "tokens": round(made.tokens, 1),
        "relevant": made.relevant,
        "sure": made.sure,
        "remarks": list(made.remarks),
        "notice": NOTICE,
    }
    _count(memory, "shown", [item.anchor for item in made.items if item.path], given["question"])
    return Told(value, made.text or "Nothing in the vault bears on this.")


def history(memory: Memory, given: dict[str, Any]) -> Told:
    """Tell what happened to a note or to lines of it, newest first."""
    anchor = Anchor.parse(given["anchor"])
    memory.require_read(anchor.path)
    found = memory.past.history(anchor)[::-1]
    remark = memory.past.remark(event.by for event in found)
    events = [_event(event) for event in found[: given["limit"]]]
    value = {
        "events": events,
        "count": len(found),
        "remarks": [remark] if remark else [],
        "notice": NOTICE,
    }
    words = [
        quoting.quote("\n".join(event.text) or "(no line of it)", _headline(event))
        for event in found[: given["limit"]]
    ]
    return Told(value, "\n".join(filter(None, [quoting.enclose(words) or "nothing is known of it", remark])))


def _headline(event: Event) -> str:
    return f"{event.anchor} {event.kind} +{event.added} -{event.removed} words, {_who(event)}"


def _who(event: Event) -> str:
    by = event.by
    if by is None:
        return "not committed yet"
    writer = by.author if by.writer == "human" else by.writer
    why = by.reason or by.subject
    return f"{writer}, {by.when:%Y-%m-%d}, {by.revision[:7]}" + (f": {why}" if why else "")


def _event(event: Event) -> dict[str, Any]:
    by = event.by
    return {
        "kind": event.kind,
        "anchor": str(event.anchor),
        "revision": by.revision if by else "",
        "when": by.when.isoformat() if by else "",
        "writer": by.writer if by else "",
        "author": by.author if by else "",
        "session": by.session if by else "",
        "reason": by.reason or by.subject if by else "",
        "words_added": event.added,
        "words_removed": event.removed,
        "text": list(event.text),
    }


def status(memory: Memory, given: dict[str, Any], remarks: list[str]) -> Told:
    """Tell how the vault stands, who this client is to it, and what is odd."""
    memory.refresh()  # else a vault that was never read has no notes
    state = memory.status()
    remarks = [*remarks, *memory.take_remarks()]
    value = {
        "notes": state.notes,
        "waiting": state.ahead.read + state.ahead.gone,
        "embedder": state.embedder,
        "vectors": state.coverage.have,
        "vectors_wanted": state.coverage.want,
        "revision": state.revision,
        "branch": state.branch,
        "writer": memory.who.writer,
        "session": memory.who.session,
        "watcher": str(state.watcher) if state.watcher else "",
        "findings": [told.finding(one) for one in state.findings[:30]],
        "findings_count": len(state.findings),
        "remarks": remarks,
    }
    words = [
        f"notes: {state.notes}, {value['waiting']} of them changed since they were last read",
        f"vectors: {state.coverage.have} of {state.coverage.want} ({state.embedder})",
        f"you write as {memory.who.writer}, session {memory.who.session or '-'}",
        *(f"watcher: {state.watcher}" for _ in [0] if state.watcher),
        *(str(one) for one in state.findings[:30]),
        *remarks,
    ]
    return Told(value, "\n".join(words))


def tool_advice(memory: Memory, given: dict[str, Any]) -> Told:
    """Tell which tool and parameters have the best record on a task."""
    found = memory.tool_advice(given["task"], limit=given["limit"])
    value = {"advice": [_advice(one) for one in found], "notice": NOTICE}
    if not found:
        return Told(value, "Nothing is known of tasks like this one.")
    import json

    quotes = [quoting.quote(json.dumps(_advice(one), ensure_ascii=False), one.tool) for one in found]
    return Told(value, quoting.enclose(quotes))


def _advice(one: Advice) -> dict[str, Any]:
    traps = [{"error": trap.kind, "times": trap.times} for trap in one.traps[:4]]
    return {
        "tool": one.tool,
        "params": one.params,
        "worked": one.example,
        "success": round(one.odds.mean, 3),
        "sure": one.odds.sure,
        "ok": one.ok,
        "trials": one.trials,
        "traps": traps,
        "avoid": [params for params, _, _ in one.avoid],
    }


def feedback(memory: Memory, given: dict[str, Any]) -> Told:
    """Keep whether lines helped."""
    remark = memory.feedback(given["anchor"], given["helpful"], reason=given.get("reason", ""))
    if remark:
        raise UsageError("it could not be kept", why=remark, fix="go on without it")
    return Told({"kept": True}, "kept")


def _count(memory: Memory, event: str, anchors: list[Any], question: str = "") -> None:
    """Count a use; a ledger that cannot be written stops nobody."""
    from memtool.usage import usage

    who = memory.who
    usage.record(memory.vault, event, anchors, question=question, session=who.session, writer=who.writer)
