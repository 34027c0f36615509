"""lifecycle, fold, restore: commands that let old notes fade, sum them up, and bring them back."""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from memtool.cli import keeping, render
from memtool.cli.main import FAILED, NO, OK
from memtool.errors import UsageError

if TYPE_CHECKING:
    from memtool.lifecycle.enacting import Result
    from memtool.lifecycle.plans import Plan
    from memtool.memory.memory import Memory

#: Steps that are printed; --limit 0 prints all.
SHOWN = 20


def flags(command: str, parser: argparse.ArgumentParser) -> None:
    """Give *parser* the flags of *command*."""
    add = parser.add_argument
    if command == "restore":
        add("note", help="the archived note's path")
        add("--to", default="", metavar="PATH", help="another place than the one it had before")
        add("--dry-run", action="store_true", help="print the change as a diff, and write nothing")
        keeping.signature_flags(parser)
        return
    if command == "lifecycle":
        add("what", choices=("plan", "apply"), help="plan: only tell what would be done; apply: do it")
        add("digest", nargs="?", default="", help="apply: the plan, as `plan` named it")
        add("--below", type=float, metavar="X", help="strength under which a note is faded (default 0.1)")
    else:
        add("--older-than", default="90d", metavar="TIME", help="age of an episode: 90d, 12w, 6m, 1y")
        add(
            "--apply",
            nargs="?",
            const="now",
            default="",
            metavar="DIGEST",
            help="do it: this plan, or a new one",
        )
        add("--chat", action="store_true", help="let the configured chat model write the lines")
        add("--untyped", action="store_true", help="take untyped notes that are named for their day, too")
        add("--keep", dest="archive", action="store_false", help="leave cold sources where they are")
    add(
        "--accept",
        action="store_true",
        help="archive 20 notes or more at once, though that is over a fifth of all",
    )
    add("--session", default="", metavar="ID", help="in which session (default: named for the plan)")
    add("--now", default="", metavar="DAY", help="the day that counts as today (default: the clock's)")
    add("--limit", type=int, default=SHOWN, metavar="N", help="steps that are shown (0: all)")


def run(options: argparse.Namespace) -> int:
    """Run one of this group's commands."""
    from memtool.memory.memory import Memory

    with Memory.open(options.vault) as memory:
        return {"restore": _restore, "lifecycle": _lifecycle, "fold": _fold}[options.command](memory, options)


def _restore(memory: Memory, options: argparse.Namespace) -> int:
    by = keeping.signed(options, memory.who)
    path = memory.restore(options.note, to=options.to, by=by, dry_run=options.dry_run)
    if options.json:
        render.document({"path": path, **({"diff": memory.planned} if options.dry_run else {})})
    elif options.dry_run:
        for line in memory.planned.removesuffix("\n").split("\n"):
            render.out(line)
    else:
        render.out(path)
    return OK


def _lifecycle(memory: Memory, options: argparse.Namespace) -> int:
    if options.what == "plan":
        return _tell(memory.lifecycle(below=options.below, now=options.now), "lifecycle apply", options)
    if not options.digest:
        fix = "run `memtool lifecycle plan`, and name the digest it prints"
        raise UsageError("no plan is named", why="what was seen is what is done", fix=fix)
    return _enact(memory, options.digest, "lifecycle", options)


def _fold(memory: Memory, options: argparse.Namespace) -> int:
    if options.apply not in ("", "now"):
        return _enact(memory, options.apply, "fold", options)
    plan = memory.fold(
        older_than=days(options.older_than),
        chat=options.chat,
        untyped=options.untyped,
        archive=options.archive,
        now=options.now,
    )
    if not options.apply:
        return _tell(plan, "fold --apply", options)
    return (
        _enact(memory, plan.digest, "fold", options) if plan.steps else _tell(plan, "fold --apply", options)
    )


def days(text: str) -> int:
    """Read an age.

    >>> days("90d"), days("6m"), days("30")
    (90, 183, 30)
    """
    found = re.fullmatch(r"(\d{1,5})\s*([dwmy]?)", text.strip().lower())
    if not found:
        raise UsageError(f"{text!r} is no age", fix="write it as 90d, 12w, 6m or 1y")
    return round(int(found[1]) * {"": 1, "d": 1, "w": 7, "m": 30.44, "y": 365.25}[found[2]])


# What is said


def _tell(plan: Plan, command: str, options: argparse.Namespace) -> int:
    from memtool.lifecycle import plans

    short = plan.digest[: plans.SHORT]
    if options.json:
        findings = render.findings_value(plan.findings)
        render.document({"digest": plan.digest, **plans.value(plan), "findings": findings})
        return OK if plan.steps else NO
    for step in plan.steps[: options.limit or None]:
        goes = f" -> {step.to}" if step.to != step.path else ""
        source = f" <- {step.sources[1].path}" if step.verb == "merge" else ""
        render.out(f"{step.verb:<8} {step.path}{goes}{source}")
        render.out(f"         {step.reason}")
    _more(len(plan.steps), options)
    for finding in plan.findings:
        render.err(str(finding))
    counted = ", ".join(f"{many} {verb}" for verb, many in Counter(step.verb for step in plan.steps).items())
    render.out(f"plan {short}: {counted or 'nothing to do'}; {plan.notes} notes are not archived")
    if plan.steps:
        render.err(f"# nothing was changed; `memtool {command} {short}` does exactly this")
    return OK if plan.steps else NO


def _more(many: int, options: argparse.Namespace) -> None:
    if options.limit and many > options.limit:
        render.out(f"... and {many - options.limit} more; --limit 0 shows all")


def _enact(memory: Memory, digest: str, kind: str, options: argparse.Namespace) -> int:
    from memtool.lifecycle import plans
    from memtool.memory.aging import session_of

    plan = plans.load(memory.vault, digest, kind)
    results = memory.enact(plan.digest, kind=kind, accept=options.accept, session=options.session)
    session = options.session or session_of(plan)
    if options.json:
        render.document(_document(plan, session, results))
    else:
        _print(results, session, options)
    return FAILED if results and not any(result.revision for result in results) else OK


def _document(plan: Plan, session: str, results: Sequence[Result]) -> dict[str, object]:
    steps = [
        {
            "verb": result.step.verb,
            "path": result.step.path,
            "to": result.step.to,
            "reason": result.step.reason,
            "revision": result.revision,
            "finding": render.findings_value([result.finding])[0] if result.finding else None,
        }
        for result in results
    ]
    return {"digest": plan.digest, "session": session, "steps": steps}


def _print(results: Sequence[Result], session: str, options: argparse.Namespace) -> None:
    done = [result for result in results if result.revision]
    for result in done[: options.limit or None]:
        goes = f" -> {result.step.to}" if result.step.to != result.step.path else ""
        render.out(f"{result.step.verb:<8} {result.step.path}{goes}")
    _more(len(done), options)
    for result in results:
        if result.finding:
            render.err(str(result.finding))
    render.out(f"{len(done)} of {len(results)} steps done, each a commit of its own")
    if done:
        render.err(f"# `memtool undo --session {session}` takes all of them back")
