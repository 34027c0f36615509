"""A folder -> a vault: found, its notes listed, read and replaced, never outside of it.

Knows where a vault begins, where its private folder lies, and how to say that a note cannot be had.
Knows nothing of what notes say.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from memtool import files, names, places
from memtool.errors import ConflictError, LockError, NoteError, PathError, VaultError
from memtool.files import Stat, open_folder
from memtool.walk import Walk, walk

__all__ = ["LARGEST", "Stat", "Vault", "Walk", "blob", "digest"]

LARGEST = 64 * 1024 * 1024  # bytes; a "note" above this is a mistake, and would cost a search its memory

_NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.EINVAL)


def blob(data: bytes) -> str:
    """Name bytes the way git does, so that the vault now and a commit of it compare by name.

    >>> blob(b"")
    'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'
    """
    import hashlib

    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def digest(data: bytes) -> str:
    """Give the SHA-256 of *data* in hex: what a change says it was based on."""
    import hashlib

    return hashlib.sha256(data).hexdigest()


class Vault:
    """A folder of notes that exists and is not git's own; ``root`` is its real path."""

    def __init__(self, root: Path, *, environment: Mapping[str, str]) -> None:
        self.root, self._root = root, str(root)
        self.private, self.findings = places.private_folder(root, environment)
        self.cache, self.state = self.private / "cache", self.private / "state"

    @classmethod
    def open(cls, folder: str | Path, *, environment: Mapping[str, str] = os.environ) -> Vault:
        """Take exactly *folder*: nothing above it is looked at."""
        root = Path(os.path.realpath(str(folder).replace("\0", "\N{REPLACEMENT CHARACTER}")))
        if not os.path.isdir(root):
            raise VaultError(
                f"there is no vault at `{folder}`",
                why="it is not a folder" if os.path.exists(root) else "there is no such folder",
                fix=f"run `memtool init {folder}`, or name another folder with `--vault`",
            )
        places.refuse_git_folders(root)
        return cls(root, environment=environment)

    @classmethod
    def find(
        cls,
        folder: str | Path | None = None,
        *,
        start: str | Path | None = None,
        environment: Mapping[str, str] = os.environ,
    ) -> Vault:
        """Open *folder*, else ``MEMTOOL_VAULT``, else look upwards from *start* (the current folder)."""
        named = folder or environment.get("MEMTOOL_VAULT")
        return cls.open(named or places.search_upwards(places.current(start)), environment=environment)

    def walk(self, *, ignore: Sequence[str] = (), opener: Callable[[str, str], int] = open_folder) -> Walk:
        """Look at every note: one stat each. Raises VaultError when the vault itself cannot be listed."""
        try:
            return walk(self._root, ignore=ignore, opener=opener)
        except OSError as error:
            raise VaultError(
                f"the vault `{self.root}` cannot be listed",
                why=_reason(error),
                fix="see that it is mounted and that you may read it",
            ) from error

    def read(self, path: str) -> bytes:
        """Read a note. PathError when *path* names none, in or out of the vault; NoteError when it fails."""
        return self.read_with_stat(path)[0]

    def read_with_stat(self, path: str) -> tuple[bytes, Stat]:
        """Read a note with the stat its bytes belong to: of the open file, taken before its first byte."""
        data, it = self._read(path)
        return data, files.stat_of(it)

    def _read(self, path: str) -> tuple[bytes, os.stat_result]:
        if not names.is_path(path):
            raise _no_note(path)
        try:
            with files.parent(self._root, path) as (folder, name):
                return files.read(folder, name, largest=LARGEST)
        except OSError as error:
            if error.errno not in _NOT_THERE:
                raise _unreadable(path, error) from error
        # Not there, or reached through a link: the walk lists such a note under its real path.
        real = self.resolve(path)
        if real == path:
            raise _no_note(path)
        return self._read(real)

    def resolve(self, path: str) -> str:
        """Give the path under which the walk lists a note: links inside the vault followed."""
        try:
            real = os.path.realpath(f"{self._root}/{path}", strict=True) if names.is_path(path) else "/"
        except OSError:
            raise _no_note(path) from None
        inside = os.path.relpath(real, self._root)
        if not names.is_path(inside):
            raise _no_note(path)
        return inside

    def names(self, folder: str) -> list[str]:
        """List everything in *folder* ("" is the vault itself); a folder that is not there holds nothing."""
        if folder and not names.is_path(f"{folder}/note.md"):
            fix = "name one below the vault, as in `ops/keys`"
            raise PathError(f"`{names.printable(folder)}` can be no folder of this vault", fix=fix)
        try:
            handle = files.open_beneath(self._root, folder.split("/") if folder else [])
        except OSError as error:
            if error.errno in _NOT_THERE:
                return []
            raise _unreadable(folder, error) from error
        try:
            return sorted(os.listdir(handle))
        finally:
            os.close(handle)

    def prepare(self, folder: Path) -> Path:
        """Create ``cache`` or ``state`` when it is first needed; the private folder ignores itself."""
        if not os.path.isdir(self.root):  # it must not come back as an empty one
            raise VaultError(f"the vault `{self.root}` is gone", fix="mount it, or make it again")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            places.ignore(self.private)
        except OSError as error:
            fix = "see that you may write there"
            raise VaultError(f"`{folder}` cannot be made", why=_reason(error), fix=fix) from error
        return folder

    @contextmanager
    def lock(self, timeout_s: float = 10.0) -> Iterator[None]:
        """Hold the vault's lock; whoever holds it is the only one that changes notes."""
        handle = _lock(self.prepare(self.state) / "lock", timeout_s)
        try:
            os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
            scratch = open_folder(str(self.state), "")
            try:
                files.remove_temporaries(scratch)
            finally:
                os.close(scratch)
            yield
        finally:
            os.ftruncate(handle, 0)
            os.close(handle)

    def replace(self, path: str, data: bytes, *, base: str | None) -> str:
        """Put *data* in place of the note whose digest is *base*; ``None``: there must be none yet.

        Gives the path written, which differs from *path* where that is a link. Atomic: a reader sees the
        old bytes or the new ones. To be called under ``lock``.
        """
        try:
            return self._create(path, data) if base is None else self._overwrite(path, data, base)
        except OSError as error:
            raise VaultError(
                f"`{names.printable(path)}` was not written",
                why=f"{_reason(error)}; what is on disk is as it was",
                fix="see that you may write there and that the disk is not full",
            ) from error

    def _overwrite(self, path: str, data: bytes, base: str) -> str:
        path = self._real(path)
        try:
            old, it = self._read(path)
        except PathError:
            raise (_no_note(path) if names.objection(path) else _conflict(path, base, "gone")) from None
        if digest(old) != base:
            raise _conflict(path, base, digest(old)[:7])
        if old == data:
            return path
        if not it.st_mode & 0o222:
            raise NoteError(f"`{path}` is read-only", why="its mode says so", fix=f"run `chmod u+w '{path}'`")
        with files.parent(self._root, path) as (folder, name):
            try:
                files.replace(folder, name, data, scratch=str(self.prepare(self.state)), like=it)
            except (FileExistsError, FileNotFoundError):
                raise _conflict(path, base, "something else") from None
        return path

    def _real(self, path: str) -> str:
        if not names.is_path(path):
            raise _no_note(path)
        return self.resolve(path) if os.path.lexists(f"{self._root}/{path}") else path

    def _create(self, path: str, data: bytes) -> str:
        if reason := names.objection(path):
            fix = "choose a path like `folder/name.md`"
            raise PathError(f"`{names.printable(path)}` cannot be the name of a note", why=reason, fix=fix)
        if (spelt := self.spell(path)) != path:
            raise _exists(path, spelt)
        try:
            with files.parent(self._root, path, make=True) as (folder, name):
                files.create(folder, name, data, scratch=str(self.prepare(self.state)))
        except FileExistsError:
            raise _exists(path, path) from None
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.ENOTDIR):
                raise
            why, fix = "a folder on the way is a link or a file", "give the real path of the folder"
            raise PathError(f"`{names.printable(path)}` was not created", why=why, fix=fix) from None
        return path

    def spell(self, path: str) -> str:
        """Give *path* as its folders and file are spelt on disk, where only case or composition differ."""
        spelt: list[str] = []
        parts = path.split("/")
        for part in parts:
            there = self.names("/".join(spelt))
            same = [name for name in there if names.key(name) == names.key(part)]
            if not same:
                break
            spelt.append(part if part in same else same[0])
        return "/".join([*spelt, *parts[len(spelt) :]])


# Saying so


def _lock(file: Path, timeout_s: float) -> int:
    try:
        return files.lock(str(file), timeout_s)
    except BlockingIOError as error:
        holder = f"process {error.strerror}" if (error.strerror or "").isdigit() else "another process"
        raise LockError(
            f"the vault is locked by {holder}",
            why=f"it was not free within {timeout_s:g} s",
            fix="wait until it is done, then try again; the lock goes with its process",
        ) from error
    except OSError as error:
        fix = "keep the vault on a file system that has locks"
        raise LockError(f"`{file}` cannot be locked", why=_reason(error), fix=fix) from error


def _no_note(path: str) -> PathError:
    fix = "give a path as `memtool search` prints it: below the vault, with `/`, ending in `.md`"
    return PathError(f"there is no note `{names.printable(path)}` in this vault", fix=fix)


def _unreadable(path: str, error: OSError) -> NoteError:
    fix = "split the note" if error.errno == errno.EFBIG else "see that you may read it"
    return NoteError(f"`{names.printable(path)}` cannot be read", why=_reason(error), fix=fix)


def _conflict(path: str, base: str, now: str) -> ConflictError:
    return ConflictError(
        f"{names.printable(path)} changed while it was being edited",
        why=f"it was {base[:7]} at your read and is {now} now",
        fix=f"run `memtool show {names.printable(path)}`, then repeat the edit on that text",
    )


def _exists(path: str, other: str) -> ConflictError:
    same = "it is there already" if path == other else f"on some systems `{other}` is the same name"
    fix = f"use `{names.printable(other)}`, or choose another name"
    return ConflictError(f"`{names.printable(path)}` was not created", why=same, fix=fix)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
