"""News that nothing happened -> a look at the vault saved.

A search looks at every file before it answers. Where the system tells of changes, and proves that it
told of all until now, what was true at the last look still is. On any doubt it looks.
"""

from __future__ import annotations

from typing import Protocol

from memtool.index.index import Index
from memtool.memory.memory import Memory
from memtool.refresh.refresh import RefreshReport


class Told(Protocol):
    """Who knows of changes; ``mark`` differs as soon as there was one, and is None when nobody knows."""

    def is_alive(self) -> bool: ...
    def mark(self, timeout_s: float = ...) -> tuple[int, int] | None: ...


#: What must be the same for an index to be as it was: the news, the open index, other writers' work.
State = tuple[tuple[int, int], Index, int]


class Unchanged:
    """How one memory looks for changes; *source* None looks every time."""

    def __init__(self, memory: Memory, source: Told | None) -> None:
        self.memory, self.source = memory, source
        self._seen: State | None = None
        self._report = RefreshReport()
        memory.look = self.look

    def look(self) -> RefreshReport:
        """Refresh, or know that there is nothing to refresh."""
        state = self._state()
        if state is not None and state == self._seen:
            return self._report
        self._seen = None
        report = self.memory.refresh()
        if not report.unread and not report.paused:
            count = self.memory.index.count("notes")
            self._report = RefreshReport(unchanged=count, findings=report.findings)
            self._seen = state
        return report

    def _state(self) -> State | None:
        mark = self.source.mark() if self.source and self.source.is_alive() else None
        if mark is None:
            return None
        index = self.memory.index
        version = index.db.execute("PRAGMA data_version").fetchone()[0]
        return mark, index, int(version)
