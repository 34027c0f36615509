"""Changes in order -> one commit each, by a single run of `git fast-import`: where git is plain enough.

No hook, no signing, no conversion of line ends: then a commit is the same however it is made, and many
can be made for the price of one. Where anything is in the way it makes none and says so; `commits`
knows how to go on. The index follows under git's own lock, as `git commit` does it.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from memtool import git_state, names, repository
from memtool.commits import plain_git
from memtool.commits.commit_message import Edit, message
from memtool.git import Git
from memtool.identity import Signature
from memtool.vault import blob

_MOST_PATHS = 500
_LOCK_S = 2.0  # another git command is waited for; what takes longer is told of in the usual way
_PACKED_FROM = 27  # files in one of the 256 folders of loose objects, as git itself estimates


class Ground(NamedTuple):
    """A repository that is plain enough: where git keeps it, and what a commit there says of itself."""

    git: Git
    folder: Path
    prefix: str
    branch: str
    head: str
    author: str
    committer: str


class Made(NamedTuple):
    """One commit that was made."""

    revision: str
    words: str
    by: Signature
    edits: tuple[Edit, ...]


Planned = tuple[Signature, tuple[Edit, ...]]


def survey(git: Git) -> Ground | None:
    """Look at a plain repository as it is now; None where something is under way."""
    tree = git.work_tree()
    head = repository.read_head(tree / ".git") if tree else None
    if tree is None or head is None or not head.branch or len(head.revision or "") == 64:
        return None
    folder = tree / ".git"
    if (
        git_state.under_way(git)
        or git.run("ls-files", "--unmerged", "-z")
        or any(folder.glob("sharedindex.*"))
    ):
        return None
    who = ("-c", "user.useConfigOnly=true", "var")
    told = [git.attempt(*who, f"GIT_{role}_IDENT") for role in ("AUTHOR", "COMMITTER")]
    if any(status for status, _, _ in told):
        return None
    author, committer = (out.decode("utf-8", "surrogateescape").strip() for _, out, _ in told)
    prefix = "" if git.folder == tree else f"{git.folder.relative_to(tree).as_posix()}/"
    return Ground(git, folder, prefix, head.branch, head.revision or "", author, committer)


def standing(ground: Ground, paths: Sequence[str]) -> dict[str, str | None] | None:
    """Tell as which blob each note is committed; None where one of them is somebody else's to commit."""
    if len(paths) > _MOST_PATHS or not all(map(names.is_path, paths)):
        return None
    folders = {folder for path in paths for folder in Path(path).parents}
    if any(plain_git.names_a_conversion(ground.git.folder / folder / ".gitattributes") for folder in folders):
        return None
    known = dict.fromkeys(paths, ("", ""))
    if ground.head:
        out = ground.git.run("ls-tree", "-z", ground.head, "--", *paths)
        for line in filter(None, out.split(b"\0")):
            about, _, raw = line.partition(b"\t")
            mode, _, name = about.decode().split(" ")
            known[os.fsdecode(raw)] = (mode, name)
    states = _states(ground, paths)
    for path, (mode, _) in known.items():
        state = states.get(path, "")
        if mode not in ("", "100644") or not (state[:1] in (" ", "?") if state else mode):
            return None
    return {path: name or None for path, (_, name) in known.items()} if known.keys() == set(paths) else None


def _states(ground: Ground, paths: Sequence[str]) -> dict[str, str]:
    flags = ("--porcelain=v1", "-z", "--no-renames", "--untracked-files=all", "--ignored=traditional")
    out = ground.git.run("status", *flags, "--", *paths)
    start, states = 3 + len(os.fsencode(ground.prefix)), dict[str, str]()
    for line in filter(None, out.split(b"\0")):
        states.setdefault(os.fsdecode(line[start:]), line[:2].decode())
    return states


def read(ground: Ground, name: str) -> bytes:
    """Read a committed blob."""
    return ground.git.run("cat-file", "blob", name)


# Committing


def commit(
    ground: Ground,
    planned: Sequence[Planned],
    *,
    patience_s: float,
    more: Callable[..., list[str]] = lambda *_: [],
) -> list[Made] | None:
    """Make one commit of each, with *more* trailers; None when git would not, and then there is none."""
    words = [message(edits, by, more(edits, by)) for by, edits in planned]
    spare = ground.folder / "memtool-index"
    try:
        if not _lock_index(ground, spare, planned, patience_s):
            return None
        told = _import(ground, planned, words)
        if told is None:
            (ground.folder / "index.lock").unlink(missing_ok=True)
            return None
        os.replace(ground.folder / "index.lock", ground.folder / "index")
    finally:
        spare.unlink(missing_ok=True)
    _pack(ground)
    rows = zip(told, words, planned, strict=True)
    return [Made(revision, text, by, edits) for revision, text, (by, edits) in rows]


def recover(git: Git) -> None:
    """Take away a lock that a killed process of ours left. To be called by the only one who commits."""
    tree = git.work_tree()
    if tree is None or not os.path.lexists(tree / ".git" / "memtool-index"):
        return
    spare, lock = tree / ".git" / "memtool-index", tree / ".git" / "index.lock"
    if lock.exists() and os.path.samefile(spare, lock):
        lock.unlink(missing_ok=True)
    spare.unlink(missing_ok=True)


def _lock_index(ground: Ground, spare: Path, planned: Sequence[Planned], patience_s: float) -> bool:
    """Make the index as it will be, and take git's lock with it; false when another holds on to that."""
    until, index = time.monotonic() + min(patience_s, _LOCK_S), ground.folder / "index"
    while True:
        before = _stat(index)
        _write_index(ground, spare, planned)
        try:
            os.link(spare, ground.folder / "index.lock")
        except FileExistsError:
            age = git_state.lock_age(ground.folder / "index.lock", time.time())
            if time.monotonic() >= until or age > git_state.OLD_LOCK_S:
                return False
            time.sleep(0.02)
            continue
        if _stat(index) == before:
            return True
        (ground.folder / "index.lock").unlink()  # somebody was quicker: once more on what is there now


def _stat(file: Path) -> tuple[int, int, int] | None:
    try:
        it = file.stat()
    except FileNotFoundError:
        return None
    return it.st_mtime_ns, it.st_size, it.st_ino


def _write_index(ground: Ground, spare: Path, planned: Sequence[Planned]) -> None:
    spare.unlink(missing_ok=True)
    if (ground.folder / "index").exists():
        shutil.copyfile(ground.folder / "index", spare)
    last = {edit.path: edit.after for _, edits in planned for edit in edits}
    lines = []
    for path, after in last.items():
        entry = f"100644 {blob(after)}" if after is not None else f"0 {'0' * 40}"
        lines.append(os.fsencode(f"{entry}\t{ground.prefix}{path}\0"))
    said = {"GIT_INDEX_FILE": str(spare)}
    ground.git.run("update-index", "-z", "--index-info", stdin=b"".join(lines), env=said)


def _import(ground: Ground, planned: Sequence[Planned], words: Sequence[str]) -> list[str] | None:
    """Let git write all commits at once and move the branch, unless the branch moved meanwhile."""
    stream = b"".join(_stream(ground, planned, words))
    flags = ("--quiet", "--done", "--date-format=raw")
    status, out, _ = ground.git.attempt("fast-import", *flags, stdin=stream)
    told = out.decode().split()
    return told if not status and len(told) == len(planned) else None


def _stream(ground: Ground, planned: Sequence[Planned], words: Sequence[str]) -> Iterator[bytes]:
    for number, ((_, edits), text) in enumerate(zip(planned, words, strict=True), 1):
        yield f"commit refs/heads/{ground.branch}\nmark :{number}\n".encode("utf-8", "surrogateescape")
        for role, ident in (("author", ground.author), ("committer", ground.committer)):
            yield f"{role} {ident}\n".encode("utf-8", "surrogateescape")
        yield from _data(text.encode("utf-8", "backslashreplace"))
        if number == 1 and ground.head:
            yield f"from {ground.head}\n".encode()
        for edit in edits:
            place = _quoted(ground.prefix + edit.path)
            if edit.after is None:
                yield b"D " + place + b"\n"
            else:
                yield b"M 100644 inline " + place + b"\n"
                yield from _data(edit.after)
        yield f"\nget-mark :{number}\n".encode()
    yield b"done\n"


def _data(data: bytes) -> Iterator[bytes]:
    yield b"data %d\n" % len(data)
    yield data
    yield b"\n"


def _quoted(path: str) -> bytes:
    raw = os.fsencode(path).replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'"' + raw + b'"'


def _pack(ground: Ground) -> None:
    """Let git tidy its objects now and then, as it does after a commit of its own."""
    try:
        loose = len(os.listdir(ground.folder / "objects" / "17"))
    except OSError:
        return
    if loose > _PACKED_FROM:
        ground.git.attempt("gc", "--auto", "--quiet")
