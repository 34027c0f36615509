"""Changed notes -> commits: the part of `Memory` that keeps.

Split from the asking part for its length only; its method hands its work to one room.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memtool.commits.commit_report import CommitReport
    from memtool.config import Config
    from memtool.door.accounts import Account
    from memtool.identity import Signature
    from memtool.index.index import Index
    from memtool.refresh.refresh import RefreshReport
    from memtool.vault import Vault


class Keeping:
    """What can be done to the notes of an open vault."""

    vault: Vault
    config: Config
    who: Signature

    if TYPE_CHECKING:

        @property
        def index(self) -> Index: ...

        def refresh(self) -> RefreshReport: ...

        def _account(self, by: Signature | None, patience_s: float = 10.0) -> Account: ...

    def commit(
        self,
        paths: Collection[str] | None = None,
        *,
        by: Signature | None = None,
        again: bool = False,
        accept_loss: bool = False,
        quiet_time_s: float = 0.0,
        patience_s: float = 10.0,
        dry_run: bool = False,
    ) -> CommitReport:
        """Commit changed notes, all when *paths* is None; what stays behind is told, nothing is forced.

        *by* None is a person. *again* asks a hook once more about notes it refused as they stand.
        Notes touched within *quiet_time_s* wait. *dry_run* only tells what would be committed.
        """
        from memtool.commits import commits, rehearsal
        from memtool.door import accounts
        from memtool.identity import HUMAN, signature

        self.refresh()
        known = {file.path: file.blob for file in self.index.files().values()}
        by = signature(*(by or HUMAN))
        ask = commits.Ask(paths, by, known, self.config.ignore, again, accept_loss, quiet_time_s)
        patience = self._account(by, patience_s).patience
        if dry_run:
            return rehearsal.rehearse(self.vault, ask, patience=patience)
        accounts.settle(self.vault, patience)
        return commits.keep(self.vault, ask, patience=patience)
