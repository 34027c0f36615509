"""Lines of a plain body -> its blocks, without a parser, as far as their shape is certain.

Reads what most notes are made of: headings, paragraphs, lists, closed fences, quotes, tables. It
agrees with markdown-it-py on all that it takes on, and takes on nothing else. Lines are counted
from 0 here, the end of a block excluded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_FENCE = re.compile(r"(`{3,}|~{3,})(.*)")
_ATX = re.compile(r"#{1,6}(?:[ \t]|$)")
_CLOSED = re.compile(r"(?:^|[ \t]+)#+[ \t]*$")
_RULE = re.compile(r"([-*_])[ \t]*(?:\1[ \t]*){2,}")
_BULLET = re.compile(r"([-*+])( {1,4})(?=[^ \t])")
_NUMBER = re.compile(r"([0-9]{1,9})([.)])( {1,4})(?=[^ \t])")
_MARKER = re.compile(r"(?:[-*+]|[0-9]{1,9}[.)])(?:[ \t]|$)")
_UNDERLINE = re.compile(r"(?:=+|-+)[ \t]*")
_TABLE_RULE = re.compile(r"\|(?: *:?-+:? *\|)+")
_MAYBE_TABLE = re.compile(r"[-:| \t]+")
_FIRSTS = frozenset(":#>`~-*+_<|=0123456789 \t[$%")


class Block(NamedTuple):
    """A run of lines that belong together: line ``start`` up to, not including, ``end``.

    ``seams`` are the lines between which it may be parted at need: the first lines of its items.
    """

    kind: str
    start: int
    end: int
    level: int = 0
    text: str = ""
    seams: tuple[int, ...] = ()


class Structure(NamedTuple):
    """The top-level blocks, and the line and kind of everything that is opened and not closed."""

    blocks: list[Block]
    unclosed: list[tuple[int, str]]


def scan(lines: Sequence[str], first: int = 0) -> tuple[list[Block], int]:
    """Read blocks from *first* on while their shape is certain; give them and the line they reach."""
    blocks: list[Block] = []
    number, count = first, len(lines)
    if any("\r" in line for line in lines):
        return blocks, number  # markdown-it has its own idea of a lone carriage return
    while number < count:
        line = lines[number]
        if not line.strip(" \t"):
            number += 1
            continue
        block = _scan_block(lines, number, line)
        if block is None:
            break
        blocks.append(block)
        number = block.end
    return blocks, number


def _scan_block(lines: Sequence[str], number: int, line: str) -> Block | None:
    first = line[0]
    if first == "#" and _ATX.match(line):
        level = len(line) - len(line.lstrip("#"))
        return Block("heading", number, number + 1, level, _heading_text(line, level))
    if first in "`~" and (fence := _FENCE.fullmatch(line)) and not (first == "`" and "`" in fence[2]):
        return _scan_fence(lines, number, fence[1])
    if first in "-*_" and _RULE.fullmatch(line):
        return Block("rule", number, number + 1)
    if first in "-*+0123456789" and _MARKER.match(line):
        return _scan_list(lines, number)
    if first == ">":
        return _scan_quote(lines, number)
    if first == "|":
        return _scan_table(lines, number)
    if line.startswith("<!--"):
        return _scan_comment(lines, number)
    if first in " \t<" or line.startswith(("%%", "$$")):
        return None
    return _scan_paragraph(lines, number)


def _heading_text(line: str, level: int) -> str:
    return _CLOSED.sub("", line[level:].strip(" \t")).strip()


def _scan_comment(lines: Sequence[str], start: int) -> Block | None:
    end = next((number for number in range(start, len(lines)) if "-->" in lines[number]), None)
    return None if end is None else Block("html", start, end + 1)


def _scan_fence(lines: Sequence[str], start: int, marker: str) -> Block | None:
    for number in range(start + 1, len(lines)):
        line = lines[number].rstrip(" \t")
        text = line.lstrip(" ")
        is_fence = text[:3] == marker[:3] and len(text) >= len(marker) and not text.strip(marker[0])
        if is_fence and len(line) - len(text) < 4:
            return Block("fence", start, number + 1)
    return None


def _scan_paragraph(lines: Sequence[str], start: int) -> Block | None:
    """Take lines up to a blank one or to what certainly ends a paragraph."""
    for number in range(start, len(lines)):
        line = lines[number]
        if not line.strip(" \t"):
            return _paragraph(lines, start, number)
        if line[0] not in _FIRSTS:
            continue
        if number > start:
            ending = _ends_paragraph(line)
            if ending is None:
                return None
            if ending == "underline":
                return _underlined(lines, start, number)
            if ending:
                return _paragraph(lines, start, number)
        elif line[0] == "[" and "]:" in line:
            return None
    return _paragraph(lines, start, len(lines))


def _paragraph(lines: Sequence[str], start: int, end: int) -> Block | None:
    # A link definition may begin a paragraph and run over several lines.
    if lines[start][0] == "[" and any("]:" in line or line[0] == ":" for line in lines[start:end]):
        return None
    return Block("paragraph", start, end)


def _underlined(lines: Sequence[str], start: int, number: int) -> Block | None:
    if lines[start][0] == "[":
        return None
    text = " ".join(line.strip() for line in lines[start:number])
    return Block("heading", start, number + 1, 1 if lines[number][0] == "=" else 2, text.strip())


def _ends_paragraph(line: str) -> str | None:
    """Say what ends a paragraph above *line*: "" for nothing, None for not certain."""
    first = line[0]
    if first in "=-" and _UNDERLINE.fullmatch(line):
        return "underline"
    if first == "#":
        return "heading" if _ATX.match(line) else ""
    if first in "`~" and (fence := _FENCE.fullmatch(line)):
        return "" if first == "`" and "`" in fence[2] else "fence"
    if first in "-*_" and _RULE.fullmatch(line):
        return "rule"
    if first in "-:" and _MAYBE_TABLE.fullmatch(line):
        return None
    if first in "-*+":
        return "list" if _BULLET.match(line) else (None if _MARKER.match(line) else "")
    if first in "0123456789":
        return None if _MARKER.match(line) else ""
    if first == ">":
        return "quote"
    if first in "[=_":
        return ""
    return None if first in "<| \t" or line.startswith(("%%", "$$")) else ""


def _scan_quote(lines: Sequence[str], start: int) -> Block | None:
    for number in range(start, len(lines)):
        line = lines[number]
        if line[:1] == ">":
            if "```" in line or "~~~" in line:
                return None
        elif not line.strip(" \t") or _ATX.match(line):
            return Block("quote", start, number)
        else:
            return None
    return Block("quote", start, len(lines))


def _scan_table(lines: Sequence[str], start: int) -> Block | None:
    """Take a table with bars on both sides; its seams are its rows."""
    head = lines[start].rstrip(" \t")
    rule = lines[start + 1].rstrip(" \t") if start + 1 < len(lines) else ""
    if not _TABLE_RULE.fullmatch(rule) or not _is_row(head) or head.count("|") != rule.count("|"):
        return None
    if "\\" in head or "`" in head:
        return None
    end = start + 2
    while end < len(lines) and lines[end].strip(" \t"):
        if not _is_row(lines[end].rstrip(" \t")):
            return None
        end += 1
    return Block("table", start, end, seams=tuple(range(start + 2, end)))


def _is_row(line: str) -> bool:
    return len(line) > 2 and line[0] == "|" and line[-1] == "|"


def _scan_list(lines: Sequence[str], start: int) -> Block | None:
    """Take items that begin at the margin, each followed by lines that are its own by indentation."""
    kind, width, seams, end, number = "", 0, [], start, start
    while number < len(lines):
        line = lines[number]
        if not line.strip(" \t"):
            number += 1
            continue
        if line[0] in " \t":
            if _indent(line) < width or "```" in line or "~~~" in line:
                return None
        elif (item := _BULLET.match(line) or _NUMBER.match(line)) and not _RULE.fullmatch(line):
            if "```" in line or "~~~" in line:
                return None
            mark = item[item.re.groups - 1]
            if kind and mark != kind:
                break
            kind, width = mark, item.end()
            seams.append(number)
        elif number > end or number == start or _ATX.match(line):
            break
        else:
            return None
        end = number = number + 1
    # An item that begins with what opens another block is for markdown-it to look into.
    return Block("list", start, end, seams=tuple(seams)) if seams else None


def _indent(line: str) -> int:
    blank = line[: len(line) - len(line.lstrip(" \t"))]
    return len(blank.expandtabs(4))
