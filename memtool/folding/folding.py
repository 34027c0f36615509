"""Texts with ids -> the ids of those that a summary keeps: specific ones, each unlike the others.

First every group (a session, a day) puts up its best, then the best of all are taken: an old part is not
drowned by a new one. Only ever folds what it is given; knows nothing of turns, notes or models.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from memtool import lexical
from memtool.folding import specificity

Id = TypeVar("Id", bound=Hashable)

#: How much being specific counts against saying what is said already (MMR, Carbonell & Goldstein 1998).
SPECIFIC = 0.7

#: How many times its part of the budget a group may put up.
PUT_UP = 2.0

#: A group that nobody named is this many texts in a row.
BLOCK = 50


class Text(NamedTuple, Generic[Id]):
    """What may be kept, under the id it is asked back by."""

    id: Id
    text: str
    group: str = ""


def fold(
    texts: Sequence[Text[Id]], budget: float, *, size: Callable[[str], float] = specificity.words
) -> list[Id]:
    """Choose the ids of texts that together are no larger than *budget*, in the order they came in.

    *size* measures a text; it counts words unless told otherwise. Costs what is chosen times all there is.
    """
    worths = _scaled(specificity.scores([text.text for text in texts]))
    sizes = [size(text.text) for text in texts]
    chooser = _Chooser(worths, sizes, _vectors([text.text for text in texts]))
    share = budget / max(sum(sizes), 1e-9)
    groups: dict[tuple[str, int], list[int]] = {}
    for place, text in enumerate(texts):
        groups.setdefault((text.group, 0 if text.group else place // BLOCK), []).append(place)
    put_up = [
        place
        for group in groups.values()
        for place in chooser.choose(group, _room(share, [sizes[at] for at in group]))
    ]
    kept = chooser.choose(put_up, budget)
    left = budget - sum(sizes[place] for place in kept)
    # A small budget may leave groups with nothing to put up, though something of theirs still fits.
    rest = [place for place in range(len(texts)) if place not in set(kept) and sizes[place] <= left]
    return [texts[place].id for place in sorted([*kept, *chooser.choose(rest, left, kept)])]


def _room(share: float, sizes: Sequence[float]) -> float:
    """Say how much a group may put up: its part, and at least any one of its own."""
    return max(PUT_UP * share * sum(sizes), *sizes)


class _Chooser:
    """Takes the best that fits, again and again; what is like one taken before is worth less."""

    def __init__(
        self, worths: Sequence[float], sizes: Sequence[float], vectors: Sequence[Mapping[str, float]]
    ) -> None:
        self.worths, self.sizes, self.vectors = worths, sizes, vectors

    def choose(self, places: Iterable[int], budget: float, kept: Iterable[int] = ()) -> list[int]:
        alike = {place: 0.0 for place in places if self.sizes[place] <= budget}
        for taken in kept:
            self._compare(alike, taken)
        chosen: list[int] = []
        while alike:
            best = max(alike, key=lambda at: SPECIFIC * self.worths[at] - (1 - SPECIFIC) * alike[at])
            chosen.append(best)
            budget -= self.sizes[best]
            del alike[best]
            alike = {place: most for place, most in alike.items() if self.sizes[place] <= budget}
            self._compare(alike, best)
        return chosen

    def _compare(self, alike: dict[int, float], taken: int) -> None:
        for place in alike:
            alike[place] = max(alike[place], cosine(self.vectors[taken], self.vectors[place]))


def _scaled(values: Sequence[float]) -> list[float]:
    low, high = min(values, default=0.0), max(values, default=1.0)
    return [(value - low) / ((high - low) or 1.0) for value in values]


def _vectors(texts: Sequence[str]) -> list[dict[str, float]]:
    """Give each text its tf-idf vector, of unit length."""
    counts = [Counter(lexical.tokens(text)) for text in texts]
    spread = Counter(token for one in counts for token in one)
    return [
        _unit({token: n * math.log(1 + len(texts) / spread[token]) for token, n in one.items()})
        for one in counts
    ]


def _unit(vector: dict[str, float]) -> dict[str, float]:
    length = math.sqrt(sum(value * value for value in vector.values())) or 1.0
    return {token: value / length for token, value in vector.items()}


def cosine(a: Mapping[str, float], b: Mapping[str, float]) -> float:
    """Compare two vectors of unit length, given as the values that are not 0."""
    small, large = (a, b) if len(a) < len(b) else (b, a)
    return sum(value * large[token] for token, value in small.items() if token in large)
