"""A note and where it is to go -> one change: the note there, and every link to it following.

Links are looked for in all notes, by the bytes of the name first, so that nearly all are not taken apart.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from memtool import names
from memtool.commits.commit_message import Edit
from memtool.door.door import Step
from memtool.errors import ConflictError, MemtoolError, UsageError
from memtool.links import links, relocate
from memtool.links.surroundings import Surroundings
from memtool.note import note
from memtool.note.codec import decode
from memtool.vault import Vault

ARCHIVE = "archive"


def move(
    vault: Vault,
    path: str,
    to: str,
    *,
    if_digest: str = "",
    ignore: Sequence[str] = (),
    known: Surroundings | None = None,
) -> list[Step]:
    """Plan the move of a note to another path, or into a folder; *known* None looks through all notes."""
    path = vault.resolve(path)
    if not _is_plain(to):
        raise relocate.unfit(to, "it is not a plain path of a note below the vault")
    to = relocate.target(vault, path, to)
    return [] if to == path else _steps(vault, path, to, "move", if_digest, ignore, known)


def archive(
    vault: Vault,
    path: str,
    *,
    if_digest: str = "",
    ignore: Sequence[str] = (),
    known: Surroundings | None = None,
) -> list[Step]:
    """Plan the move of a note into the archive, where it keeps its path; a taken name gets a number."""
    path = vault.resolve(path)
    if path.startswith(f"{ARCHIVE}/"):
        raise UsageError(f"{path} is archived already", fix=f"take it out with `memtool move {path} TO`")
    stem, dot, suffix = f"{ARCHIVE}/{path}".rpartition(".")
    to, number = f"{stem}{dot}{suffix}", 1
    while os.path.lexists(vault.root / vault.spell(to)):
        number += 1
        to = f"{stem}-{number}{dot}{suffix}"
    return _steps(vault, path, relocate.target(vault, path, to), "archive", if_digest, ignore, known)


def _is_plain(to: str) -> bool:
    return names.is_path(f"{to.rstrip('/')}/x.md") or names.is_path(to)


def _steps(
    vault: Vault,
    path: str,
    to: str,
    verb: str,
    if_digest: str,
    ignore: Sequence[str],
    known: Surroundings | None,
) -> list[Step]:
    data = vault.read(path)
    if if_digest:
        _must_match(path, data, if_digest)
    paths = list(known.paths if known else vault.walk(ignore=ignore).stats)
    among = known.linking(path) if known else paths
    own = _changed(data, path, to, path, paths)
    moved = _rebased(vault, own, path, to)
    steps = [Step(verb, Edit(to, data, moved, path))]
    return steps + [Step("edit", edit) for edit in _followers(vault, path, to, paths, among)]


def _must_match(path: str, data: bytes, if_digest: str) -> None:
    from memtool.door import bases
    from memtool.vault import digest

    if not bases.matches(if_digest, data):
        why = f"you read {if_digest[:7]}, and it is {digest(data)[:7]} now"
        raise ConflictError(
            f"{path} changed meanwhile", why=why, fix=f"run `memtool show {path}`, then decide"
        )


def _followers(
    vault: Vault, path: str, to: str, paths: Sequence[str], among: Sequence[str]
) -> Iterator[Edit]:
    """Give every other note, *among* some, whose links must follow."""
    stem = re.sub(r"\.(?:md|markdown)$", "", path.rpartition("/")[2], flags=re.IGNORECASE)
    signs = _signs(stem)
    for other in among:
        if other == path:
            continue
        try:
            data = vault.read(other)
        except MemtoolError:
            continue  # what cannot be read cannot follow; a check names it
        if any(sign in data.lower() for sign in signs):
            after = _changed(data, path, to, other, paths)
            if after != data:
                yield Edit(other, data, after)


def _signs(stem: str) -> list[bytes]:
    """Give what a note holds that may link to that name: as it is, or escaped as addresses are."""
    from urllib.parse import quote

    folded = stem.lower()
    ascii_part = max(re.findall(r"[\x21-\x7e]+", folded), key=len, default="")
    signs = {folded.encode(), quote(folded).lower().encode(), quote(stem).lower().encode()}
    # Case and composition differ between systems: a name with other letters is looked for everywhere.
    return (
        [*signs] if stem.isascii() else [ascii_part.encode(), b"[["] if ascii_part else [b"](", b"[[", b".md"]
    )


def _changed(data: bytes, path: str, to: str, where: str, paths: Sequence[str]) -> bytes:
    """Give a note with its links to *path* leading to *to*; one that cannot be written back stays."""
    decoded = decode(data)
    if decoded.encode(decoded.raw) != data:
        return data
    raw = links.rewrite(decoded.raw, path, to, path=where, paths=paths)
    return _sound(data, decoded.raw, raw)


def _rebased(vault: Vault, data: bytes, path: str, to: str) -> bytes:
    decoded = decode(data)
    if path.rpartition("/")[0] == to.rpartition("/")[0] or decoded.encode(decoded.raw) != data:
        return data

    def exists(target: str) -> bool:
        return not target.startswith("..") and os.path.lexists(vault.root / target)

    return _sound(data, decoded.raw, links.rebase(decoded.raw, path, to, exists))


def _sound(data: bytes, old: str, raw: str) -> bytes:
    """Take a rewritten text unless it broke the front matter, or cannot be written in this encoding."""
    if raw == old:
        return data
    try:
        changed = decode(data).encode(raw)
    except UnicodeEncodeError:
        return data
    before, after = note.parse(data), note.parse(changed)
    return changed if before.meta.keys() == after.meta.keys() else data
