"""A vault -> a pre-commit hook in its repository that asks the policy, and out again.

A hook that is there already is kept: ours goes in front of it, between two marks, and the undo takes
exactly these lines out. Where hooks lie elsewhere (`core.hooksPath`) nothing is written; what to add is said.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import NamedTuple

from memtool.errors import GitError
from memtool.git import Git

_SHELL = re.compile(rb"#! ?(?:/usr)?/bin/(?:env )?(?:ba|da|z|k)?sh\b")


class Change(NamedTuple):
    """What was changed in the repository's own files, and what is left for a person to do."""

    changed: tuple[str, ...] = ()
    remark: str = ""


def install(git: Git, python: str) -> Change:
    """Let the hook ask the policy before each commit. Safe to repeat."""
    status, out, _ = git.attempt("config", "--get", "core.hooksPath")
    command = _command(git, python)
    if not status:
        shown = out.decode(errors="replace").strip()
        return Change(remark=f"hooks lie in `{shown}` here; add this to your pre-commit: {command}")
    file = _file(git)
    text = _read(file)
    rest = _without(text, git.prefix())
    if rest.strip() and not _SHELL.match(rest):
        return Change(remark=f"{file} is no shell script; add this to it: {command}")
    first, _, more = (rest or b"#!/bin/sh\n").partition(b"\n")
    block = "\n".join([_mark(git.prefix()), command, "# memtool: end"]).encode()
    return _write(file, text, first + b"\n" + block + b"\n" + more)


def remove(git: Git) -> Change:
    """Take our lines out; a hook that holds nothing else goes."""
    file = _file(git)
    text = _read(file)
    rest = _without(text, git.prefix())
    if rest == text:
        return Change()
    if rest.strip() in (b"", b"#!/bin/sh"):
        file.unlink()
        return Change(("hooks/pre-commit",))
    return _write(file, text, rest)


def is_only_ours(git: Git) -> bool:
    """Tell whether the hook does nothing but ask the policy of this vault."""
    return _without(_read(_file(git)), git.prefix()).strip() in (b"", b"#!/bin/sh")


def _command(git: Git, python: str) -> str:
    """Write what the hook runs; where memtool cannot be run any more, it stands in nobody's way."""
    run, vault = f"{shlex.quote(python)} -P", '"$(git rev-parse --show-toplevel)"'
    if git.prefix():
        vault += f"/{shlex.quote(git.prefix())}"
    asks = f"{run} -m memtool policy check --staged --vault {vault} >&2"
    return f"if {run} -c 'import memtool' 2>/dev/null; then {asks} || exit 1; fi"


def _mark(prefix: str) -> str:
    return f"# memtool: begin /{prefix}".replace("\n", " ")


def _without(text: bytes, prefix: str) -> bytes:
    lines, kept, inside = text.split(b"\n"), list[bytes](), False
    for line in lines:
        inside = inside or line == _mark(prefix).encode()
        if not inside:
            kept.append(line)
        inside = inside and line != b"# memtool: end"
    return b"\n".join(kept)


def _file(git: Git) -> Path:
    place = git.run("rev-parse", "--git-path", "hooks/pre-commit").removesuffix(b"\n")
    return git.folder / os.fsdecode(place)


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return b""


def _write(file: Path, before: bytes, wanted: bytes) -> Change:
    if before == wanted:
        return Change()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        temporary = file.with_name(f"{file.name}.memtool-{os.getpid()}")
        temporary.write_bytes(wanted)
        temporary.chmod(file.stat().st_mode | 0o111 if file.exists() else 0o755)
        os.replace(temporary, file)
    except OSError as error:
        raise GitError(
            f"`{file}` was not written", why=str(error), fix="see that you may write there"
        ) from error
    return Change(("hooks/pre-commit",))
