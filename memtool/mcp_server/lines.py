"""Standard input -> lines, until it ends, a signal comes, and everything that was asked is answered.

Read by a thread that nobody waits for: one that waits for a line would keep the process from ending.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Protocol, TextIO

#: Characters of one line; who sends more gets told that it is no message.
MOST = 8_000_000


class Busy(Protocol):
    """Somebody who may have calls under way."""

    pending: int


class Lines:
    """The lines of standard input, as an asynchronous iterator."""

    def __init__(self, busy: Busy) -> None:
        self._busy = busy
        # What is started on the way, such as git, must not read what a client says.
        self._file = os.fdopen(os.dup(0), "r", encoding="utf-8", errors="replace", newline="\n")
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)

    async def __aiter__(self) -> AsyncIterator[str]:
        loop, lines = asyncio.get_running_loop(), asyncio.Queue[str](100)
        threading.Thread(target=_read, args=(self._file, loop, lines), daemon=True).start()
        self._end_on_signals(loop, lines)
        while line := await lines.get():
            if line.strip():
                yield line
        quiet = 0
        while quiet < 5:
            quiet = 0 if self._busy.pending else quiet + 1
            await asyncio.sleep(0.01)

    @staticmethod
    def _end_on_signals(loop: asyncio.AbstractEventLoop, lines: asyncio.Queue[str]) -> None:
        """Take a first signal for the end of input; a second one ends us at once."""

        def end() -> None:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)
            while not lines.empty():
                lines.get_nowait()
            lines.put_nowait("")

        with suppress(RuntimeError, ValueError, NotImplementedError):  # not in the main thread
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, end)


def _read(file: TextIO, loop: asyncio.AbstractEventLoop, lines: asyncio.Queue[str]) -> None:
    with suppress(RuntimeError, OSError, ValueError):  # the loop, or the file, is closed: nobody listens
        while True:
            line = file.readline(MOST)
            if len(line) == MOST and not line.endswith("\n"):
                while (rest := file.readline(MOST)) and not rest.endswith("\n"):
                    pass
                line = "too long\n"
            asyncio.run_coroutine_threadsafe(lines.put(line), loop).result()
            if not line:
                return
