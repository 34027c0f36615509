"""Ranked chunks and the time a question asks about -> the order of what holds at that time.

Notes on the same subject are found among the chunks that fit the question (`rivals`). Of each group the
one that holds at the asked time comes first (`holding`), with the best score of the group; what was
superseded is folded under its successor. Nothing else moves. Knows nothing of how chunks are scored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

from memtool.beliefs import succession
from memtool.beliefs.succession import Successor
from memtool.index.index import Index, Row
from memtool.search.query import Found, Hit, Leanings, Query
from memtool.search.scoring import Ranked, Scored
from memtool.tense import stated
from memtool.tense.stated import Standing, Stated

if TYPE_CHECKING:
    from memtool.beliefs.rivals import Member

#: What is left of the score of a note that needs review, or does not hold at the asked time.
SUNK = 0.85

#: Says of a note why it needs review; () when it does not.
Review = Callable[[str, Stated], tuple[str, ...]]


def leanings(query: Query, review: Review | None = None) -> Leanings:
    """Give what moves an answer by the standing of its notes; None looks at nothing."""
    beliefs = _Beliefs(query.now, review)
    return Leanings(order=(beliefs.order,), found=(beliefs.found,))


class _Beliefs:
    """The standing of the notes of one search."""

    def __init__(self, now: str, review: Review | None) -> None:
        self.review = review
        self.today = _day(now) or datetime.now(UTC).date()
        self.stated: dict[int, Stated] = {}
        self.files: dict[str, int] = {}
        self.successors: dict[int, list[Successor]] = {}
        self.related: set[int] = set()
        self.newer: dict[int, str] = {}
        self.folded: dict[int, list[str]] = {}
        self.reasons: dict[int, tuple[str, ...]] = {}

    # -- the order ---------------------------------------------------------------------------

    def order(self, query: Query, index: Index, ranked: Ranked) -> Ranked:
        """Put first what holds at the asked time, fold what was superseded, sink what needs review."""
        rows = {one.measured.row.file: one.measured.row for one in ranked.scored}
        self.files = {row.path: file for file, row in rows.items()}
        self.stated = {file: stated.unpack(row.standing) for file, row in rows.items()}
        self.successors = succession.of(index, rows, self.stated, query.may_read)
        news = {self.files.get(by.path, 0) for some in self.successors.values() for by in some}
        self.related = self.successors.keys() | news
        scored = self._by_time(query, ranked.scored)
        return ranked._replace(scored=self._reviewed(scored, ranked.threshold))

    def _by_time(self, query: Query, scored: list[Scored]) -> list[Scored]:
        bound = any(one.bound for one in self.stated.values())
        dated = sum(1 for one in self.stated.values() if one.start)
        if dated < 2 and not (self.successors or bound):
            return scored
        from memtool.beliefs import rivals

        groups = rivals.groups(query.text, scored, self.stated, self._follows)
        if not (groups or self.successors or bound):
            return scored
        from memtool.beliefs import holding
        from memtool.tense import tense

        asked = holding.settle(tense.read(query.text, self.today), scored, self.stated, self.today)
        order = list(scored)
        for group in groups:
            members = [self._member(place, scored[place].measured.row) for place in group]
            for place, member in zip(sorted(group), holding.order(members, asked, self.today), strict=True):
                order[place] = scored[member.place]._replace(score=scored[place].score)
            self._remember(members, holding.now(members, self.today))
        if asked.lean == "now":
            order = self._fold(order)
        out = {file for file, one in self.stated.items() if one.bound and not holding.holds(one, asked)}
        return _sink(order, out) if out else order

    def _member(self, place: int, row: Row) -> Member:
        """Give a note with the days on which it begins and ends to hold."""
        from memtool.beliefs.rivals import Member

        one = self.stated[row.file]
        ends = [one.end, *(_day_before(by.since) for by in self.successors.get(row.file, ()))]
        return Member(place, row.file, row.path, one.start, min(filter(None, ends), default=""), one.seen)

    def _follows(self, file: int, path: str) -> bool:
        """Tell whether the note at *path* took the place of *file*, or of one that did; "": of any."""
        if not path:
            return file in self.related
        seen, waiting = set[int](), [file] if file in self.successors else []
        while waiting:
            for by in self.successors.get(waiting.pop(), ()):
                if by.path == path:
                    return True
                if (new := self.files.get(by.path)) and new not in seen:
                    seen.add(new)
                    waiting.append(new)
        return False

    def _remember(self, members: Sequence[Member], now: Member) -> None:
        """Keep which of a group holds now, for those that say nothing of each other."""
        for member in members:
            if member.start < now.start and member.file not in self.successors:
                self.newer[member.file] = now.path

    def _fold(self, order: list[Scored]) -> list[Scored]:
        """Take out each note whose successor fits as well, and let that one name it."""
        from memtool.beliefs import rivals

        best: dict[int, Scored] = {}
        for one in order:
            best.setdefault(one.measured.row.file, one)
        under: dict[int, int] = {}
        for file in best.keys() & self.successors.keys():
            for by in self._effective(file):
                new = self.files.get(by.path)
                if new in best and rivals.stands_in(best[file], best[new]):
                    under[file] = new
        gone = {file: last for file in under if (last := _last(file, under)) is not None}
        for file, last in sorted(gone.items(), key=lambda pair: best[pair[0]].measured.row.path):
            row = best[file].measured.row
            self.folded.setdefault(last, []).append(f"{row.path}:{row.start}-{row.end}")
        return [one for one in order if one.measured.row.file not in gone]

    def _effective(self, file: int) -> list[Successor]:
        """Give the successors of a note that hold today."""
        return [by for by in self.successors.get(file, ()) if by.since <= self.today.isoformat()]

    def _reviewed(self, scored: list[Scored], threshold: float) -> list[Scored]:
        """Sink what needs review, though never out of sight."""
        if self.review:
            for one in scored:
                row, mine = one.measured.row, self.stated[one.measured.row.file]
                if (mine.watches or mine.review_by) and row.file not in self.reasons:
                    self.reasons[row.file] = self.review(row.path, mine)
        out = {file for file, why in self.reasons.items() if why}
        return _sink(scored, out, threshold) if out else scored

    # -- what is said of hits ----------------------------------------------------------------

    def found(self, query: Query, index: Index, found: Found) -> Found:
        """Say of each hit what is special about its standing."""
        return found._replace(
            hits=[self._told(hit) for hit in found.hits], misses=[self._told(hit) for hit in found.misses]
        )

    def _told(self, hit: Hit) -> Hit:
        file = self.files.get(hit.path, 0)
        mine = self.stated.get(file, stated.NOTHING)
        standing = Standing(
            superseded_by=next((by.path for by in self._effective(file)), ""),
            newer=self.newer.get(file, ""),
            folded=tuple(self.folded.get(file, ())),
            valid_from=mine.start if mine.bound and mine.start > self.today.isoformat() else "",
            valid_to=mine.end,
            needs_review=self.reasons.get(file, ()),
            verified=_verification(mine, hit),
            review_by=mine.review_by,
        )
        return hit._replace(standing=standing) if any(standing) else hit


def _verification(mine: Stated, hit: Hit) -> stated.Verified | None:
    """Give the verification of a hit's lines; one of other lines of the note says nothing of these."""
    stamp = mine.verified
    return stamp if stamp and stamp.stands and stamp.start <= hit.end and hit.start <= stamp.end else None


def _sink(scored: Sequence[Scored], files: set[int], threshold: float = -1.0) -> list[Scored]:
    """Lower the chunks of these notes; what was above the line stays just above it."""

    def lowered(one: Scored) -> Scored:
        if one.measured.row.file not in files or one.score <= 0:
            return one
        low = one.score * SUNK
        return one._replace(score=max(low, threshold) if one.score >= threshold else low)

    return sorted(map(lowered, scored), key=lambda one: -one.score)


def _last(file: int, under: Mapping[int, int]) -> int | None:
    """Follow a chain of successors to its end; None for a circle."""
    seen = {file}
    while file in under:
        file = under[file]
        if file in seen:
            return None
        seen.add(file)
    return file


def _day(text: str) -> date | None:
    try:
        return (
            date.fromisoformat(f"{text}-01-01"[:10] if len(text) < 7 else f"{text}-01"[:10]) if text else None
        )
    except ValueError:
        return None


def _day_before(day: str) -> str:
    at = _day(day)
    return date.fromordinal(at.toordinal() - 1).isoformat() if at and at > date.min else ""
