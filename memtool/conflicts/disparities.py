"""Two claims -> what differs in them: values of one unit, signs, names.

Whether they speak of one thing is not asked here. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from memtool.conflicts import polarity
from memtool.conflicts.accord import agree
from memtool.conflicts.alikeness import met
from memtool.conflicts.claims import Claim
from memtool.conflicts.terms import terms_of
from memtool.conflicts.values import Value


def differences(one: Claim, other: Claim) -> Iterator[tuple[str, str, str]]:
    """Give what differs: its kind, and the words of each side."""
    yield from _of_values(one, other)
    if (signs := polarity.opposed(one.signs, other.signs)) and _same_predicate(one, other):
        yield "polarity", signs[0], signs[1]
    yield from _of_names(one, other)


def _same_predicate(one: Claim, other: Claim) -> bool:
    """Tell whether two claims deny each other in what they say, where only "not" tells them apart."""
    if one.signs.sides.keys() & other.signs.sides.keys():
        return True
    if _groups(one.values).keys() != _groups(other.values).keys():
        return False
    return not any(one.words - other.words - polarity.light()) or not any(
        other.words - one.words - polarity.light()
    )


def _of_values(one: Claim, other: Claim) -> Iterator[tuple[str, str, str]]:
    mine, theirs = _groups(one.values), _groups(other.values)
    for unit in mine:
        group = unit if unit in theirs else _only_bare(unit, mine, theirs)
        if group is None:
            continue
        if group == "version" and not all(value.parts for value in mine[unit]):
            continue
        if not unit.startswith(("day", "weekday", "quarter")) and not _same_occasion(mine, theirs):
            continue
        apart = _apart(mine[unit], theirs[group])
        if apart:
            yield apart[0].kind, apart[0].text, apart[1].text


def _same_occasion(mine: dict[str, list[Value]], theirs: dict[str, list[Value]]) -> bool:
    """Tell whether both speak of the same days, where they name some."""
    if ("weekday" in mine) != ("weekday" in theirs):
        return False
    both = [unit for unit in ("day", "weekday", "quarter") if unit in mine and unit in theirs]
    return all(not _apart(mine[unit], theirs[unit]) for unit in both)


def _groups(values: tuple[Value, ...]) -> dict[str, list[Value]]:
    found: dict[str, list[Value]] = {}
    for value in values:
        found.setdefault(value.unit, []).append(value)
    return found


def _only_bare(unit: str, mine: dict[str, list[Value]], theirs: dict[str, list[Value]]) -> str | None:
    """Find what a number without a unit that we know may be compared with: the other's only such number."""
    if unit == "version" or (unit == "*" and "version" in theirs):
        return (
            "*"
            if unit == "version" and any(v.parts for v in theirs.get("*", ()))
            else "version"
            if unit == "*"
            else None
        )
    bare = [name for name in theirs if name.startswith("*")]
    own = [name for name in mine if name.startswith("*")]
    return bare[0] if unit.startswith("*") and len(bare) == len(own) == 1 and "*" in (unit, bare[0]) else None


def _apart(mine: list[Value], theirs: list[Value]) -> tuple[Value, Value] | None:
    """Give values that do not agree, unless all of one side stand on the other."""
    lost = [value for value in mine if not any(agree(value, other) for other in theirs)]
    missing = [value for value in theirs if not any(agree(value, other) for other in mine)]
    if not lost or not missing:
        return None
    return lost[0], missing[0]


def _of_names(one: Claim, other: Claim) -> Iterator[tuple[str, str, str]]:
    """Compare what two claims say of one subject where it is a name, or the value of a key."""
    if (
        not one.told
        or not other.told
        or not _are_plain(one, other)
        or one.signs.sides.keys() & other.signs.sides.keys()
    ):
        return
    said = terms_of(" ".join((*one.signs.words.values(), *other.signs.words.values())))
    mine = frozenset(
        word for word in one.told - one.soft - said if not met(word, other.words | other.context)
    )
    theirs = frozenset(
        word for word in other.told - other.soft - said if not met(word, one.words | one.context)
    )
    if not mine or not theirs or not _is_single(one, other) or not _same_key(one, other):
        return
    named = bool(mine & one.names) and bool(theirs & other.names)
    bare = not one.values and not other.values and not _does(one) and not _does(other)
    short = (
        bare
        and _has_attribute(one)
        and _has_attribute(other)
        and max(len(one.told - one.soft), len(other.told - other.soft)) <= 3
    )
    if (named and not _listed(one, other) and max(len(one.told), len(other.told)) <= 6) or short:
        yield "name" if named else "value", spelled(one, mine), spelled(other, theirs)


def _has_attribute(claim: Claim) -> bool:
    """Tell a key that names an attribute from one that names a thing alone."""
    return (
        claim.kind != "text"
        or claim.of
        or (len(claim.key - claim.soft) >= 3 and all(map(str.isascii, claim.key)))
    )


def _does(claim: Claim) -> bool:
    """Tell whether a sentence says what something does, rather than what it is."""
    return claim.kind == "text" and bool(claim.told & claim.soft)


def _are_plain(one: Claim, other: Claim) -> bool:
    return all(value.kind == "date" for value in (*one.values, *other.values))


def _same_key(one: Claim, other: Claim) -> bool:
    """Tell whether two claims say something of the same: the same nouns, and the same is done with them."""
    done, theirs = one.soft - polarity.light(), other.soft - polarity.light()
    if (
        one.kind == other.kind == "text"
        and (done or theirs)
        and not (done & other.words or theirs & one.words)
    ):
        return False
    return all(met(word, other.key | other.context) for word in one.key - one.soft) and all(
        met(word, one.key | one.context) for word in other.key - other.soft
    )


def _is_single(one: Claim, other: Claim) -> bool:
    """Tell whether nothing of what is said is said by both: a list that is longer on one side is none."""
    return not any(met(word, other.told) for word in one.told if word in one.names)


def _listed(one: Claim, other: Claim) -> bool:
    return len(one.told & one.names) > 3 or len(other.told & other.names) > 3


def spelled(claim: Claim, words: Set[str]) -> str:
    """Write terms as the claim does."""
    return " ".join(spelling for term, spelling in claim.shown if term in words)
