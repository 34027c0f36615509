"""The bytes of a note + lines to append or to replace -> its bytes with just that changed.

Line ends, byte order mark, encoding and a missing final newline stay as they are. Pure: knows nothing
of files, nor of who may change what.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from memtool.chunks import chunks
from memtool.chunks.chunks import Heading
from memtool.errors import NoteError, UsageError
from memtool.note import note
from memtool.note.codec import Decoded, decode

_ARROW = " > "  # between the headings of a hit, outermost first


class Edited(NamedTuple):
    """A note's new bytes, and the lines that are new in it; ``end`` before ``start``: none are."""

    data: bytes
    start: int
    end: int


def append(data: bytes, text: str, *, heading: str = "") -> Edited:
    r"""Put lines at the end of the note, or at the end of what stands directly under a heading.

    >>> append(b"one\r\ntwo", "three").data
    b'one\r\ntwo\r\nthree'
    """
    decoded, given = _open(data), _lines(text)
    rows = decoded.raw.split("\n")
    open_end = rows[-1] != ""
    count = len(rows) if open_end else len(rows) - 1
    after = _end_of(data, heading) if heading else count
    if heading and not _has_text(data, heading):
        given = ["", *given]
    return _spliced(decoded, rows, (after, after), given)


def replace(data: bytes, start: int, end: int, text: str) -> Edited:
    r"""Put lines in place of lines *start* to *end*; no text takes them out. *start* 0 is the whole note.

    >>> replace(b"a\r\nb\r\nc", 2, 3, "x\n").data
    b'a\r\nx'
    """
    decoded = _open(data) if data else decode(data)
    given = _lines(text)
    if not start:
        return _whole(decoded, text, len(given))
    rows = decoded.raw.split("\n")
    count = len(rows) if rows[-1] != "" else len(rows) - 1
    if start > count or end > count:
        raise UsageError(f"there is no line {end}", why=f"the note has {count}", fix="look at it again")
    return _spliced(decoded, rows, (start - 1, end), given)


def _open(data: bytes) -> Decoded:
    decoded = decode(data)
    if decoded.encode(decoded.raw) != data:
        why = f"it cannot be written back exactly as {decoded.name}"
        raise NoteError("the note cannot be changed", why=why, fix="save the note as UTF-8 first")
    return decoded


def _lines(text: str) -> list[str]:
    """Cut what somebody gave into lines; whether the last one is ended makes no difference."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    if lines[-1] == "":
        lines.pop()
    return lines


def _spliced(decoded: Decoded, rows: Sequence[str], span: tuple[int, int], given: Sequence[str]) -> Edited:
    """Put *given* in place of the rows of *span*, counted from 0; the end of the note stays as it is."""
    open_end = rows[-1] != ""
    ends = list(rows) if open_end else list(rows[:-1])
    newline = _newline(ends[:-1] if open_end else ends, span[0])
    bare = [row.removesuffix("\r") if newline == "\r\n" else row for row in given]
    before = [f"{row}\n" for row in ends[: span[0]]]
    after = [f"{row}\n" for row in ends[span[1] :]]
    if before and open_end and not ends[span[0] :]:
        before[-1] = before[-1][:-1] + newline  # the last line had no end to go by
    raw = "".join([*before, *(row + newline for row in bare), *after])
    if open_end and raw:
        raw = raw.removesuffix("\n")
        if not after and bare:
            raw = raw.removesuffix("\r")
    return Edited(_encoded(decoded, raw), span[0] + 1, span[0] + len(given))


def _newline(rows: Sequence[str], at: int) -> str:
    """Give the line end of the neighbours: of the line there, else of the one above."""
    near = (*rows[at : at + 1], *rows[max(0, at - 1) : at])
    return "\r\n" if any(row.endswith("\r") for row in near) or _mostly_crlf(rows) else "\n"


def _mostly_crlf(rows: Sequence[str]) -> bool:
    return sum(row.endswith("\r") for row in rows) * 2 > len(rows)


def _whole(decoded: Decoded, text: str, count: int) -> Edited:
    crlf = _mostly_crlf(decoded.raw.split("\n")[:-1]) and "\r\n" not in text
    raw = text.replace("\n", "\r\n") if crlf else text
    return Edited(_encoded(decoded, raw), 1, count)


def _encoded(decoded: Decoded, raw: str) -> bytes:
    try:
        return decoded.encode(raw)
    except UnicodeEncodeError as error:
        why = f"{error.object[error.start : error.end]!r} does not exist in {decoded.name}"
        raise NoteError("the text cannot be written", why=why, fix="save the note as UTF-8 first") from None


# Sections


def _end_of(data: bytes, heading: str) -> int:
    """Give the last line with text directly under *heading*: before the first heading below it."""
    read = note.parse(data)
    head, heads = _find(data, heading)
    last = min((other.line - 1 for other in heads if other.line > head.line), default=head.end)
    while last > head.line and not read.lines[last - 1].strip():
        last -= 1
    return last


def _has_text(data: bytes, heading: str) -> bool:
    head, _ = _find(data, heading)
    # An underlined heading takes two lines.
    lines = note.parse(data).lines
    is_underlined = not lines[head.line - 1].lstrip(" >").startswith("#")
    return _end_of(data, heading) > head.line + is_underlined


def _find(data: bytes, heading: str) -> tuple[Heading, list[Heading]]:
    """Find the one heading of that text; ``A > B`` names a B that stands under an A."""
    heads = chunks.cut(note.parse(data)).headings
    wanted = [_plain(part) for part in heading.split(_ARROW)]
    found = [head for head in heads if _path(heads, head)[-len(wanted) :] == wanted]
    if len(found) == 1:
        return found[0], heads
    if found:
        fix = "name the one above it as well, as in `Keys > Staging`, or edit the lines by their anchor"
        why = f"they stand on lines {', '.join(str(head.line) for head in found)}"
        raise UsageError(f"the note has {len(found)} headings `{heading}`", why=why, fix=fix)
    there = ", ".join(f"`{head.text}`" for head in heads[:12]) or "none"
    raise UsageError(f"the note has no heading `{heading}`", why=f"it has {there}", fix="name one of these")


def _path(heads: Sequence[Heading], head: Heading) -> list[str]:
    return [_plain(other.text) for other in heads if other.line <= head.line <= other.end]


def _plain(text: str) -> str:
    return " ".join(text.strip().lstrip("#").split()).casefold()
