"""Bytes -> a file, or a line of a log, that is there whole or not at all.

For files of memtool's own, below its state and its caches. Notes have a stricter way, in ``files``.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
_ADD = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

PRIVATE = 0o600


def put(file: str | Path, data: bytes, *, mode: int = 0o666, sync: bool = False) -> None:
    """Put *data* in place of *file* at once: a reader sees the old bytes or the new; raises OSError.

    With *sync* the bytes are on the disk before they are in place, so that a crash leaves no empty file.
    """
    # Named for nothing but its maker: the name of the file may have no room for more.
    fresh = os.path.join(os.path.dirname(file), f".{os.getpid()}-{os.urandom(4).hex()}.tmp")
    try:
        with open(os.open(fresh, _NEW, mode), "wb") as stream:
            stream.write(data)
            if sync:
                stream.flush()
                os.fsync(stream.fileno())
        os.replace(fresh, file)
    except BaseException:
        with suppress(OSError):
            os.unlink(fresh)
        raise


def append(file: str | Path, line: bytes) -> int:
    """Add a line to a log that is its owner's alone, and give the log's size; raises OSError.

    Where whoever wrote last was torn from its work, that line is ended first. No link is followed.
    """
    handle = os.open(file, _ADD, PRIVATE)
    try:
        size = os.fstat(handle).st_size
        if size and os.pread(handle, 1, size - 1) != b"\n":
            line = b"\n" + line
        os.write(handle, line + b"\n")
        return os.fstat(handle).st_size
    finally:
        os.close(handle)


def tidy(folder: Path, *, older_than_s: float) -> None:
    """Remove what writers left behind that were killed while they wrote."""
    for file in folder.glob(".*.tmp"):
        with suppress(OSError):
            if file.stat().st_mtime < time.time() - older_than_s:
                file.unlink()
