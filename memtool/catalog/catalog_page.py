"""A catalog page <-> a person's text around the part that memtool owns, and what fits in there.

Knows the two markers, how a text is made harmless for one line of Markdown, and how much room a
page has left. Knows nothing of notes or of their order.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple
from unicodedata import category, normalize
from zlib import crc32

from memtool.errors import Finding, NoteError
from memtool.lexical import length

HOME = "MEMORY.md"
BEGIN = "<!-- memtool:begin: the lines down to memtool:end are generated -->"
END = "<!-- memtool:end -->"

# Loose on purpose: half a marker is a broken marker, not a person's text.
_MARKER = re.compile(r"(?:^|(?<=\ufeff))[ \t]*<!--[ \t]*memtool:(begin|end)\b[^\n]*", re.MULTILINE)
_PAGE = re.compile(r"MEMORY/[^/]+\.md")
_COMMENT = re.compile(r"<!--.*?(?:-->|$)", re.DOTALL)
_HARMFUL = re.compile(r"\]\(|[\\\[\]`<]|&(?=#?\w+;)")
_HARMLESS = {"](": "\\] (", "<": "&lt;", "&": "&amp;"}
_UNSAFE = re.compile(r"[^\w./~+,=@-]")


class Room(NamedTuple):
    """How many lines and bytes a page may hold; less than nothing when a person's text is over it."""

    lines: int
    bytes: int

    def holds(self, texts: Iterable[str]) -> bool:
        """Tell whether all of *texts* fit, one a line."""
        left = self.less(texts)
        return left.lines >= 0 and left.bytes >= 0

    def less(self, texts: Iterable[str]) -> Room:
        """Give the room that *texts* leave; two bytes for each line end, so that CRLF fits too."""
        sizes = [length(text) + 2 for text in texts]
        return Room(self.lines - len(sizes), self.bytes - sum(sizes))

    def prefix(self, texts: Iterable[str]) -> int:
        """Count how many of *texts*, from the first on, fit."""
        many, spent = 0, 0
        for text in texts:
            spent += length(text) + 2
            if many >= self.lines or spent > self.bytes:
                break
            many += 1
        return many


_LEAST = Room(9, 1300)  # the markers, the notice and one link, whatever else a page holds


class Frame(NamedTuple):
    """A page without its generated part; ``ours`` when it carries our markers."""

    before: str = ""
    after: str = "\n"
    newline: str = "\n"
    ours: bool = False

    @property
    def personal(self) -> bool:
        """Whether a person wrote something on this page."""
        return bool((self.before + self.after).strip("\ufeff \t\r\n"))

    def left(self, limits: Room) -> Room:
        """Give what the person's text leaves of *limits*."""
        ends = self.before.count("\n") + self.after.count("\n") - self.after.endswith("\n")
        return Room(limits.lines - ends, limits.bytes - length(self.before) - length(self.after))

    def leaves_half(self, limits: Room) -> bool:
        """Tell whether a sub-catalog may use this page: half of it at least is free."""
        left = self.left(limits)
        return left.lines * 2 >= limits.lines and left.bytes * 2 >= limits.bytes


def is_generated(path: str, text: str | None = None) -> bool:
    """Tell whether *path* is a page of the catalog, and so no note.

    Without *text* the name decides; with it, a page under MEMORY/ that lacks our markers is a
    person's note.

    >>> is_generated("MEMORY/ops.md"), is_generated("MEMORY/ops.md", "My own page."), is_generated("ops.md")
    (True, False, False)
    """
    if path == HOME:
        return True
    return bool(_PAGE.fullmatch(path)) and (text is None or bool(_MARKER.search(text)))


def frame_of(path: str, text: str, *, strict: bool = True) -> Frame:
    """Take the generated part out of *text*; a page without one gets its place at the end.

    Broken markers raise `NoteError`, or, when not *strict*, give a frame that is not ours.
    """
    newline = "\r\n" if re.match(r"[^\n]*\r\n", text) else "\n"
    marks = list(_MARKER.finditer(text))
    kinds = [mark[1] for mark in marks]
    if kinds == ["begin", "end"] and all(mark[0].rstrip().endswith("-->") for mark in marks):
        end = marks[1].start() + len(marks[1][0].rstrip())
        return Frame(text[: marks[0].start()], text[end:], newline, ours=True)
    if marks and strict:
        raise NoteError(
            f"{path}: the markers of the generated part are broken",
            why=f"{_places(text, marks)} instead of one begin and one end, each alone on its line",
            fix="delete these marker lines and the generated lines; the next refresh writes them anew",
        )
    if marks or not text.strip("\ufeff"):
        return Frame(text, newline, newline)
    ends = len(text) - len(text.rstrip("\r\n"))
    gap = max(0, 2 - text[len(text) - ends :].count("\n"))
    return Frame(text + newline * gap, newline, newline)


def room_in(frame: Frame, notice: str, limits: Room) -> Room:
    """Give the room for the lines between the notice and the end marker."""
    return frame.left(limits).less([BEGIN, notice, "", END])


def write(frame: Frame, notice: str, body: Sequence[str]) -> str:
    """Put the generated part into *frame*."""
    lines = [BEGIN, notice, "", *body, END] if body else [BEGIN, notice, END]
    return frame.before + frame.newline.join(lines) + frame.after


def stale_pages(existing: Mapping[str, str], rendered: Mapping[str, str]) -> list[str]:
    """Name the sub-catalogs that nothing leads to any more and that hold nothing a person wrote."""
    spare = [path for path in sorted(existing) if path not in rendered and path != HOME]
    frames = {path: frame_of(path, existing[path], strict=False) for path in spare if is_generated(path)}
    return [path for path, frame in frames.items() if frame.ours and not frame.personal]


def check(existing: Mapping[str, str], *, max_lines: int = 200, max_bytes: int = 25_000) -> list[Finding]:
    """Find pages with broken markers, and pages where a person's own text leaves no room."""
    found, limits = [], Room(max_lines, max_bytes)
    for path in sorted(filter(is_generated, existing)):
        text = existing[path]
        frame = frame_of(path, text, strict=False)
        marks = list(_MARKER.finditer(text))
        if marks and not frame.ours:
            what = f"broken markers ({_places(text, marks)}): the page is left as it is"
            line = text.count("\n", 0, marks[0].start()) + 1
            found.append(Finding("catalog-markers", path, line, what, "delete the marker lines"))
        elif (path == HOME or frame.ours) and not _fits(path, frame, limits):
            own = Room(limits.lines - frame.left(limits).lines, limits.bytes - frame.left(limits).bytes)
            what = (
                f"{own.lines} lines and {own.bytes:,} bytes outside the markers leave too little of "
                f"{max_lines} lines and {max_bytes:,} bytes for the catalog"
            )
            found.append(Finding("catalog-full", path, 0, what, "move this text into a note of its own"))
    return found


def _fits(path: str, frame: Frame, limits: Room) -> bool:
    left = frame.left(limits)
    if path == HOME:
        return left.lines >= _LEAST.lines and left.bytes >= _LEAST.bytes
    return frame.leaves_half(limits)


def _places(text: str, marks: Sequence[re.Match[str]]) -> str:
    return ", ".join(f"{mark[1]} in line {text.count(chr(10), 0, mark.start()) + 1}" for mark in marks)


def clean(text: str) -> str:
    """Make one line of *text*: no line breaks, no comments, nothing that cannot be seen.

    >>> clean("Tips\\n- do <!-- memtool:end --> x")
    'Tips - do x'
    """
    line = " ".join(text[:4000].split())
    if not line.isprintable():
        line = "".join(mark for mark in line if mark.isprintable())
    return " ".join(_COMMENT.sub("", line).split()) if "<!--" in line else line


def escape(line: str) -> str:
    """Take their meaning in Markdown from the characters that could end or fake a link.

    The gap after a bracket is for readers that look for links with a pattern and know no escapes.

    >>> escape("Tips](evil.md) [x `y` <b>")
    'Tips\\\\] (evil.md) \\\\[x \\\\`y\\\\` &lt;b>'
    """
    return _HARMFUL.sub(lambda found: _HARMLESS.get(found[0], "\\" + found[0]), line)


def cut(text: str, limit: int) -> str:
    """Make *text* one harmless line of at most *limit* bytes; a cut one ends in an ellipsis.

    Never parts a character or an escape, nor takes the marks off a letter.

    >>> cut("長い表題の記録", 13)
    '長い表…'
    """
    line = clean(text)
    whole = escape(line)
    if length(whole) <= limit:
        return whole
    room = limit - length("…")
    many = bisect_right(range(min(len(line), room) + 1), room, key=lambda n: length(escape(line[:n]))) - 1
    while many and many < len(line) and category(line[many]).startswith("M"):
        many -= 1
    return escape(line[:many].rstrip()) + "…"


def link(path: str) -> str:
    """Write *path* as the target of a Markdown link: percent signs for what Markdown or a URL would eat.

    >>> link("手順/鍵 (旧).md")
    '手順/鍵%20%28旧%29.md'
    """
    return _UNSAFE.sub(lambda found: _percent(found[0]), path)


def _percent(mark: str) -> str:
    if mark > "\x7f" and mark.isprintable() and not mark.isspace():
        return mark
    lost = "surrogateescape" if "\udc80" <= mark <= "\udcff" else "surrogatepass"
    return "".join(f"%{byte:02X}" for byte in mark.encode("utf-8", lost))


def slug(label: str) -> str:
    """Make a file name of *label*: letters and digits of any script, well below 255 bytes."""
    plain = "".join(mark if mark.isalnum() or mark in "-_" else "-" for mark in label).strip("-")
    return cut(plain, 120).rstrip("…") or f"{crc32(label.encode('utf-8', 'surrogatepass')):08x}"


def alike(path: str) -> str:
    """Give what a file system may take for the same name: other case, other composition of accents."""
    return normalize("NFC", path).casefold()
