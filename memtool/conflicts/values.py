"""A line -> the values in it: numbers with their unit, dates, times, versions, money; and whether two agree.

English and Japanese. Values of one unit are brought to one scale, so that 1,000 ms is 1 s and 千円 is
1,000 yen. Knows nothing of what the line speaks of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memtool.conflicts import value_marks as marks
from memtool.conflicts.value_marks import (
    ABOUT,
    AFTER,
    COUNTED_OFF,
    ERAS,
    KANJI,
    LEAST,
    MONTH,
    MOST,
    NAMED_CODE,
    NO_UNIT,
    NOT_NAMES,
    ORDINAL,
    SCALE,
    TIMES,
    URL,
    WEEKDAYS,
    WIDE_WEEKDAYS,
    WORDS,
)
from memtool.lexical import stem
from memtool.tense.calendar_words import MONTHS


class Value(NamedTuple):
    """One value: ``unit`` says what it can be compared with, ``bound`` whether it is one ("<", ">", "~")."""

    kind: str
    unit: str
    low: float
    high: float
    bound: str
    text: str
    start: int
    end: int
    parts: tuple[int | None, ...] = ()  # of a date: year, month, day; of a version: its numbers


def values(text: str) -> list[Value]:
    """Find the values of a line that is written in NFKC, in order.

    >>> [(v.kind, v.unit, v.low) for v in values("Kept 1,000 ms, costs 3万円, at 14:30")]
    [('number', 'span', 1.0), ('money', 'jpy', 30000.0), ('time', 'clock', 870)]
    """
    masked = NAMED_CODE.sub(_blank, URL.sub(_blank, text))
    found: list[Value] = []
    for read in (_read_dates, _read_clock, _read_versions, _read_numbers):
        new = list(read(masked))
        found += new
        for value in new:
            masked = masked[: value.start] + " " * (value.end - value.start) + masked[value.end :]
    return _ranges(sorted(found, key=lambda value: value.start), text)


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])


def _read_dates(text: str) -> Iterator[Value]:
    for found in marks.dates().finditer(text):
        if found["wk"] or found["jwk"] or found["jwk2"]:
            name = (found["wk"] or "").lower()[:3]
            day = WEEKDAYS[name] if name else WIDE_WEEKDAYS[found["jwk"] or found["jwk2"]]
            yield _value("date", "weekday", day, found, parts=(day,))
        elif found["q"]:
            yield _value("date", "quarter", int(found["q"][1]), found, parts=(int(found["q"][1]),))
        else:
            parts = _ymd(found)
            if parts != (None, None, None):
                yield _value("date", "day", 0, found, parts=parts)


def _ymd(found: re.Match[str]) -> tuple[int | None, int | None, int | None]:
    def number(*names: str) -> int | None:
        return next((int(found[name]) for name in names if found[name] and found[name].isdigit()), None)

    year, month, day = (
        number("y", "wy", "ey2", "fy", "fy2", "ly"),
        number("m", "wm", "jm", "om"),
        number("d", "wd", "jd", "ed", "fd"),
    )
    if found["era"]:
        year = ERAS[found["era"]] + (1 if found["ey"] == "元" else int(found["ey"]))
    named = next((found[name] for name in ("em", "fm", "lm") if found[name]), "")
    return year, MONTHS.get(named[:3].lower(), month), day


def _read_clock(text: str) -> Iterator[Value]:
    for found in marks.clock().finditer(text):
        if found["noon"] or found["jnoon"]:
            yield _value("time", "clock", 0 if (found["noon"] or "").lower() == "midnight" else 720, found)
            continue
        hour = int(found["h"] or found["h2"] or found["h3"])
        minute = int(found["m"] or found["m3"] or (30 if found["hm"] else 0))
        half = found["half"] or found["half2"] or ""
        later = (found["ap"] or found["ap2"] or "").lower().startswith("p") or half in ("午後", "夜")
        hour = (
            hour + 12
            if later and hour < 12
            else 0
            if not later and hour == 12 and (found["ap"] or found["ap2"])
            else hour
        )
        yield _value("time", "clock", hour * 60 + minute, found)


def _read_versions(text: str) -> Iterator[Value]:
    for found in marks.version().finditer(text):
        told = found["v"] or found["three"] or found["w"] or found["n"]
        name = (found["name"] or "").lower()
        start = found.start("n") if found["n"] else found.start()
        if name and (
            name in MONTH
            or name in NOT_NAMES
            or (MONTHS.get(name[:3]) and len(name) <= 9 and not found["n"].count("."))
        ):
            continue
        parts = tuple(int(part) for part in told.split("."))
        yield Value("version", "version", 0, 0, "", text[start : found.end()], start, found.end(), parts)


def _read_numbers(text: str) -> Iterator[Value]:
    for found in marks.numbers().finditer(text):
        if found["sign"]:
            unit = marks.units()[found["sign"]][1]
            yield _value("money", unit, _number(found["m"], found["mt"]), found)
        elif found["n"]:
            plain = _plain(text, found)
            yield from (plain,) if plain else ()
        elif found["kanji"]:
            kind, unit, scale = marks.units()[found["ku"]]
            yield _value(kind, unit, _kanji(found["kanji"]) * scale, found)
        elif named := _unit_of(found["wu"]):
            times = {"hundred": 100, "thousand": 1e3, "million": 1e6}.get((found["wt"] or "").lower(), 1)
            yield _value(named[0], named[1], WORDS[found["word"].lower()] * times * named[2], found)


def _plain(text: str, found: re.Match[str]) -> Value | None:
    if ORDINAL.search(text[max(0, found.start() - 12) : found.start()]) or COUNTED_OFF.match(
        text, found.end("n")
    ):
        return None
    told, written = _number(found["n"], found["t"]), found["u"] or ""
    named = _unit_of(written) if written else None
    if named and written.lower() == "m" and not found["t"] and written == "M":
        named = None
    if named:
        return _value(named[0], named[1], told * named[2], found)
    end = found.end() if not written else found.start("u")
    unit = stem(written.lower()) if written.isalpha() and written.lower() not in NO_UNIT else ""
    return Value(
        "number",
        f"*{unit}",
        told,
        told,
        _bound(text, found.start(), found.end()),
        text[found.start() : end].strip(),
        found.start(),
        end,
        _dotted(found["n"]),
    )


def _dotted(text: str) -> tuple[int | None, ...]:
    return tuple(map(int, text.split("."))) if re.fullmatch(r"\d+(?:\.\d+)+", text) else ()


def _unit_of(written: str) -> tuple[str, str, float] | None:
    units, name = marks.units(), written.lower()
    if name.endswith("/s"):
        return None
    return (
        units.get(written)
        or units.get(name)
        or (units.get(name.removesuffix("es")) if name.endswith("es") and len(name) > 4 else None)
        or (units.get(name.removesuffix("s")) if len(name) > 2 else None)
    )


def _number(text: str, times: str | None) -> float:
    return float(text.replace(",", "")) * TIMES.get((times or "").lower(), 1)


def _kanji(text: str) -> float:
    total = part = digit = 0
    for character in text:
        if character in KANJI:
            digit = digit * 10 + KANJI[character]
        elif (scale := SCALE[character]) < 10_000:
            part, digit = part + (digit or 1) * scale, 0
        else:
            total, part, digit = total + ((part + digit) or 1) * scale, 0, 0
    return float(total + part + digit)


def _value(
    kind: str, unit: str, number: float, found: re.Match[str], parts: tuple[int | None, ...] = ()
) -> Value:
    bound = _bound(found.string, found.start(), found.end())
    return Value(kind, unit, number, number, bound, found[0].strip(), found.start(), found.end(), parts)


def _bound(text: str, start: int, end: int) -> str:
    before, after = text[max(0, start - 24) : start], AFTER.match(text, end)
    if ABOUT.search(before) or (after and after["about"]):
        return "~"
    if LEAST.search(before) or (after and after["least"]):
        return ">"
    return "<" if MOST.search(before) or (after and after["most"]) else ""


_JOINT = re.compile(r"\s*(?:-|–|—|~|〜|から|to|and)\s*", re.IGNORECASE)


def _ranges(found: Sequence[Value], text: str) -> list[Value]:
    """Join "10 to 20 days" into one value."""
    joined: list[Value] = []
    for value in found:
        last = joined[-1] if joined else None
        between = text[last.end : value.start] if last else ""
        fits = (
            last
            and last.kind == value.kind in ("number", "money")
            and (last.unit == value.unit or last.unit == "*")
        )
        if last and fits and _JOINT.fullmatch(between) and last.low <= value.high:
            low = last.low * (value.high / bare(value.text) if last.unit == "*" and bare(value.text) else 1)
            joined[-1] = value._replace(low=low, text=text[last.start : value.end], start=last.start)
        else:
            joined.append(value)
    return joined


def bare(text: str) -> float:
    """Give the number as it is written, without its unit."""
    found = re.search(r"\d[\d,.]*", text)
    return float(found[0].replace(",", "").rstrip(".") or 0) if found else 0.0
