"""A question and an index -> how much it says, and whether it points at something said before.

Both are read off the text alone, in English and Japanese. Knows nothing of sessions.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from memtool import lexical
from memtool.search.question import Vocabulary, idf

#: What a pair of characters says against a word: pairs overlap, and those with kana are mostly grammar.
PAIR, KANA_PAIR = 0.7, 0.15

_POINTS = re.compile(
    r"""\b(?:it|its|they|them|their|theirs|he|she|his|him|her|hers|this|that|these|those|there|one|ones
    |same|others?|another|else|again|former|latter|both|either|such|instead|usual|last\ time|as\ before
    |any\ more)\b
    |^\W*(?:and|but|so|or|what\ about|how\ about|why|how\ come|any)\b
    |それ|これ|あれ|その|この|あの|そこ|ここ|あそこ|そちら|あちら|こちら|そっち|彼女|彼ら|彼[はがのをにも]
    |同じ|いつも(?:の|通り|どおり)|前の|前回|前と|さっき|先ほど|先日の|例の|上記|もう一つ|もうひとつ|他に|ほかに
    |^\W*(?:じゃあ|では|で[、は]|あと|なぜ|どうして)""",
    re.VERBOSE | re.IGNORECASE,
)


class Vagueness(NamedTuple):
    """How under-specified a question is."""

    mass: float  # the weight of its words; 1 is one word that hardly any chunk holds
    anaphora: bool  # it points at something said before


def measure(text: str, vocabulary: Vocabulary) -> Vagueness:
    """Weigh the words of a question by how rare they are in this vault."""
    total = vocabulary.chunk_count()
    words = [word for word in dict.fromkeys(lexical.question_tokens(text)) if word.isalnum()][:200]
    forms = {word: lexical.forms(word) for word in words}
    counts = vocabulary.frequencies([form for some in forms.values() for form in some])
    scale = max(math.log(max(total, 1)), 2.0)
    mass = 0.0
    for word in words:
        if word in lexical.STOP:
            continue
        weight = idf(min(total, sum(counts.get(form, 0) for form in forms[word])), total) / scale
        mass += weight * _share(word)
    return Vagueness(mass, points_back(text))


def _share(word: str) -> float:
    """Say how much of a word a token is.

    >>> _share("castle"), _share("司会"), _share("本は"), _share("何人")
    (1.0, 0.7, 0.15, 0.0)
    """
    if not lexical.is_wide(word[0]):
        return 1.0
    if any(character in "何誰幾" for character in word):
        return 0.0
    return KANA_PAIR if any("\u3041" <= character <= "\u309f" for character in word) else PAIR


def points_back(text: str) -> bool:
    """Tell whether a question points at something said before.

    >>> points_back("and her brother?"), points_back("いつもの書式で"), points_back("rotate the staging key")
    (True, True, False)
    """
    return bool(_POINTS.search(text))
