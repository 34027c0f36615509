"""Two words -> whether they are one, or what one has more: Japanese compounds, English roots."""

from __future__ import annotations

from collections.abc import Set
from functools import lru_cache


def wide(word: str) -> bool:
    return not word.isascii()


@lru_cache(50_000)
def pairs(word: str) -> frozenset[str]:
    return frozenset(word[at : at + 2] for at in range(len(word) - 1)) or frozenset((word,))


def met(word: str, words: Set[str]) -> bool:
    """Tell whether a word, or one much like it in Japanese, is among *words*."""
    return not left(word, words)


def left(word: str, words: Set[str]) -> str:
    """Give what is left of a word without all that *words* have of it; Japanese words are compounds."""
    if word in words:
        return ""
    if not wide(word):
        return "" if len(word) >= 5 and any(_derived(word, other) for other in words) else word
    if len(word) < 2:
        return word
    return _without(word, frozenset(other for other in words if wide(other)))


def _derived(word: str, other: str) -> bool:
    """Tell words of one root: inspect, inspection."""
    return len(other) >= 5 and (word.startswith(other) or other.startswith(word))


@lru_cache(100_000)
def _without(word: str, words: frozenset[str]) -> str:
    known = {pair for other in words for pair in pairs(other)}
    seen = [False] * len(word)
    for at in range(len(word) - 1):
        if word[at : at + 2] in known:
            seen[at] = seen[at + 1] = True
    rest = "".join(c if not m else " " for c, m in zip(word, seen, strict=True)).split()
    best = max(rest, key=len, default="")
    return best if len(best) > 1 or best == word else ""


@lru_cache(100_000)
def _ends(word: str, other: str) -> bool:
    """Tell whether two compounds go on otherwise, before or after what they share: 岬温室, 夕日温室."""
    size, at, place = max(
        (
            (size, at, other.find(word[at : at + size]))
            for size in range(2, len(word) + 1)
            for at in range(len(word) - size + 1)
            if word[at : at + size] in other
        ),
        default=(0, 0, 0),
    )
    if not size:
        return False
    ends = (word[:at], other[:place]), (word[at + size :], other[place + size :])
    return any(a and b and not (set(a) | set(b)) <= _SUFFIXES for a, b in ends)


_SUFFIXES = frozenset("日先者時中用的等内外側毎")


def parted_ways(word: str, words: Set[str]) -> bool:
    near = [other for other in words if wide(other) and not pairs(word).isdisjoint(pairs(other))]
    return bool(near) and all(_ends(word, other) for other in near)
