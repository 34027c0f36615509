"""Lines and what they were checked against -> a stamp in the note; notes -> those that need review.

The stamp says who, when, against what, which lines and their digest, so that an edit of these lines ends
it and nothing else does; and the state of all that the note watches. Written through the door alone.
"""

from __future__ import annotations

import secrets as randomness
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from memtool.errors import Finding, NoteError, UsageError
from memtool.note.anchor import Anchor

if TYPE_CHECKING:
    from memtool.config import Config
    from memtool.derived import Derived
    from memtool.door.door import Step, Wanted
    from memtool.identity import Signature
    from memtool.index.index import Index
    from memtool.refresh.refresh import RefreshReport
    from memtool.vault import Vault
    from memtool.watches.reviewing import Due, Review

#: Hex digits of a digest in a stamp.
_SHORT = 16


class Verifying:
    """What can be checked in an open vault, and what has to be checked again."""

    vault: Vault
    config: Config
    derived: Derived
    who: Signature

    if TYPE_CHECKING:

        @property
        def index(self) -> Index: ...

        def refresh(self) -> RefreshReport: ...

        def may_read(self, path: str) -> bool: ...

        def _step(self, wanted: Wanted, by: Signature | None, dry_run: bool) -> Step: ...

    def verify(
        self,
        anchor: Anchor | str,
        *,
        against: str,
        review_by: str = "",
        now: datetime | None = None,
        by: Signature | None = None,
        dry_run: bool = False,
    ) -> Anchor:
        """Say that these lines were checked against a source, and are true; gives the lines it covers.

        A whole note is covered without its front matter. *review_by* is a day from which it needs review.
        Raises UsageError when nothing names the source, or there are no such lines.
        """
        from memtool import standing
        from memtool.note import note
        from memtool.watches import reviewing

        anchor = Anchor.parse(anchor) if isinstance(anchor, str) else anchor
        path, signer = self.vault.resolve(anchor.path), by or self.who
        anchor = anchor._replace(path=path)
        said = standing.of(note.parse(self.vault.read(path)), path)
        review = reviewing.Review(self.vault, self.config)
        stamp = {
            "by": signer.writer,
            "at": f"{now or datetime.now(UTC):%Y-%m-%d}",
            "against": _source(against),
            **({"watched": review.stamp(path, said.watches)} if said.watches else {}),
        }
        change = _stamping(anchor, stamp, _day(review_by))
        step = self._step(_wanted(path, change), by, dry_run)
        review.forget(path)
        review.keep()
        covered = standing.of(note.parse(step.edit.after or b""), path).verified
        return Anchor(path, covered.start, covered.end) if covered else Anchor(path, 0, 0)

    def stale(self) -> tuple[list[Due], Review]:
        """Give the notes that need review now, with the reasons, and what may not be looked at."""
        self.refresh()
        return self._due()

    def _due(self) -> tuple[list[Due], Review]:
        from memtool.beliefs import succession
        from memtool.watches import reviewing

        review = reviewing.Review(self.vault, self.config)
        notes = [pair for pair in succession.may_need_review(self.index) if self.may_read(pair[0])]
        return reviewing.due(review, notes), review

    def _watch_findings(self) -> list[Finding]:
        """Tell of what notes watch and may not be looked at; what needs review is for `stale` to say."""
        return self._due()[1].findings

    def _record_watches(self) -> None:
        """Keep the state of what was not watched before: from now on it may move."""
        from memtool.beliefs import succession

        if notes := [pair for pair in succession.may_need_review(self.index) if pair[1].watches]:
            from memtool.watches import reviewing

            review = reviewing.Review(self.vault, self.config)
            for path, said in notes:
                review.record(path, said)
            review.keep()


def _source(text: str) -> str:
    if not text.strip() or len(text) > 500 or "\n" in text:
        fix = "say what it was checked against: `--against docs/api.md`, an address, a person"
        raise UsageError("a verification names its source in one line", fix=fix)
    return text.strip()


def _day(text: str) -> str:
    from memtool.tense.dates import get_date

    when = get_date(text) if text else None
    if text and when is None:
        raise UsageError(f"review_by is {text!r}", why="it is a day", fix="write it as 2026-04-01")
    return when.date().isoformat() if when else ""


def _wanted(path: str, change: Callable[[bytes], bytes]) -> Wanted:
    from memtool.door.door import Wanted

    return Wanted(path, "set", change)


def _stamping(anchor: Anchor, stamp: Mapping[str, str], review_by: str) -> Callable[[bytes], bytes]:
    """Give the change that puts a stamp on a note: worked out from its bytes when they are written."""

    def change(data: bytes) -> bytes:
        from memtool import pin
        from memtool.note import note

        parsed = note.parse(data)
        if anchor.digest and not pin.stands(anchor, parsed.lines):
            raise UsageError(f"{anchor} does not say what it said", fix=f"run `memtool resolve {anchor}`")
        start, end = (anchor.start, anchor.end) if anchor.start else (parsed.body_start, len(parsed.lines))
        if not parsed.body_start <= start <= end <= len(parsed.lines):
            why = f"its text is lines {parsed.body_start}-{len(parsed.lines)}"
            raise UsageError(
                f"{anchor} names no lines that can be verified", why=why, fix="name lines of its text"
            )
        digest = pin.digest(parsed.lines[start - 1 : end])[:_SHORT]
        written = data
        for _ in range(3):  # the stamp itself moves the lines below it
            shift = note.parse(written).body_start - parsed.body_start
            lines = f"{start + shift}-{end + shift}" if anchor.start else "all"
            again = _stamped(data, {**stamp, "lines": lines, "digest": digest})
            again = note.set_key(again, "review_by", review_by) if review_by else again
            if again == written:
                break
            written = again
        return written

    return change


def _stamped(data: bytes, stamp: Mapping[str, str]) -> bytes:
    """Set ``verified`` to a mapping, in one line; the note's other bytes stay."""
    from memtool.note import key_edit, note

    place = f"stamp{randomness.token_hex(16)}"
    text = ", ".join(
        f"{key}: {key_edit.render(value, is_text=key != 'at', flow=True)}" for key, value in stamp.items()
    )
    before = note.parse(data)
    changed = note.set_key(data, "verified", place)
    codec = "utf-8" if before.encoding.startswith("utf-8") else before.encoding
    for quoted in (f'"{place}"', f"'{place}'", place):
        changed = changed.replace(quoted.encode(codec), f"{{{text}}}".encode(codec))
    after = note.parse(changed)
    if after.meta != {**before.meta, "verified": dict(stamp)}:
        why = "no way of writing it leaves the rest of the front matter as it is"
        raise NoteError(
            "cannot set verified", why=why, fix="mend the front matter first: run `memtool check`"
        )
    return changed
