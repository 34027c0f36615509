"""An agent's change -> what it did to its notes, and what is left of it now."""

from __future__ import annotations

from collections.abc import Sequence

from memtool import names
from memtool.commits.commit_message import Edit, renames
from memtool.git import Git
from memtool.review.reviews import Change
from memtool.vault import Vault


def edits(vault: Vault, some: Sequence[Change]) -> dict[str, list[Edit]]:
    """Read what each change did to its notes, with one question to git; by the change's revision."""
    git = Git(vault.root)
    wanted = {name for change in some for note in change.notes for name in (note.old, note.new) if name}
    data = dict(git.blobs(sorted(wanted))) if wanted else {}
    return {
        change.revision: renames(
            [Edit(note.path, data.get(note.old), data.get(note.new)) for note in change.notes]
        )
        for change in some
    }


def fate(vault: Vault, change: Change, edits: Sequence[Edit]) -> str:
    """Say what is left of a change; "" when all of it stands as it was written."""
    told = [said for edit in edits if (said := _fate(vault, change, edit))]
    return "; ".join(dict.fromkeys(told))


def _fate(vault: Vault, change: Change, edit: Edit) -> str:
    file = vault.root / edit.path
    try:
        now = file.read_bytes() if not file.is_symlink() else None
    except OSError:
        now = None
    if now == edit.after:
        return ""
    if now == edit.before:
        return "it was taken back already"
    by = _by(change, edit.path)
    if now is None:
        return f"{names.printable(edit.path)} is gone or has another name now{by}"
    added = _added(edit)
    left = sum(line in set(now.split(b"\n")) for line in added)
    if added and not left:
        return f"it was overwritten since{by}: none of its lines is left"
    if left < len(added):
        return f"it was partly overwritten since{by}: {left} of its {len(added)} lines are left"
    return f"the note was changed since{by}; its lines are all there"


def _by(change: Change, path: str) -> str:
    """Name who changed the note since: a person, else another agent, else the same one."""
    since = (one for one in change.later if one.path == path)
    found = sorted(since, key=lambda one: (not one.person, one.who == change.writer))
    return f", by {found[0].who} on {found[0].when:%Y-%m-%d}" if found else ", not committed yet"


def _added(edit: Edit) -> list[bytes]:
    old = set((edit.before or b"").split(b"\n"))
    return [line for line in (edit.after or b"").split(b"\n") if line.strip() and line not in old]


def first_line(edit: Edit) -> int:
    """Give the first line that a change made differ, in the note after it; from 1."""
    old, new = (edit.before or b"").split(b"\n"), (edit.after or b"").split(b"\n")
    same = next(
        (n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new))
    )
    return same + 1 if edit.before is not None else 1
