"""Measures of chunks by words and by vectors -> one order, and the line below which nothing is relevant.

All constants of the fusion stand here; they were chosen once, for all vaults. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from memtool.index.index import Row
from memtool.search.question import Words

Fusion = Literal["weighted", "rrf"]

#: The scale on which nearness meets words: the cosines of the offline model that its scores 0 and 1
#: stand for. Scores of any embedder are put on it, so that one weight fits all.
NEAR_FLOOR, NEAR_CEILING = 0.058, 0.75

#: A chunk's score is its nearness in meaning plus this much of its share of the best BM25 score.
WORDS_WEIGHT = 0.6

#: The score in meaning of a chunk that has no vector of its own (front matter), before the share of its
#: words is added: words must carry it.
NO_VECTOR = -0.37

#: How much the opening of a note, and how much a chunk's words, say of its meaning until it has vectors.
OPENING_WEIGHT, WORDS_ALONE = 0.8, 0.6

#: How sure it is that the vault answers: a logistic regression on the best score, the nearness of
#: the best chunk by words, and how much of the question any one chunk covers.
BIAS, BY_SCORE, BY_NEARNESS, BY_COVER = -5.45, 7.43, 2.22, 0.73

#: What each name in the question that the vault has never heard of takes off, two at most.
BY_STRANGER, MOST_STRANGERS = -1.2, 2

#: The best of few chunks is worse than the best of many, relevant or not: below this number of chunks
#: a chance is lifted, by so much for each time the vault is e times smaller.
SMALL, BY_SMALL = 300, 0.25

#: Below this chance nothing is relevant; below the second an answer is not sure.
LEAST_CHANCE, SURE_CHANCE = 0.05, 0.3

#: Reciprocal rank fusion (Cormack, Clarke & Buettcher, SIGIR 2009).
DAMPING = 60


class Nearness(NamedTuple):
    """How near a chunk is to the question in meaning; None where there is no vector (yet)."""

    piece: float | None  # its best piece
    lines: tuple[int, int] | None  # that piece's lines
    opening: float | None  # its note's opening
    lead: float | None  # the best of what leads to its note: description, aliases, questions it answers


class Measured(NamedTuple):
    """A proposed chunk with all its measures."""

    row: Row
    words: Words
    nearness: Nearness | None


class Scored(NamedTuple):
    """A chunk with its place in the order; scores lie between -1 and 1."""

    measured: Measured
    score: float
    evidence: Mapping[str, float]


class Ranked(NamedTuple):
    """The order, how sure it is that its top answers, and the score from which chunks are relevant."""

    scored: list[Scored]
    confidence: float
    threshold: float


def rank(
    measured: Sequence[Measured],
    mode: str,
    *,
    fusion: Fusion = "weighted",
    least_chance: float = LEAST_CHANCE,
    strangers: int = 0,
    chunks: int = SMALL,
) -> Ranked:
    """Order chunks, best first; equal ones by path and line."""
    scores = _nearness(measured)
    near = [NEAR_FLOOR + (NEAR_CEILING - NEAR_FLOOR) * score for score in scores]
    if mode == "lexical":
        return _rank_by(measured, [one.words.share for one in measured], near, threshold=0.0)
    if mode == "semantic":
        return _rank_by(measured, scores, near, threshold=0.0)
    raw = [n + WORDS_WEIGHT * one.words.share for n, one in zip(near, measured, strict=True)]
    bias = (
        BIAS
        + BY_STRANGER * min(strangers, MOST_STRANGERS)
        + BY_SMALL * math.log(max(1, SMALL / max(1, chunks)))
    )
    line, chance = _line(measured, near, raw, least_chance, bias)
    most = 1 + WORDS_WEIGHT
    if fusion == "rrf":
        ranked = _rank_by(measured, _fused(measured, near), near, threshold=0.0)
        return ranked._replace(confidence=chance, threshold=0.0 if chance >= least_chance else 1.0)
    return _rank_by(measured, [score / most for score in raw], near, threshold=line / most)._replace(
        confidence=chance
    )


def _nearness(measured: Sequence[Measured]) -> list[float]:
    """Give each chunk's nearness; what leads to a note counts for the nearest of its chunks."""
    near = [_own(one) for one in measured]
    best: dict[int, int] = {}
    for place, one in enumerate(measured):
        if one.nearness and one.nearness.lead is not None:
            at = best.get(one.row.file)
            rank = (one.row.kind == "body", near[place], one.words.share)
            if at is None or rank > (measured[at].row.kind == "body", near[at], measured[at].words.share):
                best[one.row.file] = place
    for place in best.values():
        nearness = measured[place].nearness
        if nearness and nearness.lead is not None:
            near[place] = max(near[place], nearness.lead)
    return near


def _own(one: Measured) -> float:
    """Give a chunk's own nearness; what has no vector yet is believed as far as its words go."""
    near = one.nearness
    if near and near.piece is not None:
        return near.piece
    if one.row.kind != "body":
        return NO_VECTOR + WORDS_ALONE * one.words.share
    guess = WORDS_ALONE * one.words.share
    return max(guess, OPENING_WEIGHT * near.opening) if near and near.opening is not None else guess


def _line(
    measured: Sequence[Measured], near: Sequence[float], raw: Sequence[float], least: float, bias: float
) -> tuple[float, float]:
    """Give the raw score that has just the least chance to answer, and the chance of the best one."""
    if not measured:
        return 0.0, 0.0
    by_words = max(range(len(measured)), key=lambda place: measured[place].words.share)
    note = measured[by_words].row.file
    at_words = max(n for n, one in zip(near, measured, strict=True) if one.row.file == note)
    at_words = at_words if measured[by_words].words.share else 0.0
    cover = max(one.words.covered for one in measured)
    least = min(max(least, 1e-6), 1 - 1e-6)
    rest = bias + BY_NEARNESS * at_words + BY_COVER * cover
    line = (math.log(least / (1 - least)) - rest) / BY_SCORE
    return line, 1 / (1 + math.exp(-(rest + BY_SCORE * max(raw))))


def _fused(measured: Sequence[Measured], near: Sequence[float]) -> list[float]:
    """Fuse the two orders by reciprocal ranks, scaled so that first in both is 1."""
    shares = [one.words.share for one in measured]
    ranks = [_ranks(near, worst=-0.19), _ranks(shares, worst=0.0)]
    return [
        sum(1 / (DAMPING + by[place]) for by in ranks if place in by) * (DAMPING + 1) / 2
        for place in range(len(measured))
    ]


def _ranks(scores: Sequence[float], *, worst: float) -> dict[int, int]:
    """Give the rank of each place, from 1; a place no better than *worst* is left out."""
    order = sorted(
        (place for place, score in enumerate(scores) if score > worst), key=lambda place: -scores[place]
    )
    return {place: rank for rank, place in enumerate(order, 1)}


def _rank_by(
    measured: Sequence[Measured], scores: Sequence[float], near: Sequence[float], *, threshold: float
) -> Ranked:
    by_words = _ranks([one.words.share for one in measured], worst=0.0)
    by_meaning = _ranks(near, worst=NEAR_FLOOR + (NEAR_CEILING - NEAR_FLOOR) * NO_VECTOR)
    order = sorted(
        range(len(measured)),
        key=lambda place: (-scores[place], measured[place].row.path, measured[place].row.start),
    )
    scored = []
    for place in order:
        one = measured[place]
        evidence: dict[str, float] = {"words": one.words.share, "covered": one.words.covered}
        if place in by_words:
            evidence["words rank"] = by_words[place]
        if one.nearness:
            evidence["meaning"] = near[place]
            evidence["meaning rank"] = by_meaning.get(place, 0)
        scored.append(Scored(one, max(-1.0, min(1.0, scores[place])), evidence))
    return Ranked(scored, scored[0].score if scored else 0.0, threshold)
