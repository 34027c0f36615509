"""A vault and its use -> kept small and true: the part of `Memory` that ages notes.

Each method makes a plan or carries one out; the rooms below decide. Nothing is ever deleted.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

from memtool.errors import GitError, UsageError

if TYPE_CHECKING:
    from memtool.config import Config
    from memtool.derived import Derived
    from memtool.door.accounts import Account
    from memtool.embedders.base import Matrix
    from memtool.identity import Signature
    from memtool.lifecycle.enacting import Result
    from memtool.lifecycle.lifecycle import Ground
    from memtool.lifecycle.plans import Plan
    from memtool.policy.policy import Policy
    from memtool.refresh.refresh import RefreshReport
    from memtool.vault import Vault


class Aging:
    """What time and use do to the notes of an open vault."""

    vault: Vault
    config: Config
    derived: Derived

    if TYPE_CHECKING:

        @property
        def policy(self) -> Policy: ...

        def refresh(self) -> RefreshReport: ...

        def move(self, path: str, to: str, *, by: Signature | None, dry_run: bool) -> str: ...

        def _account(self, by: Signature | None, patience_s: float = 10.0) -> Account: ...

    def lifecycle(self, *, below: float | None = None, now: str = "") -> Plan:
        """Plan what to restore, merge and archive, and keep the plan; changes no note.

        *below*: the strength under which a note is faded. *now* is the ISO day that counts as today.
        """
        from memtool.lifecycle import lifecycle, plans

        moment = _moment(now)
        ground = self._ground(moment)
        plan = lifecycle.plan(ground._replace(below=lifecycle.FADED if below is None else below), moment)
        plans.save(self.vault, plan)
        return plan

    def fold(
        self,
        *,
        older_than: int = 90,
        chat: bool = False,
        untyped: bool = False,
        archive: bool = True,
        now: str = "",
    ) -> Plan:
        """Plan notes that each sum up old episodes of one topic and time, and keep the plan.

        *older_than* days. *chat* lets the configured model write the lines. *untyped* takes notes named for
        their day, too. *archive* puts cold sources into the archive.
        """
        from memtool import llm
        from memtool.lifecycle import episodes, plans

        moment = _moment(now)
        model = llm.open_chat(self.config) if chat else None
        if chat and model is None:
            raise UsageError("there is no chat model", fix=llm.HOW_TO)
        wish = episodes.Wish(older_than, untyped, archive)
        plan = episodes.plan(self._ground(moment), wish, moment, model)
        plans.save(self.vault, plan)
        return plan

    def enact(
        self, digest: str, *, kind: str = "lifecycle", accept: bool = False, session: str = ""
    ) -> list[Result]:
        """Carry out the plan named by *digest*, each step one commit by `agent/memtool` in one session.

        What changed since it was made is left out. Raises UsageError where most would be archived and
        *accept* is False, GitError where nothing could be undone afterwards.
        """
        from memtool.lifecycle import lifecycle, plans
        from memtool.lifecycle.enacting import Enacting

        plan = plans.load(self.vault, digest, kind)
        self._must_be_undoable()
        if not accept and lifecycle.is_loss(plan):
            what = f"{plan.moved} of {plan.notes} notes would be archived at once; nothing was done"
            raise UsageError(what, fix="look at the plan, then add `--accept`")
        account = self._account(None)
        session = session or session_of(plan)
        enacting = Enacting(self.vault, plan, account, session=session, ignore=self.config.ignore)
        results = list(enacting.run())
        self.refresh()
        return results

    def restore(self, path: str, *, to: str = "", by: Signature | None = None, dry_run: bool = False) -> str:
        """Take a note out of the archive, to where it was before or *to* another place; gives its path.

        *path* is where it lies in the archive, or where it was before.
        """
        from memtool.lifecycle import aged

        path = aged.resolve(self.vault, path)
        if not aged.is_archived(path):
            raise UsageError(f"{path} is not archived", fix="name it as `memtool search --archived` does")
        return self.move(path, to or aged.origin(path), by=by, dry_run=dry_run)

    def archived(self) -> int:
        """Count the notes in the archive, as they were last indexed."""
        counted = "SELECT count(*) FROM files WHERE path >= 'archive/' AND path < 'archive0'"
        return int(self.derived.index.db.execute(counted).fetchone()[0])

    # -- what plans are made from ------------------------------------------------------------

    def _ground(self, moment: float) -> Ground:
        from memtool.lifecycle import aged, lifecycle
        from memtool.usage import usage

        self.refresh()
        today = datetime.fromtimestamp(moment, UTC).date()
        notes = list(aged.survey(self.vault, usage.counts(self.vault), today, ignore=self.config.ignore))
        opened: dict[str, int] = {}
        since = moment - lifecycle.WANTED_DAYS * 86_400
        for event in usage.events(self.vault):
            if event.event == "opened" and event.when >= since:
                for path in {anchor.path for anchor in event.anchors}:
                    opened[path] = opened.get(path, 0) + 1
        return lifecycle.Ground(notes, today, self.policy, opened, self._vectors_of)

    def _vectors_of(self, paths: Collection[str]) -> Mapping[str, Matrix]:
        """Give the vectors of notes that have all of theirs; none where there is no embedder."""
        from memtool.errors import MemtoolError

        try:
            if self.derived.embedder is None or not self.derived.vectors.count:
                return {}
        except MemtoolError:
            return {}
        import numpy as np

        found: dict[str, Matrix] = {}
        index, wanted = self.derived.index, set(paths)
        rows = {file.path: index.rows_of(id) for id, file in index.files().items() if file.path in wanted}
        pieces: dict[int, list[bytes]] = {}
        for target in index.pieces_of([row for some in rows.values() for row in some]):
            if target.row is not None and target.kind != "front matter":
                pieces.setdefault(target.row, []).append(target.digest)
        for path, some in rows.items():
            digests = [digest for row in some for digest in pieces.get(row, ())]
            matrix = self.derived.vectors.get(digests) if digests else None
            if matrix is not None and np.isfinite(matrix).all():
                found[path] = matrix
        return found

    def _must_be_undoable(self) -> None:
        from memtool.git import Git

        problem = Git(self.vault.root).problem()
        if problem:
            why = f"no step could be undone: {problem.what}"
            raise GitError("nothing was done", why=why, fix=problem.fix or "run `git init` there")
        if not self.config.commit:
            why = "no step could be undone: `commit` is off"
            raise GitError("nothing was done", why=why, fix="set `commit = true`")


def session_of(plan: Plan) -> str:
    """Name the session in which a plan is carried out, unless somebody names another."""
    return f"{plan.kind}-{plan.digest[:12]}"


def _moment(now: str) -> float:
    """Give the moment that counts as now: the clock's, or the end of an ISO day."""
    if not now:
        return time.time()
    try:
        day = date.fromisoformat(now)
    except ValueError:
        raise UsageError(f"now is {now!r}", why="it is a day", fix="write it as 2026-04-01") from None
    return datetime(day.year, day.month, day.day, 23, 59, 59, tzinfo=UTC).timestamp()
