"""A vault -> looked after until told to stop: watched, answered for, begun anew when the ground moves.

Opens what the loop and the resident need and closes it again. Knows when that must happen anew: a
vault that went and came back, settings that changed, news that stopped coming.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from datetime import datetime
from queue import Empty, SimpleQueue
from typing import NamedTuple

from memtool import config as configuration
from memtool import heartbeat
from memtool.claim import Claim
from memtool.config import Config
from memtool.errors import MemtoolError, VaultError
from memtool.index import index_file
from memtool.memory.memory import Memory
from memtool.resident.resident import Answer, Reply, Request, Resident
from memtool.resident.tool_upkeep import ToolNotes
from memtool.thrift import lighten, spare_arenas, warm
from memtool.unchanged import Unchanged
from memtool.watch.observing import Blind, Source
from memtool.watch.settling import Event
from memtool.watch.watch import Ended, Superseded, Watch, taker

#: How long a vault that went away is waited for.
GONE_S = 60.0

#: Before beginning anew: who deletes a vault piece by piece must not be met with new pieces.
BREATH_S = 0.5

#: How often a process that only answers sees to its vault.
TICK_S = 5.0


class Wish(NamedTuple):
    """What is to be done for a vault."""

    watch: bool = True
    poll: bool = False
    commit: bool = True
    catalog: bool = True
    quiet_time_s: float | None = None  # None: as configured
    answer: bool = True
    idle_s: float = 0.0  # 0: never too idle


class Service:
    """Looks after one vault. *answers* makes of an open memory what answers requests."""

    def __init__(
        self,
        folder: str | None,
        wish: Wish,
        *,
        answers: Callable[[Memory], Answer],
        say: Callable[[str], None],
        environment: Mapping[str, str] = os.environ,
        observe: Callable[..., Source] = Source,
    ) -> None:
        self.wish, self._answers, self.say, self.environment = wish, answers, say, environment
        self.news: SimpleQueue[Event | None] = SimpleQueue()
        self._observe, self._blind = observe, wish.poll
        with Memory.open(folder, environment=environment) as memory:
            self.root = memory.vault.root
        self.stopped = False

    def stop(self) -> None:
        """End it; may be called from a signal."""
        self.stopped = True
        self.news.put(None)

    def run(self) -> None:
        """Look after the vault. Raises LockError when another process does, VaultError when it is gone."""
        spare_arenas()
        while not self.stopped:
            self._drain()
            try:
                with ExitStack() as stack:
                    self._live(stack)
                return
            except Blind as blind:
                self._go_blind(blind)
            except Superseded as ended:
                self.say(f"{ended}: leaving it to that one")
                return
            except Ended as ended:
                if not self.stopped:
                    self.say(f"{ended}; beginning anew")
                    self._await_vault()

    # -- one life ----------------------------------------------------------------------------

    def _live(self, stack: ExitStack) -> None:
        memory = stack.enter_context(Memory.open(self.root, environment=self.environment))
        vault = memory.vault
        vault.prepare(vault.state)
        if self.wish.watch:
            claim = Claim(vault.state / heartbeat.LOCK, "watches this vault")
            stack.callback(claim.close)
            stack.callback(heartbeat.clear, vault.state)
        source = self._open_source(memory, stack)
        resident = self._open_resident(memory, source, stack) if self.wish.answer else None
        if resident:
            warm(memory.embedder)
        self._tell(source, resident)

        tool_notes = ToolNotes(memory, self.say)

        def upkeep() -> None:
            self._require_same_settings(memory)
            if self.wish.watch:
                claim.renew()
                tool_notes.refresh(time.time())
            if resident and not resident.is_there():
                raise Ended("the socket was removed")

        if self.wish.watch:
            self._watch(memory, source, upkeep)
        elif resident:
            self._wait(memory, resident, upkeep)

    def _open_source(self, memory: Memory, stack: ExitStack) -> Source | None:
        if self._blind:
            return None
        try:
            source = self._observe(self.root, self.news, mark_in=memory.vault.state)
        except Blind as blind:
            self._go_blind(blind)
            return None
        stack.callback(source.close)
        return source

    def _go_blind(self, blind: Blind) -> None:
        self._blind = True
        fix = f"; {blind.fix}" if blind.fix else ""
        self.say(f"live watching is off: {blind.why}; looking every few seconds instead{fix}")

    def _open_resident(self, memory: Memory, source: Source | None, stack: ExitStack) -> Resident | None:
        # A memory of its own: an answer never waits for what the loop is doing.
        own = stack.enter_context(
            Memory(memory.vault, memory.config, embedder=memory.embedder, who=memory.who)
        )
        Unchanged(own, source)
        try:
            resident = Resident(memory.vault, _lightly(self._answers(own), own))
        except MemtoolError as error:
            if not self.wish.watch:
                raise
            self.say(f"answering nothing: {error.what}" + (f" ({error.why})" if error.why else ""))
            return None
        stack.callback(resident.close)
        return resident

    def _tell(self, source: Source | None, resident: Resident | None) -> None:
        how = ("by native events" if source else "by polling") if self.wish.watch else ""
        does = [f"watching {how}"] if how else []
        does += ["answering searches"] if resident else []
        self.say(f"{self.root}: {' and '.join(does)}")

    def _watch(self, memory: Memory, source: Source | None, upkeep: Callable[[], None]) -> None:
        wished = self.wish.quiet_time_s
        watch = Watch(
            memory,
            source=source,
            commit=self._committer(memory) if self.wish.commit and memory.config.commit else None,
            catalog=self.wish.catalog,
            quiet_s=memory.config.quiet_time_s if wished is None else wished,
            say=self.say,
            upkeep=upkeep,
        )
        watch.run(taker(self.news))

    def _committer(self, memory: Memory) -> Callable[[datetime], float]:
        told: set[str] = set()

        def commit(now: datetime) -> float:
            """Commit what is quiet; tell in how many seconds there may be more, 0 for none."""
            wished = self.wish.quiet_time_s
            quiet_s = memory.config.quiet_time_s if wished is None else wished
            report = memory.commit(quiet_time_s=quiet_s)
            for made in report.commits:
                self.say(f"{made.revision[:10]}  {made.subject}")
            found = set(map(str, report.findings))
            for words in sorted(found - told):
                self.say(words)
            told.clear()
            told.update(found)
            return report.again_s

        return commit

    def _wait(self, memory: Memory, resident: Resident, upkeep: Callable[[], None]) -> None:
        """Let the resident answer until it was idle for too long, or the ground moves."""
        take, root = taker(self.news), index_file.inode(self.root)
        while take(min(TICK_S, self.wish.idle_s or TICK_S)) is not None:
            if self.wish.idle_s and time.monotonic() - resident.last >= self.wish.idle_s:
                self.say(f"idle for {self.wish.idle_s:g} s")
                return
            if index_file.inode(self.root) != root:
                raise VaultError(f"the vault `{self.root}` is gone", fix="start again where it is now")
            if memory.derived.is_superseded():
                raise Superseded("another version of memtool made the index anew")
            upkeep()

    # -- when the ground moves ---------------------------------------------------------------

    def _require_same_settings(self, memory: Memory) -> None:
        if self._load() != memory.config:
            raise Ended("the settings changed")

    def _load(self) -> Config:
        return configuration.load(self.root, environment=self.environment)

    def _await_vault(self) -> None:
        """Wait until there is a vault again; raises VaultError when it does not come back."""
        patience_s = GONE_S if self.wish.watch else 0.0
        until = time.monotonic() + patience_s
        time.sleep(BREATH_S)
        while not os.path.isdir(self.root):
            if self.stopped:
                return
            if time.monotonic() > until:
                raise VaultError(
                    f"the vault `{self.root}` is gone",
                    why=f"it did not come back within {patience_s:g} s" if patience_s else "",
                    fix="start again when it is there",
                )
            time.sleep(0.2)

    def _drain(self) -> None:
        try:
            while True:
                if self.news.get_nowait() is None:
                    self.stopped = True
        except Empty:
            return


def _lightly(answer: Answer, memory: Memory) -> Answer:
    """Answer, and keep little of what was looked at for it."""

    def lightly(request: Request) -> Reply | None:
        reply = answer(request)
        lighten(memory.index.db)
        return reply

    return lightly
