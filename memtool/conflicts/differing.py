"""Two claims -> the difference by which they cannot both be true, or None. Pure.

They must speak of the same thing: the same words but for what may be said in other words, no name and no
scope that only one of them has. Then values of one unit, dates, versions, signs and names are compared.
"""

from __future__ import annotations

from collections.abc import Set
from typing import NamedTuple

from memtool.conflicts import polarity
from memtool.conflicts.alikeness import left, met, parted_ways, wide
from memtool.conflicts.claims import Claim
from memtool.conflicts.disparities import differences, spelled
from memtool.conflicts.terms import terms_of

#: Share of words in common from which on words alone tell that two claims speak of one thing.
SURE = 0.72
#: Share from which on their meaning is asked.
MAYBE = 0.4
#: Share that two lines of one note must have.
SAME_NOTE = 0.9
#: What a name counts among words, and a word for what is done.
_NAME, _SOFT = 1.5, 0.4


class Difference(NamedTuple):
    """What differs, and the words of each side. ``sure`` False: only if they mean the same otherwise."""

    kind: str
    one: str
    other: str
    likeness: float
    sure: bool
    asks: tuple[tuple[str, str], ...] = ()  # words of which each must mean the same as one of the other side


class _Pair(NamedTuple):
    one: Claim
    other: Claim
    shared: frozenset[str]
    mine: frozenset[str]  # words of one that the other has nowhere
    theirs: frozenset[str]


def compare(one: Claim, other: Claim, *, same_note: bool = False) -> Difference | None:
    """Give the difference between two claims that speak of the same thing; None when there is none.

    One note seldom says two things of one: *same_note* asks for nearly the same words.
    """
    if one.signs.scopes != other.signs.scopes or one.past != other.past or not _may_differ(one, other):
        return None
    for kind, mine, theirs in differences(one, other):
        pair = _paired(one, other, kind)
        likeness = _likeness(pair)
        if likeness < (SAME_NOTE if same_note else MAYBE) or not _same_place(pair):
            continue
        asks = _same_subject(pair)
        if asks is None:
            continue
        return Difference(
            kind,
            mine,
            theirs,
            likeness,
            likeness >= SURE and not asks and not _other_doing(pair),
            tuple(asks),
        )
    return None


def _may_differ(one: Claim, other: Claim) -> bool:
    if one.text == other.text:
        return False
    return bool(one.words & other.words) or any(wide(word) for word in one.words | other.words)


# -- words -----------------------------------------------------------------------------------


def _paired(one: Claim, other: Claim, kind: str) -> _Pair:
    mine, theirs = one.words, other.words
    if kind == "polarity":
        said = _said(one, other)
        mine, theirs = mine - said, theirs - said
    if kind in ("name", "value"):
        mine, theirs = mine - one.told, theirs - other.told
    return _Pair(
        one,
        other,
        frozenset(word for word in mine if left(word, theirs) != word),
        frozenset(word for word in mine if left(word, theirs | other.context)),
        frozenset(word for word in theirs if left(word, mine | one.context)),
    )


def _said(one: Claim, other: Claim) -> frozenset[str]:
    """Give the terms by which two claims stand on the sides of one opposition."""
    shared = one.signs.sides.keys() & other.signs.sides.keys()
    return frozenset().union(
        *(terms_of(claim.signs.words.get(name, "")) for claim in (one, other) for name in (*shared, "not"))
    )


def _weight(words: Set[str], names: Set[str], soft: Set[str]) -> float:
    return sum(_NAME if word in names else _SOFT if word in soft else 1.0 for word in words)


def _likeness(pair: _Pair) -> float:
    """Give the share of words in common."""
    names, soft = pair.one.names | pair.other.names, pair.one.soft | pair.other.soft
    shared = _weight(pair.shared, names, soft)
    apart = _weight(pair.mine, names, soft) + _weight(pair.theirs, names, soft)
    return 2 * shared / (2 * shared + apart) if shared else 0.0


# -- the same thing --------------------------------------------------------------------------


def _same_place(pair: _Pair) -> bool:
    """Tell whether the headings do not lead to two things, or the sentences say enough by themselves."""
    one, other = pair.one, pair.other
    mine = any(not met(word, other.context | other.words) for word in one.context)
    theirs = any(not met(word, one.context | one.words) for word in other.context)
    hard = [
        word
        for word in pair.shared - one.soft - other.soft
        for _ in range(2 if wide(word) and len(word) > 3 else 1)
    ]
    if (one.vague or other.vague) and (mine or theirs):
        return False
    if mine and theirs:
        named = any(wide(word) or word in one.names | other.names for word in hard)
        return len(hard) >= 3 or (len(hard) >= 2 and (named or len(pair.shared) >= 3))
    return len(hard) >= 2 or (bool(hard) and bool(one.context & other.context))


def _same_subject(pair: _Pair) -> list[tuple[str, str]] | None:
    """Give the words that must mean the same for both to speak of one thing; None when they do not."""
    one, other = pair.one, pair.other
    mine, theirs = pair.mine - one.soft, pair.theirs - other.soft
    if any(
        parted_ways(word, other.words)
        for word in _subject(one, pair)
        if wide(word) and word not in other.words
    ):
        return None
    if not mine or not theirs:
        return (
            []
            if (len(mine | theirs) <= 2 and not (mine & one.names or theirs & other.names)) or _few(pair)
            else None
        )
    if mine & one.names or theirs & other.names or max(len(mine), len(theirs)) > 2:
        return None
    if any(wide(word) for word in mine | theirs) and _compound(mine, theirs, one, other):
        return None
    if _beside(mine, one) & _beside(theirs, other):
        return None
    return [(spelled(one, {word}), spelled(other, {best})) for word in mine for best in theirs]


def _subject(claim: Claim, pair: _Pair) -> Set[str]:
    return pair.shared | pair.mine if claim is pair.one else pair.theirs


def _compound(mine: Set[str], theirs: Set[str], one: Claim, other: Claim) -> bool:
    """Tell whether two Japanese compounds differ in a part: 請求画面, 請求処理."""
    return any(left(word, other.words) != word for word in mine) or any(
        left(word, one.words) != word for word in theirs
    )


def _beside(words: Set[str], claim: Claim) -> set[tuple[int, str]]:
    """Give what stands right before and right after words: two that stand beside the same are two things."""
    order = [term for term, _ in claim.shown]
    found = set()
    for word in words:
        at = order.index(word)
        found |= {(-1, order[at - 1])} if at and order[at - 1] not in claim.soft else set()
        found |= {(1, order[at + 1])} if at + 1 < len(order) and order[at + 1] not in claim.soft else set()
    return found


def _other_doing(pair: _Pair) -> bool:
    """Tell whether each side says that something else is done."""
    light = polarity.light()
    return bool(pair.mine - light) and bool(pair.theirs - light)


def _few(pair: _Pair) -> bool:
    """Tell whether what only one side has is little against what both have."""
    return len(pair.mine) + len(pair.theirs) <= 1 and len(pair.shared) >= 3
