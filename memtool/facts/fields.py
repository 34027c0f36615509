"""A note -> its values by key: front matter, and ``key:: value`` in the text.

A field in the text is a line of its own (also in a list or a quote) or stands in brackets inside a
sentence, ``[key:: value]`` or ``(key:: value)``. Code is not read. A key that occurs more than once
has a list of values. Knows nothing of time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from memtool.chunks.blocks import read_blocks
from memtool.note.note import Note
from memtool.note.yaml_block import Value

_NOT_TEXT = ("fence", "code", "html")
_KEY = r"[^\W\d_](?:[\w /.-]{0,58}\w)?"
_LINE = re.compile(
    rf"(?:[ \t>]|[-*+][ \t]|\d{{1,9}}[.)][ \t]|\[.\][ \t])*[*_]{{0,3}}(?P<key>{_KEY})[*_]{{0,3}}"
    r"[ \t]*::(?:[*_]{2,3})?(?:[ \t]+(?P<value>.*))?"
)
_OPEN = re.compile(rf"(?P<open>[\[(])[*_]{{0,3}}(?P<key>{_KEY})[*_]{{0,3}}[ \t]*::[ \t]*")
_CODE = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")
_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(?P<mark>`{3,}|~{3,})(?P<rest>.*)")
_BROKEN = ("front-matter-yaml", "front-matter-open", "alias-bomb", "recursive-value")


class Field(NamedTuple):
    """A key's value, and the lines it stands on; ``line`` is the first of them."""

    value: Value
    line: int
    end: int


def unreadable(note: Note) -> str:
    """Say why a note's front matter cannot be read; "" when it can, or there is none."""
    found = (finding for finding in note.findings if finding.code in _BROKEN and not note.meta)
    return next((f"line {finding.line}: {finding.what}" for finding in found), "")


def fields(note: Note) -> dict[str, Field]:
    """Read all values of a note, in the order in which their keys stand in it."""
    found = {
        key: Field(value, *note.spans.get(key, (1, note.body_start - 1))) for key, value in note.meta.items()
    }
    for key, value, line in inline(note):
        before = found.get(key)
        found[key] = Field(value, line, line) if before is None else _joined(before, value)
    return found


def _joined(before: Field, value: str) -> Field:
    values = before.value if isinstance(before.value, list) else [before.value]
    return before._replace(value=[*values, value])


def inline(note: Note) -> Iterator[tuple[str, str, int]]:
    """Give key, value and line of each field in the text, in order."""
    if "::" not in note.text:
        return
    for number in _lines_with_marks(note):
        line = note.lines[number - 1]
        whole = _LINE.fullmatch(line)
        if whole and not _is_bracketed(line):
            yield whole["key"], (whole["value"] or "").strip(), number
        else:
            yield from ((key, value, number) for key, value in _bracketed(line))


def _lines_with_marks(note: Note) -> list[int]:
    """Give the lines of the body with ``::`` that are no code; most notes show it without their blocks."""
    first = note.body_start
    found = [number for number, line in enumerate(note.lines[first - 1 :], first) if "::" in line]
    if not found or not _may_be_code(note, found):
        return found
    text = set(_text_lines(note))
    return [number for number in found if number in text]


def _may_be_code(note: Note, numbers: list[int]) -> bool:
    if "```" in note.text or "~~~" in note.text or "<" in note.text:
        return True
    return any(
        note.lines[number - 1].lstrip("> ")[:1] == "\t" or "    " in note.lines[number - 1][:12]
        for number in numbers
    )


def _text_lines(note: Note) -> Iterator[int]:
    """Give the lines of the body that are no code, fences inside lists and quotes included."""
    first = note.body_start - 1
    for block in read_blocks(note.lines, first).blocks:
        if block.kind in _NOT_TEXT:
            continue
        fence = ""
        for number in range(block.start, block.end):
            mark = _FENCE.fullmatch(note.lines[number])
            if fence:
                closes = mark and mark["mark"].startswith(fence) and not mark["rest"].strip()
                fence = "" if closes else fence
            elif mark and block.kind in ("list", "quote"):
                fence = mark["mark"]
            else:
                yield number + 1


def _is_bracketed(line: str) -> bool:
    found = _OPEN.search(line)
    return found is not None and found.start() <= line.index("::")


def _bracketed(line: str) -> Iterator[tuple[str, str]]:
    r"""Find the fields inside a line.

    >>> list(_bracketed("Due [due:: [[2026-04-01]]], by (who:: Mio), not `[a:: b]`."))
    [('due', '[[2026-04-01]]'), ('who', 'Mio')]
    """
    code = [found.span() for found in _CODE.finditer(line)]
    pairs = _pairs(line)
    place = at = 0
    while found := _OPEN.search(line, place):
        while at < len(code) and code[at][1] <= found.start():
            at += 1
        inside = code[at][1] if at < len(code) and code[at][0] <= found.start() else 0
        end = 0 if inside else pairs.get(found.start(), 0)
        if end >= found.end():
            yield found["key"], line[found.end() : end].strip()
        place = inside or max(end, found.end())


def _pairs(line: str) -> dict[int, int]:
    """Give for each bracket that is closed where: brackets of the other kind do not count."""
    waiting: dict[str, list[int]] = {"]": [], ")": []}
    found: dict[int, int] = {}
    for mark in re.finditer(r"[\[\]()]", line):
        if mark[0] in "[(":
            waiting["]" if mark[0] == "[" else ")"].append(mark.start())
        elif waiting[mark[0]]:
            found[waiting[mark[0]].pop()] = mark.start()
    return found
