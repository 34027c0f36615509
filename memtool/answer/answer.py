"""Hits and what they were found in -> an answer: a list that can account for itself.

Knows what a reader must be told besides the hits. Knows nothing of how they were found.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from memtool.errors import StaleError
from memtool.heartbeat import Sign
from memtool.refresh.refresh import RefreshReport
from memtool.search.query import Found, Hit
from memtool.search.scoring import SURE_CHANCE


class Freshness(NamedTuple):
    """What an answer was answered from."""

    notes: int  # in the index
    looked: bool  # whether the vault was looked at before answering
    added: int = 0
    changed: int = 0
    removed: int = 0
    unread: tuple[str, ...] = ()  # notes whose current bytes were not searched
    covered: float = 0.0  # share of the texts that have vectors
    rankers: tuple[str, ...] = ("words",)
    revision: str = ""  # the commit the work tree stands on
    remarks: tuple[str, ...] = ()  # what kept a part from taking part
    as_of: str = ""  # the moment of the past that was searched
    watcher: Sign | None = None  # its last sign of life; None where nobody watches

    @classmethod
    def of(cls, report: RefreshReport | None, *, remarks: tuple[str, ...], **known: Any) -> Freshness:
        """Tell it from a refresh; None when the vault was not looked at."""
        if report is None:
            return cls(looked=False, remarks=tuple(dict.fromkeys(remarks)), **known)
        lost = [finding.what for finding in report.findings if finding.code == "loss-paused"]
        return cls(
            looked=True,
            added=report.added,
            changed=report.changed,
            removed=report.removed,
            unread=report.unread,
            remarks=tuple(dict.fromkeys([*remarks, *lost])),
            **known,
        )

    @property
    def current(self) -> bool:
        """Whether every note's current bytes were searched."""
        return self.looked and not self.unread

    def __str__(self) -> str:
        refreshed = ", ".join(
            f"{count} {word}"
            for count, word in ((self.added, "new"), (self.changed, "changed"), (self.removed, "gone"))
            if count
        )
        state = "as they are now" if self.current else "as last seen"
        if self.as_of:
            state, refreshed = f"as of {self.as_of}", ""
        notes = "1 note" if self.notes == 1 else f"{self.notes} notes"
        words = [f"{notes} {state}" + (f" ({refreshed})" if refreshed else "")]
        by = " and ".join(self.rankers)
        covers = (
            f" ({int(self.covered * 100)} % of the texts)"
            if "vectors" in self.rankers and self.covered < 1
            else ""
        )
        words.append(f"by {by}{covers}" if by else "by nothing")
        if self.unread:
            words.append(f"{len(self.unread)} not read")
        if self.watcher:
            words.append(str(self.watcher))
        return ", ".join(words) + "".join(f"; {remark}" for remark in self.remarks)


class Answer(list[Hit]):
    """Hits, best first. Empty when nothing relevant was found: that is an answer, not a failure."""

    def __init__(self, hits: Iterable[Hit] = (), *, found: Found, freshness: Freshness) -> None:
        super().__init__(hits)
        self.misses = found.misses
        self.confidence = found.confidence
        # One ranker alone gives no chance, and so no doubt.
        self.sure = len(freshness.rankers) < 2 or found.confidence >= SURE_CHANCE
        self.threshold = found.threshold
        self.leant = found.leant
        self.freshness = freshness


def not_fresh(report: RefreshReport | None) -> StaleError:
    """Say why an answer from current bytes cannot be given."""
    unread = report.unread if report else ()
    names = ", ".join(unread[:3]) + (", ..." if len(unread) > 3 else "")
    return StaleError(
        "not every note's current bytes could be searched",
        why=f"{len(unread)} could not be read: {names}" if unread else "another process is writing the index",
        fix="mend what `memtool status` names, or search without --fresh",
    )
