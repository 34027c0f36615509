"""One line of an agent's transcript -> what was said, called and answered in it.

Knows three formats, as they are found today:

Claude Code: JSONL; ``{"type": "user"|"assistant", "timestamp", "message": {"role", "content"}}`` where
content is text or a list of ``text``, ``tool_use`` (id, name, input) and ``tool_result`` (tool_use_id,
content, is_error); ``isMeta`` and ``isSidechain`` lines are not the conversation.

Codex: JSONL ("rollout"); ``{"timestamp", "type": "response_item", "payload"}`` with ``message`` (role,
content of ``input_text`` and ``output_text``), ``function_call`` (name, arguments, call_id) and its
output; ``event_msg`` repeats what was said, and ``exec_command_end`` tells exit codes.

opencode: one JSON document, ``{"info", "messages": [{"info": {"role"}, "parts": [...]}]}``, as
`opencode export` writes it; parts are ``text`` and ``tool`` (tool, state: status, input, output, error).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple


class Call(NamedTuple):
    """One use of a tool; ``output`` "" until it is known."""

    tool: str
    params: Mapping[str, Any]
    ok: bool = True
    output: str = ""


class Part(NamedTuple):
    """What one line says: text, calls by their names, results of calls."""

    role: str
    text: str = ""
    calls: tuple[tuple[str, Call], ...] = ()
    results: tuple[tuple[str, bool, str], ...] = ()
    when: str = ""


# -- Claude Code -----------------------------------------------------------------------------


def claude(told: dict[str, Any]) -> Part | None:
    message = told.get("message")
    if told.get("type") not in ("user", "assistant") or not isinstance(message, dict):
        return None
    if told.get("isMeta") or told.get("isSidechain") or told.get("isCompactSummary"):
        return None
    role = "assistant" if told["type"] == "assistant" else "user"
    content = message.get("content")
    blocks = [content] if isinstance(content, str) else content if isinstance(content, list) else []
    texts, calls, results = [], [], []
    for block in blocks:
        if isinstance(block, str):
            texts.append(block)
        elif not isinstance(block, dict):
            continue
        elif block.get("type") == "text":
            texts.append(string(block.get("text")))
        elif block.get("type") == "tool_use":
            calls.append(
                (string(block.get("id")), Call(string(block.get("name")), _params(block.get("input"))))
            )
        elif block.get("type") == "tool_result":
            ok = block.get("is_error") is not True
            results.append((string(block.get("tool_use_id")), ok, flat(block.get("content"))))
    return Part(role, "\n".join(texts), tuple(calls), tuple(results), string(told.get("timestamp")))


# -- Codex -----------------------------------------------------------------------------------


def codex(told: dict[str, Any]) -> Part | None:
    payload = told.get("payload")
    if not isinstance(payload, dict):
        return None
    kind, when = payload.get("type"), string(told.get("timestamp"))
    name = string(payload.get("call_id"))
    if told.get("type") == "event_msg":
        if kind != "exec_command_end":
            return None
        code = payload.get("exit_code")
        return Part(
            "assistant", results=((name, code in (0, None), string(payload.get("aggregated_output"))),)
        )
    if kind == "message" and payload.get("role") in ("user", "assistant"):
        text = flat(payload.get("content"))
        return None if _is_scaffold(text) else Part(payload["role"], text, when=when)
    if kind in ("function_call", "custom_tool_call", "local_shell_call"):
        given = payload.get("arguments", payload.get("input", payload.get("action")))
        return Part(
            "assistant",
            calls=((name, Call(string(payload.get("name")) or "shell", _params(given))),),
            when=when,
        )
    if kind in ("function_call_output", "custom_tool_call_output"):
        return Part("assistant", results=((name, *_codex_output(payload.get("output"))),))
    return None


def _is_scaffold(text: str) -> bool:
    """Tell whether a message was put there by the agent itself rather than by a person."""
    return text.lstrip().startswith(
        ("<environment_context", "<permissions", "<user_instructions", "# AGENTS.md")
    )


def _codex_output(output: object) -> tuple[bool, str]:
    """Read the output of a call, which some versions wrap in JSON with an exit code."""
    if isinstance(output, str) and output.startswith("{"):
        try:
            output = json.loads(output)
        except ValueError:
            return True, str(output)
    if isinstance(output, dict):
        return not failure(output), flat(output.get("output", output.get("content", "")))
    return not failure(output), flat(output)


# -- opencode -------------------------------------------------------------------------------


def opencode_call(part: dict[str, Any]) -> Call:
    state = part.get("state")
    state = state if isinstance(state, dict) else {}
    ok = state.get("status") != "error"
    output = flat(state.get("output") if ok else state.get("error"))
    return Call(string(part.get("tool")), _params(state.get("input")), ok, output)


def opencode_time(info: dict[str, Any]) -> str:
    from datetime import UTC, datetime

    time = info.get("time")
    created = time.get("created") if isinstance(time, dict) else None
    if not isinstance(created, int | float) or not 0 < created < 1e14:
        return ""
    return datetime.fromtimestamp(created / 1000, UTC).isoformat(timespec="seconds")


# -- how a call ended ------------------------------------------------------------------------


def failure(response: object) -> str:
    """Say why a tool failed, as far as its response tells; "" when it does not look like a failure.

    >>> failure({"stdout": "ok"}), failure({"is_error": True, "error": "no such file"})
    ('', 'no such file')
    >>> failure("Exit code: 2\\nmake: no rule")
    'Exit code: 2\\nmake: no rule'
    """
    if isinstance(response, str):
        return response if _exit_code(response) else ""
    if not isinstance(response, dict):
        return ""
    inner = response.get("metadata")
    codes = [
        where.get(key) for where in (response, inner if isinstance(inner, dict) else {}) for key in _CODES
    ]
    bad = response.get("success") is False or any(response.get(key) is True for key in _BAD)
    bad = bad or any(isinstance(code, int) and code != 0 for code in codes)
    said = string_of(response, "error", "stderr", "message", "output", "stdout")
    return (said or "failed") if bad else ""


_CODES = ("exit_code", "exitCode", "exit")
_BAD = ("is_error", "isError", "interrupted")


def _exit_code(text: str) -> int:
    """Find the exit code that some agents write in front of a command's output; 0 when there is none."""
    found = re.search(r"(?im)^(?:process )?(?:exit(?:ed)?)(?: with)?(?: code)?:? *(\d{1,3})\b", text[:400])
    return int(found[1]) if found else 0


# -- values of any kind ----------------------------------------------------------------------


def string(value: object) -> str:
    return value if isinstance(value, str) else ""


def string_of(told: Mapping[str, Any], *keys: str) -> str:
    """Give the first of these values that is text."""
    return next((value for key in keys if isinstance(value := told.get(key), str)), "")


def _params(value: object) -> Mapping[str, Any]:
    if isinstance(value, str):
        try:
            told = json.loads(value)
        except ValueError:
            return {"input": value}
        return told if isinstance(told, dict) else {"input": value}
    return value if isinstance(value, dict) else {}


def flat(value: object) -> str:
    """Give the text of a content that is text, a list of parts, or nothing.

    >>> flat([{"type": "text", "text": "a"}, {"type": "image"}, "b"])
    'a\\nb'
    """
    if isinstance(value, list):
        texts = [part if isinstance(part, str) else flat(part) for part in value]
        return "\n".join(text for text in texts if text)
    if isinstance(value, dict):
        return string(value.get("text")) or string(value.get("content"))
    return string(value)
