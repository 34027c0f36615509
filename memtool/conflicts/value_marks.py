"""How numbers, dates, times, versions and money are written in two languages: the tables and patterns of `values`.

Patterns are compiled late: most commands read no values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

KANJI = {**{kanji: number for number, kanji in enumerate("〇一二三四五六七八九")}, "零": 0}
SCALE = {"十": 10, "百": 100, "千": 1000, "万": 10_000, "億": 100_000_000}
WORDS = {
    word: number
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
        " seventeen eighteen nineteen twenty".split()
    )
} | {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90, "dozen": 12}
TIMES = {"k": 1e3, "thousand": 1e3, "million": 1e6, "m": 1e6, "billion": 1e9, "千": 1e3, "万": 1e4, "億": 1e8}
ERAS = {"令和": 2018, "平成": 1988, "昭和": 1925}
WEEKDAYS = {name: day for day, name in enumerate(("mon", "tue", "wed", "thu", "fri", "sat", "sun"))}
WIDE_WEEKDAYS = {name: day for day, name in enumerate("月火水木金土日")}

_SECONDS: Mapping[float, str] = {
    1e-3: "ms msec millisecond ミリ秒",
    1: "s sec second 秒 秒間",
    60: "min minute 分 分間",
    3600: "h hr hour 時間",
    86400: "day 日 日間 営業日",
    604800: "week 週 週間",
    2629800: "month か月 ヶ月 カ月 ケ月 箇月 か月間 ヶ月間 カ月間",
    31557600: "year 年 年間",
}
_BYTES: Mapping[float, str] = {
    1: "b byte バイト",
    1e3: "kb kib",
    1e6: "mb mib メガバイト",
    1e9: "gb gib ギガバイト ギガ",
    1e12: "tb tib テラバイト テラ",
}
_OTHERS: Mapping[str, Mapping[float, str]] = {
    "length": {0.001: "mm", 0.01: "cm", 1: "m meter metre メートル", 1000: "km キロメートル"},
    "weight": {0.001: "mg", 1: "g gram グラム", 1000: "kg キログラム キロ", 1_000_000: "tonne トン"},
    "volume": {1: "ml", 1000: "l liter litre リットル"},
    "temperature": {1: "°c ℃ °C 度 degree"},
    "percent": {1: "% percent パーセント", 10: "割"},
    "people": {1: "people person 人 名 member user engineer attendee 名様"},
    "item": {1: "件 item ticket issue entry case"},
    "machine": {1: "台 machine server node host instance replica レプリカ"},
    "time": {1: "回 times time attempt retry"},
    "piece": {1: "個 つ piece"},
    "request": {1: "request リクエスト"},
    "place": {1: "か所 箇所 ヶ所 place"},
}
_MONEY = {
    "jpy": "円 yen jpy ¥ ￥",
    "usd": "$ dollar usd ドル",
    "eur": "€ euro eur ユーロ",
    "gbp": "£ pound gbp ポンド",
}


@cache
def units() -> dict[str, tuple[str, str, float]]:
    """Give each unit as it is written: kind, what it is compared with, scale."""
    found: dict[str, tuple[str, str, float]] = {}
    numbers: dict[str, Mapping[float, str]] = {"span": _SECONDS, "bytes": _BYTES, **_OTHERS}
    for unit, scales in numbers.items():
        for scale, names in scales.items():
            found |= dict.fromkeys(names.split(), ("number", unit, float(scale)))
    for unit, names in _MONEY.items():
        found |= dict.fromkeys(names.split(), ("money", unit, 1.0))
    return found


@cache
def _unit_words() -> str:
    wide = sorted((unit for unit in units() if not unit.isascii()), key=len, reverse=True)
    return "|".join(map(re.escape, wide))


MONTH = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)(?:[a-z]{2,6})?\.?"
_MONTH_WORD = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december"
    r"|(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\.?)"
)


@cache
def dates() -> re.Pattern[str]:
    return re.compile(
        rf"""(?xi)
        (?<![A-Za-z0-9_.-]) (?P<y>(?:19|20)\d\d) [-/.] (?P<m>1[0-2]|0?[1-9]) (?: [-/.] (?P<d>3[01]|[12]\d|0?[1-9]) )? (?![A-Za-z0-9_-]|\.\d)
        | (?: (?P<era>令和|平成|昭和) \s? (?P<ey>\d{{1,2}}|元) \s? 年 | (?P<wy>(?:19|20)\d\d) \s? 年 )
            (?: 度 | \s? (?P<wm>\d{{1,2}}) \s? 月 (?: \s? (?P<wd>\d{{1,2}}) \s? 日 (?!間) )? )?
        | (?<!\d) (?P<jm>1[0-2]|[1-9]) \s? 月 \s? (?P<jd>3[01]|[12]\d|[1-9]) \s? 日 (?!間)
        | (?<![\d第か]) (?P<om>1[0-2]|[1-9]) \s? 月 (?!曜) (?P<part>末|中|上旬|中旬|下旬|初め|頭)?
        | \b (?: (?P<ed>3[01]|[12]\d|[1-9]) (?:st|nd|rd|th)? \s+ (?:of\s+)? ) (?P<em>{_MONTH_WORD}) (?: ,? \s+ (?P<ey2>(?:19|20)\d\d) )? \b
        | \b (?P<fm>{_MONTH_WORD}) \s+ (?: (?P<fd>3[01]|[12]\d|[1-9]) (?:st|nd|rd|th)? \b (?! \s*(?:%|:|am|pm)) (?: ,? \s+ (?P<fy>(?:19|20)\d\d) \b )?
            | (?P<fy2>(?:19|20)\d\d) \b )
        | \b (?: (?:in|by|since|until|from|every|each|of) \s+ (?:early\s+|late\s+|mid-?\s?)? ) (?P<lm>january|february|march|april|may|june|july|august|september|october|november|december) \b
        | \b (?P<q>Q[1-4]) (?: \s+ (?:of\s+)? (?P<qy>(?:19|20)\d\d) )? \b
        | \b (?P<wk>mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)days? \b | (?P<jwk>[月火水木金土日]) 曜日? | [(（] (?P<jwk2>[月火水木金土日]) [)）]
        | (?: \b(?:in|since|by|until|from) \s+ ) (?P<ly>(?:19|20)\d\d) \b (?! [-/.]\d) (?! \s*(?:{_unit_words()}|%|ms\b|[kmg]i?b\b|requests?\b|users?\b|items?\b|rows?\b))
        """
    )


@cache
def clock() -> re.Pattern[str]:
    return re.compile(
        r"""(?xi)
        (?P<half>午前|午後|朝|夜)? \s? (?<![\d:.]) (?P<h>[01]?\d|2[0-4]) : (?P<m>[0-5]\d) (?: :[0-5]\d)? (?![\d:]) \s? (?P<ap>[ap]\.?m\b\.?)?
        | (?<![\d:.,]) (?P<h2>1[0-2]|[1-9]) \s? (?P<ap2>[ap]\.?m\b\.?)
        | (?P<half2>午前|午後|朝|夜)? \s? (?<!\d) (?P<h3>[01]?\d|2[0-4]) 時 (?!間) (?: (?P<m3>[0-5]?\d) 分 | (?P<hm>半) )?
        | \b (?P<noon>noon|midnight) \b | (?P<jnoon>正午)
        """
    )


@cache
def version() -> re.Pattern[str]:
    return re.compile(
        r"""(?xi)
        (?<![A-Za-z0-9_.]) v (?P<v>\d+(?:\.\d+){0,3}) (?![A-Za-z0-9_]) | (?<![A-Za-z0-9_.]) (?P<three>\d+\.\d+\.\d+(?:\.\d+)?) (?![A-Za-z0-9_])
        | (?: \bversion | \bver\.? | \brelease | バージョン ) \s* (?P<w>\d+(?:\.\d+){0,3}) (?![A-Za-z0-9_])
        | (?P<name> (?-i:[A-Z])[A-Za-z+#.]*[A-Za-z+#] | [ァ-ヶー]{3,} ) \s (?P<n>\d+(?:\.\d+){0,2}) (?! [A-Za-z0-9_] | [:%°℃] | ,\d | \s*(?:[\d%°℃$€£¥]|percent) | \.\d )
        """
    )


@cache
def numbers() -> re.Pattern[str]:
    words = "|".join(WORDS)
    return re.compile(
        rf"""(?xi)
        (?P<sign>[$€£¥]) \s? (?P<m>\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?|\d+(?:\.\d+)?) \s? (?P<mt>k\b|m\b|million\b|thousand\b|billion\b|千|万|億)?
        | (?<![A-Za-z0-9_.]) (?<!\d,) (?P<n>-?\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?|-?\d+(?:\.\d+)?) (?: \s? (?P<t>k\b|million\b|thousand\b|billion\b|千|万|億) )?
            (?: [\s-]? (?P<u>{_unit_words()}|%|°C|°|[a-zA-Z]+(?:/[a-z]+)?) )?
        | (?P<kanji>[〇一二三四五六七八九十百千万億]+) (?P<ku>{_unit_words()})
        | \b (?P<word>{words}) (?:[\s-]+(?P<wt>hundred|thousand|million))? [\s-]+ (?P<wu>[a-z]+) \b
        """
    )


NOT_NAMES = frozenset(
    "the a an in at on by for to of with from up is are was about over under after before only every each all max min top line page no room step part week day section chapter phase table figure port".split()
)
NO_UNIT = frozenset(
    "and or to for in at on of by with is are was were as but if when while per from than until then after before since which that the a an now not only each every".split()
)
ABOUT = re.compile(
    r"(?:\b(?:about|around|roughly|approximately|nearly|almost|some|circa|approx\.?|~)|約|およそ|ほぼ|だいたい)\s*$",
    re.IGNORECASE,
)
LEAST = re.compile(
    r"(?:\b(?:at least|over|more than|minimum of|above|from|no less than|or more)|最低|少なくとも|[>≥]=?)\s*$",
    re.IGNORECASE,
)
MOST = re.compile(
    r"(?:\b(?:at most|up to|under|less than|fewer than|below|within|no more than|maximum of)|最大|最高|[<≤]=?)\s*$",
    re.IGNORECASE,
)
AFTER = re.compile(
    r"\s*(?:(?P<about>ほど|くらい|ぐらい|前後|程度|弱|強|or so)|(?P<least>以上|超|or more|or later|and up|\+)|(?P<most>以下|以内|未満|まで|or less|or fewer))"
)
ORDINAL = re.compile(
    r"(?i)(?:第|\b(?:no|nr|article|section|step|line|page|chapter|figure|table|part|room|rule|item|level|phase|day|week|sprint|round|batch|issue|ticket|rfc|pr|lesson)\.?|#)\s*$"
)
COUNTED_OFF = re.compile(r"\s?(?:条|章|節|号|番|項|位|代|世|期|版|st\b|nd\b|rd\b|th\b)")
URL = re.compile(
    r"(?:https?|ftp|file)://\S+|`[^`]*`|[\w.+-]+@[\w-]+\.[\w.]+|\]\([^)]*\)|\[\[[^\]]*\]\]|#\d+\b"
)
NAMED_CODE = re.compile(r"\b[A-Za-z]+-\d+\b|\b(?=\w*[A-Za-z])(?=\w*\d)\w+(?:[-_]\w+)+\b")
