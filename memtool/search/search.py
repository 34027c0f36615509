"""A query and an index -> hits, best first, or the finding that nothing is relevant.

Words and vectors each propose chunks; every proposed chunk is then measured by both, and one
sum orders them. Knows filters, proposals and thresholds; what a measure is worth stands in
`scoring`.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce

from memtool import lexical
from memtool.index.index import FileRow, Index, Row, Target
from memtool.search import question as asking
from memtool.search import scoring
from memtool.search.query import NO_LEANINGS, NOTHING, Found, Hit, Leanings, Meaning, Query, Seen
from memtool.search.question import Terms

#: Chunks that each ranker may propose.
PROPOSALS = 100

#: Notes proposed as a whole, by what leads to them.
NOTES = 30

#: Near misses that are kept to be shown.
MISSES = 5

#: How many chunks of a note stand for it when the note is proposed as a whole.
CHUNKS_OF_A_NOTE = 12


def search(index: Index, query: Query, meaning: Meaning | None, *, leanings: Leanings = NO_LEANINGS) -> Found:
    """Answer *query*; *meaning* None leaves the answer to words alone."""
    allowed = _allowed(index, query)
    # A question without a letter or a digit asks for nothing, though a model has a vector for it.
    if (allowed is not None and not allowed) or not any(map(str.isalnum, query.text)):
        return NOTHING
    terms = asking.terms("" if query.mode == "semantic" else query.text, index)
    if meaning:
        meaning = reduce(lambda kept, lean: lean(query, kept), leanings.meaning, meaning)
    measured = _measure(index, terms, meaning, allowed, leanings.share)
    fused = rank(index, query, terms, measured, by_meaning=meaning is not None)
    ranked = reduce(lambda kept, lean: lean(query, index, kept), leanings.order, fused)
    found = _choose(ranked, query, terms)
    found = reduce(lambda kept, lean: lean(query, index, kept), leanings.found, found)
    for look in leanings.seen:
        look(query, index, Seen(terms, meaning, fused, ranked, found))
    return found


def rank(
    index: Index, query: Query, terms: Terms, measured: Sequence[scoring.Measured], *, by_meaning: bool
) -> scoring.Ranked:
    """Order what was measured, as *query* asks for it."""
    return scoring.rank(
        measured,
        query.mode if by_meaning else "lexical",
        fusion=query.fusion,
        least_chance=query.least_chance,
        strangers=terms.strangers,
        chunks=index.chunk_count(),
    )


# -- which notes ---------------------------------------------------------------------------


def _allowed(index: Index, query: Query) -> set[int] | None:
    """Give the notes that the filters let through; None when there is no filter."""
    hidden = set[int]() if query.archived or query.path.startswith("archive/") else _archived(index)
    plain = not (query.types or query.tags or query.path or query.since or query.until or query.without)
    if plain and query.may_read is None:
        return _all(index) - hidden if hidden else None
    hidden.add(query.without)
    return {file.id for file in index.files().values() if file.id not in hidden and _passes(file, query)}


def _archived(index: Index) -> set[int]:
    """Give the notes in the archive, which a plain search leaves out."""
    # "0" follows "/", so that the index over paths answers.
    found = index.db.execute("SELECT id FROM files WHERE path >= 'archive/' AND path < 'archive0'")
    return {id for (id,) in found}


def _all(index: Index) -> set[int]:
    return {id for (id,) in index.db.execute("SELECT id FROM files")}


def _passes(file: FileRow, query: Query) -> bool:
    tags = {tag.casefold() for tag in file.tags}
    return (
        (not query.types or file.type.casefold() in {kind.casefold() for kind in query.types})
        and tags >= {tag.casefold().removeprefix("#") for tag in query.tags}
        and (query.may_read is None or query.may_read(file.path))
        and (not query.path or matches(file.path, query.path))
        and (not query.since or file.day >= query.since)
        and (not query.until or file.day[: len(query.until)] <= query.until)
    )


def matches(path: str, pattern: str) -> bool:
    """Match a path as a shell would, ``*`` crossing folders; a plain folder name means all below it.

    >>> matches("ops/keys/staging.md", "ops"), matches("ops/staging.md", "*.md"), matches("a.md", "b*")
    (True, True, False)
    """
    return fnmatch.fnmatchcase(path, pattern) or path.startswith(pattern.rstrip("/") + "/")


# -- which chunks --------------------------------------------------------------------------


def _measure(
    index: Index, terms: Terms, meaning: Meaning | None, allowed: set[int] | None, share: float = 1.0
) -> list[scoring.Measured]:
    """Propose chunks by words and by meaning, and measure each proposal by both."""
    expression = terms.expression()
    by_words = index.words(expression, limit=int(share * PROPOSALS), files=allowed) if expression else []
    near = Near(index, meaning, allowed) if meaning else None
    numbers = list(dict.fromkeys([row for row, _ in by_words] + (near.propose(share) if near else [])))
    return measure(index, terms, near, numbers)


def measure(index: Index, terms: Terms, near: Near | None, numbers: Sequence[int]) -> list[scoring.Measured]:
    """Measure chunks by words and by meaning."""
    rows = index.rows(numbers)
    average = index.count("length") / max(1, index.count("bodies"))
    words = asking.measure(terms, rows, index.names({row.file for row in rows.values()}), average=average)
    cosines = near.measure(rows) if near else {}
    return [scoring.Measured(rows[n], words[n], cosines.get(n)) for n in numbers if n in rows]


class Near:
    """The vector half of one search."""

    def __init__(self, index: Index, meaning: Meaning, allowed: set[int] | None) -> None:
        self.index, self.meaning, self.allowed = index, meaning, allowed

    def propose(self, share: float) -> list[int]:
        """Give the rows nearest to the question, then those of notes that are near as a whole."""
        only = None if self.allowed is None else self.index.digests(self.allowed)
        most = int(share * PROPOSALS)
        found = self.meaning.vectors.search(self.meaning.vector, 4 * most, only=only)
        rank = {digest: place for place, (digest, _) in enumerate(found.nearest)}
        targets = self.index.targets(list(rank))
        targets = [target for target in targets if self.allowed is None or target.file in self.allowed]
        targets.sort(key=lambda target: rank[target.digest])
        rows = dict.fromkeys(target.row for target in targets if target.row is not None)
        notes = dict.fromkeys(target.file for target in targets if target.row is None)
        leads = [
            row
            for file in list(notes)[: int(share * NOTES)]
            for row in self.index.rows_of(file)[:CHUNKS_OF_A_NOTE]
        ]
        return list(rows)[:most] + leads

    def measure(self, rows: Mapping[int, Row]) -> dict[int, scoring.Nearness]:
        """Give how near each row is: by its best piece, and by what leads to its note."""
        pieces = self._scored(self.index.pieces_of(rows))
        leads = self._scored(self.index.leads_of({row.file for row in rows.values()}))
        best: dict[int, tuple[float, Target]] = {}
        for score, target in pieces:
            if target.row is not None and (target.row not in best or score > best[target.row][0]):
                best[target.row] = score, target
        opening: dict[int, float] = {}
        led: dict[int, float] = {}
        for score, target in leads:
            kept = opening if target.kind == "opening" else led
            kept[target.file] = max(score, kept.get(target.file, -1.0))
        return {
            number: scoring.Nearness(
                piece=best[number][0] if number in best else None,
                lines=(best[number][1].start, best[number][1].end) if number in best else None,
                opening=opening.get(row.file),
                lead=led.get(row.file),
            )
            for number, row in rows.items()
        }

    def _scored(self, targets: list[Target]) -> list[tuple[float, Target]]:
        """Give the score of each target that has a vector; not clipped, so that order is kept."""
        if not targets:
            return []
        floor, ceiling = self.meaning.calibration
        matrix = self.meaning.vectors.get([target.digest for target in targets])
        scores = ((matrix @ self.meaning.vector - floor) / (ceiling - floor)).tolist()
        return [(score, target) for score, target in zip(scores, targets, strict=True) if score == score]


# -- which hits ----------------------------------------------------------------------------


def _choose(ranked: scoring.Ranked, query: Query, terms: Terms) -> Found:
    """Keep what is above the line, once each, within limit and budget; show what just missed it."""
    threshold = ranked.threshold if query.min_score is None else query.min_score
    once = list(_once(ranked.scored))
    above = [scored for scored in once if scored.score >= threshold]
    chosen = (_fit(above, query.budget) if query.budget else above)[: query.limit]
    picked = {scored.measured.row.row for scored in chosen}
    below = [scored for scored in once if scored.measured.row.row not in picked][:MISSES]
    return Found(
        [_hit(scored, terms) for scored in chosen],
        [_hit(scored, terms) for scored in below],
        ranked.confidence,
        threshold,
    )


def _once(scored: Sequence[scoring.Scored]) -> Iterator[scoring.Scored]:
    """Leave out a chunk that says the same, to the letter, as a better one."""
    seen: set[str] = set()
    for one in scored:
        text = " ".join(one.measured.row.text.split())
        if text not in seen:
            seen.add(text)
            yield one


def _fit(scored: Sequence[scoring.Scored], budget: float) -> list[scoring.Scored]:
    """Take the best that fit; one that is too large gives way to smaller ones behind it."""
    kept, left = [], budget
    for one in scored:
        price = cost(one.measured.row.text)
        if price <= left:
            kept.append(one)
            left -= price
    return kept


def cost(text: str) -> float:
    """Estimate the tokens of *text*: 1.5 wide characters, or 4 others, are about one.

    >>> cost("abcd"), cost("日本語")
    (1.25, 2.25)
    """
    wide = lexical.wide_count(text)
    return wide / 1.5 + (len(text) - wide) / 4 + 0.25 * (text.count("\n") + 1)


def _hit(scored: scoring.Scored, terms: Terms) -> Hit:
    row, near = scored.measured.row, scored.measured.nearness
    focus = asking.focus(terms, row, near.lines if near else None)
    return Hit(
        path=row.path,
        start=row.start,
        end=row.end,
        score=scored.score,
        title=row.title,
        headings=row.headings_at(focus[0]),
        text=row.text,
        focus=focus,
        day=row.day,
        evidence=scored.evidence,
    )
