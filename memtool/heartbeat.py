"""A state folder <-> the watcher's last sign of life.

Who answers a question reads it and can say how long ago somebody looked after the vault. Knows
nothing of what a watcher does.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

from memtool import atomic

NAME = "watch.json"

#: Held by the watcher as long as it lives: the kernel lets go of it however the process ends.
LOCK = "watch.lock"

#: Seconds between two signs of life, and after how many without one a watcher counts as silent.
EVERY_S, SILENT_S = 20.0, 90.0


class Beat(NamedTuple):
    """What a watcher writes down about itself; times are seconds since 1970."""

    pid: int
    started: float
    beat: float
    mode: str  # "native" or "polling"
    version: str


class Sign(NamedTuple):
    """What a reader is told of the watcher: ``state`` is "alive", "silent" or "died"."""

    state: str
    minutes: int  # whole ones since the last sign of life
    mode: str
    pid: int

    def __str__(self) -> str:
        ago = f"{self.minutes} min ago" if self.minutes else "under a minute ago"
        if self.state == "alive":
            return f"watched (last sign of life {ago})"
        fix = "start it again: `memtool watch`" if self.state == "died" else f"see to process {self.pid}"
        did = "died" if self.state == "died" else "is silent"
        return f"the watcher {did} (last sign of life {ago}); {fix}"


def save(state: Path, beat: Beat) -> None:
    """Write a sign of life; a reader sees the old one or the new one."""
    atomic.put(state / NAME, (json.dumps(beat._asdict()) + "\n").encode())


def clear(state: Path) -> None:
    """Take the sign away: a watcher that ends as it should leaves none."""
    (state / NAME).unlink(missing_ok=True)


def load(state: Path, now: float) -> Sign | None:
    """Read the last sign of life; None when no watcher is meant to be there."""
    try:
        told = json.loads(_read(state / NAME))
        beat = Beat(**{name: told[name] for name in Beat._fields})
        age = now - float(beat.beat)
        died = not _is_held(state / LOCK)
        return Sign(_state(died, age), max(0, int(age // 60)), str(beat.mode)[:20], int(beat.pid))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _state(died: bool, age: float) -> str:
    return "died" if died else "silent" if age > SILENT_S else "alive"


def _read(file: Path) -> Any:
    # Whoever made the vault may have put anything there: a pipe must not hold up a search.
    handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        return os.read(handle, 4096)
    finally:
        os.close(handle)


def _is_held(file: Path) -> bool:
    try:
        import fcntl

        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (ImportError, OSError):
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False
