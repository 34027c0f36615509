"""Units of work -> what they are about: the half of `Memory` that attends.

Split off for its length only; each method hands its work to one room.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from memtool.errors import Finding
from memtool.note.anchor import Anchor

if TYPE_CHECKING:
    from memtool.derived import Derived
    from memtool.identity import Signature
    from memtool.refresh.refresh import RefreshReport
    from memtool.session.sessions import Event, Listed, Unit
    from memtool.vault import Vault


class Toward(NamedTuple):
    """Lines that a state points at, and how much."""

    anchor: Anchor
    title: str
    weight: float


class StateView(NamedTuple):
    """The state of one unit of work in readable form."""

    unit: str
    size: str
    updates: int
    bytes: int  # of its file; 0 while there is none
    alpha: float  # how far the last question was leant
    direction: list[Toward]  # the nearest first
    words: tuple[tuple[str, float], ...]
    opened: tuple[Anchor, ...]  # the last one last
    events: tuple[Event, ...]  # the last one last
    findings: tuple[Finding, ...]


class Attending:
    """What can be told to an open vault about a unit of work, and asked of it."""

    vault: Vault
    derived: Derived
    who: Signature

    if TYPE_CHECKING:

        @property
        def reader(self) -> Callable[[str], bool] | None: ...

        def refresh(self) -> RefreshReport: ...

        def may_read(self, path: str) -> bool: ...

        def show(self, anchor: Anchor | str) -> list[tuple[int, str]]: ...

    def unit_name(self, unit: str) -> str:
        """Name a unit, or a session's turns, as they are kept: who may not read every note shares none.

        What a state recalls is made of what was read.
        """
        return unit if self.reader is None else f"{self.who.writer}: {unit}"

    def state(self, unit: str, *, limit: int = 5) -> StateView:
        """Show what a unit of work is about: lines its state points at, what it took in last, its size."""
        from memtool.session import sessions

        unit = self.unit_name(unit)
        kept, finding = sessions.load(self.vault, unit)
        file = sessions.file_of(self.vault, unit)
        shown = kept or sessions.Unit(sessions.check_name(unit), sessions.DEFAULT)
        return StateView(
            shown.name,
            shown.size,
            shown.state.updates if shown.state else 0,
            file.stat().st_size if kept else 0,
            shown.alpha,
            _direction(self, kept, limit),
            shown.words,
            tuple(anchor for anchor in shown.opened if self.may_read(anchor.path)),
            shown.events,
            (finding,) if finding else (),
        )

    def states(self) -> tuple[list[Listed], list[Finding]]:
        """List all units of work, the one used last first, and what is wrong with their files."""
        from memtool.session import sessions

        mine = self.unit_name("")
        found, wrong = sessions.listed(self.vault)
        return [one for one in found if one.name.startswith(mine)], wrong

    def state_findings(self) -> list[Finding]:
        """Tell which files of units of work cannot be used; nothing is loaded where there are none."""
        if not (self.vault.state / "sessions").is_dir():
            return []
        from memtool.session import sessions

        return sessions.listed(self.vault)[1]

    def opened(self, unit: str, anchor: Anchor | str) -> None:
        """Tell that lines were opened in a unit of work: they are what its last question was after.

        Raises PathError when there is no such note, UsageError when it has no such lines, LockError
        when another process is at it.
        """
        from memtool.session import attention

        anchor = Anchor.parse(anchor) if isinstance(anchor, str) else anchor
        self.show(anchor)
        anchor = anchor._replace(path=self.vault.resolve(anchor.path), digest="")
        self.derived.mended(
            lambda: attention.take_opened(self.derived, self._unit(unit), anchor, datetime.now(UTC))
        )

    def said(self, unit: str, text: str) -> None:
        """Tell what was answered to the last question of a unit of work."""
        from memtool.session import attention

        self.derived.mended(
            lambda: attention.take_said(self.derived, self._unit(unit), text, datetime.now(UTC))
        )

    def reset_state(self, unit: str, *, size: str = "") -> None:
        """Empty the state of a unit of work, or make an empty one; *size* "" keeps its size."""
        from memtool.session import sessions

        name, size = sessions.check_name(self.unit_name(unit)), size and sessions.check_size(size)

        def empty(kept: Unit | None) -> Unit:
            return sessions.Unit(name, size or (kept.size if kept else sessions.DEFAULT))

        sessions.change(self.vault, name, empty)

    def drop_state(self, unit: str) -> bool:
        """Throw the state of a unit of work away; say whether there was one."""
        from memtool.session import sessions

        return sessions.drop(self.vault, self.unit_name(unit))

    def direction(self, unit: str, *, limit: int = 5) -> list[Toward]:
        """Give the lines that the state of *unit* points at, one run a note, the nearest first."""
        if not (self.vault.state / "sessions").is_dir():
            return []
        from memtool.session import sessions

        return _direction(self, sessions.load(self.vault, self.unit_name(unit))[0], limit)

    def _unit(self, unit: str) -> Unit:
        from memtool.session import sessions

        return sessions.Unit(sessions.check_name(self.unit_name(unit)), sessions.DEFAULT)


def _direction(memory: Attending, kept: Unit | None, limit: int) -> list[Toward]:
    from memtool.session import attention

    if kept is None or kept.state is None or memory.derived.embedder is None:
        return []
    found = memory.derived.mended(lambda: attention.point(memory.derived, kept, 4 * limit))
    return [Toward(*one) for one in found if memory.may_read(one[0].path)][:limit]
