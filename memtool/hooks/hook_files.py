"""An agent, a scope -> its settings files as they are and as they should be, so that it calls our hooks.

Plans and tells; `apply` writes. Every byte that is not ours stays, links are followed and not replaced,
and a file that cannot be read as what it should be is left alone.

Claude Code reads ``.claude/settings.json`` of the project and ``~/.claude/settings.json``. Its ``hooks``
is an object: for each event a list of groups, ``{"matcher": ..., "hooks": [{"type": "command", "command":
..., "timeout": SECONDS}]}``; without a matcher every tool and every source counts. `SessionEnd` has 1.5 s
in all unless its hook asks for more. Codex reads ``hooks.json`` of the same shape beside its
``config.toml``, in ``.codex`` of the project and in ``~/.codex``, once ``[features] hooks = true`` stands
there, gives `SessionEnd` 3 s, and lets the user review new hooks. opencode loads
``.opencode/plugin/*.js`` and ``~/.config/opencode/plugin/*.js``.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from memtool.errors import ConfigError, ConflictError
from memtool.hooks import hook_plugin, json_edit, toml_switch
from memtool.hooks.hook_events import AGENTS

SCOPES = ("project", "user")


class Hook(NamedTuple):
    """One event of an agent, what we call it, the seconds it may take, and flags of ours."""

    event: str
    name: str
    seconds: int
    flags: tuple[str, ...] = ()


_LATE = ("--detach",)  # the host leaves, and does not wait
HOOKS: Mapping[str, tuple[Hook, ...]] = {
    "claude": (
        Hook("SessionStart", "start", 15),
        Hook("UserPromptSubmit", "prompt", 5),
        Hook("PostToolUse", "tool", 5),
        Hook("PostToolUseFailure", "failed-tool", 5),
        Hook("PreCompact", "compact", 30),
        Hook("SessionEnd", "end", 20, _LATE),
    ),
    "codex": (
        Hook("SessionStart", "start", 15),
        Hook("UserPromptSubmit", "prompt", 5),
        Hook("PostToolUse", "tool", 5),
        Hook("PreCompact", "compact", 30),
        Hook("Stop", "stop", 10, _LATE),
        Hook("SessionEnd", "end", 3, _LATE),
    ),
}


class Call(NamedTuple):
    """How memtool is called: the program and the vault, both absolute."""

    program: tuple[str, ...]
    vault: str
    resident: bool = False


class FileChange(NamedTuple):
    """A settings file before and after; None where it is not there."""

    file: Path
    before: bytes | None
    after: bytes | None


def files_of(agent: str, scope: str, project: Path, environment: Mapping[str, str]) -> list[Path]:
    """Name the files of an agent; the first of them says whether hooks are installed."""
    home = Path(environment.get("HOME") or os.path.expanduser("~"))
    if agent == "claude":
        own = Path(environment.get("CLAUDE_CONFIG_DIR") or home / ".claude")
        return [(own if scope == "user" else project / ".claude") / "settings.json"]
    if agent == "codex":
        own = Path(environment.get("CODEX_HOME") or home / ".codex")
        folder = own if scope == "user" else project / ".codex"
        return [folder / "hooks.json", folder / "config.toml"]
    own = Path(environment.get("XDG_CONFIG_HOME") or home / ".config") / "opencode"
    return [(own if scope == "user" else project / ".opencode") / "plugin" / "memtool.js"]


def plan(agent: str, files: Sequence[Path], call: Call | None) -> list[FileChange]:
    """Say how the files change so that *agent* calls *call*, or no more when it is None.

    Raises ConfigError for a file that is broken.
    """
    known = [(file, read(file)) for file in files]
    changes = [FileChange(file, before, _after(agent, file, before, call)) for file, before in known]
    return [change for change in changes if change.after != change.before]


def read(file: Path) -> bytes | None:
    """Read a settings file; None when there is none. A link is followed."""
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"{file} cannot be read", why=error.strerror or "", fix="mend it first") from error


def _after(agent: str, file: Path, before: bytes | None, call: Call | None) -> bytes | None:
    if agent == "opencode":
        if call is not None:
            return hook_plugin.render(call.program, call.vault, call.resident).encode()
        return None if before is not None and before.startswith(hook_plugin.MARK.encode()) else before
    if file.suffix == ".toml":
        old = _decoded(file, before)
        new = toml_switch.turn(old, on=call is not None, file=str(file))
        if new == old:
            return before
        return new.encode() if new.strip() or _backups(file) else None
    return _hooks_after(agent, file, before, call)


def _decoded(file: Path, data: bytes | None) -> str:
    try:
        return (data or b"").decode()
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file} is not UTF-8", why=str(error), fix="mend it first") from error


# -- files of JSON ---------------------------------------------------------------------------


def _hooks_after(agent: str, file: Path, before: bytes | None, call: Call | None) -> bytes | None:
    text = _decoded(file, before)
    try:
        found = ours(text) if text.strip() else {}
        if call is not None and found == {hook.event: [command(agent, hook, call)] for hook in HOOKS[agent]}:
            return before
        if call is None and not found:
            return before
        cleared = _cleared(text) if found else text
        if call is None:
            empty = json_edit.load(cleared, json_edit.parse(cleared)) == {}
            return None if empty and not _backups(file) else cleared.encode()
        return _filled(agent, cleared, call).encode()
    except (ValueError, RecursionError) as error:
        fix = "mend the file, then try again; it was left as it is"
        raise ConfigError(
            f"{file} is no settings file that can be changed", why=str(error), fix=fix
        ) from error


def command(agent: str, hook: Hook, call: Call) -> str:
    """Write the command of a hook for a shell: no part of a path can be more than a word.

    >>> call = Call(("/opt/my tools/memtool",), "/srv/a/$(rm x)")
    >>> command("claude", Hook("UserPromptSubmit", "prompt", 5), call)
    "'/opt/my tools/memtool' hook claude prompt --vault '/srv/a/$(rm x)'"
    """
    flags = [*hook.flags, *(["--resident"] if call.resident and hook.name == "start" else [])]
    return shlex.join([*call.program, "hook", agent, hook.name, "--vault", call.vault, *flags])


def ours(text: str) -> dict[str, list[str]]:
    """Give the commands of memtool that a settings file holds, by event."""
    found: dict[str, list[str]] = {}
    for event, entry in _entries(text):
        if _is_ours(entry):
            found.setdefault(event, []).append(entry["command"])
    return found


def installed(agent: str, data: bytes | None) -> tuple[list[str], list[str]]:
    """Give the events for which an agent calls memtool, and the programs that it calls for them."""
    if data is None:
        return [], []
    text = data.decode("utf-8", "replace")
    if agent == "opencode":
        return (["plugin"], hook_plugin.programs(text)) if text.startswith(hook_plugin.MARK) else ([], [])
    try:
        found = ours(text) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise ConfigError("its settings file cannot be read", why=str(error)) from error
    return list(found), [shlex.split(one)[0] for commands in found.values() for one in commands]


def _entries(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    told = json_edit.load(text, json_edit.parse(text))
    if not isinstance(told, dict):
        raise ValueError("it is no JSON object")
    hooks = told.get("hooks", {})
    if not isinstance(hooks, dict) or not all(isinstance(groups, list) for groups in hooks.values()):
        raise ValueError("`hooks` is not what it should be: an object of lists")
    for event, groups in hooks.items():
        for group in groups:
            for entry in group.get("hooks") or () if isinstance(group, dict) else ():
                if isinstance(entry, dict):
                    yield event, entry


def _is_ours(entry: object) -> bool:
    """Tell whether an entry calls memtool, wherever that lay when it was written."""
    said = entry.get("command") if isinstance(entry, dict) else None
    try:
        words = shlex.split(said) if isinstance(said, str) else []
    except ValueError:
        return False
    for at in range(1, len(words) - 1):
        if words[at] == "hook" and words[at + 1] in AGENTS:
            return os.path.basename(words[at - 1]).split(".")[0] == "memtool"
    return False


def _cleared(text: str) -> str:
    def drop(place: Sequence[json_edit.Key], value: object) -> bool:
        if place[0] != "hooks" or len(place) not in (1, 2, 3, 5):
            return False
        if len(place) == 5:
            return place[3] == "hooks" and _is_ours(value)
        if len(place) == 3:
            return isinstance(value, dict) and value.get("hooks") == [] and set(value) <= {"hooks", "matcher"}
        return value in ({}, [])

    return json_edit.remove(text, drop)


def _filled(agent: str, text: str, call: Call) -> str:
    text = text if text.strip() else "{}\n"
    if json_edit.parse(text).get("hooks") is None:
        text = json_edit.add(text, ["hooks"], "{}")
    for hook in HOOKS[agent]:
        entry = {"type": "command", "command": command(agent, hook, call), "timeout": hook.seconds}
        group = json.dumps({"hooks": [entry]}, indent=2, ensure_ascii=False)
        home = json_edit.parse(text).get("hooks")
        if home and home.get(hook.event) is None:
            text = json_edit.add(text, ["hooks", hook.event], "[\n  " + group.replace("\n", "\n  ") + "\n]")
        else:
            text = json_edit.add(text, ["hooks", hook.event, -1], group)
    return text


# -- carrying it out -------------------------------------------------------------------------


def apply(change: FileChange) -> Path | None:
    """Write one file, its old bytes kept beside it; gives where. Raises ConflictError when it changed."""
    if read(change.file) != change.before:
        raise ConflictError(f"{change.file} changed meanwhile", fix="look at the difference again")
    try:
        # What is taken away whole was ours alone.
        kept = _back_up(change.file) if change.before is not None and change.after is not None else None
        if change.after is None:
            change.file.unlink(missing_ok=True)
        else:
            _replace(Path(os.path.realpath(change.file)), change.after)
    except OSError as error:
        why = error.strerror or str(error)
        raise ConfigError(f"{change.file} cannot be written", why=why, fix="see to its rights") from error
    return kept


def _backups(file: Path) -> list[Path]:
    return sorted(file.parent.glob(f"{file.name}.before-memtool*")) if file.parent.is_dir() else []


def _back_up(file: Path) -> Path:
    number, kept = 1, file.with_name(f"{file.name}.before-memtool")
    while os.path.lexists(kept):
        number += 1
        kept = file.with_name(f"{file.name}.before-memtool-{number}")
    shutil.copy2(file, kept)
    return kept


def _replace(file: Path, data: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, fresh = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with open(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        if file.exists():
            shutil.copymode(file, fresh)
        else:
            umask = os.umask(0)
            os.umask(umask)
            os.chmod(fresh, 0o666 & ~umask)
        os.replace(fresh, file)
    except BaseException:
        with suppress(OSError):
            os.unlink(fresh)
        raise
