"""argv of a hook -> which event it is, how long it may take, and what stands on its standard input.

Loaded before anything else of a hook, so it imports next to nothing.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

#: Events of agents by their bare names, each in the words of this house.
EVENTS = {
    "start": "start",
    "sessionstart": "start",
    "prompt": "prompt",
    "userpromptsubmit": "prompt",
    "tool": "tool",
    "posttooluse": "tool",
    "posttoolusefailure": "failed-tool",
    "failedtool": "failed-tool",
    "compact": "compact",
    "precompact": "compact",
    "stop": "stop",
    "end": "end",
    "sessionend": "end",
}

#: Seconds that a hook may take in all; then it ends and says nothing. A resident answers the first four.
LIMITS = {"prompt": 2.0, "tool": 2.0, "failed-tool": 2.0, "start": 10.0}
LONGEST_S = 60.0

#: Bytes of standard input that a hook reads at all.
MOST_INPUT = 64 << 20


def event_of(argv: Sequence[str]) -> str:
    """Find what `memtool hook AGENT EVENT` is told of; "" when it is nothing we know.

    >>> event_of(["hook", "--vault", "notes", "claude", "UserPromptSubmit"]), event_of(["hook", "claude"])
    ('prompt', '')
    """
    words = []
    rest = iter(argv)
    for word in rest:
        if word in ("--vault", "--budget"):
            next(rest, None)
        elif not word.startswith("-"):
            words.append(word)
    return bare_event(words[2]) if len(words) > 2 else ""


def bare_event(name: str) -> str:
    """Give an event the name it has here; "" for one that we do not know.

    >>> bare_event("session-start"), bare_event("PreCompact"), bare_event("Notification")
    ('start', 'compact', '')
    """
    return EVENTS.get(name.lower().replace("-", "").replace("_", "").replace(".", ""), "")


def end_in_time(argv: Sequence[str], state: Callable[[], str]) -> None:
    """Make sure that a hook ends: after its limit it is over with a good exit code, and nothing is said.

    *state* finds the folder where that is recorded.
    """
    from _thread import start_new_thread

    start_new_thread(_end, (LIMITS.get(event_of(argv), LONGEST_S), list(argv), state))


def _end(limit_s: float, argv: Sequence[str], state: Callable[[], str]) -> None:
    from _thread import start_new_thread
    from time import sleep

    sleep(limit_s)
    start_new_thread(_leave, (1.0,))  # whatever holds up the words below
    try:
        from memtool import hook_log

        what = f"it took more than {limit_s:g} s and was ended"
        words = [word for word in argv if not word.startswith("-")]
        hook_log.record(state(), words[1], event_of(argv), "slow", what)
    finally:
        os._exit(0)


def _leave(after_s: float) -> None:
    from time import sleep

    sleep(after_s)
    os._exit(0)


_input: list[bytes] = []


def read_input() -> bytes:
    """Read all of standard input, once: who asked a resident in vain finds it here. Raises ValueError."""
    if not _input:
        parts, size = [], 0
        while part := os.read(0, 1 << 16):
            parts.append(part)
            size += len(part)
            if size > MOST_INPUT:
                raise ValueError
        _input.append(b"".join(parts))
    return _input[0]
