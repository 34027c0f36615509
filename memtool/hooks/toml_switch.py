r"""A ``config.toml`` of Codex -> the same with its hooks switched on, or as it was before that.

Adds one line, marked as ours, and takes only that out again; whether it means what it should is read
back with a real parser before it is given away.

>>> turn("model = \"x\"\n", on=True)
'model = "x"\n\n[features]  # for memtool\nhooks = true  # for memtool\n'
>>> turn(turn("[features]\nweb = true\n", on=True), on=False)
'[features]\nweb = true\n'
"""

from __future__ import annotations

import re

from memtool.errors import ConfigError

_LINE = "hooks = true  # for memtool"
_TABLE = "[features]  # for memtool"
_HEADER = re.compile(r"^[ \t]*\[[ \t]*features[ \t]*\][^\n]*(?:\n|$)", re.MULTILINE)
_OURS = re.compile(rf"^{re.escape(_LINE)}\r?(?:\n|$)", re.MULTILINE)
_OURS_ALONE = re.compile(rf"(?:^|\r?\n){re.escape(_TABLE)}\r?\n{re.escape(_LINE)}\r?\n(?=\s*(?:\[|$))")


def turn(text: str, *, on: bool, file: str = "config.toml") -> str:
    """Switch hooks on or off. Raises ConfigError when *text* is no TOML, or says no to hooks itself."""
    told = _load(text, file)
    features = told.get("features", {})
    said = features.get("hooks", features.get("codex_hooks")) if isinstance(features, dict) else None
    if not on:
        return _OURS.sub("", _OURS_ALONE.sub("", text, count=1), count=1)
    if said is True:
        return text
    if said is not None or not isinstance(features, dict):
        why, fix = "its [features] switch hooks off", "set `hooks = true` there, if you want them"
        raise ConfigError(f"{file} does not let hooks run", why=why, fix=fix)
    changed = _added(text)
    wanted = {**told, "features": {**features, "hooks": True}}
    if _load(changed, file) != wanted:
        fix = "write `hooks = true` into its [features] yourself, then try again"
        raise ConfigError(f"{file} is laid out in a way that cannot be changed safely", fix=fix)
    return changed


def _added(text: str) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    if found := _HEADER.search(text):
        end = found.end()
        gap = "" if text[:end].endswith("\n") else newline
        return f"{text[:end]}{gap}{_LINE}{newline}{text[end:]}"
    gap = "" if not text or text.endswith("\n") else newline
    blank = newline if text else ""
    return f"{text}{gap}{blank}{_TABLE}{newline}{_LINE}{newline}"


def _load(text: str, file: str) -> dict[str, object]:
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        fix = "mend the file, then try again; it was left as it is"
        raise ConfigError(f"{file} is no TOML", why=str(error), fix=fix) from error
