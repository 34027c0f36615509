r"""JSON text + a small change -> JSON text, every other byte as it was.

Finds where values stand and cuts or inserts there, so that key order, spacing, comments and line ends of
a settings file survive. Takes comments and a comma too many, as editors of such files do.

>>> add('{\n  "a": 1\n}\n', ["b"], '2')
'{\n  "a": 1,\n  "b": 2\n}\n'
>>> add('{"hooks": {"Stop": [1]}}', ["hooks", "Stop", -1], '2')
'{"hooks": {"Stop": [1, 2]}}'
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

_SPACE = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"', re.DOTALL)
_PLAIN = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null")
_DEEPEST = 100

Key = str | int


class Value(NamedTuple):
    """A value: where it begins and ends; of an object or list each key, where that entry begins, itself."""

    start: int
    end: int
    entries: tuple[tuple[Key, int, Value], ...] | None = None

    def get(self, key: Key) -> Value | None:
        return next((value for name, _, value in self.entries or () if name == key), None)


def parse(text: str) -> Value:
    """Find all values of *text*. Raises ValueError with the line of what is wrong."""
    at = _space(text, 1 if text.startswith("\ufeff") else 0)
    value = _value(text, at, 0)
    if _space(text, value.end) != len(text):
        raise _wrong(text, value.end, "something follows the end")
    return value


def load(text: str, value: Value) -> object:
    """Give what *value* means."""
    if value.entries is None:
        return json.loads(text[value.start : value.end])
    if text[value.start] == "[":
        return [load(text, one) for _, _, one in value.entries]
    return {key: load(text, one) for key, _, one in value.entries}


def _value(text: str, at: int, depth: int) -> Value:
    if depth > _DEEPEST:
        raise _wrong(text, at, "it is nested too deeply")
    if text[at : at + 1] in ("{", "["):
        return _container(text, at, depth)
    found = _STRING.match(text, at) or _PLAIN.match(text, at)
    if not found:
        raise _wrong(text, at, "a value is missing")
    return Value(at, found.end())


def _container(text: str, begin: int, depth: int) -> Value:
    is_object, closing = text[begin] == "{", "}" if text[begin] == "{" else "]"
    entries: list[tuple[Key, int, Value]] = []
    at = _space(text, begin + 1)
    while text[at : at + 1] != closing:
        start, key = at, len(entries)
        name: Key = key
        if is_object:
            name, at = _key(text, at)
            if any(name == other for other, _, _ in entries):
                raise _wrong(text, start, f"the key {name!r} stands there twice")
        value = _value(text, at, depth + 1)
        entries.append((name, start, value))
        at = _space(text, value.end)
        if text[at : at + 1] == ",":
            at = _space(text, at + 1)
        elif text[at : at + 1] != closing:
            raise _wrong(text, at, f"a comma or {closing!r} is missing")
    return Value(begin, at + 1, tuple(entries))


def _key(text: str, at: int) -> tuple[str, int]:
    found = _STRING.match(text, at)
    if not found:
        raise _wrong(text, at, "a key is missing")
    colon = _space(text, found.end())
    if text[colon : colon + 1] != ":":
        raise _wrong(text, colon, "a colon is missing")
    return json.loads(found[0]), _space(text, colon + 1)


def _space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _wrong(text: str, at: int, why: str) -> ValueError:
    return ValueError(f"line {text.count(chr(10), 0, at) + 1}: {why}")


# -- changing --------------------------------------------------------------------------------


def add(text: str, place: Sequence[Key], value: str) -> str:
    """Put *value*, JSON itself, at the end of the object or list that *place* leads to.

    The last of *place* is the new key, or -1 for a list. All before it must be there.
    """
    home = parse(text)
    for key in place[:-1]:
        inner = home.get(key)
        if inner is None or inner.entries is None:
            raise ValueError(f"{key!r} is not there, or holds nothing")
        home = inner
    new = value if place[-1] == -1 else f"{json.dumps(place[-1], ensure_ascii=False)}: {value}"
    return _insert(text, home, new)


def _insert(text: str, home: Value, new: str) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    if home.entries:
        last = home.entries[-1][2].end
        first = home.entries[0][1]
        before = text[home.start + 1 : first]
        broken = "\n" in before
        indent = before.rsplit("\n", 1)[1] if broken else ""
        indent = indent if not indent.strip() else re.match(r"[ \t]*", indent)[0]  # type: ignore[index]
        gap = f"{newline}{indent}" if broken else " "
        comma = "" if _has_comma(text, last) else ","
        at = _after_comma(text, last)
        return text[:last] + comma + text[last:at] + gap + _shifted(new, indent, newline) + text[at:]
    outer = _indent_of(text, home.start)
    step = _step(text)
    if "\n" not in new and "\n" not in text.strip():
        return text[: home.start + 1] + new + text[home.end - 1 :]
    inner = outer + step
    body = f"{newline}{inner}{_shifted(new, inner, newline)}{newline}{outer}"
    kept = text[home.start + 1 : home.end - 1].rstrip()  # a comment, at most
    return text[: home.start + 1] + kept + body + text[home.end - 1 :]


def _has_comma(text: str, at: int) -> bool:
    after = _space(text, at)
    return text[after : after + 1] == ","


def _after_comma(text: str, at: int) -> int:
    return _space(text, at) + 1 if _has_comma(text, at) else at


def _shifted(value: str, indent: str, newline: str) -> str:
    return value.replace("\n", f"{newline}{indent}")


def _indent_of(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _step(text: str) -> str:
    """Find by how much the file indents."""
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else "  "


def remove(text: str, drop: Callable[[Sequence[Key], object], bool]) -> str:
    """Take out every entry for which *drop* says so of its place and value, and its comma.

    What held nothing else is asked about again, as it is then.
    """
    while True:
        found = _first(text, parse(text), (), drop)
        if found is None:
            return text
        text = _without(text, *found)


def _first(
    text: str, home: Value, place: tuple[Key, ...], drop: Callable[[Sequence[Key], object], bool]
) -> tuple[Value, int] | None:
    for number, (key, _, value) in enumerate(home.entries or ()):
        if value.entries is not None and (found := _first(text, value, (*place, key), drop)):
            return found
        if drop((*place, key), load(text, value)):
            return home, number
    return None


def _without(text: str, home: Value, number: int) -> str:
    entries = home.entries or ()
    start, end = entries[number][1], entries[number][2].end
    if number + 1 < len(entries):
        return text[:start] + text[entries[number + 1][1] :]
    if number:
        return (
            text[: entries[number - 1][2].end]
            + text[_after_comma(text, end) if _has_comma(text, end) else end :]
        )
    after = _after_comma(text, end)
    if not text[home.start + 1 : start].strip() and not text[after : home.end - 1].strip():
        return text[: home.start + 1] + text[home.end - 1 :]
    return text[:start] + text[after:]
