"""Texts -> vectors, offline: multilingual-e5-small cut down to English and Japanese, in 8 bits.

The files beside this one are the model; `build.py` makes them, NOTICE says whose work they are.
Nothing heavy is loaded before the first text comes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from memtool.embedders.base import Calibration, Kind, get_fingerprint, is_blank, prepare

if TYPE_CHECKING:
    from memtool.embedders.base import Matrix
    from memtool.embedders.e5.encoder import Encoder
    from memtool.embedders.e5.tokens import Tokenizer

FOLDER = Path(__file__).parent
DIMENSIONS = 384
# How much of its language's mean vector is taken off each vector. All vectors of one language share
# that part, and it hides that a question and a note in two languages speak of the same thing.
STRENGTH = 0.85
# 512 tokens of at most 16 characters; what lies beyond is cut off in any case.
_MOST_CHARACTERS = 16_384
_BLOCK = 4096  # texts tokenised at a time

_JAPANESE = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff々〆ヶ\uff66-\uff9f]")


class E5Embedder:
    """The offline model: the same vectors on every machine, no network, no key."""

    name = "e5"
    # With the means taken off, texts that have nothing in common have a cosine of about zero.
    calibration = Calibration(floor=0.058, ceiling=0.75)
    probe: Matrix | None = None

    def __init__(self, *, folder: Path = FOLDER, strength: float = STRENGTH) -> None:
        self._folder, self._strength = folder, strength
        self.fingerprint = _get_fingerprint(folder, strength)
        self._tokenizer: Tokenizer | None = None
        self._encoder: Encoder | None = None

    def embed(self, texts: Sequence[str], *, kind: Kind) -> Matrix:
        """Give one unit row for each text; a blank one has no meaning to embed and gets NaN."""
        import numpy as np

        matrix = np.full((len(texts), DIMENSIONS), np.nan, np.float32)
        full = [place for place, text in enumerate(texts) if not is_blank(text)]
        for start in range(0, len(full), _BLOCK):
            places = full[start : start + _BLOCK]
            matrix[places] = self._embed([prepare(texts[place][:_MOST_CHARACTERS]) for place in places], kind)
        return matrix

    def rest(self) -> None:
        """Let go of what many long texts needed; model and tokenizer are loaded again when needed."""
        self._encoder = self._tokenizer = None

    def _embed(self, texts: list[str], kind: Kind) -> Matrix:
        from memtool.embedders.e5.encoder import Encoder
        from memtool.embedders.e5.tokens import Tokenizer

        # Local names: another thread may let the model rest meanwhile.
        tokenizer = self._tokenizer = self._tokenizer or Tokenizer(self._folder)
        encoder = self._encoder = self._encoder or Encoder(self._folder)
        rows = encoder.run(tokenizer.encode([f"{kind}: {text}" for text in texts]))
        return self._centre(rows, texts, kind) if self._strength else rows

    def _centre(self, rows: Matrix, texts: list[str], kind: Kind) -> Matrix:
        """Take the mean of its language off each row, and make it unit length again."""
        import numpy as np

        from memtool.embedders.base import unit_rows
        from memtool.vectors import npz

        means = npz.load(self._folder / "language_means.npz").arrays
        offsets = np.stack([means[f"{kind}_{detect_language(text)}"] for text in texts])
        return unit_rows(rows - self._strength * offsets.astype(np.float32))


def detect_language(text: str) -> str:
    """Say "ja" when more than a fifth of what is drawn is kana or kanji, else "en".

    >>> detect_language("`make rotate` で鍵を交換する"), detect_language("Rotate the 鍵 with make")
    ('ja', 'en')
    """
    drawn = sum(map(len, text.split()))
    return "ja" if len(_JAPANESE.findall(text)) > 0.2 * drawn else "en"


def _get_fingerprint(folder: Path, strength: float) -> str:
    """Cover the files by the digests their build wrote down: hashing 40 MB would slow every start."""
    files = json.loads((folder / "model.json").read_text("utf-8"))["files"]
    if not strength:
        files.pop("language_means.npz", None)
    # The pieces are the tokenizer again, sorted for look-up.
    files.pop("pieces.npz", None)
    return get_fingerprint(
        embedder="e5", files=sorted(files.items()), prefix="kind", strength=strength, dimensions=DIMENSIONS
    )
