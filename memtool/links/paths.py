"""A graph and where to start -> the things reached, each with the shortest path of lines that leads there.

Walks breadth first, so that circles end by themselves, and stops at a bound that it tells of. A hop may be
held to relations and to a direction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from memtool.links.graph import Graph, Thing, Triple
from memtool.links.relations import LINKS_TO

Direction = Literal["out", "in", "both"]

#: Things that one walk may reach.
MOST = 5_000

#: A hop over any relation, either way.
ANY: Mapping[str, Direction] = {"*": "both"}


class Step(NamedTuple):
    """One line that was followed: from its subject to its object, or back."""

    triple: Triple
    forward: bool

    @property
    def end(self) -> Thing:
        return self.triple.object if self.forward else self.triple.subject


class Path(NamedTuple):
    """How a thing was reached."""

    start: Thing
    steps: tuple[Step, ...]

    @property
    def end(self) -> Thing:
        return self.steps[-1].end if self.steps else self.start


class Reached(NamedTuple):
    """What a walk reached, nearest first; ``cut``: there is more than a walk may reach."""

    paths: list[Path]
    cut: bool


def walk(graph: Graph, starts: Sequence[Thing], hops: Sequence[Mapping[str, Direction]]) -> Reached:
    """Walk from *starts*; each of *hops* gives the relations that may be followed then, and how."""
    seen = {thing.key for thing in starts}
    frontier = [Path(thing, ()) for thing in dict.fromkeys(starts)]
    reached: list[Path] = []
    for allowed in hops:
        new: list[Path] = []
        for path, step in _steps(graph, frontier, allowed):
            if step.end.key not in seen:
                if len(seen) >= MOST:
                    return Reached(reached + new, True)
                seen.add(step.end.key)
                new.append(path._replace(steps=(*path.steps, step)))
        reached += new
        frontier = new
    return Reached(reached, False)


def chain(graph: Graph, starts: Sequence[Thing], hops: Sequence[Mapping[str, Direction]]) -> Reached:
    """Walk all *hops* one after the other; only what the last one reaches counts.

    Things passed on the way may be passed again: a colleague of a colleague may be who was asked about.
    """
    frontier, cut = [Path(thing, ()) for thing in dict.fromkeys(starts)], False
    for allowed in hops:
        new: dict[str, Path] = {}
        for path, step in _steps(graph, frontier, allowed):
            visited = {path.start.key, *(one.end.key for one in path.steps)}
            if step.end.key not in visited:
                new.setdefault(step.end.key, path._replace(steps=(*path.steps, step)))
        cut = cut or len(new) > MOST
        frontier = list(new.values())[:MOST]
    return Reached(frontier if hops else [], cut)


def between(graph: Graph, starts: Sequence[Thing], ends: Sequence[Thing], most: int) -> Reached:
    """Give the shortest path from one of *starts* to each of *ends*, within *most* hops."""
    wanted = {thing.key for thing in ends}
    reached = walk(graph, starts, [ANY] * most)
    return Reached([path for path in reached.paths if path.end.key in wanted], reached.cut)


def _steps(
    graph: Graph, frontier: Sequence[Path], allowed: Mapping[str, Direction]
) -> Iterator[tuple[Path, Step]]:
    """Give every step from the ends of these paths; those that name a relation before mere links."""
    at = {path.end.key: path for path in frontier}
    things = [path.end for path in frontier]
    steps = [Step(triple, True) for triple in graph.out(things) if _may(triple, allowed, "out")]
    steps += [Step(triple, False) for triple in graph.into(things) if _may(triple, allowed, "in")]
    for step in sorted(steps, key=lambda step: step.triple.relation == LINKS_TO):
        begin = step.triple.subject if step.forward else step.triple.object
        if begin.key in at and step.end.key != begin.key:
            yield at[begin.key], step


def _may(triple: Triple, allowed: Mapping[str, Direction], direction: Direction) -> bool:
    if triple.state in ("file", "outside") or not triple.object.key:
        return False
    way = allowed.get(triple.relation, allowed.get("*"))
    return way in ("both", direction)


def within(allowed: Iterable[str], direction: Direction) -> dict[str, Direction]:
    """Hold a hop to relations, all the same way.

    >>> within(["part_of"], "in")
    {'part_of': 'in'}
    """
    return dict.fromkeys(allowed, direction)
