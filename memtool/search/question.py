"""A question and an index -> weighted terms, and how well a chunk's words meet them.

Terms are weighed by how rare they are in this vault; a word that the vault does not have is
taken for a misspelling of ones it has. Knows nothing of vectors.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol

from memtool import lexical
from memtool.index.index import Row

#: BM25 (Robertson & Zaragoza 2009): saturation, and how much a long chunk is held back.
K1, B = 1.2, 0.75

#: What a word in a heading or in the note's name counts, against one in the body.
HEADING_WEIGHT, NAME_WEIGHT = 1.5, 1.0

#: How much of the missing terms' weight counts against every chunk.
MISSING_WEIGHT = 0.5

#: What a misspelling counts, by edits.
TYPO_WEIGHT = {1: 0.8, 2: 0.6}

#: How much standing in the piece that is nearest in meaning counts against meeting every term.
NEAR_WEIGHT = 0.3

#: Terms of a question that are looked up, and those of them that are taken for misspellings.
MOST_TERMS, MOST_MISSPELT = 200, 12

#: Lines shown of a hit, at most.
FOCUS_LINES = 8


class Vocabulary(Protocol):
    """What is asked of an index: how many chunks hold a term, and which terms there are."""

    def frequencies(self, terms: Sequence[str]) -> dict[str, int]: ...
    def match_count(self, match: str) -> int: ...
    def terms_like(self, start: str) -> list[tuple[str, int]]: ...
    def chunk_count(self) -> int: ...


class Term(NamedTuple):
    """One thing asked for: which tokens answer it and how well, how FTS5 finds it, how rare it is."""

    text: str
    variants: Mapping[str, float]  # token -> weight
    matches: Sequence[str]  # FTS5 expressions
    idf: float
    prefix: bool = False  # every token that begins with it answers


class Terms(NamedTuple):
    """A question as the words of this vault."""

    terms: list[Term]
    missing: float  # idf mass of what the vault does not have at all
    strangers: int = 0  # names and identifiers that the vault has never heard of

    @property
    def mass(self) -> float:
        """The idf mass of what the vault has."""
        return sum(term.idf for term in self.terms)

    def expression(self) -> str:
        """Write the FTS5 expression that any term satisfies, "" when nothing can match."""
        return " OR ".join(dict.fromkeys(match for term in self.terms for match in term.matches))


class Words(NamedTuple):
    """How a chunk's words meet a question; every part is between 0 and 1."""

    share: float  # of the best BM25 score that any chunk could have
    covered: float  # idf mass of the terms that stand in the chunk, its headings or its note's name


def idf(count: int, total: int) -> float:
    """Weigh a term that *count* of *total* chunks hold (BM25's, kept above 0)."""
    return math.log(1 + (total - count + 0.5) / (count + 0.5))


# -- what is asked ---------------------------------------------------------------------------


def terms(question: str, vocabulary: Vocabulary) -> Terms:
    """Work out what *question* asks for in the words of this vault."""
    unique = list(dict.fromkeys(lexical.question_tokens(question)))[:MOST_TERMS]
    total = vocabulary.chunk_count()
    counts = vocabulary.frequencies([form for token in unique for form in lexical.forms(token)])
    found, missing, looked_up = [], 0.0, 0
    for token in unique:
        term = _term(token, counts, total, vocabulary)
        if term is None and looked_up < MOST_MISSPELT:
            looked_up += 1
            term = _misspelt(token, total, vocabulary)
        if term:
            found.append(term)
        elif not _is_joined(token):  # a missing identifier is asked for by its parts too
            missing += idf(0, total)
    known = {term.text for term in found}
    strangers = sum(1 for name in lexical.names(question) if name not in known)
    return Terms(found, missing, strangers)


def _is_joined(token: str) -> bool:
    return not token.isalnum()


def _term(token: str, counts: Mapping[str, int], total: int, vocabulary: Vocabulary) -> Term | None:
    if _is_joined(token) or (len(token) == 1 and lexical.is_wide(token)):
        prefix = not _is_joined(token)
        match = lexical.quote(token, prefix=prefix)
        count = vocabulary.match_count(match)
        return Term(token, {token: 1.0}, [match], idf(count, total), prefix) if count else None
    forms = [form for form in lexical.forms(token) if form in counts]
    if forms:
        count = min(total, sum(counts[form] for form in forms))
        return Term(token, {token: 1.0}, [lexical.quote(form) for form in forms], idf(count, total))
    return None


def _misspelt(token: str, total: int, vocabulary: Vocabulary) -> Term | None:
    """Take a word the vault does not have for the nearest ones it has, at most three, equally near."""
    if len(token) < 4 or not token.isascii() or not token.isalpha():
        return None
    most = 2 if len(token) >= 8 else 1
    near = sorted(_near(token, most, vocabulary))[:3]
    near = [one for one in near if one[0] == near[0][0]]
    if not near:
        return None
    variants = {lexical.stem(word): TYPO_WEIGHT[edits] for edits, _, word in near}
    count = max(-count for _, count, _ in near)
    return Term(token, variants, [lexical.quote(word) for _, _, word in near], idf(count, total))


def _near(token: str, most: int, vocabulary: Vocabulary) -> Iterator[tuple[int, int, str]]:
    letters = Counter(token)
    for word, count in _alike(token, vocabulary):
        # The misspelling may sit in the ending, so that it was not taken off.
        for spelled in {word, lexical.stem(word)}:
            if abs(len(spelled) - len(token)) <= most and sum((letters - Counter(spelled)).values()) <= most:
                edits = distance(token, spelled)
                if 0 < edits <= most:
                    yield edits, -count, word
                    break


def _alike(token: str, vocabulary: Vocabulary) -> Iterator[tuple[str, int]]:
    """Give words that begin with either of the first two letters: those may be swapped."""
    yield from vocabulary.terms_like(token[0])
    if token[1] != token[0]:
        yield from vocabulary.terms_like(token[1])


def distance(a: str, b: str) -> int:
    """Count edits between two words; a swap of neighbours is one (optimal string alignment).

    >>> distance("stagign", "staging"), distance("keys", "key")
    (1, 1)
    """
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        new = [i]
        for j, y in enumerate(b, 1):
            best = min(row[j] + 1, new[-1] + 1, row[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                best = min(best, before[j - 2] + 1)
            new.append(best)
        before, row = row, new
    return row[-1]


# -- how a chunk meets it --------------------------------------------------------------------


def measure(
    asked: Terms, rows: Mapping[int, Row], names: Mapping[int, str], *, average: float
) -> dict[int, Words]:
    """Measure how the words of each row meet the question; *names* says what its notes are called.

    *average* is the mean length of a chunk. BM25 over three fields with one saturation (BM25F,
    Robertson, Zaragoza & Taylor 2004); the share is of a chunk that holds every term without end.
    """
    if not asked.terms:
        return dict.fromkeys(rows, Words(0.0, 0.0))
    called = {file: Counter(_tokens_of(name)) for file, name in names.items()}
    nothing: Counter[str] = Counter()
    return {n: _measure(asked, row, called.get(row.file, nothing), average) for n, row in rows.items()}


def _measure(asked: Terms, row: Row, name: Mapping[str, int], average: float) -> Words:
    tokens = _tokens_of(row.text)
    body, head = Counter(tokens), Counter(_tokens_of(row.headings))
    norm = 1 - B + B * lexical.length(row.text) / max(average, 1.0)
    share = covered = 0.0
    for term in asked.terms:
        frequency = best = 0.0
        for token, weight in _variants(term, body, head, name):
            count = (
                body[token] / norm + HEADING_WEIGHT * head[token] + NAME_WEIGHT * min(name.get(token, 0), 2)
            )
            if count:
                frequency += weight * count
                best = max(best, weight)
        share += term.idf * frequency / (frequency + K1)
        covered += term.idf * best
    whole = asked.mass + MISSING_WEIGHT * asked.missing
    return Words(share / whole, covered / whole)


@lru_cache(8192)
def _tokens_of(text: str) -> tuple[str, ...]:
    # One question brings much the same chunks up as the one before it.
    return tuple(lexical.tokens(text))


def _variants(term: Term, *fields: Mapping[str, int]) -> Iterator[tuple[str, float]]:
    if not term.prefix:
        yield from term.variants.items()
        return
    for token in {token for field in fields for token in field if token.startswith(term.text)}:
        yield token, 1.0


def focus(asked: Terms, row: Row, near: tuple[int, int] | None) -> tuple[int, int]:
    """Choose the lines of a chunk that matter most: those whose words meet the question, near its best piece.

    *near* None means that no piece is known to be best.
    """
    lines = row.text.split("\n")
    if row.start + len(lines) - 1 != row.end or len(lines) <= FOCUS_LINES:
        return row.start, row.end
    weights = {token: term.idf * weight for term in asked.terms for token, weight in term.variants.items()}
    worth = [sum(weights.get(token, 0.0) for token in set(_tokens_of(line))) for line in lines]
    if near:
        bonus = NEAR_WEIGHT * sum(weights.values()) or 1.0
        worth = [w + bonus * (near[0] <= at <= near[1]) for at, w in enumerate(worth, row.start)]
    if not any(worth):
        return row.start, row.end
    sums = [sum(worth[at : at + FOCUS_LINES]) for at in range(len(lines))]
    best = max(sums)
    # The first line that itself says something, of the window that says most.
    first = max(at for at in range(len(lines)) if sums[at] >= best - 1e-9 and (worth[at] or sums[at] == 0))
    return row.start + first, row.start + min(first + FOCUS_LINES, len(lines)) - 1
