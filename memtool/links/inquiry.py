"""A question about the graph -> the things it names, and the relations to follow from them, one hop each.

What it names is looked up in the vault, longest names first; what it asks is told by words of relations
(`kinship`) and by the very names that this vault's relations have. Knows nothing of walking.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from memtool import names
from memtool.links import kinship
from memtool.links.graph import Graph, Thing
from memtool.links.kinship import Family, Match
from memtool.links.paths import ANY, Direction, within
from memtool.links.relations import LINKS_TO, normal

#: Of a longer question only the beginning is read.
CHARACTERS = 400

#: Words and letters of the longest name looked for.
_WORDS, _LETTERS = 8, 24

_WORD = re.compile(r"[\w'’&.+#/-]*\w|[\w]")
_STOP = frozenset(
    "a an the who whom whose what which when where why how is are was were be did do does has have had "
    "and or of in on at to for with by from about it its he she they them we i you this that these those "
    "all any someone anyone people person thing things other note notes me my our project team "
    "誰 何 だれ なに どれ どこ いつ なぜ 人 者 方 物 事 の は が を に と で も へ "
    "こと もの ひと たち どの 一緒".split()
)
_PARTICLE = re.compile(r"(?:さん|氏|様|ちゃん|くん|君)?[」』\"”]?(?P<particle>[がはもをにとでへの])")


class Named(NamedTuple):
    """Things that a question names with one of its parts."""

    start: int
    end: int
    things: tuple[Thing, ...]


class Inquiry(NamedTuple):
    """What is asked: from where, and over which relations; ``remark`` says what was not understood."""

    named: tuple[Named, ...]
    hops: tuple[Mapping[str, Direction], ...]
    remark: str = ""


def named(graph: Graph, question: str) -> tuple[Named, ...]:
    """Find what a question names, in its order."""
    text = question[:CHARACTERS]
    spans = {span: names.key(" ".join(text[span[0] : span[1]].split())) for span in _spans(text)}
    whole = names.key(" ".join(text.split()))
    found = graph.named(key for key in spans.values() if key not in _STOP or key == whole)
    chosen: list[Named] = []
    for start, end in sorted(spans, key=lambda span: (span[0] - span[1], span[0])):
        things = found.get(spans[start, end])
        if things and all(end <= other.start or other.end <= start for other in chosen):
            chosen.append(Named(start, end, tuple(things)))
    return tuple(sorted(chosen))


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Give each run of words, and each part of a run that is written without spaces."""
    words = [found.span() for found in _WORD.finditer(text)]
    for at, (start, _) in enumerate(words):
        for _, end in words[at : at + _WORDS]:
            yield start, end
    for start, end in words:
        if text[start:end].endswith(("'s", "’s")):
            yield start, end - 2
        if not text[start:end].isascii():
            yield from (
                (first, last)
                for first in range(start, end)
                for last in range(first + 1, min(end, first + _LETTERS) + 1)
                if _may_begin(text, first) and _may_begin(text, last)
            )


def _may_begin(text: str, place: int) -> bool:
    """Tell whether a name may begin or end here: not within an ASCII word, nor within katakana."""
    if not 0 < place < len(text):
        return True
    pair = text[place - 1 : place + 1]
    is_word = re.fullmatch(r"[A-Za-z0-9_]{2}|[ァ-ヺー]{2}", pair)
    return not is_word


def read(graph: Graph, question: str) -> Inquiry:
    """Read a question: its things, and a hop for each relation it asks for, the nearest to them first."""
    found = named(graph, question)
    text = question[:CHARACTERS]
    asked = _without(text, found)
    matched = kinship.matches(asked)
    known = graph.relations()
    matched += _own(asked, known, matched)
    if not found or not matched:
        return Inquiry(found, ())
    return _inquiry(text, found, matched, known)


def _inquiry(text: str, found: tuple[Named, ...], matched: list[Match], known: Mapping[str, int]) -> Inquiry:
    middle = found[0] if len(found) == 1 else found[-1]
    order = sorted(matched, key=lambda match: _distance(match, middle))
    hops, last = [], (middle.start, middle.end)
    missing = []
    for match in order:
        allowed = _allowed(text, match, last)
        if known.keys() & allowed.keys():
            hops.append(allowed)
        else:
            missing.append(text[match.start : match.end].strip())
        last = match.start, match.end
    remark = f"no line here says `{'`, `'.join(missing)}`" if missing else ""
    return Inquiry(found, tuple(hops), remark)


def _without(text: str, found: tuple[Named, ...]) -> str:
    """Blank out what was understood as a name, so that no relation is read into it."""
    for one in found:
        text = text[: one.start] + "\0" * (one.end - one.start) + text[one.end :]
    return text


def _distance(match: Match, middle: Named) -> int:
    return match.start - middle.end if match.start >= middle.end else middle.start - match.end


def _allowed(text: str, match: Match, last: tuple[int, int]) -> dict[str, Direction]:
    """Say which relations may be followed, and which way, from what stands at *last*."""
    family = match.family
    if family.both:
        return within(family.names | family.inverse, "both")
    mine, other = (family.inverse, family.names) if match.flipped else (family.names, family.inverse)
    if match.noun or _is_subject(text, match, last):
        return {**within(other, "in"), **within(mine, "out")}
    return {**within(other, "out"), **within(mine, "in")}


def _is_subject(text: str, match: Match, last: tuple[int, int]) -> bool:
    """Tell whether what stands at *last* is the subject of a verb: by its particle, or by its place."""
    particle = _PARTICLE.match(text, last[1])
    if particle and not text[match.start : match.end].isascii():
        return particle["particle"] in "がはも"
    return last[0] < match.start


def _own(text: str, known: Mapping[str, int], matched: list[Match]) -> list[Match]:
    """Find relations by the names that this vault gives them, where no family told of these words."""
    found = []
    for relation in known.keys() - {LINKS_TO}:
        if kinship.family_of(relation) is None and (place := _place(text, relation)):
            start, end = place
            if all(end <= one.start or one.end <= start for one in matched):
                found.append(Match(start, end, Family(frozenset({relation}), both=True), False, False))
    return found


def _place(text: str, relation: str) -> tuple[int, int] | None:
    """Find the words of a relation's name in a question, in any of their forms."""
    words = [word for word in relation.split("_") if word]
    if not relation.isascii():
        at = normal(text).find(relation) if len(relation) > 1 else -1
        return (at, at + len(relation)) if at >= 0 else None
    pattern = r"[\s_-]+".join(rf"{re.escape(_stem(word))}\w{{0,4}}" for word in words)
    found = re.search(rf"\b{pattern}\b", text.lower()) if words and len(words[0]) > 2 else None
    return found.span() if found else None


def _stem(word: str) -> str:
    """Cut what a form of a word may lack.

    >>> _stem("reviewed"), _stem("likes"), _stem("by")
    ('review', 'lik', 'by')
    """
    for ending in ("ing", "ed", "es", "er", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def asked_hop(relation: str, direction: Direction) -> Mapping[str, Direction]:
    """Give the hop over a relation that was named, with the inverse read backwards.

    >>> asked_hop("supersedes", "out")["superseded_by"]
    'in'
    """
    if not relation:
        return ANY if direction == "both" else {"*": direction}
    name, family = normal(relation), kinship.family_of(normal(relation))
    if family is None or family.both:
        return within((family.names if family else frozenset()) | {name}, "both" if family else direction)
    mine, other = (family.names, family.inverse) if name in family.names else (family.inverse, family.names)
    back: dict[str, Direction] = {"out": "in", "in": "out", "both": "both"}
    return {**within(other, back[direction]), **within(mine, direction)}
