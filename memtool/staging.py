"""Paths of notes -> a commit of exactly these: the git commands that do it.

`git commit --only` takes the named paths from the work tree and leaves everything a person has staged
where it is. Hooks, signing, attributes and ignore rules are git's, as they are configured; what git
refuses stays on disk and comes back as a finding.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from memtool import git_state
from memtool.errors import Finding
from memtool.git import Git
from memtool.identity import WRITER_VARIABLE

_IDENTITY = re.compile(
    r"auto-detection is disabled|[Pp]lease tell me who you are|empty ident name|ident name consists only"
)
_SIGNING = re.compile(r"failed to sign the data|gpg failed|failed to write commit object|ssh-keygen|signing")
_EMPTY = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"  # stands for a path git was only told of
_HOOKS = ("pre-commit", "prepare-commit-msg", "commit-msg")
_NOTHING = re.compile(r"nothing (?:added )?to commit|no changes added to commit")


class Outcome(NamedTuple):
    """What came of one commit: its revision, or why there is none (both empty: nothing had changed)."""

    revision: str = ""
    problem: Finding | None = None


class Patience(NamedTuple):
    """How to wait for a lock of git's: how long, and with what; the clock tells its age."""

    seconds: float
    sleep: Callable[[float], None]
    clock: Callable[[], float]


# What differs


def differing(git: Git, known: Mapping[str, str]) -> dict[str, str]:
    """Tell git's letters of all that differs from the last commit, what its stat check misses included.

    *known* names the bytes on disk: path to object id.
    """
    states = git.states()
    if unseen := _unseen(git, {path: blob for path, blob in known.items() if path not in states}):
        _distrust(git, unseen)
        states |= git.states()
    return states


def _unseen(git: Git, known: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Find notes whose bytes differ from the index though git takes their stat for unchanged."""
    if not known:
        return {}
    entries = _entries(git)
    other = [path for path, blob in known.items() if path in entries and entries[path][1] != blob]
    return {path: entries[path] for path, blob in _hashed(git, other) if blob != entries[path][1]}


def _entries(git: Git) -> dict[str, tuple[str, str]]:
    """List mode and object id of every path in the index below the folder.

    Paths that a person told git to take for unchanged, or left out of a sparse checkout, are not there.
    """
    entries: dict[str, tuple[str, str]] = {}
    for line in filter(None, git.run("ls-files", "-v", "--stage", "-z", "--", ".").split(b"\0")):
        about, _, path = line.partition(b"\t")
        tag, mode, blob, stage = about.decode().split(" ")
        if stage == "0" and tag == "H":
            entries[os.fsdecode(path)] = (mode, blob)
    return entries


def _hashed(git: Git, paths: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Name each note as git would store it: line ends and filters as its attributes say."""
    there = [path for path in paths if os.path.isfile(git.folder / path)]
    tree = git.work_tree()
    if not there or tree is None:
        return
    # Names are read from the root, so that attributes of any folder fit them.
    names = b"".join(_quoted(git.prefix() + path) + b"\n" for path in there)
    out = Git(tree).run("hash-object", "--stdin-paths", stdin=names)
    yield from zip(there, out.decode().split("\n"), strict=False)


def _quoted(path: str) -> bytes:
    raw = os.fsencode(path)
    if not raw.startswith(b'"') and b"\n" not in raw:
        return raw
    return b'"' + raw.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'


def _distrust(git: Git, entries: Mapping[str, tuple[str, str]]) -> None:
    """Make git look at the bytes of these again: an entry set by its object id carries no stat."""
    prefix = git.prefix()
    lines = [os.fsencode(f"{mode} {blob}\t{prefix}{path}\0") for path, (mode, blob) in entries.items()]
    git.run("update-index", "-z", "--index-info", stdin=b"".join(lines))


def committed(git: Git, paths: Sequence[str]) -> dict[str, bytes]:
    """Read the notes as they stand in the index; those that are not there are left out."""
    entries = _entries(git) if paths else {}
    names = {path: entries[path][1] for path in paths if path in entries}
    texts = dict(git.blobs(names.values()))
    return {path: texts[name] for path, name in names.items() if name in texts}


def tracked(git: Git) -> Iterator[str]:
    """List what git knows of below the folder."""
    return iter(_entries(git))


def ignored(git: Git, paths: Collection[str]) -> set[str]:
    """Pick the paths that git is told to ignore."""
    if not paths:
        return set()
    names = b"".join(os.fsencode(path) + b"\0" for path in paths)
    # Its names on standard input are no patterns, and it refuses to be told so.
    told = {"GIT_LITERAL_PATHSPECS": "0"}
    status, out, _ = git.attempt("check-ignore", "-z", "--stdin", stdin=names, env=told)
    return {os.fsdecode(path) for path in out.split(b"\0") if path} if not status else set()


# Committing


def commit(
    git: Git, states: Mapping[str, str], message: str, *, patience: Patience, writer: str = ""
) -> Outcome:
    """Commit exactly the paths of *states*, as they are on disk; hooks are told the *writer*."""
    with _lists(states, message) as (every, new, words):
        said = ""
        if new:
            # Only so that `--only` knows them: the bytes are not staged.
            status, said = _patiently(git, ("add", "--intent-to-add", *_from(new)), patience)
            if status:
                return Outcome(problem=_refused(git, status, said, patience))
        arguments = ("commit", "--quiet", "--only", "--cleanup=whitespace", "-F", str(words), *_from(every))
        # Without this git makes an identity up from the names of user and host.
        settings = ("-c", "user.useConfigOnly=true", "-c", "i18n.commitEncoding=UTF-8")
        status, said = _patiently(git, (*settings, *arguments), patience, {WRITER_VARIABLE: writer})
        if status:
            _forget(git, [path for path, state in states.items() if state == "??"])
            return (
                Outcome()
                if _NOTHING.search(said.lower())
                else Outcome(problem=_refused(git, status, said, patience))
            )
        _follow_hooks(git, every)
    return Outcome(git.run("rev-parse", "HEAD").decode().strip())


@contextmanager
def _lists(states: Mapping[str, str], message: str) -> Iterator[tuple[Path, Path | None, Path]]:
    """Write paths and message where git reads them: a command line has an end, and options on it."""
    with tempfile.TemporaryDirectory(prefix="memtool-commit-") as folder:
        every, new, words = (Path(folder) / name for name in ("every", "new", "message"))
        every.write_bytes(_specs(states))
        fresh = [path for path, state in states.items() if state == "??"]
        new.write_bytes(_specs(fresh))
        words.write_text(message, encoding="utf-8", errors="backslashreplace")
        yield every, new if fresh else None, words


def _specs(paths: Collection[str]) -> bytes:
    return b"".join(b":(literal)" + os.fsencode(path) + b"\0" for path in paths)


def _from(file: Path) -> tuple[str, str]:
    return f"--pathspec-from-file={file}", "--pathspec-file-nul"


def _patiently(
    git: Git, arguments: Sequence[str], patience: Patience, env: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """Run git again, after ever longer waits, while another git holds a lock."""
    waited, pause = 0.0, 0.05
    while True:
        status, said = git.act(*arguments, env=env)
        lock = git_state.held_lock(said) if status else None
        if not status or not (lock or git_state.was_overtaken(said)) or waited >= patience.seconds:
            return status, said
        if lock and git_state.lock_age(lock, patience.clock()) > git_state.OLD_LOCK_S:
            return status, said
        patience.sleep(pause)
        waited, pause = waited + pause, min(pause * 2, 1.0)


def _forget(git: Git, paths: Sequence[str]) -> None:
    """Make notes that were new to git new again, unless somebody staged them meanwhile."""
    still = git.states()
    names = [os.fsencode(path) + b"\0" for path in paths if still.get(path) == " A"]
    if names:
        git.attempt("update-index", "--force-remove", "-z", "--stdin", stdin=b"".join(names))


def _follow_hooks(git: Git, paths: Path) -> None:
    """Let the index follow a hook that changed what was committed; git leaves it as it was before."""
    with_paths = ("diff-index", "--cached", "--quiet", "HEAD")
    status, _, _ = (
        git.attempt(*with_paths, "--", *_plain(paths)) if paths.stat().st_size < 60_000 else (1, b"", "")
    )
    if status:
        git.act("reset", "--quiet", *_from(paths))


def _plain(paths: Path) -> list[str]:
    return [os.fsdecode(spec.removeprefix(b":(literal)")) for spec in paths.read_bytes().split(b"\0") if spec]


def finish(git: Git, head: str, paths: Sequence[str]) -> None:
    """Let the index follow commits after *head* whose git was killed before it could do that itself.

    Else the old text of these paths would look as if a person had staged it. What differs from the
    old text was staged since, and stays.
    """
    now = git.head().revision
    if not head or now == head or git.attempt("merge-base", "--is-ancestor", head, "HEAD")[0]:
        return
    index, old = _entries(git), dict[str, str]()
    for line in filter(None, git.run("ls-tree", "-r", "-z", head, "--", ".").split(b"\0")):
        about, _, path = line.partition(b"\t")
        old[os.fsdecode(path)] = about.decode().split(" ")[2]
    left = [path for path in paths if index.get(path, ("", None))[1] in (old.get(path), _EMPTY)]
    if left:
        with _lists(dict.fromkeys(left, ""), "") as (every, _, _):
            git.act("reset", "--quiet", *_from(every))


# What git refused


def _refused(git: Git, status: int, said: str, patience: Patience) -> Finding:
    """Turn a refusal into a finding: what is in the way, and the command that mends it."""
    if status == 1 and has_hooks(git):  # git's own refusals to commit end with 128
        what = f"a hook refused the commit; the notes are kept. {said or 'It said nothing.'}"
        return Finding("git-hook", ".", 0, what, "mend what it names; the next change tries again")
    if lock := git_state.held_lock(said):
        return git_state.lock_finding(lock, patience.clock())
    if _IDENTITY.search(said):
        what = "git does not know who you are, so nothing is committed; the notes are kept"
        fix = 'git config --global user.name "Your Name" && git config --global user.email "you@example.com"'
        return Finding("git-identity", ".", 0, what, fix)
    if _SIGNING.search(said):
        what = f"the commit could not be signed; the notes are kept. {said}"
        return Finding(
            "git-signing", ".", 0, what, "run `git commit` there once to see what signing asks for"
        )
    return git.explain(said)


def has_hooks(git: Git) -> bool:
    """Tell whether a hook has a say in commits here."""
    place = os.fsdecode(git.run("rev-parse", "--git-path", "hooks").removesuffix(b"\n"))
    # A `core.hooksPath` that is not absolute counts from the root of the work tree.
    folders = {git.folder / place, (git.work_tree() or git.folder) / place}
    return any(os.access(folder / name, os.X_OK) for folder in folders for name in _HOOKS)
