"""The notes of a vault, their use and today -> each note with its type, its age and its strength.

Reads the notes as they lie on disk, so that whatever is concluded names the bytes it was concluded from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from typing import NamedTuple

from memtool import kinds, names, standing
from memtool.catalog import catalog_page
from memtool.door.moving import ARCHIVE
from memtool.errors import MemtoolError, PathError
from memtool.lifecycle import strength
from memtool.lifecycle.strength import Strength
from memtool.note import note
from memtool.tense.dates import get_date
from memtool.usage.usage import Use
from memtool.vault import Vault, digest

_BORN = ("updated", "modified", "created", "date", "valid_from")
_HAPPENED = ("date", "created", "valid_from")
_COUNTS = ("shown", "opened", "cited", "good", "bad")
_YES = ("true", "yes", "on", "1")


class Aged(NamedTuple):
    """One note as it is now: its bytes, its type, the day it was written and the day it speaks of."""

    path: str
    digest: str
    note: note.Note
    kind: str
    born: str
    day: str
    use: Use
    strength: Strength

    @property
    def archived(self) -> bool:
        return is_archived(self.path)

    @property
    def pinned(self) -> bool:
        return self.says("pinned")

    @property
    def frozen(self) -> bool:
        return self.says("frozen")

    @property
    def torn(self) -> bool:
        """Whether it holds two versions of one note that nobody brought together yet."""
        marked = any(finding.code == "merge-conflict" for finding in self.note.findings)
        return marked or names.is_conflict_copy(self.path, ())

    @property
    def depth(self) -> int:
        """How often it was folded: 0 for an original."""
        text = note.get_text(self.note, "folded")
        return int(text) if text.isdecimal() and len(text) < 3 else int("folds" in self.note.meta)

    @property
    def title(self) -> str:
        own = note.get_text(self.note, "title")
        heads = (line.lstrip("# ") for line in self.body if line.startswith("# "))
        return own or next(heads, "") or self.path.rpartition("/")[2].rpartition(".")[0]

    @property
    def body(self) -> tuple[str, ...]:
        return self.note.lines[self.note.body_start - 1 :]

    def says(self, key: str) -> bool:
        return note.get_text(self.note, key).strip().casefold() in _YES


def is_archived(path: str) -> bool:
    """Tell whether a note lies in the archive."""
    return path.startswith(f"{ARCHIVE}/")


def origin(path: str) -> str:
    """Give the path that an archived note had before; any other as it is.

    >>> origin("archive/ops/a.md"), origin("ops/a.md")
    ('ops/a.md', 'ops/a.md')
    """
    return path.removeprefix(f"{ARCHIVE}/")


def resolve(vault: Vault, path: str) -> str:
    """Give the path of a note; where none is called that, of the one in the archive that was."""
    try:
        return vault.resolve(path)
    except PathError:
        with suppress(PathError):
            return vault.resolve(f"{ARCHIVE}/{path}")
        raise


def survey(
    vault: Vault, uses: Mapping[str, Use], today: date, *, ignore: Sequence[str] = ()
) -> Iterator[Aged]:
    """Read every note but the catalog's pages, in the order of their paths."""
    for path in sorted(vault.walk(ignore=ignore).stats):
        try:
            data = vault.read(path)
        except MemtoolError:
            continue  # what cannot be read is left alone; a check names it
        if not catalog_page.is_generated(path, data.decode("utf-8", "replace")):
            yield aged(path, data, use_of(path, uses), today)


def aged(path: str, data: bytes, use: Use, today: date) -> Aged:
    """Judge one note by its bytes and its use."""
    parsed = note.parse(data)
    kind = note.get_text(parsed, "type")
    named = kinds.kind_of(kind)
    stem = path.rpartition("/")[2].rpartition(".")[0]
    born = _first(parsed, _BORN) or standing.day_in_name(stem)
    day = _first(parsed, _HAPPENED) or standing.day_in_name(stem)
    lasting = strength.is_lasting(parsed.meta, kind)
    strong = strength.strength(use, today, kind=kind, born=born, lasting=lasting)
    return Aged(path, digest(data), parsed, named.name if named else "", born, day, use, strong)


def use_of(path: str, uses: Mapping[str, Use]) -> Use:
    """Give the use of a note; what it had under its other name, in or out of the archive, counts too."""
    other = origin(path) if is_archived(path) else f"{ARCHIVE}/{path}"
    mine, theirs = uses.get(path, Use()), uses.get(other, Use())
    if theirs == Use():
        return mine
    both = {name: getattr(mine, name) + getattr(theirs, name) for name in _COUNTS}
    return mine._replace(**both, last=max(mine.last, theirs.last))


def _first(parsed: note.Note, keys: Sequence[str]) -> str:
    for key in keys:
        when = get_date(note.get_text(parsed, key))
        if when:
            return when.date().isoformat()
    return ""
