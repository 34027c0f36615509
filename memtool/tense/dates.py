"""A date as people type it -> the moment in UTC.

Forgiving about form, strict about the calendar: there is no thirtieth of February.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

_DATE = re.compile(
    r"""(?x)
    (?P<year>[0-9]{4})
    (?: (?P<sign>[-/.年]) (?P<month>[0-9]{1,2}) (?: (?:(?P=sign)|月) (?P<day>[0-9]{1,2}) 日? | 月 )? )?
    (?: (?:[Tt]|[ \t]+) (?P<hour>[0-9]{1,2}) : (?P<minute>[0-9]{2})
        (?: : (?P<second>[0-9]{2}) (?: [.,] (?P<part>[0-9]{1,9}) )? )?
        [ \t]* (?P<zone> [Zz] | UTC | (?P<east>[+-]) (?P<ahead>[0-9]{1,2}) :? (?P<more>[0-9]{2})? )?
    )?
    """
)
#: The year before the first of each era.
_ERAS = {"令和": 2018, "平成": 1988, "昭和": 1925, "大正": 1911, "明治": 1867}
_ERA = re.compile("(令和|平成|昭和|大正|明治)([0-9]{1,2}|元)(?=年)")
_COMPACT_DATE = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})")


def get_date(text: str) -> datetime | None:
    """Read a date or a time, in UTC; None when *text* is neither or there is no such day.

    >>> get_date("2026-04-01T10:00+09:00"), get_date("2026-02-30")
    (datetime.datetime(2026, 4, 1, 1, 0, tzinfo=datetime.timezone.utc), None)
    >>> str(get_date("令和6年4月1日"))
    '2024-04-01 00:00:00+00:00'
    """
    text = text.strip()
    if era := _ERA.match(text):
        year = _ERAS[era[1]] + (1 if era[2] == "元" else int(era[2]))
        text = f"{year}{text[era.end() :]}"
        text = f"{year}" if text == f"{year}年" else text
    if compact := _COMPACT_DATE.fullmatch(text):
        text = "-".join(compact.groups())
    found = _DATE.fullmatch(text)
    if not found:
        return None
    year, month, day = int(found["year"]), int(found["month"] or 1), int(found["day"] or 1)
    hour, minute, second = int(found["hour"] or 0), int(found["minute"] or 0), int(found["second"] or 0)
    part = int((found["part"] or "0")[:6].ljust(6, "0"))
    try:
        return datetime(year, month, day, hour, minute, second, part, _zone(found)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _zone(found: re.Match[str]) -> timezone:
    if not found["east"]:
        return UTC
    ahead = timedelta(hours=int(found["ahead"]), minutes=int(found["more"] or 0))
    return timezone(ahead if found["east"] == "+" else -ahead)
