"""Text of a note -> the links in it; an old and a new path -> the text with its links following.

Knows wikilinks, Markdown links and front-matter values that are paths or wikilinks. What stands in
code is text and no link. Changes the bytes of a link's target and no other.
"""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from memtool import names

_WIKI = re.compile(r"\[\[(?P<target>[^\[\]|#^\n\\]+)(?P<rest>(?:[#^][^\[\]|\n]*)?(?:\\?\|[^\[\]\n]*)?)\]\]")
_INLINE = re.compile(r"\]\(\s*(?:<(?P<angle>[^<>\n]*)>|(?P<bare>(?:[^()\s\\]|\\.|\([^()\s]*\))+))")
_DEFINED = re.compile(r"^ {0,3}\[[^\]\n]+\]:[ \t]*(?:<(?P<angle>[^<>\n]*)>|(?P<bare>\S+))", re.MULTILINE)
_FENCE = re.compile(r"(?:[ \t>]|[-*+] |\d{1,9}[.)] )*(?P<mark>`{3,}|~{3,})(?P<info>[^\n]*)")
_CODE = re.compile(r"(?<![`\\])(`+)(?!`)(?:.*?[^`])\1(?!`)", re.DOTALL)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//|#|/")
_SUFFIX = re.compile(r"\.(?:md|markdown)$", re.IGNORECASE)
_KEY = re.compile(r"[ \t]*(?:-[ \t]+)?(?:[\w][\w .-]*:(?:[ \t]+|$))?")
_VALUE = re.compile(
    r"[ \t]*[\"']?(?P<path>[^\"',\[\]#{}&*!|>%@`\s][^\"',\[\]#\n]*?\.(?:md|markdown))"
    r"(?::\d+(?:-\d+)?)?(?:@[0-9a-f]+)?(?:#[^\"'\n]*)?[\"']?[ \t\r]*(?=[,\]\n]|[ \t]#|$)",
    re.IGNORECASE,
)


class Link(NamedTuple):
    """One link: where its target stands in the text, and the target as it is meant.

    ``kind``: ``wiki`` (a name or a path), ``markdown`` (a path from the note's folder), ``value`` (a path
    in front matter). ``target`` has no heading and is not escaped.
    """

    kind: str
    start: int
    end: int
    target: str


def find(text: str) -> list[Link]:
    """Find every link in the order of the text.

    >>> [link.target for link in find("[[a|b]] and [x](c%20d.md#h), not `[[e]]`")]
    ['a', 'c d.md']
    """
    front = _front_matter_end(text)
    found = sorted(set(_all(text, front)), key=lambda link: link.start)
    if not found or not ("`" in text or "~~~" in text):
        return found
    code = list(_code(text, front))
    starts = [start for start, _ in code]
    return [link for link in found if not _is_within(link.start, code, starts)]


def rewrite(text: str, old: str, new: str, *, path: str = "", paths: Collection[str] = ()) -> str:
    """Let every link to the note *old* lead to *new*.

    *path* is the note the text belongs to, *paths* all notes before the move: of two notes with one name
    a wikilink means the nearer.

    >>> rewrite("[[plan#Keys|keys]], [p](../ops/plan.md)", "ops/plan.md", "done/plan-1.md", path="x/y.md")
    '[[plan-1#Keys|keys]], [p](../done/plan-1.md)'
    """
    pieces, at = [], 0
    for link in find(text):
        if _leads_to(link, old, path, paths):
            pieces += [text[at : link.start], _written(link, text, old, new, path, paths)]
            at = link.end
    return "".join([*pieces, text[at:]])


def rebase(text: str, old: str, new: str, exists: Callable[[str], bool]) -> str:
    """Let the relative links of a note that moves from *old* to *new* lead where they led."""
    pieces, at = [], 0
    for link in find(text):
        target = joined(old, link.target) if link.kind == "markdown" else ""
        if target and (exists(target) or target == old):
            target = new if target == old else target
            pieces += [text[at : link.start], _escaped(_relative(target, new, link.target), text, link)]
            at = link.end
    return "".join([*pieces, text[at:]])


# Finding


def _is_within(place: int, spans: Sequence[tuple[int, int]], starts: Sequence[int]) -> bool:
    at = bisect_right(starts, place) - 1
    return at >= 0 and place < spans[at][1]


def _all(text: str, front: int) -> Iterator[Link]:
    for found in _WIKI.finditer(text):
        name = found["target"]
        start = found.start("target") + len(name) - len(name.lstrip())
        yield Link("wiki", start, start + len(name.strip()), name.strip())
    for pattern in (_INLINE, _DEFINED):
        for found in pattern.finditer(text, front):
            group = "angle" if found["angle"] is not None else "bare"
            raw = found[group].partition("#")[0]
            if raw and not _SCHEME.match(raw):
                start = found.start(group)
                yield Link("markdown", start, start + len(raw), _unescaped(raw))
    yield from _values(text[:front])


def _values(block: str) -> Iterator[Link]:
    """Find the values of front matter that are the path of a note, alone or in a list."""
    at = 0
    for line in block.split("\n"):
        head = _KEY.match(line)
        place = at + (head.end() if head else 0)
        while found := _VALUE.match(block, place + (block[place : place + 1] in ("[", ","))):
            yield Link("value", found.start("path"), found.end("path"), found["path"])
            place = found.end()
        at += len(line) + 1


def _front_matter_end(text: str) -> int:
    if not re.match(r"\ufeff?---[ \t]*\r?\n", text):
        return 0
    end = re.compile(r"^(?:---|\.\.\.)[ \t]*\r?$", re.MULTILINE).search(text, 4)
    return end.end() if end else 0


def _code(text: str, front: int) -> Iterator[tuple[int, int]]:
    """Give where code stands: fenced blocks, and spans between backticks in what is left."""
    at, fence, began, prose = front, "", 0, front
    for line in text[front:].split("\n"):
        found = _FENCE.match(line)
        if found and not fence and not ("`" in found["info"] and found["mark"][0] == "`"):
            yield from _spans(text, prose, at)
            fence, began = found["mark"], at
        elif found and fence and _closes(found, fence):
            fence, prose = "", at + len(line) + 1
            yield began, prose
        at += len(line) + 1
    yield from [(began, at)] if fence else _spans(text, prose, at)


def _closes(found: re.Match[str], fence: str) -> bool:
    mark = found["mark"]
    return mark[0] == fence[0] and len(mark) >= len(fence) and not found["info"].strip()


def _spans(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    at = start
    for block in re.split(r"(\n[ \t\r]*\n)", text[start:end]):
        for found in _CODE.finditer(block):
            yield at + found.start(), at + found.end()
        at += len(block)


# Where they lead


def _leads_to(link: Link, old: str, path: str, paths: Collection[str]) -> bool:
    if link.kind == "markdown":
        return names.key(joined(path, link.target)) == names.key(old)
    if link.kind == "value":
        return names.key(old) in (names.key(link.target), names.key(joined(path, link.target)))
    return _meant(link.target, path, old, paths)


def _meant(target: str, path: str, old: str, paths: Collection[str]) -> bool:
    """Tell whether a wikilink means *old*: by its whole path, or by its name when that is the nearest."""
    wanted, whole = names.key(bare(target)), names.key(bare(old))
    if "/" in target:
        return wanted == whole or names.key(bare(joined(path, target))) == whole
    if wanted != whole.rpartition("/")[2]:
        return False
    same = [other for other in paths if names.key(bare(other)).rpartition("/")[2] == wanted] or [old]
    return nearest(same, path)[0] == old


def nearest(same: Iterable[str], path: str) -> list[str]:
    """Order notes of one name as a wikilink in *path* takes them: below its folder first, then the shortest.

    >>> nearest(["plan.md", "a/b/plan.md", "b/plan.md"], "a/n.md")
    ['a/b/plan.md', 'plan.md', 'b/plan.md']
    """
    here = path[: path.rfind("/") + 1]
    return sorted(same, key=lambda other: (not other.startswith(here), other.count("/"), len(other), other))


def bare(path: str) -> str:
    """Give a note's path without its suffix.

    >>> bare("ops/Plan.MD"), bare("v1.2")
    ('ops/Plan', 'v1.2')
    """
    return _SUFFIX.sub("", path)


def joined(path: str, target: str) -> str:
    """Give where a relative target in a note leads."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), target))


# Writing


def _written(link: Link, text: str, old: str, new: str, path: str, paths: Collection[str]) -> str:
    if link.kind == "markdown":
        return _escaped(_relative(new, path, link.target), text, link)
    if link.kind == "value":
        from_root = names.key(link.target) == names.key(old)
        return new if from_root else _relative(new, path, link.target)
    suffix = bare(link.target) != link.target
    name = new if suffix else bare(new)
    short = name.rpartition("/")[2]
    if "/" in link.target and not link.target.startswith("."):
        return name
    if link.target.startswith("."):
        return _relative(name, path, link.target)
    rest = [other for other in paths if other != old]
    taken = any(names.key(bare(other)).rpartition("/")[2] == names.key(bare(short)) for other in rest)
    return name if taken else short


def _relative(target: str, path: str, before: str) -> str:
    written = posixpath.relpath(target, posixpath.dirname(path) or ".")
    return f"./{written}" if before.startswith("./") and not written.startswith("..") else written


def _unescaped(raw: str) -> str:
    from urllib.parse import unquote

    text = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", raw)
    return unquote(text) if "%" in text else text


def _escaped(target: str, text: str, link: Link) -> str:
    """Write a target as the old one was: between angle brackets, or with what would end it escaped."""
    if text[link.start - 1 : link.start] == "<":
        return re.sub(r"[<>]", lambda found: f"%{ord(found[0]):02X}", target)
    raw = text[link.start : link.end]
    if "%" in raw and not raw.isascii():
        target = target.replace("%", "%25")
    elif "%" in raw:
        from urllib.parse import quote

        return quote(target, safe="/!$&'*+,;=:@~.-_")
    return re.sub(r"[ ()<>#]", lambda found: f"%{ord(found[0]):02X}", target)
