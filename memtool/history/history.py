"""A path or a commit -> revisions, trees and bytes of the past: read from git.

Every path in and out is as in the vault, whatever part of a repository the vault is. Knows how git
is asked and how its answers read; knows nothing of what notes say.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from memtool.errors import PathError
from memtool.git import Git

#: What git writes for "no such object" and "not committed".
NOBODY = frozenset("0")

_FIELDS = (
    "%H",
    "%ct",
    "%an",
    *(
        f"%(trailers:key={key},valueonly,separator=%x1f)"
        for key in ("Memtool-Writer", "Memtool-Session", "Memtool-Reason")
    ),
    "%s",
)
_FORMAT = "--format=tformat:" + "%x00".join(_FIELDS)
#: No setting of a repository adds to what is printed, or names a command to run.
_QUIET = ("--no-show-signature", "--no-ext-diff", "--no-textconv", "--no-color", "--no-relative")


class Revision(NamedTuple):
    """A commit, as seen from a note. ``when`` is the moment it was committed, as as-of counts."""

    revision: str
    when: datetime
    author: str
    writer: str = "human"  # or "agent/NAME"
    session: str = ""
    reason: str = ""
    subject: str = ""


class Touch(NamedTuple):
    """What one revision did to one path, renames not followed."""

    revision: Revision
    path: str
    old: str  # blob before, "" for none
    new: str


def touches(git: Git, *, since: str = "", until: str = "HEAD", first_parent: bool = True) -> list[Touch]:
    """Give every change of a note between two commits, newest first; *since* "" goes to the beginning."""
    reach = f"{since}..{until}" if since else until
    merges = ("--first-parent", "--diff-merges=first-parent") if first_parent else ("-m",)
    out = git.run(
        "log", "-z", "--raw", "--no-abbrev", "--no-renames", *merges, *_QUIET, _FORMAT, reach, "--", "."
    )
    prefix = git.prefix()
    return [
        Touch(revision, _below(prefix, raw.names[0]), blob_name(raw.old), _note(raw))
        for revision, changes in ((_revision(told), changes) for told, changes in read_log(out, len(_FIELDS)))
        for raw in changes
    ]


def revisions(git: Git, names: Collection[str]) -> dict[str, Revision]:
    """Read many commits by their full names at once."""
    if not names:
        return {}
    asked = "\n".join(sorted(names)).encode()
    out = git.run("log", "-z", "--no-walk=unsorted", "--stdin", *_QUIET, _FORMAT, stdin=asked)
    found = [_revision(told) for told, _ in read_log(out, len(_FIELDS))]
    return {revision.revision: revision for revision in found}


def tree(git: Git, commit: str) -> dict[str, str]:
    """Give path -> blob of every regular file that the vault's folder held at *commit*."""
    out = git.run("ls-tree", "-r", "-z", "--full-tree", f"{commit}:{git.prefix().rstrip('/')}")
    found = {}
    for line in filter(None, out.split(b"\0")):
        about, _, path = line.partition(b"\t")
        mode, _, name = about.split(b" ")
        if mode in (b"100644", b"100755"):
            found[os.fsdecode(path)] = name.decode()
    return found


def tree_name(git: Git, commit: str) -> str:
    """Name the tree of the vault's folder at *commit*; "" where it held no such folder."""
    place = f"{commit}:{git.prefix().rstrip('/')}"
    out = git.run("cat-file", "--batch-check=%(objectname) %(objecttype)", stdin=place.encode() + b"\n")
    name, _, kind = out.decode(errors="replace").strip().rpartition(" ")
    return name if kind == "tree" else ""


def name_of(git: Git, commit: str, blob: str, gone: Callable[[str], bool]) -> str:
    """Find the name under which *commit* has these very bytes, of names that are gone since; "" for none."""
    return next((path for path, name in tree(git, commit).items() if name == blob and gone(path)), "")


def note_at(git: Git, commit: str, path: str) -> bytes:
    """Read a note as *commit* has it. PathError when it has none there."""
    place = f"{commit}:{git.prefix()}{path}"
    if "\n" not in path:
        for _, data in git.blobs([place]):
            return data
    raise PathError(
        f"there was no note `{path}` at {commit[:7]}",
        why="it was written later, was gone by then, or had another name",
        fix=f"run `memtool history {path}`",
    )


def pack(revision: Revision) -> list[object]:
    """Write a revision as plain values; ``unpack`` reads them."""
    return [revision[0], revision.when.timestamp(), *revision[2:]]


def unpack(kept: Sequence[object]) -> Revision:
    name, when, author, writer, session, reason, subject = kept
    assert isinstance(when, (int, float))
    moment = datetime.fromtimestamp(when, UTC)
    return Revision(str(name), moment, str(author), str(writer), str(session), str(reason), str(subject))


# -- reading what git prints -----------------------------------------------------------------


class Raw(NamedTuple):
    """One change of a file as git's log tells it."""

    mode: str
    kind: str
    old: str  # the blob before, all zeros for none
    new: str
    names: list[str]  # one path, or two


def read_log(out: bytes, fields: int) -> Iterator[tuple[list[str], list[Raw]]]:
    """Read what ``git log -z --raw`` gave: so many *fields* of each commit, and its changes."""
    parts, at = out.split(b"\0"), 0
    while at + fields <= len(parts):
        told = [part.decode("utf-8", "replace") for part in parts[at : at + fields]]
        at += fields
        changes: list[Raw] = []
        while at < len(parts) and (parts[at].lstrip(b"\n").startswith(b":") or not parts[at].strip(b"\n")):
            if not parts[at].strip(b"\n"):
                at += 1
                continue
            _, mode, old, new, kind = parts[at].decode().split(" ")
            count = 2 if kind[0] in "RC" else 1
            names = [os.fsdecode(name) for name in parts[at + 1 : at + 1 + count]]
            changes.append(Raw(mode, kind, old, new, names))
            at += 1 + count
        yield told, changes


def _note(raw: Raw) -> str:
    """Give the blob there is after a change; a link or a submodule is no note."""
    return blob_name(raw.new) if raw.mode in ("100644", "100755") else ""


def _revision(fields: Sequence[str]) -> Revision:
    name, when, author, writer, session, reason, subject = fields
    return Revision(
        name.strip(),
        datetime.fromtimestamp(int(when), UTC),
        author,
        last(writer) or "human",
        last(session),
        last(reason),
        subject,
    )


def last(values: str) -> str:
    """Take the last of several trailers of one name: it was added last."""
    return values.rpartition("\x1f")[2].strip()


def blob_name(name: str) -> str:
    """Give the name of a blob; "" for git's way to say none."""
    return "" if NOBODY.issuperset(name) else name


def _below(prefix: str, path: str) -> str:
    """Give a path of the repository as seen from the vault: one outside of it begins with ``../``."""
    return path.removeprefix(prefix) if path.startswith(prefix) else posixpath.relpath(path, prefix)
