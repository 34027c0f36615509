"""A note's path -> the repository it belongs to, and its path there.

A vault may hold other repositories: submodules, and clones that somebody put there. The notes in them
are the vault's, and their history is theirs. Runs no command.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from memtool import names
from memtool.errors import GitError
from memtool.git import Git
from memtool.repository import find_work_tree


class Home(NamedTuple):
    """Where a note's history is: ``prefix`` is the other repository's folder in the vault, "" for none."""

    git: Git
    prefix: str
    path: str  # as seen from there


def home(git: Git, root: Path, path: str) -> Home:
    """Find where the history of a note is; *git* is the vault's own, at *root*."""
    folder = (root / path).parent
    tree = find_work_tree(folder)
    if tree is None or tree == root or not tree.is_relative_to(root):
        return Home(git, "", path)
    # A name or a link may lead out of the vault, and what lies there is not the vault's to tell.
    if not names.is_path(path) or not folder.resolve().is_relative_to(root.resolve()):
        return Home(git, "", path)
    prefix = f"{tree.relative_to(root).as_posix()}/"
    return Home(Git(tree), prefix, path.removeprefix(prefix))


def require_own(git: Git, root: Path, path: str, command: str) -> None:
    """Raise GitError, with what to run there, where a note belongs to another repository."""
    if prefix := home(git, root, path).prefix:
        folder = prefix.rstrip("/")
        raise GitError(
            f"`{path}` belongs to another repository, the one in `{folder}`",
            why="the vault's own history knows nothing of it",
            fix=f"run `memtool {command} {path.removeprefix(prefix)} --vault {root / folder}`",
        )
