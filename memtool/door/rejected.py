"""A text that could not be written -> a file that keeps it, named in the message that says why.

Nobody's words are lost because somebody else was quicker.
"""

from __future__ import annotations

import hashlib
import time
from pathlib import Path

from memtool import names
from memtool.errors import ConflictError
from memtool.vault import Vault

KEPT = 500  # texts; the oldest go


def keep(vault: Vault, path: str, text: str) -> Path:
    """Keep *text*, meant for *path*; gives the file."""
    folder = vault.prepare(vault.state) / "rejected"
    folder.mkdir(exist_ok=True)
    data = text.encode("utf-8", "backslashreplace")
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    sign = hashlib.sha256(data).hexdigest()[:8]
    file = folder / f"{stamp}-{names.stem(path, limit=80)}-{sign}.md"
    file.write_bytes(data)
    for old in sorted(folder.glob("*.md"))[:-KEPT]:
        old.unlink(missing_ok=True)
    return file


def conflict(vault: Vault, path: str, text: str, *, why: str, now: str, what: str = "") -> ConflictError:
    """Make the error of a writer who came too late: why, what the note is now, where the text is kept."""
    file = keep(vault, path, text) if text else None
    kept = file.relative_to(vault.root) if file and file.is_relative_to(vault.root) else file
    shown = names.printable(path)
    where = f"your text is kept in `{kept}`; " if kept else ""
    error = ConflictError(
        what or f"{shown} changed while it was being edited",
        why=why,
        fix=f"{where}run `memtool show {shown}`, then repeat the change on that text"
        + (f" with `--if-digest {now}`" if now else ""),
    )
    error.digest, error.kept = now, str(kept or "")
    return error
