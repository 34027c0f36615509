"""Index a vault anew to lexical-ready, then look again with nothing changed: CPU, wall and peak memory.

    python tests/bench/index_speed.py VAULT [--rounds 3]

CPU counts both processes. The floor of the second look is a bare walk with one stat a file.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

from memtool.memory.memory import Memory


def index(vault: Path) -> tuple[float, float]:
    shutil.rmtree(vault / ".memtool" / "cache", ignore_errors=True)
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "memtool", "index", "--no-embed", "--vault", str(vault)]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "MEMTOOL_RESIDENT": "0"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - begun, cpu


def bare_walk(vault: Path) -> float:
    begun = time.process_time()
    for folder, _, names in os.walk(vault):
        for name in names:
            os.stat(f"{folder}/{name}")
    return time.process_time() - begun


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("vault", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    (options.vault / ".memtool").mkdir(exist_ok=True)
    runs = [index(options.vault) for _ in range(options.rounds)]
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    with Memory.open(options.vault, embedder="none") as memory:
        memory.refresh()
        looks = []
        for _ in range(7):
            begun = time.process_time()
            memory.refresh()
            looks.append(time.process_time() - begun)
        notes = memory.index.count("notes")
    walk = statistics.median(bare_walk(options.vault) for _ in range(7))
    wall, cpu = (statistics.median(values) for values in zip(*runs, strict=True))
    print(f"{notes} notes; index wall {wall:.1f} s = {wall / notes * 1e3:.2f} ms a note, ", end="")
    print(f"CPU {cpu:.1f} s = {cpu / notes * 1e3:.2f} ms a note, peak {peak:.0f} MiB")
    print(f"look again {statistics.median(looks):.3f} s CPU, bare walk and stat {walk:.3f} s")


if __name__ == "__main__":
    main()
