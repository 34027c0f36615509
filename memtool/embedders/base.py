"""Texts -> unit vectors: what every embedder promises, and what makes two vectors comparable.

Knows the protocol, the fingerprint and the calibration. Knows no model and no endpoint.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# A name in quotes: numpy is not imported before something is embedded.
Matrix: TypeAlias = "NDArray[np.float32]"
Kind = Literal["passage", "query"]

# Part of every fingerprint: raise it when `prepare` or `is_blank` change what is embedded.
PREPARATION = 1

_NOTHING = frozenset(("Zs", "Zl", "Zp", "Cc", "Cf", "Cs"))
# Drawn as nothing, though Unicode counts them as letters or symbols.
_INVISIBLE = frozenset("\u115f\u1160\u2800\u3164\uffa0")


class Calibration(NamedTuple):
    """The cosines that mean "nothing in common" and "the same", for one embedder."""

    floor: float = 0.0
    ceiling: float = 1.0

    def score(self, cosines: Matrix) -> Matrix:
        """Stretch cosines to scores: 0 at the floor, 1 at the ceiling, never outside -1 to 1.

        >>> import numpy as np
        >>> Calibration(0.75, 0.95).score(np.float32([0.75, 0.85, 0.99])).round(3).tolist()
        [0.0, 0.5, 1.0]
        """
        import numpy as np

        stretched = (np.asarray(cosines, np.float32) - self.floor) / (self.ceiling - self.floor)
        scores: Matrix = np.clip(stretched, -1, 1).astype(np.float32, copy=False)
        return scores


class Embedder(Protocol):
    """Text to vectors. Vectors of equal fingerprints may be compared, others must never be."""

    @property
    def name(self) -> str: ...

    @property
    def fingerprint(self) -> str: ...

    @property
    def calibration(self) -> Calibration: ...

    @property
    def probe(self) -> Matrix | None:
        """The vector of a fixed text, once something was embedded; None where a fingerprint proves enough."""
        ...

    def embed(self, texts: Sequence[str], *, kind: Kind) -> Matrix:
        """Give one row for each text, in order, of unit length; a row of NaN where there is no vector.

        Raises EmbedderError when no vectors can be had at all.
        """
        ...


def get_fingerprint(**parts: object) -> str:
    """Name everything that decides what a vector is: 32 hex digits, fit for a file name.

    >>> get_fingerprint(model="a", dimensions=2) == get_fingerprint(dimensions=2, model="a")
    True
    """
    import hashlib

    text = repr(sorted({**parts, "preparation": PREPARATION}.items()))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def is_blank(text: str) -> bool:
    """Say whether *text* shows nothing: spaces, line ends, zero-width and control characters only.

    >>> is_blank(" \\u200b\\u3000\\n"), is_blank("鍵")
    (True, False)
    """
    return all(unicodedata.category(c) in _NOTHING or c in _INVISIBLE for c in text)


def prepare(text: str) -> str:
    """Make *text* valid Unicode: half a surrogate pair, which no encoder takes, becomes U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def unit_rows(matrix: Matrix) -> Matrix:
    """Scale each row to unit length; a row that has no direction (zero, NaN, infinite) becomes NaN."""
    import numpy as np

    matrix = np.asarray(matrix, np.float32)
    # In float64: the squares of large float32 values overflow.
    norms = np.sqrt(np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64))
    usable = np.isfinite(norms) & (norms > 1e-20)
    norms = np.where(usable, norms, np.nan)
    with np.errstate(invalid="ignore"):
        rows: Matrix = (matrix / norms[:, None]).astype(np.float32)
    rows[~usable] = np.nan
    return rows
