"""A caller's own function -> an embedder: checked, normalised, in float32.

For whoever has vectors of their own. Knows nothing of how the function makes them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from memtool.embedders.base import Calibration, Kind, Matrix, get_fingerprint, is_blank, prepare, unit_rows
from memtool.errors import EmbedderError

Function = Callable[[Any], Any]


class FunctionEmbedder:
    """Wraps ``texts -> matrix`` or ``text -> vector``; which of the two is found out at the first call."""

    def __init__(self, function: Function, *, name: str = "function", version: str = "") -> None:
        self.name = name
        self.calibration = Calibration()
        self.probe: Matrix | None = None
        # Code cannot be fingerprinted: whoever changes the function changes its name or version too.
        self.fingerprint = get_fingerprint(embedder="function", name=name, version=version)
        self._function = function
        self._takes_one: bool | None = None
        self._dimensions = 0

    def embed(self, texts: Sequence[str], *, kind: Kind) -> Matrix:
        """Call the function with the texts that show something; the others get a row of NaN."""
        prepared = [prepare(text) for text in texts]
        full = [place for place, text in enumerate(prepared) if not is_blank(text)]
        if not full:
            return np.full((len(texts), self._dimensions), np.nan, np.float32)
        rows = unit_rows(self._call([prepared[place] for place in full]))
        matrix = np.full((len(texts), rows.shape[1]), np.nan, np.float32)
        matrix[full] = rows
        return matrix

    def _call(self, texts: list[str]) -> Matrix:
        try:
            if self._takes_one is None:
                self._takes_one = not _is_matrix(_attempt(self._function, texts[:1]), 1)
            answer: object = (
                [self._function(text) for text in texts] if self._takes_one else self._function(texts)
            )
        except Exception as error:  # whatever a caller's function raises, words can still answer
            raise EmbedderError(
                f"the embedding function {self.name!r} failed",
                why=f"{type(error).__name__}: {error}",
                fix="mend the function, or search by words",
            ) from error
        return self._check(answer, len(texts))

    def _check(self, answer: object, count: int) -> Matrix:
        if not _is_matrix(answer, count):
            raise EmbedderError(
                f"the embedding function {self.name!r} did not give one vector for each text",
                why=f"{count} texts went in; out came {_describe(answer)}",
                fix="return one list of numbers for each text, all equally long",
            )
        matrix = np.asarray(answer, np.float32)
        self._dimensions = self._dimensions or matrix.shape[1]
        if matrix.shape[1] != self._dimensions:
            raise EmbedderError(
                f"the embedding function {self.name!r} changed the length of its vectors",
                why=f"{self._dimensions} numbers before, {matrix.shape[1]} now",
                fix="give a function of another length another name",
            )
        return matrix


def _attempt(function: Function, texts: list[str]) -> object:
    """Hand a list to a function that may want one text; its refusal is the answer."""
    try:
        return function(texts)
    except (TypeError, AttributeError, ValueError):
        return None


def _is_matrix(answer: object, count: int) -> bool:
    try:
        shape = np.asarray(answer, np.float32).shape
    except (TypeError, ValueError):
        return False
    return len(shape) == 2 and shape[0] == count and shape[1] > 0


def _describe(answer: object) -> str:
    try:
        return f"an array of shape {np.asarray(answer, np.float32).shape}"
    except (TypeError, ValueError):
        return f"a {type(answer).__name__}"
