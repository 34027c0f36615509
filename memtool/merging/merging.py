"""Three versions of a note or of ``MEMORY.md`` -> one: what git's merge by lines does not know.

Two people may tag one note, or both set its date: that is no conflict. What the versions truly say
differently stays one, marked by git as always. Of the catalog every entry is kept that either side has.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from memtool.catalog.catalog_page import BEGIN, END, HOME, Frame, frame_of
from memtool.errors import NoteError
from memtool.git import Git
from memtool.note import note
from memtool.note.note import Note

#: Of two such dates the later one holds; other dates are facts, on which two people may disagree.
NEWEST = ("updated", "modified", "date", "last_verified", "verified_on")
_TAGS = ("tags", "tag", "keywords")
_UNSAFE = ("front-matter-yaml", "front-matter-open", "duplicate-key", "alias-bomb", "recursive-value")
_LINK = re.compile(rb"\]\(([^)]+)\)")
_ALL_LISTED = re.compile(rb"\d+ notes?(?=, all listed here)")

_Lines = list[bytes]


class Merged(NamedTuple):
    """The merged bytes; not ``clean`` when a person must choose between marked lines."""

    data: bytes
    clean: bool


def merge_note(base: bytes, ours: bytes, theirs: bytes) -> Merged:
    """Merge a note: as git does where that is clean, else key by key."""
    plain = _merge_lines(base, ours, theirs)
    if plain.clean and not is_spoilt(plain.data, ours, theirs):
        return plain
    agreed = _agree(base, ours, theirs)
    if agreed is None:
        return plain
    merged = _merge_lines(*agreed)
    return plain if plain.clean and not merged.clean else merged


def is_spoilt(merged: bytes, ours: bytes, theirs: bytes) -> bool:
    """Tell a clean merge whose front matter cannot be read, as when both sides add one key."""
    return _is_unsafe(note.parse(merged)) and not any(_is_unsafe(note.parse(data)) for data in (ours, theirs))


def _is_unsafe(read: Note) -> bool:
    return any(finding.code in _UNSAFE for finding in read.findings)


def _merge_lines(base: bytes, ours: bytes, theirs: bytes) -> Merged:
    """Let git merge by lines; what it cannot merge stays as ours."""
    with tempfile.TemporaryDirectory(prefix="memtool-merge-") as folder:
        files = {"ours": ours, "base": base, "theirs": theirs}
        for name, data in files.items():
            (Path(folder) / name).write_bytes(data)
        labels = [part for name in files for part in ("-L", name)]
        places = [str(Path(folder) / name) for name in files]
        status, out, _ = Git(Path.cwd()).attempt("merge-file", "-p", "-q", *labels, *places)
    return Merged(out, status == 0) if 0 <= status < 128 else Merged(ours, False)


# Key by key


class _Sides(NamedTuple):
    """The lines of one key in each version; empty where it has none."""

    base: _Lines
    ours: _Lines
    theirs: _Lines


def _agree(base: bytes, ours: bytes, theirs: bytes) -> tuple[bytes, bytes, bytes] | None:
    """Give the versions with one front matter wherever they need not differ; None where that is unclear."""
    notes = [note.parse(data) for data in (base, ours, theirs)]
    if any(map(_is_unsafe, notes)) or any(
        read.encoding not in ("utf-8", "utf-8-sig", "ascii") for read in notes
    ):
        return None
    if notes[1].body_start == 1 or notes[2].body_start == 1:
        return None
    blocks = [_block(read) for read in notes]
    if notes[0].body_start > 1 and blocks[2].get("") != blocks[0].get(""):
        return None  # they changed a comment, and where it belongs among ours nobody knows
    keys = [key for key in blocks[1] if key] + [key for key in blocks[2] if key and key not in blocks[1]]
    decided = {key: _decide(key, _Sides(*(block.get(key, []) for block in blocks)), notes) for key in keys}
    heads = [b"".join(_front_matter(notes[1], decided, side)) for side in range(3)]
    bodies = [_joined(_raw(read)[read.body_start - 1 :]) for read in notes]
    one, two, three = (head + body for head, body in zip(heads, bodies, strict=True))
    return one, two, three


def _raw(read: Note) -> _Lines:
    return read.data.split(b"\n")


def _joined(lines: Sequence[bytes]) -> bytes:
    return b"\n".join(lines)


def _block(read: Note) -> dict[str, _Lines]:
    """Give the lines of each key of a front matter; "" has those of none, comments and blank lines."""
    raw, found = _raw(read), dict[str, _Lines]()
    owner = {n: key for key, (start, end) in read.spans.items() for n in range(start, end + 1)}
    for number in range(2, read.body_start - 1):
        found.setdefault(owner.get(number, ""), []).append(raw[number - 1] + b"\n")
    return found


def _front_matter(ours: Note, decided: Mapping[str, _Sides], side: int) -> Iterator[bytes]:
    """Write ours with every key as it was decided for *side*, and their new keys below."""
    raw = _raw(ours)
    starts = {start: key for key, (start, _) in ours.spans.items()}
    inside = {n for start, end in ours.spans.values() for n in range(start, end + 1)}
    yield raw[0] + b"\n"
    for number in range(2, ours.body_start - 1):
        if number in starts:
            yield from decided[starts[number]][side]
        elif number not in inside:
            yield raw[number - 1] + b"\n"
    for key, sides in decided.items():
        if key not in ours.spans:
            yield from sides[side]
    yield raw[ours.body_start - 2] + b"\n"


def _decide(key: str, sides: _Sides, notes: Sequence[Note]) -> _Sides:
    """Give what all three say of a key; where they cannot agree, what each of them says."""
    base, ours, theirs = ([line.rstrip(b"\r\n") for line in lines] for lines in sides)
    if ours == theirs or theirs == base:
        chosen = sides.ours
    elif ours == base:
        chosen = sides.theirs
    else:
        both = _both(key, sides, notes)
        if both is None:
            return sides
        chosen = both
    return _Sides(chosen, chosen, chosen)


def _both(key: str, sides: _Sides, notes: Sequence[Note]) -> _Lines | None:
    """Bring two changes of one key together; None when only a person can."""
    base, ours, theirs = notes
    if not sides.ours or not sides.theirs:
        return None
    if ours.meta.get(key) == theirs.meta.get(key):
        return sides.ours
    if key in NEWEST:
        dates = [note.get_date(note.get_text(read, key)) for read in (ours, theirs)]
        if dates[0] is None or dates[1] is None:
            return None
        return sides.ours if dates[0] >= dates[1] else sides.theirs
    if key in _TAGS or all(isinstance(read.meta.get(key), list) for read in (ours, theirs)):
        return _united(key, ours, [note.get_list(read, key) for read in (base, ours, theirs)])
    return None


def _united(key: str, ours: Note, lists: Sequence[list[str]]) -> _Lines | None:
    """Keep what either side added, and drop what either took away."""
    base, mine, other = lists
    kept = [word for word in mine if word in other or word not in base]
    kept += [word for word in other if word not in mine and word not in base]
    try:
        written = note.parse(note.set_key(ours.data, key, kept))
    except NoteError:
        return None
    return _block(written).get(key)


# The catalog


def merge_catalog(base: bytes, ours: bytes, theirs: bytes) -> Merged:
    """Merge a page of the catalog: entries side by side, a person's own lines as git does.

    `memtool catalog` makes it exact again once the notes themselves are merged.
    """
    frames = [_frame(data) for data in (base, ours, theirs)]
    if not frames[1].ours or not frames[2].ours:
        return _merge_lines(base, ours, theirs)
    middle = b"<!-- memtool: the generated lines -->"
    around = [_bytes(frame.before) + middle + _bytes(frame.after) for frame in frames]
    merged = _merge_lines(*around)
    entries = _entries([_generated(data) for data in (base, ours, theirs)])
    return Merged(
        merged.data.replace(middle, b"\n".join([BEGIN.encode(), *entries, END.encode()])), merged.clean
    )


def _frame(data: bytes) -> Frame:
    return frame_of(HOME, data.decode("utf-8", "surrogateescape"), strict=False)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _generated(data: bytes) -> _Lines:
    """Give the lines between the markers."""
    lines = [line.rstrip(b"\r") for line in data.split(b"\n")]
    starts = [n for n, line in enumerate(lines) if b"memtool:begin" in line]
    ends = [n for n, line in enumerate(lines) if b"memtool:end" in line and b"memtool:begin" not in line]
    return lines[starts[0] + 1 : ends[-1]] if starts and ends else []


def _entries(versions: Sequence[_Lines]) -> _Lines:
    base, ours, theirs = ({_link(line): line for line in lines} for lines in versions)
    merged = dict(ours)
    for link in ours:
        if link in base and link not in theirs and ours[link] == base[link]:
            del merged[link]
        elif link in theirs and ours[link] == base.get(link):
            merged[link] = theirs[link]
    order, last = list(merged), b""
    for link, line in theirs.items():
        if link not in merged and link not in base:
            merged[link] = line
            at = order.index(last) + 1 if last in order else len(order)
            # Both sides may have added here; the catalog is in the order of paths.
            while at < len(order) and order[at] not in theirs and order[at] < link:
                at += 1
            order.insert(at, link)
        last = link if link in merged else last
    lines = [merged[link] for link in order]
    count = sum(line.startswith(b"- [") for line in lines)
    noun = b"%d note" % count + b"s" * (count != 1)
    return [_ALL_LISTED.sub(noun, line, count=1) if not line.startswith(b"- [") else line for line in lines]


def _link(line: bytes) -> bytes:
    """Name a line by the note it leads to; the notice above them is one by its kind."""
    found = _LINK.search(line) if line.startswith(b"- [") else None
    return found[1] if found else b"\0notice" if b"`memtool search" in line else b"\0" + line
