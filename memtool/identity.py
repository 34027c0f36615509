"""A name, a session, a reason -> a `Signature`: who makes a change, and who asks.

Light on purpose: whoever opens a vault says who they are, long before anything is committed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from memtool import names
from memtool.errors import UsageError

#: Where an identity is told that nobody gave in the call itself.
WRITER_VARIABLE, SESSION_VARIABLE = "MEMTOOL_WRITER", "MEMTOOL_SESSION"

_WRITER = r"human|agent/[^\s/][^\s]{0,98}"


class Signature(NamedTuple):
    """Who made a change: ``human`` or ``agent/NAME``, in which session, and why."""

    writer: str = "human"
    session: str = ""
    reason: str = ""

    @property
    def is_agent(self) -> bool:
        return self.writer.startswith("agent/")


HUMAN = Signature()


def signature(writer: str = "", session: str = "", reason: str = "") -> Signature:
    """Check who is said to write; an empty *writer* is a person. Raises UsageError.

    >>> signature("agent/scribe", reason="asked\\nto")
    Signature(writer='agent/scribe', session='', reason='asked to')
    """
    writer = writer or "human"
    if not re.fullmatch(_WRITER, writer) or names.printable(writer) != writer:
        why = "a writer is `human` or `agent/` and a name without spaces"
        raise UsageError(f"{writer!r} is no writer", why=why, fix="write it as in `--writer agent/scribe`")
    return Signature(writer, names.one_line(session)[:200], names.one_line(reason)[:500])


def identify(writer: str, session: str, environment: Mapping[str, str]) -> Signature:
    """Decide who somebody is: as they say, else as the environment says, else a person."""
    writer = writer or environment.get(WRITER_VARIABLE, "")
    session = session or environment.get(SESSION_VARIABLE, "")
    return signature(writer, session) if writer or session else HUMAN


def overridden(who: Signature, writer: str = "", session: str = "", reason: str = "") -> Signature | None:
    """Give *who* with what one call says differently; None when nobody signs at all.

    >>> overridden(HUMAN) is None, overridden(Signature("agent/a", "s1"), reason="tidy")
    (True, Signature(writer='agent/a', session='s1', reason='tidy'))
    """
    if not (writer or session or reason or who != HUMAN):
        return None
    return signature(writer or who.writer, session or who.session, reason or who.reason)
