"""Calls, one after the other -> what came of them: one vault, kept open for as long as a server runs.

The ground may move meanwhile: the folder goes away and comes back, the settings change, memtool itself
is replaced. Each call looks first, and what cannot be helped is an error that says what to do.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import memtool
from memtool.errors import MemtoolError, VaultError
from memtool.identity import SESSION_VARIABLE, WRITER_VARIABLE, Signature

if TYPE_CHECKING:
    from memtool.embedders.base import Embedder
    from memtool.mcp_server.told import Told
    from memtool.memory.memory import Memory

T = TypeVar("T")

_PACKAGE = Path(memtool.__file__)


class Desk:
    """Serves calls on one vault. Not for several threads at once: whoever calls takes turns."""

    def __init__(
        self,
        root: Path,
        *,
        embedder: Embedder | Callable[..., Any] | str | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.root = root
        self.embedder = embedder
        self.environment = os.environ if environment is None else environment
        self._memory: Memory | None = None
        self._inode = 0
        self._born, self._since = _stamp(), time.time()

    def close(self) -> None:
        if self._memory:
            self._memory.close()
            self._memory = None

    def serve(self, who: Signature, work: Callable[[Memory], Told]) -> Told:
        """Do *work* in the name of *who*; never raises, whatever happens is told."""
        from memtool.mcp_server import told

        try:
            done = self.work(who, work)
        except MemtoolError as error:
            done = told.error(error)
        except Exception as error:
            done = told.error(self.bug(error))
        return told.Told(told.clean(done.value), told.clean(done.text), done.failed)

    def work(self, who: Signature, work: Callable[[Memory], T]) -> T:
        """Do *work* in the name of *who*. Raises MemtoolError."""
        memory = self._open()
        memory.who = who
        memory.committed, memory.planned, memory.noticed = None, "", ()
        return work(memory)

    def remarks(self) -> list[str]:
        """Give what a client should know of this server."""
        if _stamp() == self._born:
            return []
        now = _version_on_disk()
        return [f"memtool was replaced while this server runs ({memtool.__version__}, now {now}): restart it"]

    def _open(self) -> Memory:
        from memtool import config
        from memtool.index import index_file

        inode = index_file.inode(self.root)
        if not inode or not self.root.is_dir():
            self.close()
            raise VaultError(
                f"the vault `{self.root}` is gone",
                why="its folder is not there any more, or not reachable",
                fix="ask the user to bring it back, then call again; this server need not be restarted",
            )
        memory = self._memory
        if memory and memory.derived.is_superseded():
            raise _upgraded("a newer memtool made the index anew, and this server cannot read it")
        if (
            memory
            and self._inode == inode
            and config.load(self.root, environment=self.environment) == memory.config
        ):
            return memory
        self.close()
        self._memory, self._inode = self._opened(), inode
        return self._memory

    def _opened(self) -> Memory:
        from memtool.memory.memory import Memory

        others = (WRITER_VARIABLE, SESSION_VARIABLE, "MEMTOOL_VAULT")
        environment = {name: value for name, value in self.environment.items() if name not in others}
        return Memory.open(self.root, embedder=self.embedder, environment=environment)

    def bug(self, error: Exception) -> MemtoolError:
        """Tell the client that it is not its fault, and the log what happened."""
        from memtool.mcp_server.told import Remarked

        if _stamp() != self._born or _changed_since(self._since):
            return _upgraded("memtool was replaced on disk while this server runs")
        import traceback

        from memtool import secrets

        print(secrets.mask("".join(traceback.format_exception(error))), file=sys.stderr, flush=True)
        return Remarked(
            "bug",
            "this is a bug in memtool",
            why=f"{type(error).__name__}; the server's log says more",
            fix="go on without this call, or do it with `memtool` on the command line; tell the user",
        )


def _upgraded(why: str) -> MemtoolError:
    from memtool.mcp_server.told import Remarked

    fix = "ask the user to restart this MCP server (in Claude Code: `/mcp`, reconnect); notes are safe"
    return Remarked("upgraded", "memtool was upgraded beneath this server", why=why, fix=fix)


def _stamp() -> tuple[int, ...]:
    """Name the memtool that is installed now, so that another one is noticed."""
    try:
        stat = os.stat(_PACKAGE)
    except OSError:
        return ()
    return stat.st_ino, stat.st_mtime_ns, stat.st_size


def _changed_since(moment: float) -> bool:
    """Tell whether any part of memtool is younger on disk than what runs: the two may not fit together."""
    try:
        return any(file.stat().st_ctime > moment for file in _PACKAGE.parent.rglob("*.py"))
    except OSError:
        return True


def _version_on_disk() -> str:
    try:
        text = _PACKAGE.read_text(encoding="utf-8")
    except OSError:
        return "gone"
    lines = (line for line in text.split("\n") if line.startswith("__version__ = "))
    return next(lines, "= ?").partition("=")[2].strip(" \"'")
