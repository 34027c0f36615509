"""A change and who makes it -> which of the names beside its text holds a secret: git keeps those, too.

The note's name and its new folders, the writer, the session and the reason all end up in a commit.
"""

from __future__ import annotations

from pathlib import PurePosixPath

from memtool import secrets
from memtool.identity import Signature
from memtool.vault import Vault

_MADE = "random key"  # sessions are made at random, and are no keys


def suspicious(vault: Vault, path: str, by: Signature) -> str:
    """Say what holds a likely secret, "" for nothing; a folder that is there already brings nothing new."""
    if secrets.find(by.reason):
        return "the reason"
    if secrets.find(PurePosixPath(path).name):
        return "the name of the note"
    folders = PurePosixPath(path).parents
    if any(secrets.find(one.name) for one in folders if not (vault.root / one).is_dir()):
        return "the name of the folder"
    for what, text in (("the name of the session", by.session), ("the name of the writer", by.writer)):
        if any(one.kind != _MADE for one in secrets.find(text)):
            return what
    return ""
