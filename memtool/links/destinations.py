"""A target as a note writes it, and all notes of that name -> where it leads.

As in Obsidian: case and Unicode composition do not count, a path may be given in part, and of several
notes the one below the same folder wins, then the one with the shortest path. No file is looked at: what
climbs out of the vault leads nowhere. Pure.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

from memtool import names
from memtool.links import links

#: ``note``; ``text`` for a value that names no note; ``file`` for an attachment, which is not followed;
#: ``missing`` where no note is called that (yet); ``outside`` of the vault.
State = Literal["note", "text", "file", "missing", "outside"]

#: Suffixes of what is embedded or linked and is no note.
ATTACHMENTS = frozenset(
    "png jpg jpeg gif svg webp bmp avif heic tiff ico pdf mp3 wav m4a ogg flac 3gp opus mp4 webm ogv mov mkv "
    "avi canvas base csv tsv txt html htm css js py sh json yaml yml toml xml zip gz tar docx doc xlsx xls "
    "pptx ppt odt ods epub excalidraw log sql ipynb".split()
)


class Called(NamedTuple):
    """A note by one of its names; ``rank`` 0 is its file's name, 1 an alias, 2 its title."""

    rank: int
    file: int
    path: str
    title: str


class Destination(NamedTuple):
    """Where a target leads; ``others`` are further notes that it could mean."""

    state: State
    note: Called | None = None
    others: tuple[str, ...] = ()


def destination(kind: str, target: str, source: str, called: Sequence[Called]) -> Destination:
    """Tell where *target*, written in the note *source*, leads; *called* are the notes of that name."""
    if kind == "text":
        return _best(called, target, source, aliases=True) or Destination("text")
    if kind == "value":
        found = _at(called, target) or _at(called, links.joined(source, target))
        return Destination("note", found) if found else Destination("missing")
    path = target.lstrip("/")
    relative = kind == "markdown" or path.startswith(("./", "../"))
    joined = links.joined(source, path) if relative else posixpath.normpath(path)
    if joined == ".." or joined.startswith("../"):
        return Destination("outside")
    if relative and (found := _at(called, joined)):
        return Destination("note", found)
    if path.startswith("."):
        return _nowhere(path)
    return _by_name(called, joined if not relative else posixpath.normpath(path), source) or _nowhere(path)


def _by_name(called: Sequence[Called], target: str, source: str) -> Destination | None:
    if "/" not in target:
        return _best(called, target, source, aliases=True)
    if found := _at(called, target) or _at(called, links.joined(source, target)):
        return Destination("note", found)
    ending = "/" + names.key(links.bare(target))
    part = [one for one in called if ("/" + names.key(links.bare(one.path))).endswith(ending)]
    return _best(part, target, source, aliases=False)


def _best(called: Iterable[Called], target: str, source: str, *, aliases: bool) -> Destination | None:
    """Take files of that name before aliases, aliases before titles; exact case before any; the nearest."""
    best = min((one.rank for one in called), default=0)
    if best and not aliases:
        return None
    same = {one.path: one for one in called if one.rank == best}
    if not same:
        return None
    if len(same) == 1:
        return Destination("note", next(iter(same.values())))
    order = links.nearest(same, source)
    exact = [path for path in order if links.bare(path).endswith(links.bare(target))]
    if len(exact) == 1 and _same_folder(order):
        return Destination("note", same[exact[0]])  # names that differ in case alone
    return Destination("note", same[order[0]], tuple(order[1:]))


def _same_folder(paths: Sequence[str]) -> bool:
    return len({posixpath.dirname(path) for path in paths}) == 1


def _at(called: Iterable[Called], path: str) -> Called | None:
    """Find the note at a path, with its suffix or without."""
    wanted = names.key(links.bare(path))
    return next((one for one in called if not one.rank and names.key(links.bare(one.path)) == wanted), None)


def _nowhere(path: str) -> Destination:
    suffix = path.rpartition(".")[2].lower() if "." in path else ""
    return Destination("file" if suffix in ATTACHMENTS else "missing")


def similar(wanted: str, called: Iterable[str], most: int = 3) -> list[str]:
    """Give the names nearest to one that leads nowhere, by the pairs of letters they share.

    >>> similar("staging kys", ["staging keys", "planning", "keys"])
    ['staging keys']
    """
    pairs = _pairs(wanted)
    scored = [(_likeness(pairs, _pairs(name)), name) for name in called]
    return [name for score, name in sorted(scored, key=lambda one: (-one[0], one[1]))[:most] if score >= 0.5]


def _pairs(name: str) -> set[str]:
    key = f" {names.key(name)} "
    return {key[at : at + 2] for at in range(len(key) - 1)}


def _likeness(some: set[str], others: set[str]) -> float:
    return 2 * len(some & others) / (len(some) + len(others))


def has_fragment(fragment: str, headings: Iterable[str], has_block: Callable[[str], bool]) -> bool:
    """Tell whether a note has the heading or the block that a link names.

    >>> has_fragment("#Hot heap", ["hot-heap"], lambda block: False), has_fragment("#^b1", [], "b1".__eq__)
    (True, True)
    """
    last = fragment.rpartition("#")[2] or fragment
    if last.startswith("^"):
        return has_block(last[1:].strip())
    wanted = _letters(last)
    return not wanted or any(_letters(heading) == wanted for heading in headings)


def _letters(heading: str) -> str:
    from urllib.parse import unquote

    return "".join(character for character in names.key(unquote(heading)) if character.isalnum())
