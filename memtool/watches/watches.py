"""An entry of a note's ``watches`` -> what is watched: its kind, in which checkout, and what there.

Knows how entries are written, and which of them lead nowhere they may: everything else is refused.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from memtool.errors import MemtoolError

Kind = Literal["file", "git", "package", "date", "command", "url"]
KINDS: tuple[Kind, ...] = ("file", "git", "package", "date", "command", "url")

#: Kinds that run or ask something: looked at only where the user's own settings name them.
ASKING = ("command", "url")

#: Files that one pattern may name, and entries looked at to find them.
MOST_FILES, MOST_ENTRIES = 2_000, 50_000

_ENTRIES = ("file", "files", "path", "git", "package", "date", "command", "url")


class RefusedError(MemtoolError):
    """What a note watches may not be looked at."""

    code = "watch-refused"


class Watch(NamedTuple):
    """One thing that is watched: in which checkout ("" is the vault), and what there."""

    kind: Kind
    place: str
    what: str

    def __str__(self) -> str:
        place = f"{self.place}:" if self.place else ""
        return f"{place}{self.what}" if self.kind == "file" else f"{self.kind} {place}{self.what}"


def parse(text: str) -> Watch:
    """Read one entry of ``watches``; a text without a kind is a pattern of files.

    >>> parse("src/*.py"), str(parse("git:app@main")), parse("package: numpy").what
    (Watch(kind='file', place='', what='src/*.py'), 'git app:main', 'numpy')
    """
    head, colon, rest = text.partition(":")
    name, rest = head.strip().casefold(), rest.strip()
    if text.startswith(("http://", "https://")):
        return Watch("url", "", text)
    if not colon or name not in _ENTRIES:
        return _file(text)
    if name in ("file", "files", "path"):
        return _file(rest)
    if name == "git":
        place, at, reference = rest.rpartition("@")
        return Watch("git", place if at else "", reference or "HEAD")
    return Watch(name, "", rest)  # type: ignore[arg-type]


def _file(text: str) -> Watch:
    place, colon, what = text.partition(":")
    if colon and place and "/" not in place and what:
        return Watch("file", place.strip(), what.strip())
    return Watch("file", "", text.strip())


def matching(root: Path, watch: Watch) -> Iterator[str]:
    """Give the paths below *root* that a pattern means, git's and our own folders left out."""
    pattern = watch.what
    if (
        os.path.isabs(pattern)
        or ".." in pattern.split("/")
        or "\0" in pattern
        or "\\" in pattern
        or not pattern
    ):
        why = "it leads out of the vault, or of the checkout that it names"
        fix = (
            "write a path below it; another checkout is named in your own settings file, under `[checkouts]`"
        )
        raise RefusedError(f"{watch} is refused", why=why, fix=fix)
    if not glob.has_magic(pattern):
        yield pattern.rstrip("/")
        return
    for count, name in enumerate(glob.iglob(pattern, root_dir=root, recursive=True)):
        if count >= MOST_ENTRIES:
            raise RefusedError(
                f"{watch} looks through too much", fix="watch fewer files: give a narrower pattern"
            )
        if not {".git", ".memtool"} & set(name.split("/")):
            yield name.replace(os.sep, "/")


def package_name(text: str) -> tuple[str, str]:
    """Part a package's name from the version it is to have, "" for none.

    >>> package_name("numpy==2.1"), package_name("numpy")
    (('numpy', '2.1'), ('numpy', ''))
    """
    name, _, version = text.replace("==", " ").partition(" ")
    return name.strip(), version.strip()
