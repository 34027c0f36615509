"""A unit of work <-> its small file under ``.memtool/state/sessions``: what the work is about.

Many lie side by side, each written at once or not at all. One that is damaged, or of another embedder
or projection, starts empty and says so: losing it loses warmth, never knowledge. Knows no search.
"""

from __future__ import annotations

import base64
import json
import os
import stat
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np

from memtool import atomic, files
from memtool.errors import Finding, LockError, UsageError
from memtool.note.anchor import Anchor
from memtool.session import session
from memtool.session.session import Array, Shape, State
from memtool.vault import Vault

FORMAT = "memtool session state 1"

#: The size of a state that nobody chose another for.
DEFAULT = "multi-head+words"

#: Opened lines, updates and words that are remembered, and the bytes that a file may have.
MOST_OPENED, MOST_EVENTS, MOST_WORDS, LARGEST = 60, 12, 64, 4_000_000

_LONGEST_NAME = 120
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Event(NamedTuple):
    """One update: ``asked``, ``opened`` or ``said``; of a question, how far it was leant."""

    when: str
    kind: str
    what: str
    alpha: float = 0.0


class Unit(NamedTuple):
    """What is kept of one unit of work."""

    name: str
    size: str  # a key of `session.SHAPES`
    embedder: str = ""  # fingerprint; "" while it is empty
    projection: str = ""
    state: State | None = None  # None while it is empty
    opened: tuple[Anchor, ...] = ()  # the last one last
    events: tuple[Event, ...] = ()  # the last one last
    words: tuple[tuple[str, float], ...] = ()  # rare words with their weights

    @property
    def shape(self) -> Shape:
        return session.SHAPES[self.size]

    @property
    def alpha(self) -> float:
        """How far the last question was leant."""
        return next((event.alpha for event in reversed(self.events) if event.kind == "asked"), 0.0)


class Listed(NamedTuple):
    """One file of many: its unit, and what can be told without reading the matrix."""

    name: str
    size: str
    updates: int
    bytes: int
    when: str  # of the last update


def check_name(name: str) -> str:
    """Give the name of a unit as it is kept; raises UsageError for one that cannot be.

    >>> check_name(" relaunch 2 ")
    'relaunch 2'
    """
    told = unicodedata.normalize("NFC", name).strip()
    if (
        not told
        or len(told) > _LONGEST_NAME
        or not told.isprintable()
        or len(_file_name(told).encode()) > 240
    ):
        why = f"a unit of work has a name of up to {_LONGEST_NAME} characters on one line"
        raise UsageError(f"{name[:100]!r} names no unit of work", why=why, fix="give it a short name")
    return told


def check_size(size: str) -> str:
    """Give *size*, or the default for ""; raises UsageError for one that there is not."""
    if size and size not in session.SHAPES:
        why = f"it is one of {', '.join(session.SHAPES)}"
        raise UsageError(f"there is no state of size {size!r}", why=why, fix="give one of them")
    return size or DEFAULT


def _file_name(name: str) -> str:
    """Spell a name so that any system takes it; letters of all scripts stay readable.

    >>> _file_name("../a b"), _file_name("城の件")
    ('%2E%2E%2Fa%20b.json', '城の件.json')
    """
    return (
        "".join(c if c.isalnum() or c in "-_" else quote(c, safe="").replace(".", "%2E") for c in name)
        + ".json"
    )


def folder(vault: Vault) -> Path:
    return vault.state / "sessions"


def file_of(vault: Vault, name: str) -> Path:
    return folder(vault) / _file_name(check_name(name))


# -- reading ---------------------------------------------------------------------------------


def load(vault: Vault, name: str) -> tuple[Unit | None, Finding | None]:
    """Give what is kept of a unit, None where nothing can be used; and what is wrong with the file."""
    file = file_of(vault, name)
    try:
        told = _read(file)
        if told is None:
            return None, None
        return _parse(told, check_name(name)), None
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        what = (
            f"the session state of `{check_name(name)}` cannot be used and starts empty: {error or 'damaged'}"
        )
        place = f".memtool/state/sessions/{file.name}"
        return None, Finding("session-damaged", place, 0, what[:300], "nothing: the next update replaces it")


def _read(file: Path) -> dict[str, Any] | None:
    if file.parent.is_symlink():
        raise ValueError("its folder is a link, which is not followed")
    try:
        handle = os.open(file, _READ)
    except FileNotFoundError:
        return None
    with os.fdopen(handle, "rb") as stream:
        it = os.fstat(handle)
        if not stat.S_ISREG(it.st_mode) or it.st_size > LARGEST:
            raise ValueError("it is no file of ours")
        told = json.loads(stream.read(LARGEST))
    if not isinstance(told, dict) or told.get("format") != FORMAT:
        raise ValueError("it has another format")
    return told


def _parse(told: dict[str, Any], name: str) -> Unit:
    size = str(told["size"])
    if size not in session.SHAPES:
        raise ValueError("it has a size that there is not")
    unit = Unit(
        name,
        size,
        str(told["embedder"]),
        str(told["projection"]),
        None,
        tuple(Anchor(str(p), int(a), int(b)) for p, a, b in told["opened"])[-MOST_OPENED:],
        tuple(Event(str(w), str(k), str(t), float(x)) for w, k, t, x in told["events"])[-MOST_EVENTS:],
        tuple((str(word), float(weight)) for word, weight in told["words"])[:MOST_WORDS],
    )
    if not told["matrix"]:
        return unit
    matrix = _unpack(told["matrix"])
    if matrix.ndim != 2 or not np.isfinite(matrix).all():
        raise ValueError("its matrix is not whole")
    last = _unpack(told["key"]) if told["key"] else None
    return unit._replace(state=State(unit.shape, matrix, last, int(told["updates"])))


def _unpack(told: dict[str, Any]) -> Array:
    sides = [int(side) for side in told["shape"]]
    if len(sides) > 2 or not all(0 < side <= 100_000 for side in sides):
        raise ValueError("its matrix has no sides")
    numbers = np.frombuffer(base64.b64decode(told["float16"], validate=True), "<f2")
    return numbers.astype(np.float64).reshape(sides)


def _pack(numbers: Array | None) -> dict[str, Any] | None:
    if numbers is None:
        return None
    data = np.clip(numbers, -6e4, 6e4).astype("<f2").tobytes()
    return {"shape": list(numbers.shape), "float16": base64.b64encode(data).decode()}


def listed(vault: Vault) -> tuple[list[Listed], list[Finding]]:
    """Give all units, the one used last first, and what is wrong with files among them."""
    found, wrong = [], []
    # The time within a state counts seconds; two units may be used within one.
    for file in sorted(folder(vault).glob("*.json"), key=_changed, reverse=True):
        try:
            told = _read(file)
            if told is not None:
                size, events = file.stat().st_size, told["events"]
                when = str(events[-1][0]) if events else ""
                found.append(Listed(str(told["unit"]), str(told["size"]), int(told["updates"]), size, when))
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            what = f"a session state cannot be used and starts empty: {error or 'damaged'}"
            place, fix = (
                f".memtool/state/sessions/{file.name}",
                "remove it, or let the next update replace it",
            )
            wrong.append(Finding("session-damaged", place, 0, what[:300], fix))
    return found, wrong


def _changed(file: Path) -> tuple[int, str]:
    try:
        return file.stat().st_mtime_ns, file.name
    except OSError:
        return 0, file.name


# -- writing ---------------------------------------------------------------------------------


def change(vault: Vault, name: str, work: Callable[[Unit | None], Unit], *, patience_s: float = 2.0) -> Unit:
    """Put in place of a unit what *work* makes of it; whoever else does so waits. Raises LockError, OSError.

    A damaged file is None to *work*, and so is one that is not there.
    """
    with _alone(vault, patience_s):
        unit = work(load(vault, name)[0])
        _save(file_of(vault, name), unit)
        return unit


def drop(vault: Vault, name: str) -> bool:
    """Throw a unit away; say whether there was one."""
    with _alone(vault, 2.0):
        try:
            file_of(vault, name).unlink()
        except FileNotFoundError:
            return False
        return True


@contextmanager
def _alone(vault: Vault, patience_s: float) -> Iterator[None]:
    if folder(vault).is_symlink():
        folder(vault).unlink()  # a vault's owner may lay one that leads out of it
    place = vault.prepare(folder(vault))
    try:
        handle = files.lock(str(place / "lock"), patience_s)
    except BlockingIOError as error:
        why, fix = "another process is at it", "try again"
        raise LockError("the session states are being written", why=why, fix=fix) from error
    try:
        yield
    finally:
        os.close(handle)


def _save(file: Path, unit: Unit) -> None:
    state = unit.state
    told = {
        "format": FORMAT,
        "unit": unit.name,
        "size": unit.size,
        "embedder": unit.embedder,
        "projection": unit.projection,
        "updates": state.updates if state else 0,
        "opened": [list(anchor[:3]) for anchor in unit.opened[-MOST_OPENED:]],
        "events": [[*event[:3], round(event.alpha, 3)] for event in unit.events[-MOST_EVENTS:]],
        "words": [[word, round(weight, 3)] for word, weight in unit.words[:MOST_WORDS]],
        "key": _pack(state.last_key) if state else None,
        "matrix": _pack(state.matrix) if state else None,
    }
    data = json.dumps(told, ensure_ascii=False, separators=(",", ":")) + "\n"
    # What somebody asked is nobody else's business.
    atomic.put(file, data.encode("utf-8", "surrogatepass"), mode=atomic.PRIVATE)
