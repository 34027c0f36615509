"""A graph -> what is odd about its links: those that lead nowhere, those with two meanings, notes alone.

A link to a note nobody wrote yet is a habit of many, so all of it together is one finding for `check`;
each one is named when asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memtool.errors import Finding
from memtool.links import destinations
from memtool.links.graph import Graph, Triple

#: Distinct targets for which similar names are looked up.
MOST_SUGGESTED = 200


def problems(graph: Graph, kind: str = "") -> list[Finding]:
    """Name each problem of a *kind*: ``broken``, ``ambiguous``, ``orphans``; "" takes the first two."""
    every = graph.every()
    if kind == "orphans":
        return list(_orphans(graph, every))
    found = list(_broken(graph, every)) if kind in ("", "broken") else []
    return found + (list(_ambiguous(every)) if kind in ("", "ambiguous") else [])


def summary(graph: Graph) -> Iterator[Finding]:
    """Say in one finding how many links are odd; none where none is."""
    every = graph.every()
    missing = {triple.object.key for triple in every if triple.state == "missing"}
    counts = {
        f"lead to {len(missing)} notes that are not there": sum(t.state == "missing" for t in every),
        "lead out of the vault": sum(triple.state == "outside" for triple in every),
        "name a heading or a block that is not there": sum(not graph.has_fragment(t) for t in every),
        "could mean more than one note": sum(bool(triple.others) for triple in every),
    }
    told = [f"{count} {what}" for what, count in counts.items() if count]
    if told:
        fix = "run `memtool links --broken` and `memtool links --ambiguous`"
        yield Finding("links", ".", 0, f"of the links between notes {', '.join(told)}", fix)


def _broken(graph: Graph, every: Sequence[Triple]) -> Iterator[Finding]:
    names = graph.names()
    fixes: dict[str, str] = {}
    for triple in every:
        path, line, written = triple.anchor.path, triple.anchor.start, triple.written
        if triple.state == "outside":
            what = f"`{written}` leads out of the vault; it is never followed"
            yield Finding("link-outside", path, line, what, "link to a note of this vault")
        elif triple.state == "missing":
            fix = fixes.get(triple.object.key, "")
            if not fix and len(fixes) < MOST_SUGGESTED:
                fix = fixes[triple.object.key] = _fix(triple.object.name, names)
            yield Finding("link-broken", path, line, f"`{written}` leads to no note", fix)
        elif not graph.has_fragment(triple):
            what = f"{triple.object.path} has no `{triple.fragment}`"
            yield Finding("link-heading", path, line, what, f"run `memtool show {triple.object.path}`")


def _fix(wanted: str, names: Sequence[str]) -> str:
    near = destinations.similar(wanted.rpartition("/")[2], names)
    return f"did you mean {' or '.join(f'`{name}`' for name in near)}?" if near else "write it, or unlink it"


def _ambiguous(every: Sequence[Triple]) -> Iterator[Finding]:
    for triple in every:
        if triple.others:
            others = ", ".join(triple.others[:3]) + (", ..." if len(triple.others) > 3 else "")
            what = f"`{triple.written}` means {triple.object.path}, and could mean {others}"
            yield Finding(
                "link-ambiguous",
                triple.anchor.path,
                triple.anchor.start,
                what,
                "write its folder into the link",
            )


def _orphans(graph: Graph, every: Sequence[Triple]) -> Iterator[Finding]:
    joined = {
        path
        for triple in every
        if triple.state == "note" and triple.subject.path != triple.object.path
        for path in (triple.subject.path, triple.object.path)
    }
    for path in graph.notes():
        if path not in joined:
            yield Finding(
                "note-alone", path, 0, "no note links to it, and it links to none", "link it, or let it be"
            )
