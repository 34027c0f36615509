"""An open vault -> its past: searched, shown, compared, and told line by line who wrote it.

Joins the rooms that ask git. Each method hands its work to one of them; what is kept of git's
answers lies in the cache and may be deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from memtool import repository
from memtool.answer import answering
from memtool.answer.answer import Answer
from memtool.beliefs import beliefs
from memtool.derived import Derived
from memtool.errors import ConflictError, GitError, MemtoolError, PathError, PolicyError, UsageError
from memtool.git import Git
from memtool.history import history, nested
from memtool.history.blame import Blamer, Lines, Provenance
from memtool.history.history import Revision
from memtool.history.recall import Recall
from memtool.note.anchor import Anchor
from memtool.past.asof import AsOf
from memtool.search.query import Query
from memtool.vault import blob

if TYPE_CHECKING:
    from memtool.history.timeline import Event, Version
    from memtool.past.since import Since


class Difference(NamedTuple):
    """Two versions of a note, and what differs as a unified diff."""

    old: str
    new: str
    lines: list[str]


class Past:
    """The past of one vault."""

    def __init__(self, derived: Derived, require_read: Callable[[str], None] = lambda path: None) -> None:
        self.derived, self.vault, self.require_read = derived, derived.vault, require_read
        self.git = Git(self.vault.root)
        cache = self.vault.cache
        self.recall = Recall(cache / "history.sqlite3", lambda: self.vault.prepare(cache))
        self.asof = AsOf(derived, self.git, self.recall)
        self.blamer = Blamer(self.git, self.recall, self._read)

    def close(self) -> None:
        self.recall.close()

    def _read(self, path: str, commit: str) -> bytes:
        return history.note_at(self.git, commit, path) if commit else self.vault.read(path)

    def _lines(self, path: str, commit: str = "") -> tuple[str, ...]:
        return _parse(self._read(path, commit))

    def _names(self, path: str) -> list[str]:
        """List the names a note had, newest first; none where git knows no such note."""
        from memtool.history.editions import editions

        return list(dict.fromkeys(edition.path for edition in editions(self.git, path)))

    # -- as of a moment ----------------------------------------------------------------------

    def search(self, query: Query, when: str, *, blame: bool = False) -> Answer:
        """Answer *query* from the vault as it was."""
        moment = self.asof.find(when)
        past, look = self.asof.open(moment, embed=query.mode != "lexical")
        try:
            query = query._replace(now=query.now or f"{moment.revision.when:%Y-%m-%d}")
            answer = answering.answer(
                past, query, look=look, revision=moment.revision.revision, leanings=beliefs.leanings(query)
            )
            answer.freshness = answer.freshness._replace(as_of=str(moment))
            if blame:
                self.add_provenance(answer, past, commit=moment.revision.revision)
            return answer
        finally:
            past.close()

    def show(self, anchor: Anchor, when: str) -> tuple[str, ...]:
        """Give all lines of a note as it was; raises PathError with the name it had, where it had another."""
        self.require_read(anchor.path)
        commit = self.asof.find(when).revision.revision
        try:
            return self._lines(anchor.path, commit)
        except PathError as error:
            tree = history.tree(self.git, commit)
            if other := next((path for path in self._names(anchor.path) if path in tree), ""):
                fix = f"run `memtool show {other} --as-of {when}`"
                raise PathError(error.what, why=f"it was called `{other}` then", fix=fix) from None
            raise

    # -- who wrote it ------------------------------------------------------------------------

    def add_provenance(self, answer: Answer, derived: Derived, *, commit: str = "") -> None:
        """Tell of each hit who wrote the lines that are shown; where that cannot be told, say why."""
        blobs = derived.index.blobs([hit.path for hit in answer])
        lines = [Lines(hit.path, blobs.get(hit.path, ""), *hit.focus) for hit in answer]
        try:
            self._need_git()
            told = self._tell(lines, commit)
        except MemtoolError as error:
            fix = f" (fix: {error.fix})" if error.fix else ""
            _remark(answer, f"no provenance: {error.why or error.what}{fix}")
            return
        if changed := [hit.path for hit, one in zip(answer, told, strict=True) if one is None]:
            _remark(answer, f"no provenance of {', '.join(changed)}: changed since it was read")
        if told_of := self.remark(run.revision for one in told if one for run in one.runs):
            _remark(answer, told_of)
        answer[:] = [hit._replace(provenance=one) for hit, one in zip(answer, told, strict=True)]

    def provenance(self, lines: Sequence[Lines]) -> list[Provenance | None]:
        """Tell of lines of notes as they are now who wrote them; None for a note that changed meanwhile."""
        self._need_git()
        return self._tell(lines, "")

    def writers(self, anchors: Sequence[Anchor], derived: Derived) -> list[Provenance | None]:
        """Tell of each anchor who wrote its lines; None where that cannot be told."""
        blobs = derived.index.blobs([anchor.path for anchor in anchors])
        self._need_git()
        return self._tell(
            [Lines(one.path, blobs.get(one.path, ""), one.start, one.end) for one in anchors], ""
        )

    def _tell(self, lines: Sequence[Lines], commit: str) -> list[Provenance | None]:
        """Ask each repository about its own notes; the vault's own past holds no notes of others."""
        told: dict[Lines, Provenance | None] = {}
        homes = {} if commit else {one: nested.home(self.git, self.vault.root, one.path) for one in lines}
        for prefix in dict.fromkeys(homes[one].prefix if homes else "" for one in lines):
            own = [one for one in dict.fromkeys(lines) if not homes or homes[one].prefix == prefix]
            blamer = self._blamer(homes[own[0]]) if prefix else self.blamer
            asked = [one._replace(path=one.path.removeprefix(prefix)) for one in own]
            told |= zip(own, blamer.tell(asked, commit=commit), strict=True)
        return [told[one] for one in lines]

    def _blamer(self, home: nested.Home) -> Blamer:
        return Blamer(home.git, self.recall, lambda path, _: self.vault.read(home.prefix + path))

    def remark(self, revisions: Iterable[Revision | None]) -> str:
        """Say which of these revisions is where a shallow clone begins, so that its lines may be older."""
        root = self.git.work_tree()
        ends = repository.shallow(root / ".git") if root else ""
        first = next((by.revision[:7] for by in revisions if by and by.revision in ends), "")
        return (
            f"what {first} wrote may be older: this clone is shallow (fix: git fetch --unshallow)"
            if first
            else ""
        )

    def _need_git(self) -> None:
        if self.git.work_tree() is None:
            what = "this folder is in no git work tree, so there is no history"
            raise GitError(what, fix="run `memtool init` or `git init` there")

    def blame(self, anchor: Anchor | str, when: str = "") -> tuple[Provenance, tuple[str, ...]]:
        """Tell line by line who wrote an anchor, and give its lines."""
        anchor = Anchor.parse(anchor) if isinstance(anchor, str) else anchor
        self.require_read(anchor.path)
        self._need_git()
        if when:
            nested.require_own(self.git, self.vault.root, anchor.path, f"blame --as-of {when}")
        commit = self.asof.find(when).revision.revision if when else ""
        data = self._read(anchor.path, commit)
        lines = _parse(data)
        start, end = within(anchor, len(lines))
        asked = Lines(anchor.path, blob(data), start, end)
        told = self._tell([asked], commit)[0]
        if told is None:
            raise ConflictError(f"{anchor.path} changed while it was being read", fix="ask again")
        return told, lines[start - 1 : end]

    # -- what became of it -------------------------------------------------------------------

    def history(self, anchor: Anchor | str) -> list[Event]:
        """Tell what happened to a note or to lines of it, oldest first."""
        anchor = Anchor.parse(anchor) if isinstance(anchor, str) else anchor
        self.require_read(anchor.path)
        from memtool.history import timeline
        from memtool.history.versions import need_history, versions

        home = nested.home(self.git, self.vault.root, anchor.path)
        need_history(home.git)
        known = versions(lambda path: self.vault.read(home.prefix + path), home.git, home.path)
        known = [version._replace(path=home.prefix + version.path) for version in known]
        if not known:
            self.vault.read(anchor.path)  # raises PathError: there never was such a note
        known = self._readable(known)
        newest = known[-1]
        if not anchor.start:
            return timeline.events(known, len(known) - 1, None)
        if newest.lines is None:
            raise UsageError(
                f"{anchor.path} is gone, so it has no line {anchor.start}",
                why="lines are counted in the note as it is now",
                fix=f"run `memtool history {anchor.path}`",
            )
        return timeline.events(known, len(known) - 1, within(anchor, len(newest.lines)))

    def _readable(self, known: list[Version]) -> list[Version]:
        """Leave out the time before a note came from where who asks may not read."""
        from memtool.history import timeline

        for number in range(len(known), 0, -1):
            try:
                self.require_read(known[number - 1].path)
            except PolicyError:
                return timeline.later(known, number)
        return known

    def diff(self, path: str, revisions: str = "") -> Difference:
        """Compare two versions of a note: ``REV..REV``, ``REV`` with the file, "" the last commit with it."""
        import difflib

        self.require_read(path)
        self._need_git()
        nested.require_own(self.git, self.vault.root, path, "diff")
        first, dots, second = revisions.partition("..")
        old_name, old = self._side(path, first or "HEAD")
        new_name, new = self._side(path, second or "HEAD") if dots else (path, self._now(path))
        lines = difflib.unified_diff(old, new, old_name, new_name, lineterm="")
        return Difference(old_name, new_name, list(lines))

    def _now(self, path: str) -> tuple[str, ...]:
        try:
            return self._lines(path)
        except PathError:
            return ()

    def _side(self, path: str, when: str) -> tuple[str, tuple[str, ...]]:
        """Give a note as of *when*, under the name it had; a note that was not there has no lines."""
        moment = self.asof.find(when)
        commit, known = moment.revision.revision, self._names(path)
        tree = history.tree(self.git, commit)
        name = next((name for name in dict.fromkeys([path, *known]) if name in tree), "")
        if not name and not known:
            self.vault.read(path)  # raises PathError where there never was such a note
        self.require_read(name or path)
        label = f"{name or path}@{commit[:7]}"
        return label, self._lines(name, commit) if name else ()

    def when(self, query: Query, *, now: Answer) -> Since:
        """Tell since when the best match to a question stands; *now* is the answer of the vault as it is."""
        from memtool.past import since

        return since.when(self.asof, query, now=now)


def _remark(answer: Answer, words: str) -> None:
    answer.freshness = answer.freshness._replace(remarks=(*answer.freshness.remarks, words))


def _parse(data: bytes) -> tuple[str, ...]:
    # Imported late: a search as of a moment whose index there is already parses no note.
    from memtool.note import note

    return note.parse(data).lines


def within(anchor: Anchor, count: int) -> tuple[int, int]:
    """Give the lines that an anchor names of a note of *count* lines; UsageError where there are none."""
    if not anchor.start:
        return 1, count
    if anchor.start > count:
        raise UsageError(
            f"{anchor.path} has no line {anchor.start}",
            why=f"it has {count}",
            fix=f"run `memtool show {anchor.path}`",
        )
    return anchor.start, min(anchor.end, count)
