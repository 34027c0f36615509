"""Notes on one subject and the time asked about -> the order in which they hold then. Pure.

A note holds from its own day to the day before the next one's, unless it says itself when it ends
(bi-temporal facts: a newer one ends the older one's validity, and nothing is deleted).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import NamedTuple

from memtool.beliefs import subject
from memtool.beliefs.rivals import Member
from memtool.search.scoring import Scored
from memtool.tense import tense
from memtool.tense.stated import Stated
from memtool.tense.tense import BEGIN, END, Asked

#: Days by which clocks and time zones may differ: a note of tomorrow is not from the future.
SLACK = 1

#: Chunks looked at for the event that a question dates itself by.
_EVENTS = 30


class _Span(NamedTuple):
    """When a member holds among the others, both days included."""

    member: Member
    start: int
    end: int


def order(members: Sequence[Member], asked: Asked, today: date) -> list[Member]:
    """Put first what holds at the asked time; the order given stands where the question does not say."""
    spans = _spans(members)
    if asked.lean == "none":
        return list(members)
    if asked.lean == "first":
        return [span.member for span in spans]
    if asked.lean == "earlier":
        return _earlier(spans, today)
    if asked.lean == "now":
        return [span.member for span in sorted(spans, key=lambda span: _nowness(span, today), reverse=True)]
    return [span.member for span in sorted(spans, key=lambda span: _thenness(span, asked), reverse=True)]


def now(members: Sequence[Member], today: date) -> Member:
    """Give the one that holds today."""
    return max(_spans(members), key=lambda span: _nowness(span, today)).member


def _spans(members: Sequence[Member]) -> list[_Span]:
    """Let each member end where the next one begins, oldest first."""
    starts = {member.file: tense.day(member.start) for member in members}
    begin = {file: BEGIN if start is None else start for file, start in starts.items()}
    days = sorted(set(begin.values()))
    found = []
    for member in sorted(members, key=lambda member: (begin[member.file], member.seen)):
        start = begin[member.file]
        next_day = next((day for day in days if day > start), END + 1)
        own = tense.day(member.end)
        found.append(_Span(member, start, min(next_day - 1, END if own is None else own)))
    return found


def _nowness(span: _Span, today: date) -> tuple[bool, int, bool, int]:
    """Rank by whether it has begun, then by the newest day on which it was written down as true."""
    day = today.toordinal()
    begun = span.start <= day + SLACK
    own = tense.day(span.member.end)
    seen = tense.day(span.member.seen)
    seen = span.start if seen is None or seen > day + SLACK else max(seen, span.start)
    return begun and (own is None or own >= day), seen if begun else -span.start, begun, span.start


def _thenness(span: _Span, asked: Asked) -> tuple[int, int, int]:
    """Rank by the days in common with the time asked about, then by how near it is."""
    common = min(span.end, asked.end) - max(span.start, asked.start) + 1
    if asked.start == BEGIN:  # "before then": the last state that it had
        at = asked.end
        common = 1 if span.start <= at <= span.end else 0
    if asked.end == END:  # "since then": the state it has come to
        common = 1 if span.end == END else 0
    return max(0, common), min(0, common), span.start


def _earlier(spans: Sequence[_Span], today: date) -> list[Member]:
    """Put the state before the one that holds first, then the ones before it."""
    best = max(spans, key=lambda span: _nowness(span, today))
    before = [span.member for span in reversed(spans) if span.start < best.start]
    return [*before, *(span.member for span in spans if span.member not in before)]


# -- one note by itself ----------------------------------------------------------------------


def holds(stated: Stated, asked: Asked) -> bool:
    """Tell whether what a note says of its own validity meets the time asked about."""
    if asked.lean not in ("now", "then"):
        return True
    start, end = tense.day(stated.start), tense.day(stated.end)
    first, last = asked.start, asked.end
    return (start is None or start <= last + SLACK) and (end is None or end >= first)


# -- what happened ---------------------------------------------------------------------------


def settle(asked: Asked, scored: Sequence[Scored], stated: Mapping[int, Stated], today: date) -> Asked:
    """Turn an event into days by the note that tells of it; where none does, lean as the verb does."""
    if not asked.event:
        return asked
    wanted = subject.words(asked.event)
    day = _day_of(wanted, scored, stated) if wanted else None
    if day is None:
        ordinal = today.toordinal()
        return Asked("earlier", past=True) if asked.past else Asked("now", ordinal, ordinal)
    if asked.side == "before":
        return Asked("then", BEGIN, day - 1, past=asked.past)
    return Asked("then", day, END, past=asked.past)


def _day_of(wanted: frozenset[str], scored: Sequence[Scored], stated: Mapping[int, Stated]) -> int | None:
    """Find the note that tells of an event: in its name if it can be, else in its text."""
    in_text = None
    for one in scored[:_EVENTS]:
        row = one.measured.row
        day = tense.day(stated[row.file].start)
        if day is None:
            continue
        if wanted <= subject.words(f"{row.title} {row.path}"):
            return day
        if in_text is None and wanted <= subject.words(row.text):
            in_text = day
    return in_text
