"""Where a command starts -> where its vault is, and where the vault's caches may lie.

Looks at names of folders only. Knows nothing of notes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from memtool.errors import Finding, VaultError
from memtool.repository import find_work_tree, has_git, is_bare

CATALOG = "MEMORY.md"
PRIVATE = ".memtool"


def current(start: str | Path | None) -> Path:
    """Give the real path to start from; ``None`` is the current folder."""
    try:
        return Path(os.path.realpath(start or os.getcwd()))
    except FileNotFoundError as error:
        fix = "go to another folder, or name the vault with `--vault`"
        raise VaultError("the current folder is gone", why="it was removed", fix=fix) from error


def search_upwards(start: Path) -> Path:
    """Prefer the nearest private folder, then the nearest catalog, then the git work tree."""
    refuse_git_folders(start)
    above = (start, *start.parents)
    for folder in above:
        if os.path.isdir(folder / PRIVATE):
            return folder
    for folder in above:
        if os.path.isfile(folder / CATALOG):
            return folder
    if tree := find_work_tree(start):
        return tree
    raise VaultError(
        f"there is no vault at `{start}` or above it",
        why=f"no folder there holds `{PRIVATE}/` or `{CATALOG}`, and none is a git work tree",
        fix="run `memtool init` here, or name a folder of notes with `--vault` or MEMTOOL_VAULT",
    )


def ignore(private: Path) -> None:
    """Let the private folder ignore itself, all but the rules, which are for everybody."""
    file = private / ".gitignore"
    try:
        is_ours = os.lstat(file).st_size == 2  # "*" and no more, as older versions wrote it
    except FileNotFoundError:
        is_ours = True
    if is_ours and not file.is_symlink():
        file.write_text("*\n!policy.toml\n", encoding="utf-8")


def refuse_git_folders(folder: Path) -> None:
    """Refuse folders whose files are git's or memtool's own."""
    for part in (folder, *folder.parents):
        # A linked work tree may lie inside the bare repository it belongs to.
        if has_git(part):
            return
        if part.name == PRIVATE or part.name == ".git" or is_bare(part):
            what = "memtool's own folder" if part.name == PRIVATE else "a git repository without a work tree"
            raise VaultError(
                f"`{folder}` cannot be a vault",
                why=f"`{part}` is {what}",
                fix="use a folder of notes: for a bare repository, `git clone` it and use the clone",
            )


def private_folder(root: Path, environment: Mapping[str, str]) -> tuple[Path, tuple[Finding, ...]]:
    """Choose where caches go: inside the vault, or in the user's cache folder when that cannot be."""
    inside = root / PRIVATE
    reason = _why_not(inside)
    if not reason:
        return inside, ()
    import hashlib

    home = environment.get("XDG_CACHE_HOME", "")
    # The XDG rules: a relative path there is to be ignored.
    base = Path(home) if os.path.isabs(home) else Path(environment.get("HOME") or "~").expanduser() / ".cache"
    elsewhere = base / "memtool" / hashlib.sha256(os.fsencode(root)).hexdigest()[:16]
    what = f"{reason}; caches are kept in `{elsewhere}`"
    return elsewhere, (
        Finding("cache-elsewhere", PRIVATE, 0, what, f"make `{inside}` a folder you may write"),
    )


def _why_not(inside: Path) -> str:
    """Say why *inside* cannot hold caches: a vault comes by `git clone`, its links may lead anywhere."""
    for folder in (inside, inside / "cache", inside / "state"):
        if folder.is_symlink():
            return f"`{folder.relative_to(inside.parent)}` is a link"
        if os.path.exists(folder) and not os.path.isdir(folder):
            return f"`{folder.relative_to(inside.parent)}` is not a folder"
        if os.path.exists(folder) and not os.access(folder, os.W_OK | os.X_OK):
            return f"`{folder.relative_to(inside.parent)}` is read-only"
    if not os.path.exists(inside) and not os.access(inside.parent, os.W_OK | os.X_OK):
        return "the vault is read-only"
    return ""
