"""A path -> a connection to a sound index of this version, made when there is none.

Knows the schema and what makes a file unusable. Knows nothing of what the rows mean.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from memtool import lexical
from memtool.errors import LockError, MemtoolError, VaultError
from memtool.index import rows

_MANY = 500  # host parameters in one statement, well under SQLite's old limit of 999

SCHEMA = f"""
CREATE TABLE files(
  id INTEGER PRIMARY KEY, path TEXT UNIQUE NOT NULL,
  size INTEGER NOT NULL, mtime INTEGER NOT NULL, ctime INTEGER NOT NULL, inode INTEGER NOT NULL,
  blob TEXT NOT NULL, title TEXT, type TEXT, tags TEXT, day TEXT, facts TEXT, name TEXT,
  standing TEXT, findings TEXT, planned INTEGER NOT NULL DEFAULT 0);
CREATE INDEX files_unplanned ON files(id) WHERE planned = 0;
CREATE INDEX files_stat ON files(path, size, mtime, ctime, inode);
CREATE TABLE marks(mark TEXT NOT NULL, file INTEGER NOT NULL, PRIMARY KEY(mark, file)) WITHOUT ROWID;
CREATE INDEX marks_file ON marks(file);
CREATE TABLE said(
  file INTEGER NOT NULL, number INTEGER NOT NULL, line INTEGER, kind TEXT, relation TEXT, target TEXT,
  key TEXT, fragment TEXT, PRIMARY KEY(file, number)) WITHOUT ROWID;
CREATE INDEX said_key ON said(key);
CREATE TABLE called(
  key TEXT NOT NULL, rank INTEGER NOT NULL, file INTEGER NOT NULL, name TEXT,
  PRIMARY KEY(key, rank, file)) WITHOUT ROWID;
CREATE INDEX called_file ON called(file);
CREATE TABLE chunks(
  row INTEGER PRIMARY KEY, file INTEGER NOT NULL, start INTEGER, "end" INTEGER,
  kind TEXT, headings TEXT, text TEXT, length INTEGER, sections TEXT);
CREATE INDEX chunks_file ON chunks(file);
CREATE TABLE embeds(
  digest BLOB NOT NULL, file INTEGER NOT NULL, row INTEGER, kind TEXT, start INTEGER, "end" INTEGER,
  text TEXT, done INTEGER NOT NULL DEFAULT 0);
CREATE INDEX embeds_todo ON embeds(row) WHERE done = 0;
CREATE INDEX embeds_digest ON embeds(digest);
CREATE INDEX embeds_row ON embeds(row) WHERE row IS NOT NULL;
CREATE INDEX embeds_lead ON embeds(file) WHERE row IS NULL;
CREATE VIRTUAL TABLE words USING fts5(
  name, headings, body, content='', tokenize='{lexical.TOKENIZER}');
INSERT INTO words(words, rank) VALUES('hashsize', 16777216);
CREATE VIRTUAL TABLE terms USING fts5vocab('words', 'row');
CREATE TABLE facts(key TEXT PRIMARY KEY, value TEXT);
"""

#: Everything that makes an index of another build unusable.
VERSION = f"5/{rows.VERSION}"

#: Codes of SQLite that speak of the disk or of rights; the file itself may be sound.
_REFUSALS = frozenset(
    (
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_NOMEM,
    )
)
#: SQLite keeps these beside each other.
_ENDINGS = ("", "-wal", "-shm", "-journal")

_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


class DamagedError(MemtoolError):
    """The index file cannot be used; it is derived, so it is made anew."""

    code = "damaged"


def connect(file: Path, *, timeout_s: float = 5.0) -> sqlite3.Connection:
    """Open or make the index at *file*.

    Raises DamagedError when it is not one of ours, LockError when it is busy, VaultError when the
    disk refuses.
    """
    _refuse_others(file)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        db = sqlite3.connect(file, timeout=timeout_s, isolation_level=None, check_same_thread=False)
    except (OSError, sqlite3.Error) as error:
        raise _refused(error) from error
    give_up = time.monotonic() + timeout_s
    while True:
        try:
            _prepare(db, file)
            return db
        except sqlite3.Error as error:
            if _is_busy(error) and time.monotonic() < give_up:
                # SQLite does not wait by itself where a file changes to WAL.
                _step_back(db)
                continue
            db.close()
            raise explain(error) from error


def _refuse_others(file: Path) -> None:
    """Raise DamagedError where a link, a pipe or a folder stands: links in a vault may lead anywhere."""
    for ending in _ENDINGS:
        place = f"{file}{ending}"
        with suppress(FileNotFoundError):  # SQLite makes and removes its journals while others open the file
            if not stat.S_ISREG(os.lstat(place).st_mode):
                raise DamagedError(f"the index was unusable ({os.path.basename(place)} is not a plain file)")


def _step_back(db: sqlite3.Connection) -> None:
    if db.in_transaction:
        db.execute("ROLLBACK")
    time.sleep(0.01)


def _is_busy(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _BUSY


def explain(error: sqlite3.Error) -> MemtoolError:
    """Give SQLite's complaint as an error of ours: busy, refused by the system, or damaged."""
    if _is_busy(error):
        return locked()
    if getattr(error, "sqlite_errorcode", 0) & 0xFF in _REFUSALS:
        return _refused(error)
    return DamagedError(f"the index was unusable ({error})")


def locked() -> LockError:
    return LockError(
        "the index is being written by another process",
        why="it did not come free within the time allowed",
        fix="wait for the other memtool to end, or search with --no-refresh",
    )


def _refused(error: Exception) -> VaultError:
    return VaultError(
        "the index cannot be read or written",
        why=str(error),
        fix="see that `.memtool/cache` is writable and that the disk is not full",
    )


def _prepare(db: sqlite3.Connection, file: Path) -> None:
    # A vault's owner may hand us any file: SQL functions and views in its schema stay dead.
    db.execute("PRAGMA trusted_schema=OFF")
    if not _is_ours(db, file):
        # In one transaction, and looked at again in it: two processes may be here at once.
        db.execute("BEGIN IMMEDIATE")
        if not _is_ours(db, file):
            _make(db, file)
        db.execute("COMMIT")
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA synchronous=NORMAL")
    db.execute("PRAGMA mmap_size=268435456")
    db.execute("PRAGMA wal_autocheckpoint=8000")
    db.execute("PRAGMA cache_size=-65536")


def _is_ours(db: sqlite3.Connection, file: Path) -> bool:
    """Tell a finished index from an empty file; raises DatabaseError for anything else."""
    names = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
    if not names:
        return False
    if os.stat(file).st_size % int(db.execute("PRAGMA page_size").fetchone()[0]):
        raise sqlite3.DatabaseError("its end is missing")
    if "facts" not in names:
        raise sqlite3.DatabaseError("it is no index")
    facts = dict(db.execute("SELECT key, value FROM facts WHERE key IN ('version', 'home')"))
    if facts.get("version") != VERSION:
        raise sqlite3.DatabaseError("it was made by another version of memtool")
    # An index that came with a clone may say anything about notes; one that was made here may not move.
    if facts.get("home") != _home(file):
        raise sqlite3.DatabaseError("it was made in another place")
    return True


def _home(file: Path) -> str:
    return str(os.stat(file).st_ino)


def _make(db: sqlite3.Connection, file: Path) -> None:
    for statement in SCHEMA.split(";\n"):
        if statement.strip():
            db.execute(statement)
    db.execute("INSERT INTO facts VALUES('version', ?)", (VERSION,))
    db.execute("INSERT INTO facts VALUES('home', ?)", (_home(file),))


def discard(file: Path) -> None:
    """Put a damaged index aside; the next opening makes a new one."""
    for ending in _ENDINGS:
        old = Path(f"{file}{ending}")
        try:
            os.replace(old, Path(f"{file}.bad{ending}"))
        except FileNotFoundError:
            continue
        except OSError as error:
            raise _refused(error) from error


def copy(file: Path, new: Path) -> None:
    """Make *new* a sound index with the rows of *file*; raises like ``connect`` when that is none."""
    old = connect(file)
    try:
        db = sqlite3.connect(new)
        old.backup(db)
        with db:
            db.execute("UPDATE facts SET value=? WHERE key='home'", (_home(new),))
        db.close()
    except sqlite3.Error as error:
        raise explain(error) from error
    finally:
        old.close()


def inode(file: Path) -> int:
    """Give the number that tells one file from another put in its place; 0 when there is none."""
    try:
        return os.stat(file).st_ino
    except OSError:
        return 0


def is_superseded(file: Path, number: int) -> bool:
    """Tell whether another version of memtool put its own index in the place of inode *number*."""
    try:
        if inode(file) in (0, number):
            return False
        db = sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)
    except (OSError, sqlite3.Error):
        return False
    try:
        row = db.execute("SELECT value FROM facts WHERE key = 'version'").fetchone()
        return bool(row) and row[0] != VERSION
    except sqlite3.Error:
        return False
    finally:
        db.close()


def many(items: Sequence[object]) -> Iterator[tuple[str, Sequence[object]]]:
    """Cut *items* into runs that one statement can take, each with its placeholders."""
    for at in range(0, len(items), _MANY):
        part = items[at : at + _MANY]
        yield ",".join("?" * len(part)), part
