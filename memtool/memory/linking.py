"""Notes -> how they hang together: the part of `Memory` that knows links and relations.

Each method hands its work to one room: `graph` looks up, `inquiry` reads a question, `paths` walks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from memtool.errors import Finding

if TYPE_CHECKING:
    from memtool.derived import Derived
    from memtool.links.graph import Graph, Triple
    from memtool.links.paths import Direction
    from memtool.memory.asking_graph import GraphAnswer
    from memtool.past.past import Past
    from memtool.refresh.refresh import RefreshReport
    from memtool.vault import Vault


class NoteLinks(NamedTuple):
    """The links of one note: ``out`` of it, and ``into`` it."""

    path: str
    out: list[Triple]
    into: list[Triple]


class Linking:
    """What an open vault tells of links and relations."""

    vault: Vault
    derived: Derived

    if TYPE_CHECKING:

        @property
        def reader(self) -> Callable[[str], bool] | None: ...

        @property
        def past(self) -> Past: ...

        def refresh(self) -> RefreshReport: ...

        def require_read(self, path: str) -> None: ...

    def links(self, path: str, *, blame: bool = False) -> NoteLinks:
        """Give the links of a note: what it says of other things, and what other notes say of it.

        *blame* tells of each line who wrote it. Raises PathError when there is no such note.
        """
        path = self.vault.resolve(path)
        self.require_read(path)

        def work() -> NoteLinks:
            graph = self._graph()
            thing = graph.note(path)
            if thing is None:
                return NoteLinks(path, [], [])
            into = [triple for triple in graph.into([thing]) if triple.subject.path != path]
            return NoteLinks(path, graph.out([thing]), into)

        self.refresh()
        found = self.derived.mended(work)
        return self._blamed(found) if blame else found

    def graph(
        self,
        question: str,
        *,
        hops: int = 0,
        relation: str | Sequence[str] = (),
        direction: Direction = "both",
        limit: int = 50,
        blame: bool = False,
    ) -> GraphAnswer:
        """Follow relations from what *question* names: a thing, or a question such as "who worked with X".

        *hops* 0 takes as many as the question asks for; *relation* follows these alone, one after the
        other. Two things give the shortest path between them.
        """
        from memtool.memory import asking_graph

        self.refresh()
        wanted = [relation] if isinstance(relation, str) else list(relation)
        options = asking_graph.Options(
            min(hops, asking_graph.MOST), tuple(filter(None, wanted)), direction, limit
        )
        found = self.derived.mended(lambda: asking_graph.answer(self._graph(), question, options))
        return self._blamed_paths(found) if blame else found

    def link_problems(self, kind: Literal["", "broken", "ambiguous", "orphans"] = "") -> list[Finding]:
        """Name links that lead nowhere or to more than one note, and notes that nothing leads to or from."""
        from memtool.links import link_check

        self.refresh()
        return self.derived.mended(lambda: link_check.problems(self._graph(), kind))

    def link_findings(self) -> Iterator[Finding]:
        """Say in one finding what is odd about all links together."""
        from memtool.links import link_check

        yield from self.derived.mended(lambda: link_check.summary(self._graph()))

    def _graph(self) -> Graph:
        from memtool.links.graph import Graph

        return Graph(self.derived.index, self.reader)

    def _blamed(self, found: NoteLinks) -> NoteLinks:
        signed = self._told_of([*found.out, *found.into])
        return found._replace(out=signed[: len(found.out)], into=signed[len(found.out) :])

    def _blamed_paths(self, found: GraphAnswer) -> GraphAnswer:
        signed = iter(self._told_of([step.triple for path in found.paths for step in path.steps]))
        return found._replace(
            paths=tuple(
                path._replace(steps=tuple(step._replace(triple=next(signed)) for step in path.steps))
                for path in found.paths
            )
        )

    def _told_of(self, triples: Sequence[Triple]) -> list[Triple]:
        told = self.past.writers([triple.anchor for triple in triples], self.derived)
        return [triple._replace(writer=one) for triple, one in zip(triples, told, strict=True)]
