"""links, graph: commands that tell how notes hang together."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from memtool.cli import render
from memtool.cli.main import NO, OK
from memtool.errors import UsageError
from memtool.memory.memory import Memory

if TYPE_CHECKING:
    from memtool.links.graph import Triple
    from memtool.links.paths import Path, Step


def flags(command: str, parser: argparse.ArgumentParser) -> None:
    """Give *parser* the flags of *command*."""
    add = parser.add_argument
    if command == "links":
        add("note", nargs="?", default="", help="a note's path")
        which = parser.add_mutually_exclusive_group()
        for kind, words in (
            ("broken", "name links to notes, headings and blocks that are not there"),
            ("ambiguous", "name links that could mean more than one note"),
            ("orphans", "name notes that no link leads to or from"),
        ):
            which.add_argument(f"--{kind}", dest="kind", action="store_const", const=kind, help=words)
        parser.set_defaults(kind="")
    else:
        add("question", help='a thing, or a question such as "who worked with X"; two things give their path')
        add(
            "--hops",
            type=int,
            default=0,
            metavar="N",
            help="lines to follow, 6 at most (default: as the question asks)",
        )
        add(
            "--relation",
            action="append",
            default=[],
            metavar="R",
            help="follow only this one; again: then that one",
        )
        add(
            "--direction",
            choices=("out", "in", "both"),
            default="both",
            help="from what is said to what it is said of, or back",
        )
        add("--limit", type=int, default=50, metavar="N", help="things to print (default: 50)")
    add("--blame", action="store_true", help="tell of each line who wrote it")
    add("--writer", default="", metavar="NAME", help="in whose name to read (default: MEMTOOL_WRITER)")


def run(options: argparse.Namespace) -> int:
    """Run one of this group's commands."""
    if options.command == "links" and bool(options.note) == bool(options.kind):
        fix = "run `memtool links NOTE`, or one of --broken, --ambiguous, --orphans"
        raise UsageError("name a note, or what to look for", fix=fix)
    if options.command == "graph" and not (0 <= options.hops <= 6 and options.limit > 0):
        raise UsageError("--hops takes 1 to 6, --limit 1 or more", fix="leave them out")
    with Memory.open(options.vault, writer=options.writer) as memory:
        if options.command == "graph":
            return _graph(memory, options)
        return _problems(memory, options) if options.kind else _links(memory, options)


def _links(memory: Memory, options: argparse.Namespace) -> int:
    found = memory.links(options.note, blame=options.blame)
    if options.json:
        out, into = [_value(one) for one in found.out], [_value(one) for one in found.into]
        render.document({"path": found.path, "out": out, "in": into})
        return OK
    for triple in found.out:
        render.out(f"{triple.anchor}  {triple.relation} -> {_end(triple)}{_by(triple)}")
    for triple in found.into:
        render.out(f"{triple.anchor}  <- {triple.relation} {triple.subject}{_by(triple)}")
    render.err(f"{len(found.out)} out, {len(found.into)} in")
    return OK


def _problems(memory: Memory, options: argparse.Namespace) -> int:
    found = memory.link_problems(options.kind)
    return NO if render.checked(found, as_json=options.json) else OK


def _graph(memory: Memory, options: argparse.Namespace) -> int:
    found = memory.graph(
        options.question,
        hops=options.hops,
        relation=options.relation,
        direction=options.direction,
        limit=options.limit,
        blame=options.blame,
    )
    if options.json:
        starts = [{"name": thing.name, "path": thing.path} for thing in found.starts]
        ways = [_path_value(path) for path in found.paths]
        render.document({"starts": starts, "paths": ways, "remark": found.remark})
        return OK if found.paths else NO
    for path in found.paths:
        render.out(_told(path))
        for step in path.steps:
            render.out(f"  {step.triple.anchor}  {_line(step)}{_by(step.triple)}")
    _say(found.remark, [str(thing) for thing in found.starts], len(found.paths))
    return OK if found.paths else NO


def _say(remark: str, starts: list[str], count: int) -> None:
    if remark:
        render.err(remark)
    if starts:
        more = f" and {len(starts) - 5} more" if len(starts) > 5 else ""
        render.err(f"{render.counted(count, 'thing')} from {', '.join(starts[:5])}{more}")


def _told(path: Path) -> str:
    end = path.end
    name = f"{end.name} ({end.path})" if end.path else end.name
    return f"{name}  {render.counted(len(path.steps), 'hop')}"


def _line(step: Step) -> str:
    triple = step.triple
    return f"{triple.subject.name} -{triple.relation}-> {triple.object.name}"


def _end(triple: Triple) -> str:
    told = {
        "note": f"{triple.object.path}{triple.fragment}",
        "text": triple.object.name,
        "file": f"{triple.written} (a file)",
        "missing": f"{triple.written} (no such note)",
        "outside": f"{triple.written} (out of the vault)",
    }[triple.state]
    others = f" (or {', '.join(triple.others[:3])})" if triple.others else ""
    return told + others


def _by(triple: Triple) -> str:
    if triple.writer is None:
        return ""
    by = triple.writer.revision
    return f"  ({by.writer or by.author} {by.when:%Y-%m-%d})" if by else "  (not committed)"


def _value(triple: Triple) -> dict[str, Any]:
    by = triple.writer.revision if triple.writer else None
    return {
        "subject": triple.subject._asdict(),
        "relation": triple.relation,
        "object": triple.object._asdict(),
        "anchor": str(triple.anchor),
        "state": triple.state,
        "written": triple.written,
        "fragment": triple.fragment,
        "others": list(triple.others),
        "writer": (by.writer or by.author) if by else "",
        "revision": by.revision if by else "",
    }


def _path_value(path: Path) -> dict[str, Any]:
    steps = [{**_value(step.triple), "forward": step.forward} for step in path.steps]
    return {"start": path.start._asdict(), "end": path.end._asdict(), "steps": steps}
