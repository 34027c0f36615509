"""A vault, the environment -> the token that HTTP clients show: given, or made once and kept from others."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from memtool.errors import ConfigError

if TYPE_CHECKING:
    from memtool.vault import Vault

VARIABLE = "MEMTOOL_MCP_TOKEN"
NAME = "mcp-token"

#: Characters that a token of one's own has at least, so that nobody guesses it.
SHORTEST = 16


def given(environment: Mapping[str, str]) -> str:
    """Give the token of the environment, "" where there is none. Raises ConfigError."""
    token = environment.get(VARIABLE, "").strip()
    if token and (len(token) < SHORTEST or not token.isascii() or not token.isprintable() or " " in token):
        raise ConfigError(
            f"{VARIABLE} is no usable token",
            why=f"a token has at least {SHORTEST} visible ASCII characters and no spaces",
            fix="make one with `python -c 'import secrets; print(secrets.token_urlsafe(32))'`",
        )
    return token


def kept(vault: Vault) -> str:
    """Give the token kept beside the vault, made anew unless we made it and nobody else could read it."""
    file = vault.prepare(vault.state) / NAME
    return _read(file) or _make(file)


def place(vault: Vault) -> Path:
    return vault.state / NAME


def _read(file: Path) -> str:
    """Read a token; "" where the file may come from, or was open to, somebody else.

    A vault comes by `git clone`, and a token may come with it. So the file names its own inode, which
    nobody can know beforehand.
    """
    try:
        number = os.open(file, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return ""
    with os.fdopen(number, encoding="ascii", errors="replace") as stream:
        found = os.fstat(number)
        if (
            not stat.S_ISREG(found.st_mode)
            or stat.S_IMODE(found.st_mode) & 0o077
            or found.st_uid != os.getuid()
        ):
            return ""
        token, _, inode = stream.read(400).strip().partition("\n")
    return token if inode == str(found.st_ino) and len(token) >= SHORTEST else ""


def _make(file: Path) -> str:
    """Write a new token; of two who do it at once, the last one's stands for both from the next start on."""
    token = secrets.token_urlsafe(32)
    new = file.with_name(f"{NAME}.{os.getpid()}.{secrets.token_hex(4)}")
    number = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(number, "w", encoding="ascii") as stream:
        stream.write(f"{token}\n{os.fstat(number).st_ino}\n")
    os.replace(new, file)
    return token
