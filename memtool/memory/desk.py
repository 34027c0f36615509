"""Agents' changes and a person's word -> kept, fixed, verified, taken back: how `Memory` reviews.

Each method hands its work to one room. Only a person decides; what is decided is written through the
door like an edit by hand, and all of it is committed at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from memtool.errors import Finding, PolicyError, UsageError

if TYPE_CHECKING:
    from memtool.commits.commit_report import CommitReport
    from memtool.door.accounts import Account
    from memtool.door.door import Done, Step
    from memtool.identity import Signature
    from memtool.note.anchor import Anchor
    from memtool.review.reviews import Change
    from memtool.vault import Vault


#: Changes that `check` looks into; a review looks into all.
_CHECKED = 500


class Queue(NamedTuple):
    """What waits for a look, by topic, and the newest revision there was when it was listed."""

    changes: list[Change]
    tip: str


class Desk:
    """What a person can do with what agents wrote."""

    vault: Vault
    who: Signature

    if TYPE_CHECKING:

        @property
        def reader(self) -> Callable[[str], bool] | None: ...

        def _account(self, by: Signature | None, patience_s: float = 10.0) -> Account: ...

        def _carry_out(
            self, make: Callable[[Signature], Sequence[Step]], by: Signature | None, dry_run: bool
        ) -> Done: ...

        def verify(self, anchor: Anchor | str, *, against: str) -> Anchor: ...

        def set(
            self, path: str, key: str, value: str | None, *, by: Signature | None, dry_run: bool
        ) -> Anchor: ...

    def to_review(self, *, since: str = "", writer: str = "") -> Queue:
        """Give what agents wrote since the last look, or since a revision, that nobody decided about."""
        from memtool.git import Git
        from memtool.review import review_log, reviews

        tip, decided = Git(self.vault.root).head().revision or "", review_log.load(self.vault).decided
        found = reviews.changes(self.vault, since=since, writer=writer, decided=decided)
        if may := self.reader:
            found = [one for one in found if all(may(note.path) for note in one.notes)]
        return Queue(found, tip)

    def review_findings(self) -> list[Finding]:
        """Name what agents wrote without what its type asks for, such as a reason, until it is reviewed."""
        from memtool import carrying
        from memtool.identity import Signature
        from memtool.review import fates

        found: dict[tuple[str, str], Finding] = {}
        some = self.to_review().changes[-_CHECKED:]
        for change, edits in zip(some, fates.edits(self.vault, some).values(), strict=True):
            by = Signature(change.writer, change.session, change.reason)
            there = [edit for edit in edits if (self.vault.root / edit.path).is_file()]
            written = [(edit.path, edit.after) for edit in there if edit.after is not None]
            fix = f"`memtool review` it: {change.id} by {change.writer}"
            for one in carrying.findings(written, by):
                found[one.path, one.code] = one._replace(fix=fix)
        return list(found.values())

    def keep_change(self, change: Change) -> None:
        """Say that a change is good as it is."""
        self._decide(change, "keep")

    def verify_change(self, change: Change, anchor: Anchor, *, against: str) -> Anchor:
        """Say that the lines of a change were checked against a source."""
        self._require_person()
        covered = self.verify(anchor, against=against)
        self._decide(change, "verify", [covered.path])
        return covered

    def revert_change(self, change: Change) -> None:
        """Take a change back; what others wrote since stays. ConflictError where they built on it."""
        from memtool.door import undoing

        self._require_person()
        past = undoing.find(self.vault, change.revision, "", self.who.writer)
        done = self._carry_out(lambda who: undoing.steps(self.vault, past), None, False)
        self._decide(change, "revert", [step.edit.path for step in done.steps])

    def fix_change(self, change: Change, path: str, read: bytes, text: bytes) -> bool:
        """Put what a person made of a note in its place, merged with what came meanwhile; tell if it differs.

        *read* is the note as the person got it.
        """
        from memtool.door import bases, door
        from memtool.vault import digest

        self._require_person()
        if text == read:
            return False
        bases.remember(self.vault, read)
        words = text.decode("utf-8", "surrogateescape")
        wanted = door.Wanted(path, "edit", lambda now: text, words, digest(read))
        done = self._carry_out(lambda who: [door.amend(self.vault, wanted, who)], None, False)
        self._decide(change, "fix", [step.edit.path for step in done.steps])
        return True

    def close_review(self, queue: Queue) -> CommitReport:
        """Commit what was decided, in one commit; without a decision there is none."""
        from memtool.review import review_log

        return review_log.close(self.vault, self.who, queue.tip, patience=self._account(None).patience)

    def _decide(self, change: Change, verdict: str, paths: Sequence[str] = ()) -> None:
        from memtool.review import review_log

        self._require_person()
        review_log.decide(self.vault, change.id, verdict, paths)

    def _require_person(self) -> None:
        if self.who.is_agent:
            raise PolicyError(
                f"{self.who.writer} may not decide about what agents wrote",
                why="only a person reviews",
                fix="ask a person to run `memtool review`",
            )

    # -- frozen and pinned ---------------------------------------------------------------------

    def freeze(
        self, path: str, *, undo: bool = False, by: Signature | None = None, dry_run: bool = False
    ) -> Anchor:
        """Let no agent change a note any more, or *undo* that; only a person may."""
        if (by or self.who).is_agent:
            raise PolicyError(
                f"{(by or self.who).writer} may not {'un' * undo}freeze a note",
                why="it keeps agents from writing, so only a person may",
                fix="ask a person to do it",
            )
        return self._mark(path, "frozen", undo, by, dry_run)

    def pin(
        self, path: str, *, undo: bool = False, by: Signature | None = None, dry_run: bool = False
    ) -> Anchor:
        """Let a note lead the catalog and never fade, or *undo* that."""
        return self._mark(path, "pinned", undo, by, dry_run)

    def _mark(self, path: str, key: str, undo: bool, by: Signature | None, dry_run: bool) -> Anchor:
        from memtool.note import note

        parsed = note.parse(self.vault.read(path))
        if undo and key not in parsed.meta:
            raise UsageError(f"{path} is not {key}", fix=f"there is nothing to undo; `{key}` is not set")
        return self.set(path, key, None if undo else "true", by=by, dry_run=dry_run)
