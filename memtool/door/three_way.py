"""Three versions of some lines -> one, where the changes of both sides touch different lines.

Finer than git's merge: a line put below lines that the other side took out is no conflict. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

_LARGEST = 4_000_000  # pairs of lines that are compared; a larger rewrite is one change


class _Hunk(NamedTuple):
    """Lines *start* to *end* of the base, the last left out, and what stands there instead."""

    start: int
    end: int
    lines: tuple[bytes, ...]


def merge(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    r"""Bring two changes of *base* together; None when both touch the same lines.

    >>> merge(b"a\nb\n", b"a\nb\nc\n", b"A\nb\n")
    b'A\nb\nc\n'
    >>> merge(b"a\n", b"b\n", b"c\n") is None
    True
    """
    if ours in (base, theirs):
        return theirs
    if theirs == base:
        return ours
    rows = base.split(b"\n")
    mine, other = (list(_hunks(rows, side.split(b"\n"))) for side in (ours, theirs))
    if any(_touch(a, b) for a in mine for b in other if a != b):
        return None
    merged, at = list[bytes](), 0
    for hunk in sorted({*mine, *other}, key=lambda hunk: (hunk.start, hunk.end)):
        merged += rows[at : hunk.start]
        merged += hunk.lines
        at = hunk.end
    return b"\n".join([*merged, *rows[at:]])


def _touch(one: _Hunk, two: _Hunk) -> bool:
    if one.start == one.end and two.start == two.end:
        return one.start == two.start
    if one.start == one.end or two.start == two.end:
        point, span = (one, two) if one.start == one.end else (two, one)
        return span.start < point.start < span.end
    return one.start < two.end and two.start < one.end


def _hunks(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[_Hunk]:
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    a, b = old[head : len(old) - tail], new[head : len(new) - tail]
    if len(a) * len(b) > _LARGEST:
        yield _Hunk(head, head + len(a), tuple(b))
        return
    for tag, i, j, k, m in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag != "equal":
            yield _Hunk(head + i, head + j, tuple(b[k:m]))
