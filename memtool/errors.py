"""What went wrong -> what to do about it: errors and findings.

An error stops one request; a finding is one thing a check noticed and stops nothing.
Both carry the way out. Knows nothing of where they are shown.
"""

from __future__ import annotations

from typing import NamedTuple


class MemtoolError(Exception):
    """Something its reader can act on: what happened, why, and the way out."""

    code = "error"

    def __init__(self, what: str, *, why: str = "", fix: str = "") -> None:
        super().__init__(what)
        self.what, self.why, self.fix = what, why, fix

    def __str__(self) -> str:
        notes = (("why", self.why), ("fix", self.fix))
        return "\n".join([self.what, *(f"  {name}: {text}" for name, text in notes if text)])


class UsageError(MemtoolError):
    """The request itself makes no sense."""

    code = "usage"


class VaultError(MemtoolError):
    """There is no vault here, or it cannot be read."""

    code = "vault"


class GitError(VaultError):
    """Git was asked for something and failed, or is not there."""

    code = "git"


class PathError(MemtoolError):
    """A path that leaves the vault or names no note; the message never says which."""

    code = "path"


class NoteError(MemtoolError):
    """A note whose front matter cannot be changed safely."""

    code = "note"


class ConflictError(MemtoolError):
    """The note changed between the read and the write.

    ``digest`` names what the note is now, ``kept`` the file with the text that was not written.
    """

    code = "conflict"
    digest = ""
    kept = ""


class PolicyError(MemtoolError):
    """Somebody may not do this to that note."""

    code = "policy"


class SecretError(MemtoolError):
    """A text that seems to hold a secret; the message names its line and kind, never the secret."""

    code = "secret"


class LockError(MemtoolError):
    """Another process holds the vault's lock."""

    code = "lock"


class ConfigError(MemtoolError):
    """A setting that memtool cannot use."""

    code = "config"


class EmbedderError(MemtoolError):
    """The embedder did not give usable vectors."""

    code = "embedder"


class ChatError(MemtoolError):
    """The chat model did not give a usable answer."""

    code = "chat"


class StaleError(MemtoolError):
    """An answer from current bytes was asked for and could not be given."""

    code = "stale"


class Finding(NamedTuple):
    """One thing a check noticed: where, what, and how to mend it.

    ``line`` counts from 1; 0 means the whole file. ``code`` is stable, the wording is free.
    """

    code: str
    path: str
    line: int
    what: str
    fix: str = ""

    def at(self, path: str) -> Finding:
        """Give the same finding under *path*: who parses bytes does not know their name."""
        return self._replace(path=path)

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{place}: {self.what}" + (f" (fix: {self.fix})" if self.fix else "")
