"""A plan -> its steps carried out through the door, each a commit of its own, and what became of each.

Every step is worked out anew when its turn comes: from the very bytes it was planned from, else it is
left out and told of. What an earlier step of the same plan did to a note is no reason to leave it out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from memtool.commits.commit_message import Edit
from memtool.door import door, moving
from memtool.door.accounts import Account
from memtool.door.door import Done
from memtool.errors import ConflictError, Finding, MemtoolError
from memtool.git import Git
from memtool.identity import Signature
from memtool.lifecycle import folded, gleaned, many, merged
from memtool.lifecycle.aged import aged
from memtool.lifecycle.lifecycle import WRITER
from memtool.lifecycle.plans import Plan, Source, Step
from memtool.links import relocate
from memtool.links.links import bare
from memtool.links.surroundings import Surroundings
from memtool.note import note
from memtool.usage import usage
from memtool.usage.usage import Use
from memtool.vault import Vault, digest

#: Works out a step of one verb: the notes it changes, before and after.
Way = Callable[["Enacting", Step], Sequence[door.Step]]


class Result(NamedTuple):
    """What became of one step: the commit that was made, "" where none was, or why it was left out."""

    step: Step
    revision: str = ""
    finding: Finding | None = None


class Enacting:
    """One plan being carried out."""

    def __init__(
        self, vault: Vault, plan: Plan, account: Account, *, session: str, ignore: Sequence[str] = ()
    ) -> None:
        self.vault, self.plan, self.account = vault, plan, account
        self.session, self.ignore = session, ignore
        self.known = Surroundings(vault, ignore)
        self.places: dict[str, Source] = {}  # by the planned path: where a note of the plan is by now
        self.names: dict[str, str] = {}  # and back
        self.today = datetime.fromtimestamp(plan.made, UTC).date()
        self.uses = usage.counts(vault)
        # What a person has staged is theirs to commit, so a step on it would be no commit.
        self.staged = {path for path, state in Git(vault.root).states().items() if state[0] not in " ?"}

    def run(self) -> Iterator[Result]:
        """Carry out all steps in order."""
        changes = [(self._signature(step), self._making(step)) for step in self.plan.steps]
        outcomes = many.carry_out(self.vault, changes, self.account, written=self._written)
        for step, outcome in zip(self.plan.steps, outcomes, strict=True):
            if isinstance(outcome, MemtoolError):
                told = Finding(
                    f"skipped-{outcome.code}", step.path, 0, outcome.what, outcome.why or outcome.fix
                )
                yield Result(step, "", told)
            else:
                made = outcome.report.commits if outcome.report else ()
                left = next(iter(outcome.report.findings), None) if outcome.report else None
                yield Result(step, made[-1].revision if made else "", left if not made else None)

    def _signature(self, step: Step) -> Signature:
        return Signature(WRITER, self.session, f"{step.verb}: {step.reason}"[:500])

    def _making(self, step: Step) -> Callable[[Signature], Sequence[door.Step]]:
        def make(_: Signature) -> Sequence[door.Step]:
            for source in step.sources:
                self.read(source)
            self._must_be_unused(step)
            return WAYS[step.verb](self, step)

        return make

    # -- where the notes are by now

    def place(self, path: str) -> str:
        """Tell where a note of the plan is by now."""
        return self.places[path].path if path in self.places else path

    def read(self, source: Source) -> bytes:
        """Read a note that must be as it was planned, or as an earlier step left it."""
        now = self.places.get(source.path, source)
        if now.path in self.staged:
            raise ConflictError(f"you have staged changes of {now.path}", why="they are yours to commit")
        data = self.vault.read(now.path)
        if digest(data) != now.digest:
            why = "what was seen is what is done, and this was not seen"
            fix = "make a new plan"
            raise ConflictError(f"{now.path} was changed since the plan was made", why=why, fix=fix)
        return data

    def _must_be_unused(self, step: Step) -> None:
        """Leave in its place what somebody used since the plan was made."""
        if step.verb == "archive" and "strength" in step.more:
            use = self.uses.get(step.path, Use())
            if use.last > self.plan.made and use.used:
                raise ConflictError(f"{step.path} was used since the plan was made", why="it is needed")

    def _written(self, done: Done) -> None:
        pairs = []
        for step in done.steps:
            edit = step.edit
            old = edit.old_path or (edit.path if edit.before is not None else "")
            pairs.append((old, edit.path))
            if old and edit.before is not None and edit.after is not None:
                self._follow(old, edit)
            if edit.old_path:
                moved = [usage.whole(edit.old_path), usage.whole(edit.path)]
                usage.record(self.vault, "moved", moved, environment={})
        self.known.changed(pairs)

    def _follow(self, old: str, edit: Edit) -> None:
        planned = self.names.pop(old, old)
        now = self.places.get(planned)
        if now is None or now.digest == digest(edit.before or b""):
            self.places[planned] = Source(edit.path, digest(edit.after or b""))
        self.names[edit.path] = planned


# How each is done


def _archive(work: Enacting, step: Step) -> Sequence[door.Step]:
    return moving.archive(work.vault, work.place(step.path), ignore=work.ignore, known=work.known)


def _restore(work: Enacting, step: Step) -> Sequence[door.Step]:
    return moving.move(work.vault, work.place(step.path), step.to, ignore=work.ignore, known=work.known)


def _merge(work: Enacting, step: Step) -> Sequence[door.Step]:
    """Write the lines of the other note into the kept one and put that other into the archive, in one."""
    kept, other = (work.place(source.path) for source in step.sources)
    moved = list(moving.archive(work.vault, other, ignore=work.ignore, known=work.known))
    first, followers = moved[0], moved[1:]
    edits = {one.edit.path: one.edit for one in followers}
    before = work.vault.read(kept)
    base = edits.pop(kept).after if kept in edits else before
    two = aged(other, first.edit.before or b"", Use(), work.today)
    joined = merged.joined(base or b"", two, first.edit.path)
    gone = note.set_key(first.edit.after or b"", "superseded_by", f"[[{bare(kept)}]]")
    verb = "append" if base == before else "edit"
    steps = [
        door.Step(verb, Edit(kept, before, joined)),
        door.Step("archive", first.edit._replace(after=gone)),
    ]
    return steps + [door.Step("edit", edit) for edit in edits.values()]


def _fold(work: Enacting, step: Step) -> Sequence[door.Step]:
    """Write a folded note from its originals, as they are by now and wherever they lie."""
    again, originals = step.sources[: step.more["again"]], step.sources[step.more["again"] :]
    by_path = {one.path: aged(work.place(one.path), work.read(one), Use(), work.today) for one in originals}
    path = work.place(step.path)
    fold = folded.Fold(
        path,
        str(step.more["title"]),
        tuple(map(str, step.more["tags"])),
        list(by_path.values()),
        list(gleaned.cited(step.more["lines"], by_path)),
        work.today.isoformat(),
    )
    if not again:
        relocate.target(work.vault, path, path)  # says so where the name was taken meanwhile
        return [door.Step("add", Edit(path, None, folded.render(fold)))]
    before = work.vault.read(path)
    return [door.Step("edit", Edit(path, before, folded.render(fold, before)))]


WAYS: dict[str, Way] = {"archive": _archive, "restore": _restore, "merge": _merge, "fold": _fold}
