"""What a search as of a commit costs against a search of today, and what provenance costs a hit.

    python tests/bench/past_speed.py [NOTES] [COMMITS]

Makes a vault with a history in a temporary folder (fast-import, seconds), fills vectors at random, and
runs whole commands of its own, so that starting Python and loading the model count on both sides.
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
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import numpy as np

from memtool.embedders.e5 import E5Embedder
from memtool.memory.memory import Memory

WORDS = (
    "key staging worker rotate deploy queue restart secret vault note plan cost budget garden compost heap "
    "water seed bean tomato train ticket refund noon hotel booking price rule team owner date review branch"
).split()
QUESTION = "when is the staging key rotated"
RUNS = 5


class RandomEmbedder(E5Embedder):
    """The offline model's fingerprint on vectors that mean nothing; what is embedded is counted."""

    embedded = 0

    def embed(self, texts: Sequence[str], *, kind: str) -> np.ndarray:
        if kind == "query":
            return super().embed(texts, kind=kind)  # type: ignore[arg-type]
        RandomEmbedder.embedded += len(texts)
        vectors = np.random.default_rng(len(texts)).standard_normal((len(texts), 384), dtype=np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def paragraph(chance: random.Random) -> str:
    return " ".join(chance.choice(WORDS) for _ in range(60)) + "."


def make_history(folder: Path, notes: int, commits: int) -> None:
    chance, when, stream = random.Random(0), 1_700_000_000, BytesIO()
    texts = {
        f"part{number % 20}/note{number}.md": [
            f"# Note {number} {chance.choice(WORDS)}",
            *(line for part in range(6) for line in ("", f"## Part {part}", "", paragraph(chance))),
        ]
        for number in range(notes)
    }

    def commit(paths: Sequence[str], message: bytes) -> None:
        stream.write(b"commit refs/heads/main\ncommitter Mio <m@example.invalid> %d +0000\n" % when)
        stream.write(b"data %d\n%s\n" % (len(message), message))
        for path in paths:
            data = ("\n".join(texts[path]) + "\n").encode()
            stream.write(b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(data), data))

    commit(list(texts), b"Start")
    for number in range(commits):
        when += 6 * 3600
        changed = chance.sample(list(texts), min(3, notes))
        for path in changed:
            texts[path][4 * chance.randrange(1, 7)] = paragraph(chance)
        commit(changed, b"Edit %d\n\nMemtool-Writer: agent/kai" % number)
    subprocess.run(["git", "init", "-q", "-b", "main", str(folder)], check=True)
    subprocess.run(["git", "fast-import", "--quiet"], cwd=folder, input=stream.getvalue(), check=True)
    subprocess.run(["git", "checkout", "-q", "main"], cwd=folder, check=True)


def cost(folder: Path, *arguments: str) -> tuple[float, float]:
    """Run one command and give its CPU and wall seconds."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "memtool", "search", QUESTION, "--vault", str(folder), *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode in (0, 1), done.stderr
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, time.perf_counter() - begun


def report(name: str, runs: Sequence[tuple[float, float]]) -> float:
    cpu, wall = (statistics.median(column) for column in zip(*runs, strict=True))
    print(f"{name:42} CPU {cpu:6.3f} s  wall {wall:6.3f} s")
    return cpu


def compare(folder: Path, mode: str) -> None:
    flags = ("--lexical",) if mode == "lexical" else ()
    moments = ["HEAD~3", "2024-03-01", "HEAD~500"]
    report(f"{mode}: as of {moments[0]}, first time", [cost(folder, *flags, "--as-of", moments[0])])
    report(f"{mode}: as of {moments[1]}, first time", [cost(folder, *flags, "--as-of", moments[1])])
    today, past = [], []
    for _ in range(RUNS):  # turn about, so that both meet the same neighbours
        today.append(cost(folder, *flags))
        past.append(cost(folder, *flags, "--as-of", moments[1]))
    now, then = report(f"{mode}: today", today), report(f"{mode}: as of, again", past)
    print(f"{mode}: as of against today {then / now:.2f} (at most 2)")


def provenance(memory: Memory) -> None:
    turns = (
        ("5 hits", 5, "rotate the key"),
        ("10 others", 10, "compost heap"),
        ("the same", 10, "compost heap"),
    )
    for name, limit, question in turns:
        answer = memory.search(question, limit=limit, min_score=-1)
        begun = time.perf_counter()
        memory.past.add_provenance(answer, memory.derived)
        spent = time.perf_counter() - begun
        print(f"provenance of {name}: {1000 * spent / max(1, len(answer)):.2f} ms a hit")


def main(notes: int, commits: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "vault"
        make_history(folder, notes, commits)
        with Memory.open(folder, embedder=RandomEmbedder()) as memory:
            memory.refresh()
            memory.embed()
            print(f"{notes} notes, {commits} commits, {memory.coverage().have} texts embedded")
            before = RandomEmbedder.embedded
            for when in ("HEAD~3", "2024-03-01"):
                memory.search(QUESTION, as_of=when)
                past, _ = memory.past.asof.open(memory.past.asof.find(when), embed=True)
                past.embed()
                past.close()
            more = RandomEmbedder.embedded - before
            memory.search(QUESTION, as_of="HEAD")
            again = RandomEmbedder.embedded - before - more
            print(f"texts of the past embedded: {more}; of HEAD again: {again}")
            memory.past.git.run("rev-parse", "HEAD")  # GitPython is loaded once in a process
            provenance(memory)
        for file in (folder / ".memtool" / "cache" / "past").glob("*"):
            file.unlink()
        for mode in ("lexical", "hybrid"):
            compare(folder, mode)


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main(*(int(argument) for argument in sys.argv[1:] or ("1000", "1000")))
