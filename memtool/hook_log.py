"""What went wrong in a hook -> ``hooks.jsonl``, bounded -> findings.

A hook is silent when it fails, so this is where its failure is told. Holds which hook failed, when and
of what kind: no text of a note, of a prompt or of a transcript. Never raises.
"""

from __future__ import annotations

import os
import stat
import time
from contextlib import suppress
from typing import Any

from memtool import atomic
from memtool.errors import Finding

NAME = "hooks.jsonl"

#: Bytes at which the older half goes; days that a failure is told of.
FULL, DAYS = 64_000, 7.0


def record(state: str | os.PathLike[str], agent: str, event: str, code: str, what: str) -> None:
    """Keep that a hook failed; *what* is our own words."""
    import json

    entry = {"when": int(time.time()), "agent": agent, "event": event, "code": code, "what": what[:300]}
    file = os.path.join(state, NAME)
    with suppress(OSError):
        if atomic.append(file, json.dumps(entry).encode()) > FULL:
            _halve(file)


def _halve(file: str) -> None:
    lines = _read(file).split(b"\n")
    atomic.put(file, b"\n".join(lines[len(lines) // 2 :]), mode=atomic.PRIVATE)


def _read(file: str) -> bytes:
    # Whoever made the vault may have put anything there: no link is followed, no pipe waited for.
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    with open(handle, "rb") as stream:
        return stream.read(2 * FULL) if stat.S_ISREG(os.fstat(handle).st_mode) else b""


def failures(state: str | os.PathLike[str], now: float) -> list[dict[str, Any]]:
    """Give what failed within the last days, oldest first; a torn line is none."""
    import json

    found = []
    for line in _read(os.path.join(state, NAME)).split(b"\n"):
        try:
            entry = json.loads(line)
            recent = now - float(entry["when"]) < DAYS * 86_400
            told = {key: str(entry[key]) for key in ("agent", "event", "code", "what")}
        except (ValueError, TypeError, KeyError):
            continue
        if recent:
            found.append({**told, "when": float(entry["when"])})
    return found


def told(state: str | os.PathLike[str]) -> list[Finding]:
    """Give the findings of now; costs one look where no hook ever failed."""
    return findings(state, time.time()) if os.path.exists(os.path.join(state, NAME)) else []


def findings(state: str | os.PathLike[str], now: float) -> list[Finding]:
    """Give one finding for each hook and kind of failure, with how often and when it was last."""
    kinds: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for entry in failures(state, now):
        kinds.setdefault((entry["agent"], entry["event"], entry["code"]), []).append(entry)
    return [_finding(entries) for entries in kinds.values()]


def _finding(entries: list[dict[str, Any]]) -> Finding:
    last = entries[-1]
    times = "once" if len(entries) == 1 else f"{len(entries)} times"
    when = time.strftime("%Y-%m-%d %H:%M", time.gmtime(last["when"]))
    what = f"the {last['agent']} hook `{last['event']}` failed {times}, last {when} UTC: {last['what']}"
    return Finding("hook-failed", ".", 0, what, "run `memtool hooks status`")
