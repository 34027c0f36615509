"""Searches that were kept, asked again, explained: the part of `Memory` that accounts for its answers.

Each method hands its work to one room. An agent sees its own searches, and of them what it may read.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from memtool.errors import UsageError
from memtool.search.query import Leanings, Query, join

if TYPE_CHECKING:
    from memtool.answer.answer import Answer
    from memtool.config import Config
    from memtool.derived import Derived
    from memtool.identity import Signature
    from memtool.index.index import Index
    from memtool.note.anchor import Anchor
    from memtool.refresh.refresh import RefreshReport
    from memtool.traces.traces import Candidate, Trace, Watch
    from memtool.traces.why import Why
    from memtool.vault import Vault


class Replay(NamedTuple):
    """A search asked again: what came then and now, and what changed in between."""

    trace: Trace
    now: tuple[Candidate, ...]
    threshold: float
    confidence: float
    changed: tuple[str, ...]  # notes that say something else than they did
    gone: tuple[str, ...]
    settings: tuple[str, ...]  # what could not be asked as it was then

    @property
    def shown(self) -> list[Candidate]:
        return [one for one in self.now if one.shown]

    @property
    def same(self) -> bool:
        """Whether the same lines came, in the same order."""
        return [one.anchor for one in self.shown] == [one.anchor for one in self.trace.shown]


class Tracing:
    """How answers came about."""

    vault: Vault
    config: Config
    derived: Derived
    who: Signature
    leanings: Leanings

    if TYPE_CHECKING:

        @property
        def index(self) -> Index: ...

        @property
        def reader(self) -> Callable[[str], bool] | None: ...

        def may_read(self, path: str) -> bool: ...

        def require_read(self, path: str) -> None: ...

        def refresh(self) -> RefreshReport: ...

    def traces(self, limit: int = 0) -> list[Trace]:
        """Give the searches that are kept, oldest first; *limit* 0 gives all."""
        from memtool.traces import traces

        found = traces.load(self.vault)
        if self.who.is_agent:
            found = [self._readable(one) for one in found if one.writer == self.who.writer]
        return found[-limit:] if limit else found

    def _readable(self, trace: Trace) -> Trace:
        return trace._replace(candidates=tuple(one for one in trace.candidates if self.may_read(one.path)))

    def replay(self, name: str) -> Replay:
        """Ask a kept search again with the same settings; UsageError when it is not known, or not whole."""
        from memtool.traces import traces

        trace = traces.find(self.traces(), name)
        if trace is None:
            raise UsageError(f"there is no trace `{name}`", fix="see `memtool trace last 20`")
        if trace.masked:
            why = "its question was cut or held a likely secret, so it was not kept as it was"
            raise UsageError(f"the search {trace.id} cannot be asked again", why=why, fix="ask it anew")
        settings, left = dict(trace.settings), list[str]()
        settings.setdefault("now", f"{datetime.fromtimestamp(trace.when, UTC):%Y-%m-%d}")
        if settings.pop("session", ""):
            left.append("the session state has moved on, so the question was asked without it")
        watch, answer = self._watched(trace.question, settings)
        now = tuple(traces.candidates(watch))
        paths = list(dict.fromkeys(one.path for one in trace.candidates))
        stand = self.index.blobs(paths)
        then = {one.path: one.version for one in trace.candidates}
        if trace.rankers and set(trace.rankers) != set(answer.freshness.rankers):
            left.append(
                f"then {' and '.join(trace.rankers)} took part, now {' and '.join(answer.freshness.rankers)}"
            )
        return Replay(
            trace,
            now,
            answer.threshold,
            answer.confidence,
            tuple(path for path in paths if path in stand and not stand[path].startswith(then[path])),
            tuple(path for path in paths if path not in stand),
            tuple(left),
        )

    def why(self, anchor: Anchor | str, question: str, **settings: Any) -> Why:
        """Say why these lines came for *question*, or did not; *settings* are those of a search."""
        from memtool.note.anchor import Anchor as Address
        from memtool.traces import why

        anchor = Address.parse(anchor) if isinstance(anchor, str) else anchor
        self.require_read(anchor.path)
        watch, _ = self._watched(question, settings)
        anchor = anchor._replace(path=self.vault.spell(anchor.path))
        number = self.index.file_id(anchor.path)
        if number is None:
            return self._unknown(anchor)
        file = self.index.files([number])[number]
        query = watch.query or self._asked(question, settings)
        if told := why.filtered(query, file):
            return why.Why(
                "filtered", f"{file.path} was left out before anything was measured: {'; '.join(told)}.", {}
            )
        if watch.seen is None:
            return why.Why(
                "no-question", "The question holds no letter or digit, so nothing was looked for.", {}
            )
        return why.explain(self.index, query, watch.seen, file, anchor)

    def _watched(self, question: str, settings: dict[str, Any]) -> tuple[Watch, Answer]:
        """Ask, and look on; the search itself is not kept."""
        from memtool.traces.traces import Watch

        watch, before = Watch(), self.leanings
        self.leanings = join(before, watch.leanings)
        try:
            return watch, cast(Any, self).search(question, trace=False, **settings)
        finally:
            self.leanings = before

    def _asked(self, question: str, settings: dict[str, Any]) -> Query:
        """Give the filters of a search that let no note through, so that nobody saw its query."""
        from memtool.answer import request

        given = {key: settings[key] for key in ("path", "since", "until", "archived") if key in settings}
        types, tags = (request.listed(settings.get(key, ())) for key in ("types", "tags"))
        return Query(question, types=types, tags=tags, may_read=self.reader, **given)

    def _unknown(self, anchor: Anchor) -> Why:
        from memtool import names
        from memtool.traces.why import Why

        shown = names.printable(anchor.path)
        if not (self.vault.root / anchor.path).is_file():
            return Why(
                "no-note", f"There is no note {shown}: it was never written, or has another name now.", {}
            )
        told = [finding.what for finding in self.refresh().findings if finding.path == anchor.path]
        reason = "; ".join(told) or "it is ignored, generated, or no note by its name"
        return Why("not-indexed", f"{shown} is on disk, and not in the index: {reason}.", {})
