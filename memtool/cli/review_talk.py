"""Changes that wait -> questions to a person, one by one, and what is answered done.

Plain lines and a prompt. The end of the input is `quit`; Ctrl-C ends, too, and keeps what was decided.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from memtool import names
from memtool.cli import render, review_lines, terminal
from memtool.cli.main import INTERRUPTED, NO, OK
from memtool.errors import MemtoolError, UsageError
from memtool.note.anchor import Anchor
from memtool.review import fates

if TYPE_CHECKING:
    from memtool.commits.commit_message import Edit
    from memtool.memory.desk import Queue
    from memtool.memory.memory import Memory
    from memtool.review.reviews import Change

#: Lines of a diff that are shown at first.
SHOWN = 40

ANSWERS = {
    "k": ("keep", "it is good as it is"),
    "f": ("fix", "open the note in your editor, at the line"),
    "v": ("verify", "you checked its lines against a source"),
    "r": ("revert", "take this change back; what others wrote since stays"),
    "s": ("skip", "decide next time"),
    "K": ("keep all", "keep this and all that is left of this topic"),
    "d": ("diff", "show the whole diff"),
    "q": ("quit", "end here; what was decided is committed"),
    "?": ("help", "print this"),
}
_PROMPT = "keep, fix, verify, revert, skip, quit? [k/f/v/r/s/q/?]"
_NEAR = 200  # changes that are read from git at once
#: Editors that take the line as `+N`; others get the file alone.
_PLUS = ("vi", "vim", "nvim", "view", "nano", "emacs", "emacsclient", "micro", "kak", "joe", "ne", "ed", "ex")
_GOTO = ("code", "codium", "cursor")


class Talk:
    """One review with a person at the terminal."""

    def __init__(self, memory: Memory, queue: Queue) -> None:
        self.memory, self.queue = memory, queue
        self.coloured = terminal.is_coloured()
        self.edits: dict[str, list[Edit]] = {}
        self.all_of: str | None = None  # the topic whose rest is kept

    def run(self) -> int:
        """Ask about every change; give the exit code."""
        changes, interrupted = self.queue.changes, False
        try:
            self._open(changes)
            for number, change in enumerate(changes):
                if not self._ask_about(number, change):
                    break
        except KeyboardInterrupt:
            interrupted = True
            print()
        return self._close(interrupted=interrupted)

    def _open(self, changes: Sequence[Change]) -> None:
        if not changes:
            terminal.say("nothing to review: no agent wrote anything since the last look")
            return
        topics = {one.topic for one in changes}
        first = min(one.when for one in changes)
        terminal.say(
            f"{render.counted(len(changes), 'change')} by agents to review, "
            f"in {render.counted(len(topics), 'folder')}, since {first:%Y-%m-%d}"
        )

    def _close(self, *, interrupted: bool) -> int:
        """Commit what was decided, and say what is left."""
        review_lines.tell(report := self.memory.close_review(self.queue))
        left = len(self.memory.to_review().changes)
        if self.queue.changes:
            render.err(f"{render.counted(left, 'change')} left to review" if left else "all is reviewed")
        return INTERRUPTED if interrupted else OK if report.complete and not left else NO

    # -- one change ----------------------------------------------------------------------------

    def _ask_about(self, number: int, change: Change) -> bool:
        """Ask until something is decided about a change; false ends the review."""
        if self.all_of == change.topic:
            return self._done("k", change)
        self.all_of = None
        if not number or self.queue.changes[number - 1].topic != change.topic:
            terminal.say()
            terminal.say(review_lines.heading(change.topic, self.queue.changes))
        self._read(number)
        self._show(number, change)
        while True:
            answer = terminal.ask(_PROMPT)
            key = _key(answer)
            if key == "q":
                return False
            if key == "s" or (key and self._decided(key, change)):
                return True

    def _decided(self, key: str, change: Change) -> bool:
        if key == "?":
            for letter, (word, means) in ANSWERS.items():
                terminal.say(f"  {letter}  {word}: {means}")
            return False
        if key == "d":
            self._diff(change, len(review_lines.diff_of(self.edits[change.revision])))
            return False
        try:
            return self._done(key, change)
        except MemtoolError as error:
            _tell(error)
            return False

    def _done(self, key: str, change: Change) -> bool:
        if key in ("k", "K"):
            self.memory.keep_change(change)
            self.all_of = change.topic if key == "K" or self.all_of == change.topic else None
            return True
        if key == "r":
            self.memory.revert_change(change)
            return True
        return self._fix(change) if key == "f" else self._verify(change)

    # -- what is shown -------------------------------------------------------------------------

    def _read(self, number: int) -> None:
        """Read this change from git, and some of the next ones with the same question."""
        if self.queue.changes[number].revision not in self.edits:
            some = self.queue.changes[number : number + (_NEAR if number else 1)]
            self.edits |= fates.edits(self.memory.vault, some)

    def _show(self, number: int, change: Change) -> None:
        edits = self.edits[change.revision]
        terminal.say()
        terminal.say(f"[{number + 1}/{len(self.queue.changes)}] {review_lines.places(edits)}")
        terminal.say(f"  {change.writer}, {change.when:%Y-%m-%d %H:%M} UTC, {change.id}")
        for line in review_lines.about(self.memory, change, edits):
            terminal.say(f"  {line}")
        self._diff(change, SHOWN)

    def _diff(self, change: Change, most: int) -> None:
        lines = review_lines.diff_of(self.edits[change.revision])
        for line in lines[:most]:
            terminal.diff(line, coloured=self.coloured)
        if len(lines) > most:
            terminal.say(f"... {len(lines) - most} more lines; d shows all")

    # -- what is done --------------------------------------------------------------------------

    def _edit_of(self, change: Change) -> tuple[Edit, str]:
        """Choose the note of a change that is still there."""
        for edit in self.edits[change.revision]:
            if (
                edit.after is not None
                and names.is_path(edit.path)
                and (self.memory.vault.root / edit.path).is_file()
            ):
                return edit, edit.path
        raise UsageError("its note is gone or has another name now", fix="keep or skip it")

    def _verify(self, change: Change) -> bool:
        edit, path = self._edit_of(change)
        against = terminal.ask("checked against what (a link, a file, a person; empty: back)?")
        if not against:
            return False
        from memtool.door import amending

        place = Anchor(path, 0, 0)
        if edit.before is not None and self.memory.vault.read(path) == edit.after:
            place = Anchor(path, *amending.lines_of(edit.before, edit.after or b""))
        covered = self.memory.verify_change(change, place, against=against)
        terminal.say(f"  {covered} verified against {against}")
        return True

    def _fix(self, change: Change) -> bool:
        """Let a person edit a copy of the note, and put it in its place; no change is no decision."""
        edit, path = self._edit_of(change)
        read = self.memory.vault.read(path)
        with tempfile.TemporaryDirectory(prefix="memtool-review-") as folder:
            file = Path(folder) / Path(path).name
            file.write_bytes(read)
            while True:
                _open_editor(file, fates.first_line(edit))
                try:
                    if self.memory.fix_change(change, path, read, file.read_bytes()):
                        return True
                    terminal.say("  nothing was changed in the editor")
                    return False
                except MemtoolError as error:
                    _tell(error)
                    if terminal.ask("edit again? y, or anything else to drop what you wrote:") != "y":
                        return False


def _tell(error: MemtoolError) -> None:
    for line in str(error).split("\n"):
        terminal.say(f"! {line}")


def _key(answer: str | None) -> str:
    """Read an answer: a letter or its word; "" for none of ours.

    >>> _key("keep"), _key("R"), _key("K"), _key(None), _key("x")
    ('k', 'r', 'K', 'q', '')
    """
    if answer is None:
        return "q"
    if answer in ANSWERS:
        return answer
    words = {word: key for key, (word, _) in ANSWERS.items()}
    small = answer.casefold()
    return small if small in ANSWERS else words.get(small, "")


def _open_editor(file: Path, line: int) -> None:
    """Open a file in the person's own editor, at the line where that can be said."""
    told = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        command = shlex.split(told)
        done = subprocess.run([*command, *_place(command, file, line)], check=False)
    except (OSError, ValueError, IndexError) as error:
        raise UsageError(
            f"the editor cannot be started: {error}", fix="set EDITOR, as in EDITOR=nano"
        ) from error
    if done.returncode:
        raise UsageError(f"the editor ended with {done.returncode}", fix="nothing was changed; try again")


def _place(command: Sequence[str], file: Path, line: int) -> list[str]:
    """Say which line is to be shown, as far as this editor takes that.

    >>> _place(["nano"], Path("a.md"), 3), _place(["my-editor"], Path("a.md"), 3)
    (['+3', 'a.md'], ['a.md'])
    """
    name = Path(command[0]).name
    if name in _GOTO:
        return ["--wait", "--goto", f"{file}:{line}"]
    return [f"+{line}", str(file)] if name in _PLUS else [str(file)]
