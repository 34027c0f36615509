"""A question and today -> the time it asks about: now, a span of days, an earlier state, or no time at all.

English and Japanese, by rules alone. Days are proleptic ordinals, so that spans are compared as numbers.
Knows nothing of notes: what held at that time is for `beliefs` to say.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import date
from typing import Literal, NamedTuple

from memtool.tense import calendar_words as words
from memtool.tense import tense_marks as marks

Lean = Literal["now", "then", "earlier", "first", "none"]

#: The first and the last day there is.
BEGIN, END = date.min.toordinal(), date.max.toordinal()

#: A bare year this far from today may be meant as a time.
_NEAR_YEARS = 20


class Asked(NamedTuple):
    """What time a question asks about.

    ``then`` has a span of days, or an event that happened at its end (``before``) or its beginning
    (``after``); ``earlier`` is the state before the one that holds, ``first`` the first there was.
    ``none`` leans to no time: a past that is not named. ``past`` tells that its verb is in the past.
    """

    lean: Lean
    start: int = BEGIN
    end: int = END
    event: str = ""
    side: Literal["", "before", "after"] = ""
    past: bool = False


def read(question: str, today: date) -> Asked:
    """Tell which time *question* asks about.

    >>> read("Who is the coach of Twente?", date(2024, 1, 15)).lean
    'now'
    >>> asked = read("2022年の半ばに監督だったのは誰ですか。", date(2024, 1, 15))
    >>> asked.lean, str(date.fromordinal(asked.start)), str(date.fromordinal(asked.end))
    ('then', '2022-06-01', '2022-07-31')
    """
    text = _plain(question, today)
    past = bool(marks.past().search(text))
    if found := _span(text, today):
        return _against(today, *found, past=past)
    if found := _ago(text, today):
        return Asked("then", *found, past=past)
    if event := _event(text, past):
        return event
    for lean, pattern in (("first", marks.first()), ("earlier", marks.earlier())):
        if pattern.search(text):
            return Asked(lean, past=past)  # type: ignore[arg-type]
    if past and not marks.now().search(text):
        return Asked("none", past=True)
    return Asked("now", today.toordinal(), today.toordinal(), past=past)


def _against(today: date, start: int, end: int, *, past: bool) -> Asked:
    """Take a span that holds today for now, unless the verb says that it is over."""
    now = today.toordinal()
    if start <= now <= end and not (past and start < now - 31):
        return Asked("now", now, now, past=past)
    return Asked("then", start, min(end, now) if start <= now else end, past=past)


def _plain(question: str, today: date) -> str:
    """Write widths, digits and relative years in one way."""
    text = unicodedata.normalize("NFKC", question[:2000]).lower()
    text = marks.kanji_year().sub(lambda found: found[0].translate(words.KANJI_DIGITS), text)
    text = marks.relative_year().sub(lambda found: _year_of(found, today), text)
    return marks.last_named().sub(lambda found: f"{found[1]} {_last_year_of(found[1], today)}", text)


def _year_of(found: re.Match[str], today: date) -> str:
    word = found[0]
    fiscal = word.endswith("年度")
    year = today.year - (1 if fiscal and today.month < 4 else 0)
    for back, names in words.YEARS_BACK.items():
        if word.removesuffix("度") in names:
            return (
                f"{year - back}年度"
                if fiscal
                else f"{year - back}年"
                if not word.isascii()
                else f"{year - back}"
            )
    return word


def _last_year_of(name: str, today: date) -> int:
    """Give the year of the last month or season of that name that is over."""
    months = words.months(name)
    assert months
    this = _months(today.year, *months)
    return today.year if this and this[1] < today.toordinal() else today.year - 1


# -- spans that are named --------------------------------------------------------------------


def _span(text: str, today: date) -> tuple[int, int] | None:
    """Read the first date of a question, joined with a second one, and what stands around it."""
    found = [
        (mention, span) for mention in marks.mention().finditer(text) if (span := _read(mention, text, today))
    ]
    if not found:
        return None
    mention, (start, end) = found[0]
    before, after = text[: mention.start()].rstrip(), text[mention.end() :].lstrip()
    if found[1:]:
        between = text[mention.end() : found[1][0].start()].strip()
        if marks.joint().fullmatch(between) and found[1][1][1] >= start:
            return start, found[1][1][1]
    if marks.before().search(before) or marks.mae().match(after):
        return BEGIN, start - 1
    if marks.after().search(before) or marks.ikou().match(after):
        return (end + 1 if before.endswith("after") else start), END
    return start, end


def _read(found: re.Match[str], text: str, today: date) -> tuple[int, int] | None:
    """Give the days that one mention of a date means; None when it means none."""
    given = found.groupdict()
    part = given["part"] or given["part2"] or given["part3"] or ""
    if given["iso"]:
        return _days(int(given["iso"]), int(given["iso_month"]), given["iso_day"])
    if given["last_year"]:
        return _sides(int(given["last_year"]), given["first"], given["sign"], given["second"])
    if given["nen"]:
        nen = given["nen"]
        year = words.year(
            given["era"] or "", f"20{nen}" if given["gatsu"] and len(nen) == 2 and not given["era"] else nen
        )
        if year is None or not 1 <= year <= 9998:
            return None
        if given["gatsu"]:
            return _days(year, int(given["gatsu"]), given["nichi"], given["part4"] or "")
        if given["do"]:
            return _months(year, 4, 15)
        return _part(year, part)
    if given["month"]:
        if given["month_year"]:
            return _days(
                int(given["month_year"]),
                words.MONTHS[given["month"][:3]],
                given["day"] or given["day2"],
                part,
            )
        return None
    if given["decade"]:
        return _months(int(given["decade"]), 1, 120)
    if given["quarter"]:
        year, at = int(given["quarter_year"] or given["quarter_year2"]), given["quarter"]
        return _part(year, at)
    if given["year"]:
        return _part(int(given["year"]), part) if _is_year(found, text, part, today) else None
    number = int(given["only_month"]) if given["only_month"] else words.MONTHS[given["lone"][:3]]
    year = today.year if number <= today.month else today.year - 1
    return _days(year, number, None)


def _is_year(found: re.Match[str], text: str, part: str, today: date) -> bool:
    """Tell a year from another number of four digits by the words around it."""
    before, after = text[: found.start()].rstrip(), text[found.end() :]
    # Clubs and products are named for years too, but seldom for a year that is near.
    near = abs(int(found["year"]) - today.year) <= _NEAR_YEARS
    if part or marks.year_before().search(before):
        return not marks.unit().match(after)
    if near and marks.year_named().search(before):
        return not marks.unit().match(after)
    ends = re.match(r"\s*(?:$|[?.,!;)のにはで])", after)
    return near and bool(ends) and not marks.no_year().search(before)


def _sides(year: int, first: str | None, sign: str | None, second: str) -> tuple[int, int] | None:
    """Read a date that ends with its year: day and month by dots, by slashes whichever can be the month."""
    if first is None:
        return _days(year, int(second), None)
    if sign == "." or int(first) > 12:
        return _days(year, int(second), first)
    return _days(year, int(first), second) if int(second) > 12 else _months(year, 1, 12)


def _days(year: int, month: int, day: str | None, part: str = "") -> tuple[int, int] | None:
    try:
        if day:
            at = date(year, month, int(day)).toordinal()
            return at, at
        whole = _months(year, month, month) if 1 <= month <= 12 else None
    except ValueError:
        return None
    if whole and part and (third := words.THIRD.get(part)) is not None:
        return whole[0] + 10 * third, whole[1] if third == 2 else whole[0] + 10 * third + 9
    return whole


def _part(year: int, part: str) -> tuple[int, int] | None:
    months = words.months(part) if part else (1, 12)
    return _months(year, *(months or (1, 12)))


def _months(year: int, first: int, last: int) -> tuple[int, int] | None:
    """Give the days from the first month to the last, counted from January of *year*."""
    try:
        start = date(year + (first - 1) // 12, (first - 1) % 12 + 1, 1)
        after = date(year + last // 12, last % 12 + 1, 1)
    except ValueError:
        return None
    return start.toordinal(), after.toordinal() - 1


# -- times told from today -------------------------------------------------------------------


def _ago(text: str, today: date) -> tuple[int, int] | None:
    """Read "two years ago", "last month", 「3年前」: the days about that far away."""
    now = today.toordinal()
    if found := marks.some_ago().search(text):
        number = words.number(found["many"] or found["many2"])
        number += 0.5 if found["half"] or found["half2"] else 0.0
        unit = words.UNITS[(found["unit"] or found["unit2"])[:2]]
        return _around(now - round(number * unit), unit)
    for pattern, (days, unit) in words.NEAR.items():
        if re.search(pattern, text):
            return _around(now + days, unit)
    return None


def _around(day: int, unit: float) -> tuple[int, int]:
    spread = 0 if unit < 2 else int(unit // 4) if unit > 40 else int(unit // 2)
    return max(BEGIN, day - spread), max(BEGIN, min(END, day + spread))


# -- times told by what happened -------------------------------------------------------------


def _event(text: str, past: bool) -> Asked | None:
    """Read "before the move", 「移転前の」: a time told by an event that some note may date."""
    found = marks.by_event().search(text)
    if not found or (not past and marks.procedure().search(text)):
        return None
    event = found["event"] or found["koto"] or ""
    before = (found["side"] or "") in ("before", "prior to", "until", "till", "pre-") or found["mae"] == "前"
    side: Literal["before", "after"] = "before" if before else "after"
    return Asked("then", event=event.strip(), side=side, past=past)


def day(text: str) -> int | None:
    """Give the ordinal of an ISO day; None when it is none.

    >>> day("2024-02-30"), day("2024-02-29")
    (None, 738945)
    """
    try:
        return date.fromisoformat(text[:10]).toordinal()
    except ValueError:
        return None
