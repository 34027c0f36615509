"""How long a person waits for the first screen of `memtool review`, against `git log` of the same repository.

Makes a repository with CHANGES commits by agents in both languages (500 by default), then runs each
command five times, as a person would, and prints the best and the median in milliseconds.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def make(folder: Path, count: int) -> None:
    """Let agents write *count* changes, by one run of git."""
    subprocess.run(["git", "init", "-q", "-b", "main", str(folder)], check=True)
    (folder / ".memtool").mkdir()
    stream = [
        b"commit refs/heads/main\ncommitter Mio <mio@example.invalid> 1700000000 +0000\n"
        b"data 5\nStart\nM 100644 inline README.md\ndata 9\n# Garden\n\n"
    ]
    topics = ("ops", "garden", "people", "庭", "運用")
    for number in range(count):
        note = f"{topics[number % 5]}/note-{number % 120:03}.md"
        text = f"# Note {number % 120}\n\n" + "".join(
            f"Line {line} of change {number if line % 3 else 0}. 水やりは朝六時。\n" for line in range(12)
        )
        words = f"Change {note}\n\nMemtool-Writer: agent/scribe\nMemtool-Session: s{number // 50}\n"
        for part in (words, text):
            data = part.encode()
            if part is words:
                when = 1_700_000_000 + number * 60
                head = f"commit refs/heads/main\ncommitter Mio <mio@example.invalid> {when} +0000\n"
                stream.append(head.encode() + b"data %d\n" % len(data) + data)
            else:
                stream.append(f"M 100644 inline {note}\n".encode() + b"data %d\n" % len(data) + data + b"\n")
    subprocess.run(["git", "fast-import", "--quiet"], cwd=folder, input=b"".join(stream), check=True)
    subprocess.run(["git", "reset", "-q", "--hard"], cwd=folder, check=True)


def first_screen(command: list[str], folder: Path) -> float:
    """Give the milliseconds until the prompt of the first change stands there."""
    start = time.perf_counter()
    with subprocess.Popen(
        command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout and process.stdin
        seen = b""
        while b"?]" not in seen and (part := os.read(process.stdout.fileno(), 65536)):
            seen += part
        took = (time.perf_counter() - start) * 1000
        process.stdin.close()
        process.stdout.read()
    return took


def whole(command: list[str], folder: Path) -> float:
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return (time.perf_counter() - start) * 1000


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    memtool = [sys.executable, "-m", "memtool"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "vault"
        make(folder, count)
        runs = {
            "git log": lambda: whole(["git", "log"], folder),
            "git log -p": lambda: whole(["git", "log", "-p"], folder),
            "memtool --version": lambda: whole([*memtool, "--version"], folder),
            "memtool review, first screen": lambda: first_screen([*memtool, "review"], folder),
            "memtool review --list": lambda: whole([*memtool, "review", "--list"], folder),
            "memtool review --list --json": lambda: whole([*memtool, "review", "--list", "--json"], folder),
        }
        print(f"{count} changes by agents")
        for told, run in runs.items():
            took = sorted(run() for _ in range(5))
            print(f"{told:30} best {took[0]:6.0f} ms, median {statistics.median(took):6.0f} ms")


if __name__ == "__main__":
    main()
