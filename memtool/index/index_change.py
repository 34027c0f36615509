"""Rows of notes -> rows of the index: one all-or-nothing change.

Keeps the tables, the word index and the running totals in step. Knows nothing of who reads them.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from memtool import lexical
from memtool.index import rows
from memtool.index.index_file import explain

Stat = tuple[int, int, int, int]


class Passage(NamedTuple):
    """A text that is embedded, and what its vector leads to: some lines of a chunk, or a whole note.

    ``row`` None means the note. ``text`` None means it can be told from the chunk.
    """

    digest: bytes
    row: int | None
    kind: str
    start: int
    end: int
    text: str | None


class Change:
    """One transaction over the index: notes out, notes in, stats touched, facts remembered."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self._counts: Counter[str] = Counter()

    def __enter__(self) -> Change:
        try:
            self.db.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            raise explain(error) from error
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is not None:
            if self.db.in_transaction:  # SQLite has rolled back by itself when the disk is full
                self.db.execute("ROLLBACK")
            return
        for what, more in self._counts.items():
            self.db.execute(
                "INSERT INTO facts VALUES(?, ?) "
                "ON CONFLICT(key) DO UPDATE SET value = value + excluded.value",
                (f"count {what}", more),
            )
        self.db.execute("COMMIT")

    def remember(self, **facts: str) -> None:
        """Keep small values, read back with ``Index.fact``."""
        self.db.executemany("INSERT OR REPLACE INTO facts VALUES(?, ?)", facts.items())

    def touch(self, stats: Mapping[tuple[str, str], Stat]) -> None:
        """Remember new stats of notes, named by path and blob, whose bytes are as before."""
        self.db.executemany(
            "UPDATE files SET size=?, mtime=?, ctime=?, inode=? WHERE path=? AND blob=?",
            ((*stat, *name) for name, stat in stats.items()),
        )

    def want_all_vectors(self) -> None:
        """Take no text for embedded any more."""
        self.db.execute("UPDATE embeds SET done = 0")

    def embedded(self, digests: Iterable[bytes], *, done: bool = True) -> None:
        """Mark texts as embedded, or as to be embedded again."""
        self.db.executemany("UPDATE embeds SET done=? WHERE digest=?", ((int(done), key) for key in digests))

    def clear(self) -> None:
        """Forget everything but what kind of index this is."""
        for table in ("files", "chunks", "embeds", "marks", "said", "called"):
            self.db.execute(f"DELETE FROM {table}")
        self.db.execute("INSERT INTO words(words) VALUES('delete-all')")
        self.db.execute("DELETE FROM facts WHERE key NOT IN ('version', 'home')")

    def remove(self, paths: Iterable[str]) -> None:
        """Forget notes with all their rows; a path that is not here is passed over."""
        for path in paths:
            found = self.db.execute("SELECT id, name FROM files WHERE path=?", (path,)).fetchone()
            if found:
                self._remove(*found)

    def _remove(self, file: int, name: str) -> None:
        # The word index keeps no text, so it is told again what it was given (the tokeniser's
        # version is part of ours: the same text gives the same tokens).
        old = self.db.execute(
            "SELECT row, headings, text, length FROM chunks WHERE file=?", (file,)
        ).fetchall()
        self.db.executemany(
            "INSERT INTO words(words, rowid, name, headings, body) VALUES('delete', ?, ?, ?, ?)",
            _fields(name, ((r, head, lexical.index_text(text)) for r, head, text, _ in old)),
        )
        embeds = self._remove_passages(file)
        self.db.execute("DELETE FROM chunks WHERE file=?", (file,))
        for table in ("marks", "said", "called"):
            self.db.execute(f"DELETE FROM {table} WHERE file=?", (file,))
        self.db.execute("DELETE FROM files WHERE id=?", (file,))
        bodies = sum(1 for r in old if r[3])
        length = sum(int(r[3]) for r in old)
        self._count(notes=-1, chunks=-len(old), bodies=-bodies, length=-length, embeds=-embeds)

    def add(self, note: rows.NoteRows, stat: Stat, day: str) -> None:
        """Take in one note; *day* stands in where the note names none."""
        file = self._add_file(note, stat, day)
        first = (self.db.execute("SELECT max(row) FROM chunks").fetchone()[0] or 0) + 1
        numbered = list(enumerate(note.chunks, start=first))
        lengths = [lexical.length(c.text) if c.kind == "body" else 0 for c in note.chunks]
        self.db.executemany(
            "INSERT INTO chunks VALUES(?,?,?,?,?,?,?,?,?)",
            (
                (
                    r,
                    file,
                    c.start,
                    c.end,
                    c.kind,
                    c.headings,
                    c.text,
                    n,
                    _json(c.sections) if c.sections else None,
                )
                for (r, c), n in zip(numbered, lengths, strict=True)
            ),
        )
        self.db.executemany(
            "INSERT INTO words(rowid, name, headings, body) VALUES(?,?,?,?)",
            _fields(note.name, ((r, c.headings, c.words) for r, c in numbered)),
        )
        bodies = sum(1 for n in lengths if n)
        self._count(notes=1, chunks=len(numbered), bodies=bodies, length=sum(lengths))

    def plan(self, file: int, passages: Sequence[Passage]) -> None:
        """Take in what is to be embedded of one note; a note that is gone meanwhile is passed over."""
        if not self.db.execute("SELECT 1 FROM files WHERE id=?", (file,)).fetchone():
            return
        self._count(embeds=-self._remove_passages(file))
        self.db.executemany(
            'INSERT INTO embeds(digest, file, row, kind, start, "end", text) VALUES(?,?,?,?,?,?,?)',
            ((p.digest, file, p.row, p.kind, p.start, p.end, p.text) for p in passages),
        )
        self.db.execute("UPDATE files SET planned = 1 WHERE id=?", (file,))
        self._count(embeds=len(passages))

    def _remove_passages(self, file: int) -> int:
        pieces = self.db.execute(
            "DELETE FROM embeds WHERE row IN (SELECT row FROM chunks WHERE file=?)", (file,)
        ).rowcount
        return pieces + self.db.execute("DELETE FROM embeds WHERE row IS NULL AND file=?", (file,)).rowcount

    def _count(self, **more: int) -> None:
        self._counts.update(more)

    def _add_file(self, note: rows.NoteRows, stat: Stat, day: str) -> int:
        cursor = self.db.execute(
            "INSERT INTO files(path, size, mtime, ctime, inode, blob, title, type, tags, day, "
            "facts, name, standing, findings) "
            "VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
            (
                *(note.path, *stat, note.blob, note.title, note.type, _json(note.tags)),
                *(note.day or day, _json(note.facts), note.name, note.standing, _json(note.findings)),
            ),
        )
        assert cursor.lastrowid is not None
        self.db.executemany(
            "INSERT OR IGNORE INTO marks VALUES(?, ?)", ((mark, cursor.lastrowid) for mark in note.marks)
        )
        self._add_relations(cursor.lastrowid, note)
        return cursor.lastrowid

    def _add_relations(self, file: int, note: rows.NoteRows) -> None:
        if note.said:
            said = ((file, number, *one) for number, one in enumerate(note.said))
            self.db.executemany("INSERT INTO said VALUES(?,?,?,?,?,?,?,?)", said)
        self.db.executemany(
            "INSERT OR IGNORE INTO called VALUES(?,?,?,?)",
            ((key, rank, file, name) for key, rank, name in note.called),
        )


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _fields(name: str, chunks: Iterable[tuple[int, str, str]]) -> Iterator[tuple[int, str, str, str]]:
    """Give each chunk's row with its three fields, from (row, headings, words)."""
    name = lexical.index_text(name)
    before, written = "", ""
    for row, headings, words in chunks:
        if headings != before:
            before, written = headings, lexical.index_text(headings)
        yield row, name, written, words
