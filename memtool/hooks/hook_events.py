"""An agent's event, as JSON on standard input -> an `Event`; a text -> that agent's own answer.

Knows the three formats, as their makers describe them, and forgives what differs: a field that is
missing or of another kind is as good as empty, and unknown fields are passed over.

Claude Code: every event has ``session_id``, ``transcript_path``, ``cwd`` and ``hook_event_name``;
`UserPromptSubmit` has ``prompt``, `SessionStart` ``source`` (startup, resume, clear, compact),
`PostToolUse` ``tool_name``, ``tool_input`` and ``tool_response``, `PostToolUseFailure` ``error``,
`PreCompact` ``trigger``, `SessionEnd` ``reason``. What is said at `SessionStart` and `UserPromptSubmit`
reaches the model as ``{"hookSpecificOutput": {"hookEventName": ..., "additionalContext": ...}}``.
An exit code of 2 blocks the prompt; nothing on standard output is a quiet yes.

Codex: the same fields and the same answer (``transcript_path`` may be null, and ``turn_id`` and
``model`` come on top); it has `SessionStart`, `UserPromptSubmit`, `PostToolUse`, `PreCompact`, `Stop`
and, in newer versions, `SessionEnd`. Unknown fields in an answer make it invalid.

opencode has no hook commands; a plugin of ours calls us with the same fields, gives the messages of
the session as ``messages`` (``[{info, parts}]``, as its SDK gives them), and reads ``{"context": ...}``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from memtool.hooks.transcript_formats import failure, string_of

AGENTS = ("claude", "codex", "opencode")

_NATIVE = {"start": "SessionStart", "prompt": "UserPromptSubmit"}


class Event(NamedTuple):
    """What an agent tells of: one moment of one session."""

    agent: str
    kind: str  # as in `hook_client.EVENTS`
    session: str = ""
    folder: str = ""
    prompt: str = ""
    transcript: str = ""  # the file that holds the session so far
    messages: tuple[Any, ...] = ()  # or the session so far itself
    tool: str = ""
    params: Mapping[str, Any] = {}
    ok: bool = True
    error: str = ""
    ms: int = 0

    @property
    def writer(self) -> str:
        return f"agent/{self.agent}"


def parse(agent: str, kind: str, data: bytes) -> Event:
    """Read an event. Raises ValueError when it is no JSON object."""
    told = json.loads(data.decode("utf-8", "replace")) if data.strip() else {}
    if not isinstance(told, dict):
        raise ValueError("the event is no JSON object")
    params = told.get("tool_input")
    messages = told.get("messages")
    error = failure(told.get("tool_response")) or string_of(told, "error")
    if kind == "failed-tool":
        kind, error = "tool", error or "failed"
    return Event(
        agent=agent,
        kind=kind,
        session=string_of(told, "session_id", "sessionID")[:200],
        folder=string_of(told, "cwd"),
        prompt=string_of(told, "prompt"),
        transcript=string_of(told, "transcript_path"),
        messages=tuple(messages) if isinstance(messages, list) else (),
        tool=string_of(told, "tool_name")[:200],
        params=params if isinstance(params, dict) else {} if params is None else {"input": params},
        ok=not error,
        error=error,
        ms=_number(told.get("duration_ms")),
    )


def _number(value: object) -> int:
    return max(0, int(value)) if isinstance(value, int | float) and value == value and value < 1e12 else 0


def answer(agent: str, kind: str, text: str) -> str:
    """Say *text* as *agent* wants to hear it; "" when there is nothing to say, or nobody would hear it.

    >>> answer("claude", "prompt", "x")
    '{"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "x"}}'
    >>> answer("opencode", "start", "x"), answer("codex", "end", "x")
    ('{"context": "x"}', '')
    """
    if not text or kind not in _NATIVE:
        return ""
    if agent == "opencode":
        return json.dumps({"context": text})
    return json.dumps({"hookSpecificOutput": {"hookEventName": _NATIVE[kind], "additionalContext": text}})
