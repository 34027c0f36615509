"""A pin and a note's editions -> where its lines stood last, and which revision took them away.

Follows the note to the names it got later. Knows nothing of what lies on disk now.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memtool import pin
from memtool.git import Git
from memtool.history.editions import Edition, editions, renamed_to
from memtool.history.history import Revision
from memtool.note import note
from memtool.note.anchor import Anchor

Lines = Sequence[str]

_MOST_NAMES = 50
#: Lines of old editions among which a text that is not where its pin says is looked for.
_MOST_HASHED = 2_000_000


class Trace(NamedTuple):
    """The end of some lines in git: they stood in ``lines`` at ``span`` and in nothing newer.

    ``after`` are the editions made since, oldest first: the first of them took the lines away. It is
    empty where the newest edition has them still. ``path`` is what the note was called in the end.
    """

    path: str
    lines: Lines
    span: pin.Span
    after: tuple[tuple[Revision, Lines | None], ...]

    @property
    def text(self) -> Lines:
        return self.lines[self.span[0] - 1 : self.span[1]]

    @property
    def committed(self) -> Lines | None:
        """Give the note as committed; None where it is gone."""
        return self.after[-1][1] if self.after else self.lines


def trace(git: Git, pinned: Anchor) -> tuple[Trace | None, list[str]]:
    """Find where pinned lines stood last, and the later names of their note; no trace if never committed."""
    found, path, later = None, pinned.path, list[str]()
    while path and path not in later[:-1] and len(later) < _MOST_NAMES:
        trail = editions(git, path)
        texts = _texts(git, trail)
        line = _line(pinned, path, trail, texts)
        found = line[0] if line else found
        path = _renamed_to(git, path, [trail[place] for place in (line[1] if line else range(len(trail)))])
        later += [path] if path else []
    return found, later


def aside(git: Git, pinned: Anchor) -> Trace | None:
    """Find pinned lines in what other branches and stashes hold; ``after`` is the revision they stand in."""
    trail = editions(git, pinned.path, start="--all")
    for edition, lines in zip(trail, _texts(git, trail), strict=True):
        if found := next(_spans(pinned, [lines]), None):
            assert lines is not None
            span = found[0] if pinned.start else (1, len(lines))
            return Trace(edition.path, lines, span, ((edition.by, lines),))
    return None


def _texts(git: Git, trail: Sequence[Edition]) -> list[Lines | None]:
    """Give the lines of each edition; None where the note was away or its bytes are not here."""
    blobs = {edition.blob for edition in trail} - {""}
    texts = {blob: note.parse(data).lines for blob, data in git.blobs(blobs)}
    return [texts.get(edition.blob) for edition in trail]


def _line(
    pinned: Anchor, path: str, trail: Sequence[Edition], texts: Sequence[Lines | None]
) -> tuple[Trace, list[int]] | None:
    """Trace the lines through the editions of one name; give the places of those made since, too."""
    first = next(_spans(pinned, texts), None)
    if first is None:
        return None
    text = first[1]
    spans = [pin.spot(pinned, lines, text) if lines is not None else None for lines in texts]
    place, after = _end(trail, [span is not None for span in spans])
    lines, span = texts[place], spans[place]
    assert lines is not None and span is not None
    since = tuple((trail[later].by, texts[later]) for later in after)
    return Trace(path, lines, span, since), after


def _spans(pinned: Anchor, texts: Sequence[Lines | None]) -> Iterator[tuple[pin.Span, Lines]]:
    """Find the pinned lines in any edition: where the pin says, else anywhere."""
    known = [lines for lines in texts if lines is not None]
    for lines in known:
        if pin.stands(pinned, lines):
            yield (pinned.start, pinned.end), pin.cut(lines, pinned)
    hashed = 0
    for lines in known:
        for place in pin.find(pinned, lines)[:1]:
            yield (place.start, place.end), pin.cut(lines, place)
        hashed += len(lines)
        if hashed > _MOST_HASHED:
            return


def _end(trail: Sequence[Edition], holds: Sequence[bool]) -> tuple[int, list[int]]:
    """Find the newest edition that holds the lines, and the line of editions that came of it.

    At a merge the side that had lost them already is followed: there it happened, not in the merge.
    """
    if holds[0]:
        return 0, []
    child: dict[int, int | None] = {0: None}
    waiting, ends = [0], list[int]()
    for place in waiting:
        ends += [place] if any(holds[parent] for parent in trail[place].parents) else []
        fresh = [parent for parent in trail[place].parents if not holds[parent] and parent not in child]
        child |= dict.fromkeys(fresh, place)
        waiting += fresh
    if not ends:  # another note took the name, and its own history leads elsewhere
        place = holds.index(True)
        return place, [later for later in range(place - 1, -1, -1) if place in trail[later].parents][:1]
    end = next((place for place in ends if all(holds[parent] for parent in trail[place].parents)), ends[-1])
    after: list[int] = []
    step: int | None = end
    while step is not None:
        after.append(step)
        step = child[step]
    return next(parent for parent in trail[end].parents if holds[parent]), after


def _renamed_to(git: Git, path: str, after: Sequence[Edition]) -> str:
    """Give the name a note got when it left *path*; "" when it did not, or was deleted."""
    for edition in after:
        if not edition.blob and edition.path == path:
            return renamed_to(git, edition.by.revision, path)
    return ""
