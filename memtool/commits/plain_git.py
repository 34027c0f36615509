"""A repository -> whether a commit there is the same however it is made.

It is where no hook has a say, nothing is signed, and no attribute or setting turns the bytes of a note
into others. What cannot be told is taken for a no.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from memtool import git_hooks, repository
from memtool.git import Git

_HOOKS = (
    *("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"),
    *("post-index-change", "reference-transaction"),
)
_CONVERTS = re.compile(rb"(?:^|[\s-])(?:text|eol|crlf|filter|ident|working-tree-encoding|binary)\b")


def is_plain(git: Git) -> bool:
    """Tell whether commits here may be made this way at all: no hook, signing or conversion has a say."""
    tree = git.work_tree()
    folder = repository.git_folder(tree) if tree else None
    if tree is None or folder is None or not (tree / ".git").is_dir():
        return False
    settings = _settings(git)
    return not (
        _has_special(settings) or _has_hooks(git, folder, tree, settings) or _converts(git, tree, settings)
    )


def _settings(git: Git) -> dict[str, str]:
    out = git.run("config", "--list", "-z").decode("utf-8", "surrogateescape")
    pairs = (line.partition("\n") for line in out.split("\0") if line)
    return {key: value for key, _, value in pairs}


def _has_special(settings: Mapping[str, str]) -> bool:
    on = ("true", "yes", "on", "1", "")
    flags = ("commit.gpgsign", "core.splitindex", "core.sparsecheckout", "index.sparse", "core.bare")
    if any(settings.get(flag, "no").lower() in on for flag in flags):
        return True
    if settings.get("core.autocrlf", "false").lower() != "false" or "core.worktree" in settings:
        return True
    encoding = settings.get("i18n.commitencoding", "utf-8").lower()
    special = {key for key in settings if key.startswith("extensions.")} - {"extensions.worktreeconfig"}
    return encoding not in ("utf-8", "utf8") or bool(special)


def _has_hooks(git: Git, folder: Path, tree: Path, settings: Mapping[str, str]) -> bool:
    place = Path(settings.get("core.hookspath", str(folder / "hooks"))).expanduser()
    found = [name for name in _HOOKS if os.access(tree / place / name, os.X_OK)]
    # Our own asks the policy, which the door has asked already.
    return bool(found) and not (found == ["pre-commit"] and git_hooks.is_only_ours(git))


def _converts(git: Git, tree: Path, settings: Mapping[str, str]) -> bool:
    """Tell whether attributes may turn the bytes of a note into others; only the words are looked at."""
    own = Path(os.environ.get("XDG_CONFIG_HOME") or Path("~/.config").expanduser()) / "git" / "attributes"
    named = Path(settings.get("core.attributesfile", str(own))).expanduser()
    places = [named, Path("/etc/gitattributes"), tree / ".git" / "info" / "attributes"]
    places += [tree / ".gitattributes", git.folder / ".gitattributes"]
    return any(map(names_a_conversion, places))


def names_a_conversion(file: Path) -> bool:
    """Tell whether a file of attributes may turn the bytes of a note into others."""
    return _CONVERTS.search(_content(file)) is not None


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""
