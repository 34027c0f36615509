"""A vault and an index of what it was -> an index of what it is: only what changed is read.

Asks the vault for one stat of each file and reads a file only where its stat moved. Knows when
rows must stay although their files are out of sight; knows nothing of vectors.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from memtool.errors import Finding
from memtool.index.index import Index
from memtool.index.index_change import Stat
from memtool.index.rows import NoteRows
from memtool.vault import Vault, Walk

#: Notes stored in one transaction: a killed run loses at most these.
BATCH = 1000

#: A file younger than this may change again without its stat showing it (coarse clocks).
RACY_NS = 2_000_000_000

#: A vault that loses this share of its notes, and this many, at once was more likely unplugged.
LOSS_SHARE, LOSS_COUNT = 0.5, 10


class RefreshReport(NamedTuple):
    """What one refresh found and did."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    findings: tuple[Finding, ...] = ()
    unread: tuple[str, ...] = ()  # notes whose current bytes are not in the index
    paused: bool = False  # most of the vault is out of sight; its rows stayed

    @property
    def touched(self) -> int:
        return self.added + self.changed + self.removed


class Ahead(NamedTuple):
    """What the next refresh would read and drop."""

    read: int
    gone: int
    unread: int


class _Plan(NamedTuple):
    """What differs between the vault and the index."""

    read: list[str]
    gone: list[str]
    kept: list[str]  # out of sight, but not known to be gone
    paused: bool

    def without(self, hold: Callable[[str, Stat], bool] | None, stats: dict[str, Stat]) -> _Plan:
        read = self.read if hold is None else [path for path in self.read if not hold(path, stats[path])]
        return self._replace(read=read)


def refresh(
    vault: Vault,
    index: Index,
    *,
    limit: int = 1200,
    wide_limit: int = 530,
    ignore: Sequence[str] = (),
    accept_loss: bool = False,
    hold: Callable[[str, Stat], bool] | None = None,
    progress: Callable[[Iterable[object], int], Iterable[object]] | None = None,
    clock: Callable[[], int] = time.time_ns,
) -> RefreshReport:
    """Bring *index* up to date with *vault*; safe to repeat, cheap when nothing changed.

    *progress* wraps the notes as they are read, given their number. *accept_loss* lets the rows
    of a vanished majority go. *hold* names notes to leave for later, by path and stat: they are being
    written. Raises LockError when another process is writing the index.
    """
    begun = clock()  # before the walk: what is written while it lasts cannot be trusted either
    walk = vault.walk(ignore=ignore)
    _start_anew_if_cut_otherwise(index, f"{limit}/{wide_limit}")
    known = index.stats()
    stats = _storable(_trusted(walk.stats, begun))
    plan = _plan(stats, walk, known, accept_loss=accept_loss).without(hold, stats)
    findings = [*walk.findings, *_loss(vault, plan, len(known))]
    report = RefreshReport(
        unchanged=len(known), findings=tuple(findings), unread=tuple(plan.kept), paused=plan.paused
    )
    if not plan.read and not plan.gone:
        _remember_looking(index)
        return report

    # The heavy half (YAML, Markdown) is imported only when something changed.
    from memtool.refresh import intake

    blobs = index.blobs(plan.read)
    wanted = [intake.Wanted(path, blobs.get(path, "")) for path in plan.read]
    outcomes: Iterable[object] = intake.read(vault, wanted, intake.Cutting(limit, wide_limit))
    if progress:
        outcomes = progress(outcomes, len(wanted))
    tally = _Tally(known, blobs, stats, walk)
    _store(index, outcomes, plan.gone, tally)
    return report._replace(
        added=tally.added,
        changed=tally.changed,
        removed=len(plan.gone),
        unchanged=len(known) - tally.changed - len(plan.gone),
        findings=(*findings, *tally.findings),
        unread=(*plan.kept, *(finding.path for finding in tally.findings)),
    )


def _remember_looking(index: Index) -> None:
    if not index.fact("looked"):
        with index.change() as change:
            change.remember(looked="yes")


def _start_anew_if_cut_otherwise(index: Index, cutting: str) -> None:
    """Empty the index when its chunks were cut by other limits."""
    before = index.fact("cutting")
    if before != cutting:
        with index.change() as change:
            change.clear()
            change.remember(cutting=cutting)


def look(vault: Vault, index: Index, *, ignore: Sequence[str] = ()) -> tuple[Ahead, list[Finding]]:
    """Tell what a refresh would do, and what is odd in the vault; changes nothing."""
    walk = vault.walk(ignore=ignore)
    known = index.stats()
    # What may have changed unseen is read again by the next refresh, but nobody is told to expect it.
    seen = {path: _marked(stat) if stat[0] < 0 else stat for path, stat in known.items()}
    plan = _plan(_storable(walk.stats), walk, seen, accept_loss=False)
    return Ahead(len(plan.read), len(plan.gone), len(plan.kept)), [
        *walk.findings,
        *_loss(vault, plan, len(known)),
    ]


def _trusted(stats: dict[str, Stat], now: int) -> dict[str, Stat]:
    """Mark each stat that cannot be trusted yet: it never equals one that can."""
    late = now - RACY_NS
    return {
        path: stat if stat[1] < late and stat[2] < late else _marked(stat) for path, stat in stats.items()
    }


def _storable(stats: dict[str, Stat]) -> dict[str, Stat]:
    """Bring numbers that SQLite cannot hold into its range: inodes of some systems, far years."""
    if max(map(max, stats.values()), default=0) < 2**63:
        return stats

    def fold(number: int) -> int:
        return (number + 2**63) % 2**64 - 2**63

    return {path: (fold(s[0]), fold(s[1]), fold(s[2]), fold(s[3])) for path, s in stats.items()}


def _marked(stat: Stat) -> Stat:
    """Mark a stat, or take the mark off."""
    size, mtime, ctime, inode = stat
    return -1 - size, mtime, ctime, inode


def _plan(stats: dict[str, Stat], walk: Walk, known: dict[str, Stat], *, accept_loss: bool) -> _Plan:
    read = [path for path, stat in stats.items() if known.get(path) != stat or stat[0] < 0]
    missing = [path for path in known if path not in stats]
    # An unreadable folder is not an empty folder: what it held stays.
    kept = [path for path in missing if walk.is_unknown(path)] if walk.unreadable else []
    gone = [path for path in missing if path not in set(kept)] if kept else missing
    # A renamed folder brings as many new notes as it takes away; a loss brings none.
    new = sum(path not in known for path in read)
    lost = len(gone) > LOSS_SHARE * len(known) and len(gone) >= LOSS_COUNT and new < len(gone) / 2
    if lost and not accept_loss:
        return _Plan(read, [], kept + gone, True)
    return _Plan(read, gone, kept, False)


def _loss(vault: Vault, plan: _Plan, known: int) -> Iterator[Finding]:
    if plan.paused:
        yield Finding(
            "loss-paused",
            ".",
            0,
            f"{len(plan.kept)} of {known} notes are gone from {vault.root}; "
            "their rows are kept until you say it is meant",
            "mount or check out what is missing, or run `memtool index --accept-loss`",
        )


class _Tally:
    """What the notes read so far came to, and the stats they are stored with."""

    def __init__(
        self, known: dict[str, Stat], blobs: dict[str, str], stats: dict[str, Stat], walk: Walk
    ) -> None:
        self.known, self.blobs, self.stats, self.walk = known, blobs, stats, walk
        self.added = self.changed = 0
        self.findings: list[Finding] = []

    def count(self, path: str) -> None:
        if path in self.known:
            self.changed += 1
        else:
            self.added += 1


def _store(index: Index, outcomes: Iterable[object], gone: Sequence[str], tally: _Tally) -> None:
    """Store outcomes in batches; removals go with the first, so a rename is never half seen."""
    batch: list[object] = []
    for outcome in outcomes:
        batch.append(outcome)
        if len(batch) >= BATCH:
            _store_batch(index, batch, gone, tally)
            batch, gone = [], ()
    if batch or gone:
        _store_batch(index, batch, gone, tally)


def _store_batch(index: Index, batch: Sequence[object], gone: Sequence[str], tally: _Tally) -> None:
    from memtool.refresh.intake import Same, Unread
    from memtool.refresh.reading import day_of

    same = {
        (outcome.path, tally.blobs[outcome.path]): tally.stats[outcome.path]
        for outcome in batch
        if isinstance(outcome, Same) and tally.known.get(outcome.path) != tally.stats[outcome.path]
    }
    notes = [outcome for outcome in batch if isinstance(outcome, NoteRows)]
    unread = [outcome for outcome in batch if isinstance(outcome, Unread)]
    tally.findings += [
        Finding("unreadable", path, 0, f"cannot be read: {why}", fix) for path, why, fix in unread
    ]
    if not (same or notes or gone) and index.fact("looked"):
        return
    with index.change() as change:
        change.remember(looked="yes")
        change.remove(gone)
        # Known or not: another process may have taken it in since this one looked.
        change.remove(note.path for note in notes)
        change.touch(same)
        for note in notes:
            change.add(note, tally.stats[note.path], day_of(tally.walk.stats[note.path][1]))
            tally.count(note.path)
