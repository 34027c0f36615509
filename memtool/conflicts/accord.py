"""Two values of one unit -> whether both may be true: ranges, bounds, what is rounded, parts of dates."""

from __future__ import annotations

import re

from memtool.conflicts.values import Value, bare

#: How far two sizes or spans may be apart and still be one value written in two units.
_SLACK = 0.05


def agree(one: Value, other: Value) -> bool:
    """Tell whether two values of one unit may both be true.

    >>> from memtool.conflicts.values import values
    >>> span, one, other = (values(text)[0] for text in ("20-40 days", "30 days", "60 days"))
    >>> agree(span, one), agree(one, other)
    (True, False)
    """
    if one.unit in ("day", "version", "quarter", "weekday") or other.unit == "version":
        return _parts_agree(one, other)
    if one.low < one.high or other.low < other.high:
        inside = (
            one.low <= other.low <= other.high <= one.high or other.low <= one.low <= one.high <= other.high
        )
        return (inside and (one.low, one.high) != (other.low, other.high)) or (
            _near(one.low, other.low) and _near(one.high, other.high)
        )
    if one.bound != other.bound and {one.bound, other.bound} & {"<", ">"}:
        return _bounded(one, other) or _bounded(other, one)
    slack = 0.1 if "~" in (one.bound, other.bound) else 0.0
    return _near(one.low, other.low, slack) or _rounded(one, other) or _rounded(other, one)


def _bounded(one: Value, other: Value) -> bool:
    if _near(one.low, other.low):
        return True
    return other.low >= one.low if one.bound == ">" else other.low <= one.low if one.bound == "<" else False


def _near(one: float, other: float, slack: float = 0.0) -> bool:
    return abs(one - other) <= max(slack * max(abs(one), abs(other)), 1e-9)


def _rounded(one: Value, other: Value) -> bool:
    """Tell whether *one* is *other* in a larger unit, rounded: 1.2k for 1,234, three months for 90 days."""
    if one.unit in ("clock",) or one.text == other.text or not _near(one.low, other.low, _SLACK):
        return False
    written = bare(one.text)
    scaled = abs(one.low) > abs(written) * 1.5
    same = re.sub(r"[\d,.\s]", "", one.text) == re.sub(r"[\d,.\s]", "", other.text)
    return scaled and written > 0 and not same


def _parts_agree(one: Value, other: Value) -> bool:
    if "version" in (one.unit, other.unit):
        return (
            all(a == b for a, b in zip(one.parts, other.parts, strict=False))
            or _version_bounded(one, other)
            or _version_bounded(other, one)
        )
    both = [(a, b) for a, b in zip(one.parts, other.parts, strict=False) if a is not None and b is not None]
    return all(a == b for a, b in both) if both else True


def _version_bounded(one: Value, other: Value) -> bool:
    return (
        one.bound == ">"
        and not other.bound
        and tuple(map(int, (p or 0 for p in other.parts))) >= tuple(map(int, (p or 0 for p in one.parts)))
    )
