"""What happened to files, one thing at a time -> the moment when looking at them is worth it.

Gathers a burst into one batch and lets files that are still being written wait. Knows nothing of
where the news comes from, and takes the time as an argument.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from memtool import names

#: "written": bytes came, and more may come; "changed": it is done, moved or gone; "doubt": look at all.
Kind = Literal["created", "written", "changed", "doubt"]

#: So many things at once may have been more than the system could tell.
FLOOD = 5000

_HEADS = (".git/HEAD", ".git/packed-refs", ".git/refs/heads/")


class Event(NamedTuple):
    """One thing that happened to a path of the vault; "" is the vault as a whole."""

    path: str
    kind: Kind


class Batch(NamedTuple):
    """What is to be looked at now."""

    paths: frozenset[str]
    held: frozenset[str]  # still being written: to be left as they are
    doubt: bool  # more may have changed than was told


def sort(happened: str, path: str, *, folder: bool) -> Event | None:
    """Tell what news means for a vault; None when it means nothing.

    *happened* is "created", "modified", "closed", "moved" or "deleted".

    >>> sort("closed", "ops/a.md", folder=False), sort("opened", "a.md", folder=False)
    (Event(path='ops/a.md', kind='changed'), None)
    >>> sort("closed", ".a.md.swp", folder=False), sort("moved", ".git/HEAD", folder=False)
    (None, Event(path='', kind='doubt'))
    """
    kinds: dict[str, Kind] = {"created": "created", "modified": "written"}
    kinds |= {"closed": "changed", "moved": "changed", "deleted": "changed"}
    if happened not in kinds:
        return None
    if path.startswith(_HEADS) and not path.endswith(".lock"):
        return Event("", "doubt")
    *folders, name = path.split("/")
    if any(map(names.is_skipped, folders)):
        return None
    if folder:
        # A folder brings or takes what lies in it, told of or not.
        return None if happened == "modified" or names.is_skipped(name) else Event("", "doubt")
    if path == "memtool.toml":
        return Event("", "doubt")
    return Event(path, kinds[happened]) if names.is_note(name) else None


class Pending:
    """What was told and not looked at yet."""

    def __init__(
        self,
        *,
        quiet_s: float = 0.1,
        most_s: float = 2.0,
        patience_s: float = 5.0,
        busy: Callable[[], bool] = lambda: False,
        busy_s: float = 10.0,
    ) -> None:
        self.quiet_s, self.most_s, self.patience_s = quiet_s, most_s, patience_s
        self.busy, self.busy_s = busy, busy_s
        self._open: dict[str, float] = {}  # being written, with the time of the last bytes
        self._clear()

    def _clear(self) -> None:
        self._told: dict[str, Kind] = {}
        self._doubt = False
        self._first = self._last = 0.0

    def note(self, event: Event, now: float) -> None:
        """Take news in."""
        if event.kind == "written":
            self._told.pop(event.path, None)
            self._open[event.path] = now
            return
        if not self.waiting:
            self._first = now
        self._last = now
        if event.kind == "doubt":
            self._doubt = True
        else:
            self._open.pop(event.path, None)
            self._told[event.path] = event.kind

    @property
    def waiting(self) -> bool:
        return self._doubt or bool(self._told)

    @property
    def writing(self) -> bool:
        """Whether a file is being written right now."""
        return bool(self._open)

    def due_in(self, now: float) -> float | None:
        """Give the seconds until there is something to look at: 0 now, None never."""
        when = [written + self.patience_s for written in self._open.values()]
        if self.waiting:
            lull = min(self._last + self.quiet_s, self._first + self.most_s)
            # A command of git's that is at work is one change, however long it takes.
            if lull <= now < self._first + self.busy_s and self.busy():
                lull = now + self.quiet_s / 2
            when.append(lull)
        return max(0.0, min(when) - now) if when else None

    def take(self, now: float, is_empty: Callable[[str], bool] = lambda path: False) -> Batch:
        """Hand out what is due. A new file that is still empty waits like one that is being written."""
        for path in [path for path, kind in self._told.items() if kind == "created" and is_empty(path)]:
            del self._told[path]
            self._open.setdefault(path, now)
        stale = [path for path, written in self._open.items() if now - written >= self.patience_s]
        for path in stale:
            del self._open[path]
        batch = Batch(frozenset([*self._told, *stale]), frozenset(self._open), self._doubt)
        self._clear()
        return batch
