"""What is known of a note's use, its type and today -> how strong it is, from 0 to 1, and why.

Strength comes from use: how often, how lately, and what was said of it. Time alone only ever takes
away, by the half-life of the note's type; what is pinned or a core note keeps what it has.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import NamedTuple

from memtool import kinds
from memtool.tense.dates import get_date
from memtool.usage.usage import Use

#: What how often, how lately and what was said of it count.
FREQUENCY, RECENCY, FEEDBACK = 0.4, 0.3, 0.3

#: So many uses are half of what frequency can be.
HALF_USES = 3.0

#: A citation is worth so many openings.
CITED = 2

#: From this importance on a semantic or procedural note is a core note.
CORE = 0.8

#: What a note is taken for that says nothing of its importance.
USUAL = 0.5

_CORE_KINDS = ("semantic", "procedural")
_YES = ("true", "yes", "on", "1")
_WORDS = {"low": 0.2, "medium": 0.5, "normal": 0.5, "high": 0.8, "critical": 1.0}
_WORDS |= {"低": 0.2, "低い": 0.2, "中": 0.5, "普通": 0.5, "高": 0.8, "高い": 0.8, "最重要": 1.0, "重要": 0.8}


class Strength(NamedTuple):
    """How strong a note is, of what that is made, and how long it was left alone; ``fades`` False: never."""

    value: float
    frequency: float
    recency: float
    feedback: float
    days: int
    fades: bool = True

    def __str__(self) -> str:
        parts = f"frequency {self.frequency:.2f}, recency {self.recency:.2f}, feedback {self.feedback:.2f}"
        return f"strength {self.value:.2f} ({parts}; {self.days} days)"


def strength(use: Use, today: date, *, kind: str = "", born: str = "", lasting: bool = False) -> Strength:
    """Say how strong a note is *today*; *lasting* notes do not fade.

    >>> strength(Use(opened=3), date(2026, 1, 1), born="2026-01-01").value
    0.65
    """
    reads = use.opened + CITED * use.cited + use.good
    days = _days(use.last if reads else 0.0, born, today)
    left = 1.0 if lasting else decay(kind, days)
    frequency = left * reads / (reads + HALF_USES)
    feedback = left * (1 + use.good) / (2 + use.good + use.bad)
    value = FREQUENCY * frequency + RECENCY * left + FEEDBACK * feedback
    return Strength(round(value, 6), frequency, left, feedback, days, not lasting)


def decay(kind: str, days: float) -> float:
    """Give what is left of a note of this type after so many days without use.

    >>> round(decay("episodic", 100), 2), decay("reference", 100)
    (0.37, 1.0)
    """
    half = kinds.half_life(kind)
    return math.exp(-math.log(2) * max(0.0, days) / half) if half else 1.0


def _days(last: float, born: str, today: date) -> int:
    """Count the days since a note was made or last used; what lies ahead is today."""
    when = get_date(born) if born else None
    seen = [when.date()] if when else []
    if last:
        seen.append(datetime.fromtimestamp(last, UTC).date())
    return max(0, (today - max(seen)).days) if seen else 0


def importance(value: object) -> float:
    """Read an importance: from 0 to 1, from 1 to 10, or a word; what says nothing is usual.

    >>> importance("0.9"), importance("7"), importance("高"), importance("1"), importance(None)
    (0.9, 0.7, 0.8, 0.1, 0.5)
    """
    text = value.strip().casefold() if isinstance(value, str) else ""
    if text in _WORDS:
        return _WORDS[text]
    try:
        number = float(text)
    except ValueError:
        return USUAL
    if not math.isfinite(number):
        return USUAL
    number = number if "." in text and number <= 1 else number / 10
    return min(1.0, max(0.0, number))


def is_lasting(said: Mapping[str, object], kind: str) -> bool:
    """Tell whether a note never fades: it is pinned, or the core of what is known."""
    if said.get("pinned") is True or _is_yes(said.get("pinned")):
        return True
    named = kinds.kind_of(kind)
    if named is None or named.name not in _CORE_KINDS:
        return False
    return _is_yes(said.get("core")) or importance(said.get("importance")) >= CORE


def _is_yes(value: object) -> bool:
    return isinstance(value, str) and value.strip().casefold() in _YES
