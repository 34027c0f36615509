"""What happens to notes and tools -> records, and what they tell: the half of `Memory` that counts.

Split off for its length only; each method hands its work to one room.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memtool.note.anchor import Anchor

if TYPE_CHECKING:
    from memtool.embedders.base import Embedder
    from memtool.identity import Signature
    from memtool.index.index import Index
    from memtool.refresh.refresh import RefreshReport
    from memtool.tools.tool_notes import NotesReport
    from memtool.tools.tool_record import Way
    from memtool.tools.toolmemory import Advice
    from memtool.usage.unopened import Unopened
    from memtool.usage.usage import Use
    from memtool.vault import Vault


class Recording:
    """What can be told to an open vault about use, and asked of it."""

    vault: Vault
    who: Signature

    if TYPE_CHECKING:

        @property
        def index(self) -> Index: ...

        @property
        def embedder(self) -> Embedder | None: ...

        def add(
            self, text: str, *, title: str, folder: str, meta: Mapping[str, str], by: Signature | None
        ) -> Anchor: ...

        def edit(self, anchor: Anchor, text: str, *, if_digest: str, by: Signature | None) -> Anchor: ...

        def refresh(self) -> RefreshReport: ...

        def may_read(self, path: str) -> bool: ...

        def show(self, anchor: Anchor | str) -> list[tuple[int, str]]: ...

    def feedback(self, anchor: Anchor | str, good: bool, *, reason: str = "") -> str:
        """Record that lines were helpful or not; gives "" or why it could not be kept.

        Raises PathError when there is no such note, UsageError when it has no such lines.
        """
        from memtool import names, secrets
        from memtool.usage import usage

        anchor = Anchor.parse(anchor) if isinstance(anchor, str) else anchor
        self.show(anchor)
        anchor = anchor._replace(path=self.vault.resolve(anchor.path), digest="")
        words = names.one_line(secrets.mask(reason)) if reason else ""
        by, session = self.who.writer, self.who.session
        event = "good" if good else "bad"
        # Said in so many words, it is kept also where looking on is switched off.
        return usage.record(
            self.vault, event, [anchor], session=session, writer=by, reason=words, environment={}
        )

    def usage(self, path: str = "") -> dict[str, Use]:
        """Give how often each note was shown, opened, cited and judged; *path* "" gives every note's."""
        from memtool.usage import unopened

        self.refresh()
        counted = unopened.follow(self.vault, {file.path for file in self.index.files().values()})
        path = path and self.vault.resolve(path)
        wanted = (name for name in counted if name == path or not path)
        return {name: counted[name] for name in wanted if self.may_read(name)}

    def unopened(self) -> list[Unopened]:
        """Name the notes that nobody ever opened, and why they were not found."""
        from memtool.usage import unopened

        report = self.refresh()
        return unopened.find(self.vault, self.index, may_read=self.may_read, unread=report.unread)

    def tool_log(
        self,
        name: str,
        params: object = None,
        *,
        ok: bool,
        error: str = "",
        ms: float | None = None,
        task: str = "",
        session: str = "",
        now: float | None = None,
    ) -> dict[str, Any]:
        """Keep how one call of a tool ended, and give what was kept: cut, and with secrets masked.

        *task* says in words what the call was for. *session* "" is this memory's. *now* None asks the
        clock. Raises UsageError for a name that is none, VaultError when it cannot be kept.
        """
        from memtool import secrets
        from memtool.tools import toolmemory

        return toolmemory.log(
            self.vault,
            name,
            params,
            ok=ok,
            mask=secrets.mask,
            error=error,
            ms=ms,
            task=task,
            session=session or self.who.session,
            writer=self.who.writer,
            now=now,
        )

    def tool_advice(self, task: str, *, limit: int = 3) -> list[Advice]:
        """Give the tools and parameters with the best record on tasks like *task*, best first.

        [] when nothing is known of such tasks. Meanings are compared too where there is an embedder.
        """
        from memtool.tools import toolmemory

        known = toolmemory.ways(self.vault)
        return toolmemory.advise(known, task, near=self._near if known else None, limit=limit)

    def tool_ways(self) -> list[Way]:
        """Give every way in which every tool was called, with its record."""
        from memtool.tools import toolmemory

        return toolmemory.ways(self.vault)

    def tool_notes(self, *, by: Signature | None = None) -> NotesReport:
        """Bring the notes below ``tools/`` up to date with the log.

        *by* None signs as this memory where an agent has it open, else as memtool itself.
        """
        from memtool.identity import Signature
        from memtool.tools import tool_notes, toolmemory

        mine = Signature("agent/memtool", self.who.session, "what was logged of tools")
        by = by or (self.who if self.who.is_agent else mine)
        return tool_notes.write(self.vault, toolmemory.ways(self.vault), Doorway(self, by))

    def _near(self, task: str, texts: Sequence[str]) -> Sequence[float]:
        """Tell how near in meaning texts are to a task; all 0 where that cannot be told."""
        from memtool.errors import EmbedderError

        if self.embedder is None:
            return [0.0] * len(texts)
        try:
            task_row, *rows = self.embedder.embed([task, *texts], kind="query")
        except EmbedderError:
            return [0.0] * len(texts)
        scores = [self.embedder.calibration.score(row @ task_row) for row in rows]
        return [float(score) if score > 0 else 0.0 for score in scores]


class Doorway:
    """The door that notes of tools go through, in one name."""

    def __init__(self, memory: Recording, by: Signature) -> None:
        self.memory, self.by = memory, by

    def add(self, text: str, *, title: str, folder: str, meta: Mapping[str, str]) -> Anchor:
        return self.memory.add(text, title=title, folder=folder, meta=meta, by=self.by)

    def edit(self, anchor: Anchor, text: str, if_digest: str) -> Anchor:
        return self.memory.edit(anchor, text, if_digest=if_digest, by=self.by)
