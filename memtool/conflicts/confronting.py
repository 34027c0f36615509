"""A vault, or some of its notes -> the pairs of lines that cannot both be true, the newest first.

What was found is kept by the bytes of the notes, so that only notes that changed are compared again, with
those that have words in common with them. What is superseded, archived, generated or does not hold today
contradicts nothing.
"""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date
from itertools import islice
from typing import Any, NamedTuple

from memtool import generated, lexical, standing
from memtool.beliefs import succession
from memtool.conflicts import claims, conflicts
from memtool.conflicts.claims import Claim
from memtool.conflicts.conflicts import Pair, Place
from memtool.conflicts.judging import pair_digest, put
from memtool.derived import Derived
from memtool.errors import MemtoolError
from memtool.index.index import FileRow, Index, Row
from memtool.note import note
from memtool.tense import stated

#: Part of what kept findings are named by: raise it when claims are read or compared otherwise.
VERSION = 1
#: Of more changed notes than these, they are compared among themselves, and only so many of their lines.
MANY, LINES = 200, 20_000
#: Notes that are read at most to be compared with some.
NOTES = 60
#: Lines of a note that others are looked up for.
MOST_ASKED = 300
#: Chunks looked at for one line, words of it they are looked up by, and lines of one change.
_NEAR, _ASKED, _LINES = 12, 8, 60
#: Notes that a change is compared with.
_CLOSE = 20

Alike = Callable[[Sequence[tuple[str, str]]], Sequence[float]]


class Side(NamedTuple):
    """One line of a pair, and the word in it that differs."""

    path: str
    line: int
    text: str
    word: str


class Found(NamedTuple):
    """Two lines that cannot both be true, if they speak of the same thing."""

    kind: str
    one: Side
    other: Side
    likeness: float

    @property
    def digest(self) -> str:
        """Name the two texts, whichever stands first: an edit of either is another pair."""
        return pair_digest(self.one.text, self.other.text)


# -- all of a vault --------------------------------------------------------------------------


def whole(derived: Derived, alike: Alike | None) -> list[Found]:
    """Give all pairs of a vault; only what changed since the last time is compared."""
    index = derived.index
    now = {file.path: file for file in index.files().values() if may_speak(file)}
    kept, pairs = _load(derived, meaning=alike is not None)
    changed = {path for path, file in now.items() if kept.get(path) != file.blob}
    if changed or kept.keys() - now.keys():
        pairs = [pair for pair in pairs if {pair.one.path, pair.other.path} <= now.keys() - changed]
        pairs += of_notes(derived, changed, alike) if changed else []
        _save(derived, {path: file.blob for path, file in now.items()}, pairs, meaning=alike is not None)
    return pairs


def of_notes(derived: Derived, paths: Collection[str], alike: Alike | None) -> list[Found]:
    """Give the pairs of which at least one line stands in these notes."""
    index = derived.index
    every = {file.path: file for file in index.files().values() if may_speak(file)}
    mine = [path for path in every if path in paths]
    if len(mine) > MANY:
        return pairs_among(_newest(derived, [every[path] for path in mine]), set(mine), alike)
    own = {path: _read(derived, path, every[path].title) for path in mine}
    near = near_paths(index, (claim for some in own.values() for claim in some))
    others = {
        path: _read(derived, path, every[path].title) for path in near if path in every and path not in own
    }
    return pairs_among({**own, **others}, set(own), alike)


def pairs_among(
    read: Mapping[str, Sequence[Claim]], own: Collection[str], alike: Alike | None
) -> list[Found]:
    """Compare the claims of some notes, by path, with those of *own*."""
    places = [Place(path, claim) for path in sorted(read) for claim in read[path]]
    pairs = conflicts.find(places, of=lambda place: place.path in own)
    return [told(pair) for pair in conflicts.settle(pairs, alike)]


def _newest(derived: Derived, notes: Sequence[FileRow]) -> dict[str, list[Claim]]:
    """Read the newest notes first, until there are lines enough."""
    read: dict[str, list[Claim]] = {}
    count = 0
    for file in sorted(notes, key=lambda file: (file.day, file.path), reverse=True):
        if count > LINES:
            told = f"{len(notes) - len(read)} older notes were not compared"
            derived.remark(f"only the newest notes were compared with each other, {told}: name one to do so")
            break
        read[file.path] = _read(derived, file.path, file.title)
        count += len(read[file.path])
    return read


def near_paths(index: Index, asked: Iterable[Claim]) -> list[str]:
    """Find the notes that have the rarest words of some claims in common with them, the likeliest first."""
    rows: Counter[int] = Counter()
    for claim in islice(filter(conflicts.is_strong, asked), MOST_ASKED):
        if expression := _expression(index, claim):
            rows.update(row for row, _ in index.words(expression, limit=_NEAR))
    known = index.rows([row for row, _ in rows.most_common(4 * NOTES)])
    paths = dict.fromkeys(known[row].path for row, _ in rows.most_common(4 * NOTES) if row in known)
    return list(paths)[:NOTES]


def _expression(index: Index, claim: Claim) -> str:
    texts = [spelling for _, spelling in claim.shown]
    words = dict.fromkeys(
        form for text in texts for token in lexical.tokens(text) for form in lexical.forms(token)
    )
    counts = index.frequencies([word.lower() for word in words])
    rarest = sorted(counts, key=lambda word: counts[word])[:_ASKED]
    return " OR ".join(map(lexical.quote, rarest))


def may_speak(file: FileRow) -> bool:
    """Tell a note that says what is so from one that is put away, or was made of others."""
    return not (
        file.path.startswith("archive/") or "/archive/" in file.path or file.facts.get("generated")
    ) and (not file.path.startswith(f"{generated.FOLDER}/") or not file.facts.get("cites"))


def _read(derived: Derived, path: str, title: str) -> list[Claim]:
    with suppress(MemtoolError, OSError):
        return claims.read(note.parse(derived.vault.read(path)).text, title)
    return []


def told(pair: Pair) -> Found:
    """Give a pair as it is shown and kept."""
    one, other, difference = pair.one, pair.other, pair.difference
    return Found(
        difference.kind,
        Side(one.path, one.claim.line, one.claim.text, difference.one),
        Side(other.path, other.claim.line, other.claim.text, difference.other),
        round(difference.likeness, 3),
    )


# -- a change --------------------------------------------------------------------------------


def of_change(derived: Derived, path: str, before: bytes, after: bytes) -> list[Found]:
    """Give the pairs of the lines that a change brought into a note; by words alone, which is quick."""
    index, parsed = derived.index, note.parse(after)
    title = note.get_text(parsed, "title")
    old = {unicodedata.normalize("NFKC", line) for line in note.parse(before).lines}
    lines = [unicodedata.normalize("NFKC", line) for line in parsed.lines]
    read = claims.read(parsed.text, title)
    new = [claim for claim in read if lines[claim.line - 1] not in old][:_LINES]
    if not new or path.startswith("archive/"):
        return []
    near = [other for other in near_paths(index, new)[:_CLOSE] if other != path]
    ids = [known for other in near if (known := index.file_id(other)) is not None]
    every = {file.path: file for file in index.files(ids).values() if may_speak(file)}
    fresh = {id(claim) for claim in new}
    places = [Place(path, claim) for claim in read]
    places += [
        Place(other, claim) for other in sorted(every) for claim in _read(derived, other, every[other].title)
    ]
    pairs = conflicts.find(places, of=lambda place: id(place.claim) in fresh)
    found = [told(pair) for pair in conflicts.settle(pairs, None)]
    return [
        pair if pair.one.path == path else pair._replace(one=pair.other, other=pair.one) for pair in found
    ]


# -- what counts -----------------------------------------------------------------------------


def standing_of(derived: Derived, today: date) -> frozenset[str]:
    """Give the notes that say nothing of today: superseded, or not valid now."""
    index, day = derived.index, today.isoformat()
    rows, said = {}, {}
    for id_, path, title, text in index.db.execute("SELECT id, path, title, standing FROM files"):
        rows[id_] = Row(0, id_, path, 1, 1, "body", "", "", title or "", "", None, text or "")
        said[id_] = stated.unpack(text)
    old = {
        file
        for file, successors in succession.of(index, rows, said).items()
        if any(by.since <= day for by in successors)
    }
    out = {
        file for file, one in said.items() if one.bound and ((one.end and one.end < day) or one.start > day)
    }
    return frozenset(rows[file].path for file in old | out)


class Judged:
    """What notes say of each other by a person's judgement; every note is looked at once."""

    def __init__(self, derived: Derived) -> None:
        self.derived = derived
        self.known: dict[str, list[tuple[str, str, str]]] = {}

    def of(self, found: Found) -> str:
        """Give what was said of a pair: "same" for no conflict, "contradicts", or "" for nothing yet."""
        for mine, theirs in ((found.one.path, found.other.path), (found.other.path, found.one.path)):
            for key, name, digest in self._said(mine):
                if name.removeprefix("/") not in (theirs, theirs.removesuffix(".md")):
                    continue
                if key == "contradicts":
                    return "contradicts"
                if digest and found.digest.startswith(digest):
                    return "same"
        return ""

    def _said(self, path: str) -> list[tuple[str, str, str]]:
        """Give the key, the other's name and the digest of the pair, of each thing that a note says."""
        if path not in self.known:
            self.known[path] = []
            with suppress(MemtoolError, OSError):
                data = self.derived.vault.read(path)
                if b"not_in_conflict" in data or b"contradicts" in data:
                    meta = note.parse(data).meta
                    self.known[path] = [
                        (key, *_pinned(name))
                        for key in ("not_in_conflict", "contradicts")
                        for name in standing.names(meta.get(key))
                    ]
        return self.known[path]


def _pinned(name: str) -> tuple[str, str]:
    path, _, digest = name.partition("@")
    return path, digest


# -- what is kept ----------------------------------------------------------------------------


def _file(derived: Derived) -> Any:
    return derived.vault.cache / "conflicts.json"


def _load(derived: Derived, *, meaning: bool) -> tuple[dict[str, str], list[Found]]:
    with suppress(OSError, ValueError, TypeError, KeyError):
        kept = json.loads(_file(derived).read_text(encoding="utf-8"))
        if kept["version"] == [VERSION, meaning]:
            pairs = [Found(p[0], Side(*p[1]), Side(*p[2]), float(p[3])) for p in kept["pairs"]]
            return dict(kept["blobs"]), pairs
    return {}, []


def _save(derived: Derived, blobs: Mapping[str, str], pairs: Sequence[Found], *, meaning: bool) -> None:
    value = {"version": [VERSION, meaning], "blobs": blobs, "pairs": pairs}
    derived.vault.prepare(derived.vault.cache)
    with suppress(OSError):
        put(_file(derived), value)


def alike_by(derived: Derived) -> Alike | None:
    """Give what compares texts by meaning; None where there are no vectors."""
    embedder = derived.embedder
    if embedder is None:
        return None

    def alike(asked: Sequence[tuple[str, str]]) -> list[float]:
        import numpy as np

        texts = list(dict.fromkeys(text or "-" for pair in asked for text in pair))
        matrix = np.nan_to_num(np.asarray(embedder.embed(texts, kind="passage"), np.float32))
        at = {text: number for number, text in enumerate(texts)}
        return [float(matrix[at[a or "-"]] @ matrix[at[b or "-"]]) for a, b in asked]

    return alike
