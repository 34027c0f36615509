"""A `Note` -> its chunks and headings: whole lines, cut where the text itself has a seam.

A chunk is as large as the limit lets it be: a part of one section, or some whole small ones. Blocks
are kept whole; one that is too large alone is parted between its items or rows, then between lines;
only a single line that is too long is parted inside. Knows nothing of scores or of who reads the chunks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise, takewhile
from typing import NamedTuple

from memtool.chunks.blocks import read_blocks
from memtool.chunks.plain_blocks import Block
from memtool.errors import Finding
from memtool.note.note import Note

#: Characters of a chunk, characters where scripts without spaces are written, and lines, at most.
LIMIT, WIDE_LIMIT, MAX_LINES = 1200, 530, 40

# White space, and what shows as nothing at all: joiners, marks of direction, the byte order mark.
_UNSEEN = re.compile(
    "[\\s\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0]*"
)
_SENTENCE_END = re.compile(r"[.!?][)\"'”’]*\s+|[。！？．][」』）]*\s*|\s(?=[-*•] )")
_SPACE = re.compile(r"\s+|[、，,;；]")
# Never part a letter from what is written onto it.
_CLINGS = re.compile("[\u0300-\u036f\u3099\u309a\u200d\ufe00-\ufe0f\U0001f3fb-\U0001f3ff]")


class Heading(NamedTuple):
    """A heading, and the last line of the section it opens."""

    level: int
    text: str
    line: int
    end: int


class Chunk(NamedTuple):
    """Some whole lines of a note; or one piece of one long line.

    ``headings`` stand above all of it; ``sections`` tells for each section in it, by its first line,
    the headings it stands under.
    """

    start: int
    end: int
    headings: tuple[str, ...]
    text: str
    kind: str = "body"
    sections: tuple[tuple[int, tuple[str, ...]], ...] = ()


class Cut(NamedTuple):
    """What a note was cut into, in order."""

    chunks: list[Chunk]
    headings: list[Heading]
    findings: list[Finding]


class Section(NamedTuple):
    """The blocks under one heading, its own line among them."""

    path: tuple[str, ...]
    level: int
    blocks: list[Block]


def cut(note: Note, *, limit: int = LIMIT, wide_limit: int = WIDE_LIMIT, max_lines: int = MAX_LINES) -> Cut:
    """Cut a note into chunks of at most *limit* characters.

    A wide character, as Japanese has, weighs as much as ``limit / wide_limit`` others, so that
    one measure does for mixed text.
    """
    first = note.body_start - 1
    blocks, unclosed = read_blocks(note.lines, first)
    cutter = _Cutter(note, limit, limit / wide_limit, max_lines)
    headings = _headings(blocks, len(note.lines))
    if any(_is_seen(line) for line in note.lines[1 : first - 1]):
        cutter.take((), [Block("front matter", 0, first)], "front matter")
    for section in _joined(_sections(blocks)):
        cutter.take(section.path, section.blocks)
    return Cut(cutter.joined(), headings, [_unclosed(line + 1, kind) for line, kind in unclosed])


def _unclosed(line: int, kind: str) -> Finding:
    what = f"unclosed {kind}: all that follows belongs to it"
    return Finding(f"unclosed-{kind}", "", line, what, f"close the {kind} where it should end")


def _headings(blocks: Sequence[Block], count: int) -> list[Heading]:
    headings: list[Heading] = []
    ends: dict[int, int] = {}
    for block in reversed(blocks):
        if block.kind == "heading":
            end = min((line for level, line in ends.items() if level <= block.level), default=count)
            headings.append(Heading(block.level, block.text, block.start + 1, end))
            ends[block.level] = block.start
    return headings[::-1]


def _sections(blocks: Sequence[Block]) -> Iterator[Section]:
    """Part blocks at each heading; what stands above the first has no heading."""
    section = Section((), 0, [])
    above: list[tuple[int, str]] = []
    for block in blocks:
        if block.kind == "heading":
            yield section
            above = [(level, text) for level, text in above if level < block.level]
            above.append((block.level, block.text))
            section = Section(tuple(text for _, text in above if text), block.level, [])
        section.blocks.append(block)
    yield section


def _joined(sections: Iterator[Section]) -> Iterator[Section]:
    """Let a heading with nothing under it go with the smaller heading that follows."""
    waiting = Section((), 0, [])
    for section in sections:
        if waiting.blocks and section.level <= waiting.level:
            yield waiting
            waiting = Section((), 0, [])
        section = section._replace(blocks=waiting.blocks + section.blocks)
        waiting = Section((), 0, [])
        if section.blocks and section.blocks[-1].kind == "heading":
            waiting = section
        elif section.blocks:
            yield section
    if waiting.blocks:
        yield waiting


def _is_seen(text: str) -> bool:
    return _UNSEEN.fullmatch(text) is None


class _Cutter:
    """Packs blocks into chunks, one section after the other."""

    def __init__(self, note: Note, limit: int, weight: float, max_lines: int) -> None:
        lines, is_ascii = note.lines, note.text.isascii()
        self.lines, self.limit, self.max_lines = lines, limit, max_lines
        self.extra = (weight - 1) / 2
        self.chunks: list[Chunk] = []
        sizes = map(len, lines) if is_ascii else map(self.size, lines)
        self.before = list(accumulate((size + 1 for size in sizes), initial=0.0))

    def size(self, text: str) -> float:
        """Measure a text: its characters, with wide ones weighing more.

        Wide characters are told by their three bytes in UTF-8, which is quick and near enough.
        """
        count = len(text)
        return count if text.isascii() else count + (len(text.encode()) - count) * self.extra

    def fits(self, start: int, end: int) -> bool:
        return self.before[end] - self.before[start] - 1 <= self.limit and end - start <= self.max_lines

    def take(self, path: tuple[str, ...], blocks: Sequence[Block], kind: str = "body") -> None:
        """Cut one section: heads and the first text stay together, each chunk takes all that fits."""
        if self.fits(blocks[0].start, blocks[-1].end):
            self.add(blocks[0].start, blocks[-1].end, path, kind)
            return
        units = self.units(blocks)
        start, end = units[0]
        for unit_start, unit_end in units[1:]:
            if not self.fits(start, unit_end):
                self.add(start, end, path, kind)
                start = unit_start
            end = unit_end
        self.add(start, end, path, kind)

    def units(self, blocks: Sequence[Block]) -> list[tuple[int, int]]:
        """Give what may not be parted, in order: leading headings with the text that follows them first."""
        heads = next((place for place, block in enumerate(blocks) if block.kind != "heading"), len(blocks))
        units = [unit for block in blocks[heads:] for unit in self.parts(block)]
        if not heads:
            return units
        start, end = blocks[0].start, blocks[heads - 1].end
        if units and not self.fits(start, units[0][1]):
            units[:1] = self.by_line(*units[0])
        if units and self.fits(start, units[0][1]):
            return [(start, units[0][1]), *units[1:]]
        alone = [(start, end)] if self.fits(start, end) else self.by_line(start, end)
        return [*alone, *units]

    def parts(self, block: Block) -> list[tuple[int, int]]:
        """Part a block that is too large: between its items or rows, then between lines."""
        if self.fits(block.start, block.end):
            return [(block.start, block.end)]
        cuts = [block.start, *(seam for seam in block.seams if seam > block.start), block.end]
        items = pairwise(cuts)
        return [unit for item in items for unit in ([item] if self.fits(*item) else self.by_line(*item))]

    def by_line(self, start: int, end: int) -> list[tuple[int, int]]:
        return [(line, line + 1) for line in range(start, end)]

    def add(self, start: int, end: int, path: tuple[str, ...], kind: str) -> None:
        while start < end and not _is_seen(self.lines[start]):
            start += 1
        while start < end and not _is_seen(self.lines[end - 1]):
            end -= 1
        if start == end:
            return
        text = "\n".join(self.lines[start:end])
        if end - start > 1 or self.fits(start, end):
            self.chunks.append(Chunk(start + 1, end, path, text, kind, ((start + 1, path),)))
            return
        for piece in self.pieces(text):
            if _is_seen(piece):
                self.chunks.append(Chunk(end, end, path, piece, kind, ((end, path),)))

    def joined(self) -> list[Chunk]:
        """Let neighbours that fit into one chunk be one: small sections say more together."""
        joined: list[Chunk] = []
        for chunk in self.chunks:
            if joined and self.may_join(joined[-1], chunk):
                chunk = self.join(joined.pop(), chunk)
            joined.append(chunk)
        return joined

    def may_join(self, one: Chunk, other: Chunk) -> bool:
        whole = one.end < other.start and one.kind == other.kind == "body"
        return whole and self.fits(one.start - 1, other.end)

    def join(self, one: Chunk, other: Chunk) -> Chunk:
        shared = zip(one.headings, other.headings, strict=False)
        headings = tuple(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], shared))
        text = "\n".join(self.lines[one.start - 1 : other.end])
        return Chunk(one.start, other.end, headings, text, "body", one.sections + other.sections)

    def pieces(self, line: str) -> Iterator[str]:
        """Part one line: after a sentence, else between words, else anywhere but inside a letter."""
        start = 0
        while start < len(line):
            end = self.reach(line, start)
            if end < len(line):
                end = _seam(line, start, end)
            yield line[start:end]
            start = end

    def reach(self, line: str, start: int) -> int:
        """Give how far a piece may go from *start*."""
        end = min(start + self.limit, len(line))
        while (over := self.size(line[start:end]) - self.limit) > 0:
            end -= max(1, int(over / (1 + 3 * self.extra)))
        return max(end, start + 1)


def _seam(line: str, start: int, end: int) -> int:
    """Give the best place to part a line before *end*, not too near to *start*."""
    least = start + (end - start) // 2
    for pattern in (_SENTENCE_END, _SPACE):
        # Look a little further: a closing quote just behind the end belongs to its sentence.
        seams = [found.end() for found in pattern.finditer(line, least, end + 4) if found.end() <= end]
        if seams:
            return seams[-1]
    while end > least and (_CLINGS.match(line, end) or line[end - 1] == "\u200d"):
        end -= 1
    return end
