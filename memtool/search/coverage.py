"""Texts without a vector -> vectors: short texts that lead to a note first, newest note first.

Two rounds: once every note can be found by meaning, its chunks follow. What is done is kept, so
a run that was killed goes on where it stopped. Knows nothing of how a vector is made or used.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from memtool.chunks import passages
from memtool.index.index import Index

if TYPE_CHECKING:
    from memtool.embedders.base import Embedder, Matrix
    from memtool.vectors.vectors import Vectors

#: Texts handed to the embedder at once; it makes its own batches of them.
BATCH = 128

#: Notes planned in one change of the index.
PLANS = 100

#: A new segment is written at least this often, so little is lost when a run is killed.
SAVE_EVERY_S = 10.0


class Coverage(NamedTuple):
    """How much of the vault the vectors cover."""

    have: int
    want: int
    leads_missing: int = 0  # notes' own short texts among the missing
    notes_waiting: int = 0  # notes of which nobody knows yet what is to be embedded

    @property
    def missing(self) -> int:
        return self.want - self.have + self.notes_waiting

    @property
    def share(self) -> float:
        return self.have / (self.have + self.missing) if self.missing else 1.0


def measure(index: Index, fingerprint: str, kept: int) -> Coverage:
    """Tell the coverage for one embedder; *kept* is the number of vectors there are.

    When the embedder changed, or vectors went missing, everything is to do again (what is still
    there is not embedded twice).
    """
    before = index.fact("fingerprint"), int(index.fact("vectors") or 0)
    if before[0] != fingerprint or kept < before[1]:
        with index.change() as change:
            change.want_all_vectors()
            change.remember(fingerprint=fingerprint, vectors=str(kept))
    plan(index)
    return last_known(index)


def plan(index: Index) -> None:
    """Work out what is to be embedded of each note that is new since the last time."""
    waiting = index.unplanned()
    for at in range(0, len(waiting), PLANS):
        # Read within the change: another process may plan the same notes, or take them out.
        with index.change() as change:
            unplanned = set(index.unplanned())
            files = index.files([file for file in waiting[at : at + PLANS] if file in unplanned])
            chunks = {file: index.rows_of(file) for file in files}
            rows = index.rows([row for own in chunks.values() for row in own])
            for file, own in chunks.items():
                change.plan(file, passages.plan(files[file], [rows[row] for row in own]))


def last_known(index: Index) -> Coverage:
    """Tell the coverage as it was last measured, without opening any vectors."""
    missing, leads = index.missing()
    want = index.count("embeds")
    return Coverage(want - missing, want, leads, index.unplanned_count())


def fill(
    index: Index,
    embedder: Embedder,
    vectors: Vectors,
    *,
    most: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Embed what is missing, at most *most* texts; give how many were embedded.

    *progress* is told (done, of all). Raises EmbedderError as the embedder does; what was done
    until then is kept.
    """
    todo = index.missing_digests()
    new = vectors.missing(todo)
    _mark(index, set(todo) - set(new), vectors.count)
    new = new[:most] if most is not None else new
    finished = 0
    for batch in _saves(index, embedder, new):
        vectors.add(*batch)
        _mark(index, batch[0], vectors.count)
        finished += len(batch[0])
        if progress:
            progress(finished, len(new))
    return finished


def retry(index: Index, vectors: Vectors) -> None:
    """Want again the texts whose vector had no direction when they were last embedded."""
    unusable = vectors.unusable() & index.digests()
    if unusable:
        with index.change() as change:
            change.embedded(unusable, done=False)


def _mark(index: Index, digests: Collection[bytes], kept: int) -> None:
    if digests:
        with index.change() as change:
            change.embedded(digests)
            change.remember(vectors=str(kept))


def _saves(
    index: Index, embedder: Embedder, digests: Sequence[bytes]
) -> Iterator[tuple[list[bytes], Matrix]]:
    """Give runs of digests with their vectors, each worth a segment of its own."""
    import numpy as np

    keys: list[bytes] = []
    parts = []
    begun = time.monotonic()
    try:
        for at in range(0, len(digests), BATCH):
            batch = list(digests[at : at + BATCH])
            with index.still():
                texts = passages.texts(index, batch)
            # Another process may have taken notes out since they were listed.
            batch = [key for key in batch if key in texts]
            if not batch:
                continue
            parts.append(embedder.embed([texts[key] for key in batch], kind="passage"))
            keys += batch
            if time.monotonic() - begun > SAVE_EVERY_S:
                yield keys, np.concatenate(parts)
                keys, parts, begun = [], [], time.monotonic()
    except (Exception, KeyboardInterrupt):
        # An endpoint that fails half way, or a person who interrupts, keeps what was paid for.
        if keys:
            yield keys, np.concatenate(parts)
        raise
    if keys:
        yield keys, np.concatenate(parts)
