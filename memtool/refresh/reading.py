"""The bytes of one note -> its rows: parsed, cut, its words written for the index.

Pure and picklable, so that any process may do it. Knows what of a note is looked up; knows
nothing of how it is stored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from memtool import lexical
from memtool import standing as standings
from memtool.catalog.catalog_page import is_generated
from memtool.chunks import chunks as cutting
from memtool.facts import fields
from memtool.index.rows import PATH, ChunkRow, NoteRows
from memtool.links import relations
from memtool.note import note
from memtool.tense import stated

#: Headings of a note that are remembered as its outline.
OUTLINE = 8

_KEPT = ("created", "updated", "valid_from", "valid_to", "supersedes", "superseded_by")
_MARKER = re.compile(rb"^[ \t]*<!--[ \t]*memtool:(begin|end)\b", re.MULTILINE)
_DATE_IN_NAME = re.compile(r"(?<!\d)(\d{4})[-_.]?(\d{2})[-_.]?(\d{2})(?!\d)")


def parse(
    path: str, data: bytes, *, blob: str, limit: int = cutting.LIMIT, wide_limit: int = cutting.WIDE_LIMIT
) -> NoteRows:
    """Work out the rows of the note at *path*; never raises for what the note holds."""
    parsed = note.parse(_personal(data) if is_generated(path) else data)
    cut = cutting.cut(parsed, limit=limit, wide_limit=wide_limit)
    stem = path.rpartition("/")[2].rpartition(".")[0]
    own_title = note.get_text(parsed, "title") or (cut.headings[0].text if cut.headings else "")
    tags = tuple(note.get_list(parsed, "tags"))
    aliases = tuple(note.get_list(parsed, "aliases"))
    found = (*parsed.findings, *cut.findings, *standings.findings(parsed))
    standing = standings.of(parsed, path)
    return NoteRows(
        path=path,
        blob=blob,
        title=own_title or stem,
        type=note.get_text(parsed, "type"),
        tags=tags,
        day=_day(parsed, stem),
        facts=_facts(parsed, cut, own_title),
        name=" ".join((path, own_title, *aliases, *tags)),
        chunks=tuple(_chunk_rows(cut)),
        findings=tuple(finding.at(path) for finding in found),
        standing=stated.pack(standing),
        said=relations.of(parsed, [*fields.inline(parsed)]),
        called=relations.called(path, own_title, aliases),
        marks=stated.marks(standing, path.rpartition("/")[0]),
    )


def _personal(data: bytes) -> bytes:
    """Empty the lines that the catalog owns, so that only what a person wrote there is found."""
    marks = [(found.start(), found[1]) for found in _MARKER.finditer(data)]
    if [kind for _, kind in marks] != [b"begin", b"end"]:
        return data
    (start, _), (end, _) = marks
    close = data.find(b"\n", end)
    close = len(data) if close < 0 else close
    return data[:start] + re.sub(rb"[^\r\n]+", b"", data[start:close]) + data[close:]


def _chunk_rows(cut: cutting.Cut) -> Iterator[ChunkRow]:
    for chunk in cut.chunks:
        sections = tuple((line, PATH.join(path)) for line, path in chunk.sections)
        yield ChunkRow(
            chunk.start,
            chunk.end,
            chunk.kind,
            PATH.join(chunk.headings),
            chunk.text,
            lexical.index_text(chunk.text),
            sections if len(sections) > 1 else (),
        )


def _facts(parsed: note.Note, cut: cutting.Cut, title: str) -> dict[str, object]:
    facts: dict[str, object] = {key: parsed.meta[key] for key in _KEPT if key in parsed.meta}
    facts["own_title"] = title
    facts["outline"] = " / ".join(heading.text for heading in cut.headings[:OUTLINE])
    for key in ("description", "read_if"):
        facts[key] = note.get_text(parsed, key)
    for key in ("aliases", "asks"):
        facts[key] = note.get_list(parsed, key)
    facts["pinned"] = note.get_text(parsed, "pinned").lower() in ("true", "yes", "on", "1")
    facts["verified"] = parsed.meta.get("verified") not in (None, "", "false", "no")
    if (
        note.get_text(parsed, "generated").lower() == "true"
    ):  # a model's answer; it names what it was made from
        facts |= {"generated": True, "cites": note.get_list(parsed, "cites")}
    facts |= {key: note.get_text(parsed, key) for key in ("core", "importance") if key in parsed.meta}
    facts["encoding"] = parsed.encoding
    facts["lines"] = len(parsed.lines)
    return facts


def _day(parsed: note.Note, stem: str) -> str:
    """Give the day the note speaks of: updated, else created, else the date in its name."""
    for key in ("updated", "modified", "date", "created"):
        when = note.get_date(note.get_text(parsed, key))
        if when:
            return when.date().isoformat()
    match = _DATE_IN_NAME.search(stem)
    when = note.get_date("-".join(match.groups())) if match else None
    return when.date().isoformat() if when else ""


def day_of(mtime_ns: int) -> str:
    """Give the UTC day of a file time, for notes that name none."""
    try:
        return datetime.fromtimestamp(mtime_ns / 1e9, UTC).date().isoformat()
    except (ValueError, OverflowError):  # a file system may hold any year
        return ""
