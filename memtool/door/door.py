"""Intended changes -> notes changed and committed: lock, ask, compare, replace, commit, in that order.

The one door to the notes. What a caller wants is worked out while the lock is held, from the bytes the
notes have then; whoever loses a race keeps its text in a file that the message names.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from memtool import carrying, names
from memtool.commits.commit_message import Edit
from memtool.commits.commit_report import CommitReport
from memtool.door import accounts, bases, rejected, three_way
from memtool.door.accounts import Account
from memtool.errors import ConflictError, MemtoolError, PolicyError
from memtool.identity import HUMAN, Signature
from memtool.links import relocate
from memtool.merging import merging
from memtool.note import note
from memtool.policy import gate
from memtool.vault import Vault, digest
from memtool.writer import Change

LOCK_S = 30.0  # a change that moves a note reads many others first


class Step(NamedTuple):
    """One note of a change: what is done to it, before and after; ``edit.old_path`` where it is renamed."""

    verb: str
    edit: Edit


class Done(NamedTuple):
    """What was changed, or with *dry_run* would be, and what came of committing it."""

    steps: tuple[Step, ...]
    report: CommitReport | None = None

    @property
    def diff(self) -> str:
        """The change as a unified diff."""
        return "".join(_diff(step.edit) for step in self.steps)


class Wanted(NamedTuple):
    """What somebody wants of one note.

    ``text`` is kept when it cannot be written. ``if_digest`` names the version that ``change`` was made
    for; ``merges`` False: no other will do; ``fits_any``: every other will.
    """

    path: str
    verb: str
    change: Callable[[bytes], bytes]
    text: str = ""
    if_digest: str = ""
    merges: bool = True
    fits_any: bool = False


def carry_out(
    vault: Vault, make: Callable[[Signature], Sequence[Step]], account: Account, *, dry_run: bool = False
) -> Done:
    """Do what *make* works out under the lock; *dry_run* only tells."""
    by = account.by or HUMAN
    if dry_run:
        steps = _worth(make(by))
        for step in steps:
            admit(vault, step, by, account.allow)
        return Done(steps)
    with accounts.turn(vault, account) as alone:
        if alone:
            accounts.first(vault, [step.edit.old_path or step.edit.path for step in make(by)], account)
        with vault.lock(max(LOCK_S, account.patience.seconds)):
            steps = write(vault, make(by), account)
            edits = [edit for step in steps for edit in parted(step.edit)]
            name = accounts.enter(vault, edits, account) if steps else ""
        report = accounts.close(vault, edits, name, account, alone=alone) if steps else None
    return Done(steps, report)


def _worth(steps: Sequence[Step]) -> tuple[Step, ...]:
    return tuple(step for step in steps if step.edit.old_path or step.edit.before != step.edit.after)


def parted(edit: Edit) -> list[Edit]:
    """Give a change of one note as git knows it: a note renamed is one gone and one new."""
    if not edit.old_path:
        return [edit]
    return [Edit(edit.old_path, edit.before, None), Edit(edit.path, None, edit.after)]


# Who may


def admit(vault: Vault, step: Step, by: Signature, allow: Collection[int] = ()) -> None:
    """Ask whether *by* may do this. Raises PolicyError, or SecretError for a text with a secret in it."""
    edit = step.edit
    if by.is_agent and edit.before is not None and note.is_frozen(edit.before):
        shown = names.printable(edit.old_path or edit.path)
        raise PolicyError(
            f"{shown} is frozen: agents may not {step.verb} it",
            why="its front matter says `frozen: true`",
            fix="ask a person to change it, or write a new note that refers to it",
        )
    if step.verb == "add":
        _in_own_name(edit, by)
    base = digest(edit.before) if edit.before is not None else None
    for path in filter(None, (edit.old_path, edit.path)):
        change = Change(path, edit.after or b"", base)
        gate.admit(vault, change, by, step.verb, before=edit.before, allow=allow)


def ask(vault: Vault, path: str, verb: str, by: Signature) -> None:
    """Ask whether *by* may do this to a note at all, before anything is said of what is in it."""
    now = vault.read(path)
    admit(vault, Step(verb, Edit(path, now, now)), by)


# One note


def amend(vault: Vault, wanted: Wanted, by: Signature) -> Step:
    """Work out what becomes of a note, as it is now, merged with what others changed meanwhile."""
    path = vault.resolve(wanted.path)
    now = vault.read(path)
    ask(vault, path, wanted.verb, by)
    with _kept(vault, wanted, path, now, by):
        edit = Edit(path, now, _amended(vault, wanted, path, now))
        _in_own_name(edit, by)
        return Step(wanted.verb, edit)


def _in_own_name(edit: Edit, by: Signature) -> None:
    """Let no agent write that somebody else verified lines; what an undo brings back was written before."""
    if name := carrying.speaks_for_another(edit.before, edit.after, by):
        shown = names.printable(edit.path)
        raise PolicyError(
            f"{shown} would say that {names.printable(name)} verified it",
            why=f"{by.writer} writes it, and an agent verifies in its own name only",
            fix=f"run `memtool verify {shown} --against SOURCE`",
        )


def _amended(vault: Vault, wanted: Wanted, path: str, now: bytes) -> bytes:
    if not wanted.if_digest or wanted.fits_any or bases.matches(wanted.if_digest, now):
        return wanted.change(now)
    why = f"you read {wanted.if_digest[: bases.SHORTEST]}, and it is {digest(now)[: bases.SHORTEST]} now"
    base = bases.find(vault, path, wanted.if_digest) if wanted.merges else None
    if base is None:
        reason = "; that version is not known here" if wanted.merges else ""
        raise ConflictError(f"{path} changed while it was being edited", why=why + reason)
    merged = merge(base, now, wanted.change(base))
    if merged is None:
        raise ConflictError(f"{path} changed in the same lines", why=why)
    return merged


def merge(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """Bring two changes of a note together; None where both touch the same lines."""
    merged = three_way.merge(base, ours, theirs)
    if merged is not None and not merging.is_spoilt(merged, ours, theirs):
        return merged
    if shutil.which("git") is None:
        return None
    by_key = merging.merge_note(base, ours, theirs)
    return by_key.data if by_key.clean and not merging.is_spoilt(by_key.data, ours, theirs) else None


@contextmanager
def _kept(vault: Vault, wanted: Wanted, path: str, now: bytes, by: Signature) -> Iterator[None]:
    """Let nobody's words be lost: what cannot be written goes into a file, unless it may not be kept."""
    try:
        yield
    except ConflictError as error:
        if wanted.text:
            admit(vault, Step(wanted.verb, Edit(path, now, wanted.text.encode("utf-8", "replace"))), by)
        raise rejected.conflict(
            vault, path, wanted.text, why=error.why, now=digest(now), what=error.what
        ) from None


# Writing


def write(vault: Vault, steps: Sequence[Step], account: Account) -> tuple[Step, ...]:
    """Ask, compare and write, under the vault's lock; gives the steps that change anything."""
    steps = _worth(steps)
    for step in steps:
        admit(vault, step, account.by or HUMAN, account.allow)
    _write(vault, steps)
    return steps


def _write(vault: Vault, steps: Sequence[Step]) -> None:
    """Write all or nothing, as far as the disk lets us: new notes first, what goes away last."""
    done: list[Edit] = []
    try:
        for step in sorted(steps, key=lambda step: step.edit.after is None):
            _put(vault, step.edit)
            done.append(step.edit)
    except MemtoolError:
        for edit in reversed(done):
            _put(vault, _inverse(edit))
        raise


def _inverse(edit: Edit) -> Edit:
    if edit.old_path:
        return Edit(edit.old_path, edit.after, edit.before, edit.path)
    return Edit(edit.path, edit.after, edit.before)


def _put(vault: Vault, edit: Edit) -> None:
    base = digest(edit.before) if edit.before is not None else None
    if edit.old_path and base:
        relocate.rename(vault, edit.old_path, edit.path, base=base)
    if edit.after is None:
        relocate.remove(vault, edit.path, base=base or "")
    elif edit.after != edit.before or not edit.old_path:
        vault.replace(edit.path, edit.after, base=base)


def _diff(edit: Edit) -> str:
    from difflib import unified_diff

    old, new = (note.parse(side or b"").lines for side in (edit.before, edit.after))
    before = "/dev/null" if edit.before is None else f"a/{names.printable(edit.old_path or edit.path)}"
    after = "/dev/null" if edit.after is None else f"b/{names.printable(edit.path)}"
    lines = list(unified_diff(old, new, before, after, lineterm=""))
    if not lines:  # renamed, and not a letter changed
        lines = [f"--- {before}", f"+++ {after}"]
    return "".join(f"{line}\n" for line in lines)
