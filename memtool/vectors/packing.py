"""Segments of vectors -> fewer: small ones joined as they gather, all written anew when many rows are dead.

A join costs by what was added, not by what there is: a large segment is left alone until the small
ones together come near its size. Holds one block of rows at a time, however many there are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import numpy as np

from memtool.vectors.segments import Keys, Matrix, Segments, split

#: A search opens every segment, so more than these are joined.
MOST_SEGMENTS = 32

#: A new segment holds at least so many rows before another is begun, or this share of all.
_ROWS, _SHARE = 16_384, 8


def choose(rows: Mapping[str, int]) -> list[str]:
    """Name the segments to join: the small ones, up to the first that is larger than all of them by far.

    >>> choose({"large": 1000, "a": 3, "b": 4, "c": 5})
    ['a', 'b', 'c']
    """
    chosen: list[str] = []
    total = 0
    for name, count in sorted(rows.items(), key=lambda item: item[1]):
        if len(chosen) > 1 and count > 2 * total:
            break
        chosen.append(name)
        total += count
    return [name for name in rows if name in chosen]


def join(segments: Segments) -> None:
    """Join the small segments. Every row stays, so that their number does."""
    names = choose({name: len(segment.keys) for name, segment in segments.by_name.items()})
    _write(segments, names, None)


def prune(segments: Segments, live: Collection[bytes]) -> None:
    """Write everything anew, each living row once."""
    _write(segments, list(segments.by_name), live)


def count_kept(segments: Segments, live: Collection[bytes]) -> int:
    """Count the rows that pruning would keep."""
    return len({key for segment in segments.by_name.values() for key in split(segment.keys) if key in live})


def _write(segments: Segments, names: list[str], live: Collection[bytes] | None) -> None:
    most = max(_ROWS, segments.rows // _SHARE)
    parts: list[tuple[Keys, Matrix]] = []
    for part in _list_parts(segments, names, live):
        if parts and sum(len(keys) for keys, _ in parts) + len(part[0]) > most:
            _add(segments, parts)
            parts = []
        parts.append(part)
    if parts:
        _add(segments, parts)
    segments.drop(names)


def _list_parts(
    segments: Segments, names: list[str], live: Collection[bytes] | None
) -> Iterator[tuple[Keys, Matrix]]:
    """Give the rows to keep in blocks; *live* None keeps them all."""
    seen: set[bytes] = set()
    for segment in (segments.by_name[name] for name in names):
        for block in segment.blocks():
            keys, rows = segment.keys[block], segment.vectors[block]
            if live is None:
                yield keys, rows.copy()
            elif len(kept := _pick(split(keys), live, seen)):
                yield keys[kept], rows[kept]


def _pick(keys: list[bytes], live: Collection[bytes], seen: set[bytes]) -> list[int]:
    """Give the places of living keys not seen before, which are seen then."""
    picked = []
    for place, key in enumerate(keys):
        if key in live and key not in seen:
            seen.add(key)
            picked.append(place)
    return picked


def _add(segments: Segments, parts: list[tuple[Keys, Matrix]]) -> None:
    segments.add(np.concatenate([keys for keys, _ in parts]), np.concatenate([rows for _, rows in parts]))
