"""An event of an agent + an open memory -> what the agent is told, and what of the session is kept.

Decides for each kind of event which room is asked. What reaches an agent is quoted as data; what
fails is left to the caller, who keeps it from the host.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import TYPE_CHECKING

from memtool import quoting
from memtool.errors import LockError
from memtool.identity import signature
from memtool.memory.memory import Memory

if TYPE_CHECKING:
    from memtool.answer.answer import Answer
    from memtool.hooks.hook_events import Event
    from memtool.search.query import Hit

#: Tokens of a briefing and of the lines that go with a prompt; hits of a prompt.
BRIEFING, LINES, MOST_HITS = 1500, 700, 4

#: Characters of a prompt that are asked for: its beginning and its end say what it is about.
_ASKED = 1200

#: The chance that the vault answers at all, below which nobody is interrupted: it costs one question in
#: sixteen that is answered there, and spares two in three prompts that only tell an agent what to do.
_SURE = 0.6

#: Share of the best possible score, below which words alone say too little to interrupt for.
_BY_WORDS = 0.5

_NO_QUESTION = re.compile(r"[/!#]|\W*\Z")
_CHATTER = re.compile(
    r"\W*(?:(?:thanks?|thank you|ok(?:ay)?|yes|no|yep|sure|please|go (?:on|ahead)|continue|proceed"
    r"|do (?:it|that|so)|next|again|good|great|nice|perfect|looks? good|lgtm)\b\W*)+"
    r"|\W*(?:(?:はい|いいえ|うん|続けて|お願い(?:します)?|ありがとう(?:ございます)?|了解(?:です)?|進めて|次|よし|いいね"
    r"|ください|そうして|それで|やって)\W*)+",
    re.IGNORECASE,
)
_CHATTING = 60  # characters; who writes more says something


def respond(memory: Memory, event: Event, *, now: datetime, budget: float | None = None) -> str:
    """Do what *event* asks for, in the name of its agent, and give what the agent is to be told."""
    with _as_agent(memory, event):
        if event.kind == "prompt":
            return on_prompt(memory, event, budget or LINES)
        if event.kind == "start":
            from memtool.hooks import briefing

            return briefing.brief(memory, event.session, now=now, budget=budget or BRIEFING)
        if event.kind == "tool":
            return on_tool(memory, event)
        from memtool.hooks import session_notes

        return session_notes.keep(memory, event, now=now)


@contextmanager
def _as_agent(memory: Memory, event: Event) -> Iterator[None]:
    """Let what is read and written meanwhile be the agent's: its rights, its name, its session."""
    before = memory.who
    writer = before.writer if before.is_agent else event.writer
    memory.who = signature(writer, event.session or before.session)
    try:
        yield
    finally:
        memory.who = before


# -- each prompt -----------------------------------------------------------------------------


def on_prompt(memory: Memory, event: Event, budget: float) -> str:
    """Give the few lines that answer a prompt, quoted; "" when nothing in the vault is about it."""
    question = asked(event.prompt)
    if not question:
        return ""
    with suppress(LockError):  # another process brings it up to date just now
        memory.look()
    # Nothing is embedded while a person waits; words find what has no vector yet.
    answer = memory.search(question, limit=MOST_HITS, budget=budget, refresh=False)
    if not relevant(answer):
        return ""
    # Most prompts get no lines, so git is asked who wrote them only now.
    memory.past.add_provenance(answer, memory.derived)
    hits = relevant(answer)
    _note_shown(memory, hits, question)
    return quoting.enclose([quoted(hit) for hit in hits])


def asked(prompt: str) -> str:
    """Cut a prompt down to what can be asked for; "" when it asks nothing of the vault.

    >>> asked("/compact"), asked("Thanks, go on."), asked("はい、続けてください"), asked("where is the key?")
    ('', '', '', 'where is the key?')
    """
    text = prompt.strip()
    if _NO_QUESTION.match(text) or len(text) < 3 or (len(text) < _CHATTING and _CHATTER.fullmatch(text)):
        return ""
    return text if len(text) <= _ASKED else f"{text[: _ASKED // 2]}\n{text[-_ASKED // 2 :]}"


def relevant(answer: Answer) -> list[Hit]:
    """Keep the hits of an answer that are worth an interruption: none of an answer that is in doubt."""
    alone = len(answer.freshness.rankers) < 2
    if not alone and answer.confidence < _SURE:
        return []
    least = max(answer[0].score * 0.6, _BY_WORDS if alone else 0.0) if answer else 0.0
    hits = [hit for hit in answer if hit.score >= least]
    # What a note says of itself is for finding it; its lines say more.
    return [hit for hit in hits if not hit.text.startswith("---\n")] or hits


def quoted(hit: Hit) -> str:
    """Quote the lines of a hit that matter, with their place, day and writer."""
    first, last, text = hit.start, hit.end, hit.text
    lines = text.split("\n")
    if len(lines) == hit.end - hit.start + 1:
        first, last = hit.focus
        text = "\n".join(lines[first - hit.start : last - hit.start + 1])
    told = hit.provenance
    by = told.revision if told else None
    day = hit.day or (f"{by.when:%Y-%m-%d}" if by else "")
    writer = by.writer if by else "not committed yet" if told else ""
    anchor = hit.anchor._replace(start=first, end=last)
    standing = hit.standing
    said = ", ".join([part for part in (writer, *(standing.marks if standing else ())) if part])
    verified = told.verified if told and not (standing and standing.verified) else None
    return quoting.quote(text, anchor, day=day, writer=said, verified=verified)


def _note_shown(memory: Memory, hits: list[Hit], question: str) -> None:
    from memtool.usage import usage

    if hits:
        anchors = [hit.anchor for hit in hits]
        by = memory.who
        usage.record(memory.vault, "shown", anchors, question=question, session=by.session, writer=by.writer)


# -- each tool call --------------------------------------------------------------------------


def on_tool(memory: Memory, event: Event) -> str:
    """Keep how a tool call ended, and which notes it opened; an agent is told nothing."""
    if not event.tool:
        return ""
    memory.tool_log(event.tool, dict(event.params), ok=event.ok, error=event.error, ms=event.ms)
    return ""
