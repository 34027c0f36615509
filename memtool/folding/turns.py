"""What was said in a session <-> ``turns/<session>.jsonl``: working memory, appended and never rewritten.

A turn keeps its number for ever. Full files are put aside, and when those grow too many the oldest turns
go, but none that a summary cites. Secrets are masked before a turn is kept. Knows nothing of summaries.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from memtool import atomic, files
from memtool.errors import LockError, UsageError
from memtool.vault import Vault

ROLES = ("user", "assistant", "tool", "system")
DEFAULT = "default"

#: Characters of a turn that are kept; of a longer one the middle goes, and the turn says so.
LONGEST = 100_000

#: Bytes from which the file of a session is put aside, and that all files put aside may take.
FULL, MOST = 500_000, 32_000_000

#: A run that long is no word: an encoded file, a picture, a key ring.
_BLOB = re.compile(r"[!-~]{1000,}")

_PLAIN = re.compile(r"[a-z0-9_-]{1,60}")
_CITED = re.compile(r"(?:\[?\s*turn\s+)?(\d{1,9})(?:@([0-9a-f]{4,64}))?\s*\]?", re.IGNORECASE)


class Turn(NamedTuple):
    """One thing that was said: its number counts from 1, its digest names its text."""

    number: int
    role: str
    text: str
    digest: str
    when: str  # ISO, in UTC

    @property
    def citation(self) -> str:
        return f"turn {self.number}@{self.digest[:7]}"


def append(vault: Vault, session: str, role: str, text: str, now: datetime) -> Turn:
    """Keep what was said, its secrets masked. Raises UsageError for a role that is none, or for no text."""
    if role not in ROLES:
        raise UsageError(
            f"{role!r} is no role", why=f"it is one of {', '.join(ROLES)}", fix="use one of them"
        )
    if not text.strip():
        raise UsageError("there is no text to keep", fix="give it as an argument or on standard input")
    text = _masked(_shortened(_BLOB.sub(_told, text.encode("utf-8", "replace").decode())))
    with _alone(vault, session) as place:
        _put_aside(place)
        number = _last_number(place) + 1
        turn = Turn(number, role, text, _digest(text), f"{now.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}")
        atomic.append(place, _line(turn))
    return turn


def load(vault: Vault, session: str, *, last: int | None = None) -> list[Turn]:
    """Give the turns of a session in order; *last* only so many of the newest."""
    place = _place(vault, session)
    kept: list[Turn] = []
    for file in [place, *reversed(_aside(place))]:
        kept = list(_read(file)) + kept
        if last is not None and len(kept) >= last:
            return kept[len(kept) - last :]
    return kept


def find(vault: Vault, session: str, citation: str) -> Turn:
    """Give the turn that *citation* names: ``12``, ``turn 12`` or ``[turn 12@3f9a1c2]``.

    Raises UsageError when there is none, or when its text is not the cited one.
    """
    cited = _CITED.fullmatch(citation.strip())
    if not cited:
        raise UsageError(f"{citation!r} names no turn", fix="write it as `12` or `turn 12@3f9a1c2`")
    number = int(cited[1])
    found = next((turn for turn in load(vault, session) if turn.number == number), None)
    if found is None:
        fix = "see `memtool turn --list`, and name another session with --session"
        raise UsageError(f"there is no turn {number} in this session", fix=fix)
    if not found.digest.startswith((cited[2] or "").lower()):
        why = f"its digest is {found.digest[:7]}"
        raise UsageError(f"turn {number} is not the one that was cited", why=why, fix="look for its session")
    return found


def sessions(vault: Vault) -> list[str]:
    """Name the files of sessions, the one that was written to last first."""
    found = [file for file in (vault.state / "turns").glob("*.jsonl") if file.is_file()]
    return [file.stem for file in sorted(found, key=lambda file: -file.stat().st_mtime)]


def hold(vault: Vault, session: str, numbers: Iterable[int]) -> None:
    """Remember that a summary cites these turns, so that they are never dropped."""
    place = _place(vault, session)
    if new := set(numbers) - _held(place):
        with _alone(vault, session):
            _replace(_folder(place) / "cited.json", json.dumps(sorted(_held(place) | new)).encode())


# -- one file ------------------------------------------------------------------------------


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _masked(text: str) -> str:
    from memtool import secrets

    return secrets.mask(text)


def _told(blob: re.Match[str]) -> str:
    return f"[{len(blob[0])} characters without a space left out]"


def _shortened(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    half = LONGEST // 2
    return f"{text[:half]}\n[{len(text) - 2 * half} characters left out]\n{text[-half:]}"


def _read(file: Path) -> Iterator[Turn]:
    """Read the turns of one file; a line that was torn or changed is none."""
    for line in _bytes(file).split(b"\n"):
        try:
            told = json.loads(line)
            turn = Turn(
                int(told["number"]), str(told["role"]), str(told["text"]), told["digest"], told["when"]
            )
        except (ValueError, TypeError, KeyError):
            continue
        if turn.digest == _digest(turn.text) and turn.number > 0 and turn.role in ROLES:
            yield turn


def _bytes(file: Path) -> bytes:
    # Whoever made the vault may have put anything there: no link is followed, no pipe waited for.
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    with open(handle, "rb") as stream:
        return stream.read(MOST) if stat.S_ISREG(os.fstat(handle).st_mode) else b""


def _line(turn: Turn) -> bytes:
    return json.dumps(turn._asdict(), ensure_ascii=False).encode()


def _replace(file: Path, data: bytes) -> None:
    file.parent.mkdir(exist_ok=True)
    atomic.put(file, data, mode=atomic.PRIVATE)


# -- all files of a session ------------------------------------------------------------------


def _place(vault: Vault, session: str) -> Path:
    """Give the file of a session; what cannot be a file's name is told by its digest."""
    name = session or DEFAULT
    if not _PLAIN.fullmatch(name):
        plain = re.sub(r"[^a-z0-9_-]+", "-", name.lower())[:40].strip("-")
        name = f"{plain}.{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"
    return vault.state / "turns" / f"{name}.jsonl"


def _folder(place: Path) -> Path:
    return place.with_suffix("")


def _aside(place: Path) -> list[Path]:
    """List the files put aside, oldest first."""
    return sorted(_folder(place).glob("[0-9]*.jsonl"))


@contextmanager
def _alone(vault: Vault, session: str, timeout_s: float = 10.0) -> Iterator[Path]:
    place = _place(vault, session)
    vault.prepare(vault.state)
    vault.prepare(place.parent)
    try:
        handle = files.lock(str(place.with_suffix(".lock")), timeout_s)
    except OSError as error:
        fix = "wait until it is done, then try again"
        raise LockError("another process is keeping a turn of this session", fix=fix) from error
    try:
        yield place
    finally:
        os.close(handle)


def _last_number(place: Path) -> int:
    for file in [place, *reversed(_aside(place))]:
        if numbers := [turn.number for turn in _read(file)]:
            return max(numbers)
    return 0


def _put_aside(place: Path) -> None:
    """Put a full file aside under the number of its first turn, and drop what nothing cites any more."""
    if not place.is_file() or place.stat().st_size < FULL:
        return
    first = next((turn.number for turn in _read(place)), 0)
    _folder(place).mkdir(exist_ok=True)
    os.replace(place, _folder(place) / f"{first:09d}.jsonl")
    _drop(_aside(place), _held(place))


def _drop(aside: Sequence[Path], held: Collection[int]) -> None:
    """Take uncited turns out of the oldest files until the rest fits; the newest file stays whole."""
    size = sum(file.stat().st_size for file in aside)
    for file in aside[:-1]:
        if size <= MOST:
            return
        kept = [turn for turn in _read(file) if turn.number in held]
        size -= file.stat().st_size
        _replace(file, b"".join(_line(turn) + b"\n" for turn in kept))
        size += file.stat().st_size


def _held(place: Path) -> set[int]:
    try:
        return {int(number) for number in json.loads(_bytes(_folder(place) / "cited.json"))}
    except (ValueError, TypeError):
        return set()
