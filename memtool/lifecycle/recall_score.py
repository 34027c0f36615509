"""Ranked chunks, the use of their notes and today -> the order by relevance x recency x importance.

A weight never takes more than half of a score, and nothing that was relevant falls below the line: an old
note that fits exactly is still found. Knows nothing of how relevance came about.
"""

from __future__ import annotations

from datetime import UTC, date, datetime

from memtool.index.index import FileRow, Index
from memtool.lifecycle import strength
from memtool.search.query import Leanings, Query
from memtool.search.scoring import Ranked, Scored
from memtool.usage.usage import Use, counts
from memtool.vault import Vault

#: What is left of a score whatever the weight (``rel * (f + (1 - f) w)``).
FLOOR = 0.5

#: What is left of importance when a note is of none at all.
LEAST_IMPORTANT = 0.5


def leanings(vault: Vault, query: Query) -> Leanings:
    """Give what weighs an answer by use and importance; nothing where relevance alone is asked for."""
    if query.score != "recall":
        return Leanings()

    def order(query: Query, index: Index, ranked: Ranked) -> Ranked:
        today = date.fromisoformat(f"{query.now}-01-01"[:10]) if query.now else datetime.now(UTC).date()
        files = index.files(sorted({one.measured.row.file for one in ranked.scored}))
        uses = counts(vault)
        weights = {id: weigh(file, uses.get(file.path, Use()), today) for id, file in files.items()}
        scored = [_weighed(one, *weights[one.measured.row.file], ranked.threshold) for one in ranked.scored]
        return ranked._replace(scored=sorted(scored, key=lambda one: -one.score))

    return Leanings(order=(order,))


def weigh(file: FileRow, use: Use, today: date) -> tuple[float, float]:
    """Give the recency and the importance of a note, both from 0 to 1."""
    lasting = strength.is_lasting(file.facts, file.type)
    recency = strength.strength(use, today, kind=file.type, born=file.day, lasting=lasting).recency
    told = strength.importance(file.facts.get("importance"))
    core = strength.CORE if lasting and told < strength.CORE else told
    return recency, LEAST_IMPORTANT + (1 - LEAST_IMPORTANT) * core


def _weighed(one: Scored, recency: float, importance: float, threshold: float) -> Scored:
    weight = recency * importance
    evidence = {**one.evidence, "relevance": one.score, "recency": recency, "importance": importance}
    if one.score <= 0:
        return one._replace(evidence=evidence)
    score = one.score * (FLOOR + (1 - FLOOR) * weight)
    # What was above the line stays above it, in the order of its weighed score.
    kept = max(score, min(one.score, threshold * (1 + 1e-3 * score))) if one.score >= threshold else score
    return one._replace(score=min(1.0, kept), evidence={**evidence, "weight": FLOOR + (1 - FLOOR) * weight})
