"""Many intended changes -> a commit for each, through the door; lock and git are asked once for many.

As through the door one by one: each is worked out from what the notes are when its turn comes, asked
for, written and signed. What one may not do stops no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from memtool.commits import plain_git
from memtool.commits.commit_report import CommitReport
from memtool.door import accounts, door
from memtool.door.accounts import Account
from memtool.door.door import Done, Step
from memtool.errors import MemtoolError
from memtool.git import Git
from memtool.identity import HUMAN, Signature
from memtool.vault import Vault

#: Notes that are touched before git is run once for all of them.
MOST = 200

#: One change: who signs it, and what works it out; it may raise whatever the door may.
Change = tuple[Signature, Callable[[Signature], Sequence[Step]]]

Outcome = Done | MemtoolError


def carry_out(
    vault: Vault,
    changes: Iterable[Change],
    account: Account,
    *,
    written: Callable[[Done], None] = lambda _: None,
) -> Iterator[Outcome]:
    """Carry the changes out in order and give what came of each, in the same order.

    *written* is told of each as soon as it is on disk, before the next one is worked out.
    """
    if not account.commit or not plain_git.is_plain(Git(vault.root)):
        for by, make in changes:
            outcome = _alone(vault, make, account._replace(by=by))
            if isinstance(outcome, Done):
                written(outcome)
            yield outcome
        return
    waiting = iter(changes)
    while outcomes := _some(vault, waiting, account, written):
        yield from outcomes


def _alone(vault: Vault, make: Callable[[Signature], Sequence[Step]], account: Account) -> Outcome:
    try:
        return door.carry_out(vault, make, account)
    except MemtoolError as error:
        return error


def _some(
    vault: Vault, changes: Iterator[Change], account: Account, tell: Callable[[Done], None]
) -> list[Outcome]:
    """Write as many as git takes at once, then commit them."""
    written: list[tuple[Outcome, str, Account]] = []
    touched = 0
    with vault.lock(max(door.LOCK_S, account.patience.seconds)):
        for by, make in changes:
            signed = account._replace(by=by)
            outcome, name = _written(vault, make, signed)
            written.append((outcome, name, signed))
            if isinstance(outcome, Done):
                tell(outcome)
                touched += 2 * len(outcome.steps)
            if touched >= MOST:
                break
    return [_committed(vault, *one) for one in written]


def _written(
    vault: Vault, make: Callable[[Signature], Sequence[Step]], account: Account
) -> tuple[Outcome, str]:
    try:
        steps = door.write(vault, make(account.by or HUMAN), account)
    except MemtoolError as error:
        return error, ""
    edits = [edit for step in steps for edit in door.parted(step.edit)]
    return Done(steps), accounts.enter(vault, edits, account) if steps else ""


def _committed(vault: Vault, outcome: Outcome, name: str, account: Account) -> Outcome:
    if isinstance(outcome, MemtoolError) or not outcome.steps:
        return outcome
    edits = [step.edit for step in outcome.steps]
    report = accounts.close(vault, edits, name, account, alone=False) or CommitReport()
    return outcome._replace(report=report)
