"""Notes -> which of their lines contradict each other, told to people; their judgement -> front matter.

The part of `Memory` for contradictions; each method hands its work to one room.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Literal, NamedTuple

from memtool.errors import Finding, MemtoolError, UsageError
from memtool.note.anchor import Anchor

if TYPE_CHECKING:
    from memtool.config import Config
    from memtool.conflicts.confronting import Found, Side
    from memtool.conflicts.judging import Verdict
    from memtool.derived import Derived
    from memtool.door.door import Step
    from memtool.identity import Signature
    from memtool.llm import Chat
    from memtool.past.past import Past
    from memtool.refresh.refresh import RefreshReport
    from memtool.vault import Vault

#: What a person may say of two lines: the first took the other's place; they do contradict; they do not.
Judgement = Literal["supersedes", "contradicts", "same"]
_SHORT = 12


class Quote(NamedTuple):
    """One line of a conflict: where it stands, what it says, the words that differ, who wrote it and when."""

    anchor: Anchor
    text: str
    word: str
    writer: str
    when: str


class Conflict(NamedTuple):
    """Two lines that cannot both be true, the newer first. ``agreed``: what a person said of them."""

    kind: str
    one: Quote
    other: Quote
    likeness: float
    agreed: str = ""
    verdict: Verdict | None = None


class Conflicting:
    """What contradicts what in an open vault."""

    vault: Vault
    config: Config
    derived: Derived
    look: Callable[[], RefreshReport]

    if TYPE_CHECKING:

        @property
        def past(self) -> Past: ...

        def refresh(self) -> RefreshReport: ...

        def may_read(self, path: str) -> bool: ...

        def set(
            self,
            path: str,
            key: str,
            value: str | Sequence[str] | None,
            *,
            if_digest: str = "",
            by: Signature | None = None,
            dry_run: bool = False,
        ) -> Anchor: ...

    def conflicts(
        self,
        target: Anchor | str = "",
        *,
        since: str = "",
        judge: bool = False,
        chat: Chat | None = None,
        now: date | None = None,
    ) -> list[Conflict]:
        """Give pairs of lines that cannot both be true if they speak of the same thing, the newest first.

        *target* "" looks at the whole vault, else at a note or at lines of one; *since* only at notes that
        changed since a revision or a day. *judge* asks the configured chat model, or *chat*. Pairs that a
        person accepted as no conflict, and notes that are superseded, archived, generated or not valid
        today, are left out.
        """
        from memtool.conflicts import confronting

        self.refresh()
        anchor = Anchor.parse(target) if isinstance(target, str) and target else target or None
        found = self.derived.mended(lambda: self._found(anchor, since))
        silent = confronting.standing_of(self.derived, now or datetime.now(UTC).date())
        judged = confronting.Judged(self.derived).of
        known = [
            (pair, said)
            for pair in found
            if not {pair.one.path, pair.other.path} & silent
            and all(map(self.may_read, (pair.one.path, pair.other.path)))
            if (said := judged(pair)) != "same"
        ]
        told = sorted(self._told(known), key=lambda one: (one.one.when, one.likeness), reverse=True)
        return list(self._judged(told, chat)) if judge else told

    def accept_conflict(
        self,
        one: Anchor | str,
        other: Anchor | str,
        judgement: Judgement,
        *,
        by: Signature | None = None,
        dry_run: bool = False,
    ) -> Anchor:
        """Write into the note of *one* what a person says of two lines that seem to contradict each other.

        ``supersedes``: the other note is replaced by this one; ``contradicts``: a link, the conflict stands;
        ``same``: it is none, until one of the two lines is edited. Gives the key's lines.
        """
        from memtool.note import note

        mine, theirs = (Anchor.parse(each) if isinstance(each, str) else each for each in (one, other))
        mine, theirs = (each._replace(path=self.vault.resolve(each.path)) for each in (mine, theirs))
        if judgement not in ("supersedes", "contradicts", "same"):
            raise UsageError(f"{judgement!r} is no judgement", fix="say supersedes, contradicts or same")
        if mine.path == theirs.path and judgement != "same":
            why = "both lines stand in it"
            raise UsageError(
                f"a note cannot be said to {judgement[:-1]} itself",
                why=why,
                fix="edit the line that is wrong",
            )
        key = "not_in_conflict" if judgement == "same" else judgement
        said = self._pinned(mine, theirs) if judgement == "same" else [theirs.path]
        kept = note.get_list(note.parse(self.vault.read(mine.path)), key)
        return self.set(mine.path, key, list(dict.fromkeys([*kept, *said])), by=by, dry_run=dry_run)

    # -- finding -----------------------------------------------------------------------------

    def _found(self, anchor: Anchor | None, since: str) -> list[Found]:
        from memtool.conflicts import confronting

        alike = confronting.alike_by(self.derived)
        if anchor is not None:
            path = self.vault.resolve(anchor.path)
            found = confronting.of_notes(self.derived, {path}, alike)
            lines = range(anchor.start, anchor.end + 1)
            return [
                pair
                for pair in found
                if not anchor.start
                or any(side.path == path and side.line in lines for side in (pair.one, pair.other))
            ]
        if since:
            return confronting.of_notes(self.derived, self._changed(since), alike)
        return confronting.whole(self.derived, alike)

    def _changed(self, since: str) -> frozenset[str]:
        """Name the notes that are not as they were at a revision or on a day."""
        from memtool.history import history, moments

        git = self.past.git
        before = history.tree(git, moments.find(git, since).revision)
        files = self.derived.index.files().values()
        return frozenset(file.path for file in files if before.get(file.path) != file.blob)

    def _pinned(self, mine: Anchor, theirs: Anchor) -> list[str]:
        """Name the pairs between two notes that a person takes for none."""
        from memtool.conflicts import confronting

        self.refresh()
        found = confronting.of_notes(
            self.derived, {mine.path, theirs.path}, confronting.alike_by(self.derived)
        )

        def is_meant(side: Side, anchor: Anchor) -> bool:
            return side.path == anchor.path and (not anchor.start or anchor.start <= side.line <= anchor.end)

        meant = [
            pair.digest
            for pair in found
            for one, other in ((pair.one, pair.other), (pair.other, pair.one))
            if is_meant(one, mine) and is_meant(other, theirs)
        ]
        if not meant:
            fix = f"run `memtool conflicts {mine.path}` and name two of its lines"
            raise UsageError(f"{mine} and {theirs} are not taken for a conflict", fix=fix)
        return [f"{theirs.path}@{digest[:_SHORT]}" for digest in dict.fromkeys(meant)]

    # -- telling -----------------------------------------------------------------------------

    def _told(self, known: Sequence[tuple[Found, str]]) -> Iterator[Conflict]:
        """Say of each line who wrote it and when: by git where it can tell, else by the note itself."""
        from memtool.tense import stated

        files = {file.path: file for file in self.derived.index.files().values()}
        days = dict(self.derived.index.db.execute("SELECT path, standing FROM files"))
        sides = list(dict.fromkeys(side for pair, _ in known for side in (pair.one, pair.other)))
        by = self._writers(sides, {path: file.blob for path, file in files.items()})
        quotes = {
            side: Quote(
                Anchor(side.path, side.line, side.line), side.text, side.word, *by.get(side, ("", ""))
            )
            for side in sides
        }

        def day(side: Side) -> tuple[str, str]:
            return quotes[side].when, stated.unpack(days.get(side.path)).seen or files[side.path].day

        for pair, said in known:
            one, other = sorted((pair.one, pair.other), key=day, reverse=True)
            first, second = (
                quotes[side] if quotes[side].when else quotes[side]._replace(when=day(side)[1])
                for side in (one, other)
            )
            yield Conflict(pair.kind, first, second, pair.likeness, said)

    def _writers(self, sides: Sequence[Side], blobs: dict[str, str]) -> dict[Side, tuple[str, str]]:
        from memtool.history.blame import Lines

        lines = [Lines(side.path, blobs.get(side.path, ""), side.line, side.line) for side in sides]
        with suppress(MemtoolError):
            told = self.past.provenance(lines)
            today = f"{datetime.now(UTC):%Y-%m-%d}"
            return {
                side: (one.revision.writer, f"{one.revision.when:%Y-%m-%d}")
                if one and one.revision
                else ("not committed", today)
                for side, one in zip(sides, told, strict=True)
            }
        return {}

    # -- at the write ------------------------------------------------------------------------

    def _contradictions(self, steps: Sequence[Step]) -> Iterator[Finding]:
        """Tell what lines that were just written contradict; nothing where there is no index to ask."""
        written = [step.edit for step in steps if step.edit.after is not None and not step.edit.old_path]
        if len(written) != 1 or not self.derived.index_file.exists():
            return
        with suppress(MemtoolError):  # what is written is written
            self.look()
            edit = written[0]
            yield from self.derived.mended(
                lambda: list(self._against(edit.path, edit.before or b"", edit.after or b""))
            )

    def _against(self, path: str, before: bytes, after: bytes) -> Iterator[Finding]:
        from memtool.conflicts import confronting

        found = confronting.of_change(self.derived, path, before, after)
        silent = confronting.standing_of(self.derived, datetime.now(UTC).date()) if found else frozenset()
        judged = confronting.Judged(self.derived).of
        for pair in found:
            other = pair.other
            if other.path in silent or path in silent or not self.may_read(other.path):
                continue
            if judged(pair) == "same":
                continue
            words = f"{pair.one.word or '-'} | {other.word or '-'}"
            place = f"{other.path}:{other.line}-{other.line}"
            what = f"this contradicts {place} ({pair.kind}: {words}): {other.text[:160]}"
            fix = "correct the one that is wrong, or say which holds: see `memtool conflicts`"
            yield Finding("contradicts", path, pair.one.line, what, fix)

    def _judged(self, told: Sequence[Conflict], chat: Chat | None) -> Iterator[Conflict]:
        import os

        from memtool import llm
        from memtool.conflicts.judging import Judge

        chat = chat or llm.open_chat(self.config, os.environ)
        if chat is None:
            raise UsageError("there is no chat model to judge", fix=llm.HOW_TO)
        judge = Judge(chat, self.vault.prepare(self.vault.cache) / "judged.json")
        for one in told:
            verdict = judge.ask(one.one.text, one.other.text, (one.one.when, one.other.when))
            yield one._replace(verdict=verdict)
