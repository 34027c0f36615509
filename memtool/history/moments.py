"""A WHEN as people type it -> the commit it means.

A day or a time means the last commit until then on the first-parent history of HEAD; all else is
whatever git understands: a commit, a tag, a branch, ``HEAD~3``.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from memtool.errors import UsageError
from memtool.git import Git
from memtool.history.history import Revision, revisions
from memtool.tense.dates import get_date

_DAY = re.compile(r"(?P<year>\d{4})(?:[-/.](?P<month>\d{1,2})(?:[-/.](?P<day>\d{1,2}))?)?")
_DATE_LIKE = re.compile(r"\d{4}(?:[-/.年]|$)")


def last_second(text: str) -> datetime | None:
    """Give the last whole second that *text* means, in UTC; None when it is no date.

    >>> last_second("2026-02").isoformat(), last_second("2026-02-01T10:30+09:00").isoformat()
    ('2026-02-28T23:59:59+00:00', '2026-02-01T01:30:00+00:00')
    """
    if not _DATE_LIKE.match(text):
        return None
    begin = get_date(text)
    day = _DAY.fullmatch(text.strip())
    if begin is None or not day:
        return begin
    try:
        return _next(begin, day) - timedelta(seconds=1)
    except (ValueError, OverflowError):  # the last year there is
        return begin


def _next(begin: datetime, day: re.Match[str]) -> datetime:
    if day["day"]:
        return begin + timedelta(days=1)
    if day["month"]:
        return (begin + timedelta(days=31)).replace(day=1)
    return begin.replace(year=begin.year + 1)


def find(git: Git, when: str) -> Revision:
    """Find the commit that *when* means. UsageError when there is none, with what there is."""
    until = last_second(when)
    name = _last_until(git, when, until) if until else _named(git, when)
    return revisions(git, [name])[name]


def _named(git: Git, when: str) -> str:
    name = ask(git, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{when}^{{commit}}")
    if not name:
        raise UsageError(
            f"there is no revision {when!r}",
            why="it is neither a commit, a tag, a branch nor a date here",
            fix="write a name as `git log` prints it, HEAD~3, or a day as in 2026-03-01",
        )
    return name


def _last_until(git: Git, when: str, until: datetime) -> str:
    # Epoch seconds before 1970 are no ages that git takes.
    age = max(0, int(until.timestamp()))
    name = ask(git, "rev-list", "--first-parent", "--max-count=1", f"--min-age={age}", "HEAD", "--")
    if name:
        return name
    first = ask(git, "rev-list", "--first-parent", "--max-parents=0", "HEAD", "--").split("\n")[-1]
    if not first:
        raise UsageError(
            f"nothing is known of {when}", why="nothing was committed yet", fix="run `git commit` first"
        )
    shallow = ask(git, "rev-parse", "--is-shallow-repository") == "true"
    begun = revisions(git, [first])[first].when.astimezone(UTC)
    raise UsageError(
        f"there was no commit until {when}",
        why=f"the first that this {'shallow clone' if shallow else 'branch'} holds is {first[:7]} "
        f"of {begun:%Y-%m-%d %H:%M} UTC",
        fix="run `git fetch --unshallow`, or ask for a later day" if shallow else "ask for a later day",
    )


def ask(git: Git, *arguments: str) -> str:
    """Ask git for one word; "" when it has none to give, VaultError when git itself cannot be used."""
    from memtool.errors import VaultError

    try:
        return git.run(*arguments).decode(errors="replace").strip()
    except VaultError:
        if problem := git.problem():
            raise VaultError(problem.what, fix=problem.fix) from None
        return ""
