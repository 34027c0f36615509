"""A question that names a note -> a small lift for what that note is linked with.

Notes about a project seldom repeat its name; a link says what they belong to. Knows nothing of
relations: any link counts the same.
"""

from __future__ import annotations

from memtool.index.index import Index
from memtool.links import inquiry
from memtool.links.graph import Graph, Thing
from memtool.search.query import Query
from memtool.search.scoring import Ranked

#: What a hit gains whose note is linked with what the question names.
LIFT = 0.04

#: A note linked with more than this many says nothing of any of them; a name that more than this many
#: notes have names none of them, and a question that names more than this many things none in particular.
MOST_LINKED, MOST_OF_A_NAME, MOST_NAMED = 40, 2, 4


def order(query: Query, index: Index, ranked: Ranked) -> Ranked:
    """Lift chunks of notes that are linked with a note the question names."""
    if not ranked.scored:
        return ranked
    linked = _linked(Graph(index, query.may_read), query.text)
    if not any(one.measured.row.path in linked for one in ranked.scored):
        return ranked
    scored = [
        one._replace(score=min(1.0, one.score + LIFT), evidence={**one.evidence, "linked": LIFT})
        if one.measured.row.path in linked
        else one
        for one in ranked.scored
    ]
    scored.sort(key=lambda one: -one.score)
    return ranked._replace(scored=scored)


def _linked(graph: Graph, question: str) -> set[str]:
    """Give the notes linked with those that the question names."""
    found = [one.things for one in inquiry.named(graph, question) if len(one.things) <= MOST_OF_A_NAME]
    named = {thing for things in found for thing in things if thing.path}
    if not named or len(named) > MOST_NAMED:
        return set()
    return {path for thing in named for path in _beside(graph, thing)} - {thing.path for thing in named}


def _beside(graph: Graph, thing: Thing) -> set[str]:
    ends = [triple.object for triple in graph.out([thing])] + [t.subject for t in graph.into([thing])]
    paths = {end.path for end in ends if end.path}
    return paths if len(paths) <= MOST_LINKED else set()
