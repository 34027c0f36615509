"""What a person let pass -> remembered without the secret: salted digests in ``allowed.json``.

Losing the file means being asked once more.
"""

from __future__ import annotations

import hashlib
import json
import secrets as chance
from collections.abc import Iterable
from typing import Any

from memtool import atomic
from memtool.vault import Vault

NAME = "allowed.json"


def allow(vault: Vault, values: Iterable[str], reason: str) -> None:
    """Remember that these values may be kept, and why."""
    told = _load(vault)
    told["allowed"] |= {_digest(told["salt"], value): reason for value in values}
    text = json.dumps(told, ensure_ascii=False, indent=1)
    atomic.put(vault.prepare(vault.state) / NAME, text.encode())


def unallowed(vault: Vault, values: Iterable[str]) -> list[str]:
    """Give the values that nobody has let pass."""
    told = _load(vault)
    return [value for value in values if _digest(told["salt"], value) not in told["allowed"]]


def _load(vault: Vault) -> dict[str, Any]:
    try:
        told = json.loads((vault.state / NAME).read_bytes())
        return {"salt": str(told["salt"]), "allowed": dict(told["allowed"])}
    except (OSError, ValueError, TypeError, KeyError):
        return {"salt": chance.token_hex(16), "allowed": {}}


def _digest(salt: str, value: str) -> str:
    # Slow on purpose: a password somebody chose is soon guessed.
    return hashlib.pbkdf2_hmac("sha256", value.encode("utf-8", "surrogatepass"), salt.encode(), 20_000).hex()
