"""A vault -> what an agent should know when a session starts, within a budget of tokens.

Most needed first: pinned notes, what was left open, what changed since the last session, what needs
a review, and of the catalog what still fits. All of it is quoted; only the first line is ours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memtool import atomic, quoting
from memtool.errors import MemtoolError
from memtool.note import note
from memtool.note.anchor import Anchor
from memtool.search.search import cost

if TYPE_CHECKING:
    from memtool.index.index import FileRow
    from memtool.memory.memory import Memory

HOW = (
    "This project has a memory. Look things up with `memtool search QUESTION`, read lines with "
    "`memtool show PATH:START-END`, and name the anchors that you rely on."
)

#: Shares of the budget that the parts before the catalog may take at most.
_SHARES = {"pinned": 0.4, "open": 0.2, "changed": 0.2, "review": 0.1}

_LATEST = 3  # sessions whose open points are told
_LAST = "last-session.json"


def brief(memory: Memory, session: str, *, now: datetime, budget: float) -> str:
    """Write the briefing of a session that starts; "" for a vault without notes."""
    memory.refresh()
    files = [row for row in memory.index.files().values() if memory_reads(memory, row.path)]
    if not files:
        return ""
    since = last_session(memory, session)
    parts: list[tuple[str, Callable[[], Iterator[str]]]] = [
        ("pinned", lambda: _pinned(memory, files)),
        ("open", lambda: _open(memory, files)),
        ("changed", lambda: _changed(memory, since)),
        ("review", lambda: _review(files, now)),
    ]
    left = budget - cost(HOW) - 40
    told: list[str] = []
    for name, part in parts:
        taken = list(_fit(part(), min(left, budget * _SHARES[name])))
        left -= sum(map(cost, taken))
        told += taken
    told += _catalog(memory, left)
    return f"{HOW}\n{quoting.enclose(told)}" if told else HOW


def _fit(quotes: Iterator[str], room: float) -> Iterator[str]:
    for quote in quotes:
        room -= cost(quote)
        if room < 0:
            return
        yield quote


def memory_reads(memory: Memory, path: str) -> bool:
    """Tell whether whoever asks may read a note."""
    may: Any = getattr(memory, "may_read", None)
    return bool(may(path)) if may else True


# -- the parts -------------------------------------------------------------------------------


def _pinned(memory: Memory, files: Sequence[FileRow]) -> Iterator[str]:
    pinned = [row for row in files if row.facts.get("pinned")]
    for row in sorted(pinned, key=lambda row: (row.type != "procedural", row.path)):
        with suppress(MemtoolError):
            found = note.parse(memory.vault.read(row.path))
            body = range(found.body_start, len(found.lines) + 1)
            first = next((number for number in body if found.lines[number - 1].strip()), 0)
            if first:
                lines = _begun(found.lines[first - 1 :])
                anchor, verified = Anchor(row.path, first, first + len(lines) - 1), row.facts.get("verified")
                yield quoting.quote("\n".join(lines), anchor, day=row.day, verified=bool(verified))


def _begun(lines: Sequence[str], most: float = 150.0) -> list[str]:
    """Give the beginning of a note, at least one line of it."""
    kept: list[str] = []
    for line in lines:
        most -= cost(line)
        if kept and most < 0:
            break
        kept.append(line[:1000])
    while len(kept) > 1 and not kept[-1].strip():
        kept.pop()
    return kept


def _open(memory: Memory, files: Sequence[FileRow]) -> Iterator[str]:
    """Quote what the latest sessions left open, the newest first."""
    sessions = [row for row in files if row.path.startswith("sessions/") and row.type == "episodic"]
    for row in sorted(sessions, key=lambda row: (row.day, row.path), reverse=True)[:_LATEST]:
        with suppress(MemtoolError):
            lines = note.parse(memory.vault.read(row.path)).lines
            if "## Open" in lines:
                head = lines.index("## Open")
                first = next((at for at in range(head, len(lines)) if lines[at].startswith("- ")), head)
                last = next(
                    (at for at in range(first, len(lines)) if not lines[at].startswith("- ")), len(lines)
                )
                anchor = Anchor(row.path, first + 1, last)
                yield quoting.quote("\n".join(lines[first:last]), anchor, day=row.day)


def _changed(memory: Memory, since: str) -> Iterator[str]:
    """Tell what was committed since the revision at which the last session began, and by whom."""
    git = memory.past.git
    if not since or git.work_tree() is None:
        return
    form = "%x1e%h%x1f%aI%x1f%(trailers:key=Memtool-Writer,valueonly,separator=%x2c)%x1f%s"
    try:
        out = git.run("log", "-n", "30", "--no-merges", f"--format={form}", f"{since}..HEAD", "--", ".")
    except MemtoolError:
        return  # that revision is gone
    for entry in out.decode("utf-8", "replace").split("\x1e")[1:]:
        revision, when, writer, subject = (*entry.strip("\n").split("\x1f"), "", "", "")[:4]
        yield quoting.quote(
            subject, f"changed in {revision}", day=when[:10], writer=writer.strip() or "human"
        )


def _review(files: Sequence[FileRow], now: datetime) -> Iterator[str]:
    today = f"{now:%Y-%m-%d}"
    due = [(str(row.facts["review_by"]), row) for row in files if row.facts.get("review_by")]
    for day, row in sorted(due, key=lambda one: (one[0], one[1].path)):
        if day[:10] <= today:
            yield quoting.quote(row.title or row.path, row.path, writer=f"review was due {day[:10]}")


def _catalog(memory: Memory, room: float) -> list[str]:
    """Quote as much of the first page of the catalog as fits; its own order says what matters most."""
    try:
        lines = note.parse(memory.vault.read("MEMORY.md")).lines
    except MemtoolError:
        return []
    numbers = [number for number, line in enumerate(lines, 1) if line.startswith("- ")]
    kept: list[int] = []
    room -= cost("MEMORY.md:1-1")
    for number in numbers:
        room -= cost(f"> {lines[number - 1]}")
        if room < 0:
            break
        kept.append(number)
    if not kept:
        return []
    text = "\n".join(lines[number - 1] for number in kept)
    more = len(numbers) - len(kept)
    anchor, rest = Anchor("MEMORY.md", kept[0], kept[-1]), f"{more} more there" if more else ""
    return [quoting.quote(text, anchor, writer=rest)]


# -- the session before ----------------------------------------------------------------------


def last_session(memory: Memory, session: str) -> str:
    """Give the revision at which the session before this one began, and remember this one; "" for none."""
    file = memory.vault.prepare(memory.vault.state) / _LAST
    try:
        told = json.loads(file.read_bytes()[:4096])
        current, began, before = str(told["session"]), str(told["began"]), str(told["before"])
    except (OSError, ValueError, TypeError, KeyError):
        current, began, before = "", "", ""
    if session and session == current:
        return _revision(before)
    head = memory.past.git.head().revision or ""
    with suppress(OSError):
        atomic.put(file, json.dumps({"session": session, "began": head, "before": began}).encode())
    return _revision(began)


def _revision(text: str) -> str:
    """Give *text* if it is a revision: what lies in a vault may have come with it."""
    return text if re.fullmatch("[0-9a-f]{40,64}", text) else ""
