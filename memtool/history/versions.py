"""A note's path -> its versions, oldest first: every edition git has, then the file as it is now.

Knows where editions and the file meet, and which name a note has now. Knows nothing of what is
asked of the versions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from heapq import heappop, heappush

from memtool.errors import GitError, NoteError, PathError
from memtool.git import Git
from memtool.history import history
from memtool.history.editions import Edition, editions, renamed_to, why_none
from memtool.history.timeline import Version
from memtool.note import note
from memtool.vault import blob

Read = Callable[[str], bytes]

#: A note whose name changed more often than this is not followed further.
MOST_NAMES = 50


def need_history(git: Git) -> None:
    """Raise GitError, with the way out, where no note has a history."""
    if problem := why_none(git):
        raise GitError(problem.what, fix=problem.fix)


def versions(read: Read, git: Git, path: str) -> list[Version]:
    """List a note's versions, oldest first, what is not committed yet as the last; [] for no such note.

    All sides of a merge are told, each version before those that were made from it.

    *read* gives the bytes of a note as it is now, by its path as seen from *git*.
    """
    found = editions(git, path)
    try:
        data = read(path)
    except PathError:
        data = None
    if not found and data is not None and (old := _name_before(read, git, data)):
        found = editions(git, old)
    line = _in_order(found)
    known = _parsed(git, line)

    def add(lines: Sequence[str] | None) -> None:
        known.append(Version(None, path, lines, (len(known) - 1,) if known else ()))

    if data is None:
        if known and known[-1].lines is not None:
            add(None)
        return known
    if line and line[-1].path != path:  # a new name that git was not told of yet
        add(known[-1].lines)
    if not line or line[-1].blob != blob(data):
        lines = note.parse(data).lines
        # A checkout may turn LF into CRLF: that is no edit.
        if not known or known[-1].lines != lines:
            add(lines)
    return known


def _name_before(read: Read, git: Git, data: bytes) -> str:
    """Find the name the last commit has for these bytes, where the note was renamed since."""

    def is_gone(path: str) -> bool:
        try:
            read(path)
        except PathError:
            return True
        except NoteError:
            pass
        return False

    return history.name_of(git, "HEAD", blob(data), is_gone)


def _in_order(found: Sequence[Edition]) -> list[Edition]:
    """Put the editions that led to the newest in order, oldest first; those side by side by their days."""
    reached, children = {0} if found else set[int](), Counter[int]()
    waiting = [*reached]
    for place in waiting:  # it grows with every edition that is found
        fresh = {*found[place].parents} - reached
        children.update({*found[place].parents})
        reached |= fresh
        waiting += fresh
    order, free = list[int](), [(0.0, 0)] if found else []
    while free:
        order.append(heappop(free)[1])
        for parent in {*found[order[-1]].parents}:
            children[parent] -= 1
            if not children[parent]:
                heappush(free, (-found[parent].by.when.timestamp(), parent))
    order.reverse()
    places = {old: new for new, old in enumerate(order)}
    return [
        found[old]._replace(parents=tuple(dict.fromkeys(places[parent] for parent in found[old].parents)))
        for old in order
    ]


def _parsed(git: Git, line: Sequence[Edition]) -> list[Version]:
    blobs = filter(None, (one.blob for one in line))
    texts = {name: note.parse(data).lines for name, data in git.blobs(blobs)}
    return [Version(one.by, one.path, texts.get(one.blob), one.parents) for one in line]


def newest_name(git: Git, path: str) -> str:
    """Follow a note forward through its renames."""
    for _ in range(MOST_NAMES):
        found = editions(git, path)
        if not found or found[0].blob:
            break
        name = renamed_to(git, found[0].by.revision, path)
        if not name:
            break
        path = name
    return path
