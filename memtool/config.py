"""Files and environment -> `Config`: which settings there are, who may set them, who wins.

A flag wins over the environment, that over the user's file, that over the vault's file, that over the
default. A vault arrives by `git clone`, so its file may tune and never reach outside.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from memtool.errors import ConfigError, Finding
from memtool.settings import SETTINGS

__all__ = ["SETTINGS", "Config", "embedder_settings", "load", "user_file"]

VAULT_FILE = "memtool.toml"
LARGEST = 1_000_000  # bytes of a settings file

# Not settings, but names of ours in the environment.
_OTHER_VARIABLES = {
    "MEMTOOL_VAULT",
    "MEMTOOL_API_KEY",
    "MEMTOOL_RESIDENT",
    "MEMTOOL_WRITER",
    "MEMTOOL_SESSION",
    "MEMTOOL_SESSION_STATE",
    "MEMTOOL_USAGE",
}
_SECRET = re.compile(
    r"(?:^|[._-])(?:api[_-]?key|key|token|secret|password|passwd|credentials?)s?$", re.IGNORECASE
)


class Config(NamedTuple):
    """Every setting, decided; ``findings`` tell what was not obeyed."""

    embedder: str = "e5"
    base_url: str | None = None
    model: str | None = None
    dimensions: int | None = None
    normalise: bool = False
    api_key_variable: str = "OPENAI_API_KEY"
    query_prefix: str | None = None
    passage_prefix: str | None = None
    timeout_s: float = 30.0
    limit: int = 5
    min_score: float | None = None
    ignore: tuple[str, ...] = ()
    catalog_lines: int = 200
    catalog_bytes: int = 25_000
    chunk_characters: int = 1200
    chunk_wide_characters: int = 530
    commit: bool = True
    quiet_time_s: float = 60.0
    chat_base_url: str | None = None
    chat_model: str | None = None
    chat_api_key_variable: str = "OPENAI_API_KEY"
    chat_timeout_s: float = 60.0
    turn_tokens: int = 600
    checkouts: tuple[tuple[str, str], ...] = ()
    watch_kinds: tuple[str, ...] = ()
    score: Literal["relevance", "recall"] = "relevance"
    trace: bool = True
    findings: tuple[Finding, ...] = ()


_VAULT_EMBEDDERS = ("e5", "none")


def load(
    root: Path | None = None,
    *,
    flags: Mapping[str, object] | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Config:
    """Decide every setting for the vault at *root*; a flag that is None was not given.

    Raises ConfigError when a setting has a value it cannot take. Everything else that is wrong is a
    finding, and the setting falls to the next in line.
    """
    findings: list[Finding] = []
    settings: dict[str, object] = {}
    if root is not None:
        settings |= _from_vault(root / VAULT_FILE, findings)
    user = user_file(environment)
    settings |= _from_table(_load(user, findings), str(user), findings)
    settings |= _from_environment(environment, findings)
    given = {key: value for key, value in (flags or {}).items() if value is not None}
    settings |= {key: _read(key, value, "the command line") for key, value in given.items()}
    return Config(**settings, findings=tuple(findings))  # type: ignore[arg-type]


def embedder_settings(config: Config) -> dict[str, object]:
    """Give what the configured embedder is opened with; the offline ones take no settings."""
    if config.embedder != "openai":
        return {}
    names = ("base_url", "model", "dimensions", "normalise", "query_prefix", "passage_prefix", "timeout_s")
    settings = {name: getattr(config, name) for name in (*names, "api_key_variable")}
    return {name: value for name, value in settings.items() if value is not None}


def user_file(environment: Mapping[str, str]) -> Path:
    """Give the place of the user's own settings."""
    home = environment.get("XDG_CONFIG_HOME", "")
    base = (
        Path(home) if os.path.isabs(home) else Path(environment.get("HOME") or "~").expanduser() / ".config"
    )
    return base / "memtool" / "config.toml"


def _from_vault(file: Path, findings: list[Finding]) -> dict[str, object]:
    if file.is_symlink():
        findings.append(Finding("config-link", VAULT_FILE, 0, "a link is not read as settings", "use a file"))
        return {}
    table = _load(file, findings, os.O_NOFOLLOW)
    allowed = {key: value for key, value in table.items() if _vault_may_set(key, value)}
    for key in table.keys() & SETTINGS.keys() - allowed.keys():
        what = f"`{key}` reaches outside, so a vault may not set it; it is not obeyed"
        fix = f"set it in your own settings file, or as {_variable(key)} in the environment"
        findings.append(Finding("config-not-allowed", VAULT_FILE, 0, what, fix))
    unknown = {key: value for key, value in table.items() if key not in SETTINGS}
    return _from_table(allowed | unknown, VAULT_FILE, findings)


def _vault_may_set(key: str, value: object) -> bool:
    if key == "embedder":
        return value in _VAULT_EMBEDDERS or not isinstance(value, str)
    return key in SETTINGS and SETTINGS[key].vault


def _from_table(table: Mapping[str, object], name: str, findings: list[Finding]) -> dict[str, object]:
    findings += _check_secrets(table, name)
    unknown = (key for key in table if key not in SETTINGS and not _SECRET.search(key))
    findings += [_unknown(key, name, tuple(SETTINGS)) for key in unknown]
    return {key: _read(key, value, name) for key, value in table.items() if key in SETTINGS}


def _from_environment(environment: Mapping[str, str], findings: list[Finding]) -> dict[str, object]:
    settings: dict[str, object] = {}
    variables = {_variable(key): key for key in SETTINGS}
    # An empty variable is one that was not set: that is how shells and CI files switch one off.
    for name in sorted(name for name, text in environment.items() if name.startswith("MEMTOOL_") and text):
        if name in variables:
            key = variables[name]
            settings[key] = _read(key, _typed(key, environment[name]), f"the environment ({name})")
        elif name not in _OTHER_VARIABLES:
            known = (*variables, *sorted(_OTHER_VARIABLES))
            findings.append(_unknown(name, "the environment", known))
    return settings


def _variable(key: str) -> str:
    return f"MEMTOOL_{key.upper()}"


def _typed(key: str, text: str) -> object:
    """Turn a variable's text into what a file would hold; text that does not fit stays text."""
    if key in ("ignore", "checkouts", "watch_kinds"):
        return [glob.strip() for glob in text.split(",") if glob.strip()]
    if SETTINGS[key].wanted == "true or false":
        return {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}.get(
            text.lower(), text
        )
    if "number" not in SETTINGS[key].wanted:
        return text
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _read(key: str, value: object, name: str) -> object:
    if key not in SETTINGS:
        raise ConfigError(
            f"`{key}` is not a setting", why=f"{name} sets it", fix=_nearest(key, tuple(SETTINGS))
        )
    setting = SETTINGS[key].read(list(value) if isinstance(value, tuple) else value)
    if setting is None:
        # A key pasted into the wrong place must not be shown again.
        hidden = key.endswith(("api_key_variable", "base_url")) or isinstance(value, (dict, list))
        shown = "" if hidden else f" = {value!r:.80}"
        raise ConfigError(
            f"{name}: `{key}`{shown} cannot be used",
            why=f"`{key}` takes {SETTINGS[key].wanted}",
            fix=f"correct it, or take it out to use the default ({getattr(_DEFAULTS, key)!r})",
        )
    return setting


def _unknown(key: str, name: str, known: tuple[str, ...]) -> Finding:
    what = f"`{key}` is not a setting; it is not obeyed"
    return Finding("config-unknown", name, 0, what, _nearest(key, known))


def _check_secrets(table: Mapping[str, object], name: str) -> list[Finding]:
    """Report keys named like secrets, in sub-tables too; their values are never shown."""
    what = "`{}` looks like a secret; memtool takes none from a file, and did not take this one"
    fix = "take it out, change the secret if others could read it, and set it in the environment"
    return [
        Finding("config-secret", name, 0, what.format(key), fix)
        for key in _keys(table)
        if _SECRET.search(key)
    ]


def _keys(table: Mapping[str, object]) -> list[str]:
    found: list[str] = []
    waiting: list[tuple[str, object]] = [("", table)]
    while waiting:
        prefix, value = waiting.pop()
        if isinstance(value, Mapping):
            found += [prefix + key for key in value]
            waiting += [(f"{prefix}{key}.", inner) for key, inner in value.items()]
    return found


def _nearest(key: str, known: tuple[str, ...]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(key, known, n=1)
    return f"write `{near[0]}`" if near else "take it out"


def _load(file: Path, findings: list[Finding], more: int = 0) -> dict[str, object]:
    """Load a TOML file; one that is not there is empty."""
    import errno

    try:
        handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | more)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR):
            findings.append(Finding("config-unreadable", str(file), 0, f"cannot be read: {error.strerror}"))
        return {}
    with open(handle, "rb") as stream:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            findings.append(Finding("config-unreadable", str(file), 0, "is not a file", "put a file there"))
            return {}
        return _parse(stream.read(LARGEST + 1), str(file))


def _parse(data: bytes, name: str) -> dict[str, object]:
    import tomllib

    if len(data) > LARGEST:
        raise ConfigError(f"{name} is too large for settings", fix="keep settings only in it")
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        fix = "correct it; values are written like `limit = 5`"
        raise ConfigError(f"{name} cannot be read as TOML", why=str(error), fix=fix) from error


_DEFAULTS = Config()
