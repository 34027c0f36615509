"""A process that lives long -> one that keeps little: memory given back once the work is done."""

from __future__ import annotations

import ctypes
import gc
import os
import sqlite3
from contextlib import suppress
from typing import TYPE_CHECKING

from memtool import lexical

#: A process that only answers keeps at most about so much of the files it looks at.
MOST_FILE_BYTES = 96 << 20

if TYPE_CHECKING:
    from memtool.embedders.base import Embedder


def give_back(db: sqlite3.Connection, embedder: Embedder | None) -> None:
    """Hand memory that much work needed back to the system; the allocators keep it by themselves.

    *embedder* is put to rest and woken again: what long texts needed stays with it otherwise. None: not.
    """
    _unmap(db)
    db.execute("PRAGMA shrink_memory")
    lexical.forget()
    rest = getattr(embedder, "rest", None)
    if rest:
        rest()
        warm(embedder)
    gc.collect()
    with suppress(OSError, AttributeError):  # glibc alone has it
        ctypes.CDLL(None).malloc_trim(0)


def lighten(db: sqlite3.Connection) -> None:
    """Let go of the pages of files that were looked at, once they are many."""
    if _file_bytes() > MOST_FILE_BYTES:
        _unmap(db)


def _unmap(db: sqlite3.Connection) -> None:
    mapped = db.execute("PRAGMA mmap_size").fetchone()[0]
    db.execute("PRAGMA mmap_size=0")  # pages that were looked at once count as ours until then
    db.execute(f"PRAGMA mmap_size={int(mapped)}")


def _file_bytes() -> int:
    """Count the bytes of files that count as memory of this process; 0 where the system does not say."""
    try:
        with open("/proc/self/statm", "rb") as stream:
            return int(stream.read().split()[2]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        return 0


def warm(embedder: Embedder | None) -> None:
    """Load a model that runs here, so that the first question does not wait for it."""
    if embedder and hasattr(embedder, "rest"):
        embedder.embed(["ready"], kind="query")


def spare_arenas() -> None:
    """Let the threads of a process share their memory: else each keeps its own for ever."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(-8, 2)  # M_ARENA_MAX of glibc
