"""The claims of notes -> pairs that cannot both be true: candidates by the words they share, then compared.

A word that stands in many claims brings none together, and every claim is compared with a few others only,
so that the cost grows with the vault and not with its square. Knows no files and no index.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from memtool.conflicts.claims import Claim
from memtool.conflicts.differing import Difference, compare

#: Claims with a word in common that are looked at by it, and claims that one claim is compared with.
_COMMON, _MOST = 80, 40
#: Of its words, those that are looked at by themselves, and two by two.
_RAREST, _PAIRED = 12, 7

#: Cosine from which on two sentences, without their values, say the same in other words.
SAME = 0.85
#: The same for words by themselves.
SAME_WORD = 0.66


class Place(NamedTuple):
    """A claim, and the note it stands in."""

    path: str
    claim: Claim


class Pair(NamedTuple):
    """Two claims that cannot both be true."""

    one: Place
    other: Place
    difference: Difference


def find(
    places: Sequence[Place],
    *,
    of: Callable[[Place], bool] = lambda place: True,
    may_meet: Callable[[Place, Place], bool] = lambda one, other: True,
) -> Iterator[Pair]:
    """Find the pairs among *places*, of which *of* must choose at least one; in the order of the places."""
    weighted = _Words(places)
    touched = any(of(place) and not is_strong(place.claim) for place in places)
    for number, place in enumerate(places):
        if not is_strong(place.claim) or not (of(place) or touched):
            continue
        for other in weighted.near(number):
            if other < number and is_strong(places[other].claim) and (touched or of(places[other])):
                continue
            if not (of(place) or of(places[other])):
                continue
            pair = (place, places[other])
            if not may_meet(*pair):
                continue
            same = place.path == places[other].path
            if difference := compare(place.claim, places[other].claim, same_note=same):
                yield Pair(*pair, difference)


def is_strong(claim: Claim) -> bool:
    """Tell a claim that may differ by itself from one that only a denial can differ from."""
    said = claim.signs.denies or bool(claim.signs.sides) or bool(claim.values)
    return said or (bool(claim.told) and (claim.kind != "text" or claim.of or bool(claim.told & claim.names)))


class _Words:
    """Which claims have which words, and how rare these are."""

    def __init__(self, places: Sequence[Place]) -> None:
        self.places = places
        every = [_keys(place.claim) for place in places]
        counts = Counter(key for keys in every for key in keys)
        self.keys: list[list[str]] = []
        self.weights = {key: math.log(1 + len(places) / count) for key, count in counts.items() if count > 1}
        self.claims: dict[str, list[int]] = defaultdict(list)
        for number, keys in enumerate(every):
            rare = sorted(keys & self.weights.keys(), key=lambda key: -self.weights[key])[:_RAREST]
            # Words that are common each are rare together, and bring what is said of one thing together.
            pairs = [f"{a}+{b}" for at, a in enumerate(rare[:_PAIRED]) for b in rare[at + 1 : _PAIRED]]
            self.keys.append([*rare, *pairs])
            for key in self.keys[number]:
                self.claims[key].append(number)

    def near(self, number: int) -> list[int]:
        """Give the claims that share most with one, by how rare what they share is."""
        found: Counter[int] = Counter()
        for key in self.keys[number]:
            some = self.claims[key]
            if 1 < len(some) <= _COMMON:
                weight = math.log(1 + len(self.places) / len(some))
                for other in some:
                    found[other] += weight  # type: ignore[assignment]
        del found[number]
        return [other for other, _ in found.most_common(_MOST)]


def _keys(claim: Claim) -> set[str]:
    """Give what claims are brought together by: words, and their pairs in Japanese."""
    found: set[str] = set()
    for word in claim.words | claim.context:
        found.update(
            (word,) if word.isascii() or len(word) < 3 else (word[at : at + 2] for at in range(len(word) - 1))
        )
    return found


def settle(
    pairs: Iterable[Pair], alike: Callable[[Sequence[tuple[str, str]]], Sequence[float]] | None
) -> list[Pair]:
    """Keep the pairs that words are sure of, and of the others those that mean the same otherwise."""
    pairs = list(pairs)
    open_ = [pair for pair in pairs if not pair.difference.sure]
    if not open_ or alike is None:
        return [pair for pair in pairs if pair.difference.sure]
    asked = list(
        dict.fromkeys(
            ask
            for pair in open_
            for ask in ((bare(pair.one.claim), bare(pair.other.claim)), *pair.difference.asks)
        )
    )
    cosines = dict(zip(asked, alike(asked), strict=True))
    return [pair for pair in pairs if pair.difference.sure or _means_same(pair, cosines)]


def _means_same(pair: Pair, cosines: Mapping[tuple[str, str], float]) -> bool:
    if cosines[bare(pair.one.claim), bare(pair.other.claim)] < SAME:
        return False
    best: dict[str, float] = {}
    for mine, theirs in pair.difference.asks:
        best[mine] = max(best.get(mine, 0.0), cosines[mine, theirs])
    return all(cosine >= SAME_WORD for cosine in best.values())


def bare(claim: Claim) -> str:
    """Write a claim without its values, so that what differs does not count."""
    text = claim.text
    for value in claim.values:
        text = text.replace(value.text, "…", 1)
    return text
