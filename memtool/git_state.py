"""A work tree -> what keeps git from committing there now, each with the command that mends it.

Looks at the files git leaves while a merge, rebase or bisect is under way, and at its locks. Changes
and removes nothing: a lock may belong to somebody who is still at work.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from memtool.errors import Finding
from memtool.git import Git

OLD_LOCK_S = 600.0  # no command of git's holds its lock that long, but for one that waits for a person

_LOCKED = re.compile(r"[Uu]nable to create '([^\n]+?\.lock)': File exists")
_MOVED = re.compile(r"cannot lock ref '[^\n]+': is at \w+ but expected")


class _Step(NamedTuple):
    """Something that git is in the middle of: the file that tells, its name, and the ways out."""

    file: str
    code: str
    name: str
    finish: str
    leave: str


_STEPS = (
    _Step("MERGE_HEAD", "git-merge", "a merge", "git merge --continue", "git merge --abort"),
    _Step("rebase-apply/applying", "git-am", "a `git am`", "git am --continue", "git am --abort"),
    _Step("rebase-merge", "git-rebase", "a rebase", "git rebase --continue", "git rebase --abort"),
    _Step("rebase-apply", "git-rebase", "a rebase", "git rebase --continue", "git rebase --abort"),
    _Step(
        "CHERRY_PICK_HEAD",
        "git-cherry-pick",
        "a cherry-pick",
        "git cherry-pick --continue",
        "git cherry-pick --abort",
    ),
    _Step("REVERT_HEAD", "git-revert", "a revert", "git revert --continue", "git revert --abort"),
    _Step(
        "sequencer/todo",
        "git-cherry-pick",
        "a series of picks or reverts",
        "git cherry-pick --continue",
        "git cherry-pick --quit",
    ),
    _Step("BISECT_LOG", "git-bisect", "a bisect", "git bisect reset", ""),
)

#: The codes of all that git can be in the middle of.
CODES = frozenset(step.code for step in _STEPS)


def git_folder(git: Git) -> Path:
    """Give where git keeps HEAD and the index of this work tree; a linked one has its own."""
    return Path(os.fsdecode(git.run("rev-parse", "--absolute-git-dir").removesuffix(b"\n")))


def under_way(git: Git) -> Finding | None:
    """Tell what git is in the middle of: committing then would make it part of that."""
    folder = git_folder(git)
    step = next((step for step in _STEPS if os.path.lexists(folder / step.file)), None)
    if step is None:
        return None
    leave = f", or leave it with `{step.leave}`" if step.leave else ""
    what = f"{step.name} is under way, so nothing is committed"
    return Finding(step.code, ".", 0, what, f"finish it with `{step.finish}`{leave}")


def unmerged(states: dict[str, str]) -> Finding | None:
    """Tell of two versions that were never brought together, as a `git stash pop` can leave them."""
    paths = [path for path, state in states.items() if "U" in state or state in ("AA", "DD")]
    if not paths:
        return None
    what = "two versions of it were never brought together, so nothing is committed"
    return Finding("git-unmerged", paths[0], 0, what, "keep the right lines, then run `git add` on it")


def detached(git: Git) -> Finding | None:
    """Tell that no branch holds what is committed now: it is safe until another revision is checked out."""
    if git.head().branch is not None:
        return None
    what = "HEAD is detached: no branch holds what is committed here"
    return Finding("git-detached", ".", 0, what, "run `git switch -c NAME` to keep it on a branch")


def locks(git: Git, now: float) -> Iterator[Finding]:
    """Tell of git's own locks, with path and age."""
    folder = git_folder(git)
    for name in ("index.lock", "HEAD.lock"):
        if (folder / name).exists():
            yield lock_finding(folder / name, now)


def lock_age(file: Path, now: float) -> float:
    """Give the age of a lock in seconds; 0 when it went away meanwhile."""
    try:
        return max(0.0, now - file.stat().st_mtime)
    except OSError:
        return 0.0


def lock_finding(file: Path, now: float) -> Finding:
    """Say which lock is in the way, how old it is, and how a person may go on."""
    age = lock_age(file, now)
    what = f"git is locked: `{file}` is {spoken(age)} old"
    fix = "wait for the other git command to end"
    if age > OLD_LOCK_S:
        fix = f"see that no git command runs here, then run `rm '{file}'`"
    return Finding("git-lock", ".", 0, what, fix)


def held_lock(said: str) -> Path | None:
    """Find in git's words which lock stopped it."""
    found = _LOCKED.search(said)
    return Path(found[1]) if found else None


def was_overtaken(said: str) -> bool:
    """Tell from git's words that another commit came first."""
    return _MOVED.search(said) is not None


def spoken(seconds: float) -> str:
    """Say an age the way people do.

    >>> spoken(7), spoken(90), spoken(7200), spoken(200_000)
    ('7 s', '1 min', '2 h', '2 days')
    """
    for unit, size in ((" days", 86_400), (" h", 3600), (" min", 60)):
        if seconds >= (2 * size if size == 86_400 else size):
            return f"{int(seconds // size)}{unit}"
    return f"{int(seconds)} s"
