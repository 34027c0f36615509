"""A digest of a note somebody read -> the bytes it had then: what a merge goes out from.

Looks in a small store of what was read lately, among the changes that wait to be committed, and in git.
The store is bounded, and losing it loses a merge, never a change.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from memtool import atomic
from memtool.commits import commit_queue
from memtool.git import Git
from memtool.vault import Vault, digest

KEPT, LARGEST = 64, 262_144  # texts, and bytes of each
SHORTEST = 7  # hex digits by which a version may be named
_VERSIONS = 50  # of one note that are looked through in git


def remember(vault: Vault, data: bytes) -> str:
    """Keep what somebody may change soon, and give its digest; where it cannot be written it is not."""
    name = digest(data)
    if len(data) > LARGEST:
        return name
    with suppress(Exception):
        folder = vault.prepare(vault.state) / "read"
        folder.mkdir(exist_ok=True)
        if (folder / name).exists():
            os.utime(folder / name)
        else:
            _write(folder, name, data)
    return name


def _write(folder: Path, name: str, data: bytes) -> None:
    atomic.put(folder / name, data)
    kept = sorted(folder.iterdir(), key=lambda file: file.stat().st_mtime)
    for file in kept[:-KEPT]:
        file.unlink(missing_ok=True)


def find(vault: Vault, path: str, name: str) -> bytes | None:
    """Find the bytes of *path* whose digest begins with *name*; None when nobody has them any more."""
    return _read_lately(vault, name) or _waiting(vault, path, name) or _committed(vault, path, name)


def matches(name: str, data: bytes) -> bool:
    """Tell whether *name*, a digest or the beginning of one, names these bytes."""
    return len(name) >= SHORTEST and digest(data).startswith(name.lower())


def _read_lately(vault: Vault, name: str) -> bytes | None:
    for file in sorted((vault.state / "read").glob(f"{name.lower()}*")) if name.isalnum() else ():
        with suppress(OSError):
            if matches(name, data := file.read_bytes()):
                return data
    return None


def _waiting(vault: Vault, path: str, name: str) -> bytes | None:
    edits = [edit for entry in commit_queue.load(vault) for edit in entry.edits if edit.path == path]
    sides = [side for edit in edits for side in (edit.before, edit.after) if side is not None]
    return next((side for side in sides if matches(name, side)), None)


def _committed(vault: Vault, path: str, name: str) -> bytes | None:
    git = Git(vault.root)
    if git.work_tree() is None or git.problem():
        return None
    flags = (f"-n{_VERSIONS}", "--format=", "--raw", "--no-abbrev", "--no-renames")
    status, out, _ = git.attempt("log", *flags, "--", path)
    rows = [line.split() for line in out.decode(errors="replace").split("\n") if line.startswith(":")]
    for blob in dict.fromkeys(side for row in rows if not status for side in (row[3], row[2])):
        failed, data, _ = git.attempt("cat-file", "blob", blob)
        if not failed and matches(name, data):
            return data
    return None
