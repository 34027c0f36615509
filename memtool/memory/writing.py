"""Text, keys, names -> notes changed through the door: the part of `Memory` that writes.

Each method says what is wanted of which note, and the door does it: signed, compared, committed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from memtool.errors import Finding, UsageError
from memtool.note.anchor import Anchor

if TYPE_CHECKING:
    from memtool.answer.answer import Answer
    from memtool.commits.commit_report import CommitReport
    from memtool.config import Config
    from memtool.derived import Derived
    from memtool.door.accounts import Account
    from memtool.door.adding import Draft, Twin
    from memtool.door.door import Done, Step, Wanted
    from memtool.identity import Signature
    from memtool.refresh.refresh import RefreshReport
    from memtool.search.query import Mode
    from memtool.vault import Vault


class Shown(list[tuple[int, str]]):
    """Numbered lines of a note, and the bytes they are from; none where they are from the past."""

    def __init__(self, lines: Iterable[tuple[int, str]], data: bytes) -> None:
        super().__init__(lines)
        self.data = data

    @property
    def digest(self) -> str:
        """The version of the note, to be handed back as *if_digest*."""
        from memtool.vault import digest

        return digest(self.data)


class Writing:
    """What can be written in an open vault.

    *by* signs a change, which then is committed at once; None is who opened the vault, and when that is
    a person nothing is signed, as in an editor. *if_digest* is the version the change was made for.
    *dry_run* writes nothing: ``planned`` then is the change as a diff.
    """

    vault: Vault
    config: Config
    derived: Derived
    who: Signature
    committed: CommitReport | None = None  # what came of committing the last signed change
    planned: str = ""  # the last change as a unified diff
    allow_secrets: tuple[int, ...] = ()  # lines of the next notes whose secrets a person lets pass
    noticed: tuple[Finding, ...] = ()  # what the last change should know, such as a note that says the same

    if TYPE_CHECKING:

        def refresh(self) -> RefreshReport: ...

        def _contradictions(self, steps: Sequence[Step]) -> Iterator[Finding]: ...

        def search(
            self, question: str, *, mode: Mode, min_score: float, limit: int, trace: bool
        ) -> Answer: ...

    def add(
        self,
        text: str,
        *,
        title: str = "",
        folder: str = "",
        meta: Mapping[str, str | Sequence[str]] | None = None,
        now: datetime | None = None,
        by: Signature | None = None,
        dry_run: bool = False,
        alike: bool = False,
        merge: bool = False,
    ) -> Anchor:
        """Write a new note and give its anchor; the next search finds it.

        *title* "" takes the first line of *text*. *now* None asks the clock. *alike* looks whether a note
        says nearly the same, and tells in ``noticed``; *merge* then appends what is new to that note.
        """
        from memtool.door import adding

        if not text.strip():
            raise UsageError("there is no text to add", fix="give the note some text")
        created = (now or datetime.now(UTC)).date().isoformat()
        draft = adding.Draft(text, title, folder, meta or {}, created)
        self.noticed = tuple(adding.remarks(draft, self._signed(by)))
        if (alike or merge) and (twin := self._twin(draft)):
            if merge:
                return self._amend(adding.joined(twin.anchor.path, text), by, dry_run)
            self.noticed = (adding.told(twin), *self.noticed)
        done = self._carry_out(lambda who: [adding.step(self.vault, draft)], by, dry_run)
        edit = done.steps[0].edit
        return Anchor(edit.path, 1, adding.length(edit.after or b""))

    def _twin(self, draft: Draft) -> Twin | None:
        from memtool.door import adding

        def search(question: str) -> list[Anchor]:
            found = self.search(question, mode="lexical", min_score=-1, limit=5, trace=False)
            return [hit.anchor for hit in found]

        self.refresh()
        return adding.twin(self.derived, draft, search)

    def append(
        self,
        path: str,
        text: str,
        *,
        heading: str = "",
        if_digest: str = "",
        by: Signature | None = None,
        dry_run: bool = False,
    ) -> Anchor:
        """Put lines at the end of a note, or of what stands directly under *heading*; gives their anchor."""
        from memtool.door import amending

        return self._amend(amending.append(path, text, heading, if_digest), by, dry_run)

    def edit(
        self,
        anchor: Anchor | str,
        text: str,
        *,
        if_digest: str = "",
        by: Signature | None = None,
        dry_run: bool = False,
    ) -> Anchor:
        """Replace exactly the lines of *anchor*; "" takes them out. Gives where the new lines are.

        Pinned lines are followed where they moved and say the same. ConflictError when the same lines
        were changed meanwhile; the text is kept in a file that it names.
        """
        from memtool.door import amending

        anchor = Anchor.parse(anchor) if isinstance(anchor, str) else anchor
        signed = self._signed(by)
        return self._amend(amending.edit(self.vault, anchor, text, if_digest, signed), by, dry_run)

    def set(
        self,
        path: str,
        key: str,
        value: str | Sequence[str] | None,
        *,
        if_digest: str = "",
        by: Signature | None = None,
        dry_run: bool = False,
    ) -> Anchor:
        """Change one key of a note's front matter and no other byte; None takes it out.

        Gives the lines of that key.
        """
        from memtool.door import amending
        from memtool.note import note

        step = self._step(amending.set_key(path, key, value, if_digest), by, dry_run)
        return Anchor(step.edit.path, *note.parse(step.edit.after or b"").spans.get(key, (1, 1)))

    def move(
        self, path: str, to: str, *, if_digest: str = "", by: Signature | None = None, dry_run: bool = False
    ) -> str:
        """Give a note another path and let all links follow, in one commit; *to* may be a folder."""
        from memtool.door import moving

        ignore = self.config.ignore
        return self._moved(
            lambda who: moving.move(self.vault, path, to, if_digest=if_digest, ignore=ignore),
            path,
            by,
            dry_run,
        )

    def archive(
        self, path: str, *, if_digest: str = "", by: Signature | None = None, dry_run: bool = False
    ) -> str:
        """Move a note to ``archive/``, where it keeps its path; gives the new one."""
        from memtool.door import moving

        ignore = self.config.ignore
        return self._moved(
            lambda who: moving.archive(self.vault, path, if_digest=if_digest, ignore=ignore),
            path,
            by,
            dry_run,
        )

    def undo(
        self,
        revision: str = "",
        *,
        session: str = "",
        by: Signature | None = None,
        dry_run: bool = False,
    ) -> CommitReport:
        """Take back one change, or all of a *session*, in a commit; neither is the last by who asks.

        What others wrote since stays; where they changed the same lines nothing is undone and
        ConflictError says so.
        """
        from memtool.commits.commit_report import CommitReport
        from memtool.door import undoing

        signed, self.noticed = self._signed(by), ()
        undone = undoing.find(self.vault, revision, session, signed.writer)
        signed = signed._replace(reason=(signed.reason or undoing.reason(undone))[:500])
        done = self._carry_out(lambda who: undoing.steps(self.vault, undone), signed, dry_run)
        if not done.steps:
            raise UsageError(
                "there is nothing to undo: the notes are as they were before", fix="name another"
            )
        return self.committed or CommitReport()

    def digest(self, note: str | Shown) -> str:
        """Give the version of a note, to be handed back as *if_digest*; its text is kept for a while."""
        from memtool.door import bases

        return bases.remember(self.vault, note.data if isinstance(note, Shown) else self.vault.read(note))

    # -- the door ----------------------------------------------------------------------------

    def _amend(self, wanted: Wanted, by: Signature | None, dry_run: bool) -> Anchor:
        from memtool.door import amending

        edit = self._step(wanted, by, dry_run).edit
        return Anchor(edit.path, *amending.lines_of(edit.before or b"", edit.after or b""))

    def _step(self, wanted: Wanted, by: Signature | None, dry_run: bool) -> Step:
        from memtool.door import amending, door

        made: list[Step] = []

        def make(who: Signature) -> Sequence[Step]:
            made[:] = [door.amend(self.vault, wanted, who)]
            return made

        self.noticed = ()
        self._carry_out(make, by, dry_run)
        self.noticed = (*amending.spoilt(made[0].edit), *self.noticed)
        return made[0]

    def _moved(
        self, make: Callable[[Signature], list[Step]], path: str, by: Signature | None, dry_run: bool
    ) -> str:
        done = self._carry_out(make, by, dry_run)
        if not done.steps:
            return path
        edit = done.steps[0].edit
        if not dry_run:
            from memtool.usage import usage

            moved = [usage.whole(edit.old_path or path), usage.whole(edit.path)]
            usage.record(self.vault, "moved", moved, environment={})
        return edit.path

    def _carry_out(
        self, make: Callable[[Signature], Sequence[Step]], by: Signature | None, dry_run: bool
    ) -> Done:
        from memtool.door import door

        done = door.carry_out(self.vault, make, self._account(by), dry_run=dry_run)
        self.committed, self.planned = done.report, done.diff if dry_run else ""
        self.noticed = (*self.noticed, *self._lacking(done, by), *self._contradictions(done.steps))
        return done

    def _lacking(self, done: Done, by: Signature | None) -> list[Finding]:
        """Tell an agent what the rules of a note's type ask for."""
        from memtool import carrying

        written = [(step.edit.path, step.edit.after) for step in done.steps if step.edit.after is not None]
        return list(carrying.findings(written, self._account(by).by))

    def _signed(self, by: Signature | None) -> Signature:
        from memtool.identity import HUMAN

        return self._account(by).by or HUMAN

    def _account(self, by: Signature | None, patience_s: float = 10.0) -> Account:
        from memtool import staging
        from memtool.door import accounts
        from memtool.identity import overridden, signature

        by = overridden(self.who) if by is None else signature(*by)
        patience = staging.Patience(patience_s, time.sleep, time.time)
        return accounts.Account(by, self.config.commit, patience, self.allow_secrets)
