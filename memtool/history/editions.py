"""A note's path -> its editions: what each revision made of it, newest first, renames followed.

Where branches changed a note side by side, both sides are told, and which edition came of which.
Asks git once for every name the note had. Knows nothing of what is not committed yet.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from memtool.errors import Finding, VaultError
from memtool.git import Git
from memtool.history.history import Revision, revisions

# Told in full, so that no setting of a repository can change the shape of what is read here.
_LOG = (
    *("log", "-z", "--topo-order", "--parents", "--root", "--raw", "--no-abbrev", "--no-renames"),
    *("--relative", "--diff-merges=separate", "--no-show-signature", "--no-notes", "--no-ext-diff"),
    "--format=tformat:%H%x00%P",
)
_RENAMES = ("diff-tree", "-z", "-r", "-M", "-l2000", "--raw", "--no-abbrev", "--relative", "--diff-filter=R")
_MOST_NAMES = 100


class Edition(NamedTuple):
    """A note as one revision left it.

    ``blob`` is "" where the revision took the note away. ``parents`` are the places, in the list the
    edition came in, of those it was made from: none where the note began, two where they were merged.
    """

    by: Revision
    path: str
    blob: str
    parents: tuple[int, ...]


class _Logged(NamedTuple):
    """One commit of the history of one path."""

    revision: str
    parents: tuple[str, ...]
    blob: str
    is_new: bool


def who(by: Revision) -> str:
    """Name the agent that wrote a revision, else its author."""
    return by.writer if by.writer.startswith("agent/") else by.author


def why_none(git: Git) -> Finding | None:
    """Say why no note has a history here; None when they may have one."""
    try:
        if problem := git.problem():
            return problem
        if git.head().revision is None:
            what = "nothing was committed yet, so there is no history"
            return Finding("git-unborn", ".", 0, what, "git add -A && git commit -m 'Start the vault'")
    except VaultError as error:
        return Finding("git-failed", ".", 0, error.what, error.fix)
    return None


def editions(git: Git, path: str, *, start: str = "HEAD") -> list[Edition]:
    """List the editions of the note that is or was called *path* at *start*; none if none ever was."""
    found: list[tuple[_Logged, str]] = []
    parents: list[tuple[int, ...]] = []
    known: dict[tuple[str, str], int] = {}
    waiting: list[tuple[str, str, int | None]] = [(path, start, None)]
    for name, begin, child in waiting:  # it grows with every rename that is found
        part = _log(git, name, begin)
        if not part:
            continue
        first = len(found)
        place = known.get((part[0].revision, name), first)
        if child is not None:
            parents[child] = (*(parent for parent in parents[child] if found[parent][0].blob), place)
        if place < first or len(waiting) > _MOST_NAMES:
            continue
        places = {logged.revision: place for place, logged in enumerate(part, first)}
        merges = _merges(git, places)
        found += [(logged, name) for logged in part]
        parents += [tuple(places[p] for p in logged.parents if p in places) for logged in part]
        known |= {(revision, name): place for revision, place in places.items()}
        waiting += [
            (old, parent, places[logged.revision])
            for logged in part
            if logged.is_new or logged.revision in merges
            for parent, old in renamed(git, logged.revision, name)
        ]
    by = revisions(git, {logged.revision for logged, _ in found})
    return [
        Edition(by[logged.revision], name, logged.blob, parents[place])
        for place, (logged, name) in enumerate(found)
    ]


def _log(git: Git, path: str, start: str) -> list[_Logged]:
    """List the commits that changed one path; their parents are those that changed it before."""
    found: list[_Logged] = []
    tokens = iter(git.run(*_LOG, start, "--", path).split(b"\0"))
    for token in tokens:
        if token.lstrip(b"\n").startswith(b":"):
            fields = token.decode().split()
            blob = fields[3] if fields[3].strip("0") else ""
            found[-1] = found[-1]._replace(blob=blob, is_new=found[-1].is_new or fields[4] == "A")
            next(tokens)
        elif token.strip():
            revision, parents = token.decode().strip(), next(tokens).decode().split()
            if not found or found[-1].revision != revision:  # a merge is told once for each parent
                found.append(_Logged(revision, tuple(parents), "", False))
    return found


def _merges(git: Git, names: Iterable[str]) -> set[str]:
    """Tell which commits are merges: to one of their parents the path may be another name."""
    stdin = "".join(f"{name}\n" for name in names).encode()
    out = git.run("rev-list", "--no-walk=unsorted", "--parents", "--stdin", stdin=stdin).decode()
    return {line.partition(" ")[0] for line in out.split("\n") if line.count(" ") > 1}


def renamed(git: Git, revision: str, path: str) -> Iterator[tuple[str, str]]:
    """Give each parent of a revision in which *path* had another name, and that name."""
    for parent, old, new in _renames(git, revision):
        if new == path:
            yield parent, old


def renamed_to(git: Git, revision: str, path: str) -> str:
    """Give the name that a revision gave to what was called *path*; "" when it took it away."""
    return next((new for _, old, new in _renames(git, revision) if old == path), "")


def _renames(git: Git, revision: str) -> Iterator[tuple[str, str, str]]:
    for parent in git.run("rev-parse", f"{revision}^@").decode().split():
        tokens = iter(git.run(*_RENAMES, parent, revision).split(b"\0"))
        for _, old, new in zip(tokens, tokens, tokens, strict=False):
            yield parent, os.fsdecode(old), os.fsdecode(new)


def line_back(parents: Sequence[Sequence[int]], like: Sequence[object]) -> list[int]:
    """Walk from place 0, the newest, to the beginning; at a merge, along the first side that is alike.

    *like* has for each place what is asked about: where a merge took it from one side, that side is
    its history, and the other is not.

    >>> line_back([(1, 2), (3,), (3,), ()], ["new", "old", "new", "old"])
    [0, 2, 3]
    """
    line = [0]
    while ahead := [place for place in parents[line[-1]] if place not in line]:
        same = (place for place in ahead if like[place] == like[line[-1]])
        line.append(next(same, ahead[0]))
    return line
