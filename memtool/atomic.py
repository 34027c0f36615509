"""Bytes -> a file that is there whole or not at all.

For files of memtool's own, below its state and its caches. Notes have a stricter way, in ``files``.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)

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


def tidy(folder: Path, *, older_than_s: float) -> None:
    """Remove what writers left behind that were killed while they wrote."""
    for file in folder.glob(".*.tmp"):
        with suppress(OSError):
            if file.stat().st_mtime < time.time() - older_than_s:
                file.unlink()
