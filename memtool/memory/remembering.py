"""Turns and a question -> working memory, its summary, a context: the half of `Memory` that remembers.

Split off for its length only; each method hands its work to one room.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memtool.config import Config
    from memtool.context.context import Context
    from memtool.derived import Derived
    from memtool.folding.summaries import Summary
    from memtool.folding.turns import Turn
    from memtool.identity import Signature
    from memtool.llm import Chat
    from memtool.refresh.refresh import RefreshReport
    from memtool.vault import Vault


class Remembering:
    """What an open vault keeps of a session, and what it gives for a prompt."""

    vault: Vault
    config: Config
    derived: Derived
    who: Signature
    look: Callable[[], RefreshReport]

    if TYPE_CHECKING:

        @property
        def reader(self) -> Callable[[str], bool] | None: ...

        def unit_name(self, unit: str) -> str: ...

    def turn(self, role: str, text: str, *, session: str | None = None, now: datetime | None = None) -> Turn:
        """Keep what was said, secrets masked; *session* None is the one this memory was opened in."""
        from memtool.folding import turns

        return turns.append(
            self.vault, self.unit_name(self._session(session)), role, text, now or datetime.now(UTC)
        )

    def turns(self, *, session: str | None = None, last: int | None = None) -> list[Turn]:
        """Give what was said in a session, in order; *last* only so many of the newest."""
        from memtool.folding import turns

        return turns.load(self.vault, self.unit_name(self._session(session)), last=last)

    def cited_turn(self, citation: str, *, session: str | None = None) -> Turn:
        """Give the turn that a line of a summary cites; UsageError where it is gone or another one."""
        from memtool.folding import turns

        return turns.find(self.vault, self.unit_name(self._session(session)), citation)

    def summary(
        self, *, session: str | None = None, budget: float | None = None, chat: Chat | None = None
    ) -> Summary:
        """Fold the turns that no longer fit into working memory, always from the turns themselves.

        *budget* counts tokens; None is half of what working memory may hold. *chat* writes the lines.
        """
        from memtool.context import working

        return working.fold_old(self, self._session(session), budget=budget, chat=chat)

    def context(
        self,
        question: str,
        *,
        budget: float = 1500,
        session: str | None = None,
        min_score: float | None = None,
        turns: bool = True,
        refresh: bool = True,
    ) -> Context:
        """Gather what bears on *question* within *budget* tokens: turns, pins, lines; quoted as data.

        *session* None is the one this memory was opened in; *turns* False leaves working memory out.
        *min_score* None takes the calibrated line.
        """
        from memtool.context import working

        return working.gather(
            self,
            question,
            budget=budget,
            session=self._session(session),
            min_score=min_score,
            turns=turns,
            look=self.look if refresh else None,
        )

    def _session(self, session: str | None) -> str:
        return self.who.session if session is None else session
