"""Changed notes of a vault -> commits that say who, what and why; or findings that say why not.

Edits by people are gathered until they have been quiet for a while; an agent's change is committed
under its own name. Nothing is ever forced: what git, a hook or a person keeps from being committed
stays on disk, and is told of.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from typing import NamedTuple

from memtool import git_state, names, staging
from memtool.catalog.catalog_page import is_generated
from memtool.commits import commit_ledger, commit_queue
from memtool.commits.commit_message import HUMAN, Edit, Signature, message
from memtool.commits.commit_report import Commit, CommitReport
from memtool.errors import Finding, GitError, LockError
from memtool.gathering import due, times, wait
from memtool.git import Git
from memtool.note import note
from memtool.policy import gate
from memtool.refresh.refresh import LOSS_COUNT, LOSS_SHARE
from memtool.vault import Vault, digest
from memtool.walk import matcher

_REFUSALS = 16  # of one round; until then a refused commit is tried in halves: one bad note stops no other
_WHICH_RULE = "run `git check-ignore -v` on it to see which rule says so"


class Ask(NamedTuple):
    """What is to be committed: *paths* None is every changed note, *signed* who changed those nobody signed.

    *known* names bytes on disk by path, for what git's stat check cannot see. *again* tries notes
    that a hook refused as they stand; *accept_loss* commits that most notes are gone. *quiet_time_s*
    lets notes wait that were touched more recently than that.
    """

    paths: Collection[str] | None = None
    signed: Signature = HUMAN
    known: Mapping[str, str] = {}
    ignore: Sequence[str] = ()
    again: bool = False
    accept_loss: bool = False
    quiet_time_s: float = 0.0
    trailers: Sequence[str] = ()


def keep(
    vault: Vault,
    ask: Ask,
    *,
    patience: staging.Patience,
    alone: bool = False,
    turn: type[Round] | None = None,
) -> CommitReport:
    """Commit the changed notes, as *turn* does; whatever stands in the way becomes a finding, never an error.

    *alone*: the caller is the only one that commits already.
    """
    git = Git(vault.root)
    try:
        if problem := git.problem() or git_state.under_way(git):
            return CommitReport(findings=(problem,))
        with nullcontext() if alone else commit_ledger.alone(vault, patience.seconds):
            return (turn or Round)(vault, git, ask, patience).run()
    except GitError as error:
        fix = error.fix or "run `git status` there and mend what it says"
        return CommitReport(findings=(Finding("git-failed", ".", 0, f"{error.what}: {error.why}", fix),))
    except LockError as error:
        return CommitReport(findings=(Finding("commit-busy", ".", 0, error.what, error.fix),))


def has_marks(data: bytes) -> bool:
    """Tell a note in which two versions were never brought together."""
    return b"<<<<<<<" in data and any(f.code == "merge-conflict" for f in note.parse(data).findings)


class Round:
    """One round of committing: what may be committed is found out, and committed writer by writer."""

    def __init__(self, vault: Vault, git: Git, ask: Ask, patience: staging.Patience) -> None:
        self.vault, self.git, self.ask, self.patience = vault, git, ask, patience
        self.ignored = matcher(ask.ignore)
        self.ledger = commit_ledger.load(vault)
        self.ledger.signed.update(commit_queue.signed(vault))  # changes that wait for their own commit
        self.commits, self.findings = list[Commit](), list[Finding]()
        self.left, self.refusals = list[str](), 0

    def run(self) -> CommitReport:
        if self.ledger.begun[1]:
            staging.finish(self.git, *self.ledger.begun)
        if found := git_state.unmerged(states := staging.differing(self.git, self.ask.known)):
            return CommitReport(findings=(found,))
        self._tell_strangers(states)
        ours = {path: state for path, state in sorted(states.items()) if self._is_asked_for(path)}
        ready, wait_s = self._quiet(ours)
        waiting = tuple(path for path in ours if path not in ready)
        edits = self._edits(
            {path: ours[path] for path in ours if path in ready and self._may_take(path, ours[path])}
        )
        if lost := self._loss(edits):
            self.findings.append(lost)
            self.left += [edit.path for edit in edits]
            edits = []
        for signed, some in self._by_writer(edits).items():
            if some := self._admitted(some, signed):
                self._commit(some, {edit.path: states[edit.path] for edit in some}, signed)
        if self.commits and (found := git_state.detached(self.git)):
            self.findings.append(found)
        self._forget_what_is_settled(states)
        return CommitReport(
            tuple(self.commits), tuple(sorted(self.left)), tuple(self.findings), waiting, wait_s
        )

    def _quiet(self, paths: Collection[str]) -> tuple[set[str], float]:
        """Pick what is quiet, and tell when more may be; the catalog goes with the notes it follows."""
        pages = {path for path in paths if is_generated(path)}
        now, quiet_s = self.patience.clock(), self.ask.quiet_time_s
        touched = times(self.vault.root, set(paths) - pages or pages, now)
        ready = set(due(touched, now, quiet_s))
        rest = {path: when for path, when in touched.items() if path not in ready}
        return (ready | pages if ready else ready), wait(rest, now, quiet_s)

    # -- what may be committed

    def _is_asked_for(self, path: str) -> bool:
        if self.ask.paths is not None and path not in self.ask.paths:
            return False
        parts = path.split("/")  # a rule may name the note or a folder above it
        above = ["/".join(parts[: number + 1]) for number in range(len(parts))]
        return names.is_path(path) and not any(map(self.ignored, above))

    def _may_take(self, path: str, state: str) -> bool:
        """Leave what a person has staged, cannot be seen, or is not whole."""
        if state[0] not in " ?":
            what = "you have staged changes of it, so it is left to you"
            return self._leave(path, "git-staged", what, "run `git commit` when you are ready")
        if state[1] not in "MDA?":
            return False
        try:
            data = self._read(path)
        except OSError as error:
            what = f"it cannot be read ({error.strerror}), so it is not committed"
            return self._leave(path, "unreadable", what, "give yourself permission to read it")
        if data is None:
            return True
        if names.is_conflict_copy(path, ()) or has_marks(data):
            what = "it holds two versions of one note, so it is not committed"
            return self._leave(path, "commit-conflict", what, "keep the right lines of both in one note")
        if not self.ask.again and self.ledger.held.get(path) == digest(data):
            self.left.append(path)  # told of when it was refused; it waits for its next change
            return False
        return True

    def _leave(self, path: str, code: str, what: str, fix: str) -> bool:
        self.findings.append(Finding(code, names.printable(path), 0, what, fix))
        self.left.append(path)
        return False

    def _read(self, path: str) -> bytes | None:
        """Read a note as it is on disk; None when it is gone, and only then."""
        try:
            return (self.vault.root / path).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _tell_strangers(self, states: Mapping[str, str]) -> None:
        """Say of named notes why git has nothing to commit: they are ignored, or another repository's."""
        if self.ask.paths is None:
            if not states and staging.ignored(self.git, ["."]):
                what = "git is told to ignore this whole vault, so nothing is committed"
                self.findings.append(Finding("git-ignored", ".", 0, what, _WHICH_RULE))
            return
        for path in self.ask.paths:
            there = path in states or os.path.lexists(self.vault.root / path)
            if not there or not names.is_path(path):
                self._leave(path, "path", "there is no such note", "name it as `memtool search` does")
        quiet = [path for path in self.ask.paths if path not in states and path not in self.left]
        tree = self.git.work_tree()
        other = {p for p in quiet if Git((self.vault.root / p).parent).work_tree() != tree}
        for path in staging.ignored(self.git, [path for path in quiet if path not in other]):
            what = "git is told to ignore it, so it is kept and not committed"
            self._leave(path, "git-ignored", what, _WHICH_RULE)
        for path in sorted(other):
            what = "it lies in another repository inside the vault, so it is not committed"
            self._leave(path, "git-elsewhere", what, "commit it there")

    def _edits(self, states: Mapping[str, str]) -> list[Edit]:
        before = staging.committed(self.git, [path for path, state in states.items() if state != "??"])
        # A path that git was only told of, without its bytes, is a new note all the same.
        old = {path: None if state == " A" else before.get(path) for path, state in states.items()}
        return [Edit(path, old[path], self._read(path)) for path in states]

    def _loss(self, edits: Sequence[Edit]) -> Finding | None:
        """Tell an unmounted drive or a wrong folder from notes that were deleted."""
        gone = sum(edit.after is None for edit in edits)
        new = sum(edit.before is None for edit in edits)
        if self.ask.accept_loss or gone < LOSS_COUNT or new >= gone / 2:
            return None
        tracked = sum(map(names.is_path, staging.tracked(self.git)))
        if gone <= LOSS_SHARE * tracked:
            return None
        what = f"{gone} of {tracked} notes are gone from {self.vault.root}; nothing is committed"
        fix = "mount or check out what is missing, or run `memtool commit --accept-loss`"
        return Finding("loss-paused", ".", 0, what, fix)

    def _by_writer(self, edits: Sequence[Edit]) -> dict[Signature, list[Edit]]:
        """Give each change to whoever signed these very bytes, else to who is asked for."""
        found: dict[Signature, list[Edit]] = {}
        for edit in edits:
            base, signed = self.ledger.signed.get(edit.path, ("", HUMAN))
            known = edit.after is not None and digest(edit.after) == base
            found.setdefault(signed if known else self.ask.signed, []).append(edit)
        return found

    def _admitted(self, edits: Sequence[Edit], signed: Signature) -> list[Edit]:
        stopped = gate.stopped(self.vault, edits, signed)
        self.findings, self.left = [*self.findings, *stopped.values()], [*self.left, *stopped]
        return [edit for edit in edits if edit.path not in stopped]

    # -- committing

    def _commit(self, edits: Sequence[Edit], states: Mapping[str, str], signed: Signature) -> None:
        words = message(edits, signed, [*gate.trailers(self.vault, edits, signed), *self.ask.trailers])
        paths = tuple(edit.path for edit in edits)
        commit_ledger.save(self.vault, self.ledger._replace(begun=(self.git.head().revision or "", paths)))
        outcome = staging.commit(self.git, states, words, patience=self.patience, writer=signed.writer)
        if outcome.revision:
            made = Commit(outcome.revision, words.partition("\n")[0], signed.writer, paths, words)
            self.commits.append(made)
            for path in paths:
                self.ledger.held.pop(path, None)
            self._look_behind_hooks(edits)
        elif outcome.problem and outcome.problem.code == "git-hook" and self._may_halve(edits):
            for half in (edits[: len(edits) // 2], edits[len(edits) // 2 :]):
                self._commit(half, {edit.path: states[edit.path] for edit in half}, signed)
        elif outcome.problem:
            path = edits[0].path if outcome.problem.code == "git-hook" and len(edits) == 1 else "."
            self.findings.append(outcome.problem.at(names.printable(path)))
            self.left += paths
            if outcome.problem.code == "git-hook":
                self._hold(edits)

    def _may_halve(self, edits: Sequence[Edit]) -> bool:
        self.refusals += 1
        return len(edits) > 1 and self.refusals <= _REFUSALS

    def _hold(self, edits: Sequence[Edit]) -> None:
        """Remember what was refused, byte for byte: a hook is not asked the same question twice."""
        self.ledger.held.update({edit.path: digest(edit.after or b"") for edit in edits})

    def _look_behind_hooks(self, edits: Sequence[Edit]) -> None:
        """Tell of hooks that changed a note on disk only: to commit that would call them again, for ever."""
        still = self.git.states()
        for edit in edits:
            now = self._read(edit.path)
            if edit.path in still and now != edit.after and staging.has_hooks(self.git):
                self._hold([edit._replace(after=now)])
                what = "it changed while it was committed, perhaps by a hook; that waits for its next change"
                fix = "run `git diff` on it, then `memtool commit`"
                self.findings.append(Finding("git-hook-rewrote", names.printable(edit.path), 0, what, fix))

    def _forget_what_is_settled(self, states: Mapping[str, str]) -> None:
        """Keep what still waits; a note that was changed since it was refused is asked about again."""
        done = {path for commit in self.commits for path in commit.paths}
        signed = {p: one for p, one in self.ledger.signed.items() if p in states and p not in done}
        held = {p: one for p, one in self.ledger.held.items() if p in states}
        commit_ledger.save(self.vault, commit_ledger.Ledger(signed, held))
