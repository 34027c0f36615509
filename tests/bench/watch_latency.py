"""A vault -> how long it takes from a save until the watcher has made it searchable.

    python tests/bench/watch_latency.py VAULT [--edits 50] [--semantic]

Starts `memtool watch` on VAULT (which is changed: use a copy), makes edits as editors do, half of them
in place and half as rename-saves, and looks into the index without refreshing it. Then it stays idle
for a while and tells what that costs.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from memtool.memory.memory import Memory


def in_place(file: Path, text: str) -> None:
    file.write_text(text, "utf-8")


def rename_save(file: Path, text: str) -> None:
    spare = file.with_name(f".{file.name}.tmp")
    spare.write_text(text, "utf-8")
    spare.replace(file)


def seconds_until(there: Callable[[], bool], limit_s: float = 30.0) -> float:
    begun = time.perf_counter()
    while not there():
        if time.perf_counter() - begun > limit_s:
            return limit_s
        time.sleep(0.005)
    return time.perf_counter() - begun


def cpu_of(pid: int) -> float:
    ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


def memory_of(pid: int) -> str:
    """Tell what a process holds: its own pages, those of files it looks at, and the most it ever held."""
    told = dict(line.partition(":")[::2] for line in Path(f"/proc/{pid}/status").read_text().split("\n"))
    names = ("VmRSS", "RssAnon", "RssFile", "VmHWM")
    return ", ".join(f"{name} {int(told[name].split()[0]) // 1024} MiB" for name in names)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("vault", type=Path)
    parser.add_argument("--edits", type=int, default=50)
    parser.add_argument("--idle", type=float, default=60.0, metavar="S")
    parser.add_argument("--semantic", action="store_true", help="wait for the vector of the edit, too")
    options = parser.parse_args()
    environment = dict(os.environ)
    if not options.semantic:
        environment["MEMTOOL_EMBEDDER"] = "none"
    command = [
        str(Path(sys.executable).parent / "memtool"),
        "watch",
        "--no-commit",
        "--vault",
        str(options.vault),
    ]
    watcher = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    try:
        with Memory.open(options.vault, environment=environment) as memory:
            measure(memory, options, watcher.pid)
    finally:
        watcher.terminate()
        watcher.wait(10)


def measure(memory: Memory, options: argparse.Namespace, pid: int) -> None:
    root = memory.vault.root
    files = [root / path for path in memory.vault.walk().stats if not path.startswith("MEMORY")]

    def indexed(word: str) -> bool:
        found = (
            bool(memory.search(word, mode="lexical", limit=1, refresh=False))
            if memory.index.fact("looked")
            else False
        )
        return found and (
            not options.semantic or memory.index.missing()[0] + memory.index.unplanned_count() == 0
        )

    ready = seconds_until(lambda: memory.index.count("notes") >= len(files), 600.0)
    if options.semantic:
        ready += seconds_until(
            lambda: memory.index.missing()[0] + memory.index.unplanned_count() == 0, 3600.0
        )
    time.sleep(3)
    print(f"{len(files)} notes, ready after {ready:.1f} s; {memory_of(pid)}")
    for name, save in (("in place", in_place), ("rename-save", rename_save)):
        times = []
        for edit in range(options.edits):
            file = files[(edit * 37) % len(files)]
            word = f"latency{save.__name__.replace('_', '')}{edit}x{os.getpid()}"
            text = file.read_text("utf-8", errors="replace") + f"\nThe word is {word}.\n"
            save(file, text)
            times.append(seconds_until(lambda word=word: indexed(word)))  # type: ignore[misc]
            time.sleep(0.2)
        times.sort()
        p95 = times[int(len(times) * 0.95)]
        print(f"{name}: p50 {statistics.median(times):.3f} s, p95 {p95:.3f} s, worst {times[-1]:.3f} s")
    time.sleep(15)  # the catalog follows at its leisure
    before = cpu_of(pid)
    time.sleep(options.idle)
    print(f"idle: {cpu_of(pid) - before:.3f} s CPU in {options.idle:g} s; {memory_of(pid)}")


if __name__ == "__main__":
    main()
