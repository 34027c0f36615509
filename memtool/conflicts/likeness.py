"""Notes -> pairs that say nearly the same: by the cosine of their vectors, else of their words.

A pair whose lines differ in a number or in a "not" says two things, however alike it looks: it is told
apart here, for a merge would bury the question which of them is true.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from memtool import lexical, pin
from memtool.folding.folding import cosine

if TYPE_CHECKING:
    from memtool.embedders.base import Matrix

#: Cosine from which on two notes say nearly the same.
ALIKE = 0.95

#: Lines this much alike are about the same thing.
SAME_LINE = 0.6

_RARE = 6  # of a note's words, the rarest, by which others are looked for
_MOST_SHARED = 60  # a word of more notes than that leads to none
_BLOCK = 512
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_NOT = re.compile(
    r"\b(?:not|no|never|without|cannot|n't|only|disabled?|forbidden)\b|n't\b|ない|ません|禁止|不可|なし|無効|のみ",
    re.IGNORECASE,
)


class Pair(NamedTuple):
    """Two notes, as places in what was given, and how alike they are; ``by`` words or meaning."""

    one: int
    other: int
    likeness: float
    by: str


def pairs(
    texts: Sequence[str], vectors: Mapping[int, Matrix] | None = None, *, least: float = ALIKE
) -> list[Pair]:
    """Find the pairs that are at least so alike, in order; *vectors*: a matrix for each that has one."""
    found = {(pair.one, pair.other): pair for pair in _by_words(texts, least)}
    for pair in _by_meaning(vectors, least) if vectors else ():
        found[pair.one, pair.other] = pair
    return [found[key] for key in sorted(found)]


# By words


def _by_words(texts: Sequence[str], least: float) -> Iterator[Pair]:
    counts = [Counter(lexical.tokens(text)) for text in texts]
    spread = Counter(token for one in counts for token in one)
    units = [_unit(one) for one in counts]
    holding: dict[str, list[int]] = defaultdict(list)
    for place, one in enumerate(counts):
        for token in sorted(one, key=lambda token: (spread[token], token))[:_RARE]:
            holding[token].append(place)
    asked = {
        pair for places in holding.values() if len(places) <= _MOST_SHARED for pair in combinations(places, 2)
    }
    for here, there in sorted(asked):
        alike = cosine(units[here], units[there])
        if alike >= least:
            yield Pair(here, there, round(alike, 4), "words")


def _unit(counts: Counter[str]) -> dict[str, float]:
    length = math.sqrt(sum(n * n for n in counts.values())) or 1.0
    return {token: n / length for token, n in counts.items()}


# By meaning


def _by_meaning(vectors: Mapping[int, Matrix], least: float) -> Iterator[Pair]:
    """Compare the middles of all notes, then those that are near piece by piece."""
    import numpy as np

    places = sorted(vectors)
    middles = np.stack([_middle(vectors[place]) for place in places]) if places else np.zeros((0, 1))
    for start in range(0, len(places), _BLOCK):
        near = middles[start : start + _BLOCK] @ middles.T
        for row, column in zip(*np.nonzero(near >= least - 0.02), strict=True):
            one, other = start + int(row), int(column)
            if one < other:
                alike = _alike(vectors[places[one]], vectors[places[other]])
                if alike >= least:
                    yield Pair(places[one], places[other], round(alike, 4), "meaning")


def _middle(matrix: Matrix) -> Matrix:
    middle = matrix.mean(axis=0)
    length = float((middle @ middle) ** 0.5)
    unit: Matrix = middle / length if length else middle
    return unit


def _alike(one: Matrix, other: Matrix) -> float:
    """Give how near each piece is to the nearest of the other note, the worse of both ways."""
    cosines = one @ other.T
    return float(min(cosines.max(axis=1).mean(), cosines.max(axis=0).mean()))


# What differs


def contradicts(one: Sequence[str], other: Sequence[str]) -> tuple[str, str] | None:
    """Give two lines about the same thing that differ in a number or in a "not".

    >>> contradicts(["Keys last 30 days."], ["Keys last 90 days."])
    ('Keys last 30 days.', 'Keys last 90 days.')
    >>> contradicts(["鍵は三十日で切れる。"], ["鍵は三十日で切れる。", "玄関の話は別。"])
    """
    there = {" ".join(line.split()) for line in one}
    back = {" ".join(line.split()) for line in other}
    mine = [line for line in one if line.strip() and " ".join(line.split()) not in back]
    for line in other:
        if not line.strip() or " ".join(line.split()) in there:
            continue
        near = max(mine, key=lambda own: pin.alike([own], [line]), default="")
        if near and pin.alike([near], [line]) >= SAME_LINE and _signs(near) != _signs(line):
            return near, line
    return None


def _signs(line: str) -> tuple[list[str], int]:
    return sorted(_NUMBER.findall(line)), len(_NOT.findall(line))
