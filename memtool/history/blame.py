"""Lines of notes -> who wrote them, when, in which revision, and whether they still stand.

Asks `git blame` once for a note and keeps the answer by the note's blob. Lines that are not committed
yet are told as such. Knows nothing of how lines were found.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import NamedTuple

from memtool.errors import GitError, MemtoolError, PathError
from memtool.git import Git
from memtool.history import history, shortcut
from memtool.history.history import Revision, blob_name, pack, revisions, unpack
from memtool.history.recall import Recall
from memtool.history.verified import covered_lines, verified_line
from memtool.vault import blob

#: Of a note above this, only the lines asked for are looked up.
LARGE = 1_000_000

#: How often HEAD may have moved since a note was last looked at, for the answer to be taken over.
MOVES = 50

_ENTRY = re.compile(rb"^(?P<name>[0-9a-f]{40,64}) \d+ (?P<start>\d+) (?P<count>\d+)$", re.MULTILINE)


class Lines(NamedTuple):
    """Lines to tell of; ``blob`` names the bytes of the note they are lines of."""

    path: str
    blob: str
    start: int
    end: int


class Run(NamedTuple):
    """Neighbouring lines of one revision; None: not committed yet."""

    start: int
    end: int
    revision: Revision | None
    verified: bool = False


class Provenance(NamedTuple):
    """Where some lines come from: the newest revision among them, and each run of lines.

    ``revision`` None: no line is committed yet. Verified: the note was marked as verified after
    the last of these lines was written.
    """

    start: int
    end: int
    revision: Revision | None
    verified: bool
    uncommitted: int  # how many of the lines are not committed yet
    runs: tuple[Run, ...]


class _Blamed(NamedTuple):
    """What is known of one note: (start, end, revision or "") in order, and the line that verifies it."""

    runs: tuple[tuple[int, int, str], ...]
    verified: int  # 0: none
    covered: tuple[int, int] = (0, 0)  # the lines that were verified; (0, 0): none is known


class Blamer:
    """Tells the provenance of lines in one vault, now (*commit* "") or as of a commit."""

    def __init__(self, git: Git, recall: Recall, read: Callable[[str, str], bytes]) -> None:
        """*read* gives the bytes of a note at a commit, "" standing for the file as it is now."""
        self.git, self.recall, self._read = git, recall, read

    def tell(self, lines: Sequence[Lines], *, commit: str = "") -> list[Provenance | None]:
        """Tell the provenance of each, None where the note is not as named; GitError without a git to ask."""
        head = commit or self.git.head().revision or ""
        known = self._blame(lines, head, commit)
        named = self.revisions({run[2] for blamed in known if blamed for run in blamed.runs if run[2]})
        return [
            _provenance(one, blamed, named) if blamed else None
            for one, blamed in zip(lines, known, strict=True)
        ]

    def revisions(self, names: Iterable[str]) -> dict[str, Revision]:
        """Read commits, from what is kept where possible: a commit never changes."""
        names = set(names)
        found = {name: unpack(kept) for name, kept in self.recall.get("revision", names).items()}
        new = revisions(self.git, names - found.keys())
        self.recall.keep("revision", {name: pack(revision) for name, revision in new.items()})
        return found | new

    # -- one note ----------------------------------------------------------------------------

    def _blame(self, lines: Sequence[Lines], head: str, commit: str) -> list[_Blamed | None]:
        known = {one: self._known(one, head, commit) for one in dict.fromkeys(lines)}
        asked: dict[tuple[str, str], Lines] = {}
        for one in (one for one, blamed in known.items() if blamed is None):
            asked.setdefault((one.path, one.blob), one)
        whole = dict(zip(asked, self._ask_all(list(asked.values()), head, commit), strict=True))
        for one, blamed in known.items():
            if blamed is None:
                blamed, is_whole = whole[one.path, one.blob]
                if not is_whole and one != asked[one.path, one.blob]:
                    [(blamed, _)] = self._ask_all([one], head, commit)
                known[one] = blamed
        return [known[one] for one in lines]

    def _ask_all(self, lines: Sequence[Lines], head: str, commit: str) -> list[tuple[_Blamed | None, bool]]:
        """Ask for many notes: the plain ones by one walk, the others one by one, two side by side."""
        texts = [self._text(one, commit) for one in lines]
        whole = {
            one.path: shortcut.Whole(one.blob, _count(data))
            for one, data in zip(lines, texts, strict=True)
            if data and head and len(data) <= LARGE
        }
        told = shortcut.tell(self.git, head, whole) if len(whole) >= shortcut.LEAST else {}

        def ask(one: Lines, data: bytes | None) -> tuple[_Blamed | None, bool]:
            if data is None:
                return None, True
            stamp = verified_line(data)
            covered = covered_lines(data) if stamp else (0, 0)
            if one.path in told:
                return _Blamed(tuple(_merge(told[one.path])), stamp, covered), True
            parts = [(stamp, stamp)] * bool(stamp) + [(one.start, one.end)]
            part = () if len(data) <= LARGE else tuple(f"-L{start},{end}" for start, end in parts)
            return _Blamed(tuple(self._run(one.path, data, head, commit, part)), stamp, covered), not part

        found = (
            list(_side_by_side(ask, lines, texts))
            if len(lines) - len(told) > 2
            else [ask(one, data) for one, data in zip(lines, texts, strict=True)]
        )
        keys = (_key(head, one, whole=is_whole) for one, (_, is_whole) in zip(lines, found, strict=True))
        self.recall.keep("blame", {key: it for key, (it, _) in zip(keys, found, strict=True) if it})
        return found

    def _text(self, lines: Lines, commit: str) -> bytes | None:
        """Read a note; None where it changed since it was named, so that these lines are not in it."""
        try:
            data = self._read(lines.path, commit)
        except PathError:
            return None
        return data if commit or blob(data) == lines.blob else None

    def _run(
        self, path: str, data: bytes, head: str, commit: str, how: tuple[str, ...]
    ) -> list[tuple[int, int, str]]:
        count = _count(data)
        if not head or not count:
            return [(1, count, "")] if count else []
        of, stdin = ((commit,), None) if commit else (("--contents", "-"), data)
        try:
            out = self.git.run("blame", "--incremental", *how, *of, "--", path, stdin=stdin)
        except GitError as error:
            if "no such path" not in error.why:
                raise
            # A note with a new name that git was not told of yet, or a new note.
            path = history.name_of(self.git, head, blob(data), self._is_gone)
            if not path:
                return [(1, count, "")]
            out = self.git.run("blame", "--incremental", *how, head, "--", path)
        return _merge(_entries(out))

    def _is_gone(self, path: str) -> bool:
        try:
            self._read(path, "")
        except MemtoolError as error:
            return isinstance(error, PathError)
        return False

    # -- what was asked before ---------------------------------------------------------------

    def _known(self, lines: Lines, head: str, commit: str) -> _Blamed | None:
        """Find what is kept of these lines, also from before HEAD moved by commits that left them alone."""
        for _ in range(MOVES):
            keys = [_key(head, lines, whole=True), _key(head, lines, whole=False)]
            for kept in self.recall.get("blame", keys).values():
                return _Blamed(tuple((run[0], run[1], run[2]) for run in kept[0]), kept[1], tuple(kept[2]))
            move = None if commit else self._moved(head)
            if not move or lines.path in move[1]:
                return None
            head = move[0]
        return None

    def _moved(self, head: str) -> tuple[str, set[str]] | None:
        """Give the commit asked about before *head*, and the paths touched since; None when unknown."""
        if kept := self.recall.get("move", [head]).get(head):
            return (kept[0], set(kept[1])) if kept[0] else None
        last = self.recall.get("head", [""]).get("", "")
        move = self._between(last, head) if last and head and last != head else None
        self.recall.keep("move", {head: move or ["", []]})
        self.recall.keep("head", {"": head})
        return (move[0], set(move[1])) if move else None

    def _between(self, last: str, head: str) -> tuple[str, list[str]] | None:
        try:
            self.git.run("merge-base", "--is-ancestor", last, head)
            prefix = os.fsencode(self.git.prefix())
            out = self.git.run(
                "log", "-z", "-m", "--no-renames", "--name-only", "--format=", f"{last}..{head}", "--", "."
            )
        except GitError:  # HEAD went elsewhere
            return None
        names = {name.strip(b"\n").removeprefix(prefix) for name in out.split(b"\0")} - {b""}
        return last, [os.fsdecode(name) for name in sorted(names)]


def _side_by_side(
    ask: Callable[[Lines, bytes | None], tuple[_Blamed | None, bool]],
    lines: Sequence[Lines],
    texts: Sequence[bytes | None],
) -> Iterator[tuple[_Blamed | None, bool]]:
    """Ask in two threads: git spends its time in processes of its own."""
    from concurrent.futures import ThreadPoolExecutor

    yield ask(lines[0], texts[0])  # alone: with it GitPython is loaded
    with ThreadPoolExecutor(2) as pool:
        yield from pool.map(ask, lines[1:], texts[1:])


def _count(data: bytes) -> int:
    return data.count(b"\n") + (not data.endswith(b"\n") and bool(data))


def _key(head: str, lines: Lines, *, whole: bool) -> str:
    part = "" if whole else f"{lines.start}-{lines.end}"
    return f"{head}:{lines.blob}:{part}:{lines.path}"


def _entries(out: bytes) -> Iterator[tuple[int, int, str]]:
    for entry in _ENTRY.finditer(out):
        name = entry["name"].decode()
        start = int(entry["start"])
        yield start, start + int(entry["count"]) - 1, blob_name(name)


def _merge(entries: Iterable[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Put runs in order and join neighbours of one revision.

    >>> _merge([(3, 3, "a"), (1, 2, "a"), (4, 5, "b")])
    [(1, 3, 'a'), (4, 5, 'b')]
    """
    merged: list[tuple[int, int, str]] = []
    for start, end, name in sorted(entries):
        if merged and merged[-1][2] == name and merged[-1][1] == start - 1:
            merged[-1] = merged[-1][0], end, name
        else:
            merged.append((start, end, name))
    return merged


# -- telling ---------------------------------------------------------------------------------

_NEVER = datetime.max.replace(tzinfo=UTC)


def _provenance(lines: Lines, blamed: _Blamed, named: Mapping[str, Revision]) -> Provenance:
    by = next((name for start, end, name in blamed.runs if start <= blamed.verified <= end), "")
    stamp = named.get(by)
    stamped = (stamp.when if stamp else _NEVER) if blamed.verified else None
    runs, covered = [], blamed.covered
    for start, end, name in _parted(blamed.runs, covered):
        start, end = max(start, lines.start), min(end, lines.end)
        if start <= end:
            revision = named.get(name)
            when = revision.when if revision else _NEVER
            sound = stamped is not None and when <= stamped
            runs.append(Run(start, end, revision, sound and covered[0] <= start <= covered[1]))
    committed = [run.revision for run in runs if run.revision]
    return Provenance(
        lines.start,
        lines.end,
        max(committed, key=lambda revision: revision.when, default=None),
        bool(runs) and all(run.verified for run in runs),
        sum(run.end - run.start + 1 for run in runs if not run.revision),
        tuple(runs),
    )


def _parted(runs: Iterable[tuple[int, int, str]], covered: tuple[int, int]) -> Iterator[tuple[int, int, str]]:
    """Cut runs of lines where the verified ones begin and end."""
    for start, end, name in runs:
        edges = [edge for edge in (covered[0], covered[1] + 1) if start < edge <= end]
        for first, after in pairwise([start, *edges, end + 1]):
            yield first, after - 1, name
