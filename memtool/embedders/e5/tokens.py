"""Texts -> token numbers: the whole tokenizer, or for a few words only the pieces they can hold.

Building the whole tokenizer takes longer than embedding a question with it. A tokenizer built from
nothing but the pieces that occur in the text gives the same tokens, for a fiftieth of the time.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from memtool.vectors import npz

LIMIT = 512
_LONGEST_PIECE = 16  # characters
# After this many characters, piece by piece has cost as much as building the whole tokenizer.
_PIECEWISE_CHARACTERS = 4000
_SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")
_UNKNOWN = 3
_VOCABULARY = ', "vocab": ['


class Tokenizer:
    """The tokenizer of one model folder; grows from piecewise to whole when there is much to do."""

    def __init__(self, folder: Path) -> None:
        # Threads of its own would make every later fork print a warning; the callers bring theirs.
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        self._folder = folder
        self._whole: Any = None
        self._pieces: Pieces | None = None
        self._seen = 0

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Give the token numbers of each text, its start and end marks included, at most LIMIT."""
        self._seen += sum(map(len, texts))
        if self._whole is None and self._seen <= _PIECEWISE_CHARACTERS:
            self._pieces = self._pieces or Pieces(self._folder)
            return self._pieces.encode(texts)
        if self._whole is None:
            self._whole = load_whole(self._folder)
        return [encoding.ids for encoding in self._whole.encode_batch(list(texts))]


class Pieces:
    """The vocabulary as a sorted table that is looked up where it lies, and a tokenizer made to measure."""

    def __init__(self, folder: Path) -> None:
        from tokenizers import Tokenizer as Rust

        arrays = npz.load(folder / "pieces.npz").arrays
        self._keys, self._ids, self._scores = arrays["keys"], arrays["ids"], arrays["scores"]
        self._lowest = int(self._scores.argmin())
        self._rust = Rust.from_str(_read_without_vocabulary(folder / "tokenizer.json"))
        self._rust.enable_truncation(LIMIT)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Give what the whole tokenizer would give."""
        from tokenizers.models import Unigram

        substrings = sorted({part for text in texts for part in self._list_substrings(text)})
        found, places = self._find(substrings)
        vocabulary = [(piece, 0.0) for piece in _SPECIAL]
        # The least likely piece sets the price of an unknown character, so it must be there.
        vocabulary.append(("\n", float(self._scores[self._lowest])))
        vocabulary += zip(found, map(float, self._scores[places]), strict=True)
        ids = [*range(len(_SPECIAL)), _UNKNOWN, *self._ids[places].tolist()]
        self._rust.model = Unigram(vocabulary, _UNKNOWN, False)
        return [[ids[token] for token in encoding.ids] for encoding in self._rust.encode_batch(list(texts))]

    def _list_substrings(self, text: str) -> set[str]:
        words = self._rust.pre_tokenizer.pre_tokenize_str(self._rust.normalizer.normalize_str(text))
        return {
            word[start:end]
            for word, _ in words
            for start in range(len(word))
            for end in range(start + 1, min(len(word), start + _LONGEST_PIECE) + 1)
        }

    def _find(self, substrings: list[str]) -> tuple[list[str], Any]:
        """Keep the substrings that are pieces, with their places in the table."""
        keys = np.array([get_key(part) for part in substrings], np.uint64)
        places = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        known = np.flatnonzero((self._keys[places] == keys) & (self._ids[places] >= len(_SPECIAL)))
        return [substrings[place] for place in known], places[known]


def get_key(piece: str) -> int:
    """Name a piece by 8 bytes of its hash, by which the table is sorted."""
    return int.from_bytes(hashlib.blake2b(piece.encode(), digest_size=8).digest(), "little")


def load_whole(folder: Path) -> Any:
    """Load the whole tokenizer."""
    from tokenizers import Tokenizer as Rust

    whole = Rust.from_file(str(folder / "tokenizer.json"))
    whole.enable_truncation(LIMIT)
    return whole


def _read_without_vocabulary(file: Path) -> str:
    """Read only the part before the vocabulary, which our build puts last, and close its brackets."""
    marker, text = _VOCABULARY.encode(), b""
    with file.open("rb") as stream:
        while marker not in text:
            text += stream.read(1 << 19)
    special = json.dumps([[piece, 0.0] for piece in _SPECIAL])[1:]
    return text[: text.index(marker) + len(marker)].decode() + special + "}}"
