"""Changed notes of a vault -> the commits that would be made of them now, with their whole messages.

Finds out what may be committed as the real thing does, and then makes nothing: no commit, no note of
what was refused. Only git and its hooks can refuse what this promises.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memtool.commits import commits
from memtool.commits.commit_message import Edit, Signature, message
from memtool.commits.commit_report import Commit, CommitReport
from memtool.commits.commits import Ask
from memtool.git import Git
from memtool.policy import gate
from memtool.staging import Patience
from memtool.vault import Vault


def rehearse(vault: Vault, ask: Ask, *, patience: Patience) -> CommitReport:
    """Tell what `commits.keep` would commit; the commits have no revision."""
    return commits.keep(vault, ask, patience=patience, turn=_Rehearsal)


class _Rehearsal(commits.Round):
    def __init__(self, vault: Vault, git: Git, ask: Ask, patience: Patience) -> None:
        super().__init__(vault, git, ask, patience)
        self.ledger = self.ledger._replace(begun=("", ()))

    def _commit(self, edits: Sequence[Edit], states: Mapping[str, str], signed: Signature) -> None:
        words = message(edits, signed, gate.trailers(self.vault, edits, signed))
        paths = tuple(edit.path for edit in edits)
        self.commits.append(Commit("", words.partition("\n")[0], signed.writer, paths, words))

    def _forget_what_is_settled(self, states: Mapping[str, str]) -> None:
        """Forget nothing: nothing was settled."""
