"""What came of committing -> a report: the commits made, what was left, and why.

Knows which findings are remarks only, and which pass by themselves.
"""

from __future__ import annotations

from typing import NamedTuple

from memtool import git_state
from memtool.errors import Finding

#: Findings of a commit that was made all the same.
REMARKS = ("git-detached", "git-hook-rewrote")
AGAIN_S = 15.0  # until git is asked again whether what stood in the way is gone
#: Findings that go without a change to any note: a merge ends, a lock is let go, an identity is set.
PASSING = git_state.CODES | {"git-lock", "commit-busy", "git-unmerged", "git-identity", "git-signing"}


class Commit(NamedTuple):
    """One commit that was made."""

    revision: str
    subject: str
    writer: str
    paths: tuple[str, ...]
    message: str = ""


class CommitReport(NamedTuple):
    """What was committed, which changed notes were left, and why; ``waiting`` are still being edited."""

    commits: tuple[Commit, ...] = ()
    left: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    waiting: tuple[str, ...] = ()
    wait_s: float = 0.0

    @property
    def complete(self) -> bool:
        return not self.left and all(finding.code in REMARKS for finding in self.findings)

    @property
    def again_s(self) -> float:
        """Tell when trying once more may help, though no note changes until then; 0 for never."""
        passing = any(finding.code in PASSING for finding in self.findings)
        return max(self.wait_s, AGAIN_S if passing else 0.0)
