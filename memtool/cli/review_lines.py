"""Changes of agents -> lines on the screen: where, what, by whom, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memtool.cli import render
from memtool.memory.memory import Memory

if TYPE_CHECKING:
    from memtool.commits.commit_message import Edit
    from memtool.commits.commit_report import CommitReport
    from memtool.review.reviews import Change


def tell(report: CommitReport) -> None:
    """Print what came of the commit of a review."""
    for commit in report.commits:
        render.out(f"{commit.revision[:10]}  {commit.subject}")
    for finding in report.findings:
        render.err(str(finding))
    if report.findings and not report.commits:
        render.err("what was decided is kept; it is committed at the end of the next `memtool review`")


def heading(topic: str, changes: Sequence[Change]) -> str:
    own = [one for one in changes if one.topic == topic]
    notes = {one.path for one in own}
    return f"== {topic or '.'}/  {render.counted(len(own), 'change')} in {render.counted(len(notes), 'note')}"


def places(edits: Sequence[Edit]) -> str:
    """Name the notes of a change, with the line where each begins to differ."""
    from memtool.review import fates

    told = [
        f"{edit.path}:{fates.first_line(edit)}"
        if edit.kind == "changed"
        else f"{edit.old_path + ' -> ' if edit.old_path else ''}{edit.path} ({edit.kind})"
        for edit in edits
    ]
    return ", ".join(told[:3]) + (f" and {len(told) - 3} more" if len(told) > 3 else "")


def about(memory: Memory, change: Change, edits: Sequence[Edit]) -> list[str]:
    """Say what a reader should know of a change: why, what it lacks, what became of it."""
    from memtool import carrying
    from memtool.identity import Signature
    from memtool.review import fates

    told = [f"reason: {change.reason}"] if change.reason else []
    told += [f"session: {change.session}"] if change.session else []
    told += ["the policy asks for a review of it"] if change.needed else []
    by = Signature(change.writer, change.session, change.reason)
    written = [(edit.path, edit.after) for edit in edits if edit.after is not None]
    told += [f"{finding.path}: {finding.what}" for finding in carrying.findings(written, by)]
    state = fates.fate(memory.vault, change, edits)
    return [*told, *([state] if state else [])]


def diff_of(edits: Sequence[Edit]) -> list[str]:
    """Give a change as the lines of a unified diff."""
    from memtool.door.door import Done, Step

    return Done(tuple(Step("edit", edit) for edit in edits)).diff.split("\n")[:-1]
