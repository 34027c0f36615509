"""A vault -> its diagnosis: a traffic light, every odd state, what it means and what mends it.

One function looks for one state, and `LOOKS` is the table of them. A look that fails is itself a
state: whoever is ill is not sent away. Changes nothing but what is worked out from the notes.
"""

from __future__ import annotations

import os
import posixpath
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from memtool import git_state, heartbeat
from memtool.catalog.cataloguing import CatalogReport
from memtool.checks.checks import Status
from memtool.checks.meanings import Light, meaning
from memtool.commits import commit_ledger
from memtool.errors import EmbedderError, Finding, GitError, MemtoolError, NoteError
from memtool.git import Git
from memtool.history.editions import why_none
from memtool.repository import has_git
from memtool.search.coverage import Coverage
from memtool.vault import Vault

LONG_S = 86_400.0
"""Seconds after which a note that was not committed is more than work in progress."""

_LIGHTS: tuple[Light, ...] = ("green", "yellow", "red")


class Patient:
    """A vault, and what can be asked about it; ``probe`` tries the embedder, None where there is none."""

    def __init__(
        self,
        vault: Vault,
        *,
        status: Status,
        coverage: Callable[[], Coverage],
        check: Callable[[], Sequence[Finding]],
        catalog: Callable[[], CatalogReport],
        probe: Callable[[], object] | None,
        ignore: Sequence[str] = (),
        now: float,
    ) -> None:
        self.vault, self.status, self.coverage = vault, status, coverage
        self.check, self.catalog, self.probe = check, catalog, probe
        self.ignore, self.now = ignore, now
        self.git = Git(vault.root)

    @cached_property
    def has_git(self) -> bool:
        return self.git.problem() is None

    @cached_property
    def changed(self) -> dict[str, str]:
        """Give git's two letters of every path that differs from the last commit."""
        return self.git.states() if self.has_git else {}

    @cached_property
    def notes(self) -> Collection[str]:
        return self.vault.walk(ignore=self.ignore).stats.keys()

    def command(self, words: str, path: str) -> str:
        """Fill in where a command is to be run, and on what."""
        root = shlex.quote(str(self.vault.root))
        return words.format(git=f"git -C {root}", vault=root, path=shlex.quote(path))


class State(NamedTuple):
    """One odd state: where and what, what it means, the command that mends it, and what else to know."""

    code: str
    light: Light
    path: str
    line: int
    what: str
    means: str
    mend: str
    advice: str
    person: bool


class Diagnosis(NamedTuple):
    """All states, the worst first; ``light`` is that of the worst."""

    light: Light
    states: tuple[State, ...]

    @property
    def person(self) -> bool:
        return any(state.person for state in self.states)


def examine(patient: Patient) -> Diagnosis:
    """Look for every odd state there is."""
    found = [_state(patient, finding) for look in LOOKS for finding in _looked(look, patient)]
    states = sorted(dict.fromkeys(found), key=lambda s: (-_LIGHTS.index(s.light), s.code, s.path, s.line))
    return Diagnosis(states[0].light if states else "green", tuple(states))


def _looked(look: Callable[[Patient], Iterable[Finding]], patient: Patient) -> Iterator[Finding]:
    try:
        yield from look(patient)
    except MemtoolError as error:
        name = look.__name__.replace("_", " ")
        yield Finding(
            "look-failed", ".", 0, f"could not look at {name}: {error.what}", error.fix or error.why
        )


def _state(patient: Patient, finding: Finding) -> State:
    told = meaning(finding.code)
    command = patient.command(told.command, finding.path)
    mend, advice = (command, finding.fix) if command else (finding.fix, "")
    where = finding.path, finding.line
    return State(finding.code, told.light, *where, finding.what, told.means, mend, advice, told.person)


# -- the looks -------------------------------------------------------------------------------


def notes_and_index(patient: Patient) -> Iterable[Finding]:
    """Everything that `memtool check` names: notes, links, settings, index, catalog."""
    return patient.check()


def index_behind(patient: Patient) -> Iterator[Finding]:
    """Notes that a watcher should have read; without one, whoever searches reads them first."""
    ahead = patient.status.ahead
    if (ahead.read or ahead.gone) and heartbeat.load(patient.vault.state, patient.now):
        yield Finding("index-behind", ".", 0, f"notes waiting: {ahead.read} to read, {ahead.gone} gone")


def vectors_behind(patient: Patient) -> Iterator[Finding]:
    if patient.status.embedder == "none":
        yield Finding("vectors-off", ".", 0, "the embedder is switched off")
        return
    with suppress(EmbedderError):  # there is a look for that
        have, want = patient.coverage()[:2]
        if have < want:
            yield Finding("vectors-behind", ".", 0, f"{have} of {want} texts have a vector")


def embedder(patient: Patient) -> Iterator[Finding]:
    if patient.probe is None:
        return
    try:
        patient.probe()
    except MemtoolError as error:
        what = error.what + (f": {error.why}" if error.why else "")
        yield Finding("embedder-unreachable", ".", 0, what, error.fix)


def catalog(patient: Patient) -> Iterator[Finding]:
    try:
        report = patient.catalog()
    except NoteError:
        return  # the check of notes tells of it
    for path in report.changed:
        yield Finding("catalog-stale", path, 0, "is not up to date")
    for path in report.stale:
        yield Finding("catalog-left", path, 0, "nothing leads to this generated page any more")


def watcher(patient: Patient) -> Iterator[Finding]:
    sign = heartbeat.load(patient.vault.state, patient.now)
    if sign and sign.state != "alive":
        code = "watcher-died" if sign.state == "died" else "watcher-silent"
        what = f"the watcher's last sign of life is {sign.minutes} min old (process {sign.pid})"
        yield Finding(
            code, ".", 0, what, f"see what process {sign.pid} is doing" if code == "watcher-silent" else ""
        )
    elif not sign and (patient.vault.state / heartbeat.NAME).exists():
        yield Finding("watcher-died", ".", 0, "the watcher's last sign of life cannot be read")


def repository(patient: Patient) -> Iterator[Finding]:
    """No repository, no git, one that git does not trust, one without a commit."""
    if problem := why_none(patient.git):
        yield problem


def under_way(patient: Patient) -> Iterator[Finding]:
    """A merge, a rebase, a bisect, a pick."""
    if patient.has_git and (step := git_state.under_way(patient.git)):
        yield step


def unmerged(patient: Patient) -> Iterator[Finding]:
    for path, state in patient.changed.items():
        if found := git_state.unmerged({path: state}):
            yield found


def detached(patient: Patient) -> Iterator[Finding]:
    """No branch; a rebase and a bisect detach HEAD for as long as they last."""
    if why_none(patient.git) or git_state.under_way(patient.git):
        return
    if found := git_state.detached(patient.git):
        yield found


def locks(patient: Patient) -> Iterator[Finding]:
    folder = git_state.git_folder(patient.git) if patient.has_git else patient.vault.root
    for file in (folder / "index.lock", folder / "HEAD.lock"):
        if patient.has_git and file.exists():
            old = git_state.lock_age(file, patient.now) > git_state.OLD_LOCK_S
            yield git_state.lock_finding(file, patient.now)._replace(code="git-lock" if old else "git-busy")


def identity(patient: Patient) -> Iterator[Finding]:
    """Whether git knows a name and an address, without making them up from the machine's."""
    try:
        for name in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT") if patient.has_git else ():
            patient.git.run("-c", "user.useConfigOnly=true", "var", name)
    except GitError:
        fix = 'git config --global user.name "Your Name" && git config --global user.email "you@example.com"'
        yield Finding("git-identity", ".", 0, "git does not know who you are", fix)


def ignored(patient: Patient) -> Iterator[Finding]:
    arguments = ("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--", ".")
    out = patient.git.run(*arguments) if patient.has_git else b""
    for path in map(os.fsdecode, out.split(b"\0")):
        if path in patient.notes:
            yield Finding("git-ignored", path, 0, "git is told to ignore it")


def elsewhere(patient: Patient) -> Iterator[Finding]:
    """Notes of another repository inside the vault: submodules, and clones that were put there."""
    for folder in sorted({posixpath.dirname(path) for path in patient.notes} - {""}):
        if has_git(patient.vault.root / folder):
            yield Finding("git-elsewhere", folder, 0, "is a repository of its own")


def waiting_long(patient: Patient) -> Iterator[Finding]:
    """New and changed notes that nobody committed for a day."""
    for path, state in patient.changed.items():
        age = _age(patient.vault.root / path, patient.now)
        if path in patient.notes and age > LONG_S:
            code, what = ("git-untracked", "is new") if state == "??" else ("git-uncommitted", "has edits")
            yield Finding(code, path, 0, f"{what} and was not committed for {git_state.spoken(age)}")


def hidden(patient: Patient) -> Iterator[Finding]:
    """Notes whose changes git was told not to see."""
    out = patient.git.run("ls-files", "-z", "-v", "--", ".") if patient.has_git else b""
    for line in out.split(b"\0"):
        mark, path = line[:1].decode(), os.fsdecode(line[2:])
        if (mark.islower() or mark == "S") and path in patient.notes:
            flag = "--no-skip-worktree" if mark.upper() == "S" else "--no-assume-unchanged"
            fix = patient.command(f"{{git}} update-index {flag} -- {{path}}", path)
            yield Finding("git-hidden", path, 0, "git does not look whether it changed", fix)


def held(patient: Patient) -> Iterator[Finding]:
    for path in commit_ledger.load(patient.vault).held:
        yield Finding("git-held", path, 0, "a hook refused to commit it")


def shallow(patient: Patient) -> Iterator[Finding]:
    if patient.has_git and patient.git.run("rev-parse", "--is-shallow-repository").strip() == b"true":
        yield Finding("git-shallow", ".", 0, "this clone holds only the newest part of the history")


LOOKS: tuple[Callable[[Patient], Iterable[Finding]], ...] = (
    notes_and_index,
    index_behind,
    vectors_behind,
    embedder,
    catalog,
    watcher,
    repository,
    under_way,
    unmerged,
    detached,
    locks,
    identity,
    ignored,
    elsewhere,
    waiting_long,
    hidden,
    held,
    shallow,
)


def _age(file: Path, now: float) -> float:
    try:
        return now - file.stat().st_mtime
    except OSError:
        return 0.0
