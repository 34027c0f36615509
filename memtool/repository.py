"""A folder -> the git repository around it: read from git's files, no command run.

Answers what every search asks (is there a work tree, which revision) in microseconds. Where git's
files are not the plain kind it says so, and the git command is asked instead.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

_REVISION = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


class Head(NamedTuple):
    """Where a work tree stands: ``revision`` None before the first commit, ``branch`` None when detached."""

    revision: str | None
    branch: str | None


def find_work_tree(folder: Path) -> Path | None:
    """Find the nearest folder that holds `.git`: a folder, or a file in linked work trees and submodules."""
    return next((above for above in (folder, *folder.parents) if has_git(above)), None)


def has_git(folder: Path) -> bool:
    """Tell the root of a work tree."""
    return _git_folder(folder / ".git") is not None


def is_bare(folder: Path) -> bool:
    """Tell a repository's inside, which a bare repository is from the start."""
    here = str(folder)
    return (
        os.path.isfile(f"{here}/HEAD") and os.path.isdir(f"{here}/objects") and os.path.isdir(f"{here}/refs")
    )


def _git_folder(place: Path) -> Path | None:
    """Follow `.git` to the folder with HEAD in it."""
    try:
        if os.path.isfile(place):
            said = _text(place)
            place = place.parent / said.removeprefix("gitdir:").strip()
        return place if os.path.isfile(place / "HEAD") else None
    except (OSError, ValueError):
        return None


def read_head(place: Path) -> Head | None:
    """Read HEAD from its files; ``None`` when they are not the plain kind, and git must be asked."""
    folder = _git_folder(place)
    if folder is None:
        return None
    try:
        said = _text(folder / "HEAD").strip()
        if _REVISION.fullmatch(said):
            return Head(said, None)
        reference = said.removeprefix("ref: ")
        if not reference.startswith("refs/heads/") or not (_shared(folder) / "refs").is_dir():
            return None
        if (_shared(folder) / "reftable").exists() or ".." in reference:
            return None
        revision = _read_reference(_shared(folder), reference)
    except OSError:
        return None
    if revision is not None and not _REVISION.fullmatch(revision):
        return None
    return Head(revision, reference.removeprefix("refs/heads/"))


def _shared(folder: Path) -> Path:
    """Give where branches lie: a linked work tree has its own HEAD and shares the rest."""
    try:
        return folder / _text(folder / "commondir").strip()
    except FileNotFoundError:
        return folder


def _read_reference(folder: Path, reference: str) -> str | None:
    try:
        return _text(folder / reference).strip()
    except FileNotFoundError:
        pass
    try:
        packed = _text(folder / "packed-refs")
    except FileNotFoundError:
        return None
    lines = (line.split(" ", 1) for line in packed.split("\n"))
    return next((line[0] for line in lines if len(line) == 2 and line[1].rstrip("\r") == reference), None)


def find_reference(place: Path, name: str) -> str | None:
    """Find the one tag or branch called *name*: "" where there is none, None where git must be asked."""
    folder = _git_folder(place)
    if folder is None or ".." in name or name.startswith(("/", "-")) or name.endswith("/"):
        return None
    shared = _shared(folder)
    if not (shared / "refs").is_dir() or (shared / "reftable").exists():
        return None
    try:
        found = [
            revision
            for kind in ("refs/tags/", "refs/heads/", "refs/remotes/", "refs/", "")
            if (kind or name.startswith("refs/")) and (revision := _read_reference(shared, kind + name))
        ]
    except (OSError, ValueError):
        return None
    if len(found) > 1 or not all(map(_REVISION.fullmatch, found)):
        return None
    return found[0] if found else ""


def shallow(place: Path) -> str:
    """Name the commits at which a shallow clone ends; "" for a whole one."""
    folder = _git_folder(place)
    try:
        return " ".join(_text(_shared(folder) / "shallow").split()) if folder else ""
    except OSError:
        return ""


def _text(file: Path) -> str:
    # A pipe in a file's place would keep its reader waiting for ever.
    if not os.path.isfile(file):
        raise FileNotFoundError(file)
    return file.read_text(encoding="utf-8", errors="surrogateescape")


def git_folder(tree: Path) -> Path | None:
    """Give the folder that git keeps for the work tree at *tree*."""
    return _git_folder(tree / ".git")
