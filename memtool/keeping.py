"""Text, keys, names -> changed notes and commits: the half of `Memory` that keeps.

Split from the asking half for its length only; each method hands its work to one room.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from memtool.anchor import Anchor
from memtool.errors import ConflictError, UsageError

if TYPE_CHECKING:
    from memtool.accounts import Account
    from memtool.commit_message import Signature
    from memtool.commits import CommitReport
    from memtool.config import Config
    from memtool.index import Index
    from memtool.refresh import RefreshReport
    from memtool.vault import Vault


#: Times that a key is set anew when another change came first.
SET_TURNS = 10


class Keeping:
    """What can be done to the notes of an open vault."""

    vault: Vault
    config: Config
    committed: CommitReport | None = None  # what came of committing the last signed change

    if TYPE_CHECKING:

        @property
        def index(self) -> Index: ...

        def refresh(self) -> RefreshReport: ...

        def show(self, anchor: Anchor | str) -> list[tuple[int, str]]: ...

    def add(
        self,
        text: str,
        *,
        title: str = "",
        folder: str = "",
        meta: Mapping[str, str | Sequence[str]] | None = None,
        now: datetime | None = None,
        by: Signature | None = None,
    ) -> Anchor:
        """Write a new note and give its anchor; the next search finds it.

        *title* "" takes the first line of *text*. *now* None asks the clock. *by* commits it at once
        in that name; ``committed`` then tells what came of it.
        """
        from memtool import accounts

        if not text.strip():
            raise UsageError("there is no text to add", fix="give the note some text")
        account, now = self._account(by), now or datetime.now(UTC)
        path, self.committed = accounts.add(
            self.vault, text, account, title=title, folder=folder, meta=meta, now=now
        )
        return Anchor(path, 1, len(self.show(path)))

    def set(self, path: str, key: str, value: str | Sequence[str], *, by: Signature | None = None) -> Anchor:
        """Change one key of a note's front matter and no other byte; gives the lines of that key."""
        from memtool import accounts, note

        for turn in range(SET_TURNS):
            try:
                data, self.committed = accounts.set_key(self.vault, path, key, value, self._account(by))
                break
            except ConflictError:
                # Another key was set meanwhile: this one is set in what the note is now.
                if turn == SET_TURNS - 1:
                    raise
        return Anchor(path, *note.parse(data).spans.get(key, (1, 1)))

    def commit(
        self,
        paths: Collection[str] | None = None,
        *,
        by: Signature | None = None,
        again: bool = False,
        accept_loss: bool = False,
        quiet_time_s: float = 0.0,
        patience_s: float = 10.0,
    ) -> CommitReport:
        """Commit changed notes, all when *paths* is None; what stays behind is told, nothing is forced.

        *by* None is a person. *again* asks a hook once more about notes it refused as they stand.
        Notes touched within *quiet_time_s* wait.
        """
        from memtool import commits
        from memtool.commit_message import HUMAN, signature

        self.refresh()
        known = {file.path: file.blob for file in self.index.files().values()}
        by = signature(*(by or HUMAN))
        ask = commits.Ask(paths, by, known, self.config.ignore, again, accept_loss, quiet_time_s)
        return commits.keep(self.vault, ask, patience=self._account(by, patience_s).patience)

    def _account(self, by: Signature | None, patience_s: float = 10.0) -> Account:
        from memtool import accounts, staging
        from memtool.commit_message import signature

        patience = staging.Patience(patience_s, time.sleep, time.time)
        return accounts.Account(signature(*by) if by else None, self.config.commit, patience)
