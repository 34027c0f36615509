"""News of changed paths -> a vault that is searchable, embedded, catalogued and committed.

Does one thing at a time and takes the news in between. Nothing is wrong when it is dead: a search
looks for itself. Knows when things are done; how, the rooms below know.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from math import inf
from queue import Empty, SimpleQueue
from typing import Literal, Protocol

from memtool import __version__, heartbeat, repository
from memtool.errors import EmbedderError, LockError, MemtoolError
from memtool.index import index_file
from memtool.memory.memory import Memory
from memtool.refresh.refresh import RefreshReport
from memtool.thrift import give_back, lighten
from memtool.vault import Stat
from memtool.watch.settling import Event, Pending

#: Texts embedded before the news is looked at again.
SLICE = 16

#: After work on more notes than these, or with the model, memory is handed back; so long after.
MANY, CALM_S = 1000, 5.0

#: A whole look costs this share of the time between two, so that being idle costs next to nothing.
NATIVE_S, NATIVE_SHARE = 600.0, 10_000
POLLING_S, POLLING_SHARE = 1.0, 30

#: When no news says that a file was closed: a file as young as this may be half-written, an empty one longer.
YOUNG_S, EMPTY_S = 0.8, 4.0

Take = Callable[[float | None], Sequence[Event] | None]
Mode = Literal["native", "polling"]


class Ended(Exception):
    """The watching must end, or begin anew; says why."""


class News(Protocol):
    """What the loop asks of where its news comes from."""

    def is_alive(self) -> bool: ...
    def recount(self) -> None: ...
    def mark(self, timeout_s: float = ...) -> tuple[int, int] | None: ...


def taker(news: SimpleQueue[Event | None]) -> Take:
    """Give what takes news from a queue: all there is, after waiting at most so long; None ends it."""

    def take(timeout_s: float | None) -> list[Event] | None:
        told = []
        try:
            told.append(news.get(timeout=timeout_s))
            while True:
                told.append(news.get_nowait())
        except Empty:
            pass
        return None if None in told else [event for event in told if event]

    return take


class Watch:
    """The loop over one open vault."""

    def __init__(
        self,
        memory: Memory,
        *,
        source: News | None = None,
        commit: Callable[[datetime], float | None] | None = None,
        catalog: bool = True,
        quiet_s: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
        say: Callable[[str], None] = lambda words: None,
        beat: bool = True,
        upkeep: Callable[[], None] = lambda: None,
        pending: Pending | None = None,
    ) -> None:
        self.memory, self.source, self.commit, self.say = memory, source, commit, say
        self.catalog, self.quiet_s, self.clock, self.now = catalog, quiet_s, clock, now
        self.upkeep = upkeep
        self.pending = pending or Pending(busy=lambda: _git_at_work(memory))
        self.started, self._cost, self._doubts = now(), 0.0, 0
        self._root = index_file.inode(memory.vault.root)
        self._at: dict[str, float] = {"beat": 0.0} if beat else {}
        self._jobs: dict[str, Callable[[], None]] = {
            "beat": self._beat,
            "rescan": lambda: self.pending.note(Event("", "doubt"), self.clock()),
            "embed": self._embed,
            "catalog": self._make_catalog,
            "commit": self._commit,
            "calm": self._calm,
        }

    @property
    def mode(self) -> Mode:
        return "native" if self.source else "polling"

    def run(self, take: Take) -> None:
        """Follow the vault until *take* gives None. Raises Ended when it must not go on."""
        self.pending.note(Event("", "doubt"), self.clock())  # what happened while nobody watched
        while (told := take(self.due_in())) is not None:
            for event in told:
                self.pending.note(event, self.clock())
            self.step()

    def due_in(self) -> float | None:
        """Give the seconds until there is something to do; None when only news can bring it."""
        now = self.clock()
        looking = self.pending.due_in(now)
        waits = [at - now for at in self._at.values()] + ([] if looking is None else [looking])
        return max(0.0, min(waits)) if waits else None

    def step(self) -> None:
        """Do the one thing that is due, if any."""
        now = self.clock()
        if self.pending.due_in(now) == 0:
            self._guarded(self._look, again="rescan")
            return
        for name, job in self._jobs.items():
            if self._at.get(name, inf) <= now:
                del self._at[name]
                self._guarded(job, again=name)
                return

    def _guarded(self, job: Callable[[], None], *, again: str) -> None:
        """Do *job*; what a person can mend is said, and tried again later."""
        try:
            job()
            lighten(self.memory.index.db)
        except LockError:
            self._at[again] = self.clock() + 0.5
        except MemtoolError as error:
            self._require_vault()
            self._say_once(str(error))
            self._at[again] = self.clock() + 60.0

    # -- looking -----------------------------------------------------------------------------

    def _look(self) -> None:
        self._require_vault()
        batch = self.pending.take(self.clock(), self._is_empty)
        held: list[str] = []

        def hold(path: str, stat: Stat) -> bool:
            young = path in batch.held if self.source else self._is_young(stat)
            held.extend([path] if young else [])
            return young

        begun = self.clock()
        try:
            report = self.memory.refresh(hold=hold)
        except LockError:
            self.pending.note(Event("", "doubt"), self.clock())
            raise
        self._cost = self.clock() - begun
        if batch.doubt:
            self.upkeep()
        if batch.doubt and self.source:
            self.source.recount()
        self._plan(report, again=bool(held) and not self.source)

    def _plan(self, report: RefreshReport, *, again: bool) -> None:
        """Say what changed, and set the times of what follows from it."""
        now = self.clock()
        slowest = max(NATIVE_S, NATIVE_SHARE * self._cost) if self.source else POLLING_S
        pause = max(slowest, 0.0 if self.source else POLLING_SHARE * self._cost)
        self._at["rescan"] = now + (YOUNG_S / 2 if again else pause)
        for finding in report.findings if report.paused else ():
            self._say_once(str(finding))
        if report.touched:
            self.say(f"{report.added} new, {report.changed} changed, {report.removed} gone")
            self._at["catalog"] = now + max(0.2, 10 * self._catalog_cost)
            if report.paused:
                self._at.pop("catalog")
            if report.touched > MANY:
                self._at["calm"] = now + CALM_S
        if report.touched or not self._looked:
            self._looked = True
            self._at["embed"] = now
            self._at.setdefault("commit", now + self.quiet_s)

    _looked, _catalog_cost, _said, _embedded = False, 0.0, "", 0

    def _is_empty(self, path: str) -> bool:
        try:
            return os.stat(self.memory.vault.root / path).st_size == 0
        except OSError:
            return False

    def _is_young(self, stat: Stat) -> bool:
        size = stat[0] if stat[0] >= 0 else -1 - stat[0]
        # A clock that was set back, or a date from the future, must not hold a note for ever.
        return abs(self.now() - stat[1] / 1e9) < (YOUNG_S if size else EMPTY_S)

    # -- what follows ------------------------------------------------------------------------

    def _embed(self) -> None:
        try:
            done = self.memory.embed(most=SLICE)
        except EmbedderError as error:
            self._say_once(str(error))
            self._at["embed"] = self.clock() + 60.0
            return
        self._embedded += done
        if done == SLICE:
            self._at["embed"] = self.clock()
        if done:
            self._at["calm"] = self.clock() + CALM_S

    def _make_catalog(self) -> None:
        if not self.catalog:
            return
        begun = self.clock()
        report = self.memory.catalog(refresh=False)
        self._catalog_cost = self.clock() - begun
        if self.memory.index.count("notes") > MANY:
            self._at["calm"] = self.clock() + CALM_S
        if report.changed:
            # Our own pages are read at once, so that their news finds nothing left to do.
            self.memory.refresh(hold=lambda path, _: path not in report.changed)
            self._at["embed"] = self.clock()
            self._at.setdefault("commit", self.clock() + self.quiet_s)

    def _commit(self) -> None:
        if self.pending.writing or self.pending.waiting:
            self._at["commit"] = self.clock() + 0.5  # half a note must not be committed
        # Some wait for their quiet time, or for git to be done with what it does now.
        elif self.commit and (again_s := self.commit(datetime.fromtimestamp(self.now(), UTC))):
            self._at["commit"] = self.clock() + again_s

    def _calm(self) -> None:
        embedder = self.memory.embedder if self._embedded else None
        self._embedded = 0
        give_back(self.memory.index.db, embedder)

    # -- being alive -------------------------------------------------------------------------

    def _beat(self) -> None:
        self._require_vault()
        self.upkeep()
        if self.source and not self.source.mark(2.0):
            self._doubts += 1
            if self._doubts > 1:
                raise Ended("file events stopped coming")
        else:
            self._doubts = 0
        beat = heartbeat.Beat(os.getpid(), self.started, self.now(), self.mode, __version__)
        heartbeat.save(self.memory.vault.prepare(self.memory.vault.state), beat)
        self._at["beat"] = self.clock() + heartbeat.EVERY_S

    def _require_vault(self) -> None:
        """Raise Ended when the vault, or the index of this version, is not there any more."""
        if index_file.inode(self.memory.vault.root) != self._root:
            raise Ended("the vault is gone")
        if self.source and not self.source.is_alive():
            # One made again at once may have the number of the old one, but its news went with that.
            raise Ended("file events stopped coming")
        if self.memory.derived.is_superseded():
            raise Superseded("another version of memtool made the index anew")

    def _say_once(self, words: str) -> None:
        if words != self._said:
            self.say(words)
        self._said = words


class Superseded(Ended):
    """Another version of memtool took over; there is no beginning anew."""


def _git_at_work(memory: Memory) -> bool:
    """Tell whether a command of git's holds its index: a branch switch, a merge, a pull."""
    tree = repository.find_work_tree(memory.vault.root)
    folder = repository.git_folder(tree) if tree else None
    return folder is not None and os.path.exists(folder / "index.lock")
