"""What is asked, opened and said in a unit of work -> its state, brought up to date.

Joins a unit's file with the vault's projection and vectors: a state of another embedder or projection
starts empty. Knows what is worth taking in; knows nothing of how a search uses it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np

from memtool import lexical, names
from memtool.derived import Derived
from memtool.embedders.base import Matrix
from memtool.errors import EmbedderError, UsageError
from memtool.index.index import Index, Row
from memtool.note import note
from memtool.note.anchor import Anchor
from memtool.search import question as asking
from memtool.session import projections, session, sessions
from memtool.session.session import Array, Projection, State
from memtool.session.sessions import Event, Unit
from memtool.vectors.vectors import Vectors

#: What is left of a word's weight at the next question, and below which weight a word goes.
FADING, FAINT = 0.7, 0.1

#: Words taken of one text, at most: the rarest.
WORDS_OF_A_TEXT = 32

#: Characters of a text that is embedded or searched for words, and of one that is shown again.
LONGEST, SHOWN = 4_000, 100

#: Words that carry nothing over, in full and as they are stemmed.
_EMPTY = lexical.STOP | {lexical.stem(word) for word in lexical.STOP}


class Attention(NamedTuple):
    """A unit's state with the projection that it is read by; ``remark`` says why it starts empty."""

    state: State
    projection: Projection
    remark: str = ""


class Asked(NamedTuple):
    """A question as it was asked, its first hit, and how far it was leant."""

    text: str
    vector: Matrix
    hit: Anchor | None
    alpha: float


def attend(derived: Derived, unit: Unit, vectors: Vectors, width: int) -> Attention:
    """Give the unit's state, or an empty one where it was written with what is not here any more."""
    fingerprint = derived.embedder.fingerprint if derived.embedder else ""
    if unit.state is not None and unit.embedder == fingerprint:
        projection = projections.find(derived.vault, fingerprint, unit.projection)
        if projection is None:  # made again of the same vectors it is the same one
            made = projections.current(derived.vault, fingerprint, vectors, derived.index, width)
            projection = made if made.ident == unit.projection else None
        if projection and len(projection.mean) == width and unit.state.fits(projection):
            return Attention(unit.state, projection)
    projection = projections.current(derived.vault, fingerprint, vectors, derived.index, width)
    remark = ""
    if unit.state is not None:
        why = "of another embedder" if unit.embedder != fingerprint else "of another projection"
        remark = f"the session state of `{unit.name}` is {why} and starts empty"
    return Attention(State.empty(unit.shape, projection), projection, remark)


# -- taking in -------------------------------------------------------------------------------


def take_question(derived: Derived, unit: Unit, asked: Asked, now: datetime) -> Unit:
    """Take in a question, and weakly the first hit it was given."""
    vector = asked.vector.astype(np.float64)
    hit = mean_vector(derived, asked.hit, len(vector)) if asked.hit else None

    def work(attention: Attention, words: Mapping[str, float]) -> tuple[State, Mapping[str, float]]:
        state = session.asked(attention.state, attention.projection, vector, hit)
        return state, _more(fade(words), rare(derived.index, asked.text))

    event = Event(_stamp(now), "asked", _shown(asked.text), asked.alpha)
    return _take(derived, unit, len(vector), work, event)


def take_opened(derived: Derived, unit: Unit, anchor: Anchor, now: datetime) -> Unit:
    """Take in lines that were opened: they are what the last question was after."""
    text = "\n".join(_lines(derived, anchor))
    width = _width(derived)
    vector = mean_vector(derived, anchor, width) if width else None
    if vector is None and not text.strip():  # front matter alone: it speaks for its note
        vector = mean_vector(derived, anchor._replace(start=0, end=0), width) if width else None
        if vector is None:
            return unit
    vector = _embed(derived, text) if vector is None else vector
    event = Event(_stamp(now), "opened", str(anchor._replace(digest="")))
    return _take_value(derived, unit, vector, text, event, anchor._replace(digest=""))


def take_said(derived: Derived, unit: Unit, text: str, now: datetime) -> Unit:
    """Take in what was said in answer to the last question."""
    if not text.strip():
        return unit
    return _take_value(derived, unit, _embed(derived, text), text, Event(_stamp(now), "said", _shown(text)))


def _take_value(
    derived: Derived, unit: Unit, vector: Array, text: str, event: Event, anchor: Anchor | None = None
) -> Unit:
    def work(attention: Attention, words: Mapping[str, float]) -> tuple[State, Mapping[str, float]]:
        state = session.opened(attention.state, attention.projection, vector)
        return state, _more(words, rare(derived.index, text))

    return _take(derived, unit, len(vector), work, event, anchor)


_Work = Callable[[Attention, Mapping[str, float]], tuple[State, Mapping[str, float]]]


def _take(
    derived: Derived, unit: Unit, width: int, work: _Work, event: Event, anchor: Anchor | None = None
) -> Unit:
    """Bring the unit's file up to date; *unit* says its size where there is no file yet."""

    def change(kept: Unit | None) -> Unit:
        kept = kept or Unit(unit.name, unit.size)
        attention = attend(derived, kept, derived.vectors, width)
        state, words = work(attention, dict(kept.words))
        opened = tuple(one for one in kept.opened if one != anchor) + ((anchor,) if anchor else ())
        most = sorted(words.items(), key=lambda one: (-one[1], one[0]))[: sessions.MOST_WORDS]
        return kept._replace(
            embedder=derived.embedder.fingerprint if derived.embedder else "",
            projection=attention.projection.ident,
            state=state,
            opened=opened[-sessions.MOST_OPENED :],
            events=(*kept.events, event)[-sessions.MOST_EVENTS :],
            words=tuple(most) if kept.shape.words else (),
        )

    return sessions.change(derived.vault, unit.name, change)


def _stamp(now: datetime) -> str:
    return f"{now.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _shown(text: str) -> str:
    """Shorten and mask a text that is only kept to be shown again."""
    from memtool import secrets

    line = names.one_line(secrets.mask(text[:LONGEST]))
    return line if len(line) <= SHOWN else f"{line[: SHOWN - 1]}…"


def _lines(derived: Derived, anchor: Anchor) -> tuple[str, ...]:
    """Give the opened lines of a note; its front matter tells of the note, not of the work."""
    opened = note.parse(derived.vault.read(anchor.path))
    end = anchor.end if anchor.start else len(opened.lines)
    return opened.lines[max(anchor.start, opened.body_start) - 1 : end]


# -- vectors ---------------------------------------------------------------------------------


def _width(derived: Derived) -> int:
    return int(derived.vectors.get([]).shape[1])


def _embed(derived: Derived, text: str) -> Array:
    if derived.embedder is None:
        why, fix = "the embedder is switched off", "set `embedder`"
        raise UsageError("a session state needs vectors", why=why, fix=fix)
    row = derived.embedder.embed([text[:LONGEST]], kind="passage")[0]
    if not len(row) or not np.isfinite(row).all():
        raise EmbedderError("the text gave no vector", fix="take in another text")
    vector: Array = row.astype(np.float64)
    return vector


def mean_vector(derived: Derived, anchor: Anchor, width: int) -> Array | None:
    """Give the mean direction of the pieces that *anchor* touches; None when none has a vector."""
    index = derived.index
    file = index.file_id(anchor.path)
    rows = index.rows([] if file is None else index.rows_of(file))
    touched = [row for row in rows.values() if row.kind == "body" and _touches(anchor, row.start, row.end)]
    targets = [t for t in index.pieces_of([row.row for row in touched]) if _touches(anchor, t.start, t.end)]
    matrix = derived.vectors.get([target.digest for target in targets]).astype(np.float64)
    matrix = matrix[session.sound(matrix)]
    if not len(matrix) or matrix.shape[1] != width:
        return None
    return session.unit(matrix.mean(axis=0))


def _touches(anchor: Anchor, start: int, end: int) -> bool:
    return not anchor.start or (start <= anchor.end and anchor.start <= end)


# -- words -----------------------------------------------------------------------------------


def rare(index: Index, text: str) -> dict[str, float]:
    """Give the rarest words of a text that the vault has, each with the weight 1."""
    from memtool import secrets

    counted = Counter(lexical.question_tokens(secrets.mask(text[:LONGEST])))
    weights = _idfs(index, [word for word in counted if word not in _EMPTY])
    best = sorted(weights, key=lambda word: (-weights[word] * min(counted[word], 3), word))
    return dict.fromkeys(best[:WORDS_OF_A_TEXT], 1.0)


def fade(words: Mapping[str, float] | Sequence[tuple[str, float]]) -> dict[str, float]:
    """Let the words of earlier turns count less.

    >>> fade({"castle": 1.0, "gate": 0.1})
    {'castle': 0.7}
    """
    return {word: FADING * weight for word, weight in dict(words).items() if FADING * weight >= FAINT}


def _more(words: Mapping[str, float], new: Mapping[str, float]) -> dict[str, float]:
    return {**words, **new}


def _idfs(index: Index, words: Collection[str]) -> dict[str, float]:
    """Weigh words by how rare they are; those that the vault does not have are left out."""
    forms = {word: lexical.forms(word) for word in words}
    counts = index.frequencies([form for some in forms.values() for form in some])
    total = index.chunk_count()
    held = {word: min(total, sum(counts.get(form, 0) for form in some)) for word, some in forms.items()}
    return {word: asking.idf(count, total) for word, count in held.items() if count}


def shares(words: Sequence[tuple[str, float]], index: Index, rows: Mapping[int, Row]) -> dict[int, float]:
    """Measure how the words of a unit meet each row, as a question's words are measured."""
    weights = dict(words)
    idfs = _idfs(index, weights)
    terms = [asking.Term(word, {word: 1.0}, [], idf * weights[word]) for word, idf in idfs.items()]
    average = index.count("length") / max(1, index.count("bodies"))
    called = index.names({row.file for row in rows.values()})
    met = asking.measure(asking.Terms(terms, 0.0), rows, called, average=average)
    return {row: one.share for row, one in met.items()}


# -- where it points -------------------------------------------------------------------------


def point(derived: Derived, unit: Unit, limit: int) -> list[tuple[Anchor, str, float]]:
    """Give the lines nearest to what the state holds under its last question, one run a note."""
    width = _width(derived)
    if not width or unit.state is None:
        return []
    held = attend(derived, unit, derived.vectors, width)
    if not held.state.updates:
        return []
    last = held.state.last_key
    constant = np.eye(held.state.matrix.shape[1])[-1]
    recalled = held.state.matrix @ (constant if last is None else last)
    towards = session.whole(held.state, held.projection, recalled)
    near = derived.vectors.search(towards.astype(np.float32), 20 * limit).nearest
    cosines = dict(near)
    targets = sorted(derived.index.targets(list(cosines)), key=lambda target: -cosines[target.digest])
    rows = derived.index.rows([target.row for target in targets if target.row is not None])
    best: dict[str, tuple[Anchor, str, float]] = {}
    for target in targets:
        if target.row in rows and cosines[target.digest] > 0:
            row = rows[target.row]
            anchor = Anchor(row.path, target.start, target.end)
            best.setdefault(row.path, (anchor, row.title, round(cosines[target.digest], 4)))
    return list(best.values())[:limit]
