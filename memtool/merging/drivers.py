"""A vault -> merge drivers in its repository's own settings, and out again.

Nothing that is committed changes: the drivers stand in the repository's `config`, and which notes they
are for in its `info/attributes`, between two marks. The undo takes exactly these lines out.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

from memtool import atomic
from memtool.errors import GitError
from memtool.git import Git

_KINDS = {"note": "memtool: tags together, the newest date", "catalog": "memtool: every entry of both sides"}
_BEGIN, _END = "# memtool: begin", "# memtool: end"


def install(git: Git, python: str) -> list[str]:
    """Set the drivers up for the notes below the folder; give what was changed. Safe to repeat."""
    changed = [_set(git, f"merge.memtool-{kind}.name", words) for kind, words in _KINDS.items()]
    changed += [_set(git, f"merge.memtool-{kind}.driver", _command(python, kind)) for kind in _KINDS]
    text, prefix = _attributes(git), git.prefix()
    rest = _without(text, prefix)
    block = "\n".join([_mark(prefix), *_lines(prefix), _END]) + "\n"
    # Last, for git takes the last line that fits.
    wanted = (rest if not rest or rest.endswith("\n") else rest + "\n") + block
    return [*filter(None, changed), *_write(git, text, wanted)]


def remove(git: Git) -> list[str]:
    """Take the drivers out again; those of another vault in the same repository stay."""
    text = _attributes(git)
    rest = _without(text, git.prefix())
    changed = _write(git, text, rest)
    if _BEGIN in rest:
        return changed
    for kind in _KINDS:
        status, _, _ = git.attempt("config", "--local", "--remove-section", f"merge.memtool-{kind}")
        changed += [f"merge.memtool-{kind}"] if not status else []
    return changed


def _command(python: str, kind: str) -> str:
    """Write what git runs; where memtool cannot be run any more, git's own merge does it."""
    # -P: a folder of the vault named like a module must not be taken for it.
    ours = f"{shlex.quote(python)} -P -m memtool merge-driver {kind} %O %A %B"
    return f"{ours}; code=$?; test $code -le 1 || {{ git merge-file -q %A %O %B; code=$?; }}; exit $code"


def _set(git: Git, key: str, value: str) -> str:
    status, out, _ = git.attempt("config", "--local", "--get", key)
    if not status and out.decode(errors="replace").removesuffix("\n") == value:
        return ""
    git.run("config", "--local", key, value)
    return key


def _lines(prefix: str) -> list[str]:
    patterns = {"*.md": "note", "*.markdown": "note", "MEMORY.md": "catalog", "MEMORY/*.md": "catalog"}
    return [
        f"{_pattern(prefix, '**/' * pattern.startswith('*') + pattern)} merge=memtool-{kind}"
        for pattern, kind in patterns.items()
    ]


def _pattern(prefix: str, pattern: str) -> str:
    """Anchor a pattern at the vault; quoted, for a folder's name may hold anything.

    >>> _pattern("my notes/", "**/*.md"), _pattern("", "MEMORY.md")
    ('"/my notes/**/*.md"', '"/MEMORY.md"')
    """
    literal = re.sub(r"([*?\[\]\\])", r"\\\1", prefix)
    quoted = f"/{literal}{pattern}".replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{quoted}"'


def _mark(prefix: str) -> str:
    return f"{_BEGIN} /{prefix}".replace("\n", " ")


def _without(text: str, prefix: str) -> str:
    lines, kept, inside = text.split("\n"), list[str](), False
    for line in lines:
        inside = inside or line == _mark(prefix)
        if not inside:
            kept.append(line)
        inside = inside and line != _END
    return "\n".join(kept)


def _file(git: Git) -> Path:
    place = git.run("rev-parse", "--git-path", "info/attributes").removesuffix(b"\n")
    return git.folder / os.fsdecode(place)


def _attributes(git: Git) -> str:
    try:
        return _file(git).read_text(encoding="utf-8", errors="surrogateescape")
    except FileNotFoundError:
        return ""


def _write(git: Git, before: str, wanted: str) -> list[str]:
    if before == wanted:
        return []
    file = _file(git)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        atomic.put(file, wanted.encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise GitError(
            f"`{file}` was not written", why=str(error), fix="see that you may write there"
        ) from error
    return ["info/attributes"]
