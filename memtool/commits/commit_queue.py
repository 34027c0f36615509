"""Changes on disk that wait to be committed <-> files in `.memtool/state/queue`: one a change, in order.

A change is put here while the vault's lock is held, so that the order of names is the order of changes.
Whoever may commit takes all of them; what came of each lies beside it for whoever waits for that.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from memtool import atomic
from memtool.commits.commit_message import Edit
from memtool.identity import Signature
from memtool.vault import Vault, digest

_ENDING, _TOLD = ".change", ".told"
_FORGOTTEN_S = 600.0  # after that nobody waits any more for what came of a change


class Entry(NamedTuple):
    """One change of one or more notes, and who made it; ``name`` orders the entries."""

    name: str
    by: Signature
    edits: tuple[Edit, ...]


def put(vault: Vault, by: Signature, edits: Sequence[Edit]) -> str:
    """Add a change at the end. To be called under the vault's lock."""
    folder = _folder(vault)
    last = max((int(file.stem) for file in _files(folder)), default=0)
    name = f"{max(time.time_ns(), last + 1):020d}"
    sizes = [[edit.path, _size(edit.before), _size(edit.after)] for edit in edits]
    head = json.dumps({"by": list(by), "edits": sizes})
    rest = b"".join((edit.before or b"") + (edit.after or b"") for edit in edits)
    atomic.put(folder / f"{name}{_ENDING}", head.encode() + b"\n" + rest)
    return name


def load(vault: Vault) -> list[Entry]:
    """Give all that wait, in order; a file that cannot be read is no change."""
    if not (vault.state / "queue").is_dir():
        return []
    return list(_read(_files(_folder(vault))))


def signed(vault: Vault) -> dict[str, tuple[str, Signature]]:
    """Tell by path who made the last change that waits, and the digest of what it made."""
    edits = [(edit, entry.by) for entry in load(vault) for edit in entry.edits]
    return {edit.path: (digest(edit.after), by) for edit, by in edits if edit.after is not None}


def settle(vault: Vault, name: str, told: dict[str, Any]) -> None:
    """Take a change out and leave what came of it."""
    folder = _folder(vault)
    atomic.put(folder / f"{name}{_TOLD}", json.dumps(told).encode())
    (folder / f"{name}{_ENDING}").unlink(missing_ok=True)


def told(vault: Vault, name: str) -> dict[str, Any] | None:
    """Take what came of a change, if that is known by now."""
    place = vault.state / "queue" / f"{name}{_TOLD}"
    try:
        found: dict[str, Any] = json.loads(place.read_bytes())
    except (OSError, ValueError):
        return None
    place.unlink(missing_ok=True)
    return found


def tidy(vault: Vault) -> None:
    """Forget what nobody came back for: its writer was killed while it waited."""
    before = time.time_ns() - int(_FORGOTTEN_S * 1e9)
    for file in (vault.state / "queue").glob("*"):
        if file.suffix == _TOLD and file.stem.isdigit() and int(file.stem) < before:
            file.unlink(missing_ok=True)
    atomic.tidy(vault.state / "queue", older_than_s=_FORGOTTEN_S)


def _folder(vault: Vault) -> Path:
    folder = vault.prepare(vault.state) / "queue"
    folder.mkdir(exist_ok=True)
    return folder


def _files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.glob(f"*{_ENDING}") if file.stem.isdigit())


def _size(data: bytes | None) -> int:
    return -1 if data is None else len(data)


def _read(files: Sequence[Path]) -> Iterator[Entry]:
    for file in files:
        with suppress(OSError, ValueError, KeyError, TypeError):
            head, _, rest = file.read_bytes().partition(b"\n")
            said = json.loads(head)
            yield Entry(file.stem, Signature(*map(str, said["by"])), tuple(_edits(said["edits"], rest)))


def _edits(sizes: Sequence[tuple[str, int, int]], rest: bytes) -> Iterator[Edit]:
    at = 0
    for path, *lengths in sizes:
        sides: list[bytes | None] = []
        for length in lengths:
            sides.append(None if length < 0 else rest[at : at + length])
            at += max(length, 0)
        yield Edit(path, sides[0], sides[1])
