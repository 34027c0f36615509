"""Give every text of a vault a random vector under the offline model's name: for timing only.

    python tests/bench/fill_vectors.py VAULT

A search costs the same whatever the vectors say, and the real ones take an hour at 13,000 notes.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

from memtool.embedders.e5 import E5Embedder
from memtool.memory.memory import Memory


class RandomEmbedder(E5Embedder):
    """The offline model's fingerprint on vectors that mean nothing."""

    def embed(self, texts: Sequence[str], *, kind: str) -> np.ndarray:
        vectors = np.random.default_rng(len(texts)).standard_normal((len(texts), 384), dtype=np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def main() -> None:
    with Memory.open(sys.argv[1], embedder=RandomEmbedder()) as memory:
        memory.refresh()
        print(memory.embed(), "vectors;", memory.coverage())


if __name__ == "__main__":
    main()
