"""Arguments -> parsed git output: the git command, driven through GitPython.

Knows that git is a command, how its environment is kept clean, and what a repository looks like on
disk, so that the usual questions (is there one, which revision) need no command at all. Everything
works without git; `problem` says what is missing and how to mend it.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from memtool.errors import Finding, GitError
from memtool.repository import Head, find_work_tree, read_head

if TYPE_CHECKING:
    from git.cmd import Git as Command

# A hook is run with these set for the repository it belongs to, which need not be the vault's.
LOCATING = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_GRAFT_FILE",
    "GIT_SHALLOW_FILE",
    "GIT_REPLACE_REF_BASE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_EXTERNAL_DIFF",
    "GIT_DIFF_OPTS",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
    "GIT_TRACE",
    "GIT_TRACE2",
    "GIT_TRACE2_EVENT",
)
_ENVIRONMENT = {
    "LC_ALL": "C",
    "LANGUAGE": "C",
    "GIT_TERMINAL_PROMPT": "0",  # never ask: nobody may be there to answer
    "GIT_OPTIONAL_LOCKS": "0",  # reading leaves the index alone
    "GIT_LITERAL_PATHSPECS": "1",  # a note may be called `*.md` or `:(top)x.md`
    "GIT_PAGER": "cat",
}
# A repository's own configuration can name a command here; a vault must not run one by being read.
_SETTINGS = ("-c", "core.quotepath=off", "-c", "core.fsmonitor=false", "-c", "color.ui=false")


class Git:
    """The git command, run in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def problem(self) -> Finding | None:
        """Say why there is no history here, and how to get it; ``None`` when there is one."""
        if not _is_installed():
            fix = "install git; notes are read and searched without it"
            return _problem("git-missing", "git is not installed or not on PATH, so there is no history", fix)
        status, out, error = self.attempt("rev-parse", "--is-inside-work-tree")
        if status:
            return self.explain(error)
        if out.strip() == b"true":
            return None
        return _problem("git-bare", "this is a git repository without a work tree", "use a clone of it")

    def work_tree(self) -> Path | None:
        """Give the root of the work tree around the folder; ``None`` when there is none."""
        return find_work_tree(self.folder)

    def head(self) -> Head:
        """Tell revision and branch, from git's files where they are plain, else by asking git."""
        tree = self.work_tree()
        if tree is None:
            return Head(None, None)
        return read_head(tree / ".git") or self._ask_head()

    def prefix(self) -> str:
        """Give where the folder lies in its work tree: "" at the root, else with a slash at the end."""
        return os.fsdecode(self.run("rev-parse", "--show-prefix").removesuffix(b"\n"))

    def states(self) -> dict[str, str]:
        """Tell git's two letters (index, work tree) of what differs below the folder; paths as in the vault.

        New files are told one by one, a rename as one path gone and one new.
        """
        arguments = (
            "--porcelain=v1",
            "-z",
            "--no-renames",
            "--untracked-files=all",
            "--ignore-submodules=all",
        )
        out = self.run("status", *arguments, "--", ".")
        start, states = 3 + len(os.fsencode(self.prefix())), dict[str, str]()
        for line in filter(None, out.split(b"\0")):
            # A file taken out of the index only is told twice: gone there, and then as new.
            states.setdefault(os.fsdecode(line[start:]), line[:2].decode())
        return states

    def changed(self) -> list[str]:
        """List what differs from the last commit below the folder, new files too; paths as in the vault."""
        return sorted(self.states())

    def init(self) -> None:
        """Make the folder a repository; in one that is there already nothing changes."""
        self.run("init", "--quiet")

    def run(self, *arguments: str, stdin: bytes | None = None, env: Mapping[str, str] | None = None) -> bytes:
        """Run git and give its output. GitError with git's own words when it fails."""
        if not _is_installed():
            raise GitError("git is not installed or not on PATH", fix="install git")
        status, out, error = self.attempt(*arguments, stdin=stdin, env=env)
        if status:
            problem = self.explain(error)
            raise GitError(
                f"`git {arguments[0]}` failed in `{self.folder}`", why=problem.what, fix=problem.fix
            )
        return out

    def blobs(self, names: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Give the bytes of each blob; one that this clone does not hold is left out."""
        wanted = list(dict.fromkeys(names))
        for at in range(0, len(wanted), 500):
            asked = "\n".join([*wanted[at : at + 500], ""])
            yield from _blobs(self.run("cat-file", "--batch", stdin=os.fsencode(asked)))

    def act(self, *arguments: str, env: Mapping[str, str] | None = None) -> tuple[int, str]:
        """Run git as its user does, hooks and signing included; give its exit code and what it said.

        Hooks get the environment they know: their patterns are patterns, their language is the user's.
        """
        known = {
            "LC_ALL": os.environ.get("LC_ALL", ""),
            "LANGUAGE": "C",
            "GIT_TERMINAL_PROMPT": "0",
            **(env or {}),
        }
        status, out, error = self._execute(("-c", "core.fsmonitor=false", *arguments), known, None)
        return status, error.strip() or out.decode(errors="replace").strip()

    def attempt(
        self, *arguments: str, stdin: bytes | None = None, env: Mapping[str, str] | None = None
    ) -> tuple[int, bytes, str]:
        """Run git and give exit code, output and what it said, failed or not."""
        return self._execute((*_SETTINGS, *arguments), {**_ENVIRONMENT, **(env or {})}, stdin)

    def _execute(
        self, arguments: Sequence[str], environment: Mapping[str, str], stdin: bytes | None
    ) -> tuple[int, bytes, str]:
        with _stream(stdin) as stream:
            status, out, error = _command(self.folder).execute(
                [*_program(), *arguments],
                with_extended_output=True,
                with_exceptions=False,
                stdout_as_string=False,
                strip_newline_in_stdout=False,
                istream=stream,
                env=dict(environment),
            )
        return status, out, error if isinstance(error, str) else error.decode(errors="replace")

    def explain(self, error: str) -> Finding:
        """Turn what git said into a finding with its way out."""
        if "dubious ownership" in error:
            import shlex

            owned = re.search(r"in repository at '(.+)'", error)
            tree = owned[1] if owned else str(self.work_tree() or self.folder)
            what = f"git does not trust `{tree}`, which belongs to another user, so history is off"
            # Whether to trust it is for a person to decide: memtool never edits the user's settings.
            fix = f"git config --global --add safe.directory {shlex.quote(tree)}"
            return _problem("git-ownership", what, fix)
        if "not a git repository" in error:
            what = "this folder is in no git work tree, so there is no history"
            if any(os.path.lexists(above / ".git") for above in (self.folder, *self.folder.parents)):
                what = f"git cannot use the repository here: {error}"
            return _problem("git-none", what, "run `memtool init` or `git init` there")
        if "bare repository" in error or "must be run in a work tree" in error:
            return _problem("git-bare", "this is a git repository without a work tree", "use a clone of it")
        return _problem("git-failed", f"git failed: {error}", "run `git status` there and mend what it says")

    def _ask_head(self) -> Head:
        status, out, _ = self.attempt("rev-parse", "--verify", "--quiet", "HEAD")
        revision = out.decode().strip() if not status else None
        status, out, _ = self.attempt("symbolic-ref", "--quiet", "--short", "HEAD")
        return Head(revision, os.fsdecode(out).strip() if not status else None)


def _blobs(out: bytes) -> Iterator[tuple[str, bytes]]:
    at = 0
    while at < len(out):
        end = out.index(b"\n", at)
        head = out[at:end].split(b" ")
        at = end + 1
        if head[-1] == b"missing":
            continue
        size = int(head[2])
        yield head[0].decode(), out[at : at + size]
        at += size + 1


def _problem(code: str, what: str, fix: str) -> Finding:
    return Finding(code, ".", 0, what, fix)


# The command


@contextmanager
def _stream(stdin: bytes | None) -> Iterator[BinaryIO | None]:
    """Give *stdin* as a file: a pipe that nobody empties while we fill it would wait for ever."""
    if stdin is None:
        yield None
        return
    import tempfile

    with tempfile.TemporaryFile() as file:
        file.write(stdin)
        file.seek(0)
        yield cast(BinaryIO, file)


def _is_installed() -> bool:
    import shutil

    return shutil.which("git") is not None


def _program() -> Sequence[str]:
    """Name the command to run; GitPython can add to the environment but not take from it, `env` can."""
    present = [name for name in LOCATING if name in os.environ]
    return ["env", *(part for name in present for part in ("-u", name)), "git"] if present else ["git"]


def _command(folder: Path) -> Command:
    # Imported late: on import it runs `git version`, and raises where that fails unless told to be quiet.
    if "git.cmd" not in sys.modules:
        quiet = {name: value for name, value in os.environ.items() if name not in LOCATING}
        with _environment(quiet | {"GIT_PYTHON_REFRESH": "quiet"}):
            import git.cmd  # noqa: F401
    from git.cmd import Git as Command

    return Command(str(folder))


@contextmanager
def _environment(wanted: Mapping[str, str]) -> Iterator[None]:
    """Set this process's environment for a moment, and put back what was there."""
    before = dict(os.environ)
    try:
        for name in before.keys() - wanted.keys():
            del os.environ[name]
        os.environ.update(wanted)
        yield
    finally:
        for name in os.environ.keys() - before.keys():
            del os.environ[name]
        os.environ.update(before)
