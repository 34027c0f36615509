"""Lines, values, a vault -> what became of them: the half of `Memory` that follows things through time.

Split off for its length only; each method hands its work to one room.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from memtool.note.anchor import Anchor

if TYPE_CHECKING:
    from memtool.catalog.cataloguing import CatalogReport
    from memtool.checks.checks import Status
    from memtool.checks.doctor import Diagnosis
    from memtool.config import Config
    from memtool.embedders.base import Embedder
    from memtool.errors import Finding
    from memtool.facts.facts import Facts
    from memtool.resolve.resolve import Resolution
    from memtool.search.coverage import Coverage
    from memtool.vault import Vault


class Following:
    """What can be asked about lines, values and the vault itself over time."""

    vault: Vault
    config: Config

    if TYPE_CHECKING:

        @property
        def embedder(self) -> Embedder | None: ...

        def status(self) -> Status: ...

        def require_read(self, path: str) -> None: ...

        def check(self, *, deep: bool = False) -> list[Finding]: ...

        def coverage(self) -> Coverage: ...

        def catalog(self, *, write: bool = True, refresh: bool = True) -> CatalogReport: ...

    def cite(self, anchor: Anchor | str) -> Anchor:
        """Pin an anchor to what its lines say now, so that it can be resolved later."""
        from memtool.resolve import resolve

        anchor = Anchor.parse(anchor) if isinstance(anchor, str) else anchor
        self.require_read(anchor.path)
        return resolve.cite(self.vault, anchor)

    def resolve(self, pinned: Anchor | str) -> Resolution:
        """Tell what became of pinned lines: exact, moved, edited or gone, and by whom."""
        from memtool.resolve import resolve

        pinned = Anchor.parse(pinned) if isinstance(pinned, str) else pinned
        self.require_read(pinned.path)
        found = resolve.resolve(self.vault, pinned, ignore=self.config.ignore)
        if found.anchor:
            self.require_read(found.anchor.path)
        return found

    def facts(self, path: str, *, key: str = "", as_of: str = "") -> Facts:
        """Tell which values of a note stood from when to when; *key* "" is all, *as_of* "" is all of time."""
        from memtool.facts import facts

        self.require_read(path)
        return facts.facts(self.vault, path, key=key, as_of=as_of)

    def doctor(self, *, now: float | None = None) -> Diagnosis:
        """Look for every odd state, say what it means and what mends it. *now* None asks the clock."""
        from memtool.checks import doctor

        patient = doctor.Patient(
            self.vault,
            status=self.status(),
            coverage=self.coverage,
            check=self.check,
            catalog=lambda: self.catalog(write=False),
            probe=self._probe,
            ignore=self.config.ignore,
            now=time.time() if now is None else now,
        )
        return doctor.examine(patient)

    def _probe(self) -> None:
        if self.embedder is not None:
            self.embedder.embed(["Is anybody there?"], kind="query")
