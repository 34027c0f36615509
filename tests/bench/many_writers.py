"""Measure many processes that write to a few notes at once: what is lost, what is refused, how long it takes.

    python tests/bench/many_writers.py --processes 12 --writes 200 --notes 20

Every write carries a line of its own. Afterwards each accepted line must stand in the vault exactly once
and in a commit of its own writer, each refused one must have been reported, and `git fsck` find nothing.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from memtool.errors import MemtoolError
from memtool.identity import Signature
from memtool.memory.memory import Memory
from memtool.note.anchor import Anchor


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


def start(folder: Path, notes: int) -> None:
    for number in range(notes):
        (folder / f"note-{number:02d}.md").write_text(f"# Note {number}\n\n## Log\n\n## Other\n\nEnd.\n")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.name", "Bench")
    git(folder, "config", "user.email", "bench@example.invalid")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "Start")


def write(folder: str, name: str, writes: int, notes: int) -> None:
    """Be one writer: print what was accepted and what was refused, and how long each took."""
    chance, by = random.Random(name), Signature(f"agent/{name}", f"session-{name}")
    told: dict[str, list[object]] = {"accepted": [], "refused": [], "uncommitted": [], "seconds": []}
    with Memory.open(folder, embedder="none") as memory:
        for number in range(writes):
            path, line = f"note-{chance.randrange(notes):02d}.md", f"{name}-{number:04d} wrote 行{number}"
            began = time.perf_counter()
            try:
                _one(memory, path, line, by, chance.random())
            except MemtoolError as error:
                told["refused"].append([line, error.code])
            else:
                told["accepted"].append(line)
                if memory.committed is None or not memory.committed.complete:
                    told["uncommitted"].append(line)
            told["seconds"].append(time.perf_counter() - began)
    print(json.dumps(told))


def _one(memory: Memory, path: str, line: str, by: Signature, chance: float) -> None:
    if chance < 0.6:
        memory.append(path, line, by=by)
    elif chance < 0.8:
        memory.append(path, line, heading="Log", by=by)
    else:
        shown = memory.show(path)
        place = next(number for number, text in shown if text.startswith("## Other"))
        text = f"{shown[place - 1][1]}\n{line}"
        memory.edit(Anchor(path, place, place), text, if_digest=memory.digest(shown), by=by)


def measure(folder: Path, processes: int, writes: int, notes: int) -> dict[str, object]:
    start(folder, notes)
    arguments = [
        sys.executable,
        __file__,
        "--be",
        str(folder),
        "--writes",
        str(writes),
        "--notes",
        str(notes),
    ]
    began = time.perf_counter()
    running = [
        subprocess.Popen([*arguments, "--name", f"w{number:02d}"], stdout=subprocess.PIPE, text=True)
        for number in range(processes)
    ]
    told = [json.loads(process.communicate()[0]) for process in running]
    took = time.perf_counter() - began
    accepted = [line for one in told for line in one["accepted"]]
    refused = Counter(code for one in told for _, code in one["refused"])
    text = Counter(line for file in folder.glob("*.md") for line in file.read_text().split("\n"))
    seconds = sorted(value for one in told for value in one["seconds"])
    changes = git(folder, "log", "--format=%H").split()
    empty = [line for line in git(folder, "log", "--format=%H %T %P").split("\n") if _is_empty(folder, line)]
    return {
        "writes": processes * writes,
        "accepted": len(accepted),
        "refused": dict(refused),
        "lost": sum(text[line] != 1 for line in accepted),
        "refused but present": sum(text[line] for one in told for line, _ in one["refused"]),
        "uncommitted": sum(len(one["uncommitted"]) for one in told),
        "commits": len(changes) - 1,
        "empty commits": len(empty),
        "left by git status": len(git(folder, "status", "--porcelain").split()),
        "fsck": subprocess.run(
            ["git", "fsck", "--full"], cwd=folder, capture_output=True, text=True
        ).returncode,
        "seconds": round(took, 1),
        "seconds a write, median and worst": [round(seconds[len(seconds) // 2], 3), round(seconds[-1], 3)],
    }


def _is_empty(folder: Path, line: str) -> bool:
    parts = line.split(" ")
    return (
        len(parts) > 2
        and bool(parts[2])
        and git(folder, "rev-parse", f"{parts[2]}^{{tree}}").strip() == parts[1]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=12)
    parser.add_argument("--writes", type=int, default=200)
    parser.add_argument("--notes", type=int, default=20)
    parser.add_argument("--be", default="", help=argparse.SUPPRESS)
    parser.add_argument("--name", default="w", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.be:
        write(options.be, options.name, options.writes, options.notes)
        return
    with tempfile.TemporaryDirectory(prefix="memtool-writers-") as folder:
        print(json.dumps(measure(Path(folder), options.processes, options.writes, options.notes), indent=1))


if __name__ == "__main__":
    main()
