"""Records of what happened <-> a log that grows to its bound, and the sums it is folded into.

Many processes append at once, each record in one write. A log over its bound is folded: its records
are added up in a small file and the log begins anew, so that totals stay. Knows nothing of what a
record means; who adds up is told by the caller.
"""

from __future__ import annotations

import json
import os
import stat
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from memtool import atomic

_APPEND = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

#: What was folded already, in the sums: bytes and checksum of a log that could not be emptied in time.
_MARK = "folded"

Record = dict[str, Any]
Sums = dict[str, Any]
Absorb = Callable[[Sums, Record], None]


class Ledger(NamedTuple):
    """Where a log lies, how many bytes it may have, and how its records are added up."""

    folder: Path
    name: str
    absorb: Absorb
    most: int = 256_000
    #: Makes sums smaller before they are kept; None keeps them whole.
    bound: Callable[[Sums], None] | None = None

    @property
    def log(self) -> Path:
        return self.folder / f"{self.name}.jsonl"

    @property
    def sums(self) -> Path:
        return self.folder / f"{self.name}.json"


def append(ledger: Ledger, record: Record, *, patience_s: float = 1.0) -> None:
    """Add one record. Raises OSError when it cannot be kept; nothing else is touched then."""
    line = json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"
    data = line.encode("utf-8", "surrogatepass")
    with _open(ledger.log, _APPEND, patience_s) as handle:
        size = os.fstat(handle).st_size
        if size and os.pread(handle, 1, size - 1) != b"\n":
            data = b"\n" + data  # whoever wrote last was killed on the way
        written = os.write(handle, data)
        if written < len(data):
            with suppress(OSError):
                os.ftruncate(handle, size)
            raise OSError(28, "no space left on the disk")
        if size + written > ledger.most:
            with suppress(OSError):  # the record is safe, and the next one folds
                _fold(ledger, handle)


def tally(ledger: Ledger, *, patience_s: float = 1.0) -> Sums:
    """Add up everything that was ever appended; a log that is not there has nothing to add."""
    try:
        with _open(ledger.log, _READ, patience_s, shared=True) as handle:
            return _added(ledger, _whole(handle))
    except OSError:
        return _load(ledger.sums)


def recent(ledger: Ledger, *, patience_s: float = 1.0) -> list[Record]:
    """Give the records that are not folded yet, oldest first."""
    try:
        with _open(ledger.log, _READ, patience_s, shared=True) as handle:
            return list(_records(_whole(handle)))
    except OSError:
        return []


def fold(ledger: Ledger, *, patience_s: float = 5.0) -> None:
    """Add the log to the sums and begin it anew. Raises OSError when that cannot be."""
    with _open(ledger.log, _APPEND, patience_s) as handle:
        _fold(ledger, handle)


def _fold(ledger: Ledger, handle: int) -> None:
    data = _whole(handle)
    sums = _added(ledger, data)
    if ledger.bound:
        ledger.bound(sums)
    sums[_MARK] = [len(data), zlib.crc32(data)]
    _save(ledger.sums, sums)
    # Ending here counts nothing twice: the mark tells that these bytes are in the sums.
    os.ftruncate(handle, 0)


def _added(ledger: Ledger, data: bytes) -> Sums:
    sums = _load(ledger.sums)
    size, checksum = sums.pop(_MARK, None) or (0, 0)
    if size and len(data) >= size and zlib.crc32(data[:size]) == checksum:
        data = data[size:]
    for record in _records(data):
        with suppress(LookupError, TypeError, ValueError, AttributeError):
            ledger.absorb(sums, record)
    return sums


def _records(data: bytes) -> Iterator[Record]:
    """Read whole records; a line that was torn is none."""
    for line in data.split(b"\n"):
        with suppress(ValueError, RecursionError):
            record = json.loads(line.decode("utf-8", "surrogatepass")) if line else None
            if isinstance(record, dict):
                yield record


def _load(file: Path) -> Sums:
    try:
        with open(os.open(file, _READ), "rb") as stream:
            sums = json.loads(stream.read().decode("utf-8", "surrogatepass"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError):
        # Kept aside: what it held may still be read by a person.
        with suppress(OSError):
            os.replace(file, file.with_suffix(".damaged"))
        return {}
    return sums if isinstance(sums, dict) else {}


def _save(file: Path, sums: Sums) -> None:
    text = json.dumps(sums, ensure_ascii=False, separators=(",", ":"))
    atomic.put(file, text.encode("utf-8", "surrogatepass"), sync=True)


def _whole(handle: int) -> bytes:
    size = os.fstat(handle).st_size
    parts: list[bytes] = []
    at = 0
    while at < size and (part := os.pread(handle, size - at, at)):
        parts.append(part)
        at += len(part)
    return b"".join(parts)


@contextmanager
def _open(file: Path, how: int, patience_s: float, *, shared: bool = False) -> Iterator[int]:
    """Open a log that nobody else writes meanwhile; one that was removed on the way is opened again."""
    for _ in range(5):
        handle = os.open(file, how, 0o600)
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise OSError(22, "it is not a regular file")
            _lock(handle, patience_s, shared=shared)
            if os.fstat(handle).st_nlink:
                yield handle
                return
        finally:
            os.close(handle)
    raise OSError(2, "it was removed again and again")


def _lock(handle: int, patience_s: float, *, shared: bool) -> None:
    import fcntl

    until = time.monotonic() + patience_s
    while True:
        try:
            fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= until:
                raise
        time.sleep(0.001)
