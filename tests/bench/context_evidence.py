"""How much of the evidence a context holds, all in, against what a search reaches with as many tokens.

    python tests/bench/context_evidence.py SET [--budget 1500] [--every 1] [--only VAULT ...] [--floor]

SET holds `queries.jsonl` and the vaults it names. A gold passage counts when lines of the context overlap it;
everything that a context says (fence, anchors, dates, what was left out) is within its budget. The search
column reads hits in order until their lines alone cost the budget. Both look below the line of relevance,
as `memtool eval` does; --floor keeps to that line.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from memtool import evaluate
from memtool.evaluate import Case, Span
from memtool.memory.memory import Memory
from memtool.search.search import cost


def measure(memory: Memory, case: Case, budget: float, least: float | None, lines: dict[str, list[str]]):
    made = memory.context(case.query, budget=budget, min_score=least, turns=False, refresh=False)
    assert cost(made.text) <= budget
    spans = [Span(item.path, item.start, item.end) for item in made.items if item.path]
    wanted = 1 if case.any else len(case.gold)
    reached = sum(any(span.overlaps(gold) for span in spans) for gold in case.gold)
    answer = memory.search(case.query, limit=20, min_score=least, refresh=False)
    hits = [Span(hit.path, hit.start, hit.end) for hit in answer]

    def price(path: str, line: int) -> float:
        if path not in lines:
            lines[path] = [text for _, text in memory.show(path)]
        return cost(lines[path][line - 1]) if line <= len(lines[path]) else 0.0

    figures = evaluate.judge(case, hits, cost=price, budget=budget)
    return min(wanted, reached) / wanted, figures["budget"], made.tokens


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("set", type=Path)
    parser.add_argument("--budget", type=float, default=1500)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[], help="these vaults")
    parser.add_argument("--floor", action="store_true")
    options = parser.parse_args()
    cases = [case for case in evaluate.load(options.set / "queries.jsonl") if case.gold and case.answerable]
    cases = [case for case in cases if not options.only or case.vault in options.only][:: options.every]
    total: list[tuple[float, float, float]] = []
    print(f"{'':14}    n  context  search  tokens")
    for vault in dict.fromkeys(case.vault for case in cases):
        with Memory.open(options.set / vault) as memory:
            memory.refresh()
            memory.embed()
            lines: dict[str, list[str]] = {}
            least = None if options.floor else -1.0
            part = [measure(memory, c, options.budget, least, lines) for c in cases if c.vault == vault]
        total += part
        show(vault, part)
    show("ALL", total)


def show(name: str, rows: list[tuple[float, float, float]]) -> None:
    context, search, tokens = (sum(column) / len(rows) for column in zip(*rows, strict=True))
    print(f"{name:14} {len(rows):4}  {context:7.3f}  {search:6.3f}  {tokens:6.0f}", flush=True)


if __name__ == "__main__":
    main()
