"""A question asked in a unit of work -> leanings: the question moved towards what the work is about.

The plain search comes first: how much the question says, what it points at and what it finds decide
how far it is leant, if at all. Afterwards the state takes in the question and its first hit. Knows
when and how far; how a state recalls stands in `session`, where it is kept in `sessions`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime

import numpy as np

from memtool.derived import Derived
from memtool.errors import LockError
from memtool.index.index import Index, Row
from memtool.note.anchor import Anchor
from memtool.search import scoring
from memtool.search import search as searching
from memtool.search.query import Found, Hit, Leanings, Leant, Meaning, Query
from memtool.search.scoring import Ranked, Scored
from memtool.session import attention, session, sessions, vagueness
from memtool.session.attention import Attention
from memtool.session.session import Array

#: Below this a question is left alone.
LEAST = 0.1

#: How much the words of a unit count at its largest alpha, against those of the question.
BY_WORDS = 1.5

#: What a chunk loses of whose lines all were opened in this unit before.
OPENED = 0.1


def leanings(derived: Derived, query: Query, now: datetime) -> Leanings:
    """Give what leans *query* by its unit's state, and lets the state take it in afterwards."""
    lean = _Leaning(derived, query, now)
    return Leanings(meaning=(lean.meaning,), order=(lean.order,), found=(lean.found,))


class _Leaning:
    """One question in one unit of work."""

    def __init__(self, derived: Derived, query: Query, now: datetime) -> None:
        self.derived, self.now = derived, now
        unit, finding = sessions.load(derived.vault, query.session)
        if finding:
            derived.remark(finding.what)
        self.unit = unit or sessions.Unit(sessions.check_name(query.session), sessions.DEFAULT)
        self.attention: Attention | None = None
        self.plain: Meaning | None = None
        self.best: Hit | None = None
        self.recalled: Array | None = None
        self.alpha, self.lowered, self.why = 0.0, 0, "there are no vectors to lean it by"

    # -- before anything is proposed ---------------------------------------------------------

    def meaning(self, query: Query, meaning: Meaning) -> Meaning:
        """Decide how far to lean; move the question's vector where the state has values of that size."""
        self.plain = meaning
        self.attention = held = attention.attend(
            self.derived, self.unit, meaning.vectors, len(meaning.vector)
        )
        if held.remark:
            self.derived.remark(held.remark)
        if not held.state.updates:
            self.why = "nothing was asked or opened in it yet"
            return meaning
        question = meaning.vector.astype(np.float64)
        self.recalled = session.recall(held.state, held.projection, question)
        self.alpha = self._alpha(query, meaning, held, question)
        if not self.alpha or not held.state.shape.full:
            return meaning
        moved = question + self.alpha * session.whole(held.state, held.projection, self.recalled)
        return meaning._replace(vector=session.unit(moved).astype(np.float32))

    def _alpha(self, query: Query, meaning: Meaning, held: Attention, question: Array) -> float:
        assert self.recalled is not None
        gate, index = held.state.shape.gate, self.derived.index
        mine = session.whitened(held.state, held.projection, question)
        agreement = float(mine @ session.recalled_key(held.state, held.projection, self.recalled))
        mass, points = vagueness.measure(query.text, index)
        self.why = "it says enough by itself"
        if (not mass and not points) or gate.alpha(mass, points, 0.0, agreement) < LEAST:
            return 0.0
        plain = searching.search(index, query._replace(min_score=-1.0, budget=None), meaning)
        near = [hit.evidence.get("meaning", 0.0) for hit in (*plain.hits, *plain.misses)]
        alpha = gate.alpha(mass, points, max(near, default=0.0), agreement)
        if alpha < LEAST:
            return 0.0
        self.best = plain.hits[0] if plain.hits and plain.hits[0].score >= plain.threshold else None
        self.why = "it points at something said before" if points else "it says little by itself"
        return alpha

    # -- scored chunks -----------------------------------------------------------------------

    def order(self, query: Query, index: Index, ranked: Ranked) -> Ranked:
        """Raise what agrees with the state, lower what was opened, keep a place for the plain best."""
        raised = self._raise(query, index, ranked) if self.alpha else ranked
        scored = self._lower(query, raised.scored)
        if scored is ranked.scored:
            return ranked
        scored = sorted(scored, key=lambda one: (-one.score, one.measured.row.path, one.measured.row.start))
        return raised._replace(scored=self._reserve(query, scored))

    def _raise(self, query: Query, index: Index, ranked: Ranked) -> Ranked:
        held = self.attention
        assert held is not None
        rows = {one.measured.row.row: one.measured.row for one in ranked.scored}
        gain = dict.fromkeys(rows, 0.0)
        if not held.state.shape.full:
            for row, cosine in self._cosines(index, held, rows).items():
                gain[row] += self.alpha * cosine
        if held.state.shape.words and query.mode == "hybrid":
            share = attention.shares(self.unit.words, index, rows)
            weight = BY_WORDS * self.alpha / held.state.shape.gate.most
            for row in rows:
                gain[row] += weight * scoring.WORDS_WEIGHT * share.get(row, 0.0)
        scale = _scale(query)
        scored = [
            Scored(
                one.measured,
                max(-1.0, min(1.0, one.score + gain[one.measured.row.row] / scale)),
                {**one.evidence, "session": gain[one.measured.row.row]},
            )
            for one in ranked.scored
        ]
        best = max((one.score for one in scored), default=0.0)
        return ranked._replace(scored=scored, confidence=_surer(ranked, best, scale, query))

    def _cosines(self, index: Index, held: Attention, rows: dict[int, Row]) -> dict[int, float]:
        """Compare each row's best piece with what was recalled, in few whitened dimensions."""
        assert self.plain is not None and self.recalled is not None
        targets = [target for target in index.pieces_of(rows) if target.row is not None]
        matrix = self.plain.vectors.get([target.digest for target in targets]).astype(np.float64)
        wanted = session.recalled_key(held.state, held.projection, self.recalled)
        best: dict[int, float] = {}
        usable = session.sound(matrix)
        cosines = (
            session.whitened(held.state, held.projection, np.where(usable[:, None], matrix, 0.0)) @ wanted
        )
        for target, cosine, good in zip(targets, cosines.tolist(), usable.tolist(), strict=True):
            if good and target.row is not None:
                best[target.row] = max(cosine, best.get(target.row, -1.0))
        return best

    def _lower(self, query: Query, scored: list[Scored]) -> list[Scored]:
        wanted = query.opened == "omit" or (query.opened == "lower" and self.alpha > 0)
        if not wanted or not self.unit.opened:
            return scored
        seen = {one.measured.row.row for one in scored if is_opened(one.measured.row, self.unit.opened)}
        self.lowered = len(seen)
        if not seen:
            return scored
        if query.opened == "omit":
            return [one for one in scored if one.measured.row.row not in seen]
        return [
            one._replace(score=max(-1.0, one.score - OPENED)) if one.measured.row.row in seen else one
            for one in scored
        ]

    def _reserve(self, query: Query, scored: list[Scored]) -> list[Scored]:
        """Put the plain best hit last among the hits where it would not be one of them."""
        if self.best is None:
            return scored
        first = (self.best.path, self.best.start, self.best.end)
        spans = [(one.measured.row.path, one.measured.row.start, one.measured.row.end) for one in scored]
        at = spans.index(first) if first in spans else -1
        if at < query.limit or query.limit < 2:
            return scored
        rest = scored[:at] + scored[at + 1 :]
        # Its score is that of the place: what stands in a list may not be below what follows.
        kept = scored[at]._replace(score=max(scored[at].score, rest[query.limit - 1].score))
        return [*rest[: query.limit - 1], kept, *rest[query.limit - 1 :]]

    # -- afterwards --------------------------------------------------------------------------

    def found(self, query: Query, index: Index, found: Found) -> Found:
        """Tell what was done, and let the state take in the question and its first hit."""
        if self.plain is not None and self.attention is not None:
            hit = found.hits[0].anchor if found.hits and query.opened != "omit" else None
            asked = attention.Asked(query.text, self.plain.vector, hit, self.alpha)
            try:
                attention.take_question(self.derived, self.unit, asked, self.now)
            except (LockError, OSError) as error:
                self.derived.remark(f"the session state of `{self.unit.name}` was not updated: {error}")
        updates = self.attention.state.updates if self.attention else 0
        leant = Leant(self.unit.name, self.unit.size, updates, self.alpha, self.why, self.lowered)
        return found._replace(leant=leant)


def is_opened(row: Row, opened: Sequence[Anchor]) -> bool:
    """Tell whether all lines of a chunk were opened; one opened in part may still hold the answer."""
    return any(
        anchor.path == row.path
        and (not anchor.start or (anchor.start <= row.start and row.end <= anchor.end))
        for anchor in opened
    )


def _scale(query: Query) -> float:
    """Say how much of a cosine is one point of the score that chunks are ordered by."""
    if query.mode == "semantic":
        return scoring.NEAR_CEILING - scoring.NEAR_FLOOR
    return 1 + scoring.WORDS_WEIGHT


def _surer(ranked: Ranked, best: float, scale: float, query: Query) -> float:
    """Give the chance that the best answers, now that it scores *best*."""
    if query.mode != "hybrid" or not ranked.scored or not 0 < ranked.confidence < 1:
        return best if query.mode == "semantic" else ranked.confidence
    gain = scale * (best - ranked.scored[0].score)
    told = math.log(ranked.confidence / (1 - ranked.confidence)) + scoring.BY_SCORE * gain
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, told))))
