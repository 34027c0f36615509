"""Vectors of questions and opened notes -> a small matrix, and what it recalls when asked the next question.

The state is an associative memory of fixed size, written by the gated delta rule (Lei et al. 2026,
arXiv:2605.12357, moved from attention to retrieval): only what it does not recall yet is written, so a
new value replaces an old one under the same key. Pure; knows no files, no notes and no scores.
"""

from __future__ import annotations

import hashlib
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: The constant slot of each key: 1 would make the state a moving average, 0 pure association.
CONSTANT = 0.5

#: What is kept of the state at each write.
DECAY = 0.98

#: How strongly is written: a question itself, the first hit that a search gave, what was opened or said.
QUESTION, FIRST_HIT, OPENED = 0.2, 0.15, 0.7

#: Numbers in a key besides the constant, at most; below this many texts for each there is no PCA.
DIMENSIONS, TEXTS_EACH = 32, 4


class Gate(NamedTuple):
    """When a question is leant: alpha = most / (1 + exp(-(bias + the weighted measures)))."""

    most: float
    bias: float
    mass: float  # how much the question says
    anaphora: float  # whether it points at something said before
    nearness: float  # of the best plain hit
    agreement: float  # of the question with what is recalled

    def alpha(self, mass: float, anaphora: bool, nearness: float, agreement: float) -> float:
        """Give how far to lean; a question that says a lot, or finds something near, is left alone.

        >>> gate = Gate(1.0, 2.0, -1.0, 1.0, 0.0, 0.0)
        >>> round(gate.alpha(1, True, 0.5, 0), 2), round(gate.alpha(6, False, 0.5, 0), 2)
        (0.88, 0.02)
        """
        told = self.bias + self.mass * mass + self.anaphora * anaphora
        told += self.nearness * nearness + self.agreement * agreement
        return self.most / (1 + math.exp(-max(-50.0, min(50.0, told))))


class Shape(NamedTuple):
    """A size of state: numbers in a key, whether values have all dimensions, its gate."""

    keys: int
    full: bool
    gate: Gate
    words: bool = False  # rare words of what was asked, said and opened are kept beside the matrix


#: Chosen on one half of conversations and measured on the other; ``multi-head`` is one head of
#: 32 rows for each 32 dimensions of the embedder, with one key for all.
_MULTI_HEAD = Shape(32, True, Gate(1.62, 3.60, -1.28, 2.06, -2.53, 0.69))
SHAPES = {
    "8x8": Shape(8, False, Gate(0.99, 2.57, -1.29, 0.0, -10.54, 6.53)),
    "16x16": Shape(16, False, Gate(0.76, 4.08, -0.44, 0.75, -10.44, 1.50)),
    "32x32": Shape(32, False, Gate(1.19, 3.78, -0.35, 0.45, -10.70, 2.73)),
    "multi-head": _MULTI_HEAD,
    "multi-head+words": _MULTI_HEAD._replace(words=True),
}


class Projection(NamedTuple):
    """The way from a vector down to the numbers of a key; ``ident`` names what it was made from."""

    mean: Array  # (n,)
    basis: Array  # (d, n), orthonormal rows, the widest spread first
    spread: Array  # (d,) standard deviations along the rows
    ident: str

    def low(self, vectors: Array, keys: int) -> Array:
        """Give the first *keys* numbers of each vector."""
        lowered: Array = (vectors - self.mean) @ self.basis[:keys].T
        return lowered


def unit(vectors: Array) -> Array:
    """Scale to unit length; what has no direction stays zero."""
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: Array = np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 1e-9)
    return scaled


def sound(vectors: Array) -> NDArray[np.bool_]:
    """Tell of each row whether it is a vector at all: one that is missing is NaN."""
    rows: NDArray[np.bool_] = np.isfinite(vectors.sum(axis=1))
    return rows


def fit(vectors: Array, *, source: str = "") -> Projection:
    """Find the directions in which *vectors* differ most; of few vectors, a fixed random basis.

    *source* names the vectors: equal names stand for equal projections.
    """
    count, width = vectors.shape
    size = min(DIMENSIONS, width)
    if count < TEXTS_EACH * DIMENSIONS:
        return random_basis(width)
    vectors = vectors.astype(np.float64)
    mean = vectors.mean(axis=0)
    centred = vectors - mean
    values, columns = np.linalg.eigh(centred.T @ centred / count)
    basis = columns[:, ::-1][:, :size].T
    # An eigenvector may as well point the other way; which way must not depend on the machine.
    largest = np.abs(basis).argmax(axis=1)
    basis = basis * np.sign(basis[np.arange(size), largest])[:, None]
    spread = np.sqrt(np.maximum(values[::-1][:size], 1e-8))
    ident = hashlib.sha256(f"pca/{width}/{count}/{source}".encode()).hexdigest()[:16]
    return Projection(mean, basis, spread, ident)


def random_basis(width: int) -> Projection:
    """Give the basis of a vault that is too small to have one of its own."""
    size = min(DIMENSIONS, width)
    columns, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((width, size)))
    return Projection(np.zeros(width), columns.T.copy(), np.ones(size), f"random-{width}")


class State(NamedTuple):
    """What one unit of work is about, as a matrix of fixed size; never changed, only replaced."""

    shape: Shape
    matrix: Array  # (values, keys + 1)
    last_key: Array | None = None  # of the last question: what is opened next answers it
    updates: int = 0

    @classmethod
    def empty(cls, shape: Shape, projection: Projection) -> State:
        keys, width = _sizes(shape, projection)
        return cls(shape, np.zeros((width if shape.full else keys, keys + 1)))

    def fits(self, projection: Projection) -> bool:
        """Tell whether the matrix is sound and of the size that it should have."""
        keys, width = _sizes(self.shape, projection)
        right = (width if self.shape.full else keys, keys + 1)
        if self.last_key is not None and (
            self.last_key.shape != right[1:] or not np.isfinite(self.last_key).all()
        ):
            return False
        return self.matrix.shape == right and bool(np.isfinite(self.matrix).all())


def _sizes(shape: Shape, projection: Projection) -> tuple[int, int]:
    size, width = projection.basis.shape
    return min(shape.keys, size), width


def key(projection: Projection, vector: Array, keys: int) -> Array:
    """Make the unit key of a vector: its direction in few numbers, and the constant."""
    direction = unit(projection.low(vector, keys)) * math.sqrt(1 - CONSTANT**2)
    return np.append(direction, CONSTANT)


def _key(state: State, projection: Projection, vector: Array) -> Array:
    return key(projection, vector, state.matrix.shape[1] - 1)


def _value(state: State, projection: Projection, vector: Array) -> Array:
    if state.shape.full:
        centred: Array = vector - projection.mean
        return centred
    return projection.low(vector, len(state.matrix))


def write(state: State, at: Array, value: Array, amount: float) -> State:
    """Let everything fade a little, then move what *at* recalls towards *value* by *amount* of the way."""
    missing = value - state.matrix @ at
    return state._replace(
        matrix=DECAY * state.matrix + amount * np.outer(missing, at), updates=state.updates + 1
    )


def asked(state: State, projection: Projection, question: Array, first_hit: Array | None = None) -> State:
    """Take in a question, and weakly the first hit that it was given."""
    at = _key(state, projection, question)
    state = write(state._replace(last_key=at), at, _value(state, projection, question), QUESTION)
    if first_hit is None:
        return state
    return write(state, at, _value(state, projection, first_hit), FIRST_HIT)


def opened(state: State, projection: Projection, vector: Array) -> State:
    """Take in what was opened or said: the answer to the last question, or a key to itself."""
    at = _key(state, projection, vector) if state.last_key is None else state.last_key
    return write(state, at, _value(state, projection, vector), OPENED)


def recall(state: State, projection: Projection, question: Array) -> Array:
    """Give what the state holds under *question*: as many numbers as its values have."""
    held: Array = state.matrix @ _key(state, projection, question)
    return held


def whole(state: State, projection: Projection, recalled: Array) -> Array:
    """Give what was recalled as a direction in the space of the vectors."""
    return unit(recalled if state.shape.full else recalled @ projection.basis[: len(recalled)])


def whitened(state: State, projection: Projection, vectors: Array) -> Array:
    """Give vectors as keys that what was recalled is compared with: few numbers, evenly spread."""
    keys = state.matrix.shape[1] - 1
    return unit(projection.low(vectors, keys) / projection.spread[:keys])


def recalled_key(state: State, projection: Projection, recalled: Array) -> Array:
    """Give what was recalled as such a key."""
    keys = state.matrix.shape[1] - 1
    low = recalled @ projection.basis[:keys].T if state.shape.full else recalled
    return unit(low / projection.spread[:keys])
