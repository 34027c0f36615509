"""A folder -> an open `Memory`: the rooms joined, the public API.

Each method hands its work to one room and the result to the next. What is decided is decided
in the rooms; this one only knows who must be asked in which order.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from memtool import config as configuration
from memtool import hook_log, repository
from memtool.config import Config
from memtool.derived import Derived
from memtool.embedders import take_embedder
from memtool.errors import Finding, NoteError, UsageError
from memtool.identity import HUMAN, Signature, identify
from memtool.index.index import Index
from memtool.memory.aging import Aging
from memtool.memory.asking import Asking
from memtool.memory.attending import Attending
from memtool.memory.conflicting import Conflicting
from memtool.memory.desk import Desk
from memtool.memory.following import Following
from memtool.memory.guarding import Guarding
from memtool.memory.keeping import Keeping
from memtool.memory.linking import Linking
from memtool.memory.recording import Recording
from memtool.memory.remembering import Remembering
from memtool.memory.tracing import Tracing
from memtool.memory.verifying import Verifying
from memtool.memory.writing import Shown, Writing
from memtool.note.anchor import Anchor
from memtool.refresh import refresh as refreshing
from memtool.refresh.refresh import RefreshReport
from memtool.repository import Head
from memtool.search import coverage as covering
from memtool.vault import Stat, Vault

if TYPE_CHECKING:
    from memtool.calibration import Calibration
    from memtool.catalog.cataloguing import CatalogReport
    from memtool.checks.checks import Status
    from memtool.embedders.base import Embedder
    from memtool.past.past import Past
    from memtool.vectors.vectors import Vectors


class Memory(
    Asking,
    Writing,
    Keeping,
    Linking,
    Following,
    Recording,
    Attending,
    Remembering,
    Guarding,
    Verifying,
    Aging,
    Conflicting,
    Desk,
    Tracing,
):
    """An open vault: search it, add to it, ask what state it is in. Usable with ``with``."""

    def __init__(
        self,
        vault: Vault,
        config: Config,
        *,
        embedder: Embedder | Literal["config"] | None = "config",
        who: Signature = HUMAN,
    ) -> None:
        #: In whose name this vault is open: who asks, and who signs what no call signs otherwise.
        self.who = who
        self.vault, self.config = vault, config
        self.derived = Derived(vault, config, embedder)
        self._past: Past | None = None
        #: How a search looks whether something changed; who is told of changes may know without looking.
        self.look: Callable[[], RefreshReport] = self.refresh

    @classmethod
    def open(
        cls,
        folder: str | Path | None = None,
        *,
        embedder: Embedder | Callable[..., Any] | str | None = None,
        environment: Mapping[str, str] | None = None,
        writer: str = "",
        session: str = "",
    ) -> Memory:
        """Open the vault at *folder*; None looks for it as the command line does.

        *embedder* None takes what the configuration names (the offline model by default); it may be
        a name, an embedder, or a function from texts to vectors. *writer* and *session* "" are what
        the environment says, else a person. Raises VaultError when there is no vault.
        """
        environment = os.environ if environment is None else environment
        vault = Vault.find(folder, environment=environment)
        config = configuration.load(vault.root, environment=environment)
        who = identify(writer, session, environment)
        return cls(vault, config, embedder=take_embedder(embedder), who=who)

    def close(self) -> None:
        if self._past:
            self._past.close()
        self.derived.close()

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # -- the rooms ---------------------------------------------------------------------------

    @property
    def index(self) -> Index:
        return self.derived.index

    @property
    def embedder(self) -> Embedder | None:
        return self.derived.embedder

    @property
    def vectors(self) -> Vectors:
        return self.derived.vectors

    @property
    def past(self) -> Past:
        """The vault's past: its history, who wrote which line, and answers as of a moment."""
        if self._past is None:
            from memtool.past.past import Past

            self._past = Past(self.derived, self.require_read)
        return self._past

    # -- bringing up to date -----------------------------------------------------------------

    def refresh(
        self,
        *,
        accept_loss: bool = False,
        hold: Callable[[str, Stat], bool] | None = None,
        progress: Callable[[Iterable[object], int], Iterable[object]] | None = None,
    ) -> RefreshReport:
        """Bring the words up to date with the vault; costs what changed."""
        config = self.config
        report = self.derived.mended(
            lambda: refreshing.refresh(
                self.vault,
                self.index,
                limit=config.chunk_characters,
                wide_limit=config.chunk_wide_characters,
                ignore=config.ignore,
                accept_loss=accept_loss,
                hold=hold,
                progress=progress,
            )
        )
        if report.touched:
            self._record_watches()
        return report

    def embed(
        self,
        *,
        most: int | None = None,
        again: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> int:
        """Embed texts without a vector, at most *most*; give how many. *again* retries unusable ones."""
        return self.derived.embed(most=most, again=again, progress=progress)

    def coverage(self) -> covering.Coverage:
        """Tell how much of the vault the vectors cover."""
        return self.derived.coverage()

    def rebuild(self) -> None:
        """Empty the index; the next refresh makes it again, and vectors are kept by their text."""
        self.derived.clear_index()

    def take_remarks(self) -> tuple[str, ...]:
        """Give what happened on the way that a person should know, each thing once."""
        return self.derived.take_remarks()

    # -- asking ------------------------------------------------------------------------------

    def calibrate(self, *, keep: bool = True) -> Calibration:
        """Find out below which chance this vault's answers are noise; *keep* sets that line."""
        self.refresh()
        self.embed()
        return self.derived.calibrate(keep=keep)

    def show(self, anchor: Anchor | str, *, as_of: str = "") -> Shown:
        """Give the numbered lines of an anchor as they stand in the file now, or stood *as_of* then.

        ``digest`` names the version shown.

        Raises PathError when there is no such note, UsageError when it has no such lines.
        """
        from memtool.note import note

        anchor = Anchor.parse(anchor) if isinstance(anchor, str) else anchor
        self.require_read(anchor.path)
        data = b"" if as_of else self.read(anchor.path)
        lines = self.past.show(anchor, as_of) if as_of else note.parse(data).lines
        start, end = (anchor.start, anchor.end) if anchor.start else (1, len(lines))
        if start > len(lines) and anchor.start:
            raise UsageError(
                f"{anchor.path} has no line {start}",
                why=f"it has {len(lines)}",
                fix=f"run `memtool show {anchor.path}`",
            )
        return Shown(enumerate(lines[start - 1 : end], start), data)

    def status(self) -> Status:
        """Tell how the vault and what is worked out from it stand; changes nothing in the vault."""
        from memtool.checks import checks

        odd = self._own_findings()
        status = self.derived.mended(lambda: checks.status(self.vault, self.derived, self._head(), odd))
        return status._replace(findings=type(status.findings)(self.visible(status.findings)))

    def check(self, *, deep: bool = False) -> list[Finding]:
        """Look for everything that is odd; *deep* makes the index anew beside the live one and compares."""
        return self.visible(self.derived.mended(lambda: self._check(deep=deep)))

    def _check(self, *, deep: bool) -> list[Finding]:
        from memtool.checks import checks

        report, config = self.refresh(), self.config
        found = [*self._own_findings(), *report.findings, *self.index.findings(), *self._catalog_findings()]
        found += [*checks.unusable(self.derived), *self.guard_findings(deep=deep), *self.state_findings()]
        found += [*self._watch_findings(), *self.link_findings(), *self.review_findings()]
        if deep:
            found += checks.deep(
                self.vault,
                self.index,
                ignore=config.ignore,
                limit=config.chunk_characters,
                wide_limit=config.chunk_wide_characters,
                unread=report.unread,
            )
        return checks.order(found)

    def _head(self) -> Head:
        tree = repository.find_work_tree(self.vault.root)
        return (repository.read_head(tree / ".git") if tree else None) or Head(None, None)

    def _own_findings(self) -> list[Finding]:
        made_anew = [Finding("index-rebuilt", ".", 0, remark) for remark in self.take_remarks()]
        return [*self.config.findings, *self.vault.findings, *made_anew, *hook_log.told(self.vault.state)]

    # -- keeping -----------------------------------------------------------------------------

    def catalog(self, *, write: bool = True, refresh: bool = True) -> CatalogReport:
        """Make ``MEMORY.md`` and its sub-catalogs; *write* False only tells what would change."""
        from memtool.catalog import cataloguing

        if refresh:
            self.refresh()
        return self.derived.mended(
            lambda: cataloguing.make(
                self.vault,
                self.index,
                max_lines=self.config.catalog_lines,
                max_bytes=self.config.catalog_bytes,
                write=write,
                may_list=self.policy.open_path(),
            )
        )

    def _catalog_findings(self) -> list[Finding]:
        try:
            return list(self.catalog(write=False).findings)
        except NoteError as error:
            return [Finding("catalog-unreadable", "MEMORY.md", 0, error.what, error.fix)]
