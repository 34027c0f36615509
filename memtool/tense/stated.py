"""What a note says of its standing <-> the JSON the index keeps of it, and the keys it is looked up by.

Plain values for whoever searches; made by `standing`, which reads notes.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator
from typing import NamedTuple

from memtool.lexical import fold

_SUFFIX = re.compile(r"\.(?:md|markdown)$", re.IGNORECASE)
_LINES = re.compile(r"(?::\d+(?:-\d+)?)?(?:@[0-9a-f]{4,64})?$")


class Verified(NamedTuple):
    """Who checked which lines, when and against what; no lines when they were edited since."""

    by: str
    at: str
    against: str
    start: int = 0
    end: int = 0
    watched: str = ""  # digest of the state of all that the note watches

    @property
    def stands(self) -> bool:
        return self.end > 0


class Stated(NamedTuple):
    """What one note says; days are ISO, "" where it says nothing."""

    start: str = ""  # since when it holds
    end: str = ""  # until when, that day included
    seen: str = ""  # when it was last written down as true
    bound: bool = False  # whether it says itself from when or to when it is valid
    supersedes: tuple[str, ...] = ()
    superseded_by: tuple[str, ...] = ()
    verified: Verified | None = None
    review_by: str = ""
    watches: tuple[str, ...] = ()


NOTHING = Stated()


class Standing(NamedTuple):
    """What is special about the standing of a hit's note, at the time that was asked about."""

    superseded_by: str = ""  # the note that took its place
    newer: str = ""  # a note on the same subject that holds now, though nothing says that it took its place
    folded: tuple[str, ...] = ()  # anchors of notes that this one took the place of, and that would be hits
    valid_from: str = ""
    valid_to: str = ""
    needs_review: tuple[str, ...] = ()  # why: what moved since it was verified or written
    verified: Verified | None = None
    review_by: str = ""

    @property
    def marks(self) -> list[str]:
        """Say it in short, for people."""
        told = [f"superseded by {self.superseded_by}"] if self.superseded_by else []
        told += [f"newer: {self.newer}"] if self.newer else []
        told += [f"supersedes {', '.join(self.folded)}"] if self.folded else []
        told += [f"valid from {self.valid_from}"] if self.valid_from else []
        told += [f"valid until {self.valid_to}"] if self.valid_to else []
        told += [f"needs review: {'; '.join(self.needs_review)}"] if self.needs_review else []
        if self.verified:
            told.append(f"verified {self.verified.at} by {self.verified.by} against {self.verified.against}")
        return told

    def value(self) -> dict[str, object]:
        """Give it as JSON values; keys are only ever added."""
        stamp = self.verified
        keys = ("by", "at", "against", "start", "end")
        return {
            **self._asdict(),
            "folded": list(self.folded),
            "needs_review": list(self.needs_review),
            "verified": {key: getattr(stamp, key) for key in keys} if stamp else None,
        }


#: Marks a note that may come to need review by itself.
MAY_NEED_REVIEW = "!review"


def marks(said: Stated, folder: str) -> tuple[str, ...]:
    """Give what a note in *folder* is looked up by: the what it took the place of, and if it watches."""
    found = [key for name in said.supersedes for key in named(name, folder)]
    return (*found, *((MAY_NEED_REVIEW,) if said.watches or said.review_by else ()))


# -- names -----------------------------------------------------------------------------------


def keys(path: str, title: str) -> list[str]:
    """Give the keys by which other notes may name this one: its path, its file's name, its title.

    >>> keys("ops/Old.md", "Old keys")
    ['ops/old', '=old', '=old keys']
    """
    stem = _SUFFIX.sub("", fold(path))
    return list(dict.fromkeys([stem, f"={stem.rpartition('/')[2]}", f"={' '.join(fold(title).split())}"]))


def named(target: str, folder: str) -> Iterator[str]:
    """Give the keys that a note in *folder* means when it names another as *target*.

    >>> list(named("old.md", "ops")), list(named("Old keys", ""))
    (['old', 'ops/old', '=old'], ['old keys', '=old keys'])
    """
    from urllib.parse import unquote  # late: a search reads names that are written by now

    text = _LINES.sub("", unquote(target).strip())
    name = " ".join(_SUFFIX.sub("", fold(text.partition("#")[0])).split())
    if not name or len(name) > 1000:
        return
    yield posixpath.normpath(name.lstrip("/"))
    if folder and not name.startswith("/"):
        yield posixpath.normpath(f"{fold(folder)}/{name}")
    if "/" not in name:
        yield f"={name}"


def pack(stated: Stated) -> str:
    """Write it as short as can be: most notes say only when they were made.

    >>> pack(Stated(start="2024-01-01", seen="2024-01-01")), pack(NOTHING)
    ('["2024-01-01"]', '')
    """
    values = list(stated._replace(seen="" if stated.seen == stated.start else stated.seen))
    while values and not values[-1]:
        values.pop()
    return json.dumps(values, ensure_ascii=False) if values else ""


def unpack(text: str | None) -> Stated:
    """Read it again.

    >>> unpack('["2024-01-01"]').seen, unpack("").start
    ('2024-01-01', '')
    """
    if not text:
        return NOTHING
    found = Stated(*json.loads(text))
    return found._replace(
        seen=found.seen or found.start,
        supersedes=tuple(found.supersedes),
        superseded_by=tuple(found.superseded_by),
        verified=Verified(*found.verified) if found.verified else None,
        watches=tuple(found.watches),
    )
