"""A vault -> what is worked out from it: index, embedder and vectors, opened when first needed.

Knows that all of it can be made again from the notes, and does so when a part proves unusable.
Knows nothing of what is asked, but for turning a question into its vector.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

from memtool import config as configuration
from memtool.config import Config
from memtool.errors import EmbedderError, LockError, UsageError, VaultError
from memtool.index.index import Index
from memtool.index.index_file import DamagedError, discard, explain, inode, is_superseded
from memtool.search import coverage as covering
from memtool.search import search as searching
from memtool.search.query import Meaning, Query
from memtool.vault import Vault

if TYPE_CHECKING:
    from memtool.calibration import Calibration
    from memtool.embedders.base import Embedder
    from memtool.vectors.vectors import Vectors

T = TypeVar("T")


class Asked(NamedTuple):
    """A question as a vector, or None with remarks that say why; and the share that has vectors."""

    meaning: Meaning | None
    covered: float
    remarks: tuple[str, ...] = ()


class Derived:
    """What is worked out from one vault. Threads may share it: they wait for each other."""

    def __init__(self, vault: Vault, config: Config, embedder: Embedder | Literal["config"] | None) -> None:
        self.vault, self.config = vault, config
        self.index_file = vault.cache / "index.sqlite3"
        self._now: Derived | None = None  # the one of the vault as it is, when this is one of the past
        self._embedder = embedder
        self._index: Index | None = None
        self._inode = 0
        self._vectors: Vectors | None = None
        self._width: int | None = None
        self._remarks: list[str] = []
        self._lock = RLock()

    def past(self, file: Path) -> Derived:
        """Give one over another index of the same vault, with the same embedder."""
        past = Derived(self.vault, self.config, None)
        past.index_file, past._now = file, self
        return past

    def close(self) -> None:
        if self._index:
            self._index.close()
            self._index = None

    def remark(self, words: str) -> None:
        """Note what a reader of the next answer must be told."""
        self._remarks.append(words)

    def take_remarks(self) -> tuple[str, ...]:
        """Give what there is to tell, each thing once, and forget it."""
        if self._vectors:
            self._remarks += [finding.what for finding in self._vectors.findings]
            self._vectors.findings.clear()
        told = tuple(dict.fromkeys(self._remarks))
        self._remarks.clear()
        return told

    def is_superseded(self) -> bool:
        """Tell whether another version of memtool put its own index in the place of the open one."""
        return self._index is not None and is_superseded(self.index_file, self._inode)

    @property
    def index(self) -> Index:
        """The index; one that is damaged is made anew."""
        if self._index is None:
            self.vault.prepare(self.vault.cache)
            try:
                self._index = Index.open(self.index_file)
            except DamagedError as error:
                self._start_anew(error)
                self._index = Index.open(self.index_file)
            self._inode = inode(self.index_file)
        return self._index

    def mended(self, work: Callable[[], T]) -> T:
        """Do *work*; when the index proves damaged on the way, make it anew and do it once more."""
        with self._lock:
            if self._index and not self._index.db.in_transaction and inode(self.index_file) != self._inode:
                self.close()  # somebody deleted the cache, as anybody may, or made it anew
            try:
                return self._explained(work)
            except DamagedError as error:
                self._start_anew(error)
                return self._explained(work)

    @staticmethod
    def _explained(work: Callable[[], T]) -> T:
        try:
            return work()
        except sqlite3.Error as error:
            raise explain(error) from error

    def _start_anew(self, error: DamagedError) -> None:
        self.close()
        discard(self.index_file)
        self.remark(f"{error.what}; it is made anew from the notes")

    def clear_index(self) -> None:
        """Empty the index: the next refresh reads every note, and vectors are kept by their text."""

        def work() -> None:
            with self.index.change() as change:
                change.clear()

        self.mended(work)

    @property
    def embedder(self) -> Embedder | None:
        """The embedder; None when the vault is searched by words alone."""
        if self._now:
            return self._now.embedder
        if self._embedder == "config":
            from memtool.embedders import open_embedder

            self._embedder = open_embedder(
                self.config.embedder, **configuration.embedder_settings(self.config)
            )
        return self._embedder

    @property
    def embedder_name(self) -> str:
        """The name of the embedder, known without opening it."""
        return (
            self.config.embedder
            if self._embedder == "config"
            else self._embedder.name
            if self._embedder
            else "none"
        )

    @property
    def vectors(self) -> Vectors:
        """The vectors of the embedder; raises UsageError when there is none."""
        return self._vectors or self._open_vectors(None)

    def _open_vectors(self, width: int | None) -> Vectors:
        from memtool.vectors.vectors import Vectors

        if self.embedder is None:
            why, fix = "the embedder is switched off", "set `embedder`, or search by words"
            raise UsageError("there are no vectors", why=why, fix=fix)
        if self._vectors:
            self._remarks += [finding.what for finding in self._vectors.findings]
        place, fingerprint = self.vault.cache / "vectors", self.embedder.fingerprint
        self._drop_links(place)
        self._vectors, self._width = Vectors.open(place, fingerprint, dimensions=width), width
        return self._vectors

    def _drop_links(self, place: Path) -> None:
        """Remove links: a vault's owner may lay some that lead out of it."""
        for link in [place, *(place.iterdir() if place.is_dir() and not place.is_symlink() else ())]:
            if link.is_symlink():
                link.unlink(missing_ok=True)
                self.remark(f"`{link.name}` among the vectors was a link; it was removed, not followed")

    def coverage(self) -> covering.Coverage:
        """Tell how much of the vault the vectors cover."""
        if self.embedder is None:
            return covering.Coverage(0, 0)
        fingerprint = self.embedder.fingerprint
        self.vectors.refresh()  # another process may have added some, or somebody deleted them
        coverage = self.mended(lambda: covering.measure(self.index, fingerprint, self.vectors.count))
        if self.index.fact("embedder") != self.embedder.name:
            with self.index.change() as change:
                change.remember(embedder=self.embedder.name)
        return coverage

    def embed(
        self,
        *,
        most: int | None = None,
        again: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> int:
        """Embed texts without a vector, at most *most*; give how many. *again* retries unusable ones."""
        embedder = self.embedder
        if embedder is None:
            return 0

        def work() -> int:
            self.coverage()
            if again:
                covering.retry(self.index, self.vectors)
            try:
                return covering.fill(self.index, embedder, self.vectors, most=most, progress=progress)
            finally:
                self.vectors.accept_probe(embedder.probe)

        done = self.mended(work)
        if done and self._now is None:
            self.mended(self._tidy)
        return done

    def _tidy(self) -> None:
        """Join what was added bit by bit; let vectors go that no text needs, once that is worth it."""
        from memtool.index import past_files

        self.vectors.join()
        cache, spare = self.vault.cache, self.vectors.count - 2 * self.index.count("embeds")
        if spare > 0 and spare > 2 * past_files.embeds(cache):
            # Within a change of the index: what another process embeds meanwhile is not taken for dead.
            with self.index.change() as change:
                self.vectors.compact(self.index.digests() | past_files.digests(cache))
                change.remember(vectors=str(self.vectors.count))

    def ask(self, question: str, *, most: int) -> Asked:
        """Make *question* a vector, after giving at most *most* missing texts theirs.

        Raises EmbedderError when the question gets none.
        """
        embedder = self.embedder
        if embedder is None:
            return Asked(None, 0.0)
        row = embedder.embed([question], kind="query")[0]
        if not len(row) or row[0] != row[0]:
            return Asked(None, 0.0, ("vectors took no part: the question gave no vector",))
        # Whoever answers now may not be who made the vectors, though the name is the same.
        if self._width != len(row):
            self._open_vectors(len(row))
        covered, remarks = self._catch_up(embedder, most)
        if not self.vectors.count:  # nothing to compare with: words answer as if there were no vectors
            return Asked(None, 0.0, remarks)
        return Asked(Meaning(row, self.vectors, embedder.calibration), covered, remarks)

    def calibrated(self, query: Query) -> Query:
        """Give *query* with the line that this vault was calibrated to, where it was."""
        if query.mode != "hybrid" or self.embedder is None:
            return query
        from memtool import calibration

        line = calibration.load(self.vault.state, self.embedder.fingerprint)
        return query if line is None else query._replace(least_chance=line)

    def calibrate(self, *, keep: bool) -> Calibration:
        """Ask the vault's own questions, and keep the line they give."""
        from memtool import calibration

        embedder = self.embedder
        if embedder is None:
            why, fix = "it is searched by words alone", "set `embedder`"
            raise UsageError("there is nothing to calibrate", why=why, fix=fix)

        def ask(question: str, without: int) -> float:
            meaning = self.ask(question, most=0).meaning
            return searching.search(self.index, Query(question, without=without), meaning).confidence

        files = [file for file in self.index.files().values() if file.title]
        found = self.mended(lambda: calibration.calibrate(files, ask))
        if keep:
            calibration.save(self.vault.prepare(self.vault.state), found, embedder.fingerprint)
        return found

    def _catch_up(self, embedder: Embedder, most: int) -> tuple[float, tuple[str, ...]]:
        why = ""
        try:
            self.vectors.accept_probe(embedder.probe)
            missing = self.coverage().missing
            if missing and most:
                # A vault that is far behind would make every search wait: it catches up a little.
                self.embed(most=most if missing <= most else most // 8)
        except (EmbedderError, LockError, VaultError) as error:
            why = f" ({error.what})"
        coverage = self.mended(lambda: covering.last_known(self.index))
        fix = "asking again embeds more of them" if self._now else "run `memtool index`"
        told = f"{coverage.missing} texts have no vector yet{why}: {fix}"
        return coverage.share, (told,) if coverage.missing else ()
