"""A question -> since when the best match to it stands, and when it went: all versions of all notes.

Keeps one more index, of every version of every note on HEAD's first-parent history. Knows which
match is the one that is meant; what became of its lines stands in `timeline`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from memtool import pin
from memtool.answer import answering
from memtool.answer.answer import Answer
from memtool.derived import Derived
from memtool.history import history, timeline
from memtool.history.timeline import Event, Version
from memtool.history.versions import need_history, newest_name, versions
from memtool.index.past_files import FOLDER
from memtool.past.asof import EVERY, AsOf, Moment, add, embed_some
from memtool.refresh.refresh import RefreshReport
from memtool.search.query import Hit, Query

#: Two indexes weigh words a little otherwise: a match of the past must be so much better than today's.
MARGIN = 0.15


class Since(NamedTuple):
    """The best match to a question in all versions of all notes, and what became of it."""

    hit: Hit | None  # where its lines are, or were last
    events: list[Event]  # oldest first
    stands: bool
    remarks: tuple[str, ...]


def when(asof: AsOf, query: Query, *, now: Answer) -> Since:
    """Find the best match to a question in all versions of all notes, and what became of it.

    *now* is the answer of the vault as it is: of two matches about as good, the one that stands.
    """
    need_history(asof.git)
    then = _search_every(asof, query._replace(limit=1))
    hit, remarks = _best(now, then), then.freshness.remarks
    if hit is None:
        return Since(None, [], False, remarks)
    known = versions(asof.vault.read, asof.git, newest_name(asof.git, hit.path))
    at = _place(known, hit)
    if at is None:
        return Since(hit, [], bool(now) and hit is now[0], remarks)
    lines = known[at].lines or ()
    line = _meant(query.text, lines, hit.focus)
    events = timeline.events(known, at, (line, line))
    last = events[-1]
    hit = hit._replace(path=last.anchor.path, start=last.anchor.start, end=last.anchor.end)
    # What was changed since is another thing to say: the line that was meant stands no more.
    stands = tuple(timeline.end(known, at, (line, line))) == (lines[line - 1],)
    return Since(hit, events, stands, remarks)


def _meant(question: str, lines: Sequence[str], focus: tuple[int, int]) -> int:
    """Pick the line of a hit that says it: the one with most of the question's words, headings last."""
    asked = pin.words([question])

    def fit(number: int) -> tuple[int, bool, int]:
        text = lines[number - 1]
        common = asked & pin.words([text])
        return common.total(), bool(text.strip()) and not text.startswith("#"), -number

    return max(range(focus[0], min(focus[1], len(lines)) + 1), key=fit)


def _best(now: Answer, then: Answer) -> Hit | None:
    if now and (not then or now[0].score >= then[0].score - MARGIN):
        return now[0]
    if not then:
        return None
    path, _, _ = then[0].path.rpartition("@")
    return then[0]._replace(path=path)


def _place(known: Sequence[Version], hit: Hit) -> int | None:
    """Find the newest version that has the lines of *hit* where it says."""
    first, last = hit.focus
    text = hit.text.split("\n")
    if len(text) == hit.end - hit.start + 1:
        text = text[first - hit.start : last - hit.start + 1]
    for place in range(len(known) - 1, -1, -1):
        lines = "\n".join((known[place].lines or ())[first - 1 : last])
        if lines and "\n".join(text) in lines:
            return place
    return None


# -- every version -------------------------------------------------------------------------


def _search_every(asof: AsOf, query: Query) -> Answer:
    every = asof.derived.past(asof.vault.cache / FOLDER / EVERY)
    try:
        return answering.answer(every, query, look=_filler(asof, every, embed=query.mode != "lexical"))
    finally:
        every.close()


def _filler(asof: AsOf, every: Derived, *, embed: bool) -> Callable[[], RefreshReport]:
    def fill() -> RefreshReport:
        moment = asof.find("HEAD")
        asof.vault.prepare(every.index_file.parent)
        every.mended(lambda: _bring(asof, every, moment))
        if embed:
            embed_some(every, moment.revision.revision)
        return RefreshReport()

    return fill


def _bring(asof: AsOf, every: Derived, moment: Moment) -> None:
    """Take in every version that HEAD's history has; each is named by its path and its blob."""
    commit, index = moment.revision.revision, every.index
    if index.fact("tree") == commit:
        return
    pairs = {(touch.path, touch.new) for touch in history.touches(asof.git, until=commit) if touch.new}
    listed = asof.notes(dict(pairs))
    wanted = {f"{path}@{name}": (path, name) for path, name in sorted(pairs) if path in listed}
    known = {file.path for file in index.files().values()}
    new = {key: pair for key, pair in wanted.items() if key not in known}
    add(index, asof, new, sorted(known - wanted.keys()), moment, tree=commit)
