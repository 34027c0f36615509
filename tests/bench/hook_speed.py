"""A vault -> what the hook of each prompt costs with a resident alive, against starting Python at all.

    python tests/bench/hook_speed.py VAULT [--runs 40] [--prompts FILE] [--event prompt]

Starts `memtool serve` on VAULT, calls the hook as an agent does, and ends the resident again. The same
runs time `python -c pass`, alternating, so that a busy machine weighs on both. The figure is the ratio
of the medians of the wall clock.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROMPTS = (
    "how do I rotate the staging key?",
    "fix the failing test in the parser and run the suite again",
    "what did we decide about the retry limit last week?",
    "鍵の交換はどうやる？",
    "thanks, go on",
)


def timed(command: list[str], given: bytes, environment: dict[str, str]) -> tuple[float, int]:
    """Run a command; give its wall time in seconds, and the bytes that it printed."""
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as stdout:
        stdin.write(given)
        stdin.seek(0)
        begun = time.perf_counter()
        subprocess.run(
            command, stdin=stdin, stdout=stdout, stderr=subprocess.DEVNULL, env=environment, check=True
        )
        wall = time.perf_counter() - begun
        return wall, os.fstat(stdout.fileno()).st_size


def event_of(prompt: str) -> bytes:
    told = {"session_id": "bench", "transcript_path": None, "cwd": "/", "prompt": prompt}
    return json.dumps(told).encode()


def told(name: str, figures: list[float]) -> str:
    ordered = sorted(figure * 1000 for figure in figures)
    p95 = ordered[int(len(ordered) * 0.95)]
    return f"{name:14} p50 {statistics.median(ordered):.1f} ms, p95 {p95:.1f} ms, best {ordered[0]:.1f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("vault", type=Path)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--event", default="prompt")
    parser.add_argument("--prompts", type=Path, help="one prompt a line")
    options = parser.parse_args()
    vault = str(options.vault.resolve())
    prompts = options.prompts.read_text("utf-8").split("\n") if options.prompts else PROMPTS
    prompts = [prompt for prompt in prompts if prompt.strip()]
    environment = {name: value for name, value in os.environ.items() if name != "MEMTOOL_HOOK"}
    memtool = str(Path(sys.executable).parent / "memtool")
    hook = [memtool, "hook", "claude", options.event, "--vault", vault]
    bare, whole, silent = [], [], 0
    server = subprocess.Popen(
        [memtool, "serve", "--vault", vault], env=environment, stderr=subprocess.PIPE, text=True
    )
    try:
        assert server.stderr
        assert "answering" in server.stderr.readline(), "the resident did not start"
        for prompt in prompts:  # the first answers load what later ones have at hand
            timed(hook, event_of(prompt), environment)
        for run in range(options.runs):
            bare.append(timed([sys.executable, "-c", "pass"], b"", environment)[0])
            wall, size = timed(hook, event_of(prompts[run % len(prompts)]), environment)
            whole.append(wall)
            silent += size == 0
    finally:
        server.terminate()
        server.wait(10)
    print(told("python -c pass", bare))
    print(told("hook", whole))
    print(f"{statistics.median(whole) / statistics.median(bare):.2f}x; {silent} of {len(whole)} said nothing")


if __name__ == "__main__":
    main()
