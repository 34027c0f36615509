"""A block of front matter + a key + its new value -> the block with that key's bytes changed.

Gives several ways to write it, the nearest to the old one first; the caller takes the first that
reads back as meant. Comments, order, line ends and the way values are quoted stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple, TypeAlias

from memtool import runs
from memtool.note.yaml_block import Entry, Value, read_yaml

NewValue: TypeAlias = str | Sequence[str]

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]")
_TO_ESCAPE = re.compile(f'[\\\\"]|{_UNPRINTABLE.pattern}')
_COLON = re.compile(r"([^\n:]*:)[^\n#]*?([ \t]+#[^\r\n]*)?\r?(?:\n|$)")
_HEADER = re.compile(r"[|>][^ \t\r\n#]*([ \t]+#[^\r\n]*)?")


class _Site(NamedTuple):
    """Where a value stands: the text before it, the comment behind it, and all that follows."""

    head: str
    remark: str
    tail: str
    quote: str
    is_text: bool
    raw_items: Mapping[str, str]


def added(block: str, entries: Sequence[Entry], key: str, value: NewValue, newline: str) -> Iterator[str]:
    """Write a key that is not there yet on a line of its own, below the others."""
    margin = " " * min((entry.start[1] for entry in entries), default=0)
    name = render(key, is_text=True)
    for written in _inline(value, _Site("", "", "", "", not isinstance(value, str), {})):
        yield f"{block}{margin}{name}: {written}{newline}"


def replaced(block: str, entry: Entry, old: Value, value: NewValue, newline: str) -> Iterator[str]:
    """Write *value* where *entry* has its own, in the same style where that can be."""
    site = _site(block, entry, old)
    if entry.style == "-" and not isinstance(value, str) and value and isinstance(old, list):
        yield _with_items(block, entry, old, value, site, newline)
    if entry.style == "|" and isinstance(value, str) and "\n" in value:
        yield f"{site.head}{_literal(value, site.remark, entry.start[1] + 2, newline)}{site.tail}"
    for written in _inline(value, site):
        yield f"{site.head}{written}{site.remark}{site.tail}"


def _site(block: str, entry: Entry, old: Value) -> _Site:
    starts = list(accumulate((len(line) + 1 for line in block.split("\n")), initial=0))
    key_end, start, end = (starts[line] + column for line, column in entry[2:5])
    if block[end - 1 : end] == "\r":
        end -= 1
    head, remark = block[:start], ""
    if entry.style in ("-", ":") and (colon := _COLON.match(block, key_end)):
        head, remark = f"{block[:key_end]}{colon[1]} ", colon[2] or ""
    elif header := _HEADER.match(block, start) if entry.style in ("|", ">") else None:
        remark = header[1] or ""
    elif start == end and head.endswith(":"):
        head += " "
    raw_items = {}
    if isinstance(old, list) and len(old) == len(entry.items):
        for item, (first, last, _) in zip(old, entry.items, strict=True):
            raw_items[str(item)] = block[starts[first[0]] + first[1] : starts[last[0]] + last[1]]
    quote = entry.items[0][2] if entry.items else entry.style
    quote = quote if quote in ("'", '"') else ""
    return _Site(head, remark, block[end:], quote, _was_text(entry, old), raw_items)


def _was_text(entry: Entry, old: Value) -> bool:
    """Tell whether the old value was text to any reader, so that the new one should be as well."""
    if isinstance(old, str):
        return bool(old) and not (entry.style == "" and _is_converted(old))
    styles = [style for _, _, style in entry.items]
    return not any(
        isinstance(item, str) and style == "" and _is_converted(item)
        for item, style in zip(old, styles, strict=False)
    )


# ------------------------------------------------------------------ one value


def render(value: str, quote: str = "", *, is_text: bool, flow: bool = False) -> str:
    """Write one value: with the old quotes if it had some, plain if that reads back, else quoted.

    >>> render("closed", is_text=True), render("no", is_text=True), render("a: b", is_text=False)
    ('closed', '"no"', '"a: b"')
    """
    if quote == "'" and not _UNPRINTABLE.search(value):
        return "'" + value.replace("'", "''") + "'"
    if not quote and _reads_back(value, flow) and not (is_text and _is_converted(value)):
        return value
    return '"' + _TO_ESCAPE.sub(_escape, value) + '"'


def _escape(found: re.Match[str]) -> str:
    number = ord(found[0])
    return _ESCAPES.get(found[0]) or (f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}")


def _reads_back(value: str, flow: bool) -> bool:
    if value in ("", "=", "<<") or _UNPRINTABLE.search(value):
        return False  # a bare = or << stops other readers
    read = read_yaml([f"k: [{value}]" if flow else f"k: {value}"])
    return not read.findings and read.meta == {"k": [value] if flow else value}


def _is_converted(value: str) -> bool:
    """Tell whether other readers of YAML make a number, a truth value or nothing of it; dates may be."""
    from yaml import ScalarNode
    from yaml.resolver import Resolver

    tag = str(Resolver().resolve(ScalarNode, value, (True, False)))  # type: ignore[no-untyped-call]
    return not tag.endswith((":str", ":timestamp"))


def _inline(value: NewValue, site: _Site) -> Iterator[str]:
    for quote in dict.fromkeys((site.quote, '"')):
        if isinstance(value, str):
            yield render(value, quote, is_text=site.is_text)
        else:
            yield f"[{', '.join(_item(item, quote, site, flow=True) for item in value)}]"


def _item(item: str, quote: str, site: _Site, *, flow: bool) -> str:
    if item in site.raw_items and (not flow or "\n" not in site.raw_items[item]):
        return site.raw_items[item]
    return render(item, quote, is_text=site.is_text, flow=flow)


# ------------------------------------------------------------------ values over several lines


def _literal(value: str, remark: str, margin: int, newline: str) -> str:
    keep = "-" if not value.endswith("\n") else "+" if value.endswith("\n\n") else ""
    lines = value.removesuffix("\n").split("\n")
    return f"|{keep}{remark}{newline}" + newline.join(" " * margin + line if line else "" for line in lines)


def _with_items(
    block: str, entry: Entry, old: Sequence[Value], value: Sequence[str], site: _Site, newline: str
) -> str:
    """Write a list that has a line for each item; items that stay keep their lines as they are."""
    rows = block.split("\n")
    places = [first[0] for first, _, _ in entry.items] if len(entry.items) == len(old) else []
    places = [*(places or [entry.value_start[0]]), entry.value_end[0] + 1]
    known = list(old) if len(places) > len(old) else [None]
    first, last = runs.ends(known, value)
    margin = " " * entry.value_start[1]
    fresh = [_item(item, site.quote, site, flow=False) for item in value[first : len(value) - last]]
    rows[places[first] : places[len(known) - last]] = [f"{margin}- {item}{newline[:-1]}" for item in fresh]
    return "\n".join(rows)
