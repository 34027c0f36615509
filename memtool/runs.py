"""Two lists of lines -> what both begin and end with, and the runs between that differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

Span = tuple[int, int]
"""First line and the one after the last, from 0."""

LARGEST = 2_000_000  # pairs of lines to compare; a larger rewrite is one run


def ends(old: Sequence[Any], new: Sequence[Any]) -> tuple[int, int]:
    """Count the lines that both begin with, and of the rest those that both end with.

    >>> ends("abcxyz", "abyz")
    (2, 2)
    >>> ends("aa", "aaa")
    (2, 0)
    """
    head, short = 0, min(len(old), len(new))
    while head < short and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < short - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return head, tail


def differing(old: Sequence[Any], new: Sequence[Any], largest: int = LARGEST) -> Iterator[tuple[Span, Span]]:
    """Give the runs of lines that differ, on both sides.

    >>> list(differing("abc", "aXc"))
    [((1, 2), (1, 2))]
    """
    from difflib import SequenceMatcher

    head, tail = ends(old, new)
    a, b = old[head : len(old) - tail], new[head : len(new) - tail]
    if len(a) * len(b) > largest:
        yield (head, head + len(a)), (head, head + len(b))
        return
    for tag, i, j, k, m in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag != "equal":
            yield (head + i, head + j), (head + k, head + m)
