"""A folder -> the sound segments in it: immutable files of keys and vectors that come and go as a whole.

Any number of processes may read while one writes: a file is never changed, only added or removed.
One that is damaged, or not ours, is moved aside and never believed. Knows nothing of search.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memtool import atomic
from memtool.errors import Finding, VaultError
from memtool.vectors import npz
from memtool.vectors.lookup import Lookup

Matrix = NDArray[np.float32]
Keys = NDArray[np.uint8]

KEY_BYTES = 16
_FORMAT = 1
_VERIFIED = "verified.json"
_NAME = re.compile(r"seg-(\d{1,12})-[0-9a-f]{8}\.npz")
# A writer that was killed leaves its temporary file behind; no write takes this long.
_LEFT_BEHIND_S = 3600
# How often a listing may be out of date before it is mapped: each time, a writer has finished a rewrite.
_MOST_LISTINGS = 1000


class Segment(NamedTuple):
    """One immutable file: keys (n, 16) and unit vectors (n, d), row by row."""

    keys: Keys
    vectors: Matrix
    content: npz.Npz
    lookup: Lookup

    def blocks(self) -> Iterator[slice]:
        """Give runs of rows, and let go of each when the next is asked for: all would fill the memory."""
        count, width = self.vectors.shape
        step = max(1, npz.BLOCK // (width * self.vectors.itemsize))
        for start in range(0, count, step):
            yield slice(start, min(start + step, count))
            self.content.let_go()

    def cosines(self, query: Matrix) -> Matrix:
        """Compare every row with *query*."""
        found = np.empty(len(self.keys), np.float32)
        for rows in self.blocks():
            np.dot(self.vectors[rows], query, out=found[rows])
        return found

    def is_sound(self) -> bool:
        """Compare every byte with the checksums, and see that each row has length 1."""
        return self.content.is_whole() and all(_are_unit(self.vectors[rows]) for rows in self.blocks())


class Segments:
    """The segments of one fingerprint, in the order they were written."""

    def __init__(self, folder: Path, fingerprint: str) -> None:
        self.folder, self.fingerprint = folder, fingerprint
        self.findings: list[Finding] = []
        self.by_name: dict[str, Segment] = {}
        self._refused: set[str] = set()

    @property
    def rows(self) -> int:
        return sum(len(segment.keys) for segment in self.by_name.values())

    @property
    def width(self) -> int | None:
        """The length of the vectors; None when there are none."""
        return next((segment.vectors.shape[1] for segment in self.by_name.values()), None)

    def refresh(self) -> bool:
        """Take in what other processes have added, let go of what is gone; say whether anything moved."""
        for _ in range(_MOST_LISTINGS):
            names = sorted(filter(_NAME.fullmatch, list_files(self.folder)), key=_get_order)
            names = [name for name in names if name not in self._refused]
            if names == list(self.by_name):
                return False
            try:
                self.by_name = self._take(names)
            except FileNotFoundError:
                continue  # a rewrite removed it after the listing, and has put another in its place
            return True
        return False

    def add(self, keys: Keys, vectors: Matrix) -> None:
        """Write one more segment; raises VaultError when the disk does not take it."""
        number = max((_get_order(name)[0] for name in self.by_name), default=0) + 1
        file = self.folder / f"seg-{number}-{os.urandom(4).hex()}.npz"
        meta = {"format": _FORMAT, "fingerprint": self.fingerprint, "count": len(keys)}
        told = np.frombuffer(json.dumps(meta).encode(), np.uint8)
        self.save(file.name, {"meta": told, "keys": keys, "vectors": vectors})
        verified = _load_verified(self.folder)
        try:
            _save_verified(self.folder, verified | {file.name: _stat(file)})
        except FileNotFoundError:
            return  # another process has already made it part of a larger one

    def save(self, name: str, arrays: Mapping[str, npz.Array]) -> None:
        """Write a file of this folder, making the folder when there is none."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            npz.save(self.folder / name, arrays)
        except OSError as error:
            raise VaultError(
                "the vectors could not be kept",
                why=f"{self.folder / name}: {error.strerror or error}",
                fix="free some space or make the folder writable, then run the command again",
            ) from error

    def drop(self, names: Iterable[str]) -> None:
        """Remove segments and what killed writers left; whoever has one mapped keeps it until they let go."""
        for name in names:
            remove(self.folder / name)
        for name in list_files(self.folder):
            if name.endswith(".tmp") and _is_old(self.folder / name):
                remove(self.folder / name)

    def _take(self, names: list[str]) -> dict[str, Segment]:
        before, verified = _load_verified(self.folder), {}
        taken: dict[str, Segment] = {}
        width = self.width
        for name in names:
            try:
                stat = _stat(self.folder / name)
                segment = self.by_name.get(name) or self._load(name, stat == before.get(name), width)
            except FileNotFoundError:
                raise
            except (npz.DamagedError, OSError) as error:
                self._refuse(name, str(error))
                continue
            taken[name], width = segment, segment.vectors.shape[1]
            verified[name] = before.get(name) if name in self.by_name else stat
        if verified != before:
            _save_verified(self.folder, verified)
        return taken

    def _load(self, name: str, verified: bool, width: int | None) -> Segment:
        """Map one segment; every byte is compared with the checksums once for each state of the file."""
        content = npz.load(self.folder / name)
        segment = _get_segment(content, self.fingerprint)
        if width not in (None, segment.vectors.shape[1]):
            raise npz.DamagedError(f"its vectors have {segment.vectors.shape[1]} numbers, others {width}")
        if not verified and not segment.is_sound():
            raise npz.DamagedError("its bytes are not the ones that were written")
        return segment

    def _refuse(self, name: str, why: str) -> None:
        """Move a file aside, one at most is kept to look at; its texts count as missing from now on."""
        self._refused.add(name)
        for other in list_files(self.folder):
            if other.endswith(".bad"):
                remove(self.folder / other)
        try:
            os.replace(self.folder / name, self.folder / f"{name}.bad")
        except OSError:
            remove(self.folder / name)
        what = f"a file of cached vectors was unusable and is made again: {why}"
        self.findings.append(Finding("vectors-damaged", name, 0, what, "nothing: it was moved aside"))


def list_files(folder: Path) -> list[str]:
    """List the plain files of *folder*: opening a pipe would wait for ever. Unreadable: none."""
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in entries if entry.is_file(follow_symlinks=False)]
    except OSError:
        return []


def remove(file: Path) -> None:
    """Remove *file* if it is there and may be removed: caches are never worth an error."""
    try:
        file.unlink(missing_ok=True)
    except OSError:
        return


def split(keys: Keys) -> list[bytes]:
    """
    >>> split(np.frombuffer(b"a" * 16 + b"b" * 16, np.uint8)) == [b"a" * 16, b"b" * 16]
    True
    """
    joined = keys.tobytes()
    return [joined[start : start + KEY_BYTES] for start in range(0, len(joined), KEY_BYTES)]


def _get_order(name: str) -> tuple[int, str]:
    match = _NAME.fullmatch(name)
    return (int(match[1]) if match else 0, name)


def _get_segment(content: npz.Npz, fingerprint: str) -> Segment:
    """Check that the arrays are what `Segments.add` writes, for this fingerprint."""
    meta, keys, vectors = (content.arrays.get(name) for name in ("meta", "keys", "vectors"))
    if meta is None or keys is None or vectors is None:
        raise npz.DamagedError("it holds no keys or no vectors")
    if keys.dtype != np.uint8 or vectors.dtype != np.float32 or vectors.ndim != 2 or not vectors.size:
        raise npz.DamagedError("its arrays are of another type")
    if keys.shape != (len(vectors), KEY_BYTES):
        raise npz.DamagedError("it has not as many keys as vectors")
    try:
        told = json.loads(meta.tobytes())
    except (ValueError, RecursionError) as error:
        raise npz.DamagedError("its description does not parse") from error
    if told != {"format": _FORMAT, "fingerprint": fingerprint, "count": len(keys)}:
        raise npz.DamagedError("it belongs to another embedder or version")
    return Segment(keys, vectors, content, Lookup(keys))


def _are_unit(vectors: Matrix) -> bool:
    squares = np.einsum("ij,ij->i", vectors, vectors)
    return bool((np.abs(squares - 1) < 1e-3).all())


def _stat(file: Path) -> list[int]:
    """What moves when a file is written to, by whatever means."""
    stat = file.stat()
    return [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino]


def _is_old(file: Path) -> bool:
    try:
        return time.time() - file.stat().st_mtime > _LEFT_BEHIND_S
    except OSError:
        return False


def _load_verified(folder: Path) -> dict[str, object]:
    """Load which states of which files have been compared with their checksums; losing it costs only time."""
    try:
        told = json.loads((folder / _VERIFIED).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}


def _save_verified(folder: Path, verified: Mapping[str, object]) -> None:
    with suppress(OSError):
        atomic.put(folder / _VERIFIED, json.dumps(dict(verified)).encode())
