"""A parsed note -> what it says of other things: a relation, its object, and the line that says it.

A relation is named by a front-matter key, by the key of `key:: value`, or by the words that begin a list
line (`- works_with [[X]]`); a link in running text has none but `links_to`. Knows nothing of what an
object leads to: `graph` does.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from memtool import names
from memtool.links import links

if TYPE_CHECKING:
    from memtool.note.note import Note
    from memtool.note.yaml_block import Value

#: The relation of a link that names none.
LINKS_TO = "links_to"

#: What one note may say: a bound for hostile ones.
MOST = 20_000

#: Longer values of `key:: value` are sentences, and name nothing.
NAME_CHARACTERS = 80

#: Front-matter keys whose value names something even without brackets.
TYPED = frozenset(
    "relates_to related related_to part_of has_part caused_by causes supersedes superseded_by works_with "
    "worked_with depends_on derived_from".split()
)

_NO_RELATION = frozenset("title description read_if asks aliases alias tags type links link".split())
_ARTICLES = frozenset("the a an and or this that is as if but not also then cf".split())
_STOP = _ARTICLES | frozenset("in on at to of for with from by via see".split())
_FRAGMENT = re.compile(r"[#^][^\[\]|\n\\)>]*")
_ITEM = re.compile(
    r"[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[.\][ \t]+)?"
    r"(?P<words>[^\W\d_][\w '/-]{0,40}?)(?:[ \t]*[:：][ \t]*|[ \t]+)"
)
_BETWEEN = re.compile(r"(?:[\s,、，・&;/]|and|or|と|や|及び)*", re.IGNORECASE)
_AFTER = re.compile(r"[ \t]*(?:[(（].*|#\S.*|\^[\w-]+|[.。])?[ \t]*")
_SEPARATOR = re.compile(r"[ \t]*[,、，;；][ \t]*")


class Said(NamedTuple):
    """One statement of a note: ``relation``, and the ``target`` as it is written.

    ``kind``: ``wiki``, ``markdown``, ``value`` as `links` tells them, or ``text`` for a value that is no
    link. ``key`` is what the target is looked up by, "" when it names nothing. ``fragment``: ``#heading``
    or ``^block``.
    """

    line: int
    kind: str
    relation: str
    target: str
    key: str
    fragment: str = ""


class _Place(NamedTuple):
    """A link with the whole of it in its line: where its brackets begin and end."""

    link: links.Link
    line: int
    start: int
    end: int
    fragment: str


def of(note: Note, fields: Sequence[tuple[str, str, int]]) -> tuple[Said, ...]:
    """Read what a note says; *fields* are its `key:: value` lines: key, value, line."""
    found = [*_linked(note, fields), *_texts(note, fields)] if _may_say(note, fields) else []
    return tuple(sorted(dict.fromkeys(found), key=lambda one: one.line)[:MOST])


def _may_say(note: Note, fields: Sequence[tuple[str, str, int]]) -> bool:
    text = note.text
    return "[[" in text or "](" in text or "]:" in text or bool(fields) or _names_notes(note)


def _names_notes(note: Note) -> bool:
    head = "\n".join(note.lines[: note.body_start - 1]).lower()
    return ".md" in head or ".markdown" in head or any(normal(key) in TYPED for key in note.meta)


def normal(relation: str) -> str:
    """Give the form in which two ways to write a relation are one.

    >>> normal("Part-of "), normal("works with"), normal("関連")
    ('part_of', 'works_with', '関連')
    """
    return re.sub(r"[\s_-]+", "_", names.key(relation)).strip("_")


def key_of(target: str) -> str:
    """Give what a target is looked up by: the last part of its path, without suffix and case.

    >>> key_of("Ops/Plan.md"), key_of("計画")
    ('plan', '計画')
    """
    return names.key(links.bare(target.rstrip("/").rpartition("/")[2]).strip())


def called(path: str, title: str, aliases: Iterable[str]) -> tuple[tuple[str, int, str], ...]:
    """Give what a note is called, as key, rank and name: its file first, then aliases, then its title."""
    stem = links.bare(path.rpartition("/")[2])
    every = [(stem, 0), *((alias, 1) for alias in [*aliases][:100]), (title, 2)]
    found: dict[str, tuple[str, int, str]] = {}
    for name, rank in every:
        name = " ".join(name.split())
        if name and len(name) <= 4 * NAME_CHARACTERS:
            found.setdefault(names.key(name), (names.key(name), rank, name))
    return tuple(found.values())


# -- links -----------------------------------------------------------------------------------


def _linked(note: Note, fields: Sequence[tuple[str, str, int]]) -> Iterator[Said]:
    by_line: dict[int, list[tuple[str, str]]] = {}
    for key, value, line in fields:
        by_line.setdefault(line, []).append((key, value))
    keys = {line: key for key, (start, end) in note.spans.items() for line in range(start, end + 1)}
    before: tuple[_Place, str] | None = None
    for place in _places(note.text):
        if place.line < note.body_start:
            relation = _of_key(keys.get(place.line, ""))
        else:
            text = note.lines[place.line - 1]
            relation = _of_field(by_line.get(place.line, ()), text[place.start : place.end])
            relation = relation or _of_item(text, place, before)
            before = place, relation
        link = place.link
        yield Said(
            place.line, link.kind, relation or LINKS_TO, link.target, key_of(link.target), place.fragment
        )


def _places(text: str) -> Iterator[_Place]:
    ends = [found.start() for found in re.finditer("\n", text)]
    for link in links.find(text):
        line = bisect_right(ends, link.start - 1)
        first = ends[line - 1] + 1 if line else 0
        found = _FRAGMENT.match(text, link.end)
        close = "]]" if link.kind == "wiki" else ")"
        end = text.find(close, link.end)
        last = ends[line] if line < len(ends) else len(text)
        end = min(end + len(close), last) if end >= 0 else last
        start = text.rfind("[[" if link.kind == "wiki" else "[", first, link.start)
        fragment = found[0].strip() if found else ""
        yield _Place(link, line + 1, max(start, first) - first, end - first, fragment)


def _of_key(key: str) -> str:
    relation = normal(key)
    return "" if relation in _NO_RELATION else relation


def _of_field(fields: Sequence[tuple[str, str]], written: str) -> str:
    return next((_of_key(key) for key, value in fields if written in value), "")


def _of_item(text: str, place: _Place, before: tuple[_Place, str] | None) -> str:
    """Read `- works_with [[X]], [[Y]] (since May)`: nothing else may stand in such a line."""
    start = place.start - (text[place.start - 1 : place.start] == "!")
    if before and before[0].line == place.line:
        return before[1] if _BETWEEN.fullmatch(text[before[0].end : start]) else ""
    found = _ITEM.fullmatch(text[:start])
    rest = re.split(r"\]\]|\)", text[place.end :])[-1] if "[" in text[place.end :] else text[place.end :]
    if not found or not _AFTER.fullmatch(rest):
        return ""
    words = found["words"].lower().split()
    says = len(words) <= 3 and words[-1] not in _ARTICLES and (len(words) > 1 or words[0] not in _STOP)
    return normal(found["words"]) if says else ""


# -- values without a link -------------------------------------------------------------------


def _texts(note: Note, fields: Iterable[tuple[str, str, int]]) -> Iterator[Said]:
    for key, value, line in fields:
        yield from (_text(line, key, part) for part in _parts(value) if not _has_link(part))
    for key, given in note.meta.items():
        if normal(key) in TYPED:
            first, last = note.spans.get(key, (1, 1))
            for name in _names(given):
                line = next((n for n in range(first, last + 1) if name in note.lines[n - 1]), first)
                yield _text(line, key, name)


def _text(line: int, key: str, value: str) -> Said:
    named = len(value) <= NAME_CHARACTERS and any(character.isalpha() for character in value)
    return Said(line, "text", normal(key), value[:400], names.key(" ".join(value.split())) if named else "")


def _has_link(text: str) -> bool:
    return "[[" in text or "](" in text


def _parts(value: str) -> list[str]:
    """Part a value that lists names; a sentence or a date is one.

    >>> _parts("Mio, Ren"), _parts("March 3, 2026"), _parts("田中、佐藤")
    (['Mio', 'Ren'], ['March 3, 2026'], ['田中', '佐藤'])
    """
    parts = [part for part in _SEPARATOR.split(value) if part]
    is_list = all(
        _has_link(part) or (len(part) <= 40 and not part[0].isdigit() and part.count(" ") <= 3)
        for part in parts
    )
    return parts if is_list else [value]


def _names(given: Value) -> Iterator[str]:
    for item in given[:MOST] if isinstance(given, list) else [given]:
        text = item.strip() if isinstance(item, str) else ""
        is_link = _has_link(text) or text.lower().endswith(names.SUFFIXES)
        if text and not is_link and not isinstance(item, Mapping):
            yield text
