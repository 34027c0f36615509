"""The versions of a note and some lines of one of them -> when those lines came, changed and went.

Where branches were merged, each side tells its own changes, and the merge only what is in neither side.
Pure: takes lines, gives events. Knows nothing of files and of git.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memtool import pin
from memtool.history.history import Revision
from memtool.note.anchor import Anchor


class Version(NamedTuple):
    """A note as one revision left it; ``by`` None: as the file is now; ``lines`` None: it is gone.

    ``parents`` are the places of the versions it was made from, all before its own: two of a merge.
    """

    by: Revision | None
    path: str
    lines: Sequence[str] | None
    parents: tuple[int, ...] = ()


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


#: The last state in which lines were there, and the version they were seen in.
_Seen = tuple[_State, Version]


def events(versions: Sequence[Version], at: int, span: pin.Span | None) -> list[Event]:
    """Tell what happened to lines of version *at*, oldest first; *span* None means the whole note."""
    states = _states(versions, at, span) if span else [_whole(version) for version in versions]
    found = []
    for after, version in zip(states, versions, strict=True):
        before = [states[parent] for parent in version.parents] or [None]
        found += list(_event(*_own(before, after), version.by))
    return found


def end(versions: Sequence[Version], at: int, span: pin.Span) -> Sequence[str]:
    """Give what lines of version *at* say in the newest version; nothing when they are gone from it."""
    newest = _states(versions, at, span)[-1]
    return newest.text if newest else ()


def later(versions: Sequence[Version], place: int) -> list[Version]:
    """Leave out the versions before *place*: those that follow begin there."""

    def shifted(version: Version) -> Version:
        parents = tuple(parent - place for parent in version.parents if parent >= place)
        return version._replace(parents=parents)

    return [shifted(version) for version in versions[place:]]


def _whole(version: Version) -> _State | None:
    if version.lines is None:
        return None
    return _State(version.path, (1, len(version.lines)), tuple(version.lines))


def _states(versions: Sequence[Version], at: int, span: pin.Span) -> list[_State | None]:
    """Follow lines from version *at* into both directions; they may come back after they were gone."""
    states: list[_State | None] = [None] * len(versions)
    states[at] = here = _cut(versions[at], span)
    if not here:
        return states
    seen: dict[int, _Seen] = {at: (here, versions[at])}
    children: dict[int, list[int]] = {}
    for place, version in enumerate(versions):
        for parent in version.parents:
            children.setdefault(parent, []).append(place)
    onward, back = range(len(versions)), range(len(versions) - 1, -1, -1)
    # What came of it, what it came of, and at last the branches that came of neither.
    for places, is_back in ((onward, False), (back, True), (onward, False)):
        for place in places:
            beside = children.get(place, ()) if is_back else versions[place].parents
            known = [seen[one] for one in beside if one in seen]
            if place not in seen and known:
                states[place], seen[place] = _step(known, versions[place])
    return states


def _step(known: Sequence[_Seen], version: Version) -> tuple[_State | None, _Seen]:
    """Follow lines by one version, from any of those beside it in which they were known."""
    for last, near in known:
        if state := _follow(last, near, version):
            return state, (state, version)
    return None, known[0]


def _own(before: Sequence[_State | None], after: _State | None) -> tuple[_State | None, _State | None]:
    """Give the states whose difference is what one revision did: a merge took the rest from its sides."""
    sides = [state for state in before if state]
    if len(before) == 1 or not sides:
        return before[0], after
    if after is None:
        return sides[0] if len(sides) == len(before) else None, None
    texts = [set(side.text) for side in sides]
    came = {line for line in after.text if not any(line in text for text in texts)}
    went = set.intersection(*texts) - {*after.text}
    text = (*sorted(went), *(line for line in after.text if line not in came))
    path = after.path if any(side.path == after.path for side in sides) else sides[0].path
    return after._replace(path=path, text=text), after


def _follow(last: _State, near: Version, version: Version) -> _State | None:
    if near.lines is None or version.lines is None:
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
