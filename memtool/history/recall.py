"""A question git was asked before -> the answer it gave: a small SQLite file in the cache.

Nearly all of it cannot change, for its key names commits or blobs. Whatever is wrong with the file,
git is asked again. Knows nothing of what is kept in it.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from memtool.errors import MemtoolError

#: Answers kept by other rules are not understood.
VERSION = 2

#: Answers kept at most; beyond, the oldest half goes.
MOST = 50_000


class Recall:
    """What git was asked before. Any number of processes may share the file."""

    def __init__(self, file: Path, prepare: Callable[[], object] = lambda: None) -> None:
        self.file = file
        self._prepare = prepare
        self._db: sqlite3.Connection | None = None
        self._home = ""

    def close(self) -> None:
        if self._db:
            self._db.close()
            self._db = None

    def get(self, kind: str, keys: Iterable[str]) -> dict[str, Any]:
        """Give what is kept under these keys; those without an answer are left out."""
        found = {}
        with suppress(sqlite3.Error, ValueError, OSError, MemtoolError):
            for key in keys:
                db = self._open()
                row = db.execute(
                    "SELECT value FROM kept WHERE kind=? AND key=?", (f"{self._home}{kind}", key)
                ).fetchone()
                if row:
                    found[key] = json.loads(row[0])
        return found

    def keep(self, kind: str, answers: Mapping[str, object]) -> None:
        """Keep answers for the next time; where that fails, git is only asked again."""
        if not answers:
            return
        try:
            self._write(kind, {key: json.dumps(value) for key, value in answers.items()})
        except sqlite3.DatabaseError as error:
            if not isinstance(error, sqlite3.OperationalError):  # damaged: it is made anew
                self._discard()
        except (OSError, MemtoolError):
            pass

    def _write(self, kind: str, answers: Mapping[str, str]) -> None:
        db = self._open()
        with db:
            db.executemany(
                "INSERT OR REPLACE INTO kept VALUES(?, ?, ?)",
                ((f"{self._home}{kind}", key, value) for key, value in answers.items()),
            )
            if (db.execute("SELECT max(rowid) - min(rowid) FROM kept").fetchone()[0] or 0) > MOST:
                db.execute("DELETE FROM kept WHERE rowid < (SELECT max(rowid) FROM kept) - ?", (MOST // 2,))

    def _open(self) -> sqlite3.Connection:
        if self._db is not None and not self.file.exists():
            self.close()  # somebody deleted the cache, as anybody may
        if self._db is None:
            self._prepare()
            db = sqlite3.connect(self.file, timeout=1.0, check_same_thread=False)
            db.execute("PRAGMA trusted_schema=OFF")
            db.execute("PRAGMA synchronous=OFF")
            db.execute("CREATE TABLE IF NOT EXISTS kept(kind TEXT, key TEXT, value TEXT, UNIQUE(kind, key))")
            # What came with a clone may say anything; what was kept here knows its own place.
            self._db, self._home = db, f"{VERSION}/{os.stat(self.file).st_ino}/"
        return self._db

    def _discard(self) -> None:
        self.close()
        with suppress(OSError):
            os.unlink(self.file)
