"""Lines of front matter -> keys and their values as typed: plainly where that is certain, else with YAML.

Knows where the block ends and which few shapes need no YAML at all; a whole vault is read this
way. Knows nothing of what a key means.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from memtool.note.yaml_block import FIRST_LINE, Block, Value, read_yaml


def opens(line: str) -> bool:
    """Tell whether the first line of a note may open front matter."""
    # Files that were joined or saved twice have a second byte order mark.
    return line.strip(" \t\ufeff") == "---" and line[:1] not in " \t"


def closing(lines: Sequence[str]) -> int:
    """Give the index of the line that ends the block *lines* opens with; 0 when nothing does.

    >>> closing(["---", "title: x", "..."]), closing(["---", "title: x"]), closing(["text", "---"])
    (2, 0, 0)
    """
    if not lines or not opens(lines[0]):
        return 0
    for number in range(1, len(lines)):
        if lines[number][:3] in ("---", "...") and lines[number].rstrip(" \t") in ("---", "..."):
            return number
    return 0


def looks_like_key(line: str) -> bool:
    """Tell ``title: x`` from prose.

    >>> looks_like_key("valid from: 2026"), looks_like_key("http://example.org")
    (True, False)
    """
    return _KEY.match(line) is not None


_KEY = re.compile(r"[\"']?\w[\w .-]{0,60}[\"']?[ \t]*:(?:\s|$)")

# Values that YAML reads as the very characters typed. Whatever is not certain goes to YAML.
_SAFE = "\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U000effff"
_REST = rf"(?:(?![:#])[{_SAFE}]|:(?=[\w/])|(?<=[\w/&=])#)*+"
_WORDS = rf"(?:[\w/.+(~]|-(?=\w)){_REST}"
_QUOTED = rf"\"((?:(?![\"\\])[{_SAFE}])*)\"|'((?:(?!')[{_SAFE}])*)'"
_VALUE = rf"(?:({_WORDS})|{_QUOTED}) *"
_PAIR = re.compile(rf"(\w[\w-]{{0,99}}):(?: *| +(?:{_VALUE}|\[([^\[\]{{}}\"'#:&*!|>%@`?\\\t]*)\] *))")
_ITEM = re.compile(rf"( *)- +{_VALUE}")
_LIST_WORD = re.compile(rf"(?:[\w/.+(~]|-(?=\w))[{_SAFE}]*")
_REMARK = re.compile(rf" *(?:#[{_SAFE}]*)?")


def read(lines: Sequence[str]) -> Block:
    """Read the lines between the two fences; what is plain without YAML, all else with it."""
    return read_plain(lines) or read_yaml(lines)


def read_plain(lines: Sequence[str]) -> Block | None:
    """Read a block of plain one-line values and lists; None when that cannot be relied on.

    >>> read_plain(["title: Quay plan", "tags: [a, b]"]).meta
    {'title': 'Quay plan', 'tags': ['a', 'b']}
    >>> read_plain(["title: a # b"]) is None
    True
    """
    meta: dict[str, Value] = {}
    spans: dict[str, tuple[int, int]] = {}
    key, indent = "", ""
    items: list[Value] | None = None
    for number, line in enumerate(lines, FIRST_LINE):
        if pair := _PAIR.fullmatch(line):
            key, words, double, single, flow = pair.groups()
            if key in meta:
                return None
            items = None
            value: Value | None = words.rstrip(" ") if words else double or single or ""
            if flow is not None:
                value = _flow_items(flow)
            elif not words and double is None and single is None:
                items = []
            if value is None:
                return None
            meta[key], spans[key] = value, (number, number)
        elif items is not None and (item := _ITEM.fullmatch(line)):
            if items and item[1] != indent:
                return None
            indent = item[1]
            items.append(item[2].rstrip(" ") if item[2] else item[3] or item[4] or "")
            meta[key], spans[key] = items, (spans[key][0], number)
        elif not _REMARK.fullmatch(line):
            return None
    return Block(meta, spans, [])


def _flow_items(flow: str) -> list[Value] | None:
    if not flow.strip(" "):
        return []
    items = [item.strip(" ") for item in flow.split(",")]
    return [*items] if all(_LIST_WORD.fullmatch(item) for item in items) else None
