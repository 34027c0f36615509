"""An intended change -> a changed note: lock, compare, replace, in that order.

The only room that changes notes. A caller says which bytes its change was based on; whoever lost a
race gets ConflictError and nothing is overwritten.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from memtool import names
from memtool.errors import ConflictError, UsageError
from memtool.vault import Vault, digest

_PLAIN = re.compile(r"[^\W\d_][\w -]*\w|[^\W\d_]")
_WORDS = {"true", "false", "yes", "no", "on", "off", "null", "y", "n", "nan", "inf", "none"}
# YAML takes these only escaped, though JSON takes them as they are.
_ESCAPED = re.compile(r"[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
_KEY = re.compile(r"[^\W\d][\w-]*")


class Change(NamedTuple):
    """An intended edit; ``base_digest`` names the bytes it was based on, None that there were none."""

    path: str
    data: bytes
    base_digest: str | None = None


def apply(vault: Vault, change: Change, *, timeout_s: float = 10.0) -> str:
    """Carry out *change* and give the digest of the note now."""
    with vault.lock(timeout_s):
        vault.replace(change.path, change.data, base=change.base_digest)
    return digest(change.data)


def draft(
    vault: Vault,
    title: str,
    body: str,
    meta: Mapping[str, str | Sequence[str]] | None = None,
    *,
    created: str = "",
    folder: str = "",
) -> Change:
    """Make a new note, named for its title unlike any note there is; nothing is written yet."""
    data = _encode(render(title, body, meta or {}, created=created))
    folder = vault.spell(folder.rstrip("/"))
    path = new_path(title, folder, [f"{folder}/{name}".lstrip("/") for name in vault.names(folder)])
    return Change(path, data)


def add(
    vault: Vault,
    title: str,
    body: str,
    meta: Mapping[str, str | Sequence[str]] | None = None,
    *,
    created: str = "",
    folder: str = "",
) -> str:
    """Write a new note named for its title and give its path; an existing note is never touched."""
    for _ in range(20):
        change = draft(vault, title, body, meta, created=created, folder=folder)
        try:
            apply(vault, change)
        except ConflictError as error:
            lost = error  # another writer took the name between the look and the lock
        else:
            return change.path
    raise lost


def new_path(title: str, folder: str, taken: Collection[str]) -> str:
    """Name a new note for *title*, unlike every path in *taken* on any system.

    >>> new_path("Unicode", "", ["UNICODE.md", "unicode-2.md"])
    'unicode-3.md'
    """
    prefix = f"{folder.rstrip('/')}/" if folder else ""
    keys = {names.key(path) for path in taken}
    stem = names.stem(title)
    number = 1
    while names.key(path := f"{prefix}{stem}{f'-{number}' if number > 1 else ''}.md") in keys:
        number += 1
    return path


def render(title: str, body: str, meta: Mapping[str, str | Sequence[str]], *, created: str = "") -> str:
    """Render a new note: the title reads back exactly as it was given.

    >>> print(render("C#: notes", "Text.", {"tags": ["a", "日本"]}, created="2026-04-01"), end="")
    ---
    title: "C#: notes"
    created: 2026-04-01
    tags: [a, 日本]
    ---
    <BLANKLINE>
    Text.
    """
    lines = [f"title: {_scalar(title)}"]
    lines += (
        [f"created: {created if re.fullmatch(r'[0-9]{4}-[0-9TZ:+.-]+', created) else _scalar(created)}"]
        if created
        else []
    )
    lines += [f"{_key(key)}: {_value(value)}" for key, value in meta.items()]
    return "\n".join(["---", *lines, "---", "", body.rstrip("\n") + "\n"])


def _encode(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        fix = "give text that is valid UTF-8"
        raise UsageError("the text cannot be written as UTF-8", why=str(error), fix=fix) from None


def _key(key: str) -> str:
    if key in ("title", "created") or not _KEY.fullmatch(key):
        fix = "use letters, digits, `_` and `-`; the title and the created date have their own arguments"
        raise UsageError(f"`{names.printable(key)}` cannot be a front matter key here", fix=fix)
    return key


def _value(value: str | Sequence[str]) -> str:
    return _scalar(value) if isinstance(value, str) else f"[{', '.join(map(_scalar, value))}]"


def _scalar(text: str) -> str:
    """Write text so that YAML reads the same text: plain where nothing can be misread, else quoted."""
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS and not _ESCAPED.search(text):
        return text
    return _ESCAPED.sub(lambda found: f"\\u{ord(found.group()):04x}", json.dumps(text, ensure_ascii=False))
