"""A file -> the right to do a job alone: one process at a time, for as long as it lives.

The kernel lets go of it however the process ends. Knows nothing of the job.
"""

from __future__ import annotations

import os
from pathlib import Path

from memtool import files
from memtool.errors import LockError


class Claim:
    """The right to do *job* in one vault. Raises LockError when another process has it."""

    def __init__(self, file: Path, job: str) -> None:
        self.file, self.job = file, job
        self._handle = self._take(1.0)

    def _take(self, timeout_s: float) -> int:
        try:
            handle = files.lock(str(self.file), timeout_s)
        except BlockingIOError as error:
            holder = f"process {error.strerror}" if (error.strerror or "").isdigit() else "another process"
            raise LockError(
                f"{holder} {self.job} already",
                why="one at a time is enough for a vault",
                fix="use that one, or end it first",
            ) from error
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        return handle

    def renew(self) -> None:
        """Claim it again when somebody removed the file; raises LockError when another came first."""
        try:
            there = os.stat(self.file).st_ino
        except FileNotFoundError:
            there = 0
        if there != os.fstat(self._handle).st_ino:
            fresh = self._take(0.0)
            os.close(self._handle)
            self._handle = fresh

    def close(self) -> None:
        os.close(self._handle)
