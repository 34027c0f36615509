"""A sketch of vectors finds nearly all of the nearest, scores none wrongly, follows what comes and goes."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from memtool.embedders.base import Calibration
from memtool.hooks.sketch import Sketch
from memtool.search.query import Meaning, Query
from memtool.vectors.vectors import Vectors


def rows(count: int, seed: int, width: int = 96) -> np.ndarray:
    """Vectors that share a direction and differ in few others, as those of a model do."""
    fixed, random = np.random.default_rng(0), np.random.default_rng(seed)
    shared, few = 3 * fixed.standard_normal(width), fixed.standard_normal((12, width))
    matrix = random.standard_normal((count, 12)) @ few + 0.3 * random.standard_normal((count, width)) + shared
    return np.asarray(matrix / np.linalg.norm(matrix, axis=1, keepdims=True), np.float32)


@pytest.fixture
def vectors(tmp_path: Path) -> Vectors:
    found = Vectors.open(tmp_path / "vectors", "model")
    for seed in range(3):
        found.add([os.urandom(16) for _ in range(4000)], rows(4000, 7 if seed == 0 else seed))
    return found


def sketched(sketch: Sketch, vectors: Vectors, query: np.ndarray) -> Vectors:
    return sketch.lean(Query("x"), Meaning(query, vectors, Calibration(0.0, 1.0))).vectors


def test_nearly_all_of_the_nearest_are_found_with_their_own_scores(vectors: Vectors) -> None:
    query = rows(4000, 7)[17] + 0.05 * rows(1, 9)[0]
    query /= np.linalg.norm(query)
    exact = dict(vectors.search(query, 100).nearest)
    found = dict(sketched(Sketch(), vectors, query).search(query, 100).nearest)

    assert next(iter(found)) == next(iter(exact))
    assert len(found) == 100
    assert len(found.keys() & exact.keys()) >= 80
    assert all(abs(found[key] - exact[key]) < 1e-6 for key in found.keys() & exact.keys())


def test_vectors_are_the_same_by_their_names(vectors: Vectors) -> None:
    keys = [key for key, _ in vectors.search(rows(1, 3)[0], 50).nearest]
    asked = [keys[0], b"?" * 16, *keys, keys[0]]
    near = sketched(Sketch(), vectors, rows(1, 3)[0])

    np.testing.assert_array_equal(near.get(asked), vectors.get(asked))
    assert near.get([]).shape == (0, 96)


def test_what_comes_later_is_found(vectors: Vectors) -> None:
    sketch, new = Sketch(), rows(1, 11)
    sketched(sketch, vectors, new[0]).search(new[0], 5)
    vectors.add([b"n" * 16], new)

    assert sketched(sketch, vectors, new[0]).search(new[0], 5).nearest[0][0] == b"n" * 16


def test_a_choice_among_some_is_exact(vectors: Vectors) -> None:
    query = rows(1, 3)[0]
    some = [key for key, _ in vectors.search(query, 300).nearest][200:]

    assert sketched(Sketch(), vectors, query).search(query, 5, only=some) == vectors.search(
        query, 5, only=some
    )
