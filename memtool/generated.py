"""Answers that a model wrote -> their place: never above the notes that they cite.

An answer repeats its question word for word, so it would be the best hit for it ever after, and what it
was made from would drown. Looks only at notes marked ``generated: true``.
"""

from __future__ import annotations

from memtool.errors import MemtoolError
from memtool.index.index import Index
from memtool.note.anchor import Anchor
from memtool.search.query import Leanings, Query
from memtool.search.scoring import Ranked, Scored

#: Where the archivist puts its answers; no other folder is looked at.
FOLDER = "answers"

#: How far below its best source an answer is put.
_STEP = 1e-6


def leanings() -> Leanings:
    """Give what puts answers below what they cite."""
    return Leanings(order=(_lower,))


def _lower(query: Query, index: Index, ranked: Ranked) -> Ranked:
    mine = {one.measured.row.file for one in ranked.scored if _may_be(one.measured.row.path)}
    if not mine:
        return ranked
    answers = {id: file for id, file in index.files(sorted(mine)).items() if file.facts.get("generated")}
    best: dict[str, float] = {}
    for one in ranked.scored:
        if one.measured.row.file not in answers:
            path = one.measured.row.path
            best[path] = max(best.get(path, -1.0), one.score)
    caps = {id: _cap(file.facts.get("cites"), best) for id, file in answers.items()}
    scored = [_capped(one, caps.get(one.measured.row.file)) for one in ranked.scored]
    scored.sort(key=lambda one: -one.score)
    return ranked._replace(scored=scored)


def _may_be(path: str) -> bool:
    return path.startswith((f"{FOLDER}/", f"archive/{FOLDER}/"))


def _cap(cites: object, best: dict[str, float]) -> float | None:
    """Give the score of the best note that is cited; None where none of them was proposed."""
    paths = {path_of(str(cited)) for cited in cites} if isinstance(cites, list) else set()
    return max((best[path] for path in paths if path in best), default=None)


def path_of(cited: str) -> str:
    """Give the note of an anchor, pinned or not; "" where it is none.

    >>> path_of("ops/keys.md:3-4@0123456789ab")
    'ops/keys.md'
    """
    try:
        return Anchor.parse(cited).path
    except MemtoolError:
        return ""


def _capped(one: Scored, cap: float | None) -> Scored:
    if cap is None or one.score < cap:
        return one
    evidence = {**one.evidence, "below its source": cap}
    return one._replace(score=cap - _STEP, evidence=evidence)
