"""What somebody wants of one note -> the change of its bytes: append, edit these lines, set a key.

Each gives a `door.Wanted`; the door decides whether it may be done to the note as it is then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memtool import names, pin, runs
from memtool.commits.commit_message import Edit
from memtool.door import door, line_edit
from memtool.door.door import Wanted
from memtool.errors import ConflictError, Finding, UsageError
from memtool.identity import Signature
from memtool.note import note
from memtool.note.anchor import Anchor
from memtool.resolve import resolve
from memtool.vault import Vault, digest

SHOWN = 12  # hex digits of a digest in a message: enough to be given back


def append(path: str, text: str, heading: str, if_digest: str) -> Wanted:
    """Append to a note, or below one of its headings: right in any version of it."""
    if not text.strip():
        raise UsageError("there is no text to append", fix="give some")

    def change(data: bytes) -> bytes:
        return line_edit.append(data, text, heading=heading).data

    return Wanted(path, "append", change, text, if_digest, fits_any=True)


def set_key(path: str, key: str, value: str | Sequence[str] | None, if_digest: str) -> Wanted:
    """Set one key of the front matter; None takes it out."""

    def change(data: bytes) -> bytes:
        return note.remove_key(data, key) if value is None else note.set_key(data, key, value)

    said = "" if value is None else value if isinstance(value, str) else ", ".join(value)
    return Wanted(path, "set", change, f"{key}: {said}\n" if said else "", if_digest)


def edit(vault: Vault, anchor: Anchor, text: str, if_digest: str, by: Signature) -> Wanted:
    """Replace exactly the lines of an anchor; pinned ones are followed where they stand word for word."""
    if names.is_path(anchor.path) and (vault.root / anchor.path).exists():
        door.ask(vault, vault.resolve(anchor.path), "edit", by)
    if not anchor.start:
        return _whole(vault, anchor, text, if_digest)
    if anchor.digest:
        anchor = _followed(vault, anchor)
    elif not if_digest and by.is_agent:
        now = digest(vault.read(anchor.path))[:SHOWN]
        raise UsageError(
            f"{anchor} does not say which text it replaces",
            why="lines move while others write",
            fix=f"pin it with `memtool cite {anchor}`, or give the version you read: `--if-digest {now}`",
        )

    def change(data: bytes) -> bytes:
        start, end = _place(anchor, data)
        return line_edit.replace(data, start, end, text).data

    return Wanted(anchor.path, "edit", change, text, if_digest)


def _whole(vault: Vault, anchor: Anchor, text: str, if_digest: str) -> Wanted:
    """Replace a whole note: only the version that was read, for nothing of another would be left."""
    now = vault.read(anchor.path)
    shown = names.printable(anchor.path)
    if not (if_digest or anchor.digest):
        why = "that would replace what others may have written since you read it"
        version = digest(now)[:SHOWN]
        fix = (
            f"give the version you read, as `memtool show --json` tells it; now it is `--if-digest {version}`"
        )
        raise UsageError(f"a whole note is replaced only with its version: {shown}", why=why, fix=fix)

    def change(data: bytes) -> bytes:
        if anchor.digest and not pin.stands(anchor, note.parse(data).lines):
            raise ConflictError(f"{shown} changed while it was being edited", why=_gone(anchor))
        return line_edit.replace(data, 0, 0, text).data

    return Wanted(anchor.path, "edit", change, text, if_digest, merges=False)


def _followed(vault: Vault, anchor: Anchor) -> Anchor:
    """Find pinned lines again that moved to another note; within their own note they are found later."""
    try:
        lines = note.parse(vault.read(anchor.path)).lines
        if pin.stands(anchor, lines) or pin.find(anchor, lines):
            return anchor
    except Exception as error:
        if not names.is_path(anchor.path) or getattr(error, "code", "") != "path":
            raise
    found = resolve.resolve(vault, anchor)
    return found.anchor._replace(digest=anchor.digest) if found.stands and found.anchor else anchor


def _place(anchor: Anchor, data: bytes) -> tuple[int, int]:
    """Give the lines an anchor names in these bytes. ConflictError when they say something else now."""
    lines = note.parse(data).lines
    if not anchor.digest or pin.stands(anchor, lines):
        return anchor.start, anchor.end
    places = pin.find(anchor, lines)
    if len(places) == 1:
        return places[0].start, places[0].end
    if places:
        where = ", ".join(str(place.start) for place in places)
        raise ConflictError(f"{anchor} moved, and its text stands more than once", why=f"on lines {where}")
    raise ConflictError(f"{anchor} does not say what it said", why=_gone(anchor))


def _gone(anchor: Anchor) -> str:
    return f"its lines were edited since they were pinned as {anchor.digest}"


def spoilt(edit: Edit) -> Iterator[Finding]:
    """Tell what a change broke in the front matter: it is what was asked for, and hardly what was meant."""
    before, after = (note.parse(side or b"") for side in (edit.before, edit.after))
    known = {found.code for found in before.findings}
    yield from (found.at(edit.path) for found in after.findings if found.code not in known)
    if before.meta and not after.meta:
        what, fix = "the note has no front matter any more", f"run `memtool show {edit.path}`, or undo it"
        yield Finding("front-matter-gone", edit.path, 1, what, fix)


def lines_of(before: bytes, after: bytes) -> tuple[int, int]:
    """Give the lines of *after* that are new in it; where lines only went away, the one that follows."""
    old, new = before.split(b"\n"), after.split(b"\n")
    head, tail = runs.ends(old, new)
    count = max(1, len(note.parse(after).lines))
    start = min(head + 1, count)
    return start, min(max(start, len(new) - tail), count)
