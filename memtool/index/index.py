"""Rows of notes -> one SQLite file that answers by words, by digest, and by path.

Holds the rows of the vault as it was last seen and nothing else: every row can be made
again from its note. Knows what can be asked of them; knows nothing of scores beyond FTS5's own BM25.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from memtool.errors import Finding
from memtool.index.index_change import Change, Stat
from memtool.index.index_file import connect, many

#: How much a word counts in the name, the headings and the body of a chunk.
FIELD_WEIGHTS = (1.0, 1.0, 1.0)


class FileRow(NamedTuple):
    """One note as the index knows it."""

    id: int
    path: str
    blob: str
    title: str
    type: str
    tags: tuple[str, ...]
    day: str
    facts: dict[str, object]


class Row(NamedTuple):
    """One chunk as the index knows it."""

    row: int
    file: int
    path: str
    start: int
    end: int
    kind: str
    headings: str
    text: str
    title: str
    day: str
    sections: str | None  # JSON of (first line, headings) for each, where there are several
    standing: str = ""  # JSON of what the note says of its own standing

    def headings_at(self, line: int) -> str:
        """Give the headings that *line* stands under."""
        sections = json.loads(self.sections) if self.sections else []
        return next((path for first, path in reversed(sections) if first <= line), self.headings)


class Target(NamedTuple):
    """What a vector leads to: lines of a chunk, or (row None) a whole note."""

    digest: bytes
    file: int
    row: int | None
    kind: str
    start: int
    end: int


_TARGET = 'SELECT digest, file, row, kind, start, "end" FROM embeds'


class Index:
    """An open index file. Many may read while one writes (WAL)."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self._missing: tuple[tuple[int, int], tuple[int, int]] | None = None

    @classmethod
    def open(cls, file: Path, *, timeout_s: float = 5.0) -> Index:
        """Open or make the index at *file*; raises DamagedError when it is not one of ours."""
        return cls(connect(file, timeout_s=timeout_s))

    def close(self) -> None:
        self.db.close()

    # -- facts -----------------------------------------------------------------------------

    def fact(self, key: str) -> str:
        """Read a small remembered value, "" when there is none."""
        row = self.db.execute("SELECT value FROM facts WHERE key=?", (key,)).fetchone()
        return row[0] if row else ""

    # -- writing ---------------------------------------------------------------------------

    def change(self) -> Change:
        """Begin one all-or-nothing change: ``with index.change() as change: ...``."""
        return Change(self.db)

    # -- reading ---------------------------------------------------------------------------

    @contextmanager
    def still(self) -> Iterator[None]:
        """Hold one state while several questions are asked; other processes may write meanwhile."""
        self.db.execute("BEGIN")
        try:
            yield
        finally:
            self.db.execute("ROLLBACK")

    def stats(self) -> dict[str, Stat]:
        """Give path -> (size, mtime, ctime, inode) as last seen, for every note."""
        # Answered from the index over just these columns: a note's own row is a hundred times larger.
        found = self.db.execute("SELECT path, size, mtime, ctime, inode FROM files")
        return {path: (size, mtime, ctime, inode) for path, size, mtime, ctime, inode in found}

    def blobs(self, paths: Sequence[str]) -> dict[str, str]:
        """Give the blob that the rows of each of these notes were made from."""
        return {
            path: blob
            for marks, part in many(paths)
            for path, blob in self.db.execute(f"SELECT path, blob FROM files WHERE path IN ({marks})", part)
        }

    def count(self, what: str) -> int:
        """Give a running total: ``notes``, ``chunks``, ``bodies``, ``length`` (of bodies) or ``embeds``."""
        return int(self.fact(f"count {what}") or 0)

    def chunk_count(self) -> int:
        return self.count("chunks")

    def files(self, ids: Sequence[int] | None = None) -> dict[int, FileRow]:
        """Give notes by id; None gives all."""
        select = "SELECT id, path, blob, title, type, tags, day, facts FROM files"
        if ids is None:
            found = list(self.db.execute(select))
        else:
            found = [
                r
                for marks, part in many(ids)
                for r in self.db.execute(f"{select} WHERE id IN ({marks})", part)
            ]
        return {
            r[0]: FileRow(r[0], r[1], r[2], r[3], r[4], tuple(json.loads(r[5])), r[6], json.loads(r[7]))
            for r in found
        }

    def findings(self) -> list[Finding]:
        """Give what was odd about the notes when they were read, by path and line."""
        found = self.db.execute("SELECT findings FROM files WHERE findings != '[]' ORDER BY path")
        return [Finding(*finding) for (text,) in found for finding in json.loads(text)]

    def file_id(self, path: str) -> int | None:
        row = self.db.execute("SELECT id FROM files WHERE path=?", (path,)).fetchone()
        return int(row[0]) if row else None

    def rows(self, numbers: Sequence[int]) -> dict[int, Row]:
        """Give chunks by row number."""
        select = (
            'SELECT c.row, c.file, f.path, c.start, c."end", c.kind, c.headings, c.text, f.title, f.day, '
            "c.sections, f.standing FROM chunks c JOIN files f ON f.id = c.file WHERE c.row IN"
        )
        return {
            r[0]: Row(*r)
            for marks, part in many(numbers)
            for r in self.db.execute(f"{select} ({marks})", part)
        }

    def rows_of(self, file: int) -> list[int]:
        """Give the row numbers of one note, in the order of its lines."""
        return [r[0] for r in self.db.execute("SELECT row FROM chunks WHERE file=? ORDER BY row", (file,))]

    def words(self, match: str, *, limit: int, files: Iterable[int] | None = None) -> list[tuple[int, float]]:
        """Rank chunks by BM25 for an FTS5 expression, best first; scores are positive.

        *files* keeps only chunks of these notes; None keeps all.
        """
        weights = ", ".join(map(str, FIELD_WEIGHTS))
        source, where = "words", ""
        if files is not None:
            self.allow(files)
            source, where = (
                "words JOIN chunks c ON c.row = words.rowid",
                "AND c.file IN (SELECT id FROM temp.allowed)",
            )
        return [
            (row, -score)
            for row, score in self.db.execute(
                f"SELECT words.rowid, bm25(words, {weights}) AS score FROM {source} "
                f"WHERE words MATCH ? {where} ORDER BY score LIMIT ?",
                (match, limit),
            )
        ]

    def allow(self, files: Iterable[int]) -> None:
        """Fill the temporary table that filters read."""
        self.db.execute("CREATE TEMP TABLE IF NOT EXISTS allowed(id INTEGER PRIMARY KEY)")
        self.db.execute("DELETE FROM temp.allowed")
        self.db.executemany("INSERT INTO temp.allowed VALUES(?)", ((i,) for i in files))

    def frequencies(self, terms: Iterable[str]) -> dict[str, int]:
        """Count the chunks that hold each term; terms that stand nowhere are left out."""
        wanted = list(dict.fromkeys(terms))
        return {
            term: count
            for marks, part in many(wanted)
            for term, count in self.db.execute(f"SELECT term, doc FROM terms WHERE term IN ({marks})", part)
        }

    def match_count(self, match: str) -> int:
        """Count the chunks that an FTS5 expression finds."""
        return int(self.db.execute("SELECT count(*) FROM words WHERE words MATCH ?", (match,)).fetchone()[0])

    def terms_like(self, start: str, *, limit: int = 20_000) -> list[tuple[str, int]]:
        """Give terms that begin with *start*, with the count of chunks that hold them."""
        end = start[:-1] + chr(ord(start[-1]) + 1) if start else "\U0010ffff"
        return list(
            self.db.execute(
                "SELECT term, doc FROM terms WHERE term >= ? AND term < ? LIMIT ?", (start, end, limit)
            )
        )

    def targets(self, digests: Sequence[bytes]) -> list[Target]:
        """Give what the vectors with these digests lead to."""
        return self._targets("digest IN", digests)

    def pieces_of(self, rows: Iterable[int]) -> list[Target]:
        """Give what is embedded of these chunks."""
        return self._targets("row IN", list(rows))

    def leads_of(self, files: Iterable[int]) -> list[Target]:
        """Give what leads to these notes as a whole."""
        return self._targets("row IS NULL AND file IN", list(files))

    def _targets(self, where: str, keys: Sequence[object]) -> list[Target]:
        return [
            Target(*r)
            for marks, part in many(keys)
            for r in self.db.execute(f"{_TARGET} WHERE {where} ({marks})", part)
        ]

    def names(self, files: Iterable[int]) -> dict[int, str]:
        """Give what each note is called: path, title, other names, tags."""
        return {
            r[0]: r[1]
            for marks, part in many(list(files))
            for r in self.db.execute(f"SELECT id, name FROM files WHERE id IN ({marks})", part)
        }

    def missing(self) -> tuple[int, int]:
        """Count the texts still to embed, and how many of them lead to a whole note."""
        # Every row is looked at, so not again while nobody, here or elsewhere, has changed one.
        state = self.db.total_changes, self.db.execute("PRAGMA data_version").fetchone()[0]
        if self._missing is None or self._missing[0] != state:
            counting = "SELECT count(*), count(*) - count(row) FROM embeds WHERE done = 0"
            self._missing = state, self.db.execute(counting).fetchone()
        return self._missing[1]

    def missing_digests(self) -> list[bytes]:
        """Give the texts still to embed: those that lead to a note before chunks, newest note first."""
        found = self.db.execute(
            "SELECT e.digest FROM embeds e JOIN files f ON f.id = e.file WHERE e.done = 0 "
            "ORDER BY e.row IS NOT NULL, f.day DESC, e.rowid"
        )
        return list(dict.fromkeys(r[0] for r in found))

    def digests(self, files: Iterable[int] | None = None) -> set[bytes]:
        """Give the digest of every text that is or should be embedded; *files* None: of all notes."""
        if files is None:
            return {r[0] for r in self.db.execute("SELECT digest FROM embeds")}
        self.allow(files)
        found = self.db.execute("SELECT digest FROM embeds WHERE file IN (SELECT id FROM temp.allowed)")
        return {r[0] for r in found}

    def unplanned(self) -> list[int]:
        """Give the notes of which nobody has worked out yet what is to be embedded, newest first."""
        return [r[0] for r in self.db.execute("SELECT id FROM files WHERE planned = 0 ORDER BY day DESC, id")]

    def unplanned_count(self) -> int:
        return int(self.db.execute("SELECT count(*) FROM files WHERE planned = 0").fetchone()[0])

    def passages(self, digests: Sequence[bytes]) -> list[tuple[Target, str | None]]:
        """Give what is to be embedded, each with its text where it was kept."""
        select = 'SELECT digest, file, row, kind, start, "end", text FROM embeds WHERE digest IN'
        return [
            (Target(*r[:6]), r[6])
            for marks, part in many(digests)
            for r in self.db.execute(f"{select} ({marks})", part)
        ]
