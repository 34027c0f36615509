"""What a person decided about agents' changes <-> ``review.json``, and the commit that says so for all.

Every decision is kept at once, so that a review may end at any moment and go on later. The commit takes
what was fixed and taken back along, and names in ``Memtool-Reviewed:`` what was looked at.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from memtool import atomic, git_state
from memtool.commits import commits
from memtool.commits.commit_report import Commit, CommitReport
from memtool.commits.commits import Ask
from memtool.errors import Finding, GitError
from memtool.git import Git
from memtool.identity import Signature
from memtool.review import reviews
from memtool.staging import Patience
from memtool.vault import Vault

NAME = "review.json"

#: What can be decided, and how it is told of afterwards.
DONE = {"keep": "kept", "fix": "fixed", "verify": "verified", "revert": "reverted"}

_A_ROW = 6  # names in one trailer
_TRIES = 3  # a branch may move while a commit is made


class Verdicts(NamedTuple):
    """Decisions that are in no commit yet: by change, and the notes that changed on the way."""

    decided: dict[str, str]
    paths: tuple[str, ...] = ()

    def told(self) -> str:
        """Say in words what was decided.

        >>> Verdicts({"a": "keep", "b": "keep", "c": "revert"}).told()
        '2 kept, 1 reverted'
        """
        counts = Counter(self.decided.values())
        return ", ".join(f"{counts[one]} {done}" for one, done in DONE.items() if counts[one])


def load(vault: Vault) -> Verdicts:
    """Read what was decided; a file that cannot be read says nothing."""
    try:
        told = json.loads((vault.state / NAME).read_bytes())
        decided = {str(name): str(one) for name, one in told["decided"].items() if one in DONE}
        return Verdicts(decided, tuple(map(str, told["paths"])))
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return Verdicts({})


def save(vault: Vault, verdicts: Verdicts) -> None:
    """Keep what was decided, at once or not at all; nothing decided is no file."""
    place = vault.prepare(vault.state) / NAME
    if not verdicts.decided:
        place.unlink(missing_ok=True)
        return
    text = json.dumps({"decided": verdicts.decided, "paths": verdicts.paths}, indent=1)
    atomic.put(place, text.encode(), mode=atomic.PRIVATE)


def decide(vault: Vault, name: str, verdict: str, paths: Sequence[str] = ()) -> None:
    """Keep one decision, and which notes changed by it."""
    before = load(vault)
    touched = tuple(dict.fromkeys([*before.paths, *paths]))
    save(vault, Verdicts({**before.decided, name: verdict}, touched))


def close(vault: Vault, by: Signature, tip: str, *, patience: Patience) -> CommitReport:
    """Make the one commit of a review; *tip* is the newest revision that was listed.

    What cannot be committed now stays decided, and is committed at the end of the next review.
    """
    verdicts = load(vault)
    if not verdicts.decided:
        return CommitReport()
    rest = [one for one in reviews.changes(vault, decided=verdicts.decided) if _is_older(vault, one, tip)]
    trailers = _trailers(verdicts, "" if rest else tip)
    signed = by._replace(reason=f"review: {verdicts.told()}")
    report = CommitReport()
    if verdicts.paths:
        report = commits.keep(
            vault, Ask(verdicts.paths, signed, again=True, trailers=trailers), patience=patience
        )
    if not report.commits and not report.left and not report.findings:
        report = _mark(vault, verdicts, signed, trailers)
    if report.commits:
        save(vault, Verdicts({}))
    return report


def _is_older(vault: Vault, change: reviews.Change, tip: str) -> bool:
    """Tell a change that was there when the review began."""
    return not Git(vault.root).attempt("merge-base", "--is-ancestor", change.revision, tip)[0]


def _trailers(verdicts: Verdicts, tip: str) -> list[str]:
    if tip:
        return [f"Memtool-Reviewed: {reviews.ALL} {tip}"]
    found = []
    for verdict, done in DONE.items():
        own = [name for name, one in verdicts.decided.items() if one == verdict]
        rows = [own[at : at + _A_ROW] for at in range(0, len(own), _A_ROW)]
        found += [f"Memtool-Reviewed: {done} {' '.join(row)}" for row in rows]
    return found


# -- a commit that changes nothing --------------------------------------------------------------


def _mark(vault: Vault, verdicts: Verdicts, by: Signature, trailers: Sequence[str]) -> CommitReport:
    """Commit what was decided where no note changed; what a person has staged stays as it is."""
    git = Git(vault.root)
    if problem := git.problem() or git_state.under_way(git):
        return CommitReport(findings=(problem,))
    count = len(verdicts.decided)
    subject = f"Review {count} change{'s' * (count > 1)} by agents"
    about = [f"Memtool-Writer: {by.writer}", f"Memtool-Reason: {by.reason}", *trailers]
    words = "\n".join([subject, "", *about]) + "\n"
    try:
        for _ in range(_TRIES):
            if name := _commit(git, words):
                return CommitReport((Commit(name, subject, by.writer, (), words),))
    except GitError as error:
        return CommitReport(
            findings=(Finding("git-failed", ".", 0, f"{error.what}: {error.why}", error.fix),)
        )
    what = "the branch moved while the review was committed"
    return CommitReport(findings=(Finding("commit-busy", ".", 0, what, "run `memtool review` again"),))


def _commit(git: Git, words: str) -> str:
    head = git.head().revision or ""
    status, out, _ = git.attempt("config", "--type=bool", "--get", "commit.gpgsign")
    sign = ("-S",) if not status and out.strip() == b"true" else ()
    settings = ("-c", "user.useConfigOnly=true", "-c", "i18n.commitEncoding=UTF-8")
    status, out, said = git.attempt(
        *settings, "commit-tree", *sign, "-p", head, f"{head}^{{tree}}", stdin=words.encode()
    )
    if status:
        raise GitError("the review cannot be committed", why=said, fix="set user.name and user.email in git")
    name = out.decode().strip()
    with suppress(GitError):
        git.run("update-ref", "-m", "memtool review", "HEAD", name, head)
        return name
    return ""
