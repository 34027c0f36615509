"""A vault -> what a search through a resident costs, against starting Python at all.

    python tests/bench/resident_speed.py VAULT [--runs 40] [--semantic] [--questions FILE]

Starts `memtool serve` on VAULT, asks through the command line, and ends it again. The same runs time
`python -c pass`, alternating, so that a busy machine weighs on both.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from memtool import client

QUESTIONS = ("rotate the staging key", "how are vectors stored", "error when the disk is full", "鍵の交換")


def timed(command: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Run a command; give its wall and CPU time in seconds."""
    begun = time.perf_counter()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - begun
    process.returncode = 0
    return wall, used.ru_utime + used.ru_stime


def served(vault: str, question: str, mode: list[str], environment: dict[str, str]) -> float:
    """Time one answer on the wire: what the resident itself takes."""
    argv = ["search", *mode, "--vault", vault, question]
    begun = time.perf_counter()
    line, token = client._reach(f"{vault}/.memtool/state")
    client._talk(line, client.request(argv, environment, token))
    line.close()
    return time.perf_counter() - begun


def median_ms(figures: list[float]) -> str:
    ordered = sorted(figure * 1000 for figure in figures)
    return f"p50 {statistics.median(ordered):.1f} ms, p95 {ordered[int(len(ordered) * 0.95)]:.1f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("vault", type=Path)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--semantic", action="store_true", help="with vectors too (slow the first time)")
    parser.add_argument("--questions", type=Path, help="one question a line")
    options = parser.parse_args()
    vault = str(options.vault.resolve())
    asked = options.questions.read_text("utf-8").split("\n") if options.questions else QUESTIONS
    questions = [question for question in asked if question.strip()]
    mode = [] if options.semantic else ["--lexical"]
    environment = dict(os.environ)
    memtool = [str(Path(sys.executable).parent / "memtool")]
    server = subprocess.Popen(
        [*memtool, "serve", "--vault", vault], env=environment, stderr=subprocess.DEVNULL
    )
    try:
        deadline = time.monotonic() + 120
        while True:
            try:
                served(vault, questions[0], mode, environment)
                break
            except (OSError, ValueError):
                assert time.monotonic() < deadline, "the resident did not answer"
                time.sleep(0.2)
        bare, whole, wire = [], [], []
        for run in range(options.runs):
            question = questions[run % len(questions)]
            bare.append(timed([sys.executable, "-c", "pass"], environment))
            whole.append(timed([*memtool, "search", *mode, "--vault", vault, question], environment))
            wire.append(served(vault, question, mode, environment))
        for name, at in (("wall", 0), ("CPU", 1)):
            figures = [[one[at] for one in runs] for runs in (bare, whole)]
            times = statistics.median(figures[1]) / statistics.median(figures[0])
            print(f"{name}: python -c pass {median_ms(figures[0])}")
            print(f"{name}: search         {median_ms(figures[1])}; {times:.2f}x")
        print(f"resident alone: {median_ms(wire)}")
        status = Path(f"/proc/{server.pid}/status")
        if status.exists():
            told = dict(line.partition(":")[::2] for line in status.read_text().split("\n"))
            names = ("VmRSS", "RssAnon", "RssFile", "VmHWM")
            print(", ".join(f"{name} {int(told[name].split()[0]) // 1024} MiB" for name in names))
    finally:
        server.terminate()
        server.wait(10)


if __name__ == "__main__":
    main()
