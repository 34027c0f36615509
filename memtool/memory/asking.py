"""A question -> an answer: the half of `Memory` that asks.

Split off for its length only; each method hands its work to one room.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from memtool.answer import answering, request
from memtool.answer.answer import Answer
from memtool.search.query import NO_LEANINGS, Leanings, Mode, Opened, Query, Score, join

if TYPE_CHECKING:
    from memtool.config import Config
    from memtool.derived import Derived
    from memtool.identity import Signature
    from memtool.index.index import Index
    from memtool.past.past import Past
    from memtool.past.since import Since
    from memtool.refresh.refresh import RefreshReport
    from memtool.repository import Head
    from memtool.search.scoring import Ranked
    from memtool.tense.stated import Stated


class Asking:
    """What can be asked of a vault in words."""

    config: Config
    derived: Derived
    look: Callable[[], RefreshReport]
    who: Signature
    leanings: Leanings = NO_LEANINGS  # of whoever holds this memory, besides those of a query

    if TYPE_CHECKING:

        @property
        def reader(self) -> Callable[[str], bool] | None: ...

        @property
        def past(self) -> Past: ...

        def refresh(self) -> RefreshReport: ...

        def _head(self) -> Head: ...

        def unit_name(self, unit: str) -> str: ...

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
        session: str = "",
        opened: Opened = "lower",
        now: str = "",
        archived: bool = False,
        score: Score | None = None,
        trace: bool = True,
    ) -> Answer:
        """Find the lines that answer *question*, best first; an empty answer means nothing is relevant.

        *limit* and *min_score* None take the defaults of the mode: 5 hits and the calibrated line, or
        for ``semantic`` 3 hits from 0.35 on. *fresh* raises StaleError unless every note's current
        bytes were searched. *as_of* searches the vault as it was at a commit, a tag or a date. *blame*
        tells of each hit who wrote the lines shown. *now* is the ISO day that counts as today. *session* is
        a unit of work whose state leans a question that says little; *opened*: what becomes of what was
        opened in it. *archived* looks into the archive, too. *score* None takes the configured one.
        *trace* False keeps no trace of it.
        Only the ``semantic`` mode raises EmbedderError; else words answer, and it says so.
        """
        query = Query(question, mode, types=request.listed(types), tags=request.listed(tags), path=path)
        query = query._replace(since=since, until=until, budget=budget, fusion=fusion, opened=opened, now=now)
        query = query._replace(session=self.unit_name(session) if session else "", archived=archived)
        query = query._replace(score=score or self.config.score)
        query = request.complete(query, self.config, limit=limit, min_score=min_score)
        query = self.derived.calibrated(query._replace(may_read=self.reader))
        if as_of:
            return self.past.search(query, as_of, blame=blame)
        return self._search(query, refresh=refresh, fresh=fresh, blame=blame, trace=trace)

    def _search(self, query: Query, *, refresh: bool, fresh: bool, blame: bool, trace: bool) -> Answer:
        look = (self.refresh if fresh else self.look) if refresh or fresh else None
        answer = (self._traced if trace and self.config.trace else self._answer)(
            query, look=look, fresh=fresh
        )
        if blame and answer:
            self.past.add_provenance(answer, self.derived)
        return answer

    def _traced(self, query: Query, *, look: Callable[[], RefreshReport] | None, fresh: bool) -> Answer:
        """Answer, and keep how that came about."""
        from memtool.traces import traces

        watch = traces.Watch()
        answer = self._answer(query, look=look, fresh=fresh, watch=watch.leanings)
        traces.keep(self.derived.vault, query, watch, answer, self.who.writer)
        return answer

    def _answer(
        self,
        query: Query,
        *,
        look: Callable[[], RefreshReport] | None,
        fresh: bool,
        watch: Leanings = NO_LEANINGS,
    ) -> Answer:
        revision, leanings = self._head().revision or "", join(self._leanings(query), watch)
        return answering.answer(
            self.derived, query, look=look, fresh=fresh, revision=revision, leanings=leanings
        )

    def when(self, question: str, *, mode: Mode = "hybrid", path: str = "") -> Since:
        """Tell since when the best match to *question* stands, in all versions of all notes, or stood."""
        now = self.search(question, limit=1, mode=mode, path=path)
        query = Query(question, mode=mode, path=path, may_read=self.reader)
        query = request.complete(query, self.config, limit=1, min_score=None)
        return self.past.when(self.derived.calibrated(query), now=now)

    def _leanings(self, query: Query) -> Leanings:
        """Gather what moves the answer to *query* besides its words; a room is loaded only when it can."""
        from memtool import generated
        from memtool.beliefs import beliefs

        return join(
            self.leanings,
            Leanings(order=(_lift_linked,)),
            self._recall_leanings(query),
            beliefs.leanings(query, self._review(query.now)),
            self._session_leanings(query),
            generated.leanings(),  # last: whatever was lifted, an answer stays below what it cites
        )

    def _recall_leanings(self, query: Query) -> Leanings:
        if query.score == "relevance":
            return NO_LEANINGS
        from memtool.lifecycle import recall_score

        return recall_score.leanings(self.derived.vault, query)

    def _review(self, now: str) -> Callable[[str, Stated], tuple[str, ...]]:
        """Give what tells whether a note needs review; it is loaded when the first note watches something."""

        def review(path: str, said: Stated) -> tuple[str, ...]:
            from memtool.watches import reviewing

            reviews[:] = reviews or [reviewing.reviewer(self.derived.vault, self.config, now)]
            return reviews[0](path, said)

        reviews: list[Callable[[str, Stated], tuple[str, ...]]] = []
        return review

    def _session_leanings(self, query: Query) -> Leanings:
        if not query.session:
            return NO_LEANINGS
        if query.mode == "lexical":
            self.derived.remark("the session state took no part: only words were asked for")
            return NO_LEANINGS
        from memtool.session import leaning

        return leaning.leanings(self.derived, query, datetime.now(UTC))


def _lift_linked(query: Query, index: Index, ranked: Ranked) -> Ranked:
    """Lift what is linked with what the question names; its room is loaded only where there are links."""
    if not index.db.execute("SELECT 1 FROM said WHERE kind != 'text' LIMIT 1").fetchone():
        return ranked
    from memtool.links import related

    return related.order(query, index, ranked)
