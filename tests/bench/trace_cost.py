"""What keeping a trace costs a search: the same questions with and without it, by turns, in one process.

Needs a vault: `python tests/bench/trace_cost.py VAULT [ROUNDS]`. Prints medians in milliseconds.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

from memtool.memory.memory import Memory

QUESTIONS = ("who waters the garden in winter", "水やりは何時から", "what changed in the backup", "鍵はどこ")


def timed(memory: Memory, question: str, *, trace: bool) -> float:
    start = time.perf_counter()
    memory.search(question, mode="lexical", trace=trace, refresh=False)
    return (time.perf_counter() - start) * 1000


def main() -> None:
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    took: dict[bool, list[float]] = {True: [], False: []}
    with Memory.open(Path(sys.argv[1]), embedder="none") as memory:
        memory.refresh()
        for number in range(rounds):
            for trace in (True, False) if number % 2 else (False, True):
                took[trace] += [timed(memory, question, trace=trace) for question in QUESTIONS]
    for trace, some in took.items():
        told = "with a trace" if trace else "without"
        print(f"{told:12} median {statistics.median(some):.2f} ms, best {min(some):.2f} ms")


if __name__ == "__main__":
    main()
