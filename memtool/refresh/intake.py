"""Paths of changed notes -> their rows: read, named, cut; on a second processor when there are many.

The second process is a plain child that speaks over its pipes: unlike a pool of the standard
library it never imports the caller's main module again.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import BinaryIO, NamedTuple

from memtool.errors import MemtoolError, PathError
from memtool.index import rows
from memtool.refresh import reading
from memtool.vault import Vault, blob

#: From this many notes on, a second process pays.
PARALLEL_FROM = 300

_BATCH = 48

#: Batches that the child is given ahead.
AHEAD = 16


class Wanted(NamedTuple):
    """A note to read, and the blob its rows were made from so far ("" for none)."""

    path: str
    blob: str


class Same(NamedTuple):
    """A note whose bytes are as before."""

    path: str


class Unread(NamedTuple):
    """A note that could not be read, why, and what helps."""

    path: str
    why: str
    fix: str


Outcome = rows.NoteRows | Same | Unread


class ReaderError(MemtoolError):
    """The second process that reads notes ended before its work was done."""

    code = "reader"


class Cutting(NamedTuple):
    """Where chunks end: characters, and characters of unspaced scripts."""

    limit: int = 1200
    wide_limit: int = 530


def read(vault: Vault, wanted: Sequence[Wanted], cutting: Cutting) -> Iterator[Outcome]:
    """Give the outcome of each note, in no fixed order."""
    if len(wanted) < PARALLEL_FROM or (os.cpu_count() or 1) < 2:
        yield from (_one(vault, want, cutting) for want in wanted)
        return
    batches = deque(wanted[at : at + _BATCH] for at in range(0, len(wanted), _BATCH))
    with _Child(vault.root, cutting) as child:
        while batches or child.waiting:
            # The child is kept ahead, so that it works on while this process stores; what it has not
            # ready in time, this process does itself.
            while batches and child.waiting < AHEAD:
                child.send(batches.popleft())
            if child.ready() or not batches:
                yield from child.receive()
            else:
                yield from (_one(vault, want, cutting) for want in batches.popleft())


def _one(vault: Vault, want: Wanted, cutting: Cutting) -> Outcome:
    try:
        data = vault.read(want.path)
    except PathError:
        return Unread(want.path, "it went away meanwhile", "nothing: the next refresh sees to it")
    except MemtoolError as error:
        return Unread(want.path, error.why or error.what, error.fix)
    except OSError as error:
        return Unread(want.path, (error.strerror or str(error)).lower(), "see that you may read it")
    name = blob(data)
    if name == want.blob:
        return Same(want.path)
    return reading.parse(want.path, data, blob=name, limit=cutting.limit, wide_limit=cutting.wide_limit)


class _Child:
    """One more process of ours; as a context it is always ended."""

    def __init__(self, root: Path, cutting: Cutting) -> None:
        self.waiting = 0
        package = str(Path(__file__).resolve().parent.parent)
        paths = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))
        self._process = subprocess.Popen(
            # -P: the current folder may be a vault, and nothing in a vault is ever imported.
            [sys.executable, "-P", "-c", "from memtool.refresh.intake import _serve; _serve()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": paths},
            # Of its own group: an interrupt from the terminal is the parent's to decide.
            process_group=0,
        )
        assert self._process.stdin and self._process.stdout
        self._to: BinaryIO = self._process.stdin  # type: ignore[assignment]
        self._back: BinaryIO = self._process.stdout  # type: ignore[assignment]
        # Answers are taken in at once, or the child would wait for us to read while we store.
        self._answers: SimpleQueue[list[Outcome] | None] = SimpleQueue()
        self._reader = Thread(target=self._take_in, daemon=True)
        self._reader.start()
        self._put((root, cutting))

    def _take_in(self) -> None:
        try:
            while True:
                self._answers.put(pickle.load(self._back))
        except (EOFError, OSError, ValueError, pickle.UnpicklingError):
            self._answers.put(None)

    def _put(self, thing: object) -> None:
        try:
            pickle.dump(thing, self._to, protocol=5)
            self._to.flush()
        except BrokenPipeError as error:
            raise self._died() from error

    def send(self, batch: Sequence[Wanted]) -> None:
        self._put(batch)
        self.waiting += 1

    def ready(self) -> bool:
        """Tell whether an answer is there."""
        return not self._answers.empty()

    def receive(self) -> list[Outcome]:
        self.waiting -= 1
        found = self._answers.get()
        if found is None:
            raise self._died()
        return found

    def _died(self) -> ReaderError:
        return ReaderError(
            "the second process that reads notes ended too early",
            why=f"its exit code is {self._process.wait()}",
            fix="run the command again: what was stored until now is kept",
        )

    def __enter__(self) -> _Child:
        return self

    def __exit__(self, *error: object) -> None:
        if error[0] is not None:
            self._process.kill()
        with suppress(BrokenPipeError):
            self._to.close()
        self._process.wait()
        self._reader.join()
        self._back.close()


def _serve() -> None:
    """Be the child: answer batches until the pipe closes."""
    root, cutting = pickle.load(sys.stdin.buffer)
    vault = Vault.open(root)
    waiting: SimpleQueue[Sequence[Wanted] | None] = SimpleQueue()
    # Batches are taken in at once: a parent that waits to send while we wait to send never ends.
    Thread(target=_take_in, args=(waiting,), daemon=True).start()
    try:
        while (batch := waiting.get()) is not None:
            pickle.dump([_one(vault, want, cutting) for want in batch], sys.stdout.buffer, protocol=5)
            sys.stdout.buffer.flush()
    except BrokenPipeError:
        os._exit(1)


def _take_in(waiting: SimpleQueue[Sequence[Wanted] | None]) -> None:
    try:
        while True:
            waiting.put(pickle.load(sys.stdin.buffer))
    except (EOFError, pickle.UnpicklingError):
        waiting.put(None)
