"""A question -> an answer: the half of `Memory` that asks.

Split off for its length only; each method hands its work to one room.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from memtool import answering, request
from memtool.answer import Answer
from memtool.query import Leanings, Mode, Query

if TYPE_CHECKING:
    from memtool.config import Config
    from memtool.derived import Derived
    from memtool.past import Past
    from memtool.refresh import RefreshReport
    from memtool.repository import Head
    from memtool.since import Since


class Asking:
    """What can be asked of a vault in words."""

    config: Config
    derived: Derived
    look: Callable[[], RefreshReport]

    if TYPE_CHECKING:

        @property
        def past(self) -> Past: ...

        def refresh(self) -> RefreshReport: ...

        def _head(self) -> Head: ...

    def search(
        self,
        question: str,
        *,
        limit: int | None = None,
        min_score: float | None = None,
        mode: Mode = "hybrid",
        types: str | Sequence[str] = (),
        tags: str | Sequence[str] = (),
        path: str = "",
        since: str = "",
        until: str = "",
        budget: float | None = None,
        fusion: Literal["weighted", "rrf"] = "weighted",
        refresh: bool = True,
        fresh: bool = False,
        as_of: str = "",
        blame: bool = False,
    ) -> Answer:
        """Find the lines that answer *question*, best first; an empty answer means nothing is relevant.

        *limit* and *min_score* None take the defaults of the mode: 5 hits and the calibrated line, or
        for ``semantic`` 3 hits from 0.35 on. *fresh* raises StaleError unless every note's current
        bytes were searched. *as_of* searches the vault as it was at a commit, a tag or a date. *blame*
        tells of each hit who wrote the lines shown. Raises EmbedderError only in the ``semantic`` mode;
        otherwise words answer alone, and the freshness says so.
        """
        query = Query(
            question,
            mode=mode,
            types=request.listed(types),
            tags=request.listed(tags),
            path=path,
            since=since,
            until=until,
            budget=budget,
            fusion=fusion,
        )
        query = request.complete(query, self.config, limit=limit, min_score=min_score)
        query = self.derived.calibrated(query)
        if as_of:
            return self.past.search(query, as_of, blame=blame)
        look = (self.refresh if fresh else self.look) if refresh or fresh else None
        answer = self._answer(query, look=look, fresh=fresh)
        if blame and answer:
            self.past.add_provenance(answer, self.derived)
        return answer

    def _answer(self, query: Query, *, look: Callable[[], RefreshReport] | None, fresh: bool) -> Answer:
        revision, leanings = self._head().revision or "", self._leanings(query)
        return answering.answer(
            self.derived, query, look=look, fresh=fresh, revision=revision, leanings=leanings
        )

    def when(self, question: str, *, mode: Mode = "hybrid", path: str = "") -> Since:
        """Tell since when the best match to *question* stands, in all versions of all notes, or stood."""
        now = self.search(question, limit=1, mode=mode, path=path)
        query = request.complete(Query(question, mode=mode, path=path), self.config, limit=1, min_score=None)
        return self.past.when(self.derived.calibrated(query), now=now)

    def _leanings(self, query: Query) -> Leanings:
        """Gather what moves the answer to *query* besides its words; a room is loaded only when it can."""
        return Leanings()
