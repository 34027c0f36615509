"""hook: an agent's event on standard input -> its answer. It never breaks the agent that called it."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from memtool import client, hook_client, hook_log
from memtool.cli.main import OK
from memtool.errors import MemtoolError, VaultError
from memtool.hooks import hook_events
from memtool.memory.memory import Memory

if TYPE_CHECKING:
    from memtool.hooks.sketch import Sketch

#: Set for whatever a hook starts: a hook that such a run calls is silent.
GUARD = "MEMTOOL_HOOK"

#: The part of the usual proposals that are measured while a person waits for few lines.
SHARE = 0.15


def flags(command: str, parser: argparse.ArgumentParser) -> None:
    """Give *parser* the flags of *command*."""
    parser.add_argument(
        "agent", choices=hook_events.AGENTS, help="whose event it is, and who reads the answer"
    )
    parser.add_argument("event", help="start, prompt, tool, compact, stop or end, or the agent's own name")
    parser.add_argument("--budget", type=float, metavar="TOKENS", help="tokens of the answer at most")
    parser.add_argument("--detach", action="store_true", help="keep the session in the background")
    parser.add_argument("--resident", action="store_true", help="start a resident when none answers")


def run(options: argparse.Namespace) -> int:
    """Answer an event; whatever fails is recorded, and the host sees silence."""
    if os.environ.get(GUARD):
        return OK
    os.environ[GUARD] = "1"
    try:
        data = hook_client.read_input() if sys.stdin is sys.__stdin__ else sys.stdin.read().encode()
        if options.detach and not _in_background():
            return OK
        with Memory.open(options.vault) as memory:
            _answer(memory, options, data)
    except VaultError:
        pass  # there is no vault here, so there is nothing to remember and nowhere to say so
    except Exception as error:
        _record(options, error)
    finally:
        os.environ.pop(GUARD, None)
    return OK


def perform(memory: Memory, options: argparse.Namespace, data: bytes, environment: Mapping[str, str]) -> int:
    """Answer an event from a memory that is open already."""
    if not environment.get(GUARD):
        try:
            with _quickly(memory) as sketch:
                _answer(memory, options, data)
                if hook_client.bare_event(options.event) == "start" and memory.embedder:
                    sketch.bring_up(memory.vectors)  # so that the first prompt need not wait for it
        except Exception as error:
            _record_at(memory.vault.state, options, error)
    return OK


_sketches: WeakKeyDictionary[Memory, Sketch] = WeakKeyDictionary()


@contextmanager
def _quickly(memory: Memory) -> Iterator[Sketch]:
    """Let searches look at less, and at a sketch of the vectors first: a person waits for few lines."""
    from memtool.hooks.sketch import Sketch
    from memtool.search.query import Leanings

    sketch, before = _sketches.setdefault(memory, Sketch()), memory.leanings
    memory.leanings = Leanings(meaning=(sketch.lean,), share=SHARE)
    try:
        yield sketch
    finally:
        memory.leanings = before


def _answer(memory: Memory, options: argparse.Namespace, data: bytes) -> None:
    from memtool.hooks import hooks

    kind = hook_client.bare_event(options.event)
    if not kind:
        return  # an event of a newer version of the agent
    event = hook_events.parse(options.agent, kind, data)
    if options.resident and kind == "start":
        _start_resident(memory)
    text = hooks.respond(memory, event, now=datetime.now(UTC), budget=options.budget)
    said = hook_events.answer(event.agent, event.kind, text)
    if said:
        print(said)


# -- what goes wrong -------------------------------------------------------------------------


def _record(options: argparse.Namespace, error: Exception) -> None:
    try:
        from memtool.vault import Vault

        vault = Vault.find(options.vault)
        _record_at(vault.prepare(vault.state), options, error)
    except Exception:
        return  # there is nowhere to say it


def _record_at(state: Path, options: argparse.Namespace, error: Exception) -> None:
    known = isinstance(error, MemtoolError)
    what = _plain(error.what) if isinstance(error, MemtoolError) else _place(error)
    hook_log.record(state, options.agent, options.event, error.code if known else "error", what)  # type: ignore[attr-defined]


def _plain(text: str) -> str:
    return " ".join(text.split())[:200]


def _place(error: Exception) -> str:
    """Name a fault by its kind and place: its message may hold what a note or a prompt says."""
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    place = f" in {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else ""
    return f"{type(error).__name__}{place}"


# -- beside the host -------------------------------------------------------------------------


def _in_background() -> bool:
    """Go on in a process of its own; gives True there, and False in the one that the host waits for."""
    if not hasattr(os, "fork"):
        return True
    sys.stdout.flush()
    if os.fork():
        return False
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    signal.alarm(int(hook_client.LONGEST_S))  # nobody waits for this one, so nobody would end it
    return True


def _start_resident(memory: Memory) -> None:
    """Start a resident of this vault in the background, unless one answers."""
    import subprocess

    if (memory.vault.state / client.SOCKET).exists() or (memory.vault.state / client.ADDRESS).exists():
        return
    environment = {name: value for name, value in os.environ.items() if name != GUARD}
    command = [sys.executable, "-m", "memtool", "serve", "--vault", str(memory.vault.root), "--idle", "3600"]
    subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd="/",
    )
