"""Two notes -> whether they speak of the same thing at different times: by their names and their text.

Pure. Knows how a name carries the time of its edition, and how alike two texts are by their words.
"""

# ruff: noqa: E501 - a pattern is read as one line

from __future__ import annotations

import re
from collections.abc import Set
from functools import cache, lru_cache

from memtool import lexical


@cache
def _edition() -> re.Pattern[str]:
    month = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*"
    return re.compile(
        rf"""(?x)
        (?:令和|平成|昭和|[rh](?=\d)) \s? (?:\d{{1,2}}|元) \s? 年度? (?:\s?\d{{1,2}}\s?月(?:\s?\d{{1,2}}\s?日)?)?
        | (?:\d{{1,2}}(?:st|nd|rd|th)? \s+)? \b{month} \.? ,? \s* (?:\d{{1,2}}(?:st|nd|rd|th)?,?\s+)? (?:19|20)\d\d
        | (?<!\d) (?:19|20)\d\d (?:[-_./年]\s?\d{{1,2}}(?!\d) (?:[-_./月]\s?\d{{1,2}}(?!\d))? | \d{{4}}(?!\d) )? [年月日]? 度?
            (?:[-_ t]?\d\d[:h-]?\d\d(?!\d))?
        | \bfy \s?-? (?:20)?\d\d \b | \b[qh][1-4]\b | 第?[1-4]四半期 | 上半期|下半期|上期|下期 | 年[春夏秋冬]
        | \b(?:v|ver|version|rev|revision|edition) [ ._-]? \d+(?:\.\d+)* \b | 第\d+版
        | \b(?:new|old|updated|revised|current|latest|previous|draft|final|copy|archive|archived) \b
        | 改訂版?|改定版?|最新版?|旧版|新版|（[改新旧]）|\([改新旧]\)|(?<![一-龯])[旧新](?=[一-龯])|(?<=[一-龯])改$
        """
    )


@lru_cache(4096)
def name(text: str) -> str:
    """Give a name without the time of its edition, written in one way; "" when nothing else is in it.

    >>> name("2023-12-30-head-coaches-07"), name("旅費規程（令和7年度）"), name("2025-03-03")
    ('head coaches 07', '旅費規程', '')
    """
    text = _edition().sub(" ", lexical.fold(text.replace("_", " ")))
    text = " ".join(re.findall(r"[^\W_]+", text))
    return text if any(character.isalpha() for character in text) else ""


def same_name(title: str, stem: str, other_title: str, other_stem: str) -> bool:
    """Tell whether two notes are editions of one: by their titles, or by the names of their files.

    >>> same_name("Coaches", "2021-12-30-coaches", "Coaches", "2023-12-30-coaches")
    True
    >>> same_name("Session 19", "2023-01-02-session-19", "Session 20", "2023-01-09-session-20")
    False
    """
    mine, other = name(title), name(other_title)
    if mine and mine == other:
        return True
    mine, other = name(stem), name(other_stem)
    return bool(mine) and mine == other


def alike(mine: Set[str], other: Set[str]) -> float:
    """Give the share of words in common (Dice 1945).

    >>> alike({"a", "b"}, {"b", "c"})
    0.5
    """
    return 2 * len(mine & other) / ((len(mine) + len(other)) or 1)


@lru_cache(4096)
def words(text: str) -> frozenset[str]:
    """Give the words of a text that say something."""
    return frozenset(
        token
        for token in lexical.tokens(text)
        if token not in lexical.STOP and token not in lexical.WIDE_STOP
    )
