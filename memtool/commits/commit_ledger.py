"""What waits to be committed <-> ``commit.json``: who signed which bytes, and what a hook refused.

Losing it loses the name of a writer whose change git would not take yet, never a change.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from memtool import atomic, files
from memtool.commits.commit_message import Signature
from memtool.errors import LockError
from memtool.vault import Vault, digest

NAME = "commit.json"


class Ledger(NamedTuple):
    """By path: the digest of the signed bytes with their signature; the digest of the refused bytes.

    ``begun``: the revision before a commit whose end nobody has seen yet, and its paths.
    """

    signed: dict[str, tuple[str, Signature]]
    held: dict[str, str]
    begun: tuple[str, tuple[str, ...]] = ("", ())


def load(vault: Vault) -> Ledger:
    """Read what waits; a file that cannot be read says nothing."""
    try:
        told = json.loads((vault.state / NAME).read_bytes())
        signed = {
            str(path): (str(one["digest"]), Signature(*(str(one[key]) for key in Signature._fields)))
            for path, one in told["signed"].items()
        }
        head, paths = told.get("begun", ("", ()))
        held = {str(path): str(one) for path, one in told["held"].items()}
        return Ledger(signed, held, (str(head), tuple(map(str, paths))))
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return Ledger({}, {})


def save(vault: Vault, ledger: Ledger) -> None:
    """Write what waits, at once or not at all; nothing waiting is no file."""
    place = vault.prepare(vault.state) / NAME
    if not (ledger.signed or ledger.held or ledger.begun[1]):
        place.unlink(missing_ok=True)
        return
    signed = {path: {"digest": base, **by._asdict()} for path, (base, by) in ledger.signed.items()}
    # Names of notes may hold bytes that are no text; escaped they come back as they were.
    text = json.dumps({"signed": signed, "held": ledger.held, "begun": ledger.begun}, indent=1)
    atomic.put(place, text.encode())


def sign(vault: Vault, path: str, by: Signature, *, timeout_s: float = 10.0) -> None:
    """Remember who wrote the bytes that a note has now, until they are committed."""
    with alone(vault, timeout_s):
        ledger = load(vault)
        ledger.signed[path] = (digest(vault.read(path)), by)
        save(vault, ledger)


@contextmanager
def alone(vault: Vault, timeout_s: float) -> Iterator[None]:
    """Be the only one that commits. Not the lock of the notes: a hook may well change one."""
    file = vault.prepare(vault.state) / "commit.lock"
    try:
        handle = files.lock(str(file), timeout_s)
    except OSError as error:
        raise LockError(
            "another memtool is committing", fix="nothing is lost; the next commit takes these notes too"
        ) from error
    try:
        yield
    finally:
        os.close(handle)
