"""The words people use for parts of a year, for numbers and for years told from today, in two languages.

Tables, and how to look a word up in them. Knows no sentence.
"""

from __future__ import annotations

MONTHS = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1
    )
}

#: First and last month of a part of the year; winter reaches into the next one.
PARTS = {
    r"(?:the )?(?:very )?(?:early|beginning of|start of)(?: the year)?": (1, 3),
    r"(?:the )?(?:mid|middle of|midst of|halfway through)": (6, 7),
    r"(?:the )?late": (10, 12),
    r"(?:the )?(?:very )?end of": (12, 12),
    r"(?:the )?first half of": (1, 6),
    r"(?:the )?second half of": (7, 12),
    r"(?:the )?(?:early|late)?[ -]?spring(?: of)?": (3, 5),
    r"(?:the )?(?:early|late|mid)?[ -]?summer(?: of)?": (6, 8),
    r"(?:the )?(?:early|late)?[ -]?(?:autumn|fall)(?: of)?": (9, 11),
    r"(?:the )?(?:early|late|mid)?[ -]?winter(?: of)?": (12, 14),
    r"(?:the )?first quarter of": (1, 3),
    r"(?:the )?second quarter of": (4, 6),
    r"(?:the )?third quarter of": (7, 9),
    r"(?:the )?(?:fourth|last) quarter of": (10, 12),
}
KANJI_PARTS = {
    "年始": (1, 1),
    "初頭": (1, 2),
    "(?:初め|はじめ|始め|頭|序盤)": (1, 3),
    "(?:半ば|なかば|中頃|中ごろ|中盤|中旬|真ん中)": (6, 7),
    "(?:年末|末頃|末ごろ|末|終わり|おわり|暮れ)": (12, 12),
    "(?:終盤|後半|下半期|下期)": (7, 12),
    "(?:前半|上半期|上期)": (1, 6),
    "春": (3, 5),
    "夏": (6, 8),
    "秋": (9, 11),
    "冬": (12, 14),
    "第1四半期": (1, 3),
    "第2四半期": (4, 6),
    "第3四半期": (7, 9),
    "第4四半期": (10, 12),
}
_SHORT = {"q1": (1, 3), "q2": (4, 6), "q3": (7, 9), "q4": (10, 12), "h1": (1, 6), "h2": (7, 12)}

#: Thirds of a month.
THIRD = {"上旬": 0, "初め": 0, "early": 0, "beginning of": 0, "中旬": 1, "半ば": 1, "mid": 1}
THIRD |= {"下旬": 2, "末": 2, "late": 2, "end of": 2}

#: How many years back.
YEARS_BACK = {
    -1: ("来年", "翌年", "next year"),
    0: ("今年", "本年", "this year"),
    1: ("去年", "昨年", "前年", "last year", "the previous year", "the year before"),
    2: ("一昨年", "おととし", "一昨々年", "the year before last"),
}

NUMBERS = {
    "a few": 3.0,
    "a couple of": 2.0,
    "several": 4.0,
    "half a": 0.5,
    "an?": 1.0,
    "one": 1.0,
    "two": 2.0,
    "three": 3.0,
    "four": 4.0,
    "five": 5.0,
    "six": 6.0,
    "seven": 7.0,
    "eight": 8.0,
    "nine": 9.0,
    "ten": 10.0,
}
_KANJI_NUMBERS = dict(zip("半一二三四五六七八九十数", (0.5, *map(float, range(1, 11)), 3.0), strict=True))
KANJI_DIGITS = {ord(kanji): str(digit) for digit, kanji in enumerate("〇一二三四五六七八九")}

#: Days in a unit, by its first two letters.
UNITS = {"da": 1.0, "we": 7.0, "mo": 30.44, "ye": 365.25, "日": 1.0, "週間": 7.0, "年": 365.25}
UNITS |= {f"{letter}月": 30.44 for letter in "かヶカケヵ箇"}

#: Days from today, and the unit that is meant.
NEAR = {
    r"\bthe day before yesterday\b|一昨日|おととい": (-2, 1.0),
    r"\byesterday\b|昨日|きのう": (-1, 1.0),
    r"先々週": (-14, 7.0),
    r"\b(?:last|the previous) week\b|先週": (-7, 7.0),
    r"先々月": (-61, 30.44),
    r"\b(?:last|the previous) month\b|先月|前月": (-30, 30.44),
    r"\b(?:last|the previous) quarter\b|前四半期": (-91, 91.3),
    r"\btomorrow\b|明日": (1, 1.0),
    r"\bnext week\b|来週": (7, 7.0),
    r"\bnext month\b|来月": (30, 30.44),
}

#: The year before the first of each era.
ERAS = {"令和": 2018, "r": 2018, "平成": 1988, "h": 1988, "昭和": 1925, "s": 1925, "大正": 1911, "明治": 1867}


def year(era: str, number: str) -> int | None:
    """Give the year that an era's year is; without an era, a number of four digits.

    >>> year("令和", "6"), year("平成", "元"), year("", "2022"), year("", "22")
    (2024, 1989, 2022, None)
    """
    if era:
        count = 1 if number == "元" else int(number)
        return ERAS[era] + count if 1 <= count <= 99 else None
    return int(number) if number != "元" and len(number) == 4 else None


def months(part: str) -> tuple[int, int] | None:
    """Give the first and the last month of a part of a year, or of a month's name.

    >>> months("mid"), months("半ば"), months("summer of"), months("march")
    ((6, 7), (6, 7), (6, 8), (3, 3))
    """
    import re

    if part in _SHORT:
        return _SHORT[part]
    for pattern, span in (*PARTS.items(), *KANJI_PARTS.items()):
        if re.fullmatch(pattern, part):
            return span
    number = MONTHS.get(part[:3])
    return (number, number) if number else None


def number(word: str) -> float:
    """Read a small number.

    >>> number("12"), number("two"), number("三")
    (12.0, 2.0, 3.0)
    """
    if word.isdecimal():
        return float(word)
    return NUMBERS.get(word) or _KANJI_NUMBERS.get(word) or 1.0
