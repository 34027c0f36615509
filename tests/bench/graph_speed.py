"""What links cost: reading them at a refresh, and asking for them in a vault of many.

    python tests/bench/graph_speed.py [NOTES] [LINKS]

Makes a vault in a temporary folder and runs whole commands, so that starting Python counts.
"""

from __future__ import annotations

import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from memtool.facts import fields
from memtool.links import relations
from memtool.memory.memory import Memory
from memtool.note import note

RELATIONS = ("works_with", "part_of", "caused_by", "depends_on", "owner")
WORDS = "key staging worker rotate deploy queue restart vault note plan cost budget garden".split()
RUNS = 3


def make(folder: Path, notes: int, links: int) -> None:
    chance = random.Random(0)
    for number in range(notes):
        lines = [f"# Note {number}", ""]
        for _ in range(6):
            lines += [" ".join(chance.choices(WORDS, k=110)) + ".", ""]
        for at in range(links // notes + (chance.random() < links % notes / notes)):
            name = f"note{chance.randrange(notes)}"
            shape = ("- {r} [[{n}]]", "{r}:: [[{n}|other]]", "See [[{n}]] too.", "![[{n}#Part]]")[at % 4]
            lines.append(shape.format(r=chance.choice(RELATIONS), n=name))
        file = folder / f"part{number % 40}" / f"note{number}.md"
        file.parent.mkdir(exist_ok=True)
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def cpu(folder: Path, *arguments: str) -> float:
    """Run a command and give its CPU seconds, the median of some."""
    taken = []
    for _ in range(RUNS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, "-m", "memtool", *arguments, "--vault", str(folder)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "MEMTOOL_RESIDENT": "0"},
            check=False,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return statistics.median(taken)


def reading(folder: Path) -> float:
    """Give the milliseconds a note takes to have its relations read."""
    parsed = [note.parse(file.read_bytes()) for file in sorted(folder.rglob("*.md"))[:1000]]
    begun = time.process_time()
    for one in parsed:
        relations.of(one, [*fields.inline(one)])
    return 1000 * (time.process_time() - begun) / len(parsed)


def main() -> None:
    notes, links = (int(sys.argv[1]), int(sys.argv[2])) if sys.argv[2:] else (13_000, 40_000)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "vault"
        (folder / ".memtool").mkdir(parents=True)
        make(folder, notes, links)
        print(f"{notes} notes, {links} links; reading them {reading(folder):.3f} ms a note")
        time.sleep(2.1)  # files must be old enough that their stat can be trusted
        with Memory.open(folder, embedder="none") as memory:
            memory.refresh()
        for words in (
            ["--help"],
            ["search", "--lexical", "staging key"],
            ["links", "part1/note1.md"],
            ["graph", "who works with note 7"],
            ["graph", "note 7", "--hops", "3"],
            ["links", "--broken"],
        ):
            print(f"{cpu(folder, *words):.3f} s CPU  memtool {' '.join(words)}")


if __name__ == "__main__":
    main()
