"""A set of talks -> recall@5 of follow-up questions: plain, with text of earlier turns, leant by a state.

    python tests/bench/session_state.py SET [--sizes 8x8,16x16] [--told opened|said|nothing]

SET is a folder with ``queries.jsonl`` (fields session, turn, history, rewrite) and the vault it names,
which is copied first. Each talk is replayed through the public API: its questions are searched in a
unit of work of their own; the answers between them are told as lines that were opened, where the
vault holds them word by word, else as something said. A question's rewrite, asked in full, and one
with the state of another talk, must lose nothing.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from memtool.memory.memory import Memory
from memtool.session import sessions
from memtool.session.session import SHAPES

Case = dict[str, Any]


class Fast:
    """An embedder that remembers what it embedded: the same questions are asked many times."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.kept = inner, {}
        self.name, self.fingerprint, self.calibration = inner.name, inner.fingerprint, inner.calibration

    @property
    def probe(self) -> Any:
        return self.inner.probe

    def embed(self, texts: Any, *, kind: Any) -> Any:
        new = [text for text in dict.fromkeys(texts) if (kind, text) not in self.kept]
        if new:
            self.kept |= {
                (kind, t): row for t, row in zip(new, self.inner.embed(new, kind=kind), strict=True)
            }
        return np.array([self.kept[kind, text] for text in texts], np.float32)


class Bench:
    """One set of talks and the open vault they are about."""

    def __init__(self, memory: Memory, cases: list[Case], told: str) -> None:
        self.memory, self.told = memory, told
        self.talks: dict[str, list[Case]] = defaultdict(list)
        for case in cases:
            if case.get("session"):
                self.talks[case["session"]].append(case)
        self.notes = {
            file.path: memory.vault.read(file.path).decode() for file in memory.index.files().values()
        }
        self.holders: dict[str, str] = {}
        self.figures: dict[str, dict[str, float]] = defaultdict(dict)  # what -> case and talk -> recall

    def recall(self, case: Case, text: str, **options: Any) -> float:
        answer = self.memory.search(text, limit=5, min_score=-1, refresh=False, **options)
        spans = [(hit.path, hit.start, hit.end) for hit in answer]
        met = [
            any(p == g["path"] and s <= g["end_line"] and g["start_line"] <= e for p, s, e in spans)
            for g in case["gold"]
        ]
        wanted = 1 if case.get("gold_any") else len(met)
        return min(wanted, sum(met)) / wanted

    def follow_ups(self) -> Iterator[Case]:
        return (case for talk in self.talks.values() for case in talk if case["history"])

    # -- without a state ---------------------------------------------------------------------

    def plain(self) -> None:
        for case in self.follow_ups():
            history = [turn["text"] for turn in case["history"]]
            for name, text in self._asked(case):
                self.figures[f"plain/{name}"][case["id"]] = self.recall(case, text)
                for turns in (1, 2) if name == "follow-up" else ():
                    joined = " ".join([*history[-2 * turns :], text])
                    self.figures[f"text of {turns} turns/{name}"][case["id"]] = self.recall(case, joined)

    @staticmethod
    def _asked(case: Case) -> list[tuple[str, str]]:
        rewrite = case.get("rewrite")
        return [("follow-up", case["query"]), *([("in full", rewrite)] if rewrite else [])]

    def mean(self) -> None:
        """Move the question by the mean of the recent vectors, as far as it is, ungated."""
        embed = self.memory.embedder.embed
        for case in self.follow_ups():
            mean = np.zeros(0)
            for turn in case["history"]:
                kind, weight = ("query", 0.3) if turn["role"] == "user" else ("passage", 1.0)
                row = weight * embed([turn["text"]], kind=kind)[0].astype(float)
                mean = row if not len(mean) else (0.6 if kind == "query" else 1.0) * mean + row
            kept = self.memory.embedder.kept
            for name, text in self._asked(case)[:1]:
                before = embed([text], kind="query")[0]
                moved = before + mean / np.linalg.norm(mean)
                kept["query", text] = (moved / np.linalg.norm(moved)).astype(np.float32)
                self.figures[f"mean of recent vectors/{name}"][case["id"]] = self.recall(case, text)
                kept["query", text] = before

    # -- with one ----------------------------------------------------------------------------

    def leant(self, size: str) -> None:
        states: dict[str, bytes] = {}
        for talk, cases in self.talks.items():
            self.memory.reset_state("bench", size=size)
            longest = max(cases, key=lambda case: len(case["history"]))
            at = {len(case["history"]): case for case in cases}
            for step, turn in enumerate(longest["history"]):
                if turn["role"] == "user":
                    self._ask(at.get(step), turn["text"], size)
                else:
                    self._tell(turn["text"])
            self._ask(longest, longest["query"], size)
            states[talk] = sessions.file_of(self.memory.vault, "bench").read_bytes()
        self._strangers(size, states)

    def _ask(self, case: Case | None, text: str, size: str) -> None:
        if case is None or not case["history"]:
            self.memory.search(text, refresh=False, session="bench")
            return
        if case.get("rewrite"):
            file = sessions.file_of(self.memory.vault, "bench")
            before = file.read_bytes()
            self.figures[f"{size}/in full"][case["id"]] = self.recall(case, case["rewrite"], session="bench")
            file.write_bytes(before)
        self.figures[f"{size}/follow-up"][case["id"]] = self.recall(case, case["query"], session="bench")

    def _tell(self, text: str) -> None:
        anchor = self._holder(text) if self.told == "opened" else ""
        if anchor:
            self.memory.opened("bench", anchor)
        elif self.told == "said":
            self.memory.said("bench", text)

    def _holder(self, text: str) -> str:
        """Name the line that holds an answer word by word, "" when none does."""
        if text not in self.holders:
            places = (
                f"{path}:{number}"
                for path, note in self.notes.items()
                if len(text) > 11 and text in note
                for number, line in enumerate(note.split("\n"), 1)
                if text in line
            )
            self.holders[text] = next(places, "")
        return self.holders[text]

    def _strangers(self, size: str, states: dict[str, bytes]) -> None:
        """Ask in full with the state of another talk."""
        names, file = list(states), sessions.file_of(self.memory.vault, "bench")
        for at, talk in enumerate(names):
            for case in self.talks[talk][::3]:
                if case["history"] and case.get("rewrite"):
                    file.write_bytes(states[names[(at + len(names) // 2) % len(names)]])
                    figure = self.recall(case, case["rewrite"], session="bench")
                    self.figures[f"{size}/another talk's state"][case["id"]] = figure

    # -- the table ---------------------------------------------------------------------------

    def table(self, half: str) -> None:
        of = {case["id"]: _half(talk) for talk, cases in self.talks.items() for case in cases}
        base = self.figures["plain/follow-up"]
        for title, some in (("all", "AB"), *((f"half {h}", h) for h in half)):
            chosen = [case for case in base if of[case] in some]
            print(
                f"\n{title}: {len(chosen)} follow-ups\n{'':32}follow-up  ratio  in full  another talk's state"
            )
            plain = _average(base, chosen)
            for name in dict.fromkeys(key.split("/")[0] for key in self.figures):
                follow = _average(self.figures[f"{name}/follow-up"], chosen)
                full = _average(self.figures[f"{name}/in full"], chosen)
                other = _average(self.figures.get(f"{name}/another talk's state", {}), chosen)
                print(f"{name:32}{follow:9.3f}  {follow / plain:5.2f}  {full:7.3f}  {other:9.3f}", flush=True)


def _average(figures: dict[str, float], chosen: list[str]) -> float:
    values = [figures[case] for case in chosen if case in figures]
    return sum(values) / len(values) if values else float("nan")


def _half(talk: str) -> str:
    return "AB"[int(hashlib.sha256(talk.encode()).hexdigest(), 16) % 2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("set", type=Path)
    parser.add_argument("--sizes", default=",".join(SHAPES))
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only each Nth talk")
    parser.add_argument("--told", choices=("opened", "said", "nothing"), default="said")
    parser.add_argument(
        "--no-plain", action="store_true", help="leave out text of earlier turns and the mean"
    )
    options = parser.parse_args()
    cases = [json.loads(line) for line in (options.set / "queries.jsonl").read_text().split("\n") if line]
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(options.set / "vault", f"{folder}/vault")
        with (
            Memory.open(f"{folder}/vault") as opened,
            Memory(opened.vault, opened.config, embedder=Fast(opened.embedder)) as memory,
        ):  # type: ignore[arg-type]
            memory.refresh()
            memory.embed()
            talks = sorted({case.get("session") or "" for case in cases})[:: options.every]
            bench = Bench(memory, [case for case in cases if case.get("session") in talks], options.told)
            if options.no_plain:
                for case in bench.follow_ups():
                    for name, text in bench._asked(case):
                        bench.figures[f"plain/{name}"][case["id"]] = bench.recall(case, text)
            else:
                bench.plain()
                bench.mean()
            for size in filter(None, options.sizes.split(",")):
                bench.leant(size)
            bench.table("AB")


if __name__ == "__main__":
    main()
