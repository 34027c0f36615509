"""How many of the turns that questions need a summary keeps, against turns taken at random.

    python tests/bench/summary_share.py SET [--share 0.1] [--only NAME ...]

SET holds `queries.jsonl` and vaults of conversations, one note a session, a turn a line: `**Name:** text`.
A needed turn is one that stands in the gold lines of an answerable question. Both sides spend the same
words; a turn counts only when it is kept whole.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import defaultdict
from pathlib import Path

from memtool.folding import folding, specificity

TURN = re.compile(r"\*\*(.+?):\*\* (.*)")


def conversations(folder: Path) -> dict[str, list[tuple[str, str, bool]]]:
    """Give the turns of every vault: session, text, whether a question needs it."""
    needed: dict[str, set[tuple[str, int]]] = defaultdict(set)
    for line in (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        for gold in case["gold"] if case.get("answerable", True) else ():
            needed[case["vault"]] |= {
                (gold["path"], n) for n in range(gold["start_line"], gold["end_line"] + 1)
            }
    return {vault: list(turns(folder / vault, needed[vault])) for vault in sorted(needed)}


def turns(vault: Path, needed: set[tuple[str, int]]):
    for file in sorted(vault.rglob("*.md")):
        path = file.relative_to(vault).as_posix()
        for number, line in enumerate(file.read_text(encoding="utf-8").split("\n"), 1):
            if said := TURN.fullmatch(line):
                yield path, said[2], (path, number) in needed


def share(kept: set[int], said: list[tuple[str, str, bool]]) -> float:
    wanted = [at for at, (_, _, need) in enumerate(said) if need]
    return sum(at in kept for at in wanted) / len(wanted)


def at_random(said: list[tuple[str, str, bool]], budget: float, times: int = 200) -> float:
    """Average over orders: each takes turns as they come, while they fit."""
    total = 0.0
    for seed in range(times):
        order, left, kept = list(range(len(said))), budget, set()
        random.Random(seed).shuffle(order)
        for at in order:
            if (size := specificity.words(said[at][1])) <= left:
                left -= size
                kept.add(at)
        total += share(kept, said)
    return total / times


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("set", type=Path)
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--only", nargs="*", default=[])
    options = parser.parse_args()
    sums = [0.0, 0.0, 0]
    print(f"{'':12} turns  needed  random  folded  ratio")
    for vault, said in conversations(options.set).items():
        if options.only and vault not in options.only:
            continue
        budget = options.share * sum(specificity.words(text) for _, text, _ in said)
        kept = set(
            folding.fold([folding.Text(at, text, path) for at, (path, text, _) in enumerate(said)], budget)
        )
        count, chance, ours = sum(need for *_, need in said), at_random(said, budget), share(kept, said)
        print(f"{vault:12} {len(said):5}  {count:6}  {chance:6.3f}  {ours:6.3f}  {ours / chance:5.2f}")
        sums = [sums[0] + chance * count, sums[1] + ours * count, sums[2] + count]
    chance, ours = sums[0] / sums[2], sums[1] / sums[2]
    print(f"{'ALL':12}        {sums[2]:6}  {chance:6.3f}  {ours:6.3f}  {ours / chance:5.2f}")


if __name__ == "__main__":
    main()
