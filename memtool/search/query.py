"""What is asked and what was found: the values that a search takes and gives.

Knows no rule by which anything is found; `search` does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from memtool.note.anchor import Anchor
from memtool.search import scoring

if TYPE_CHECKING:
    from memtool.embedders.base import Calibration, Matrix
    from memtool.history.blame import Provenance
    from memtool.index.index import Index
    from memtool.search.question import Terms
    from memtool.tense.stated import Standing
    from memtool.vectors.vectors import Vectors

Mode = Literal["hybrid", "lexical", "semantic"]
Opened = Literal["lower", "keep", "omit"]
Score = Literal["relevance", "recall"]


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
    now: str = ""  # the ISO day that counts as today; "" asks the clock
    session: str = ""  # the unit of work whose state leans the question; "" leans it by none
    opened: Opened = "lower"  # what becomes of lines that were opened in it
    may_read: Callable[[str], bool] | None = None  # which paths who asks may read; None: all
    archived: bool = False  # whether archived notes are searched too
    score: Score = "relevance"  # "recall": how lately used and how important a note is count as well


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
    standing: Standing | None = None  # whether it still holds; None when nothing is special about that

    @property
    def anchor(self) -> Anchor:
        return Anchor(self.path, self.start, self.end)

    @property
    def lines(self) -> list[tuple[int, str]]:
        """The numbered lines that matter most."""
        text = self.text.split("\n")
        if len(text) != self.end - self.start + 1:  # a piece of one long line
            return [(self.start, self.text)]
        first, last = self.focus
        shown = [(number, line) for number, line in enumerate(text, self.start) if first <= number <= last]
        while len(shown) > 1 and not shown[-1][1].strip():
            shown.pop()
        return shown


class Leant(NamedTuple):
    """How the state of a unit of work took part in an answer."""

    unit: str
    size: str
    updates: int  # before this question
    alpha: float  # how far the question was leant; 0: it was left alone
    why: str  # it was or was not
    lowered: int = 0  # chunks put lower, or left out, because all their lines were opened before


class Found(NamedTuple):
    """Hits above the line, the near misses below it, and how sure it is that the vault answers at all."""

    hits: list[Hit]
    misses: list[Hit]
    confidence: float
    threshold: float
    leant: Leant | None = None


NOTHING = Found([], [], 0.0, 0.0)


class Seen(NamedTuple):
    """How one answer came about: what was measured, its order before and after leanings, what was chosen."""

    terms: Terms
    meaning: Meaning | None
    fused: scoring.Ranked
    ranked: scoring.Ranked
    found: Found


class Leanings(NamedTuple):
    """What moves an answer besides the question; each gives what it took, changed or as it is."""

    #: Moves the question's vector before anything is proposed.
    meaning: tuple[Callable[[Query, Meaning], Meaning], ...] = ()
    #: Puts scored chunks in another order, and may raise, lower or leave out some.
    order: tuple[Callable[[Query, Index, scoring.Ranked], scoring.Ranked], ...] = ()
    #: Says more about hits that were chosen.
    found: tuple[Callable[[Query, Index, Found], Found], ...] = ()
    #: The part of what is usually proposed and measured that will do; less is quicker.
    share: float = 1.0
    #: Is told how the answer came about, and moves nothing.
    seen: tuple[Callable[[Query, Index, Seen], None], ...] = ()


NO_LEANINGS = Leanings()


def join(*leanings: Leanings) -> Leanings:
    """Let one after the other move an answer."""
    return Leanings(
        tuple(lean for one in leanings for lean in one.meaning),
        tuple(lean for one in leanings for lean in one.order),
        tuple(lean for one in leanings for lean in one.found),
        min((one.share for one in leanings), default=1.0),
        tuple(look for one in leanings for look in one.seen),
    )
