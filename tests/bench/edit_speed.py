"""One edit, then a search that finds it, against a search without an edit: whole processes, wall time.

python tests/bench/edit_speed.py VAULT [--rounds 9] [--lexical]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path


def search(vault: Path, question: str, flags: list[str]) -> tuple[float, list[dict[str, object]]]:
    command = [sys.executable, "-m", "memtool", "search", "--vault", str(vault), "--json", *flags, question]
    begun = time.perf_counter()
    done = subprocess.run(
        command, capture_output=True, env={**os.environ, "MEMTOOL_RESIDENT": "0"}, check=False
    )
    return time.perf_counter() - begun, json.loads(done.stdout)["hits"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("vault", type=Path)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--lexical", action="store_true")
    options = parser.parse_args()
    flags = ["--lexical"] if options.lexical else []
    notes = sorted(options.vault.rglob("*.md"))
    search(options.vault, "warm up", flags)
    quiet, edited, missed = [], [], 0
    for number in range(options.rounds):
        quiet.append(search(options.vault, f"zyxquiet{number}", flags)[0])
        note = notes[(number * 997) % len(notes)]
        before = note.read_bytes()
        word = f"zyxedit{number}q{time.time_ns()}"
        note.write_bytes(before + f"\n\nThe word of this round is {word}.\n".encode())
        seconds, hits = search(options.vault, word, flags)
        edited.append(seconds)
        missed += not any(word in line["text"] for hit in hits for line in hit["lines"])  # type: ignore[union-attr]
        note.write_bytes(before)
        search(options.vault, "settle", flags)
    a, b = statistics.median(edited), statistics.median(quiet)
    print(
        f"edited {a:.3f} s, quiet {b:.3f} s, difference {a - b:+.3f} s, missed {missed} of {options.rounds}"
    )


if __name__ == "__main__":
    main()
