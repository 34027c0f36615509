"""Change each watched file of a vault in turn: which notes say so in the next search, and what it costs.

    python tests/bench/staleness.py [--notes 2000] [--files 20]

A tenth of the notes watch one file each. Told: of the notes that watch the changed file and are hits,
those that say so. Wrong: hits that say so and do not watch it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

from memtool.memory.memory import Memory


def make(root: Path, notes: int, files: int) -> dict[str, int]:
    """Write the vault; gives which note watches which file."""
    watching = {}
    (root / "src").mkdir()
    for n in range(files):
        (root / "src" / f"part{n}.py").write_text("x = 1\n")
    for n in range(notes):
        text = f"Valve {n} is opened by controller {n % 97}, 弁{n}は手で閉める。\n"
        if n % 10 == 0:
            file = watching[f"valve-{n}.md"] = (n // 10) % files
            text = f"---\nwatches: {json.dumps([f'src/part{file}.py'])}\n---\n\n{text}"
        (root / f"valve-{n}.md").write_text(text, encoding="utf-8")
    return watching


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=int, default=2000)
    parser.add_argument("--files", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Memory.open(make_root(folder), embedder="none") as memory:
        watching = make(memory.vault.root, options.notes, options.files)
        memory.refresh()
        moved: set[int] = set()
        told = due = wrong = 0
        times = []
        for number in range(options.files):
            (memory.vault.root / "src" / f"part{number}.py").write_text("x = 2\n")
            moved.add(number)
            for name in [name for name, file in watching.items() if file == number]:
                n = name.removeprefix("valve-").removesuffix(".md")
                begun = time.perf_counter()
                hits = memory.search(f"valve {n} controller", mode="lexical", min_score=-1, limit=20)
                times.append(time.perf_counter() - begun)
                says = {hit.path for hit in hits if hit.standing and hit.standing.needs_review}
                found = {hit.path for hit in hits}
                should = {path for path in found if watching.get(path) in moved}
                due, told, wrong = due + len(should), told + len(should & says), wrong + len(says - should)
        print(f"told {told} of {due}, wrong {wrong}, {1000 * statistics.median(times):.1f} ms a search")


def make_root(folder: str) -> Path:
    root = Path(folder) / "vault"
    root.mkdir()
    return root


if __name__ == "__main__":
    main()
