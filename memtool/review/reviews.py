"""History -> what agents wrote since a person last looked, and what became of it since.

A person's commit says ``Memtool-Reviewed:`` of what was looked at: single changes by name, or ``all`` up to
a revision. It travels with the repository, so one look is enough for everybody. An agent's commit in a
scope with `review = true` says ``Memtool-Review: needed``; that ends, too, when a person edits the note.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from memtool import names
from memtool.catalog.catalog_page import is_generated
from memtool.errors import Finding, UsageError
from memtool.git import Git
from memtool.history import history
from memtool.vault import Vault

#: Hex digits by which a change is named.
SHORT = 10
ALL = "all"

_KEYS = ("Memtool-Writer", "Memtool-Session", "Memtool-Reason", "Memtool-Review", "Memtool-Reviewed")
_FIELDS = (
    *("%H", "%ct", "%an"),
    *(f"%(trailers:key={key},valueonly,unfold,separator=%x1f)" for key in _KEYS),
    "%s",
)
_FORMAT = "--format=tformat:" + "%x00".join(_FIELDS)
_QUIET = (
    "--no-show-signature",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--relative",
    "--no-renames",
    "--diff-merges=off",
)
_FIX = "run `memtool review`, or edit it as a person"


class Blobs(NamedTuple):
    """A note that a change touched: its path, and the names of its bytes before and after; "" is none."""

    path: str
    old: str
    new: str


class Later(NamedTuple):
    """A later change of the same note, by whomever."""

    path: str
    who: str
    when: datetime
    revision: str
    person: bool


class Change(NamedTuple):
    """One commit by an agent that nobody has looked at yet."""

    revision: str
    when: datetime
    writer: str
    session: str
    reason: str
    subject: str
    needed: bool  # the policy asks for a review
    notes: tuple[Blobs, ...]
    later: tuple[Later, ...] = ()  # newest first

    @property
    def id(self) -> str:
        return self.revision[:SHORT]

    @property
    def path(self) -> str:
        """The note that it is mostly about: the first that is still there after it."""
        return next((note.path for note in self.notes if note.new), self.notes[0].path)

    @property
    def topic(self) -> str:
        return self.path.rpartition("/")[0]


class _Row(NamedTuple):
    """One commit as git tells it."""

    change: Change
    author: str
    reviewed: str


class Waiting(NamedTuple):
    """A note to review: the newest commit that asks for it, its day and its writer."""

    path: str
    revision: str
    day: str
    writer: str


def changes(
    vault: Vault, *, since: str = "", writer: str = "", decided: Collection[str] = ()
) -> list[Change]:
    """Give what agents wrote since the last look, oldest first and by topic; *since* is a revision instead.

    *decided* are changes somebody has just looked at.
    """
    git = Git(vault.root)
    if git.work_tree() is None or git.head().revision is None:
        return []
    rows = list(_rows(git, [f"^{_known(git, since)}"] if since else _since_last(git)))
    seen = set(decided)
    if not since:
        seen |= {name for row in rows if not _is_agent(row) for name in row.reviewed.split()[1:]}
    found = [
        change
        for change in _with_later(rows)
        if change.id not in seen and writer in ("", change.writer) and change.notes
    ]
    return sorted(found, key=lambda change: (change.topic, change.path))


def _is_agent(row: _Row) -> bool:
    return row.change.writer.startswith("agent/")


def _with_later(rows: Sequence[_Row]) -> Iterator[Change]:
    """Give the agents' changes, oldest first, each with what was done to the same notes after it."""
    later: dict[str, list[Later]] = {}
    found = []
    for row in rows:
        change = row.change
        if _is_agent(row):
            after = [one for note in change.notes for one in later.get(note.path, ())]
            found.append(change._replace(later=tuple(dict.fromkeys(after))))
        who = change.writer if _is_agent(row) else row.author
        for note in change.notes:
            one = Later(note.path, who, change.when, change.revision, not _is_agent(row))
            later.setdefault(note.path, []).append(one)
    yield from reversed(found)


def _known(git: Git, revision: str) -> str:
    status, out, _ = git.attempt(
        "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"
    )
    if status:
        raise UsageError(
            f"there is no revision `{names.printable(revision)}`",
            fix="name a commit, as `memtool history` or `git log` shows it",
        )
    return out.decode().strip()


def _since_last(git: Git) -> list[str]:
    """Say to git what was looked at as a whole: up to the revision that the newest mark names.

    Where that is in this history no more (it was rebased), up to the mark itself.
    """
    grep = ("--extended-regexp", f"--grep=^Memtool-Reviewed: {ALL} ")
    for row in _rows(git, grep, least=20):
        told = row.reviewed.split()
        if _is_agent(row) or told[:1] != [ALL] or len(told) < 2:
            continue
        here = row.change.revision
        known = told[1].isalnum() and not git.attempt("merge-base", "--is-ancestor", told[1], here)[0]
        return [f"^{told[1]}"] if known else [f"^{here}^@"]
    return []


def _rows(git: Git, more: Sequence[str], least: int = 0) -> Iterator[_Row]:
    """Read the log, newest first."""
    limit = (f"-n{least}",) if least else ()
    out = git.run("log", "-z", "--raw", "--no-abbrev", *_QUIET, *limit, _FORMAT, *more, "HEAD", "--")
    for fields, changes in history.read_log(out, len(_FIELDS)):
        notes = [
            Blobs(raw.names[0], history.blob_name(raw.old), history.blob_name(raw.new)) for raw in changes
        ]
        yield _row(fields, notes)


def _row(fields: Sequence[str], notes: Sequence[Blobs]) -> _Row:
    revision, when, author, writer, session, reason, review, reviewed, subject = fields
    own = tuple(note for note in notes if names.is_path(note.path) and not is_generated(note.path))
    change = Change(
        revision.strip(),
        datetime.fromtimestamp(int(when), UTC),
        history.last(writer) or "human",
        history.last(session),
        history.last(reason),
        subject,
        history.last(review).startswith("needed"),
        own,
    )
    return _Row(change, author, reviewed.replace("\x1f", " "))


# -- what the policy asks for ------------------------------------------------------------------


def waiting(vault: Vault, may_read: Callable[[str], bool] | None = None) -> list[Waiting]:
    """Give the notes to review, newest first; a note that is gone needs none."""
    found: dict[str, Waiting] = {}
    for change in sorted(changes(vault), key=lambda change: change.when, reverse=True):
        people = {one.path for one in change.later if one.person}
        for note in change.notes if change.needed else ():
            if note.path not in people and (may_read is None or may_read(note.path)):
                day = f"{change.when:%Y-%m-%d}"
                found.setdefault(note.path, Waiting(note.path, change.revision, day, change.writer))
    return [one for one in found.values() if (vault.root / one.path).is_file()]


def findings(vault: Vault) -> list[Finding]:
    """Name the notes that await review by the policy."""
    return [
        Finding(
            "review", one.path, 0, f"{one.writer} changed it on {one.day}, and nobody has looked at it", _FIX
        )
        for one in waiting(vault)
    ]
