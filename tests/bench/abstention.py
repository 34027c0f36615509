"""How well answerable questions are told from those that nothing answers: AUROC of the chance that decides.

    python tests/bench/abstention.py CASES [--unanswerable CASES] [--most 300]

Each question is asked of the vault, and again of the vault without the note that holds its answer.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

from memtool import evaluate
from memtool.memory.memory import Memory
from memtool.search import search as searching
from memtool.search.query import Found, Query
from memtool.search.scoring import LEAST_CHANCE


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", type=Path)
    parser.add_argument("--unanswerable", type=Path)
    parser.add_argument("--most", type=int, default=300)
    options = parser.parse_args()
    cases = [case for case in evaluate.load(options.cases) if case.answerable and case.gold]
    cases = [case for case in cases if len({span.path for span in case.gold}) == 1]
    random.Random(7).shuffle(cases)
    strangers = evaluate.load(options.unanswerable) if options.unanswerable else []
    yes, without, no, found = [], [], [], []
    for name in sorted({case.vault for case in cases}):
        with Memory.open(options.cases.parent / name) as memory:
            memory.refresh()
            memory.embed()
            ids = {file.path: file.id for file in memory.index.files().values()}

            def ask(question: str, leave_out: int = 0, memory: Memory = memory) -> Found:
                meaning = memory.derived.ask(question, most=0).meaning
                return searching.search(memory.index, Query(question, without=leave_out), meaning)

            for case in [case for case in cases[: options.most] if case.vault == name]:
                answer = ask(case.query)
                yes.append(answer.confidence)
                spans = [evaluate.Span(hit.path, hit.start, hit.end) for hit in answer.hits]
                found.append(any(span.overlaps(gold) for span in spans for gold in case.gold))
                without.append(ask(case.query, ids[case.gold[0].path]).confidence)
            no += [ask(case.query).confidence for case in strangers if case.vault == name]
    sure = [chance for chance, hit in zip(yes, found, strict=True) if hit]
    print(f"{len(yes)} questions, {len(no)} unanswerable")
    print(f"AUROC against the vault without the answer {evaluate.auroc(yes, without):.3f}", end="; ")
    print(f"of found answers only {evaluate.auroc(sure, without):.3f}")
    if no:
        print(f"AUROC against unanswerable questions {evaluate.auroc(yes, no):.3f}", end="; ")
        print(f"of found answers only {evaluate.auroc(sure, no):.3f}")
    for line in (LEAST_CHANCE, 0.1, 0.15, 0.2):
        tell(line, sure, without, no)


def tell(line: float, sure: list[float], without: list[float], no: list[float]) -> None:
    print(
        f"at the line {line}: {sum(c >= line for c in sure) / len(sure):.3f} of found answers kept", end=", "
    )
    print(f"{sum(c < line for c in without) / len(without):.3f} refused without the answer", end="")
    print(f", {sum(c < line for c in no) / len(no):.3f} of unanswerable" if no else "")


if __name__ == "__main__":
    main()
