"""Keys of a segment -> the rows of those that are looked for: read through at first, in order later on.

Who asks once is answered by one look at every key; who stays open and asks again pays once for putting
them in order. Knows nothing of vectors.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Looks at every key cost as much together as putting them in order.
_LOOKS = 4

Halves = NDArray[np.uint64]  # (n, 2): 16 bytes as two numbers, which numpy compares faster
Rows = NDArray[np.intp]


class Lookup:
    """The keys of one segment, (n, 16) bytes, to be looked up again and again."""

    def __init__(self, keys: NDArray[np.uint8]) -> None:
        self.keys = keys
        self._looks = 0
        self._ordered: tuple[NDArray[np.uint64], NDArray[np.int32]] | None = None

    def match(self, wanted: Halves) -> tuple[Rows, Rows]:
        """Pair places in *wanted*, which is sorted by its first halves, with rows; the first of doubles.

        Costs a look at every key the first times, a binary search for each of *wanted* later on.
        """
        self._looks += 1
        if self._looks <= _LOOKS or len(self.keys) < len(wanted):
            return scan(wanted, halves(self.keys))
        first, order = self._in_order()
        at = np.minimum(np.searchsorted(first, wanted[:, 0]), len(first) - 1)
        alike = np.flatnonzero(first[at] == wanted[:, 0])
        rows = order[at[alike]].astype(np.intp)
        same = (halves(self.keys[rows]) == wanted[alike]).all(axis=1)
        if not same.all():  # other keys with the same first half: too rare to be quick about
            return scan(wanted, halves(self.keys))
        return alike, rows

    def _in_order(self) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
        if self._ordered is None:
            first = halves(self.keys)[:, 0]
            order = np.argsort(first, kind="stable").astype(np.int32)
            self._ordered = first[order], order
        return self._ordered


def scan(wanted: Halves, keys: Halves) -> tuple[Rows, Rows]:
    """Pair places in *wanted*, sorted by its first column, with rows of *keys*, doubles one by one."""
    places = np.minimum(np.searchsorted(wanted[:, 0], keys[:, 0]), len(wanted) - 1)
    known = np.flatnonzero((wanted[places] == keys).all(axis=1))
    return places[known], known


def halves(keys: NDArray[np.uint8]) -> Halves:
    """See each key as two numbers."""
    return np.ascontiguousarray(keys).view(np.uint64)
