"""Texts -> vectors from a hash: for tests and examples.

Texts that share words, or character pairs in scripts without spaces, come out close. No model, no
network, the same on every machine.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections.abc import Sequence

import numpy as np

from memtool.embedders.base import Calibration, Kind, Matrix, get_fingerprint, is_blank, unit_rows

_WORD = re.compile(r"[^\W_]+")


class FakeEmbedder:
    """Hashed words and character pairs, each a fixed place and sign."""

    name = "fake"
    calibration = Calibration()
    probe: Matrix | None = None

    def __init__(self, *, dimensions: int = 64) -> None:
        self.dimensions = dimensions
        self.fingerprint = get_fingerprint(embedder="fake", version=1, dimensions=dimensions)

    def embed(self, texts: Sequence[str], *, kind: Kind) -> Matrix:
        """Give the same row for the same text, whatever its kind."""
        matrix = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in zip(matrix, texts, strict=True):
            for feature in [] if is_blank(text) else list_features(text):
                number = zlib.crc32(feature.encode("utf-8", "replace"))
                row[(number >> 1) % self.dimensions] += 1.0 if number & 1 else -1.0
        return unit_rows(matrix)


def list_features(text: str) -> list[str]:
    """List words, and the character pairs of those that are not ASCII.

    >>> list_features("Rotate 鍵交換")
    ['rotate', '鍵交換', '鍵交', '交換']
    """
    words = _WORD.findall(unicodedata.normalize("NFKC", text).casefold()) or [text]
    pairs = [word[i : i + 2] for word in words if not word.isascii() for i in range(len(word) - 1)]
    return words + pairs
