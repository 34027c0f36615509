"""A note and a new path, or none -> the note there, or gone: never over another one, never out of the vault.

To be called under the vault's lock, like `Vault.replace`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from memtool import files, names
from memtool.errors import ConflictError, PathError, VaultError
from memtool.vault import Vault, digest


def target(vault: Vault, path: str, to: str) -> str:
    """Decide where a note goes that is to be moved *to* a note's path or a folder.

    Folders are spelt as on disk. PathError when no note may be called that, ConflictError when there
    is one already, on this system or on another.
    """
    is_folder = to.endswith("/") or (names.is_path(f"{to}/x.md") and os.path.isdir(vault.root / to))
    if is_folder:
        to = f"{to.rstrip('/')}/{path.rpartition('/')[2]}"
    elif not names.is_note(to.rpartition("/")[2]):
        to = f"{to}.md"
    if reason := names.objection(to):
        raise unfit(to, reason)
    folder, _, name = to.rpartition("/")
    to = f"{vault.spell(folder)}/{name}" if folder else name
    spelt = vault.spell(to)
    if os.path.lexists(vault.root / spelt) and not (spelt == path and to != path):
        same = "it is there already" if spelt == to else f"on some systems `{spelt}` is the same name"
        raise ConflictError(
            f"`{names.printable(to)}` cannot be where `{names.printable(path)}` goes",
            why=same if spelt != path else "it is there already, under this very name",
            fix="choose another name",
        )
    return to


def unfit(to: str, reason: str) -> PathError:
    """Say that no note may be called that; whether something lies there makes no difference."""
    fix = "choose a path like `folder/name.md`"
    return PathError(f"`{names.printable(to)}` cannot be the name of a note", why=reason, fix=fix)


def rename(vault: Vault, path: str, to: str, *, base: str) -> None:
    """Give the note *path*, whose digest is *base*, the name that `target` decided on."""
    with _told(path), files.parent(str(vault.root), path) as (folder, name):
        _must_be(vault, path, base)
        with files.parent(str(vault.root), to, make=True) as (new_folder, new_name):
            if names.key(path) == names.key(to):
                os.rename(name, new_name, src_dir_fd=folder, dst_dir_fd=new_folder)
                return
            try:
                # A link is refused where something has that name by now; a rename would replace it.
                os.link(name, new_name, src_dir_fd=folder, dst_dir_fd=new_folder, follow_symlinks=False)
            except FileExistsError:
                raise ConflictError(f"`{to}` was made meanwhile", fix="choose another name") from None
            os.unlink(name, dir_fd=folder)


def remove(vault: Vault, path: str, *, base: str) -> None:
    """Take the note away whose digest is *base*; its history keeps it."""
    with _told(path), files.parent(str(vault.root), path) as (folder, name):
        _must_be(vault, path, base)
        os.unlink(name, dir_fd=folder)


def _must_be(vault: Vault, path: str, base: str) -> None:
    if digest(vault.read(path)) != base:
        fix = f"look at it with `memtool show {path}`, then try again"
        raise ConflictError(f"{path} changed meanwhile", why="it is not what it was", fix=fix)


@contextmanager
def _told(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        fix = "see that you may write there"
        raise VaultError(f"`{names.printable(path)}` was not moved", why=why, fix=fix) from error
