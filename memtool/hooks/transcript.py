"""The file in which an agent keeps a session -> what was said and done, turn by turn.

Reads the tail of a long file and says from where; a line that is no JSON, or of a kind that nobody
knows, is passed over. A turn's number is the number of its line in what was read, so that the same
session gives the same numbers. Knows how a session is
laid out in a file; what a line of it means is known next door.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from memtool.hooks.transcript_formats import Call, Part, claude, codex, opencode_call, opencode_time, string

#: Bytes of a transcript that are read, from its end; lines longer than the other are passed over.
MOST, LONGEST = 16_000_000, 4_000_000


class Turn(NamedTuple):
    """What one side said or did at once."""

    number: int
    role: str  # user or assistant
    text: str
    calls: tuple[Call, ...] = ()
    when: str = ""  # ISO, as the agent wrote it


class Transcript(NamedTuple):
    """A session as far as it was read; ``skipped`` counts bytes in front of it that were not."""

    turns: tuple[Turn, ...]
    skipped: int = 0


def load(file: str, agent: str) -> Transcript:
    """Read a transcript. Raises OSError when there is none; a pipe or a device is none."""
    data, skipped = _tail(file)
    if agent == "opencode" and not skipped:
        try:
            return of_messages(json.loads(data.decode("utf-8", "replace")).get("messages", ()))
        except (ValueError, AttributeError):
            return Transcript((), skipped)
    return Transcript(tuple(_turns(_lines(data), _KINDS.get(agent, claude))), skipped)


def _tail(file: str) -> tuple[bytes, int]:
    """Read the end of a file, from the beginning of a line on."""
    handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(handle, "rb", buffering=0) as stream:
        it = os.fstat(handle)
        if not stat.S_ISREG(it.st_mode):
            raise FileNotFoundError(file)
        begin = max(0, it.st_size - MOST)
        stream.seek(begin)
        parts = []
        left = MOST
        while left and (part := stream.read(min(left, 1 << 20))):
            parts.append(part)
            left -= len(part)
    data = b"".join(parts)
    if not begin:
        return data, 0
    cut = data.find(b"\n") + 1
    return data[cut:], begin + cut


def _lines(data: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip() or len(line) > LONGEST:
            continue
        try:
            told = json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            continue
        if isinstance(told, dict):
            yield number, told


def _turns(
    lines: Iterable[tuple[int, dict[str, Any]]], read: Callable[[dict[str, Any]], Part | None]
) -> Iterator[Turn]:
    parts = [(number, part) for number, told in lines if (part := read(told))]
    ended = {name: (ok, output) for _, part in parts for name, ok, output in part.results}
    for number, part in parts:
        if part.text.strip() or part.calls:
            calls = tuple(
                call._replace(ok=ended[name][0], output=ended[name][1]) if name in ended else call
                for name, call in part.calls
            )
            yield Turn(number, part.role, part.text, calls, part.when)


# -- opencode --------------------------------------------------------------------------------


def of_messages(messages: Sequence[Any]) -> Transcript:
    """Read the messages of an opencode session."""
    turns = []
    for number, message in enumerate(messages if isinstance(messages, list | tuple) else (), 1):
        if not isinstance(message, dict) or not isinstance(message.get("info"), dict):
            continue
        parts = [part for part in message.get("parts") or () if isinstance(part, dict)]
        text = "\n".join(
            string(p.get("text")) for p in parts if p.get("type") == "text" and not p.get("synthetic")
        )
        calls = tuple(opencode_call(part) for part in parts if part.get("type") == "tool")
        role = "assistant" if message["info"].get("role") == "assistant" else "user"
        if text.strip() or calls:
            turns.append(Turn(number, role, text, calls, opencode_time(message["info"])))
    return Transcript(tuple(turns))


_KINDS = {"claude": claude, "codex": codex}
