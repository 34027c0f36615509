"""Token numbers -> vectors: one text at a time through onnxruntime, as many at once as there are cores.

Knows how the table of token vectors is packed and how to use the cores. Knows nothing of texts.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from memtool.embedders.base import Matrix
from memtool.vectors import npz

DIMENSIONS = 384
# Fewer tokens than this are done before another thread has started.
_WORTH_A_THREAD = 64
_MOST_WORKERS = 8


class Encoder:
    """The transformer of one model folder, with its table of token vectors."""

    def __init__(self, folder: Path) -> None:
        arrays = npz.load(folder / "token_embeddings.npz").arrays
        self._nibbles, self._scales = arrays["nibbles"], arrays["scales"]
        self._session = open_session(folder / "encoder.onnx")

    def run(self, tokens: Sequence[Sequence[int]]) -> Matrix:
        """Give one unit row for each list of token numbers, in their order."""
        matrix = np.empty((len(tokens), DIMENSIONS), np.float32)
        # The longest first, so that no thread is left alone with a long one at the end.
        order = sorted(range(len(tokens)), key=lambda place: -len(tokens[place]))
        workers = min(count_cores(), len(tokens), sum(map(len, tokens)) // _WORTH_A_THREAD)
        if workers <= 1:
            for place in order:
                matrix[place] = self.run_one(tokens[place])
            return matrix
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(workers) as pool:
            for place, row in zip(order, pool.map(lambda p: self.run_one(tokens[p]), order), strict=True):
                matrix[place] = row
        return matrix

    def run_one(self, tokens: Sequence[int]) -> Matrix:
        """Give the row of one text.

        Never with others: the 8-bit layers round by the largest value of a batch, so a vector would
        depend on its neighbours (cosine .995), and a batch of full chunks is no faster than one of them.
        """
        ids = np.array([tokens], np.int32)
        mask = np.ones(ids.shape, np.float32)
        row: Matrix = self._session.run(None, {"emb": self.gather(ids), "mask": mask})[0][0]
        return row

    def gather(self, ids: Any) -> Matrix:
        """Unpack the 4-bit vectors of these tokens: the low halves of 16 bytes first, then the high ones."""
        packed = self._nibbles[ids]
        values = np.concatenate([packed & 15, packed >> 4], axis=-1).astype(np.float32)
        values -= 8
        values *= self._scales[ids].astype(np.float32)[..., None]
        return values.reshape(*ids.shape, DIMENSIONS)


def open_session(file: Path) -> Any:
    """Open the model for callers that bring their own threads: one each is faster than a shared pool."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])


def count_cores() -> int:
    """Count the cores this process may use."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(usable, _MOST_WORKERS)
