"""Several notes of one commit -> what `git blame` would say of each, worked out from one walk.

Git walks the whole history for every note it blames; asked for the changes of all notes at once it
walks it once. Only the plain case is told: no merge among the changes, no rename, no odd name. What
is not told has to be blamed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from memtool.git import Git

# Told in full, so that no setting of a repository changes how lines are compared; as blame compares.
_LOG = (
    *("log", "--topo-order", "--parents", "--raw", "--patch", "-U0", "--inter-hunk-context=0", "--text"),
    *("--diff-algorithm=myers", "--no-abbrev", "--no-renames", "--no-relative", "--root"),
    *("--diff-merges=first-parent", "--no-show-signature", "--no-notes", "--no-ext-diff", "--no-textconv"),
    *("--no-color", "--format=tformat:%x01%H %P"),
)
_RENAMES = (
    *("diff-tree", "-z", "-r", "-m", "-M", "-l2000", "--stdin", "--name-status", "--diff-filter=R"),
    *("--no-relative", "--no-commit-id"),
)
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
#: Git writes such names in quotes.
_QUOTED = re.compile(r"[\x00-\x1f\x7f\"\\]")

#: From this many notes on, one walk for all of them pays.
LEAST = 2

Origin = tuple[int, int, str]
"""First and last line, and the revision they come from."""

Hunk = tuple[int, int, int, int]
"""Where lines went and came: old start, old count, new start, new count."""


class Whole(NamedTuple):
    """The bytes of a note at the commit: their name, and how many lines they are."""

    blob: str
    lines: int


class _Change(NamedTuple):
    """What a revision did to one note."""

    kind: bytes
    blob: str
    path: bytes
    hunks: list[Hunk]


def tell(git: Git, head: str, notes: Mapping[str, Whole]) -> dict[str, list[Origin]]:
    """Tell of each note which lines come from which revision; notes that are no plain case are left out."""
    plain = {path: whole for path, whole in notes.items() if not _QUOTED.search(path)}
    if len(plain) < LEAST:
        return {}
    prefix = os.fsencode(git.prefix())
    traces = {prefix + os.fsencode(path): _Trace(whole) for path, whole in plain.items()}
    for revision, parents, changes in _read(git.run(*_LOG, head, "--", *plain)):
        if len(parents) > 1 or any(change.kind == b"T" for change in changes):
            return {}
        for change in changes:
            if change.path in traces:
                traces[change.path].pass_on(revision, change)
    renamed = _renamed(git, {trace.begun for trace in traces.values() if trace.begun})
    return {
        os.fsdecode(path.removeprefix(prefix)): trace.found
        for path, trace in traces.items()
        if trace.begun and path not in renamed
    }


class _Trace:
    """The lines of one note on their way back: each revision takes those it brought."""

    def __init__(self, whole: Whole) -> None:
        self.whole = whole
        self.found: list[Origin] = []
        self.begun = ""  # the revision that added the note, once it was met
        self._lines: list[int] | None = None  # of the version at hand: numbers at the end, 0 for others
        self._is_odd = False

    def pass_on(self, revision: str, change: _Change) -> None:
        """Take what *revision* brought, and go on to the version before it."""
        if self.begun or self._is_odd:
            return
        if self._lines is None:
            self._is_odd = change.blob != self.whole.blob
            self._lines = list(range(1, self.whole.lines + 1))
        older: list[int] = []
        at = 0
        for _, gone, start, came in change.hunks:
            first = start - 1 if came else start
            older += self._lines[at:first]
            self._take(revision, self._lines[first : first + came])
            older += [0] * gone
            at = first + came
        self._lines = older + self._lines[at:]
        if change.kind == b"A" and not self._is_odd:
            self.begun = revision

    def _take(self, revision: str, lines: Iterable[int]) -> None:
        self.found += [(line, line, revision) for line in lines if line]


def _read(out: bytes) -> Iterator[tuple[str, list[str], list[_Change]]]:
    """Read commits with their parents and changes; lines of notes begin with ``+``, ``-`` or a backslash."""
    revision, parents, changes, patch = "", list[str](), list[_Change](), -1
    for line in out.split(b"\n"):
        mark = line[:1]
        if mark == b"\x01":
            if revision:
                yield revision, parents, changes
            revision, *parents = line[1:].decode().split()
            changes, patch = [], -1
        elif mark == b":":
            about, _, path = line.partition(b"\t")
            *_, blob, kind = about.split(b" ")
            changes.append(_Change(kind, blob.decode(), path, []))
        elif mark == b"d" and line.startswith(b"diff --git "):
            patch += 1
        elif mark == b"@" and (found := _HUNK.match(line)):
            old, gone, new, came = (1 if part is None else int(part) for part in found.groups())
            changes[patch].hunks.append((old, gone, new, came))
    if revision:
        yield revision, parents, changes


def _renamed(git: Git, revisions: set[str]) -> set[bytes]:
    """Give the paths that these revisions gave to notes which had another before."""
    if not revisions:
        return set()
    out = git.run(*_RENAMES, stdin="".join(f"{revision}\n" for revision in sorted(revisions)).encode())
    tokens = iter(out.split(b"\0"))
    return {path for kind, _, path in zip(tokens, tokens, tokens, strict=False) if kind.startswith(b"R")}
