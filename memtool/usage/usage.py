"""What was shown, opened, cited, helpful or not <-> the usage ledger: counts for each note.

Holds paths, lines, a digest of the question, session and writer, and never what a note says. Losing
it loses warmth, not knowledge; so recording never fails whatever it records.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from memtool.errors import MemtoolError
from memtool.note.anchor import Anchor
from memtool.usage import ledger
from memtool.usage.ledger import Ledger, Record, Sums
from memtool.vault import Vault

#: What can happen to a note, in the order of the counts.
EVENTS = ("shown", "opened", "cited", "good", "bad")

NAME = "usage"
_PERSON = "human"  # who is not named
_OFF = ("0", "false", "no", "off")
_MOST_NOTES = 50_000  # of more, those that were not used for longest are one sum without a name
_MOST_ANCHORS, _MOST_REASONS, _REASON = 50, 5, 200


class Use(NamedTuple):
    """How often a note was shown, opened, cited and judged; ``last`` is seconds since 1970."""

    shown: int = 0
    opened: int = 0
    cited: int = 0
    good: int = 0
    bad: int = 0
    last: float = 0.0
    best: int = 0  # the best rank at which it was shown; 0: never
    reasons: tuple[str, ...] = ()  # of the newest judgements

    @property
    def used(self) -> bool:
        """Whether anybody ever looked into it."""
        return bool(self.opened or self.cited or self.good or self.bad)


class Event(NamedTuple):
    """One entry that is still in the log."""

    event: str
    when: float
    anchors: tuple[Anchor, ...]
    question_digest: str
    session: str
    writer: str


def is_on(environment: Mapping[str, str]) -> bool:
    """Tell whether usage is to be recorded at all."""
    return environment.get("MEMTOOL_USAGE", "").strip().lower() not in _OFF


def question_digest(question: str) -> str:
    """Name a question without telling it.

    >>> question_digest("where is the key") == question_digest("  Where is  the KEY ")
    True
    """
    import hashlib

    plain = " ".join(question.lower().split())
    return hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def whole(path: str) -> Anchor:
    """Address a whole note, whatever its name looks like."""
    return Anchor(path, 0, 0)


def record(
    vault: Vault,
    event: str,
    anchors: Iterable[Anchor | str],
    *,
    question: str = "",
    question_digest: str = "",
    session: str = "",
    writer: str = "",
    reason: str = "",
    now: float | None = None,
    environment: Mapping[str, str] = os.environ,
) -> str:
    """Keep that *event* happened to *anchors*, best first; one append. Gives "" or why it was not kept.

    *event* is one of ``EVENTS``, or ``moved`` with the old and the new path. Session and writer ""
    take the environment's. *now* None asks the clock. Never raises.
    """
    if not is_on(environment):
        return ""
    places = [_place(anchor) for anchor, _ in zip(anchors, range(_MOST_ANCHORS), strict=False)]
    if not places and event != "shown":
        return ""
    entry: Record = {"e": event, "w": int(time.time() if now is None else now), "n": places}
    named = {
        "q": question_digest or (_digest(question) if question else ""),
        "s": (session or environment.get("MEMTOOL_SESSION", ""))[:200],
        "by": (writer or environment.get("MEMTOOL_WRITER", ""))[:100].removeprefix(_PERSON),
        "r": reason[:_REASON],
    }
    entry |= {key: value for key, value in named.items() if value}
    return _keep(vault, entry)


_digest = question_digest


def _place(anchor: Anchor | str) -> list[str | int]:
    if isinstance(anchor, str):
        anchor = Anchor.parse(anchor)
    return [anchor.path, anchor.start, anchor.end]


def _keep(vault: Vault, entry: Record) -> str:
    try:
        try:
            ledger.append(_ledger(vault), entry, patience_s=0.2)
        except FileNotFoundError:
            vault.prepare(vault.state)
            ledger.append(_ledger(vault), entry, patience_s=0.2)
    except OSError as error:
        return f"usage was not recorded: {(error.strerror or str(error)).lower()}"
    except MemtoolError as error:
        return f"usage was not recorded: {error.what}"
    return ""


def counts(vault: Vault) -> dict[str, Use]:
    """Give the counts of every note that was ever shown or used, under its present name."""
    notes = ledger.tally(_ledger(vault)).get("notes", {})
    return {path: _use(row) for path, row in notes.items() if path}


def _use(row: Sequence[Any]) -> Use:
    shown, opened, cited, good, bad, last, best, reasons = row
    return Use(shown, opened, cited, good, bad, last, best, tuple(reasons))


def questions(vault: Vault) -> int:
    """Count the searches that were recorded."""
    return int(ledger.tally(_ledger(vault)).get("asked", 0))


def events(vault: Vault, *, session: str = "") -> Iterator[Event]:
    """Give what is still in the log, oldest first; *session* "" gives every session's."""
    for entry in ledger.recent(_ledger(vault)):
        if not session or entry.get("s") == session:
            anchors = tuple(Anchor(*place) for place in entry.get("n", ()))
            asked, by = str(entry.get("q", "")), str(entry.get("by", ""))
            yield Event(
                str(entry.get("e")), float(entry.get("w", 0)), anchors, asked, str(entry.get("s", "")), by
            )


def _ledger(vault: Vault) -> Ledger:
    return Ledger(vault.state, NAME, _absorb, bound=_bound)


# Adding up


def _absorb(sums: Sums, entry: Record) -> None:
    notes: dict[str, list[Any]] = sums.setdefault("notes", {})
    event, when, places = entry["e"], float(entry["w"]), entry["n"]
    if event == "moved":
        (old, *_), (new, *_) = places
        if old != new and old in notes:
            _join(notes.setdefault(new, _empty()), notes.pop(old))
        return
    column = EVENTS.index(event)
    sums["asked"] = sums.get("asked", 0) + (event == "shown")
    first: dict[str, int] = {}
    for rank, (path, *_) in enumerate(places, 1):
        first.setdefault(str(path), rank)
    for path, rank in first.items():
        row = notes.setdefault(path, _empty())
        row[column] += 1
        row[5] = max(row[5], when)
        if event == "shown":
            row[6] = min(row[6] or rank, rank)
        if reason := entry.get("r"):
            row[7] = [*row[7], str(reason)][-_MOST_REASONS:]


def _empty() -> list[Any]:
    return [0, 0, 0, 0, 0, 0.0, 0, []]


def _join(into: list[Any], other: list[Any]) -> None:
    for column in range(5):
        into[column] += other[column]
    into[5] = max(into[5], other[5])
    into[6] = min(filter(None, (into[6], other[6])), default=0)
    into[7] = [*other[7], *into[7]][-_MOST_REASONS:]


def _bound(sums: Sums) -> None:
    """Put the notes that were not used for longest into one sum, under no name."""
    notes = sums.get("notes", {})
    spare = len(notes) - _MOST_NOTES
    if spare > 0:
        for path in sorted(notes, key=lambda path: notes[path][5])[:spare]:
            if path:
                _join(notes.setdefault("", _empty()), notes.pop(path))
