"""A new note as it is meant -> the note, and what its writer should know first: who says the same already.

By meaning where there are vectors, else by the words themselves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from memtool import lexical, writer
from memtool.chunks import chunks, passages
from memtool.commits.commit_message import Edit
from memtool.door import line_edit
from memtool.door.door import Step, Wanted
from memtool.errors import EmbedderError, Finding
from memtool.identity import Signature
from memtool.note import note
from memtool.note.anchor import Anchor
from memtool.vault import Vault

if TYPE_CHECKING:
    from memtool.derived import Derived

#: Cosine from which on two texts say nearly the same, and the like for texts compared by their words.
ALIKE, ALIKE_WORDS = 0.95, 0.9
_NEAREST = 20  # texts looked at for each text of the new note
_CAUGHT_UP = 64  # texts that may get their vector first
_RUN = 3  # words that are compared together
_ASKED = 24  # words of the new note that others are looked for with


class Draft(NamedTuple):
    """A new note that is not written yet; a title "" is the first line of the text."""

    text: str
    title: str
    folder: str
    meta: Mapping[str, str | Sequence[str]]
    created: str

    @property
    def name(self) -> str:
        lines = (line.strip("# \t\r") for line in self.text.split("\n"))
        return (self.title or next(filter(None, lines), "")).strip()[:200]


class Twin(NamedTuple):
    """Lines of a note that say nearly the same, and how nearly."""

    anchor: Anchor
    likeness: float


def step(vault: Vault, draft: Draft) -> Step:
    """Make the note, named unlike all that are there; to be called under the lock."""
    change = writer.draft(
        vault, draft.name, draft.text, draft.meta, created=draft.created, folder=draft.folder
    )
    return Step("add", Edit(change.path, None, change.data))


def remarks(draft: Draft, by: Signature) -> Iterator[Finding]:
    """Tell an agent what its note lacks to be found."""
    if by.is_agent and not draft.meta.get("asks"):
        what = "the note names no question that it answers, so it is found by its own words only"
        fix = "give `asks`: questions in other words and in the other language"
        yield Finding("asks-missing", draft.name or ".", 0, what, fix)


def told(twin: Twin) -> Finding:
    """Say that another note says nearly the same."""
    what = f"{twin.anchor} says nearly the same (likeness {twin.likeness:.2f})"
    fix = f"read it, then change that note instead, or give `--merge`: see `memtool show {twin.anchor}`"
    return Finding("near-duplicate", twin.anchor.path, twin.anchor.start, what, fix)


def length(data: bytes) -> int:
    """Count the lines of a note."""
    return len(note.parse(data).lines)


# Who says the same


def twin(derived: Derived, draft: Draft, search: Callable[[str], Sequence[Anchor]]) -> Twin | None:
    """Find the note that says nearly the same; *search* finds some by words."""
    try:
        if derived.embedder is not None and (found := _by_meaning(derived, draft)):
            return found
    except EmbedderError:
        pass  # words do
    question = " ".join(draft.text.split()[:_ASKED])[:400]
    return _by_words(derived, draft, list(dict.fromkeys(anchor.path for anchor in search(question))))


def _by_meaning(derived: Derived, draft: Draft) -> Twin | None:
    texts = list(_texts(draft))
    # Vectors are made by whoever searches or indexes: to add a note waits for no vault to be embedded.
    if not texts or derived.embedder is None or not derived.vectors.count:
        return None
    derived.embed(most=_CAUGHT_UP)
    likeness: dict[int, list[float]] = {}
    places: dict[int, tuple[int, int]] = {}
    for number, row in enumerate(derived.embedder.embed(texts, kind="passage")):
        near = dict(derived.vectors.search(row, _NEAREST)[0])
        for target in derived.index.targets(list(near)):
            best = likeness.setdefault(target.file, [0.0] * len(texts))
            best[number] = max(best[number], float(near[target.digest]))
            if target.row is not None:
                first, last = places.get(target.file, (target.start, target.end))
                places[target.file] = (min(first, target.start), max(last, target.end))
    weights = [len(text) for text in texts]
    scored = {
        file: sum(a * b for a, b in zip(best, weights, strict=True)) / sum(weights)
        for file, best in likeness.items()
        if file in places
    }
    file = max(scored, key=lambda file: scored[file], default=None)
    if file is None or scored[file] < ALIKE:
        return None
    return Twin(Anchor(derived.index.files([file])[file].path, *places[file]), scored[file])


def _texts(draft: Draft) -> Iterator[str]:
    """Give the texts of the new note as those of the others were embedded: under its title."""
    for chunk in chunks.cut(note.parse(draft.text.encode("utf-8", "replace"))).chunks:
        for piece in passages.pieces(chunk.start, chunk.end, chunk.text):
            text = piece.text
            yield text if text.lstrip("# ").startswith(draft.name) else f"{draft.name}\n{text}"


def _by_words(derived: Derived, draft: Draft, paths: Sequence[str]) -> Twin | None:
    own = _runs(draft.text)
    best: Twin | None = None
    for path in paths:
        read = note.parse(derived.vault.read(path))
        body = read.lines[read.body_start - 1 :]
        other = _runs("\n".join(body))
        likeness = len(own & other) / max(1, len(own | other))
        if likeness >= ALIKE_WORDS and (best is None or likeness > best.likeness):
            best = Twin(Anchor(path, read.body_start, max(read.body_start, len(read.lines))), likeness)
    return best


def _runs(text: str) -> set[tuple[str, ...]]:
    words = [token for token in re.findall(r"\w", text) if lexical.is_wide(token)] if _wide(text) else []
    words = words or lexical.fold(text).split()
    return {tuple(words[at : at + _RUN]) for at in range(max(1, len(words) - _RUN + 1))}


def _wide(text: str) -> bool:
    return lexical.wide_count(text) > 0.2 * max(1, len(text))


# What is new


def news(data: bytes, text: str) -> str:
    """Give the lines of *text* that a note does not have yet, in order, without the empty ones around."""
    there = {_plain(line) for line in note.parse(data).lines}
    new = [line for line in text.split("\n") if not line.strip() or _plain(line) not in there]
    return "\n".join(new).strip("\n") if any(line.strip() for line in new) else ""


def _plain(line: str) -> str:
    return " ".join(line.strip("#*-+ \t\r").split()).casefold()


def joined(path: str, text: str) -> Wanted:
    """Append what is new to the note that says nearly the same."""

    def change(data: bytes) -> bytes:
        new = news(data, text)
        return line_edit.append(data, f"\n{new}").data if new else data

    return Wanted(path, "append", change, text, fits_any=True)
