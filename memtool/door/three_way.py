"""Three versions of some lines -> one, where the changes of both sides touch different lines.

Finer than git's merge: a line put below lines that the other side took out is no conflict. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memtool import runs

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
    for (first, last), (start, end) in runs.differing(old, new, _LARGEST):
        yield _Hunk(first, last, tuple(new[start:end]))
