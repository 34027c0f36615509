"""How many passages a second the offline model embeds, and how much of that the model itself takes.

Run by hand: ``python tests/bench/embed_speed.py [PASSAGES]``. The ratio compares everything (tokens, table,
model, threads) with the bare model on the same tokens in the same run, so it holds on a busy machine too.
"""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from memtool.embedders.e5 import FOLDER, E5Embedder
from memtool.embedders.e5.encoder import Encoder, count_cores
from memtool.embedders.e5.tokens import load_whole

LENGTH = 635  # characters
TEXT = (
    "the worker reads a queue of jobs from staging and restarts when its key was rotated so check first that "
    "every service has seen the new value before you remove the old one from the store or else requests fail "
    "with status 401 and the on call engineer has to roll back by hand which takes about an hour in practice"
)


def make_passages(count: int) -> list[str]:
    words = np.random.default_rng(0).choice(TEXT.split(), (count, LENGTH // 3))
    return [" ".join(row)[:LENGTH] for row in words]


def measure_bare(encoder: Encoder, tokens: list[list[int]]) -> float:
    """Time nothing but the model, on every core."""
    ready = [
        {"emb": encoder.gather(np.array([ids])), "mask": np.ones((1, len(ids)), np.float32)} for ids in tokens
    ]
    started = time.perf_counter()
    with ThreadPoolExecutor(count_cores()) as pool:
        list(pool.map(lambda feed: encoder._session.run(None, feed), ready))
    return time.perf_counter() - started


def measure_all(embedder: E5Embedder, passages: list[str]) -> float:
    started = time.perf_counter()
    embedder.embed(passages, kind="passage")
    return time.perf_counter() - started


def main(count: int) -> None:
    passages, embedder, encoder = make_passages(count), E5Embedder(), Encoder(FOLDER)
    tokens = [found.ids for found in load_whole(FOLDER).encode_batch(passages)]
    measure_all(embedder, passages[:40]), measure_bare(encoder, tokens[:8])
    # Turn about, so that both meet the same neighbours.
    turns = [(measure_all(embedder, passages), measure_bare(encoder, tokens)) for _ in range(3)]
    everything, bare = map(min, zip(*turns, strict=True))
    mean = sum(map(len, tokens)) / count
    print(f"{count} passages of {LENGTH} characters, {mean:.0f} tokens each, {count_cores()} cores")
    print(
        f"all in: {count / everything:.1f} a second; bare model: {count / bare:.1f}; {bare / everything:.0%}"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
