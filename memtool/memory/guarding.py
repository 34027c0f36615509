"""Who asks -> what they may see: the part of `Memory` that knows the rules.

Each method hands its work to `policy` or `gate`; people see everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from memtool.errors import Finding

if TYPE_CHECKING:
    from memtool.config import Config
    from memtool.identity import Signature
    from memtool.index.index import Index
    from memtool.note.anchor import Anchor
    from memtool.policy.policy import Policy
    from memtool.vault import Vault


class Guarding:
    """What an open vault shows to whom, and whom it asks before a secret is kept."""

    vault: Vault
    who: Signature
    config: Config

    if TYPE_CHECKING:

        @property
        def index(self) -> Index: ...

    @property
    def policy(self) -> Policy:
        """The rules as they stand now."""
        from memtool.policy.policy import Policy

        return Policy.load(self.vault)

    @property
    def reader(self) -> Callable[[str], bool] | None:
        """Tell of a path whether who asks may read it; None when everything may be read."""
        if not self.who.is_agent or not (policy := self.policy).isolates:
            return None
        return lambda path: policy.may_read(self.who.writer, path)

    def may_read(self, path: str) -> bool:
        return self.reader is None or self.reader(path)

    def require_read(self, path: str) -> None:
        """Raise PolicyError where who asks may not read *path*, whether or not there is such a note."""
        if self.who.is_agent and (policy := self.policy).isolates:
            from memtool.policy import gate

            for name in dict.fromkeys((path, self._real(path))):
                decision = policy.decide(self.who.writer, "read", name)
                if not decision.allowed:
                    raise gate.refusal(decision, self.who.writer, "read", path)

    def read(self, path: str) -> bytes:
        """Give a note's bytes; a catalog page as it is for who asks, who may see more or less than others."""
        if self.reader is None or not (path == "MEMORY.md" or path.startswith("MEMORY/")):
            return self.vault.read(path)
        from memtool.catalog import cataloguing

        most = (self.config.catalog_lines, self.config.catalog_bytes)
        return cataloguing.page(self.vault, self.index, path, self.reader, most).encode(
            "utf-8", "surrogateescape"
        )

    def _real(self, path: str) -> str:
        """Give the path that *path* leads to, where it is a link."""
        from memtool.errors import PathError

        try:
            return self.vault.resolve(path)
        except PathError:
            return path

    def visible(self, findings: Iterable[Finding]) -> list[Finding]:
        """Leave out findings about notes that who asks may not read."""
        return [finding for finding in findings if self.may_read(finding.path)]

    def allow_secret(self, anchor: Anchor | str, by: Signature) -> None:
        """Let the secret in one line of a note be committed; *by* is a person who says why."""
        from memtool.note.anchor import Anchor
        from memtool.policy import gate

        anchor = Anchor.parse(anchor) if isinstance(anchor, str) else anchor
        gate.allow(self.vault, anchor.path, anchor.start, by)

    def guard_findings(self, *, deep: bool) -> list[Finding]:
        """Name what is broken in the rules, what awaits review, and likely secrets that wait for a commit.

        *deep* looks for secrets in every note, committed or not.
        """
        from memtool.policy import gate
        from memtool.review import reviews

        policy = self.policy
        found = [
            *policy.broken,
            *(reviews.findings(self.vault) if any(rule.review for rule in policy.rules) else ()),
        ]
        if not deep:
            return [*found, *gate.uncommitted(self.vault)]
        return [*found, *gate.standing(self.vault, sorted(file.path for file in self.index.files().values()))]
