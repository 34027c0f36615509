"""Digests of texts and their vectors -> the digests nearest to a query: exact cosines over mapped segments.

One folder for each fingerprint, so vectors of two embedders cannot meet. Everything here may be deleted
at any moment and comes back. Knows nothing of texts, notes or chunks.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memtool.errors import Finding
from memtool.vectors import npz, packing
from memtool.vectors.lookup import halves
from memtool.vectors.segments import KEY_BYTES, Keys, Matrix, Segment, Segments, list_files, remove, split

Rows = NDArray[np.intp]

_UNUSABLE = "unusable.npz"
_PROBE = "probe.npz"
_FOLDER = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,79}")
# Two answers of one model to one text differ by rounding; those of two models are not alike at all.
_SAME_PROBE = 0.98


@dataclass(frozen=True, slots=True)
class Stats:
    """How all cosines of one search spread: what a good one has to stand out from."""

    mean: float = 0.0
    std: float = 0.0
    count: int = 0


class Found(NamedTuple):
    """The nearest digests with their cosines, best first."""

    nearest: list[tuple[bytes, float]]
    stats: Stats


class Vectors:
    """The vectors of one embedder, as far as they are made. Many readers and one writer may share them."""

    def __init__(self, segments: Segments, dimensions: int | None) -> None:
        self._segments, self._dimensions = segments, dimensions

    @classmethod
    def open(cls, folder: Path, fingerprint: str, *, dimensions: int | None = None) -> Vectors:
        """Open what *folder* holds for *fingerprint*; a folder that does not exist holds nothing.

        *dimensions* None: as many as the vectors here have.
        """
        name = (
            fingerprint
            if _FOLDER.fullmatch(fingerprint)
            else hashlib.sha256(fingerprint.encode()).hexdigest()[:32]
        )
        vectors = cls(Segments(folder / name, fingerprint), dimensions)
        vectors.refresh()
        if dimensions is not None:
            vectors.accept_width(dimensions)
        return vectors

    @property
    def folder(self) -> Path:
        """Where the files of this fingerprint lie; the folder may not exist yet."""
        return self._segments.folder

    @property
    def findings(self) -> list[Finding]:
        """What was wrong with the files and has been mended, since this was opened."""
        return self._segments.findings

    @property
    def count(self) -> int:
        """Count the rows, dead and doubled ones included."""
        return self._segments.rows

    @property
    def size(self) -> int:
        """Count the bytes on disk."""
        return sum((self.folder / name).stat().st_size for name in list_files(self.folder))

    def refresh(self) -> None:
        """Take in what other processes have added since, let go of what is gone."""
        self._segments.refresh()

    def missing(self, digests: Iterable[bytes]) -> list[bytes]:
        """List the digests without a vector, each once, in the order they came."""
        wanted = list(dict.fromkeys(digests))
        return [key for key, row in zip(wanted, self._find(wanted).tolist(), strict=True) if row < 0]

    def unusable(self) -> frozenset[bytes]:
        """Give the digests whose vector had no direction when it was last asked for.

        They count as missing too: worth another try in a run somebody asked for, not at each search.
        """
        keys = self._load(_UNUSABLE, "keys")
        if keys is None or keys.dtype != np.uint8 or keys.ndim != 2 or keys.shape[1] != KEY_BYTES:
            return frozenset()
        return frozenset(split(keys))

    def add(self, digests: Sequence[bytes], matrix: Matrix) -> None:
        """Keep the vectors in a new segment; a row without direction is remembered as unusable instead.

        Vectors of another length than those already here are of another model and take their place.
        """
        matrix = np.asarray(matrix, np.float32)
        if matrix.ndim != 2 or len(matrix) != len(digests):
            raise ValueError(f"{len(digests)} digests do not fit a matrix of shape {matrix.shape}")
        keys, norms = _join(digests), np.linalg.norm(matrix, axis=1)
        usable = np.isfinite(norms) & (norms > 0)
        if usable.any():
            self.accept_width(matrix.shape[1])
            self._segments.add(keys[usable], matrix[usable] / norms[usable, None])
        self._remember(split(keys[~usable]), not_any_more=split(keys[usable]))
        self.refresh()

    def search(self, query: Matrix, limit: int, *, only: Collection[bytes] | None = None) -> Found:
        """Find the *limit* digests nearest to *query*, in one pass over all rows; equal ones by digest.

        *only*: leave out all other digests; None leaves out none. A query of another length than the
        vectors here shows that they are of another model: they are dropped, and nothing is found.
        """
        self.refresh()
        query = np.ascontiguousarray(query, np.float32).reshape(-1)
        if limit <= 0 or not np.isfinite(query).all() or not self.accept_width(len(query)):
            return Found([], Stats())
        cosines = np.concatenate([segment.cosines(query) for segment in self._list()])
        rows = None if only is None else _present(self._find(list(dict.fromkeys(only))))
        chosen = cosines if rows is None else cosines[rows]
        if not len(chosen):
            return Found([], Stats())
        stats = Stats(float(chosen.mean()), float(chosen.std()), len(chosen))
        return Found(self._pick(chosen, rows, limit), stats)

    def get(self, digests: Sequence[bytes]) -> Matrix:
        """Give one row for each digest; NaN where none is kept."""
        width = self._segments.width or self._dimensions or 0
        matrix = np.full((len(digests), width), np.nan, np.float32)
        rows, start = self._find(digests), 0
        for segment in self._list():
            here = np.flatnonzero((rows >= start) & (rows < start + len(segment.keys)))
            matrix[here] = segment.vectors[rows[here] - start]
            segment.content.let_go()
            start += len(segment.keys)
        return matrix

    def join(self) -> bool:
        """Join small segments once there are many, which costs by what was added; say whether it was done."""
        self.refresh()
        if len(self._segments.by_name) <= packing.MOST_SEGMENTS:
            return False
        packing.join(self._segments)
        self.refresh()
        return True

    def compact(self, live: Collection[bytes]) -> bool:
        """Rewrite all segments without dead rows, when that is worth it; say whether anything was done."""
        self.refresh()
        live = frozenset(live)
        if packing.count_kept(self._segments, live) * 2 >= self.count:
            return self.join()
        packing.prune(self._segments, live)
        self._remember(self.unusable() & live, forget=True)
        self.refresh()
        return True

    def accept_width(self, width: int) -> bool:
        """Drop the vectors here when theirs is another length than *width*; say whether any are left."""
        mine = self._segments.width
        if mine not in (None, width):
            self._drop_all(f"they have {mine} numbers each, and the embedder now gives {width}")
        return self.count > 0

    def accept_probe(self, probe: Matrix | None) -> bool:
        """Drop the vectors here when the embedder's answer to a fixed text is no longer what it was.

        This is how another model behind an unchanged name is noticed. False: they were dropped.
        *probe* None proves nothing and drops nothing.
        """
        if probe is None or not np.isfinite(probe).all():
            return True
        probe = np.asarray(probe, np.float32).reshape(-1)
        before = self._load(_PROBE, "probe")
        if before is not None and before.shape == probe.shape and before @ probe > _SAME_PROBE:
            return True
        self._segments.save(_PROBE, {"probe": probe})
        if before is None or not self.count:
            return True
        self._drop_all("the embedder now answers the same text in another way")
        return False

    def _drop_all(self, why: str) -> None:
        what = f"the cached vectors are of another model and are made again: {why}"
        self.findings.append(Finding("vectors-other-model", "", 0, what, "nothing: they are made again"))
        self._segments.drop(list(self._segments.by_name))
        remove(self.folder / _UNUSABLE)
        self.refresh()

    def _load(self, name: str, array: str) -> npz.Array | None:
        """Load one array of a small side file; None when there is none that can be used."""
        try:
            return npz.load(self.folder / name).arrays.get(array)
        except (npz.DamagedError, OSError):
            return None

    def _remember(
        self, unusable: Iterable[bytes], *, not_any_more: Iterable[bytes] = (), forget: bool = False
    ) -> None:
        """Add to the unusable digests, or with *forget* put these in their place."""
        before = self.unusable()
        after = frozenset(unusable) | (frozenset() if forget else before - frozenset(not_any_more))
        if not after:
            remove(self.folder / _UNUSABLE)
        elif after != before:
            self._segments.save(_UNUSABLE, {"keys": _join(sorted(after))})

    def segments(self) -> Mapping[str, Segment]:
        """Give the files the vectors lie in, in the order of their rows."""
        return self._segments.by_name

    def _list(self) -> list[Segment]:
        return list(self._segments.by_name.values())

    def _find(self, digests: Sequence[bytes]) -> Rows:
        """Give the row of each digest, counted through all segments, the first of doubles; -1: none."""
        different = list(dict.fromkeys(digests))
        if len(different) < len(digests):
            places = {key: place for place, key in enumerate(different)}
            return self._find(different)[[places[key] for key in digests]]
        wanted = halves(_join(digests))
        order, rows, start = np.argsort(wanted[:, 0]), np.full(len(digests), -1, np.intp), 0
        for segment in self._list() if digests else ():
            here, there = segment.lookup.match(wanted[order])
            here, there = order[here], there + start
            new = rows[here] < 0
            # Backwards: of doubles within the segment, the first is written last.
            rows[here[new][::-1]] = there[new][::-1]
            start += len(segment.keys)
        return rows

    def _pick(self, cosines: Matrix, rows: Rows | None, limit: int) -> list[tuple[bytes, float]]:
        """Name the best rows; *rows* says which they are, None that they are all."""
        wanted = limit
        while True:
            best = _list_best(cosines, wanted)
            keys = self._name_rows(best if rows is None else rows[best])
            found: dict[bytes, float] = {}
            for cosine, key in sorted(zip((-cosines[best]).tolist(), keys, strict=True)):
                found.setdefault(key, -cosine)
            if len(found) >= limit or wanted >= len(cosines):
                return list(found.items())[:limit]
            wanted *= 2  # some were there twice

    def _name_rows(self, rows: Rows) -> list[bytes]:
        keys, start = np.empty((len(rows), KEY_BYTES), np.uint8), 0
        for segment in self._list():
            here = np.flatnonzero((rows >= start) & (rows < start + len(segment.keys)))
            keys[here] = segment.keys[rows[here] - start]
            start += len(segment.keys)
        return split(keys)


def _list_best(cosines: Matrix, limit: int) -> Rows:
    if limit >= len(cosines):
        return np.arange(len(cosines))
    return np.argpartition(cosines, -limit)[-limit:]


def _present(rows: Rows) -> Rows:
    return rows[rows >= 0]


def _join(digests: Sequence[bytes]) -> Keys:
    return np.frombuffer(b"".join(digests), np.uint8).reshape(len(digests), KEY_BYTES)
