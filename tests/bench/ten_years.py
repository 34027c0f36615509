"""Ten years of episodes: fold, archive, undo; are all sources reachable, is every byte back?

    python tests/bench/ten_years.py [--notes 3650]

Makes a vault of one note a day in English and Japanese, folds it, lets faded notes go to the archive, checks
that every cited line is where its anchor says, and takes both sessions back.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

from memtool.lifecycle import folded, plans
from memtool.memory.aging import session_of
from memtool.memory.memory import Memory

_TOPICS = ("deploy", "garden", "billing", "hiring", "配備", "会計")
_WHO = ("Hana", "Jonas", "Ines", "田中", "Omar", "佐藤")
_WHAT = ("the relay", "pump 3", "the ledger", "the east door", "水道の栓", "請求書")


def notes(count: int) -> Iterator[tuple[str, str]]:
    """Make one note a day, with links to others and a few lines each."""
    chance, day = random.Random(7), date(2015, 1, 1)
    for number in range(count):
        topic, who = _TOPICS[chance.randrange(6)], _WHO[chance.randrange(6)]
        what, stem = _WHAT[chance.randrange(6)], day.isoformat()
        before = (day - timedelta(days=chance.randrange(1, 200))).isoformat()
        text = f"---\ntype: episodic\ncreated: {stem}\ntags: [{topic}]\n---\n\n# {topic} {stem}\n\n"
        clock = f"{chance.randrange(24):02}:{chance.randrange(60):02}"
        text += f"{who} changed {what} at {clock}, ticket {9000 + number}.\n"
        text += f"費用は{chance.randrange(900)}円、担当は{who}。\n\nAs before, see [[{before}]].\n"
        if number % 9 == 0:
            text += f"Also [the day before]({before}.md).\n"
        yield f"journal/{day.year}/{stem}.md" if number % 2 else f"journal/{stem}.md", text
        day += timedelta(days=1)


def make(folder: Path, count: int) -> dict[str, bytes]:
    for path, text in notes(count):
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    (folder / "keys.md").write_text("# Keys\n\nSee [[2015-01-01]] and [x](journal/2015-01-03.md).\n")
    for arguments in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "Ten years"]):
        subprocess.run(["git", *arguments], cwd=folder, check=True)
    return snapshot(folder)


def snapshot(folder: Path) -> dict[str, bytes]:
    return {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file() and not {".git", ".memtool"} & set(file.relative_to(folder).parts)
    }


def timed(name: str, start: float) -> None:
    print(f"{name:<24} {time.monotonic() - start:7.1f} s", flush=True)


def carried_out(memory: Memory, plan: plans.Plan, name: str) -> None:
    start = time.monotonic()
    results = memory.enact(plan.digest, kind=plan.kind, accept=True)
    done = sum(bool(result.revision) for result in results)
    timed(f"{name} apply", start)
    print(f"{name} steps              {done}/{len(results)} committed, one each")
    for why, many in Counter(result.finding.what for result in results if result.finding).most_common(3):
        print(f"    {many} left out: {why}")


def reachable(memory: Memory, folder: Path, count: int) -> None:
    """Resolve every anchor of every folded note, and see that every original is cited."""
    start, told, cited = time.monotonic(), Counter[str](), set[str]()
    for file in sorted((folder / "folded").rglob("*.md")):
        for anchor in folded.anchors(file.read_text(encoding="utf-8")):
            found = memory.resolve(anchor)
            told[found.status] += 1
            if found.stands and found.anchor:
                cited.add(found.anchor.path.rpartition("/")[2])
    timed("resolve all anchors", start)
    print(f"anchors                  {dict(told)}")
    there = {path.rpartition("/")[2] for path in snapshot(folder) if "journal/" in path}
    print(f"sources reachable        {len(cited)}/{count} cited by line, {len(there)}/{count} in the vault")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--notes", type=int, default=3650)
    options = parser.parse_args()
    for name, value in {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "MEMTOOL_USAGE": "0",
    }.items():
        os.environ[name] = value
    for role in ("AUTHOR", "COMMITTER"):
        os.environ |= {f"GIT_{role}_NAME": "Mio", f"GIT_{role}_EMAIL": "mio@example.invalid"}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "vault"
        before = make(folder, options.notes)
        with Memory.open(folder, embedder="none") as memory:
            start = time.monotonic()
            plan = memory.lifecycle(now="2025-06-01")
            timed("lifecycle plan", start)
            carried_out(memory, plan, "lifecycle")
            start = time.monotonic()
            fold = memory.fold(now="2025-06-01")
            timed("fold plan", start)
            carried_out(memory, fold, "fold")
            reachable(memory, folder, options.notes)
            for one in (fold, plan):
                start = time.monotonic()
                memory.undo(session=session_of(one))
                timed(f"undo {one.kind}", start)
        after = snapshot(folder)
        back = sum(after.get(path) == data for path, data in before.items())
        more = len(after.keys() - before.keys())
        print(f"bytes back               {back}/{len(before)}, {more} notes too many")


if __name__ == "__main__":
    main()
