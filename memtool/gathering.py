"""Edited notes and when they were last touched -> those that have been quiet long enough.

So that a note is not committed in the middle of a sentence, and notes edited together stay together.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

LONGEST = 10  # quiet times that an edit waits for its neighbours to be quiet too


def due(changes: Mapping[str, float], now: float, quiet_time_s: float) -> list[str]:
    """Tell which edits are ready: all when none is recent, or, after a long wait, those quiet by themselves.

    >>> due({"a.md": 0.0, "b.md": 50.0}, 70.0, 60.0), due({"a.md": 0.0, "b.md": 50.0}, 110.0, 60.0)
    ([], ['a.md', 'b.md'])
    >>> due({"a.md": 0.0, "b.md": 590.0}, 600.0, 60.0)
    ['a.md']
    """
    quiet = [path for path, when in changes.items() if now - when >= quiet_time_s]
    waited = max((now - when for when in changes.values()), default=0.0)
    return sorted(quiet) if len(quiet) == len(changes) or waited >= LONGEST * quiet_time_s else []


def wait(changes: Mapping[str, float], now: float, quiet_time_s: float) -> float:
    """Tell in how many seconds `due` may name more, if nothing is touched until then; 0 without changes.

    >>> wait({"a.md": 0.0, "b.md": 50.0}, 70.0, 60.0)
    40.0
    """
    last, first = max(changes.values(), default=now), min(changes.values(), default=now)
    after_all, after_long = last + quiet_time_s, first + LONGEST * quiet_time_s
    return max(0.0, min(after_all, after_long if after_long > now else after_all) - now) if changes else 0.0


def times(root: Path, paths: Iterable[str], now: float) -> dict[str, float]:
    """Tell when each path was last touched, as far as its file, or the folder it is gone from, knows."""
    return {path: _touched(root / path, now) for path in paths}


def _touched(file: Path, now: float) -> float:
    for place in (file, *file.parents):
        try:
            it = os.lstat(place)
        except OSError:
            continue
        # A time from the future must not keep a note waiting for ever.
        return now - abs(now - max(it.st_mtime, it.st_ctime))
    return 0.0
