"""Chunks that fit a question -> groups of them that say the same thing of different times.

Two chunks are rivals when one note names the other as replaced, when both are editions of one note and
stand under the same heading or are alike, or when their lines say the same of what is asked but for a few
words. Notes without a day, or of the same day, are no rivals unless they name each other. Pure.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from memtool import lexical
from memtool.beliefs import subject
from memtool.index.index import Row
from memtool.search.scoring import Scored
from memtool.tense.stated import Stated

#: Chunks from which a group may begin, and chunks looked at for its other members.
LEADERS, MEMBERS = 20, 120

#: Chunks among which notes of other names are compared.
NEIGHBOURS = 10

#: What a rival must have of the leader's score: an edition with a heading that the question names, any
#: other edition, a note that took another's place, one that is just alike.
HEADED_FITS, EDITION_FITS, NAMED_FITS, ALIKE_FITS = 0.35, 0.6, 0.5, 0.85

#: What an edition, and a note that replaced another, must cover of the words that the leader covers.
EDITION_COVERS, NAMED_COVERS = 0.3, 0.6

#: What notes that are just alike must cover of all words of the question.
ALIKE_COVERS = 0.7

#: How alike the sections of two editions must be, and the lines of notes that have nothing else in common.
SECTIONS_ALIKE, LINES_ALIKE = 0.35, 0.6

#: How alike two lines must be in what they have of the question.
MET_ALIKE = 0.6

#: Words of the question that lines must have in common to be rivals by themselves.
LEAST_WORDS = 2

#: Tells whether the note with this id was replaced by the note at this path; "" asks for any note, or
#: whether it replaced one itself.
Follows = Callable[[int, str], bool]


class Member(NamedTuple):
    """One note of a group; days are ISO, "" where nobody knows."""

    place: int
    file: int
    path: str
    start: str
    end: str
    seen: str


class _Side(NamedTuple):
    """One chunk as it meets the question."""

    heading: str  # of the section that meets it best
    section: frozenset[str]
    line: frozenset[str]  # its best line
    met: frozenset[str]  # words of the question in that line
    headings: frozenset[str]  # of all its sections


def groups(
    question: str, scored: Sequence[Scored], stated: Mapping[int, Stated], follows: Follows
) -> list[list[int]]:
    """Give the places of rivals, each group's best first; a note is in a group but once."""
    return list(_Rivals(question, scored, stated, follows).groups())


class _Rivals:
    """The rivals among the chunks of one answer."""

    def __init__(
        self, question: str, scored: Sequence[Scored], stated: Mapping[int, Stated], follows: Follows
    ) -> None:
        self.question, self.asked = lexical.fold(question), subject.words(question)
        self.scored, self.stated, self.follows = scored[:MEMBERS], stated, follows
        self._sides: dict[int, _Side] = {}
        self._named: dict[int, frozenset[str]] = {}

    def groups(self) -> Iterator[list[int]]:
        # Most chunks can have no rival at all: those of notes that tell no day.
        able = [place for place in range(len(self.scored)) if self._is_able(self._row(place))]
        called: dict[str, list[int]] = {}
        for place in able:
            for name in self._names(place):
                called.setdefault(name, []).append(place)
        taken: set[int] = set()
        for leader in able:
            if leader < LEADERS and leader not in taken and len(able) > 1:
                group = self._group(leader, called, taken)
                if len(group) > 1:
                    taken.update(group)
                    yield group

    def _group(self, leader: int, called: Mapping[str, list[int]], taken: set[int]) -> list[int]:
        group, files = [leader], {self._row(leader).file}
        near = {place for name in self._names(leader) for place in called[name]}
        for place in sorted(near - taken):
            file = self._row(place).file
            if place > leader and file not in files and self._are_rivals(leader, place):
                group.append(place)
                files.add(file)
        return group

    def _names(self, place: int) -> list[str]:
        """Give what a chunk has in common with those that it is compared with."""
        row = self._row(place)
        names = [f"title {subject.name(row.title)}", f"file {subject.name(_stem(row.path))}"]
        found = [name for name in names if not name.endswith(" ")]
        found += ["related"] if self.follows(row.file, "") else []
        return [*found, "near"] if place < NEIGHBOURS else found

    def _row(self, place: int) -> Row:
        return self.scored[place].measured.row

    def _is_able(self, row: Row) -> bool:
        return row.kind == "body" and (bool(self.stated[row.file].start) or self.follows(row.file, ""))

    def _are_rivals(self, leader: int, place: int) -> bool:
        mine, other = self.scored[leader], self.scored[place]
        a, b = self._row(leader), self._row(place)
        if self.follows(a.file, b.path):
            return stands_in(mine, other)
        if self.follows(b.file, a.path):
            return _fits(mine, other, NAMED_FITS)
        since, other_since = self.stated[a.file].start, self.stated[b.file].start
        if not since or not other_since or since == other_since or not _fits(mine, other, HEADED_FITS):
            return False
        if subject.same_name(a.title, _stem(a.path), b.title, _stem(b.path)):
            return self._are_editions(mine, other)
        return place < NEIGHBOURS and self._say_the_same(mine, other)

    def _are_editions(self, mine: Scored, other: Scored) -> bool:
        """Tell whether both say something of what is asked: under one heading that names it, or alike."""
        if self._headings(mine) & self._headings(other):
            return True
        if not _fits(mine, other, EDITION_FITS) or not _covers(mine, other, EDITION_COVERS):
            return False
        a, b = self._side(mine), self._side(other)
        if a.heading in b.headings and subject.words(a.heading) & self.asked:
            return True
        same = subject.alike(a.met, b.met) >= MET_ALIKE
        return same and subject.alike(a.section, b.section) >= SECTIONS_ALIKE

    def _say_the_same(self, mine: Scored, other: Scored) -> bool:
        """Tell whether two notes of other names say the same of what is asked, but for a few words."""
        if not _fits(mine, other, EDITION_FITS):
            return False
        if self._headings(mine) & self._headings(other):
            return subject.alike(self._side(mine).section, self._side(other).section) >= SECTIONS_ALIKE
        covered = min(_covered(mine), _covered(other)) >= ALIKE_COVERS
        return covered and _fits(mine, other, ALIKE_FITS) and _same_line(self._side(mine), self._side(other))

    def _headings(self, scored: Scored) -> frozenset[str]:
        """Give the headings of a chunk that the question names word for word."""
        row = scored.measured.row
        if row.row not in self._named:
            paths = [path for _, path in json.loads(row.sections)] if row.sections else [row.headings]
            self._named[row.row] = frozenset(filter(self._is_named, map(_last, paths)))
        return self._named[row.row]

    def _is_named(self, heading: str) -> bool:
        words = subject.words(heading)
        if words and words <= self.asked:
            return True
        return lexical.is_wide(heading) and lexical.fold(heading) in self.question

    def _side(self, scored: Scored) -> _Side:
        row = scored.measured.row
        if row.row not in self._sides:
            self._sides[row.row] = self._read(row)
        return self._sides[row.row]

    def _read(self, row: Row) -> _Side:
        """Find the section of a chunk that meets the question best, and the best line in it."""
        sections, asked = _sections(row), self.asked
        words = {heading: subject.words("\n".join((heading, *lines))) for heading, lines in sections.items()}
        spread = Counter(word for found in words.values() for word in found & asked)
        # A word that stands in every section tells none from the others.
        best = max(words, key=lambda heading: sum(1 / spread[word] for word in words[heading] & asked))
        lines = [line for line in sections[best] if line.strip() and not line.startswith("#")]
        line = max(lines or sections[best], key=lambda line: len(subject.words(line) & asked))
        found = subject.words(line)
        return _Side(_last(best), words[best], found, found & asked, frozenset(map(_last, sections)))


def stands_in(old: Scored, new: Scored) -> bool:
    """Tell whether a note that replaced another answers as well: it may say nothing of what is asked."""
    if new.score >= old.score or _fits(old, new, EDITION_FITS):
        return True
    return _covers(old, new, NAMED_COVERS) and _fits(old, new, NAMED_FITS)


def _covers(mine: Scored, other: Scored, share: float) -> bool:
    return _covered(other) >= share * _covered(mine)


def _covered(one: Scored) -> float:
    """Give how much of the words of the question a chunk has, by their weight."""
    return one.evidence.get("covered", 0.0)


def _fits(mine: Scored, other: Scored, share: float) -> bool:
    """Tell whether a lower chunk fits the question about as well; scores near 0 are compared by their gap."""
    return other.score >= share * mine.score if mine.score > 0.2 else mine.score - other.score <= 0.1


def _same_line(mine: _Side, other: _Side) -> bool:
    return (
        len(mine.met) >= LEAST_WORDS
        and mine.met == other.met
        and subject.alike(mine.line, other.line) >= LINES_ALIKE
    )


def _stem(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[0]


def _sections(row: Row) -> dict[str, list[str]]:
    """Part the lines of a chunk by the headings they stand under."""
    lines = row.text.split("\n")
    if len(lines) != row.end - row.start + 1 or not row.sections:
        return {row.headings: lines}
    found: dict[str, list[str]] = {}
    begins, above = dict[int, str](json.loads(row.sections)), row.headings
    above = next((path for first, path in reversed(begins.items()) if first < row.start), above)
    for number, line in enumerate(lines, row.start):
        above = begins.get(number, above)
        found.setdefault(above, []).append(line)
    return found


def _last(headings: str) -> str:
    """Give the heading that a section stands under, without those above it."""
    return headings.rpartition(" > ")[2]
