"""A note's editions -> its facts: which value stood for which key, from when to when, set by whom.

Nothing is ever overwritten out of sight: a value that changed and changed back has three intervals.
Where a revision cannot be read, that is told, and nothing is made up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from memtool import pin
from memtool.errors import PathError
from memtool.facts.fields import Field, fields, unreadable
from memtool.git import Git
from memtool.history import moments, nested
from memtool.history.editions import Edition, editions, line_back, renamed_to, why_none
from memtool.history.history import Revision, tree
from memtool.note import note
from memtool.note.yaml_block import Value
from memtool.vault import Vault

_MOST_NAMES = 50


class Fact(NamedTuple):
    """A value that stood for a key in ``path``, from one revision up to another.

    ``since`` None: set by an edit that is not committed. ``until`` None: it still stands, unless
    ``ended``: an edit that is not committed took it away. A ``gap`` says why nothing could be read
    meanwhile; its value is "".
    """

    key: str
    value: Value
    path: str
    line: int
    since: Revision | None
    until: Revision | None
    ended: bool = False
    gap: str = ""


class Facts(NamedTuple):
    """All facts of a note, key by key, oldest first; ``remark`` says what could not be looked at."""

    path: str
    facts: tuple[Fact, ...]
    remark: str = ""


class _State(NamedTuple):
    """What one edition says; ``by`` None is the note as it lies on disk, no fields where it is away."""

    by: Revision | None
    path: str
    fields: Mapping[str, Field]
    gap: str
    parents: tuple[int, ...]

    def mark(self, key: str) -> object:
        """Give what two states must have in common for the same fact to stand in both; None for no fact."""
        if key in self.fields:
            return ("value", self.fields[key].value)
        return ("gap", self.gap) if self.gap else None


def facts(vault: Vault, path: str, *, key: str = "", as_of: str = "") -> Facts:
    """Read the facts of a note from its history; *key* "" takes all keys.

    *as_of* "" gives every interval; a commit, a tag or a date gives those that stood then. Raises
    PathError when no such note is or ever was there, UsageError when there was no such moment.
    """
    git = Git(vault.root)
    nested.require_own(git, vault.root, path, "facts")
    none = why_none(git)
    moment = moments.find(git, as_of).revision if as_of else ""
    past = set(git.run("rev-list", moment).decode().split()) if moment else None
    aside = bool(moment) and moment not in git.run("rev-list", "HEAD").decode().split()
    path, trail = _trail(vault, git, path, start=moment if aside else "HEAD") if not none else (path, [])
    states = _states(vault, git, path, trail, with_disk=not aside)
    if not states:
        vault.read(path)  # says in the vault's own words that there is no such note
    found = [fact for name in _keys(states, key) for fact in _intervals(name, states, past)]
    return Facts(path, tuple(found), none.what if none else "")


def _trail(vault: Vault, git: Git, path: str, *, start: str) -> tuple[str, list[Edition]]:
    """Follow a note to the name it has now, and give its editions."""
    found = editions(git, path, start=start)
    for _ in range(_MOST_NAMES):
        if not found or found[0].blob or _is_there(vault, path):
            break
        path = renamed_to(git, found[0].by.revision, path) or path
        found = editions(git, path, start=start)
    if not found and _is_there(vault, path) and (old := _renamed_just_now(vault, git, path)):
        found = editions(git, old)
    return path, found


def _is_there(vault: Vault, path: str) -> bool:
    try:
        vault.read(path)
    except PathError:
        return False
    return True


def _renamed_just_now(vault: Vault, git: Git, path: str) -> str:
    """Find the committed note that *path* was until a rename nobody committed yet."""
    here, lines = vault.walk().stats, note.parse(vault.read(path)).lines
    missing = {
        old: blob for old, blob in tree(git, "HEAD").items() if old.endswith(".md") and old not in here
    }
    texts = {blob: note.parse(data).lines for blob, data in git.blobs(missing.values())}
    likeness = {old: pin.alike(texts[blob], lines) for old, blob in missing.items() if blob in texts}
    best = max(likeness, key=lambda old: likeness[old], default="")
    return best if best and likeness[best] >= pin.KNOWN_AGAIN else ""


# -- what stood ------------------------------------------------------------------------------


def _states(vault: Vault, git: Git, path: str, trail: Sequence[Edition], *, with_disk: bool) -> list[_State]:
    """Read every edition, and before them the note on disk where it differs from the newest."""
    blobs = {edition.blob for edition in trail} - {""}
    notes = {blob: note.parse(data) for blob, data in git.blobs(blobs)}
    disk = note.parse(vault.read(path)) if with_disk and _is_there(vault, path) else None
    newest = notes.get(trail[0].blob) if trail else None
    ahead = with_disk and (disk.lines if disk else None) != (newest.lines if newest else None)
    shift = int(ahead)
    states = [_state(None, path, disk, (1,) if trail else ())] if ahead else []
    cached = {blob: _state(None, "", found, ()) for blob, found in notes.items()}
    for edition in trail:
        parents = tuple(parent + shift for parent in edition.parents)
        state = cached.get(edition.blob) or _state(None, "", None, ())
        gap = state.gap or (
            "its bytes are not in this clone" if edition.blob and edition.blob not in notes else ""
        )
        states.append(state._replace(by=edition.by, path=edition.path, gap=gap, parents=parents))
    return states


def _state(by: Revision | None, path: str, found: note.Note | None, parents: tuple[int, ...]) -> _State:
    return _State(by, path, fields(found) if found else {}, unreadable(found) if found else "", parents)


def _keys(states: Sequence[_State], key: str) -> Iterator[str]:
    """Name all keys: those of the newest state in the order of the note, then those of older ones."""
    for name in dict.fromkeys(name for state in states for name in state.fields):
        if not key or name.casefold() == key.casefold():
            yield name


def _intervals(key: str, states: Sequence[_State], past: set[str] | None) -> Iterator[Fact]:
    """Join the states in which the same stood; *past*: only what stood in the newest of these revisions."""
    marks = [state.mark(key) for state in states]
    line = line_back([state.parents for state in states], marks)
    runs = [list(run) for _, run in groupby(reversed(line), key=lambda place: marks[place])]
    then = next((place for place in line if past is not None and _is_in(states[place], past)), None)
    for at, run in enumerate(runs):
        if _is_told(key, states, runs, at) and (past is None or then in run):
            after = states[runs[at + 1][0]] if runs[at + 1 :] else None
            yield _fact(key, states[run[0]], states[run[-1]], after)


def _is_told(key: str, states: Sequence[_State], runs: Sequence[Sequence[int]], at: int) -> bool:
    """Tell a gap of this key from one of the note alone: its value was known before, or after."""
    if states[runs[at][0]].mark(key) is None:
        return False
    beside = [run for n, run in enumerate(runs) if abs(n - at) == 1]
    return key in states[runs[at][0]].fields or any(key in states[run[0]].fields for run in beside)


def _fact(key: str, first: _State, last: _State, after: _State | None) -> Fact:
    field = last.fields.get(key)
    value, line = (field.value, field.line) if field else ("", 1)
    ended = after is not None and after.by is None
    gap = "" if field else last.gap
    return Fact(key, value, last.path, line, first.by, after.by if after else None, ended, gap)


def _is_in(state: _State, past: set[str]) -> bool:
    return state.by is not None and state.by.revision in past
