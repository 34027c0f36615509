"""A question and a graph -> the things that answer it, each with its path; a remark where it was guessed.

Knows the order of what is tried: the relations asked for, then what lies near. Says so when it had to guess.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from memtool.links import destinations, inquiry, paths
from memtool.links.graph import Graph, Thing
from memtool.links.inquiry import Inquiry
from memtool.links.paths import ANY, Direction, Path, Reached

#: Hops where a question names no relation, between two things, and the most that are walked.
HOPS, BETWEEN, MOST = 2, 4, 6


class Options(NamedTuple):
    """What a caller holds the walk to; ``hops`` 0: as many as the question asks for."""

    hops: int = 0
    relations: tuple[str, ...] = ()
    direction: Direction = "both"
    limit: int = 50


#: Held to nothing.
FREE = Options()


class GraphAnswer(NamedTuple):
    """What was reached, nearest first; ``starts`` is what the question named."""

    question: str
    starts: tuple[Thing, ...]
    paths: tuple[Path, ...]
    remark: str = ""


def answer(graph: Graph, question: str, options: Options = FREE) -> GraphAnswer:
    """Answer a question, or the name of a thing, by following relations."""
    asked = inquiry.read(graph, question)
    starts = asked.named[-1].things if asked.named else ()
    if not starts:
        return GraphAnswer(question, (), (), _unknown(graph, question))
    others = [thing for one in asked.named[:-1] for thing in one.things]
    reached, remark = _reach(graph, asked, starts, others, options)
    told = [remark] if remark else []
    if reached.cut or len(reached.paths) > options.limit:
        told.append(f"the first {options.limit} of {'at least ' if reached.cut else ''}{len(reached.paths)}")
    return GraphAnswer(question, (*others, *starts), tuple(reached.paths[: options.limit]), "; ".join(told))


def _reach(
    graph: Graph, asked: Inquiry, starts: Sequence[Thing], others: Sequence[Thing], options: Options
) -> tuple[Reached, str]:
    hops = _hops(asked, options)
    if others:
        return _towards(graph, starts, others, hops, options)
    if not hops:
        return paths.walk(graph, starts, [_any(options)] * (options.hops or HOPS)), asked.remark
    reached = _follow(graph, starts, hops, options)
    if reached.paths or options.relations:
        return reached, asked.remark
    near = paths.walk(graph, starts, [_any(options)] * (options.hops or HOPS))
    guess = "no line says this directly; this is what is linked" if near.paths else ""
    return near, "; ".join(filter(None, (asked.remark, guess)))


def _towards(
    graph: Graph,
    starts: Sequence[Thing],
    others: Sequence[Thing],
    hops: Sequence[Mapping[str, Direction]],
    options: Options,
) -> tuple[Reached, str]:
    """Look for the way from one thing to the other: over what was asked for, else over anything."""
    wanted = {thing.key for thing in starts}
    if hops:
        reached = _follow(graph, others, hops, options)
        hit = [path for path in reached.paths if path.end.key in wanted]
        if not hit:
            back = _follow(graph, starts, hops, options)
            hit = [path for path in back.paths if path.end.key in {thing.key for thing in others}]
        if hit:
            return Reached(hit, False), ""
    reached = paths.between(graph, others, starts, options.hops or BETWEEN)
    guess = "no line says this directly; this is how they are linked" if hops and reached.paths else ""
    return reached, guess


def _hops(asked: Inquiry, options: Options) -> list[Mapping[str, Direction]]:
    if options.relations:
        return [inquiry.asked_hop(relation, options.direction) for relation in options.relations]
    if options.direction == "both":
        return list(asked.hops)
    return []


def _any(options: Options) -> Mapping[str, Direction]:
    return ANY if options.direction == "both" else {"*": options.direction}


def _follow(
    graph: Graph, starts: Sequence[Thing], hops: Sequence[Mapping[str, Direction]], options: Options
) -> Reached:
    if len(hops) > 1:
        return paths.chain(graph, starts, hops)
    return paths.walk(graph, starts, [hops[0]] * (options.hops or 1))


def _unknown(graph: Graph, question: str) -> str:
    near = destinations.similar(question, graph.names()) if len(question) < 80 else []
    hint = f"; near: {', '.join(near)}" if near else ""
    return f"no note or named thing is named in the question{hint}"
