"""A query -> an answer: the vault looked at, the question made a vector, the index searched.

Knows who must be asked in which order, and which failures still leave an answer. Knows nothing of
how hits are found.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from memtool import heartbeat
from memtool.answer.answer import Answer, Freshness, not_fresh
from memtool.derived import Asked, Derived
from memtool.errors import EmbedderError, LockError, StaleError, UsageError
from memtool.refresh.refresh import RefreshReport
from memtool.search import coverage as covering
from memtool.search import search as searching
from memtool.search.query import NO_LEANINGS, Leanings, Query

#: Texts that a search embeds by itself before it answers; of more, a few, and `memtool index` the rest.
SEARCH_EMBEDS = 256


def answer(
    derived: Derived,
    query: Query,
    *,
    look: Callable[[], RefreshReport] | None,
    fresh: bool = False,
    revision: str = "",
    leanings: Leanings = NO_LEANINGS,
) -> Answer:
    """Answer *query* from what *look* has brought up to date; None answers from the index as it is.

    *fresh* raises StaleError unless every note's current bytes were searched.
    """
    return derived.mended(lambda: _answer(derived, query, look, fresh, revision, leanings))


def _answer(
    derived: Derived,
    query: Query,
    look: Callable[[], RefreshReport] | None,
    fresh: bool,
    revision: str,
    leanings: Leanings,
) -> Answer:
    report, busy = _look(look) if look else (None, None)
    if report is None and not derived.index.fact("looked"):
        if busy:
            raise busy  # the first of all refreshes is under way elsewhere
        raise StaleError("nothing is indexed yet", why="the vault was never read", fix="run `memtool index`")
    if fresh and (report is None or report.unread):
        raise not_fresh(report)
    asked = _ask(derived, query, most=SEARCH_EMBEDS if look else 0)
    with derived.index.still():
        found = searching.search(derived.index, query, asked.meaning, leanings=leanings)
        notes = _count(derived, query)
    freshness = Freshness.of(
        report,
        notes=notes,
        covered=asked.covered,
        rankers=_rankers(query.mode, asked),
        revision=revision,
        watcher=heartbeat.load(derived.vault.state, time.time()),
        remarks=(*((busy.what,) if busy else ()), *derived.take_remarks(), *asked.remarks),
    )
    return Answer(found.hits, found=found, freshness=freshness)


def _look(look: Callable[[], RefreshReport]) -> tuple[RefreshReport | None, LockError | None]:
    """Refresh before answering; another writer at work is told of."""
    try:
        return look(), None
    except LockError as error:
        return None, error


def _ask(derived: Derived, query: Query, *, most: int) -> Asked:
    """Make the question a vector; where words can answer alone, a failure is only told of."""
    if query.mode == "lexical" or not query.text.strip():
        return Asked(None, 0.0)
    if query.mode == "semantic" and derived.embedder is None:
        why, fix = "the embedder is switched off", "search by words, or set `embedder`"
        raise UsageError("there is no meaning to search by", why=why, fix=fix)
    try:
        return derived.ask(query.text, most=most)
    except EmbedderError as error:
        if query.mode == "semantic":
            raise
        why = f" ({error.why})" if error.why else ""
        lacking = covering.last_known(derived.index).missing
        more = (f"{lacking} texts have no vector yet",) if lacking else ()
        return Asked(None, 0.0, (f"vectors took no part: {error.what}{why}", *more))


def _count(derived: Derived, query: Query) -> int:
    """Count the notes that were searched: who may not read a note is not told that there is one."""
    if query.may_read is None:
        return derived.index.count("notes")
    return sum(query.may_read(file.path) for file in derived.index.files().values())


def _rankers(mode: str, asked: Asked) -> tuple[str, ...]:
    parts = (("words", mode != "semantic"), ("vectors", asked.meaning is not None))
    return tuple(name for name, took_part in parts if took_part)
