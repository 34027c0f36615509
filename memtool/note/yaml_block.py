"""Lines of a YAML block -> keys, values as typed, and the place of each.

Values are never converted: ``0123``, ``no`` and ``2024-02-30`` stay what was typed. Built from
YAML's events, one after the other, so that neither depth nor aliases can run away with it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from memtool.errors import Finding

Value: TypeAlias = "str | list[Value] | dict[str, Value]"
Place: TypeAlias = tuple[int, int]
"""A line of the block, from 0, and an offset in it."""

FIRST_LINE = 2
"""The line of the file on which a block's own line 0 stands."""

_ALIAS_BUDGET = 10_000
_DEPTH = 100

# YAML also ends lines at these, or refuses them; lines end at "\n" here. They ride through as
# private characters, one for one, so that every place stays where it is.
_ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff]")
_CODES = (*range(0xA0), 0x2028, 0x2029, 0xFEFF)
_MASK = {code: 0x10FE00 + (code & 0x1FF) for code in _CODES if _ODD.match(chr(code))}
_UNMASK = {masked: code for code, masked in _MASK.items()}
_MASKED = re.compile("[\U0010fe00-\U0010ffff]")
_BROKEN = re.compile("[\x00\ud800-\udfff]")
_REMARK_IN_VALUE = re.compile(r"[ \t]+(#\S.*)")


class Entry(NamedTuple):
    """One top-level key of a block, and the places of its value."""

    key: str
    start: Place
    key_end: Place
    value_start: Place
    value_end: Place
    style: str
    """The mark its value opens with: ``' " | > [ { *``, ``-`` or ``:`` for lines of its own, or nothing."""
    items: tuple[tuple[Place, Place, str], ...] = ()
    """Start, end and style of each plain item of a list."""


class Block(NamedTuple):
    """What a block of front matter says; without a value when it cannot be read."""

    meta: dict[str, Value]
    spans: dict[str, tuple[int, int]]
    findings: list[Finding]
    entries: list[Entry] = []  # noqa: RUF012 - never changed
    readable: bool = True


def read_yaml(lines: Sequence[str]) -> Block:
    """Read any block with YAML's own parser; never raises."""
    text = "\n".join(lines)
    if _MASKED.search(text):
        what = "the front matter holds private characters that memtool needs for itself"
        return _unreadable(Finding("front-matter-yaml", "", FIRST_LINE, what, "take U+10FE00 and above out"))
    reader = _Reader(lines)
    try:
        _drive(f"---\n{text.translate(_MASK) if _ODD.search(text) else text}\n---", reader)
    except _Unreadable as error:
        return _unreadable(error.finding)
    return reader.block()


def _unmask(text: str) -> str:
    """Give the characters back; what an escape such as \\0 made unusable becomes a placeholder."""
    text = text.translate(_UNMASK) if _MASKED.search(text) else text
    return _BROKEN.sub(lambda broken: "\ufffd" if ord(broken[0]) else "\u2400", text)


def _unreadable(finding: Finding) -> Block:
    return Block({}, {}, [finding], readable=False)


def _drive(fenced: str, reader: _Reader) -> None:
    """Let python-frontmatter take the note apart, with our split and our reader in it."""
    import frontmatter  # late, and YAML with it: most notes need neither
    import yaml
    from frontmatter.default_handlers import SafeLoader, YAMLHandler

    class Typed(YAMLHandler):
        def split(self, text: str) -> tuple[str, str]:
            return text[len("---\n") : -len("---")], ""

        def load(self, fm: str, **_: object) -> dict[str, Value]:
            for event in yaml.parse(fm, Loader=SafeLoader):
                reader.take(event)
            return reader.meta

    try:
        frontmatter.parse(fenced, handler=Typed())
    except yaml.MarkedYAMLError as error:
        raise _Unreadable("front-matter-yaml", *_complaint(error)) from error
    except yaml.YAMLError as error:
        raise _Unreadable("front-matter-yaml", 0, str(error).splitlines()[0]) from error


def _complaint(error: Any) -> tuple[int, str]:
    """Say on which line a reader would look, and what is wrong there."""
    opened_earlier = str(error.context or "").startswith(("while scanning", "while parsing a flow"))
    mark = (error.context_mark if opened_earlier else None) or error.problem_mark or error.context_mark
    return (mark.line if mark else 0), f"front matter is not valid YAML: {error.problem or error.context}"


class _Unreadable(Exception):
    def __init__(self, code: str, line: int, what: str, fix: str = "quote the value, or mend the line"):
        super().__init__(what)
        self.finding = Finding(code, "", line + FIRST_LINE, what, fix)


class _Open:
    """A list or a mapping whose end has not come yet."""

    __slots__ = ("complete", "event", "is_map", "key", "lines", "merged", "merging", "size", "value")

    def __init__(self, event: Any, is_map: bool) -> None:
        self.event, self.is_map, self.complete, self.size = event, is_map, False, 1
        self.value: Any = {} if is_map else []
        self.key: str | None = None
        self.merging = False
        self.lines: dict[str, list[int]] = {}
        self.merged: list[Any] = []


class _Reader:
    """Takes the events of one document; then knows its value and where everything stood."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.meta: dict[str, Value] = {}
        self.entries: list[Entry] = []
        self.findings: list[Finding] = []
        self._stack: list[_Open] = []
        self._anchors: dict[str, _Open | tuple[Value, int]] = {}
        self._budget = _ALIAS_BUDGET
        self._documents = 0
        self._start: Place = (0, 0)
        self._key_end: Place = (0, 0)
        self._value_start: Place = (0, 0)
        self._end: Place = (0, 0)
        self._items: list[tuple[Place, Place, str]] = []

    def block(self) -> Block:
        spans: dict[str, tuple[int, int]] = {}
        for entry in self.entries:
            spans[entry.key] = (entry.start[0] + FIRST_LINE, entry.value_end[0] + FIRST_LINE)
        self.findings.sort(key=lambda finding: finding.line)
        return Block(self.meta, spans, self.findings, self.entries)

    def take(self, event: Any) -> None:
        kind = type(event).__name__
        if kind == "ScalarEvent":
            self._take_scalar(event)
        elif kind in ("MappingStartEvent", "SequenceStartEvent"):
            self._take_start(event, kind == "MappingStartEvent")
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            self._take_end(event)
        elif kind == "AliasEvent":
            self._take_alias(event)
        elif kind == "DocumentStartEvent":
            self._documents += 1
            if self._documents > 1:
                what = "front matter holds a second document"
                raise _Unreadable("front-matter-yaml", event.start_mark.line, what)

    def _take_scalar(self, event: Any) -> None:
        value, style = _unmask(event.value), event.style or ""
        self._end = self._scalar_end(event, style)
        if not style:
            self._note_remark()
        if event.anchor:
            self._anchors[event.anchor] = (value, 1 + len(value) // 100)
        self._put(value, 1, event, style)

    def _scalar_end(self, event: Any, style: str) -> Place:
        """Give the end of a scalar; YAML ends a block scalar only where the next thing begins."""
        line, column = event.end_mark.line, event.end_mark.column
        if style not in ("|", ">"):
            return (line, column)
        line = min(line if column else line - 1, len(self.lines) - 1)
        while line > event.start_mark.line and not self.lines[line].strip(" \t"):
            line -= 1
        return (line, len(self.lines[line]))

    def _note_remark(self) -> None:
        line, column = self._end
        rest = _REMARK_IN_VALUE.fullmatch(self.lines[line], column) if line < len(self.lines) else None
        if rest:
            what = f"# starts a comment, so {rest[1]!r} is not part of the value"
            self.findings.append(Finding("comment-in-value", "", line + FIRST_LINE, what, "quote the value"))

    def _take_start(self, event: Any, is_map: bool) -> None:
        if len(self._stack) >= _DEPTH:
            raise _Unreadable("front-matter-yaml", event.start_mark.line, f"values nest deeper than {_DEPTH}")
        if not self._stack and not is_map:
            raise _Unreadable("front-matter-yaml", event.start_mark.line, _NOT_KEYS.format("a list"))
        self._check_key(event, "a list or mapping")
        if len(self._stack) == 1:
            self._value_start, self._items = _place(event.start_mark), []
        opened = _Open(event, is_map)
        if event.anchor:
            self._anchors[event.anchor] = opened
        self._stack.append(opened)

    def _take_end(self, event: Any) -> None:
        done = self._stack.pop()
        done.complete = True
        if done.event.flow_style:
            self._end = _place(event.end_mark)
        for source in done.merged:
            for key, value in source.items():
                done.value.setdefault(key, value)
        self._report_duplicates(done)
        if not self._stack:
            self.meta = done.value
            return
        style = "{[:-"[(0 if done.is_map else 1) + (0 if done.event.flow_style else 2)]
        self._put(done.value, done.size, done.event, style)

    def _report_duplicates(self, done: _Open) -> None:
        for key, lines in done.lines.items():
            if len(lines) > 1:
                where = " and ".join(str(line) for line in lines)
                what = f"duplicate key {key!r} on lines {where}; the last one counts"
                self.findings.append(Finding("duplicate-key", "", lines[-1], what, "keep one of them"))

    def _take_alias(self, event: Any) -> None:
        line, name = event.start_mark.line, event.anchor
        target = self._anchors.get(name)
        if target is None:
            raise _Unreadable("front-matter-yaml", line, f"alias *{name} stands for nothing")
        if isinstance(target, _Open) and not target.complete:
            raise _Unreadable("recursive-value", line, f"recursive value: *{name} holds itself", _WRITE_OUT)
        value, size = (target.value, target.size) if isinstance(target, _Open) else target
        self._budget -= size
        if self._budget < 0:
            raise _Unreadable("alias-bomb", line, "too many aliases: the value grows without end", _WRITE_OUT)
        self._end = _place(event.end_mark)
        self._put(value, size, event, "*")

    def _check_key(self, event: Any, kind: str) -> None:
        if self._stack and self._stack[-1].is_map and self._stack[-1].key is None:
            what, fix = f"front matter has {kind} where a key should be", "quote a value that begins with {"
            raise _Unreadable("front-matter-yaml", event.start_mark.line, what, fix)

    def _put(self, value: Any, size: int, event: Any, style: str) -> None:
        """Give a finished value to the list or mapping that is open."""
        if not self._stack:
            raise _Unreadable("front-matter-yaml", event.start_mark.line, _NOT_KEYS.format("plain text"))
        holder = self._stack[-1]
        holder.size += size
        if not holder.is_map:
            holder.value.append(value)
            if len(self._stack) == 2:
                self._items.append((_place(event.start_mark), self._end, style))
        elif holder.key is None:
            self._put_key(holder, value, event, style)
        else:
            self._put_value(holder, value, event, style)

    def _put_key(self, holder: _Open, value: Any, event: Any, style: str) -> None:
        if not isinstance(value, str):
            self._check_key(event, "a list or mapping")
        holder.key, holder.merging = value, value == "<<" and not style
        holder.lines.setdefault(value, []).append(event.start_mark.line + FIRST_LINE)
        if len(self._stack) == 1:
            self._start, self._key_end = _place(event.start_mark), self._end

    def _put_value(self, holder: _Open, value: Any, event: Any, style: str) -> None:
        key, holder.key = holder.key, None
        if holder.merging:
            sources = value if isinstance(value, list) else [value]
            if not all(isinstance(source, dict) for source in sources):
                raise _Unreadable("front-matter-yaml", event.start_mark.line, "<< can only take in mappings")
            holder.merged += sources
        else:
            holder.value[key] = value
        if len(self._stack) == 1:
            start = self._value_start if style in ("{", "[", ":", "-") else _place(event.start_mark)
            items = tuple(self._items) if style in ("[", "-") else ()
            self.entries.append(Entry(str(key), self._start, self._key_end, start, self._end, style, items))


_WRITE_OUT = "write the value out"
_NOT_KEYS = "front matter is {}, not keys with values"


def _place(mark: Any) -> Place:
    return (mark.line, mark.column)
