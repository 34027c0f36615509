"""A setting's name -> what it takes, and whether a vault may set it: the table of settings.

Knows nothing of files, of the environment, or of who wins; `config` does.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

# A password in a URL would end up in messages; it is refused here once for all.
_ADDRESS = r"https?://[^\s@/]+(?:/\S*)?"
_VARIABLE = r"[A-Za-z_][A-Za-z0-9_]{0,99}"


class Setting:
    """What one key takes: a reader from TOML value to setting, and what to say when it does not fit."""

    def __init__(self, read: Callable[[object], Any], wanted: str, *, vault: bool = False) -> None:
        self.read, self.wanted, self.vault = read, wanted, vault


def _whole(low: int, high: int, *, vault: bool = False) -> Setting:
    def read(value: object) -> int | None:
        return value if type(value) is int and low <= value <= high else None

    return Setting(read, f"a whole number from {low:,} to {high:,}", vault=vault)


def _number(low: float, high: float, *, vault: bool = False) -> Setting:
    def read(value: object) -> float | None:
        return float(value) if type(value) in (int, float) and low <= value <= high else None  # type: ignore[arg-type, operator]

    return Setting(read, f"a number from {low:g} to {high:g}", vault=vault)


def _text(pattern: str, wanted: str, *, vault: bool = False) -> Setting:
    def read(value: object) -> str | None:
        return value if isinstance(value, str) and re.fullmatch(pattern, value, re.DOTALL) else None

    return Setting(read, wanted, vault=vault)


def _read_globs(value: object) -> tuple[str, ...] | None:
    if not isinstance(value, list) or len(value) > 200:
        return None
    fits = all(isinstance(glob, str) and 0 < len(glob) <= 200 for glob in value)
    return tuple(value) if fits else None


def _read_places(value: object) -> tuple[tuple[str, str], ...] | None:
    """Read names of folders: a table, or texts NAME=FOLDER as the environment gives them."""
    pairs = (
        [text.partition("=")[::2] for text in value if isinstance(text, str)]
        if isinstance(value, list)
        else None
    )
    items = list(value.items()) if isinstance(value, dict) else pairs
    fits = items is not None and len(items) <= 200
    for name, folder in items or ():
        fits = (
            fits
            and isinstance(folder, str)
            and bool(re.fullmatch(r"[\w-]{1,60}", str(name)))
            and bool(folder)
        )
    return tuple((str(name), str(folder)) for name, folder in items) if fits and items is not None else None


def _read_kinds(value: object) -> tuple[str, ...] | None:
    fits = isinstance(value, list) and all(kind in ("command", "url") for kind in value)
    return tuple(value) if fits and isinstance(value, list) else None


def _read_bool(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


SETTINGS = {
    "embedder": _text(r"[a-z0-9_]+", 'the name of an embedder, such as "e5"', vault=True),
    "base_url": _text(_ADDRESS, "an http(s) address without user and password"),
    "model": _text(r"\S.*", "the name of a model"),
    "dimensions": _whole(1, 65_536),
    "normalise": Setting(_read_bool, "true or false"),
    "api_key_variable": _text(_VARIABLE, "the name of an environment variable"),
    "query_prefix": _text(r".*", "text"),
    "passage_prefix": _text(r".*", "text"),
    "timeout_s": _number(0.001, 86_400),
    "limit": _whole(1, 1_000, vault=True),
    "min_score": _number(-1, 1, vault=True),
    "ignore": Setting(_read_globs, "a list of up to 200 short patterns", vault=True),
    "catalog_lines": _whole(10, 10_000, vault=True),
    "catalog_bytes": _whole(1_000, 10_000_000, vault=True),
    "chunk_characters": _whole(100, 20_000, vault=True),
    "chunk_wide_characters": _whole(50, 20_000, vault=True),
    "commit": Setting(_read_bool, "true or false", vault=True),
    "quiet_time_s": _number(0, 86_400, vault=True),
    "chat_base_url": _text(_ADDRESS, "an http(s) address without user and password"),
    "chat_model": _text(r"\S.*", "the name of a model"),
    "chat_api_key_variable": _text(_VARIABLE, "the name of an environment variable"),
    "chat_timeout_s": _number(0.001, 86_400),
    "checkouts": Setting(_read_places, "a table of names and folders"),
    "watch_kinds": Setting(_read_kinds, 'a list with "command", "url" or both'),
    "score": _text(r"relevance|recall", '"relevance" or "recall"', vault=True),
    "trace": Setting(_read_bool, "true or false", vault=True),
    "turn_tokens": _whole(50, 1_000_000, vault=True),
}
