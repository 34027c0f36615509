"""Notes -> the text of MEMORY.md and its sub-catalogs: one line a note, within a budget.

Knows the two markers that part generated text from a person's own, what a line may carry, and
which notes stay on the first page. Knows nothing of the disk: it is a function of the listings,
the pages as they stand and the limits, so that written twice nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple
from zlib import crc32

from memtool.catalog.catalog_page import (
    HOME,
    Frame,
    Room,
    alike,
    check,
    clean,
    cut,
    frame_of,
    is_generated,
    link,
    room_in,
    slug,
    stale_pages,
    write,
)
from memtool.errors import UsageError

__all__ = ["HOME", "Listing", "check", "is_generated", "line", "rank", "render", "stale_pages"]

_FOLDER = "MEMORY/"
_TITLE, _DESCRIPTION, _READ_IF = 180, 200, 160  # bytes: 60, 66 and 53 characters of Japanese
_LEAST = Room(20, 4000)  # below this a page could not hold its notice and two long lines


class Listing(NamedTuple):
    """What the catalog tells of one note; ``updated`` is an ISO date, or "" when nobody knows."""

    path: str
    title: str = ""
    description: str = ""
    read_if: str = ""
    type: str = ""
    tags: tuple[str, ...] = ()
    pinned: bool = False
    verified: bool = False
    updated: str = ""


class _Entry(NamedTuple):
    """One line of a sub-catalog, and what it stands for: *many* notes from *first* to *last*."""

    line: str
    first: str
    last: str
    many: int


def render(
    listings: Iterable[Listing],
    existing: Mapping[str, str],
    *,
    max_lines: int = 200,
    max_bytes: int = 25_000,
) -> dict[str, str]:
    """Write MEMORY.md and every sub-catalog it needs; text outside the markers stays byte for byte.

    *existing* holds the pages as they are on disk, undecoded line ends included. Every note can be
    reached from MEMORY.md by links, and every page keeps to both limits, unless a person's own text
    leaves no room (`check` tells). Raises `NoteError` when the markers of MEMORY.md are broken.
    """
    limits = Room(max_lines, max_bytes)
    if max_lines < _LEAST.lines or max_bytes < _LEAST.bytes:
        raise UsageError(
            f"a catalog of {max_lines} lines and {max_bytes} bytes is too small",
            fix=f"allow at least {_LEAST.lines} lines and {_LEAST.bytes} bytes",
        )
    home = frame_of(HOME, existing.get(HOME, ""))
    unique = {one.path: one for one in listings if not is_generated(one.path, existing.get(one.path))}
    notes = sorted(unique.values(), key=lambda note: (not note.pinned, note.path))
    shelves = _Shelves(existing, limits)

    lines = {note.path: line(note) for note in notes}
    room = room_in(home, _notice(*[len(notes)] * 3), limits)
    if not notes or room.holds(lines.values()):
        notice, body = _notice(len(notes), len(notes), 0), list(lines.values())
    else:
        notice, body = _select(notes, lines, room, shelves)
    return {HOME: write(home, notice, body), **shelves.pages()}


def line(note: Listing) -> str:
    """Tell of *note* on one harmless line, as it stands in MEMORY.md.

    >>> line(Listing("ops/keys (old).md", "Keys", "Where they lie", "you rotate one"))
    '- [Keys](ops/keys%20%28old%29.md) — Where they lie · read if: you rotate one'
    """
    stem = note.path.rpartition("/")[2].rpartition(".")[0]
    title = cut(note.title, _TITLE) or cut(stem, _TITLE) or "untitled"
    description, read_if = cut(note.description, _DESCRIPTION), cut(note.read_if, _READ_IF)
    text = f"- [{title}]({link(note.path)})"
    if description:
        text += f" — {description}"
    return text + (f" · read if: {read_if}" if read_if else "")


def rank(notes: Iterable[Listing]) -> list[Listing]:
    """Put first what must stay on the first page: pinned, then verified and recent by turns.

    By turns, so that a vault full of verified notes still shows what changed today. Only the day
    of the last change counts, so a second edit on one day moves nothing.
    """
    newest = sorted(notes, key=lambda note: note.path)
    newest.sort(key=lambda note: note.updated[:10], reverse=True)
    pinned = [note for note in newest if note.pinned]
    verified = [note for note in newest if note.verified]
    turns = [note for pair in zip(verified, newest, strict=False) for note in pair]
    return list(dict.fromkeys([*pinned, *turns, *newest]))


def _select(
    notes: Sequence[Listing], lines: Mapping[str, str], room: Room, shelves: _Shelves
) -> tuple[str, list[str]]:
    """List what fits on the first page, shelve the rest, and give the notice and the body."""
    word, groups = _groups(notes, most=room.lines // 3)
    tail = shelves.tail(word, {label: len(group) for label, group in groups.items()})
    if len(groups) > 1 and not Room(room.lines // 2, room.bytes // 2).holds(tail):
        word, groups = "path", {"notes": list(notes)}
        tail = shelves.tail(word, {"notes": len(notes)})

    ranked = rank(notes)
    fit = room.less(tail).prefix(lines[note.path] for note in ranked)
    # Whole steps only: a line that grows by a few bytes then seldom pushes another one off the page.
    kept = {note.path for note in ranked[: fit - fit % shelves.step]}
    rest = {label: [note for note in group if note.path not in kept] for label, group in groups.items()}
    counts = {label: len(group) for label, group in rest.items() if group}
    for label in counts:
        shelves.add(label, {note.path: lines[note.path] for note in rest[label]})
    body = [text for path, text in lines.items() if path in kept]
    return _notice(len(notes), len(kept), len(notes) - len(kept)), [*body, *shelves.tail(word, counts)]


class _Shelves:
    """The sub-catalogs being filled: which lines stand on which page, under names nobody else has."""

    def __init__(self, existing: Mapping[str, str], limits: Room) -> None:
        self._frames: dict[str, Frame] = {}
        self._taken: set[str] = set()
        self._paths: dict[str, str] = {}
        self._pages: dict[str, tuple[str, list[str]]] = {}
        self.step = max(1, limits.lines // 20)
        for path, text in existing.items():
            if path == HOME or not is_generated(path):
                continue
            frame = frame_of(path, text, strict=False)
            if not frame.ours or not frame.leaves_half(limits):
                self._taken.add(alike(path))
            if frame.ours:
                self._frames[path] = frame
        roomy = [frame for frame in self._frames.values() if frame.leaves_half(limits)]
        notice = _page_notice("x" * 120, 10**9)
        # One room for all pages: the numbers of pages follow from it, and their names from the numbers.
        rooms = [room_in(frame, notice, limits) for frame in [Frame(), *roomy]]
        self._room = Room(min(room.lines for room in rooms), min(room.bytes for room in rooms))

    def path(self, label: str) -> str:
        """Name the page of *label*; the same label gets the same page."""
        if label not in self._paths:
            self._paths[label] = self._free(slug(label))
        return self._paths[label]

    def tail(self, word: str, counts: Mapping[str, int]) -> list[str]:
        """Lead from the first page to the pages of the groups that have notes left."""
        links = [_lead(label, self.path(label), many) for label, many in sorted(counts.items())]
        return ["", f"More notes, by {word}:", "", *links]

    def add(self, label: str, lines: Mapping[str, str]) -> None:
        """Put *lines* by path on the page of *label*, or on numbered pages that it leads to."""
        # The first "](" of a line is that of its link: in titles it does not survive.
        entries = [_Entry(text.replace("](", "](../", 1), path, path, 1) for path, text in lines.items()]
        self._put(self.path(label), label, entries)

    def pages(self) -> dict[str, str]:
        """Write all pages, and empty those where a person wrote but that list nothing any more."""
        for path, frame in self._frames.items():
            if path not in self._pages and frame.personal:
                self._pages[path] = (_page_notice("", 0), [])
        return {
            path: write(self._frames.get(path, Frame()), notice, body)
            for path, (notice, body) in sorted(self._pages.items())
        }

    def _put(self, path: str, label: str, entries: Sequence[_Entry]) -> None:
        parts = _parts(entries, self._room)
        if len(parts) > 1:
            leads = []
            for number, part in enumerate(parts, 1):
                child = self._free(f"{path.removeprefix(_FOLDER).removesuffix('.md')}-{number}")
                self._put(child, label, part)
                leads.append(_range(f"{label} {number}", child, part))
            self._put(path, label, leads)
            return
        notice = _page_notice(label, sum(entry.many for entry in entries))
        self._pages[path] = (notice, [entry.line for entry in entries])

    def _free(self, slug: str) -> str:
        path, number = f"{_FOLDER}{slug}.md", 1
        while alike(path) in self._taken:
            number += 1
            path = f"{_FOLDER}{slug}.{number}.md"
        self._taken.add(alike(path))
        return path


def _parts(entries: Sequence[_Entry], room: Room) -> list[Sequence[_Entry]]:
    """Part *entries* into runs that fit a page; where to cut hangs on the paths near the middle.

    A cut by count would push one line over every later border when a note is added; the path with
    the least checksum stays the same one nearly always, so nearly always one page changes.
    """
    many = len(entries)
    if many < 2 or room.holds(entry.line for entry in entries):
        return [entries]
    middle = range(max(1, many // 4), max(2, many - many // 4))
    at = min(middle, key=lambda place: crc32(entries[place].first.encode("utf-8", "surrogatepass")))
    return [*_parts(entries[:at], room), *_parts(entries[at:], room)]


def _groups(notes: Sequence[Listing], *, most: int) -> tuple[str, dict[str, list[Listing]]]:
    """Part *notes* by folder, else by type, tag or first letter, else not at all.

    A way counts when it gives two groups or more and at most *most*, and leaves no more than three
    quarters in one group; a large folder is a group all the same, only a flat vault is not parted.
    """
    shared = _shared(notes[0].path.split("/")[:-1], notes[-1].path.split("/")[:-1])
    top = "/".join(notes[0].path.split("/")[:shared]) or "top folder"
    ways: tuple[tuple[str, Callable[[Listing], str]], ...] = (
        ("folder", lambda note: "/".join(note.path.split("/")[:-1][: shared + 1]) or top),
        ("type", lambda note: clean(note.type)[:40] or "no type"),
        ("tag", lambda note: clean(note.tags[0] if note.tags else "")[:40] or "no tag"),
        ("first letter", lambda note: _initial(note.path)),
    )
    for word, key in ways:
        groups: dict[str, list[Listing]] = {}
        for note in notes:
            groups.setdefault(key(note), []).append(note)
        large = len(groups.get(top, ())) if word == "folder" else max(map(len, groups.values()))
        if 1 < len(groups) <= most and large * 4 <= len(notes) * 3:
            return word, groups
    return "path", {"notes": list(notes)}


def _shared(first: Sequence[str], last: Sequence[str]) -> int:
    """Count the leading folders of the first and the last path, hence of all between them."""
    alike = 0
    while alike < min(len(first), len(last)) and first[alike] == last[alike]:
        alike += 1
    return alike


def _initial(path: str) -> str:
    first = path.rpartition("/")[2][:1].upper()
    return first if first.isalnum() else "other"


def _notes(many: int) -> str:
    return f"{many:,} note" + ("" if many == 1 else "s")


def _lead(label: str, path: str, many: int) -> str:
    return f"- [{cut(label, 120)}]({link(path)}) — {_notes(many)}"


def _range(label: str, path: str, part: Sequence[_Entry]) -> _Entry:
    first, last, many = part[0].first, part[-1].last, sum(entry.many for entry in part)
    text = f"{_lead(label, path.removeprefix(_FOLDER), many)}: {cut(first, 90)} … {cut(last, 90)}"
    return _Entry(text, first, last, many)


_GENERATED = "The part between the markers is generated: write outside them. 印の間は自動生成です。"
_FIND = '`memtool search "your question"` finds every note.'


def _notice(total: int, here: int, elsewhere: int) -> str:
    if not elsewhere:
        return f"{_notes(total)}, all listed here. {_FIND} {_GENERATED}"
    return (
        f"{_notes(total)}: {here:,} listed here, {elsewhere:,} not listed here but on the pages linked "
        f"below. {_FIND} {_GENERATED}"
    )


def _page_notice(label: str, many: int) -> str:
    where = f" ({cut(label, 120)})" if label else ""
    return f"{_notes(many)}{where} that [MEMORY.md](../MEMORY.md) does not list. {_FIND} {_GENERATED}"
