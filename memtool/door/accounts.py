"""Changes that are on disk -> commits in the name of who made each.

A change without a name is like one made in an editor: it is gathered and committed later. One with a
name is committed at once, and what a person had changed in that note before it goes first, as theirs.
Whoever gets to commit takes along what others have put into the queue meanwhile: one commit a change.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, NamedTuple

from memtool import names, staging
from memtool.commits import commit_ledger, commit_queue, commits, plain_git, quick_commit
from memtool.commits.commit_message import Edit
from memtool.commits.commit_queue import Entry
from memtool.commits.commit_report import Commit, CommitReport
from memtool.commits.commits import Ask
from memtool.commits.quick_commit import Ground, Made, Planned
from memtool.errors import Finding, GitError, LockError, MemtoolError
from memtool.git import Git
from memtool.identity import HUMAN, Signature
from memtool.policy import gate
from memtool.staging import Patience
from memtool.vault import Vault, blob, digest


class Account(NamedTuple):
    """In whose name a change is made, and whether it is to be committed; ``by`` None signs nothing."""

    by: Signature | None
    commit: bool
    patience: Patience
    allow: tuple[int, ...] = ()  # lines whose secrets a person lets pass


@contextmanager
def turn(vault: Vault, account: Account) -> Iterator[bool]:
    """Wait for the turn to write, where git cannot commit several changes at once; tell whether it is ours.

    A hook or a signature must see each change as it lies on disk, so there the next one waits.
    """
    git = Git(vault.root)
    if account.by is None or not account.commit or git.problem() or plain_git.is_plain(git):
        yield False
        return
    try:
        with commit_ledger.alone(vault, account.patience.seconds):
            yield True
    except LockError as error:
        raise LockError(error.what, fix="try again; nothing was written") from None


def first(vault: Vault, paths: Sequence[str], account: Account) -> None:
    """Commit what a person had changed in these notes, where it is our turn and an agent comes next."""
    if account.by is None or account.by == HUMAN:
        return
    there = [path for path in paths if (vault.root / path).is_file()]
    known = {path: blob(vault.read(path)) for path in there}
    if there:
        commits.keep(vault, Ask(there, HUMAN, known), patience=account.patience, alone=True)


def enter(vault: Vault, edits: Sequence[Edit], account: Account) -> str:
    """Note down a change that was just written, under the vault's lock; gives its name in the queue."""
    if account.by is None or not account.commit or Git(vault.root).work_tree() is None:
        return ""
    return commit_queue.put(vault, account.by, edits)


def close(
    vault: Vault, edits: Sequence[Edit], name: str, account: Account, *, alone: bool
) -> CommitReport | None:
    """Commit a change that was entered; the notes are written by now, so nothing here may fail it."""
    if account.by is None:
        return None
    if name and (told := commit_queue.told(vault, name)):
        return _report(told)  # whoever committed the one before took it along
    if problem := Git(vault.root).problem():
        return CommitReport(findings=(problem,))
    try:
        if name:
            return _close(vault, name, account.patience, alone=alone)
        for edit in edits:
            if edit.after is not None:
                commit_ledger.sign(vault, edit.path, account.by, timeout_s=account.patience.seconds)
    except MemtoolError as error:
        paths = tuple(edit.path for edit in edits)
        return CommitReport(left=paths, findings=(Finding(error.code, paths[0], 0, error.what, error.fix),))
    return None


def _close(vault: Vault, name: str, patience: Patience, *, alone: bool) -> CommitReport:
    """Commit all that waits, or let somebody else do it; give what came of the change *name*."""
    until = time.monotonic() + patience.seconds
    while not alone and (told := commit_queue.told(vault, name)) is None:
        try:
            with commit_ledger.alone(vault, 0.1):
                drain(vault, patience)
        except LockError:
            if time.monotonic() >= until:
                raise
    if alone:
        drain(vault, patience)
        told = commit_queue.told(vault, name)
    return _report(told) if told else CommitReport()


def settle(vault: Vault, patience: Patience) -> None:
    """Commit what writers left in the queue, if there is anything; what cannot be committed now waits on."""
    if commit_queue.load(vault) and Git(vault.root).problem() is None:
        with suppress(LockError, GitError), commit_ledger.alone(vault, patience.seconds):
            drain(vault, patience)


def drain(vault: Vault, patience: Patience) -> None:
    """Commit every change of the queue, one commit each. To be called by the only one who commits."""
    entries = commit_queue.load(vault)
    if not entries:
        return
    git = Git(vault.root)
    quick_commit.recover(git)
    ledger = commit_ledger.load(vault)
    if ledger.begun[1]:
        staging.finish(git, *ledger.begun)
        commit_ledger.save(vault, ledger._replace(begun=("", ())))
    if not _quickly(vault, git, entries, patience):
        _slowly(vault, entries, patience)
    commit_queue.tidy(vault)


# -- many at once


def _quickly(vault: Vault, git: Git, entries: Sequence[Entry], patience: Patience) -> bool:
    """Commit all of them in one run of git; false when the usual way must be gone."""
    try:
        ground = quick_commit.survey(git) if plain_git.is_plain(git) else None
        planned = _plan(vault, ground, entries) if ground else None
        if ground is None or planned is None:
            return False
        steps = [step for _, some in planned for step in some]
        ledger = commit_ledger.load(vault)
        paths = tuple({edit.path for _, edits in steps for edit in edits})
        commit_ledger.save(vault, ledger._replace(begun=(ground.head, paths)))
        more = partial(gate.trailers, vault)
        made = quick_commit.commit(ground, steps, patience_s=patience.seconds, more=more) if steps else []
        _forget(vault, ledger, paths if made else ())
    except GitError:
        return False
    if made is None:
        return False
    rest = iter(made)
    for entry, some in planned:
        own = [next(rest) for _ in some]
        commit_queue.settle(vault, entry.name, _value(CommitReport(tuple(map(_told, own)))))
    return True


def _plan(vault: Vault, ground: Ground, entries: Sequence[Entry]) -> list[tuple[Entry, list[Planned]]] | None:
    """Part what waits into commits: what stood in a note before a change and is nobody's goes first."""
    paths = list(dict.fromkeys(edit.path for entry in entries for edit in entry.edits))
    blobs = quick_commit.standing(ground, paths)
    if blobs is None or any(map(_is_odd, entries)):
        return None
    signed = commit_ledger.load(vault).signed
    now: dict[str, bytes | None] = {}
    plan = []
    for entry in entries:
        for edit in entry.edits:
            if edit.path not in now:
                now[edit.path] = _committed(ground, blobs[edit.path], edit.before)
        steps: list[Planned] = []
        if entry.by != HUMAN:
            for edit in entry.edits:
                if now[edit.path] != edit.before:
                    by = _who(signed.get(edit.path), edit.before)
                    steps.append((by, (Edit(edit.path, now[edit.path], edit.before),)))
                    now[edit.path] = edit.before
        edits = tuple(edit._replace(before=now[edit.path]) for edit in entry.edits)
        edits = tuple(edit for edit in edits if edit.before != edit.after)
        now |= {edit.path: edit.after for edit in edits}
        steps += [(entry.by, edits)] if edits else []
        if any(gate.stopped(vault, edits, by) for by, edits in steps):
            return None  # what a person left in a note may have to wait; the usual way says why
        plan.append((entry, steps))
    return plan


def _committed(ground: Ground, name: str | None, likely: bytes | None) -> bytes | None:
    if name is None or (likely is not None and blob(likely) == name):
        return None if name is None else likely
    return quick_commit.read(ground, name)


def _who(signed: tuple[str, Signature] | None, data: bytes | None) -> Signature:
    return signed[1] if signed and data is not None and digest(data) == signed[0] else HUMAN


def _is_odd(entry: Entry) -> bool:
    """Tell a change with a version in it that was never brought together: the usual way says so."""
    sides = [side for edit in entry.edits for side in (edit.before, edit.after) if side is not None]
    copies = any(names.is_conflict_copy(edit.path, ()) for edit in entry.edits)
    return copies or any(map(commits.has_marks, sides))


def _forget(vault: Vault, ledger: commit_ledger.Ledger, paths: Sequence[str]) -> None:
    signed = {path: one for path, one in ledger.signed.items() if path not in paths}
    held = {path: one for path, one in ledger.held.items() if path not in paths}
    commit_ledger.save(vault, commit_ledger.Ledger(signed, held))


def _told(made: Made) -> Commit:
    paths = tuple(edit.path for edit in made.edits)
    return Commit(made.revision, made.words.partition("\n")[0], made.by.writer, paths)


# -- one by one


def _slowly(vault: Vault, entries: Sequence[Entry], patience: Patience) -> None:
    """Commit what waits as it lies on disk, the way git is configured here."""
    ledger = commit_ledger.load(vault)
    for entry in entries:
        for edit in entry.edits:
            if edit.after is not None:
                ledger.signed[edit.path] = (digest(edit.after), entry.by)
    commit_ledger.save(vault, ledger)
    tracked = set(staging.tracked(Git(vault.root)))
    for entry in entries:
        # A note that came and went between two commits is nothing to git.
        paths = [edit.path for edit in entry.edits if edit.after is not None or edit.path in tracked]
        known = {edit.path: blob(edit.after) for edit in entry.edits if edit.after is not None}
        report = commits.keep(vault, Ask(paths, entry.by, known), patience=patience, alone=True)
        commit_queue.settle(vault, entry.name, _value(report))


def _value(report: CommitReport) -> dict[str, Any]:
    return {
        "commits": [list(commit) for commit in report.commits],
        "left": list(report.left),
        "findings": [list(finding) for finding in report.findings],
    }


def _report(told: dict[str, Any]) -> CommitReport:
    made = tuple(Commit(one[0], one[1], one[2], tuple(one[3])) for one in told["commits"])
    findings = tuple(Finding(*one) for one in told["findings"])
    return CommitReport(made, tuple(told["left"]), findings)
