"""A session that ends, or is about to be shortened -> its episodic note, without asking any model.

The note is one for each session: told again, its generated part is made again and what a person wrote
around that stays. It is written through the door, in the agent's name.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from memtool import files, names
from memtool.errors import LockError, PathError
from memtool.hooks import gleaning, transcript
from memtool.note import note
from memtool.note.anchor import Anchor

if TYPE_CHECKING:
    from memtool.hooks.gleaning import Gleaned, Line, Run
    from memtool.hooks.hook_events import Event
    from memtool.hooks.transcript import Transcript
    from memtool.memory.memory import Memory
    from memtool.vault import Vault

FOLDER = "sessions"
BEGIN, END = "<!-- session: generated -->", "<!-- session: end -->"

#: Seconds within which a turn that ends does not write the note again.
PAUSE_S = 600.0

_MOST_USED = 20


def keep(memory: Memory, event: Event, *, now: datetime) -> str:
    """Write the note of the session that *event* tells of, or bring it up to date; gives its path.

    Gives "" when there is nothing to keep. Raises PathError when the named transcript cannot be read.
    """
    name = _name(event)
    with _alone(memory.vault, name):
        path = find(memory.vault, name)
        if event.kind == "stop" and path and _is_young(memory.vault, path, now):
            return path
        session = read(event)
        body = render(session, _glean(session), used(memory, event.session, path))
        if not body:
            return ""
        return _update(memory, path, body) if path else _add(memory, event, session, name, body, now)


def _name(event: Event) -> str:
    """Name a session for its note: the agent and a digest, for an id may hold anything."""
    named = event.session or event.transcript or "one without a name"
    return f"{event.agent}-{hashlib.sha256(named.encode('utf-8', 'surrogatepass')).hexdigest()[:10]}"


def find(vault: Vault, name: str) -> str:
    """Give the path of a session's note; "" when it has none yet."""
    try:
        there = vault.names(FOLDER)
    except (PathError, OSError):
        return ""
    return next((f"{FOLDER}/{one}" for one in sorted(there) if one.endswith(f"-{name}.md")), "")


def read(event: Event) -> Transcript:
    """Read the session that an event tells of."""
    if event.messages:
        return transcript.of_messages(event.messages)
    if not event.transcript:
        return transcript.Transcript(())
    try:
        return transcript.load(os.path.expanduser(event.transcript), event.agent)
    except OSError as error:
        why = error.strerror or "it is no file"
        raise PathError("the transcript of the session cannot be read", why=why) from error


def _glean(session: Transcript) -> Gleaned:
    from memtool import secrets

    return gleaning.glean(session.turns, mask=secrets.mask)


class _alone:
    """One process at a time keeps one session."""

    def __init__(self, vault: Vault, name: str) -> None:
        self.vault, self.name = vault, name

    def __enter__(self) -> None:
        folder = self.vault.prepare(self.vault.state)
        try:
            self.handle = files.lock(str(folder / "sessions.lock"), 10.0)
        except OSError as error:
            raise LockError("another process is keeping a session", fix="it is kept next time") from error

    def __exit__(self, *error: object) -> None:
        os.close(self.handle)


def _is_young(vault: Vault, path: str, now: datetime) -> bool:
    try:
        return now.timestamp() - os.stat(vault.root / path).st_mtime < PAUSE_S
    except OSError:
        return False


# -- writing ---------------------------------------------------------------------------------


def _add(memory: Memory, event: Event, session: Transcript, name: str, body: str, now: datetime) -> str:
    day = next((turn.when[:10] for turn in session.turns if _DAY.match(turn.when)), f"{now:%Y-%m-%d}")
    first = next((line for line in body.split("\n") if line.startswith("- [turn")), "")
    asked = re.sub(r"^- \[turn \d+\] (?:\w+: )?", "", first)
    meta = {
        "type": "episodic",
        "description": asked[:160],
        "tags": ["session", event.agent],
        "session": names.printable(f"{event.agent}/{event.session}")[:200],
    }
    by = memory.who._replace(reason=f"kept at {event.kind}")
    text = f"{BEGIN}\n{body}\n{END}"
    given = {key: value for key, value in meta.items() if value}
    return memory.add(text, title=f"Session {day} {name}", folder=FOLDER, meta=given, now=now, by=by).path


_DAY = re.compile(r"\d{4}-\d\d-\d\dT")


def _update(memory: Memory, path: str, body: str) -> str:
    """Make the generated part of a note again; without its two markers it is a person's, and stays."""
    data = memory.vault.read(path)
    lines = note.parse(data).lines
    try:
        begin = lines.index(BEGIN) + 1
        end = lines.index(END, begin)
    except ValueError:
        return path
    if list(lines[begin:end]) != body.split("\n"):
        from memtool.vault import digest

        by = memory.who._replace(reason="kept again")
        memory.edit(Anchor(path, begin + 1, end), body, if_digest=digest(data), by=by)
    return path


# -- what stands in it -----------------------------------------------------------------------


def render(session: Transcript, gleaned: Gleaned, used: Sequence[str]) -> str:
    """Write the generated part of a session's note; "" when there is nothing to tell."""
    parts = [
        ("Asked", [_said(line) for line in gleaned.asked]),
        ("Decided", [_said(line, who=True) for line in gleaned.decided]),
        ("Open", [_said(line, who=True) for line in gleaned.open]),
        ("Commands", [_run(run) for run in gleaned.runs]),
        ("Files changed", [f"- [turn {_turns(turns)}] {_code(place)}" for place, turns in gleaned.files]),
        ("Memory used and not updated", list(used)),
    ]
    told = [f"## {head}\n\n" + "\n".join(lines) for head, lines in parts if lines]
    if not any(lines for _, lines in parts[:5]):
        return ""
    if session.skipped:
        told.insert(0, f"The first {session.skipped:,} bytes of the transcript were not read.")
    return "\n\n".join(told)


def _said(line: Line, *, who: bool = False) -> str:
    said = f"{line.role}: {line.text}" if who else line.text
    return f"- [turn {line.turn}] {_harmless(said)}"


def _run(run: Run) -> str:
    times = f" ({run.times} times)" if run.times > 1 else ""
    ended = "ok" if run.ok else f"failed: {_harmless(run.error)}" if run.error else "failed"
    return f"- [turn {run.turn}] {_code(run.command)}{times}: {ended}"


def _turns(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:6]))
    return shown if len(numbers) <= 6 else f"{shown} and {len(numbers) - 6} more"


def _code(text: str) -> str:
    ticks = max((len(run) for run in re.findall("`+", text)), default=0) + 1
    pad = " " if "`" in text else ""
    return f"{'`' * ticks}{pad}{names.printable(text)}{pad}{'`' * ticks}"


def _harmless(text: str) -> str:
    """Keep what was said from being read as our markers, a comment, or a link to a note."""
    return names.printable(text).replace("<!--", "<! --").replace("[[", "[ [")


# -- what the session used -------------------------------------------------------------------


def used(memory: Memory, session: str, own: str = "") -> list[str]:
    """Name the notes that a session was shown or opened and that nobody changed since, most used first."""
    return [f"- {_code(path)}: {how}" for path, how in _used(memory, session) if path != own][:_MOST_USED]


def _used(memory: Memory, session: str) -> Iterator[tuple[str, str]]:
    from memtool.usage import usage

    if not session:
        return
    counts: dict[str, dict[str, int]] = {}
    first: dict[str, float] = {}
    for event in usage.events(memory.vault, session=session):
        for path in {anchor.path for anchor in event.anchors}:
            how = counts.setdefault(path, {})
            how[event.event] = how.get(event.event, 0) + 1
            first.setdefault(path, event.when)
    for path, how in sorted(
        counts.items(), key=lambda item: (-item[1].get("opened", 0), -sum(item[1].values()))
    ):
        if not path.startswith(f"{FOLDER}/") and _unchanged_since(memory.vault, path, first[path]):
            yield path, ", ".join(f"{event} {_times(count)}" for event, count in sorted(how.items()))


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _unchanged_since(vault: Vault, path: str, when: float) -> bool:
    try:
        return os.stat(vault.root / path).st_mtime <= when
    except OSError:
        return False  # gone: nothing is left to update
