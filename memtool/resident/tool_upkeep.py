"""A log of tool calls that grows -> notes brought up to date once it was quiet.

Called whenever a watcher looks after itself; costs one look at a file where nothing was logged.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from memtool.errors import MemtoolError
from memtool.memory.memory import Memory

#: Seconds without a call before the notes are written: an agent at work logs several a minute.
QUIET_S = 60.0


class ToolNotes:
    """Remembers up to which call the notes of tools are written."""

    def __init__(self, memory: Memory, say: Callable[[str], None], *, quiet_s: float = QUIET_S) -> None:
        self.memory, self._say, self._quiet_s = memory, say, quiet_s
        self._log = memory.vault.state / "tools" / "log.jsonl"
        self._written: tuple[int, int] | None = None

    def refresh(self, now: float) -> None:
        """Write the notes when calls were logged and none came lately; what fails is told, and left."""
        try:
            it = os.stat(self._log)
        except OSError:
            return
        seen = (it.st_size, it.st_mtime_ns)
        if seen == self._written or now - it.st_mtime < self._quiet_s:
            return
        self._written = seen
        try:
            for finding in self.memory.tool_notes().findings:
                self._say(str(finding))
        except MemtoolError as error:
            self._say(f"the notes of tools were not written: {error.what}")
