"""What the index keeps of one note: its rows.

Plain values that any process may make and hand over. Knows nothing of how a note is read
(`reading`) or of how rows are stored (`index`).
"""

from __future__ import annotations

from typing import NamedTuple

from memtool import lexical
from memtool.errors import Finding

#: Part of the index's key: rows made by other rules belong to another index.
VERSION = f"4/{lexical.VERSION}"

#: What stands between the headings of one path.
PATH = " > "


class ChunkRow(NamedTuple):
    """One chunk: its lines, its text, and how its text is written into the word index."""

    start: int
    end: int
    kind: str
    headings: str
    text: str
    words: str
    sections: tuple[tuple[int, str], ...] = ()  # first line and headings of each, where there are several


class NoteRows(NamedTuple):
    """All the index keeps of one note."""

    path: str
    blob: str
    title: str
    type: str
    tags: tuple[str, ...]
    day: str  # ISO date the note speaks of, "" when it names none
    facts: dict[str, object]  # what listings and passages need: description, read_if, asks, pinned, ...
    name: str  # path, title, other names and tags: what a note is called
    chunks: tuple[ChunkRow, ...]
    findings: tuple[Finding, ...]
    standing: str = ""  # what it says of its own standing, as JSON
    said: tuple[tuple[int, str, str, str, str, str], ...] = ()  # its links and relations, as `relations.Said`
    called: tuple[tuple[str, int, str], ...] = ()  # what it is called: key, rank, name
    marks: tuple[
        str, ...
    ] = ()  # what it is looked up by: notes it took the place of, and that it may need review
