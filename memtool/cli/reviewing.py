"""review, freeze, pin: commands by which a person rules over what agents write."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from memtool.cli import keeping, render, review_lines
from memtool.cli.main import NO, OK
from memtool.errors import MemtoolError, UsageError
from memtool.memory.memory import Memory

if TYPE_CHECKING:
    from memtool.commits.commit_message import Edit
    from memtool.memory.desk import Queue
    from memtool.review.reviews import Change


def flags(command: str, parser: argparse.ArgumentParser) -> None:
    """Give *parser* the flags of *command*."""
    if command == "review":
        _review_flags(parser)
        return
    parser.add_argument("note", help="the note's path")
    undone = {"freeze": "let agents change it again", "pin": "let it fade and be listed like others"}
    parser.add_argument("--undo", action="store_true", help=undone[command])
    parser.add_argument(
        "--dry-run", action="store_true", help="print the change as a diff, and write nothing"
    )
    keeping.signature_flags(parser)


def _review_flags(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--list", action="store_true", help="only list what waits, without a question")
    add("--keep", nargs="+", default=[], metavar="ID", help="keep these changes, without a question")
    add("--revert", nargs="+", default=[], metavar="ID", help="take these changes back, without a question")
    add("--since", default="", metavar="REV", help="what was written after this revision, looked at or not")
    add("--writer", default="", metavar="NAME", help="only what this agent wrote, as in agent/scribe")


def run(options: argparse.Namespace) -> int:
    """Run one of this group's commands."""
    with Memory.open(options.vault) as memory:
        return _review(memory, options) if options.command == "review" else _mark(memory, options)


def _mark(memory: Memory, options: argparse.Namespace) -> int:
    by = keeping.signed(options, memory.who)
    change = memory.freeze if options.command == "freeze" else memory.pin
    anchor = change(options.note, undo=options.undo, by=by, dry_run=options.dry_run)
    done = {"freeze": ("frozen", "not frozen any more"), "pin": ("pinned", "not pinned any more")}
    state = done[options.command][options.undo]
    if options.dry_run:
        print(render.plain(memory.planned), end="")
    elif options.json:
        render.document({"path": anchor.path, "state": state})
    else:
        render.out(f"{anchor.path}  {state}")
    return OK


# -- review ----------------------------------------------------------------------------------


def _review(memory: Memory, options: argparse.Namespace) -> int:
    queue = memory.to_review(since=options.since, writer=options.writer)
    if options.keep or options.revert:
        return _decide(memory, queue, options)
    if options.list or options.json or memory.who.is_agent:
        return _list(memory, queue.changes, options)
    from memtool.cli import review_talk

    return review_talk.Talk(memory, queue).run()


def _decide(memory: Memory, queue: Queue, options: argparse.Namespace) -> int:
    """Decide about changes by their names; all are found before any is touched."""
    wanted = [(_named(queue.changes, name), memory.keep_change) for name in options.keep]
    # Newest first: a later change is taken back before the one that it built on.
    back = [(_named(queue.changes, name), memory.revert_change) for name in options.revert]
    wanted += sorted(back, key=lambda pair: pair[0].when, reverse=True)
    failed: list[tuple[Change, MemtoolError]] = []
    for change, decide in wanted:
        try:
            decide(change)
        except MemtoolError as refused:
            failed.append((change, refused))
    report = memory.close_review(queue)
    if options.json:
        errors = [{"id": change.id, "code": error.code, "what": error.what} for change, error in failed]
        render.document({"commit": keeping.report_value(report), "failed": errors})
    else:
        review_lines.tell(report)
        for change, error in failed:
            render.err(f"{change.id}: {error}")
    return NO if failed or not report.complete else OK


def _named(changes: Sequence[Change], name: str) -> Change:
    found = [one for one in changes if len(name) >= 4 and one.revision.startswith(name.lower())]
    if len(found) != 1:
        what = "means several changes" if found else "waits for no review"
        raise UsageError(f"`{name}` {what}", fix="name a change as `memtool review --list` does")
    return found[0]


def _list(memory: Memory, changes: Sequence[Change], options: argparse.Namespace) -> int:
    from memtool.review import fates

    edits = fates.edits(memory.vault, changes)
    if options.json:
        values = [_value(memory, one, edits[one.revision]) for one in changes]
        render.document({"changes": values, "notice": render.NOTICE})
        return NO if changes else OK
    topic = None
    for one in changes:
        if topic != one.topic:
            topic = one.topic
            render.out(review_lines.heading(topic, changes))
        render.out(f"{one.id}  {one.when:%Y-%m-%d}  {one.writer}  {review_lines.places(edits[one.revision])}")
        for line in review_lines.about(memory, one, edits[one.revision]):
            render.out(f"    {line}")
    render.err(
        f"{render.counted(len(changes), 'change')} by agents to review" if changes else "nothing to review"
    )
    return NO if changes else OK


def _value(memory: Memory, change: Change, edits: Sequence[Edit]) -> dict[str, Any]:
    from memtool import carrying
    from memtool.identity import Signature
    from memtool.review import fates

    by = Signature(change.writer, change.session, change.reason)
    written = [(edit.path, edit.after) for edit in edits if edit.after is not None]
    return {
        "id": change.id,
        "revision": change.revision,
        "topic": change.topic,
        "when": change.when.isoformat(),
        "writer": change.writer,
        "session": change.session,
        "reason": change.reason,
        "needed": change.needed,
        "notes": [{"path": edit.path, "kind": edit.kind, "line": fates.first_line(edit)} for edit in edits],
        "later": [{**one._asdict(), "when": one.when.isoformat()} for one in change.later],
        "now": fates.fate(memory.vault, change, edits),
        "findings": render.findings_value(list(carrying.findings(written, by))),
        "diff": "\n".join(review_lines.diff_of(edits)),
    }
