"""A folder of indexes of the past -> the few that are kept, and the texts they need vectors for.

Each file is the index of one tree of the vault. Knows nothing of trees or of how one is filled.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from memtool.errors import MemtoolError
from memtool.index.index import Index
from memtool.index.index_file import copy

FOLDER, ENDING = "past", ".sqlite3"

#: Trees kept besides the index of every version there ever was.
SLOTS = 4

#: No copy takes this long.
LEFT_BEHIND_S = 3600.0


def files(cache: Path) -> list[Path]:
    """List the indexes of the past, the one used last first."""

    def used(file: Path) -> float:
        with suppress(OSError):
            return -file.stat().st_mtime
        return 0.0

    return sorted((cache / FOLDER).glob(f"*{ENDING}"), key=used)


def use(file: Path, *, keep: str) -> None:
    """Note that *file* was used, and remove what was used least; *keep* names a file that always stays."""
    with suppress(OSError):
        os.utime(file)
    for old in [other for other in files(file.parent.parent) if other.name != keep][SLOTS:]:
        for ending in ("", "-wal", "-shm"):
            Path(f"{old}{ending}").unlink(missing_ok=True)
    for bad in file.parent.glob("*.bad*"):  # damaged, and made anew since
        bad.unlink(missing_ok=True)
    for half in file.parent.glob("*.new*"):  # a copy that a killed process left half done
        if _age_s(half) > LEFT_BEHIND_S:
            half.unlink(missing_ok=True)


def _age_s(file: Path) -> float:
    with suppress(OSError):
        return time.time() - file.stat().st_mtime
    return 0.0


def begin(file: Path, base: Path) -> bool:
    """Make *file* a copy of *base*, so that only what differs is read; False when that cannot be done."""
    new = file.with_name(f"{file.name}.{os.getpid()}.new")
    try:
        copy(base, new)
        # Never in the place of one that another process has made and opened meanwhile.
        os.link(new, file)
        return True
    except (OSError, MemtoolError):
        return False
    finally:
        for ending in ("", "-wal", "-shm", "-journal"):
            Path(f"{new}{ending}").unlink(missing_ok=True)


def digests(cache: Path) -> set[bytes]:
    """Give every text of the past that has or wants a vector."""
    return {digest for index in _open_all(cache) for digest in index.digests()}


def embeds(cache: Path) -> int:
    """Count the texts of the past, those in several indexes several times."""
    return sum(index.count("embeds") for index in _open_all(cache))


def _open_all(cache: Path) -> Iterator[Index]:
    for file in files(cache):
        try:
            index = Index.open(file)
        except MemtoolError:
            continue
        try:
            yield index
        finally:
            index.close()
