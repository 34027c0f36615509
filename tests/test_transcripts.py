"""What a user types and sees: `tests/transcripts/*.txt`, rewritten by `pytest --update`.

A line that begins with `$ ` is typed, one with `! ` came on standard error; `[exit N]` is told when
it is not 0, and a backslash stands before output that looks like one of these. What differs from
machine to machine is masked: folders, days, sizes, times, scores.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from conftest import GARDEN, Ran, age

TRANSCRIPTS = Path(__file__).parent / "transcripts"
HOME = "/home/mio"

#: Topics that need vectors; those of the fake embedder are the same everywhere.
BY_MEANING = ("session-state",)


def typed(text: str) -> Iterator[str]:
    """Give the lines a person wrote: comments, blank lines, commands."""
    for line in text.split("\n"):
        if line.startswith(("$ ", "#")) or not line:
            yield line


def masked(text: str, home: Path) -> str:
    text = text.replace(str(home), HOME).replace(datetime.now(UTC).date().isoformat(), "2026-03-01")
    text = re.sub(r"\bmemtool [0-9a-f]{12}\b", "memtool ____________", text)
    text = re.sub(r"\b\d+(\.\d+)? (B|kB|MB)\b", "_ kB", text)
    text = re.sub(r"\(\d+\.\d s\)", "(_ s)", text)
    text = re.sub(r"(?m)(^|UTC, |committed as )[0-9a-f]{10}\b", r"\1__________", text)
    text = re.sub(r"\b\d\d:\d\d UTC", "__:__ UTC", text)
    text = re.sub(r"T\d\d:\d\d:\d\dZ", "T__:__:__Z", text)
    text = re.sub(r"(?m)^(\S.*:\d+-\d+  )-?\d\.\d\d(  )", r"\g<1>_.__\2", text)
    return re.sub(r"\bat [0-9a-f]{7}\b", "at _______", text)


def played(text: str, home: Path, start: Path, run: Callable[..., Ran]) -> Iterator[str]:
    here = start
    lines = list(typed(text))
    for number, line in enumerate(lines):
        if line or (number and not lines[number - 1]):
            yield line
        if not line.startswith("$ "):
            continue
        command = line[2:]
        if command.startswith("cd "):
            here = here / command[3:]
            yield ""
            continue
        ran = perform(command, here, run)
        shown = masked(ran.out, home).rstrip("\n").split("\n") if ran.out else []
        yield from (f"\\{line}" if line.startswith(("#", "$ ", "!")) else line for line in shown)
        yield from ("! " + masked(shown, home) for shown in ran.err.rstrip("\n").split("\n") if ran.err)
        if ran.code:
            yield f"[exit {ran.code}]"
        yield ""


def perform(command: str, here: Path, run: Callable[..., Ran]) -> Ran:
    if command.startswith("memtool "):
        command, _, given = command.partition(" < ")
        stdin = (here / given).read_text(encoding="utf-8") if given else ""
        return run(*shlex.split(command)[1:], cwd=here, stdin=stdin)
    done = subprocess.run(["bash", "-c", command], cwd=here, capture_output=True, text=True, check=False)
    return Ran(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("topic", sorted(file.stem for file in TRANSCRIPTS.glob("*.txt")))
def test_a_user_sees_what_the_transcript_shows(
    topic: str,
    tmp_path: Path,
    run: Callable[..., Ran],
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    monkeypatch.setenv("MEMTOOL_EMBEDDER", "fake" if topic in BY_MEANING else "none")
    monkeypatch.delenv("MEMTOOL_VAULT")
    start = tmp_path
    if topic != "first-steps":
        start = tmp_path / "garden"
        shutil.copytree(GARDEN, start)
        (start / ".memtool").mkdir()
        age(start)
    file = TRANSCRIPTS / f"{topic}.txt"
    text = file.read_text(encoding="utf-8")
    seen = re.sub(r"\n{3,}", "\n\n", "\n".join(played(text, tmp_path, start, run))).strip() + "\n"

    if request.config.getoption("--update"):
        file.write_text(seen, encoding="utf-8")
    assert text == seen or request.config.getoption("--update")
