"""A question, an anchor, and how the question was answered -> why these lines came, or did not.

Asks in the order in which a search decides: is it indexed, may it be found, was it proposed, where did it
rank, was it folded, how far is it below the line, who came before it. Pure but for the index.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from memtool import lexical
from memtool.index.index import FileRow, Index, Row
from memtool.note.anchor import Anchor
from memtool.search import search as searching
from memtool.search.query import Found, Hit, Query, Seen
from memtool.search.scoring import Measured, Scored

#: Hits that are named as having come first.
_NAMED = 3
#: A word is close to another from this likeness on (difflib's ratio).
_CLOSE = 0.7


class Why(NamedTuple):
    """What became of some lines: a code, one paragraph, and the numbers it is made of."""

    code: str  # shown, no-note, not-indexed, filtered, not-proposed, folded, duplicate, below, outranked, ...
    says: str
    numbers: dict[str, Any]

    @property
    def came(self) -> bool:
        return self.code == "shown"


def filtered(query: Query, file: FileRow) -> list[str]:
    """Name the filters of *query* that leave a note out."""
    told = []
    if query.may_read is not None and not query.may_read(file.path):
        return ["the policy keeps this note from who asks"]
    if file.path.startswith("archive/") and not (query.archived or query.path.startswith("archive/")):
        told.append("it is in the archive, and --archived was not given")
    if query.types and file.type.casefold() not in {kind.casefold() for kind in query.types}:
        told.append(
            f"its type is {file.type or 'not given'}, and --type {', '.join(query.types)} was asked for"
        )
    tags = {tag.casefold() for tag in file.tags}
    if lacking := [tag for tag in query.tags if tag.casefold().removeprefix("#") not in tags]:
        told.append(f"it has no tag {', '.join(lacking)}")
    if query.path and not searching.matches(file.path, query.path):
        told.append(f"its path does not match --path {query.path}")
    if query.since and file.day < query.since:
        told.append(f"its day is {file.day or 'unknown'}, before --since {query.since}")
    if query.until and file.day[: len(query.until)] > query.until:
        told.append(f"its day is {file.day}, after --until {query.until}")
    return told


def explain(index: Index, query: Query, seen: Seen, file: FileRow, anchor: Anchor) -> Why:
    """Say what became of the lines of *anchor* in one search."""
    return _Case(index, query, seen, file, anchor).explain()


class _Case:
    """One note's lines in one search."""

    def __init__(self, index: Index, query: Query, seen: Seen, file: FileRow, anchor: Anchor) -> None:
        self.index, self.query, self.seen, self.file, self.anchor = index, query, seen, file, anchor
        rows = list(index.rows(index.rows_of(file.id)).values())
        own = [
            row for row in rows if not anchor.start or (row.start <= anchor.end and anchor.start <= row.end)
        ]
        self.rows = own or rows
        self.numbers: dict[str, Any] = {"line": round(seen.found.threshold, 4), "limit": query.limit}

    def explain(self) -> Why:
        if not self.rows:
            return Why("not-indexed", f"{self.file.path} holds no text that is searched.", self.numbers)
        fused, proposed = self._measured()
        row = fused.measured.row
        final = {one.measured.row.row: one for one in self.seen.ranked.scored}.get(row.row)
        self.numbers |= _numbers(fused, final)
        if hit := _hit_of(self.seen.found, row):
            place = self.seen.found.hits.index(hit) + 1
            return self._why("shown", f"{hit.anchor} came: it is hit {place} of {len(self.seen.found.hits)}")
        if not proposed:
            return self._not_proposed(fused)
        if final is None:
            return self._left_out(row)
        if twin := self._twin(final):
            text = f"{_at(row)} says, to the letter, the same as {_at(twin.measured.row)}, which ranks higher"
            return self._why("duplicate", f"{text}; the same text is shown once")
        if final.score < self.seen.found.threshold:
            return self._below(fused, final)
        return self._outranked(final)

    def _why(self, code: str, says: str) -> Why:
        return Why(code, f"{says}. {self._measures()}", self.numbers)

    def _measured(self) -> tuple[Scored, bool]:
        """Give the best of the chunks as it was measured; one that was not proposed is measured now."""
        own = {row.row for row in self.rows}
        known = [one for one in self.seen.fused.scored if one.measured.row.row in own]
        if known:
            last = {one.measured.row.row: one.score for one in self.seen.ranked.scored}
            return max(known, key=lambda one: (last.get(one.measured.row.row, -2.0), _rank(one))), True
        near = searching.Near(self.index, self.seen.meaning, None) if self.seen.meaning else None
        more = searching.measure(self.index, self.seen.terms, near, sorted(own))
        every: list[Measured] = [*(one.measured for one in self.seen.fused.scored), *more]
        by_meaning = self.seen.meaning is not None
        ranked = searching.rank(self.index, self.query, self.seen.terms, every, by_meaning=by_meaning)
        return max((one for one in ranked.scored if one.measured.row.row in own), key=_rank), False

    # -- the reasons -----------------------------------------------------------------------------

    def _not_proposed(self, one: Scored) -> Why:
        row, line = one.measured.row, self.seen.found.threshold
        self.numbers["would have scored"] = round(one.score, 4)
        told = [self._by_words(one)] if self.query.mode != "semantic" else []
        told += [self._by_meaning(one)]
        nothing = not one.measured.words.share and self.seen.meaning is None
        far = (
            "so there was nothing to rank it by"
            if nothing
            else f"had it been, it would have stood {line - one.score:.2f} below the line of {line:.2f}"
            if one.score < line
            else f"had it been, its score of {one.score:.2f} would have been above the line of {line:.2f}"
        )
        return self._why(
            "not-proposed", f"{_at(row)} was not among what was measured: {'; '.join(told)}; {far}"
        )

    def _by_words(self, one: Scored) -> str:
        if one.measured.words.share > 0:
            return f"it has words of the question, but {searching.PROPOSALS} others have more of them"
        asked = list(dict.fromkeys(lexical.question_tokens(self.query.text)))
        if not asked:
            return "the question holds no word that could be looked for"
        close = list(_closest(asked, one.measured.row))
        told = [f"{word} ~ {other}" for word, other in close]
        self.numbers |= {"closest words": told} if told else {}
        near = f" (closest: {', '.join(told)})" if told else ""
        return f"it has no word in common with the question{near}"

    def _by_meaning(self, one: Scored) -> str:
        near = one.measured.nearness
        if self.seen.meaning is None:
            return "meaning took no part in this search"
        if near is None or near.piece is None:
            return "its text has no vector of its own, or none yet (`memtool index` makes them)"
        self.numbers["vector"] = round(near.piece, 4)
        others = sorted(
            (
                other.measured.nearness.piece or -1.0
                for other in self.seen.fused.scored
                if other.measured.nearness
            ),
            reverse=True,
        )
        least = others[min(len(others), searching.PROPOSALS) - 1] if others else 0.0
        taken = f"those that were taken {least:.2f} or more"
        return f"its vector is {near.piece:.2f} near to the question's, and {taken}"

    def _left_out(self, row: Row) -> Why:
        for hit in (*self.seen.found.hits, *self.seen.found.misses):
            if hit.standing and any(told.startswith(f"{row.path}:") for told in hit.standing.folded):
                self.numbers["under"] = str(hit.anchor)
                return self._why("folded", f"{_at(row)} was superseded: it is folded under {hit.anchor}")
        if self.query.session and self.query.opened == "omit":
            return self._why(
                "opened", f"{_at(row)} was opened in this session before, and those are left out"
            )
        text = f"{_at(row)} was measured, and left out by what is known of its standing"
        return self._why("left-out", f"{text}: another note took its place, or it does not hold at that time")

    def _twin(self, one: Scored) -> Scored | None:
        text = " ".join(one.measured.row.text.split())
        for other in self.seen.ranked.scored:
            if other.measured.row.row == one.measured.row.row:
                return None
            if " ".join(other.measured.row.text.split()) == text:
                return other
        return None

    def _below(self, fused: Scored, final: Scored) -> Why:
        line = self.seen.found.threshold
        self.numbers["below by"] = round(line - final.score, 4)
        gap = f"{line - final.score:.2f} below the line of {line:.2f}"
        text = f"{_at(final.measured.row)} scored {final.score:.2f}, {gap}"
        if fused.score >= line > final.score:
            text += f"; it was lowered from {fused.score:.2f}"
        if not self.seen.found.hits:
            text += "; nothing in this vault was above it"
        return self._why("below", text)

    def _outranked(self, final: Scored) -> Why:
        place = [one.measured.row.row for one in self.seen.ranked.scored].index(final.measured.row.row) + 1
        self.numbers["place"] = place
        before = list(self._before(final))
        self.numbers["before it"] = before
        text = f"{_at(final.measured.row)} ranks {place}, and {self.query.limit} hits were asked for"
        if self.query.budget:
            text += f", within {self.query.budget:g} tokens"
        named = "; ".join(f"{one['anchor']} is ahead {one['in']}" for one in before[:_NAMED])
        return self._why("outranked", f"{text}; {named}" if named else text)

    def _before(self, final: Scored) -> Iterator[dict[str, Any]]:
        """Name the hits that came instead, and by which ranker each of them is ahead."""
        for hit in self.seen.found.hits:
            ahead = [name for name in ("words", "meaning") if _is_ahead(hit, final, name)]
            yield {
                "anchor": str(hit.anchor),
                "score": round(hit.score, 4),
                "in": f"in {' and '.join(ahead)}" if ahead else "in the sum",
            }

    def _measures(self) -> str:
        """Put the numbers into words: what each ranker said of it."""
        told = self.numbers
        words = f"words {told['words']:.2f}" + (
            f" (rank {told['words rank']})" if told.get("words rank") else ""
        )
        meaning = (
            f", meaning {told['meaning']:.2f}"
            + (f" (rank {told['meaning rank']})" if told.get("meaning rank") else "")
            if told.get("meaning") is not None
            else ""
        )
        final = f", in the end {told['final']:.2f}" if told.get("final") is not None else ""
        return f"Its scores: {words}{meaning}, together {told['fused']:.2f}{final}"


def _rank(one: Scored) -> tuple[float, bool]:
    return one.score, one.measured.row.kind == "body"


def _numbers(fused: Scored, final: Scored | None) -> dict[str, Any]:
    told = fused.evidence
    return {
        "anchor": _at(fused.measured.row),
        "words": round(told.get("words", 0.0), 4),
        "words rank": int(told.get("words rank", 0)) or None,
        "meaning": round(told["meaning"], 4) if "meaning" in told else None,
        "meaning rank": int(told.get("meaning rank", 0)) or None,
        "fused": round(fused.score, 4),
        "final": round(final.score, 4) if final else None,
    }


def _is_ahead(hit: Hit, one: Scored, ranker: str) -> bool:
    return hit.evidence.get(ranker, 0.0) > one.evidence.get(ranker, 0.0)


def _hit_of(found: Found, row: Row) -> Hit | None:
    return next(
        (hit for hit in found.hits if (hit.path, hit.start, hit.end) == (row.path, row.start, row.end)), None
    )


def _at(row: Row) -> str:
    return f"{row.path}:{row.start}-{row.end}"


def _closest(asked: Sequence[str], row: Row) -> Iterator[tuple[str, str]]:
    """Pair words of a question with the words of a chunk that look most like them."""
    from difflib import get_close_matches

    own = list(dict.fromkeys(lexical.tokens(f"{row.headings}\n{row.text}")))
    for word in asked[:20]:
        if near := get_close_matches(word, own, n=1, cutoff=_CLOSE):
            yield word, near[0]
