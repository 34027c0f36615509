"""A change through the door -> the note written, and committed in the name of who made it.

A change without a name is like one made in an editor: it is gathered and committed later. One with
a name is committed at once, and what a person had changed in that note before it goes first, as theirs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from memtool import commit_ledger, commits, note, repository, writer
from memtool.commit_message import HUMAN, Signature
from memtool.commits import Ask, CommitReport
from memtool.errors import Finding, MemtoolError
from memtool.git import Git
from memtool.staging import Patience
from memtool.vault import Vault, blob, digest


class Account(NamedTuple):
    """In whose name a change is made, and whether it is to be committed; ``by`` None signs nothing."""

    by: Signature | None
    commit: bool
    patience: Patience


def add(
    vault: Vault,
    text: str,
    account: Account,
    *,
    title: str = "",
    folder: str = "",
    meta: Mapping[str, str | Sequence[str]] | None = None,
    now: datetime,
) -> tuple[str, CommitReport | None]:
    """Write a new note and give its path; a title "" is the first line of *text*."""
    title = title or next((line.strip("# \t") for line in text.split("\n") if line.strip("# \t\r")), "")
    created = now.date().isoformat()
    path = writer.add(vault, title.strip()[:200], text, meta, created=created, folder=folder)
    return path, _enter(vault, path, account)


def set_key(
    vault: Vault, path: str, key: str, value: str | Sequence[str], account: Account
) -> tuple[bytes, CommitReport | None]:
    """Change one key of a note and give its bytes as they are now."""
    data = vault.read(path)
    changed = note.set_key(data, key, value)
    if changed == data:
        return data, None
    path = vault.resolve(path)
    if account.by not in (None, HUMAN) and account.commit and repository.find_work_tree(vault.root):
        _commit(vault, path, HUMAN, account)
    writer.apply(vault, writer.Change(path, changed, digest(data)))
    return changed, _enter(vault, path, account)


def _enter(vault: Vault, path: str, account: Account) -> CommitReport | None:
    """Sign and commit a change; the note is written by now, so nothing here may fail it."""
    if account.by is None:
        return None
    if problem := Git(vault.root).problem():
        return CommitReport(findings=(problem,))
    try:
        commit_ledger.sign(vault, path, account.by, timeout_s=account.patience.seconds)
        return _commit(vault, path, account.by, account) if account.commit else None
    except MemtoolError as error:
        return CommitReport(left=(path,), findings=(Finding(error.code, path, 0, error.what, error.fix),))


def _commit(vault: Vault, path: str, by: Signature, account: Account) -> CommitReport:
    known = {path: blob(vault.read(path))}
    return commits.keep(vault, Ask(paths=[path], signed=by, known=known), patience=account.patience)
