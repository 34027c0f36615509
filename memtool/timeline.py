"""The versions of a note and some lines of one of them -> when those lines came, changed and went.

Pure: takes lines, gives events. Knows nothing of files and of git.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memtool import pin
from memtool.anchor import Anchor
from memtool.history import Revision


class Version(NamedTuple):
    """A note as one revision left it; ``by`` None: as the file is now; ``lines`` None: it is gone."""

    by: Revision | None
    path: str
    lines: Sequence[str] | None


class Event(NamedTuple):
    """What one revision did to some lines: "appeared", "changed", "renamed" or "vanished"."""

    kind: str
    by: Revision | None
    anchor: Anchor  # where they were after it; of lines that vanished, before it
    text: tuple[str, ...]
    added: int = 0  # words
    removed: int = 0


class _State(NamedTuple):
    path: str
    span: pin.Span
    text: tuple[str, ...]


def events(versions: Sequence[Version], at: int, span: pin.Span | None) -> list[Event]:
    """Tell what happened to lines of version *at*, oldest first; *span* None means the whole note."""
    states = _states(versions, at, span) if span else [_whole(version) for version in versions]
    found = []
    for before, after, version in zip([None, *states], states, versions, strict=False):
        found += list(_event(before, after, version.by))
    return found


def _whole(version: Version) -> _State | None:
    if version.lines is None:
        return None
    return _State(version.path, (1, len(version.lines)), tuple(version.lines))


def _states(versions: Sequence[Version], at: int, span: pin.Span) -> list[_State | None]:
    """Follow lines from version *at* into both directions; they may come back after they were gone."""
    here = _cut(versions[at], span)
    states: list[_State | None] = [None] * len(versions)
    states[at] = here
    for places in (range(at + 1, len(versions)), range(at - 1, -1, -1)):
        last, near = here, versions[at]
        for place in places:
            states[place] = _follow(last, near, versions[place])
            if state := states[place]:
                last, near = state, versions[place]
    return states


def _follow(last: _State | None, near: Version, version: Version) -> _State | None:
    if last is None or near.lines is None or version.lines is None:
        return None
    if near.lines == version.lines:
        return last._replace(path=version.path)
    first, end = last.span
    if tuple(version.lines[first - 1 : end]) == last.text and near.lines[:first] == version.lines[:first]:
        return last._replace(path=version.path)
    span = pin.left(near.lines, version.lines, last.span)
    return _cut(version, span) if span else None


def _cut(version: Version, span: pin.Span) -> _State | None:
    lines = version.lines or ()
    text = tuple(lines[span[0] - 1 : span[1]])
    return _State(version.path, span, text) if text else None


def _event(before: _State | None, after: _State | None, by: Revision | None) -> Iterator[Event]:
    if after is None:
        if before:
            yield Event("vanished", by, _anchor(before), before.text, 0, _count(before.text))
    elif before is None:
        yield Event("appeared", by, _anchor(after), after.text, _count(after.text))
    elif before.text != after.text:
        yield Event("changed", by, _anchor(after), after.text, *words_changed(before.text, after.text))
    elif before.path != after.path:
        yield Event("renamed", by, _anchor(after), after.text)


def _anchor(state: _State) -> Anchor:
    return Anchor(state.path, *state.span)


def _count(text: Sequence[str]) -> int:
    return pin.words(text).total()


def words_changed(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """Count the words that came and that went; in scripts without spaces, pairs of characters.

    >>> words_changed(["keys last 30 days"], ["keys last 90 days", "at most"])
    (3, 1)
    """
    before, after = pin.words(old), pin.words(new)
    return (after - before).total(), (before - after).total()
