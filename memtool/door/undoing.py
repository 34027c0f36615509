"""A revision or a session -> one change that takes it back, and leaves what others wrote since.

Each note goes back by a merge: from after the change, to before it, onto what the note is now. Where
others changed the same lines since, nothing is undone at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from memtool import names
from memtool.catalog.catalog_page import is_generated
from memtool.commits.commit_message import Edit
from memtool.door import door
from memtool.door.door import Step
from memtool.errors import ConflictError, GitError, PathError, UsageError
from memtool.git import Git
from memtool.identity import HUMAN
from memtool.vault import Vault

_FIELDS = "%H%x1f%s%x1f%(trailers:key=Memtool-Writer,valueonly,separator=%x2c)"
_FIELDS += "%x1f%(trailers:key=Memtool-Session,valueonly,separator=%x2c)%x1f%P"
_SEARCHED = 5_000  # commits that are looked through for a session


class Past(NamedTuple):
    """A commit that memtool made: its name, its subject, who, in which session, its first parent."""

    revision: str
    subject: str
    writer: str
    session: str
    parent: str


def find(vault: Vault, revision: str, session: str, writer: str) -> list[Past]:
    """Find what is to be undone, newest first. *revision* and *session* "" is the writer's last change."""
    git = Git(vault.root)
    if problem := git.problem():
        raise GitError(f"nothing can be undone: {problem.what}", fix=problem.fix)
    if revision:
        return [_one(git, revision)]
    made = [past for past in _log(git, f"-n{_SEARCHED}", "HEAD") if past.writer]
    if session:
        found = [past for past in made if past.session == session]
    else:
        found = [past for past in made if past.writer == writer][:1]
        if writer == HUMAN.writer:
            _must_be_committed(git, found)
    if not found:
        what = f"no change of session `{names.printable(session)}`" if session else f"no change by {writer}"
        raise UsageError(f"{what} is in this history", fix="see `git log`, and name a revision")
    return found


def _must_be_committed(git: Git, found: Sequence[Past]) -> None:
    """Refuse where a person's last change is in no commit yet: an older one would be taken back for it."""
    waiting = [path for path in git.changed() if names.is_path(path) and not is_generated(path)]
    if not waiting:
        return
    shown = ", ".join(names.printable(path) for path in waiting[:3])
    more = f" and {len(waiting) - 3} more" if len(waiting) > 3 else ""
    fix = "run `memtool commit`, then `memtool undo`"
    if found:
        fix += f"; or take back the last that is committed: `memtool undo {found[0].revision[:10]}`"
    why = "only a commit can be taken back"
    raise UsageError(f"your last changes are not committed yet: {shown}{more}", why=why, fix=fix)


def _one(git: Git, revision: str) -> Past:
    fix = "name a commit, as `memtool history` or `git log` shows it"
    status, out, _ = git.attempt(
        "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"
    )
    if status:
        raise UsageError(f"there is no revision `{names.printable(revision)}`", fix=fix)
    past = _log(git, "-n1", out.decode().strip())[0]
    if not past.writer:
        why = "it has no `Memtool-Writer`"
        raise UsageError(
            f"{past.revision[:10]} is no change of memtool's", why=why, fix="use `git revert` for it"
        )
    return past


def _log(git: Git, *arguments: str) -> list[Past]:
    status, out, said = git.attempt("log", "-z", "--first-parent", f"--format={_FIELDS}", *arguments, "--")
    if status:
        raise UsageError("there is no history yet", why=said, fix="commit something first")
    rows = [row.split("\x1f") for row in out.decode(errors="replace").split("\0") if row]
    return [Past(row[0], row[1], row[2], row[3], row[4].partition(" ")[0]) for row in rows]


def reason(undone: Sequence[Past]) -> str:
    """Say in one line what is undone."""
    if len(undone) == 1:
        return f"undo {undone[0].revision[:10]}: {undone[0].subject}"
    return f"undo {len(undone)} changes of session {undone[0].session}"


def steps(vault: Vault, undone: Sequence[Past]) -> list[Step]:
    """Work out what takes all of them back, newest first; ConflictError when others built on them."""
    git = Git(vault.root)
    was: dict[str, bytes | None] = {}
    now: dict[str, bytes | None] = {}
    edits_of = _edits(git, undone)
    for past in undone:
        for edit in edits_of.get(past.revision, ()):
            if edit.path not in now:
                now[edit.path] = was[edit.path] = _read(vault, edit.path)
            now[edit.path] = _back(edit, now[edit.path], past)
    edits = [Edit(path, was[path], after) for path, after in now.items() if was[path] != after]
    return [Step("edit", edit) for edit in edits]


def _read(vault: Vault, path: str) -> bytes | None:
    try:
        return vault.read(path)
    except PathError:
        return None


def _back(edit: Edit, now: bytes | None, past: Past) -> bytes | None:
    """Take one change of one note back from what the note is *now*."""
    if now == edit.after:
        return edit.before
    if now == edit.before:
        return now  # it was taken back already
    if now is not None and edit.before is not None and edit.after is not None:
        merged = door.merge(edit.after, now, edit.before)
        if merged is not None:
            return merged
    what = f"{past.revision[:10]} cannot be undone: {names.printable(edit.path)} "
    what += "is gone or has another name now" if now is None else "was changed since in the same lines"
    shown = names.printable(edit.path)
    fix = f"nothing was changed: see `memtool diff {shown} {past.revision[:10]}`, and edit what is wrong"
    raise ConflictError(what, why="what was written since is never touched", fix=fix)


_FLAGS = ("-r", "-z", "--no-renames", "--relative", "--raw", "--no-abbrev")


def _edits(git: Git, undone: Sequence[Past]) -> dict[str, list[Edit]]:
    """Give what each commit did to notes, their bytes before and after; git is asked once for all."""
    changed = {past.revision: _changed(git, past) for past in undone if not past.parent}
    pairs = [f"{past.revision} {past.parent}\n" for past in undone if past.parent]
    if pairs:
        changed |= _rows(git.run("diff-tree", "--stdin", *_FLAGS, stdin="".join(pairs).encode()))
    wanted = {name for rows in changed.values() for row in rows for name in row[1:] if name.strip("0")}
    texts = dict(git.blobs(sorted(wanted)))
    if wanted - texts.keys():
        raise GitError("the old text is not here", why="this clone lacks it", fix="fetch the whole history")
    return {
        revision: [Edit(path, texts.get(old), texts.get(new)) for path, old, new in rows]
        for revision, rows in changed.items()
    }


def _changed(git: Git, past: Past) -> list[tuple[str, str, str]]:
    """Give what the first of all commits did."""
    empty = git.run("hash-object", "-t", "tree", "--stdin", stdin=b"").decode().strip()
    out = git.run("diff-tree", *_FLAGS, empty, past.revision)
    return _rows(past.revision.encode() + b"\0" + out).get(past.revision, [])


def _rows(out: bytes) -> dict[str, list[tuple[str, str, str]]]:
    """Read a path and two blobs for every note that a commit changed."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    revision, parts = "", iter(out.split(b"\0"))
    for part in parts:
        if part.startswith(b":"):
            path = next(parts).decode("utf-8", "surrogateescape")
            _, _, old, new, _ = part.decode().split(" ")
            if names.is_path(path):
                found.setdefault(revision, []).append((path, old, new))
        elif part:
            revision = part.decode()
    return found
