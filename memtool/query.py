"""What is asked and what was found: the values that a search takes and gives.

Knows no rule by which anything is found; `search` does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from memtool import scoring
from memtool.anchor import Anchor

if TYPE_CHECKING:
    from memtool.blame import Provenance
    from memtool.embedders.base import Calibration, Matrix
    from memtool.index import Index
    from memtool.vectors import Vectors

Mode = Literal["hybrid", "lexical", "semantic"]


class Query(NamedTuple):
    """What is asked, and of which part of the vault."""

    text: str
    mode: Mode = "hybrid"
    limit: int = 5
    min_score: float | None = None  # None: the default of the mode
    types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    path: str = ""  # a glob over paths
    since: str = ""  # ISO days, both ends included
    until: str = ""
    budget: float | None = None  # tokens; None: no bound
    fusion: Literal["weighted", "rrf"] = "weighted"
    least_chance: float = scoring.LEAST_CHANCE  # below it nothing is relevant
    without: int = 0  # the id of a note that is left out


class Meaning(NamedTuple):
    """What the vector half needs: the question's vector, where to look, how to read a cosine."""

    vector: Matrix  # (d,)
    vectors: Vectors
    calibration: Calibration


class Hit(NamedTuple):
    """One answer: a chunk, how well it fits, and why."""

    path: str
    start: int
    end: int
    score: float
    title: str
    headings: str
    text: str
    focus: tuple[int, int]  # the lines that matter most, within start-end
    day: str
    evidence: Mapping[str, float]  # what each ranker said: its score and its rank
    provenance: Provenance | None = None  # who wrote the lines shown; None where nobody asked, or can tell

    @property
    def anchor(self) -> Anchor:
        return Anchor(self.path, self.start, self.end)


class Found(NamedTuple):
    """Hits above the line, the near misses below it, and how sure it is that the vault answers at all."""

    hits: list[Hit]
    misses: list[Hit]
    confidence: float
    threshold: float


NOTHING = Found([], [], 0.0, 0.0)


class Leanings(NamedTuple):
    """What moves an answer besides the question; each gives what it took, changed or as it is."""

    #: Moves the question's vector before anything is proposed.
    meaning: tuple[Callable[[Query, Meaning], Meaning], ...] = ()
    #: Puts scored chunks in another order, and may raise, lower or leave out some.
    order: tuple[Callable[[Query, Index, scoring.Ranked], scoring.Ranked], ...] = ()
    #: Says more about hits that were chosen.
    found: tuple[Callable[[Query, Index, Found], Found], ...] = ()


NO_LEANINGS = Leanings()
