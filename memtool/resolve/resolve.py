"""A pinned anchor -> where its lines are now: exact, moved, edited or gone, and by whom.

Looks at the notes as they lie on disk first, then at what git knows of them. Without git it still
tells what stands and what has moved, and says what it cannot know.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from typing import Literal, NamedTuple

from memtool import names, pin
from memtool.catalog.catalog import is_generated
from memtool.errors import MemtoolError, NoteError, PathError, UsageError
from memtool.git import Git
from memtool.history.editions import who, why_none
from memtool.history.history import Revision, note_at, tree
from memtool.note import note
from memtool.note.anchor import Anchor
from memtool.resolve.trace import Lines, Trace, aside, trace
from memtool.vault import Vault

Status = Literal["exact", "moved", "edited", "gone"]

#: A text with fewer letters may stand anywhere by chance: in another note it is not the same text.
_TELLING = 12


class Resolution(NamedTuple):
    """What became of pinned lines.

    ``anchor`` is where they are, or where what is left of them is; None when nothing is. ``by`` is
    the revision that changed them; ``uncommitted``: the note has edits that are in no revision. Not
    ``sure``: nobody knows what the lines said, so edited may be gone.
    """

    status: Status
    pinned: Anchor
    anchor: Anchor | None
    others: tuple[Anchor, ...] = ()
    by: Revision | None = None
    uncommitted: bool = False
    remark: str = ""
    sure: bool = True

    @property
    def stands(self) -> bool:
        return self.status in ("exact", "moved")

    def __str__(self) -> str:
        if self.stands:
            return f"moved to {self.anchor}" if self.status == "moved" else "exact"
        if self.by:
            when = f"{self.by.when:%Y-%m-%d %H:%M} UTC"
            return f"{self.status} in {self.by.revision[:7]} by {who(self.by)}, {when}"
        if not self.sure:
            return "edited or gone"
        not_here = self.uncommitted and not self.remark
        return self.status + (" by edits that are not committed" if not_here else "")


def cite(vault: Vault, anchor: Anchor) -> Anchor:
    """Pin an anchor to what its lines say now. UsageError when the note has no such lines.

    NoteError when it is pinned already, to something else.
    """
    lines = _lines(vault.read(anchor.path))
    if anchor.start > len(lines):
        why, fix = f"it has {len(lines)}", f"run `memtool show {anchor.path}`"
        raise UsageError(f"{anchor.path} has no line {anchor.start}", why=why, fix=fix)
    if anchor.digest and not pin.stands(anchor, lines):
        fix = f"run `memtool resolve {anchor}`"
        raise NoteError(f"{anchor} does not say what it said", why="its lines were edited", fix=fix)
    return pin.pinned(anchor._replace(end=min(anchor.end, len(lines))), lines)


def resolve(vault: Vault, pinned: Anchor, *, ignore: Sequence[str] = ()) -> Resolution:
    """Find out what became of pinned lines. UsageError when *pinned* has no digest."""
    if not pinned.digest:
        fix = f"run `memtool cite {pinned}`, keep what it prints, and resolve that"
        raise UsageError(f"{pinned} is not pinned", why="it has no @digest", fix=fix)
    if not names.is_path(pinned.path):
        vault.read(pinned.path)  # says no in the vault's own words
    return _Search(vault, pinned, ignore).run()


def _lines(data: bytes) -> Lines:
    return note.parse(data).lines


def _is_telling(text: Lines) -> bool:
    return sum(map(str.isalnum, "".join(text))) >= _TELLING


class _Search:
    """One pinned anchor looked for, in wider and wider circles."""

    def __init__(self, vault: Vault, pinned: Anchor, ignore: Sequence[str]) -> None:
        self.vault, self.asked, self.ignore = vault, pinned, ignore
        self.git = Git(vault.root)
        self.none = why_none(self.git)
        self.pinned = pinned._replace(path=self._real(pinned.path))

    def run(self) -> Resolution:
        if found := self._in(self.pinned.path, None):
            return found
        lost, later = (None, []) if self.none else trace(self.git, self.pinned)
        path = later[-1] if later else self.pinned.path
        if self._now(path) is None and lost and lost.committed and (new := self._renamed_just_now(lost)):
            later.append(path := new)
        for name in later:
            if found := self._in(name, lost.text if lost else None):
                return found
        return self._elsewhere(lost) or (self._left(lost, path) if lost else self._unknown(path))

    def _real(self, path: str) -> str:
        try:
            return self.vault.resolve(path)
        except PathError:
            return path

    def _now(self, path: str) -> Lines | None:
        try:
            return _lines(self.vault.read(path))
        except PathError:
            return None

    # -- the lines themselves --------------------------------------------------------------

    def _in(self, path: str, text: Lines | None) -> Resolution | None:
        """Look in one note: at the old place, then at all others, the nearest first."""
        lines, pinned = self._now(path), self.pinned._replace(path=path)
        if lines is None:
            return None
        stands = pin.stands(pinned, lines)
        places = pin.find(pinned, lines, pin.cut(lines, pinned) if stands else text)
        if stands:
            places = [pinned, *(place for place in places if place != pinned)]
        if not places:
            return None
        return self._found("exact" if places[0] == self.pinned else "moved", places)

    def _found(self, status: Status, places: Sequence[Anchor]) -> Resolution:
        where = self.asked if status == "exact" else places[0]
        return Resolution(
            status,
            self.asked,
            where,
            tuple(places[1:]),
            uncommitted=self._is_dirty(places[0].path),
            remark=self.none.what if self.none else "",
        )

    def _is_dirty(self, path: str) -> bool:
        """Compare with what is committed as text: line ends may differ as git is configured."""
        if self.none:
            return False
        try:
            return _lines(note_at(self.git, "HEAD", path)) != self._now(path)
        except PathError:
            return True

    # -- other notes -----------------------------------------------------------------------

    def _elsewhere(self, lost: Trace | None) -> Resolution | None:
        """Look through all other notes; a copy that stood there all the time is not where the lines went."""
        if lost and not _is_telling(lost.text):
            return None
        places = [place for path in self._others() for place in self._copies(path, lost)]
        if lost and places:
            places = self._new_ones(places, lost)
        return self._found("moved", places) if places else None

    def _others(self) -> list[str]:
        """List all other notes, those of the same folder first."""
        own = posixpath.dirname(self.pinned.path)
        walked = self.vault.walk(ignore=self.ignore).stats
        others = (path for path in walked if path != self.pinned.path and not is_generated(path))
        return sorted(others, key=lambda path: (posixpath.dirname(path) != own, path))

    def _copies(self, path: str, lost: Trace | None) -> list[Anchor]:
        try:
            data = self.vault.read(path)
        except MemtoolError:
            return []
        sign = max(lost.text, key=len, default="") if lost else ""
        if sign.isascii() and sign.encode() not in data and b"\0" not in data:
            return []  # nearly all notes, without being taken apart
        lines, pinned = _lines(data), self.pinned._replace(path=path)
        whole = [pinned] if not pinned.start and pin.stands(pinned, lines) else []
        places = whole or pin.find(pinned, lines, lost.text if lost else None)
        return places if places and _is_telling(pin.cut(lines, places[0])) else []

    def _new_ones(self, places: Sequence[Anchor], lost: Trace) -> list[Anchor]:
        before = tree(self.git, f"{lost.after[0][0].revision}^1" if lost.after else "HEAD")
        texts = dict(self.git.blobs({before[place.path] for place in places if place.path in before}))
        stood = {
            path
            for path, blob in before.items()
            if blob in texts and pin.spot(self.pinned, _lines(texts[blob]), lost.text)
        }
        return [place for place in places if place.path not in stood]

    def _renamed_just_now(self, lost: Trace) -> str:
        """Find the note that a missing one became by a rename nobody committed yet."""
        committed, known = lost.committed or (), tree(self.git, "HEAD")
        likeness = {
            path: pin.alike(committed, self._now(path) or ()) for path in self._others() if path not in known
        }
        best = max(likeness, key=lambda path: likeness[path], default="")
        return best if best and likeness[best] >= pin.KNOWN_AGAIN else ""

    # -- what is left ----------------------------------------------------------------------

    def _left(self, lost: Trace, path: str) -> Resolution:
        now = self._now(path)
        span = self._span(lost, now)
        uncommitted = now != lost.committed
        by = self._changed_by(lost, gone=span is None)
        if span is None or now is None:
            return Resolution("gone", self.asked, None, by=by, uncommitted=uncommitted)
        anchor = pin.pinned(Anchor(path, *span), now)
        return Resolution("edited", self.asked, anchor, by=by, uncommitted=uncommitted)

    def _span(self, lost: Trace, lines: Lines | None) -> pin.Span | None:
        if lines is None:
            return None
        return pin.left(lost.lines, lines, lost.span) if self.pinned.start else (0, 0)

    def _changed_by(self, lost: Trace, *, gone: bool) -> Revision | None:
        """Name the revision that changed the lines, or of lines that are gone the one that took the last.

        None: it was not committed.
        """
        if not lost.after or not gone:
            return lost.after[0][0] if lost.after else None
        spans = [self._span(lost, lines) for _, lines in lost.after]
        if spans[-1] is not None:
            return None
        first = max((place for place, span in enumerate(spans, 1) if span is not None), default=0)
        return lost.after[first][0]

    def _unknown(self, path: str) -> Resolution:
        """Tell what can be told when no revision of this branch holds the pinned lines."""
        now, dirty = self._now(path), self._is_dirty(path)
        if not self.none and (other := aside(self.git, self.pinned)):
            by, span = other.after[0][0], self._span(other, now)
            remark = f"they stand in {by.revision[:7]} by {who(by)}, which is not part of this branch"
            anchor = pin.pinned(Anchor(path, *span), now) if span and now else None
            status: Status = "edited" if anchor else "gone"
            return Resolution(status, self.asked, anchor, uncommitted=dirty, remark=remark)
        why = self.none.what if self.none else "no revision holds the pinned lines: they were never committed"
        status, more = "edited", "whether they were edited or taken out cannot be told"
        if now is None:
            status, more = "gone", "there is no such note now"
        return Resolution(status, self.asked, None, (), None, dirty, f"{why}; {more}", sure=now is None)
