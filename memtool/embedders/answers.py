"""What an endpoint answered -> a checked matrix: order, count, length and size of the vectors.

Knows the shapes that servers in the wild give. Believes nothing it can check.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping

import numpy as np

from memtool.embedders.base import Matrix
from memtool.errors import EmbedderError

# Servers round; a vector further off was never made unit length.
_TOLERANCE = 0.02


def read_matrix(payload: object, count: int) -> Matrix:
    """Give one row for each of *count* inputs, in their order; raises EmbedderError for anything else.

    >>> items = [{"index": 1, "embedding": [0, 1]}, {"index": 0, "embedding": [1, 0]}]
    >>> read_matrix({"data": items}, 2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    items = payload.get("data") if isinstance(payload, Mapping) else None
    if not isinstance(items, list) or not all(isinstance(item, Mapping) for item in items):
        raise _refuse("the answer holds no list of vectors", f"it is a {type(payload).__name__}")
    if len(items) != count:
        raise _refuse(
            "the number of vectors is wrong", f"{count} texts went in, {len(items)} vectors came out"
        )
    rows = [_read_vector(item.get("embedding")) for item in _put_in_order(items)]
    lengths = sorted({len(row) for row in rows})
    if len(lengths) > 1 or lengths == [0]:
        raise _refuse(
            "the vectors are not all equally long", f"there are {', '.join(map(str, lengths))} numbers"
        )
    return np.stack(rows) if rows else np.empty((0, 0), np.float32)


def check_unit(matrix: Matrix) -> None:
    """Refuse vectors that have a direction and are not of unit length."""
    norms = np.sqrt(np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64))
    off = norms[np.isfinite(norms) & (norms > 0) & (np.abs(norms - 1) > _TOLERANCE)]
    if len(off):
        raise EmbedderError(
            "the endpoint gives vectors that are not of unit length",
            why=f"{len(off)} of {len(norms)} are of another length, one of {off[0]:.3g}",
            fix="if that is how this model works, set `normalise = true` in the user's settings",
        )


def check_length(found: int, wanted: int, *, asked: bool) -> None:
    """Refuse vectors of another length than were asked for, or than came before."""
    if found != wanted:
        why = f"{wanted} numbers {'were asked for' if asked else 'came first'}, now there are {found}"
        fix = "remove the setting `dimensions`" if asked else "check that one model answers at this address"
        raise EmbedderError("the endpoint gives vectors of the wrong length", why=why, fix=fix)


def _put_in_order(items: list[Mapping[str, object]]) -> list[Mapping[str, object]]:
    """Order by the index field; servers that give none at all answer in order."""
    numbers = [item.get("index") for item in items]
    if all(number is None for number in numbers):
        return items
    by_number = {number: item for number, item in zip(numbers, items, strict=True) if type(number) is int}
    if sorted(by_number) != list(range(len(items))):
        raise _refuse("the vectors are not numbered", f"the index fields are {str(numbers)[:80]}")
    return [by_number[number] for number in range(len(items))]


def _read_vector(value: object) -> Matrix:
    """Read a list of numbers, or float32 in base64, which some give whatever was asked for."""
    try:
        if isinstance(value, str):
            return np.frombuffer(base64.b64decode(value, validate=True), "<f4").astype(np.float32)
        # A number too large for float32 becomes infinite, and its row unusable: no reason to warn.
        with np.errstate(over="ignore"):
            row = np.asarray(value, np.float64).astype(np.float32)
    except (binascii.Error, ValueError, TypeError, OverflowError):
        raise _refuse("a vector cannot be read", f"it is a {type(value).__name__}") from None
    if row.ndim != 1:
        raise _refuse("a vector is not a list of numbers", f"it is a {type(value).__name__}")
    return row


def _refuse(what: str, why: str) -> EmbedderError:
    fix = "check that `base_url` and `model` name an OpenAI-compatible embeddings endpoint"
    return EmbedderError(f"the endpoint's answer is unusable: {what}", why=why, fix=fix)
