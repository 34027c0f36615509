"""How many planted contradictions are found, how many alarms are false, and what looking costs.

``python tests/bench/conflicts.py [--embedder e5] [--half kept] [--clean FOLDER ...] [--time FOLDER]``

Detectors were developed on ``dev``, ``second`` and ``third``; ``kept`` shares no subject, attribute or
phrasing with these. ``--clean`` tells what is found in vaults that nothing was planted in, ``--time`` what a
first look, a second one, and a look at one changed note cost.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import planted_conflicts as planted

from memtool.memory.memory import Memory


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--embedder", default="e5", help="or none: by words alone")
    parser.add_argument("--half", action="append", choices=list(planted.HALVES))
    parser.add_argument("--pairs", type=int, default=200, help="0: nothing is planted")
    parser.add_argument("--notes", type=int, default=2000)
    parser.add_argument("--clean", nargs="*", type=Path, default=[])
    parser.add_argument("--time", type=Path)
    options = parser.parse_args()
    for half in (options.half or planted.HALVES) if options.pairs else ():
        tell_planted(half, options)
    for folder in options.clean:
        tell_clean(folder, options.embedder)
    if options.time:
        tell_time(options.time)


@contextmanager
def copied(folder: Path | None, embedder: str) -> Iterator[tuple[Memory, Path]]:
    with tempfile.TemporaryDirectory() as name:
        place = Path(name) / "vault"
        if folder:
            shutil.copytree(folder, place, ignore=shutil.ignore_patterns(".memtool", ".git"))
        else:
            place.mkdir()
        with Memory.open(place, environment={"MEMTOOL_EMBEDDER": embedder}) as memory:
            yield memory, place


def tell_planted(half: str, options: argparse.Namespace) -> None:
    world = planted.world(half, pairs=options.pairs, notes=options.notes)
    with copied(None, options.embedder) as (memory, place):
        planted.write(world, place)
        begin = time.perf_counter()
        conflicts = memory.conflicts()
        took = time.perf_counter() - begin
    told = {frozenset((one.one.anchor.path, one.other.anchor.path)) for one in conflicts}
    right = told & world.true.keys()
    found = {id(world.true[pair]) for pair in right}
    print(f"\n{half}: {len(world.notes)} notes, {len(world.pairs)} planted, {options.embedder}, {took:.1f} s")
    print(
        f"  found {len(found) / len(world.pairs):.0%}, precision {len(right) / max(1, len(told)):.1%}", end=""
    )
    print(f", false {len(told) - len(right)}")
    for language, kind, pairs in planted.kinds(world.pairs):
        wrong = [one for one in conflicts if one.kind == kind and one.one.anchor.path.startswith(language)]
        wrong = [
            one for one in wrong if frozenset((one.one.anchor.path, one.other.anchor.path)) not in world.true
        ]
        hit = sum(id(pair) in found for pair in pairs)
        print(f"  {language} {kind:9} found {hit:3} of {len(pairs):3}   false {len(wrong)}")


def tell_clean(folder: Path, embedder: str) -> None:
    with copied(folder, embedder) as (memory, _):
        begin = time.perf_counter()
        found = memory.conflicts()
        took = time.perf_counter() - begin
        count = memory.index.count("notes")
    print(f"\n{folder}: {count} notes, {len(found)} alarms, {took:.1f} s")
    for one in found[:12]:
        print(f"  {one.kind}: {one.one.word} | {one.other.word}")
        for quote in (one.one, one.other):
            print(f"      {quote.anchor}  {quote.text[:110]}")


def tell_time(folder: Path) -> None:
    with copied(folder, "none") as (memory, place):
        memory.refresh()
        for name in ("all of it", "again"):
            begin = time.perf_counter()
            found = memory.conflicts()
            print(f"{name}: {time.perf_counter() - begin:.2f} s, {len(found)} pairs", flush=True)
        note = next(path for path in sorted(place.rglob("*.md")) if path.name != "MEMORY.md")
        note.write_text(
            note.read_text(errors="replace") + "\nThe quota of the depot is 30 GB.\n", encoding="utf-8"
        )
        begin = time.perf_counter()
        memory.conflicts()
        print(f"after one note changed: {time.perf_counter() - begin:.2f} s")
        for number in range(3):
            begin = time.perf_counter()
            memory.append(
                str(note.relative_to(place)), f"The quota of the depot is {number + 40} GB.", by=None
            )
            print(f"an append: {time.perf_counter() - begin:.3f} s, told {len(memory.noticed)}")


if __name__ == "__main__":
    main()
