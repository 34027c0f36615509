"""Vectors -> the nearest of them in a tenth of the time, for a process that stays: a sketch of signs.

Keeps one bit for each number of a vector, compares those, and measures only the most promising rows
exactly. So a near one may be missed, and none is scored wrongly. Costs 60 bytes a vector and one look at
all of them; vectors that come later are sketched when they come. Knows nothing of what is asked.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from memtool.search.query import Meaning, Query
from memtool.vectors.segments import Matrix, Segment, split
from memtool.vectors.vectors import Found, Stats, Vectors

#: Rows that are measured exactly: at least, for each that is wanted, and one of so many of all.
#: Of 22,000 real vectors the best was then always found, and 99 of 100 of the ten best.
LEAST, EXACT, SHARE = 1600, 4, 200

#: Rows from which the middle of all vectors is taken: signs say most about what lies around it.
_SAMPLE = 4096

Bits = NDArray[np.uint64]


class _Part(NamedTuple):
    """The sketch of one segment: a column of bits for each 64 numbers, and the front half of each key."""

    signs: Bits  # (columns, rows)
    heads: Bits


class Sketch:
    """Lets searches look at a sketch of the vectors first; may lean any number of queries."""

    def __init__(self) -> None:
        self._parts: dict[str, _Part] = {}
        self._vectors: Vectors | None = None
        self._middle: Matrix | None = None
        self._all: _Part | None = None
        self._order: NDArray[np.intp] | None = None

    def lean(self, query: Query, meaning: Meaning) -> Meaning:
        """Give *meaning* with vectors that answer from the sketch."""
        return meaning._replace(vectors=cast(Vectors, _Sketched(self, meaning.vectors)))

    def bring_up(self, vectors: Vectors) -> tuple[list[Segment], _Part, NDArray[np.intp], Matrix]:
        """Sketch what came since; gives the segments, their sketch, the order of keys, the middle."""
        by_name = vectors.segments()
        if vectors is not self._vectors:
            self.__init__()  # type: ignore[misc]
            self._vectors = vectors
        if self._middle is None:
            self._middle = _middle(list(by_name.values()))
        if list(self._parts) != list(by_name) or self._all is None or self._order is None:
            self._parts = {
                name: self._parts.get(name) or _sketch(segment, self._middle)
                for name, segment in by_name.items()
            }
            parts = list(self._parts.values())
            signs = np.concatenate([part.signs for part in parts], axis=1)
            self._all = _Part(signs, np.concatenate([part.heads for part in parts]))
            self._order = np.argsort(self._all.heads, kind="stable")
            self._all = self._all._replace(heads=self._all.heads[self._order])
        return list(by_name.values()), self._all, self._order, self._middle


def _middle(segments: Sequence[Segment]) -> Matrix:
    samples = [np.array(segment.vectors[: _SAMPLE // len(segments) + 1]) for segment in segments]
    return np.asarray(np.concatenate(samples).mean(axis=0), np.float32)


def _sketch(segment: Segment, middle: Matrix) -> _Part:
    signs = [_signs(segment.vectors[rows], middle) for rows in segment.blocks()]
    heads = np.ascontiguousarray(segment.keys).view(np.uint64)[:, 0].copy()
    return _Part(np.ascontiguousarray(np.concatenate(signs).T), heads)


def _signs(matrix: Matrix, middle: Matrix) -> Bits:
    """Pack whether each number is above its middle into whole words."""
    packed = np.packbits(matrix > middle, axis=1)
    spare = -packed.shape[1] % 8
    return np.ascontiguousarray(np.pad(packed, ((0, 0), (0, spare)))).view(np.uint64)


def _differing(bits: Bits) -> NDArray[np.uint8]:
    if hasattr(np, "bitwise_count"):
        return cast("NDArray[np.uint8]", np.bitwise_count(bits))
    table = _TABLE[bits.view(np.uint16).reshape(-1, 4)]
    return cast("NDArray[np.uint8]", table.sum(axis=1, dtype=np.uint8))


_TABLE = np.array([value.bit_count() for value in range(1 << 16)], np.uint8)


class _Sketched:
    """Vectors whose searches go through a sketch; everything else is as it was."""

    def __init__(self, sketch: Sketch, vectors: Vectors) -> None:
        self._sketch, self._vectors = sketch, vectors

    def __getattr__(self, name: str) -> Any:
        return getattr(self._vectors, name)

    def search(self, query: Matrix, limit: int, *, only: Collection[bytes] | None = None) -> Found:
        """Find the nearest rows; among *only* some of them, by looking at every one of those."""
        self._vectors.refresh()
        query = np.ascontiguousarray(query, np.float32).reshape(-1)
        fits = np.isfinite(query).all() and self._vectors.accept_width(len(query))
        if only is not None or limit <= 0 or not fits:
            return self._vectors.search(query, limit, only=only)
        segments, part, _, middle = self._sketch.bring_up(self._vectors)
        asked = _signs(query[None, :], middle)[0]
        distance = np.zeros(part.signs.shape[1], np.uint16)
        for column, word in zip(part.signs, asked, strict=True):
            distance += _differing(column ^ word)
        rows = _least(distance, max(LEAST, EXACT * limit, len(distance) // SHARE))
        matrix, keys = _gather(segments, rows)
        cosines = matrix @ query
        found: dict[bytes, float] = {}
        for place in np.argsort(-cosines):
            found.setdefault(keys[place], float(cosines[place]))
            if len(found) == limit:
                break
        return Found(list(found.items()), Stats(float(cosines.mean()), float(cosines.std()), len(cosines)))

    def get(self, digests: Sequence[bytes]) -> Matrix:
        """Give one row for each digest; NaN where none is kept."""
        segments, part, order, middle = self._sketch.bring_up(self._vectors)
        matrix = np.full((len(digests), len(middle)), np.nan, np.float32)
        heads = np.frombuffer(b"".join(digests), np.uint64).reshape(-1, 2)[:, 0]
        places = np.minimum(np.searchsorted(part.heads, heads), len(part.heads) - 1)
        there = np.flatnonzero(part.heads[places] == heads) if len(part.heads) else places[:0]
        found, keys = _gather(segments, order[places[there]])
        for row, key, place in zip(found, keys, there.tolist(), strict=True):
            if key == digests[place]:
                matrix[place] = row
        return matrix


def _least(distance: NDArray[np.uint16], count: int) -> NDArray[np.intp]:
    if count >= len(distance):
        return np.arange(len(distance))
    return np.sort(np.argpartition(distance, count)[:count])


def _gather(segments: Sequence[Segment], rows: NDArray[np.intp]) -> tuple[Matrix, list[bytes]]:
    """Give the vectors and keys of rows that are counted through all segments, in their order."""
    width = segments[0].vectors.shape[1]
    matrix, keys, start = np.empty((len(rows), width), np.float32), np.empty((len(rows), 16), np.uint8), 0
    for segment in segments:
        here = np.flatnonzero((rows >= start) & (rows < start + len(segment.keys)))
        if len(here):
            matrix[here] = segment.vectors[rows[here] - start]
            keys[here] = segment.keys[rows[here] - start]
            segment.content.let_go()
        start += len(segment.keys)
    return matrix, split(keys)
