"""The rows of a note -> the texts that are embedded for it, and back from a digest to its text.

A chunk is embedded in pieces, for a short text has one meaning and a long one several: its best
piece speaks for it. Some short texts lead to the note as a whole. Knows nothing of vectors.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memtool import lexical
from memtool.index.index import FileRow, Index, Row, Target
from memtool.index.index_change import Passage

#: Characters of a piece, and of a piece in a script without spaces.
PIECE, WIDE_PIECE = 250, 110

#: Characters of a note's beginning that go into its one short text.
OPENING = 300

_SENTENCE = re.compile(r"(?<=[。！？])|(?<=[.!?])\s+")
_SPACE = re.compile(r"\s")


class Piece(NamedTuple):
    """Some lines of a chunk, or a part of one long line."""

    start: int
    end: int
    text: str
    whole: bool  # whether it is whole lines


def digest(text: str) -> bytes:
    """Name a text to embed: 16 bytes of SHA-256."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


# -- pieces ----------------------------------------------------------------------------------


def pieces(start: int, end: int, text: str) -> list[Piece]:
    """Pack the lines of a chunk into pieces; a line that is too long is parted at its sentences.

    >>> [(piece.start, piece.end) for piece in pieces(3, 5, "One.\\n\\nTwo.")]
    [(3, 5)]
    """
    limit = WIDE_PIECE if _is_wide(text) else PIECE
    found: list[Piece] = []
    for part in _parts(start, end, text, limit):
        last = found[-1] if found else None
        if last and len(last.text) + len(part.text) <= limit:
            whole = last.whole and part.whole and last.end < part.start
            found[-1] = Piece(last.start, part.end, f"{last.text}\n{part.text}", whole)
        else:
            found.append(part)
    return found


def _parts(start: int, end: int, text: str, limit: int) -> Iterator[Piece]:
    lines = text.split("\n")
    whole = len(lines) == end - start + 1
    for number, line in enumerate(lines, start):
        line, number = line.strip(), min(number, end)
        if len(line) <= limit:
            if line:
                yield Piece(number, number, line, whole)
            continue
        for sentence in filter(None, _SENTENCE.split(line)):
            yield Piece(number, number, sentence, False)


def _is_wide(text: str) -> bool:
    return lexical.wide_count(text) > 0.2 * max(1, len(_SPACE.sub("", text)))


# -- what is embedded ------------------------------------------------------------------------


def plan(file: FileRow, rows: Sequence[Row]) -> list[Passage]:
    """Work out what is embedded of one note, from its chunks in order."""
    bodies = [row for row in rows if row.kind == "body"]
    leads = [
        Passage(digest(text), None, kind, 0, 0, text) for kind, text in _leads(file, bodies) if text.strip()
    ]
    return [*leads, *(passage for row in bodies for passage in _plan_chunk(file, row))]


def _plan_chunk(file: FileRow, row: Row) -> Iterator[Passage]:
    title = str(file.facts.get("own_title", ""))
    parts = pieces(row.start, row.end, row.text)
    if len(parts) == 1:
        yield Passage(digest(_whole(title, row)), row.row, "chunk", row.start, row.end, None)
        return
    for part in parts:
        text = _titled(title, part.text)
        yield Passage(digest(text), row.row, "piece", part.start, part.end, None if part.whole else text)


def _leads(file: FileRow, bodies: Sequence[Row]) -> Iterator[tuple[str, str]]:
    """Give the texts that lead to the note; the first is its opening, the note's own short text."""
    facts = file.facts
    opening = bodies[0].text[:OPENING] if bodies else ""
    parts = (facts.get("own_title"), facts.get("description"), facts.get("outline"), opening)
    yield "opening", "\n".join(str(part) for part in parts if part)
    for kind in ("description", "read_if"):
        yield kind, str(facts.get(kind) or "")
    for key, kind in (("aliases", "alias"), ("asks", "asks")):
        values = facts.get(key)
        for value in values if isinstance(values, list) else []:
            yield kind, str(value)


def texts(index: Index, digests: Sequence[bytes]) -> dict[bytes, str]:
    """Give the text behind each digest; one that no note has any more is left out."""
    found = index.passages(digests)
    rows = index.rows([target.row for target, text in found if text is None and target.row is not None])
    files = index.files(list({row.file for row in rows.values()}))
    known = {target.digest: text for target, text in found if text is not None}
    for target, text in found:
        if text is None and target.row in rows:
            row = rows[target.row]
            known[target.digest] = _told(str(files[row.file].facts.get("own_title", "")), row, target)
    return known


def _told(title: str, row: Row, target: Target) -> str:
    if target.kind == "chunk":
        return _whole(title, row)
    lines = row.text.split("\n")[target.start - row.start : target.end - row.start + 1]
    return _titled(title, "\n".join(filter(None, (line.strip() for line in lines))))


def _whole(title: str, row: Row) -> str:
    """Write a chunk of one piece: where it stands, then what it says."""
    headings = row.headings if not title or row.headings != title else ""
    place = " > ".join(filter(None, (title, headings.removeprefix(f"{title} > "))))
    return _titled(place, row.text)


def _titled(title: str, text: str) -> str:
    return f"{title}\n{text}" if title else text
