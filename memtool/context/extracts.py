"""Hits -> extracts: the lines of each that are worth their tokens, and what says the same told apart.

A chunk is measured as a whole; here each of its pieces is, so that a budget need not pay for the lines
around the one that answers. Knows nothing of budgets or of how an extract is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from memtool import lexical
from memtool.chunks import passages
from memtool.search import question as asking
from memtool.search.query import Hit, Leanings, Meaning, Query
from memtool.search.scoring import Ranked

if TYPE_CHECKING:
    from memtool.embedders.base import Matrix
    from memtool.index.index import Index

#: What a piece's own nearness and words count, against the score of its chunk; without vectors, its words.
NEAR, WORDS, WORDS_ALONE = 0.6, 0.1, 0.6

#: How much of a piece's worth is that of the better of its neighbours, where that is higher.
NEIGHBOUR = 0.4

#: How much front matter stands back: it tells what a note is about, and seldom what it says.
FRONT_MATTER = 0.3

#: From these shares of common words, and from this cosine on, two extracts say the same.
SAME_WORDS, SAME_MEANING = 0.9, 0.97

_NUMBER = re.compile(
    r"\d+(?:[.,:]\d+)*|[一二三四五六七八九十百千万]+|\b(?:not|no|never)\b|n't|ない|ません|ず\b"
)


class Extract(NamedTuple):
    """Some lines of a hit and what they are worth; higher is better."""

    hit: Hit
    start: int
    end: int
    text: str
    worth: float
    vector: Matrix | None = None


class Seen:
    """What a search looked at on its way, so that its pieces can be measured afterwards."""

    def __init__(self) -> None:
        self.ranked: Ranked | None = None
        self.meaning: Meaning | None = None

    @property
    def leanings(self) -> Leanings:
        """Look on; to be put behind all others."""
        return Leanings(meaning=(self._meant,), order=(self._ordered,))

    def _meant(self, query: Query, meaning: Meaning) -> Meaning:
        self.meaning = meaning
        return meaning

    def _ordered(self, query: Query, index: Index, ranked: Ranked) -> Ranked:
        self.ranked = ranked
        return ranked


def extracts(
    question: str, hits: Sequence[Hit], index: Index, seen: Seen, *, fine: bool = False
) -> list[Extract]:
    """Cut *hits* into pieces, best first; *fine* into single lines, for a budget that holds little."""
    ranked = [one.measured.row for one in seen.ranked.scored] if seen.ranked else []
    rows = {(row.path, row.start, row.text): row.row for row in ranked}
    fronts = {(row.path, row.start) for row in ranked if row.kind != "body"}
    terms = asking.terms(question, index)
    weights = {token: term.idf * by for term in terms.terms for token, by in term.variants.items()}
    mass = max(terms.mass, 1e-9)
    near = _near(index, seen.meaning, list(rows.values())) if seen.meaning else {}
    found = [
        one
        for hit in hits
        for one in _cut(hit, near.get(rows.get((hit.path, hit.start, hit.text), -1), {}), weights, mass, fine)
    ]
    found = [
        one._replace(worth=one.worth - FRONT_MATTER) if (one.hit.path, one.hit.start) in fronts else one
        for one in found
    ]
    return sorted(found, key=lambda one: (-one.worth, one.hit.path, one.start))


_Near = Mapping[tuple[int, int], tuple[float, "Matrix"]]


def _near(
    index: Index, meaning: Meaning, rows: Sequence[int]
) -> dict[int, dict[tuple[int, int], tuple[float, Matrix]]]:
    """Give, by row and lines, how near each piece is to the question, and its vector."""
    targets = index.pieces_of(rows)
    if not targets:
        return {}
    matrix = meaning.vectors.get([target.digest for target in targets])
    floor, ceiling = meaning.calibration
    scores = ((matrix @ meaning.vector - floor) / (ceiling - floor)).tolist()
    found: dict[int, dict[tuple[int, int], tuple[float, Matrix]]] = {}
    for target, score, vector in zip(targets, scores, matrix, strict=True):
        if target.row is not None and score == score:
            lines = found.setdefault(target.row, {})
            key = target.start, target.end
            if key not in lines or score > lines[key][0]:
                lines[key] = score, vector
    return found


def _cut(hit: Hit, near: _Near, weights: Mapping[str, float], mass: float, fine: bool) -> Iterator[Extract]:
    lines = hit.text.split("\n")
    pieces = _pieces(hit, near) if len(lines) == hit.end - hit.start + 1 else []
    pieces = [part for piece in pieces for part in _lines(hit, piece)] if fine else pieces
    if len(pieces) < 2:
        best = max(near.values(), key=lambda one: one[0], default=None)
        worth = hit.score + _worth(hit.text, best[0] if best else None, weights, mass)
        yield Extract(hit, hit.start, hit.end, hit.text, worth, best[1] if best else None)
        return
    texts = ["\n".join(lines[piece.start - hit.start : piece.end - hit.start + 1]) for piece in pieces]
    missing = 0.0 if near else None
    own = [
        _worth(text, piece.near[0] if piece.near else missing, weights, mass)
        for text, piece in zip(texts, pieces, strict=True)
    ]
    for at, (piece, text) in enumerate(zip(pieces, texts, strict=True)):
        beside = max([own[at], *own[max(0, at - 1) : at], *own[at + 1 : at + 2]])
        worth = hit.score + (1 - NEIGHBOUR) * own[at] + NEIGHBOUR * beside
        yield Extract(hit, piece.start, piece.end, text, worth, piece.near[1] if piece.near else None)


class _Piece(NamedTuple):
    start: int
    end: int
    near: tuple[float, Matrix] | None


def _pieces(hit: Hit, near: _Near) -> list[_Piece]:
    """Give the lines of each piece in order, without overlap: a line in two pieces goes to the first.

    A piece that is left with no line of its own lends its nearness to the one that has its lines.
    """
    known = sorted(near) or [(one.start, one.end) for one in passages.pieces(hit.start, hit.end, hit.text)]
    found: list[_Piece] = []
    for start, end in known:
        told = near.get((start, end))
        if found and end <= found[-1].end:
            if told and (found[-1].near is None or told[0] > found[-1].near[0]):
                found[-1] = found[-1]._replace(near=told)
        elif hit.start <= start and end <= hit.end:
            found.append(_Piece(max(start, found[-1].end + 1 if found else start), end, told))
    return found


def _lines(hit: Hit, piece: _Piece) -> Iterator[_Piece]:
    """Part a piece into its lines that say something; a heading stays with the line below it."""
    start = piece.start
    for number in range(piece.start, piece.end + 1):
        line = hit.text.split("\n")[number - hit.start].strip()
        if line and (number == piece.end or not line.startswith("#")):
            yield _Piece(start, number, piece.near)
            start = number + 1
        elif not line and start == number:
            start = number + 1


def _worth(text: str, near: float | None, weights: Mapping[str, float], mass: float) -> float:
    said = min(1.0, sum(weights.get(token, 0.0) for token in set(lexical.tokens(text))) / mass)
    return WORDS_ALONE * said if near is None else NEAR * near + WORDS * said


# -- what says the same ----------------------------------------------------------------------


def twins(found: Iterable[Extract]) -> dict[int, int]:
    """Give the place of each extract that says the same as an earlier one -> the place of that one.

    Those that differ in a number or in a negation never say the same.
    """
    kept: list[tuple[int, Extract, set[str], list[str]]] = []
    same: dict[int, int] = {}
    for place, one in enumerate(found):
        words, marks = set(lexical.tokens(one.text)), sorted(_NUMBER.findall(one.text.lower()))
        twin = next((at for at, other, w, m in kept if m == marks and _same(one, words, other, w)), None)
        if twin is None:
            kept.append((place, one, words, marks))
        else:
            same[place] = twin
    return same


def _same(a: Extract, words: set[str], b: Extract, others: set[str]) -> bool:
    if min(len(words), len(others)) < (SAME_WORDS - 0.2) * max(len(words), len(others), 1):
        return False
    common = len(words & others)
    if common / len(words | others) >= SAME_WORDS:
        return True
    near = a.vector is not None and b.vector is not None and float(a.vector @ b.vector) >= SAME_MEANING
    return near and common / min(len(words), len(others)) >= SAME_WORDS - 0.2
