"""Two indexes, or one -> what is wrong: rows that differ, damage, totals that are off.

Reads every row; knows the schema, as `index` does.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from memtool.errors import Finding
from memtool.index.index import Index

_FIX = "run `memtool index --rebuild`"

_TOTALS = {
    "notes": "SELECT count(*) FROM files",
    "chunks": "SELECT count(*) FROM chunks",
    "bodies": "SELECT count(*) FROM chunks WHERE length > 0",
    "length": "SELECT coalesce(sum(length), 0) FROM chunks",
    "embeds": "SELECT count(*) FROM embeds",
}


Contents = dict[str, tuple[tuple[str, ...], list[tuple[int, int, str, str]]]]


def compare(live: Index, anew: Index, unread: frozenset[str]) -> Iterator[Finding]:
    """Name what differs from an index made anew; paths in *unread* could not be looked at."""
    old, new = contents(live), contents(anew)
    old_links, new_links = links(live), links(anew)
    for path in sorted((old.keys() | new.keys()) - unread):
        if path not in new:
            yield Finding("index-extra", path, 0, "is in the index but not in the vault", _FIX)
        elif path not in old:
            yield Finding("index-missing", path, 0, "is in the vault but not in the index", _FIX)
        elif old[path] != new[path]:
            pairs = zip(old[path][1], new[path][1], strict=False)
            line = next((a[0] for a, b in pairs if a != b), 0)
            yield Finding("index-differs", path, line, "its rows differ from those made anew", _FIX)
        elif old_links.get(path) != new_links.get(path):
            yield Finding("index-differs", path, 0, "its links or names differ from those made anew", _FIX)
    if old == new and vocabulary(live) != vocabulary(anew):
        yield Finding("index-differs", ".", 0, "its words differ from those of an index made anew", _FIX)
    for problem in problems(live):
        yield Finding("index-damaged", ".", 0, problem, _FIX)


def contents(index: Index) -> Contents:
    """Give all rows in a comparable form: path -> (note's values, its chunks in order)."""
    found: Contents = {
        r[0]: (r[1:], [])
        for r in index.db.execute("SELECT path, blob, title, type, tags, facts, name, findings FROM files")
    }
    chunks = index.db.execute(
        'SELECT f.path, c.start, c."end", c.headings, c.text FROM chunks c '
        "JOIN files f ON f.id = c.file ORDER BY c.row"
    )
    for path, *chunk in chunks:
        found[path][1].append(tuple(chunk))
    return found


def links(index: Index) -> dict[str, list[tuple[str | int, ...]]]:
    """Give what each note says of others and what it is called, in a comparable form."""
    found: dict[str, list[tuple[str | int, ...]]] = {}
    said = index.db.execute(
        "SELECT f.path, s.line, s.relation, s.target || s.fragment FROM said s "
        "JOIN files f ON f.id = s.file ORDER BY s.file, s.number"
    )
    called = index.db.execute(
        "SELECT f.path, c.rank, c.key, c.name FROM called c JOIN files f ON f.id = c.file "
        "ORDER BY c.file, c.rank, c.key, c.name"
    )
    for path, *row in [*said, *called]:
        found.setdefault(path, []).append(tuple(row))
    return found


def vocabulary(index: Index) -> list[tuple[str, int, int]]:
    """Give every term with its counts, in order."""
    return list(index.db.execute("SELECT term, doc, cnt FROM terms"))


def problems(index: Index) -> list[str]:
    """Let SQLite look for damage, in the tables and in the word index; costs a full read."""
    found = [r[0] for r in index.db.execute("PRAGMA integrity_check(5)") if r[0] != "ok"]
    for what, select in _TOTALS.items():
        if index.db.execute(select).fetchone()[0] != index.count(what):
            found.append(f"the running total of {what} is off")
    if index.db.execute("SELECT count(*) FROM embeds WHERE row NOT IN (SELECT row FROM chunks)").fetchone()[
        0
    ]:
        found.append("vectors lead to chunks that are gone")
    try:
        index.db.execute("INSERT INTO words(words) VALUES('integrity-check')")
    except sqlite3.DatabaseError as error:
        found.append(f"the word index is damaged: {error}")
    return found
