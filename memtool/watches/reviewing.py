"""What a note watches and what was recorded of it -> why it needs review now.

What is recorded: with a verification, in the note itself; else in the vault's state, when the entry was
first seen. An edit of the note records nothing anew: only a verification says that it was looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, date, datetime
from typing import NamedTuple

from memtool.config import Config
from memtool.errors import Finding
from memtool.tense.dates import get_date
from memtool.tense.stated import Stated
from memtool.vault import Vault
from memtool.watches import watched, watches
from memtool.watches.watched import Looker
from memtool.watches.watches import RefusedError, Watch

#: Stands for the state of what has none, or could not be looked at.
_UNKNOWN = "-"


class Due(NamedTuple):
    """A note that needs review, and why."""

    path: str
    reasons: tuple[str, ...]


class Review:
    """Tells of notes whether they need review; the vault and what it watches are looked at once."""

    def __init__(self, vault: Vault, config: Config, today: date | None = None) -> None:
        self.vault = vault
        self.today = today or datetime.now(UTC).date()
        self.looker = Looker(
            vault.root, dict(config.checkouts), config.watch_kinds, memory=vault.cache / "watched.json"
        )
        self._file = vault.state / "watches.json"
        self._first: dict[str, list[object]] | None = None
        self._changed = False
        self.findings: list[Finding] = []

    def __call__(self, path: str, said: Stated) -> tuple[str, ...]:
        """Give the reasons for which the note at *path* needs review; () when it does not."""
        reasons = list(self._moved(path, said)) if said.watches else []
        if said.review_by and said.review_by < self.today.isoformat():
            reasons.append(f"was to be reviewed by {said.review_by}")
        return tuple(dict.fromkeys(reasons))

    def _moved(self, path: str, said: Stated) -> Iterator[str]:
        known = self._recorded(path, said)
        since = (
            f" since it was verified on {said.verified.at}" if said.verified and said.verified.watched else ""
        )
        for text, before in zip(said.watches, known, strict=True):
            watch = watches.parse(text)
            if watch.kind == "date":
                yield from self._come(watch)
                continue
            now = self._state(path, watch)
            if now is not None and before not in ("", _UNKNOWN, now):
                yield f"{_told(watch, before, now)}{since}"

    def _come(self, watch: Watch) -> Iterator[str]:
        when = get_date(watch.what)
        if when and when.date() <= self.today:
            yield f"{watch.what} has come"

    def _state(self, path: str, watch: Watch) -> str | None:
        """Look at one thing; None, and a finding, where that is refused."""
        try:
            return self.looker.state(watch, path)
        except RefusedError as error:
            found = Finding(
                error.code, path, 0, error.what + (f": {error.why}" if error.why else ""), error.fix
            )
            if found not in self.findings:
                self.findings.append(found)
            return None

    # -- what was recorded -------------------------------------------------------------------

    def _recorded(self, path: str, said: Stated) -> list[str]:
        """Give the state that each watched thing had when it was recorded; one not seen before is now."""
        stamped = said.verified.watched.split(" ") if said.verified and said.verified.watched else []
        if len(stamped) == len(said.watches):
            return stamped
        first = self._first_seen()
        before = {
            str(pair[0]): str(pair[1])
            for pair in first.get(path, ())
            if isinstance(pair, list) and len(pair) == 2
        }
        now = {text: before.get(text) or self._now(path, text) for text in said.watches}
        if now != before:
            first[path] = [list(pair) for pair in now.items()]
            self._changed = True
        return list(now.values()) if len(now) == len(said.watches) else [now[text] for text in said.watches]

    def _first_seen(self) -> dict[str, list[object]]:
        if self._first is None:
            self._first = watched.load(self._file)
        return self._first

    def _now(self, path: str, text: str) -> str:
        watch = watches.parse(text)
        if watch.kind == "package" and (version := watches.package_name(watch.what)[1]):
            return version  # the note itself says which version it is true of
        return self._state(path, watch) or (_UNKNOWN if watch.kind == "date" else "")

    def record(self, path: str, said: Stated) -> None:
        """Keep the state of what a note watches, where it was not seen before."""
        self._recorded(path, said)

    def stamp(self, path: str, entries: Sequence[str]) -> str:
        """Give the states of what a note watches in one line, for its verification."""
        return " ".join(self._now(path, text) or _UNKNOWN for text in entries)

    def keep(self) -> None:
        """Keep what was seen for the first time."""
        if self._changed or self.looker.learned:
            self.vault.prepare(self.vault.state)
            self.vault.prepare(self.vault.cache)
        if self._changed:
            watched.save(self._file, self._first_seen())
            self._changed = False
        self.looker.keep()

    def forget(self, path: str) -> None:
        """Forget what was seen first: a verification stands for it now."""
        if self._first_seen().pop(path, None) is not None:
            self._changed = True


def _told(watch: Watch, before: str, now: str) -> str:
    """Say what moved.

    >>> _told(Watch("package", "", "numpy"), "2.0", "2.1")
    'package numpy is 2.1, was 2.0'
    """
    if watch.kind == "package":
        return f"package {watches.package_name(watch.what)[0]} is {now}, was {before}"
    if now == watched.NOT_THERE:
        return f"{watch} is gone"
    if watch.kind == "git":
        return f"{watch} moved to {now[:7]}"
    return f"{watch} changed"


def due(review: Review, notes: Iterable[tuple[str, Stated]]) -> list[Due]:
    """Give the notes that need review now, by path."""
    found = [Due(path, reasons) for path, said in notes if (reasons := review(path, said))]
    review.keep()
    return found


def reviewer(vault: Vault, config: Config, now: str) -> Callable[[str, Stated], tuple[str, ...]]:
    """Give what tells of the notes of one search whether they need review; opened when first asked."""
    made: list[Review] = []

    def review(path: str, said: Stated) -> tuple[str, ...]:
        if not made:
            when = get_date(now) if now else None
            made.append(Review(vault, config, when.date() if when else None))
        reasons = made[0](path, said)
        made[0].keep()
        return reasons

    return review
