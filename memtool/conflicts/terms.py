"""A text -> its terms: what it speaks of, in the form that stands for all that mean the same.

English words by their stems; Japanese by runs of one script, parted at words that are known. Grammar and
values are left out.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

from memtool import lexical
from memtool.conflicts import polarity
from memtool.conflicts.values import values


@cache
def _term() -> re.Pattern[str]:
    return re.compile(
        r"(?P<plain>[A-Za-zÀ-ɏ][A-Za-zÀ-ɏ0-9]*(?:[._/'’+#-][A-Za-zÀ-ɏ0-9]+)*)|(?P<kata>[ァ-ヺー][ァ-ヺー・]*)|(?P<kanji>[一-龯々〆]+)|(?P<hira>[ぁ-ゖー]{2,}(?=[一-龯ァ-ヺ]))|(?P<other>[^\W\d_ぁ-ゖァ-ヺー一-龯々A-Za-zÀ-ɏ]+)"
    )


_STOP = lexical.STOP | frozenset(
    """now today currently still also only always usually normally every each all both one ones it's that's
    since there here then own new very more most other others per via within must shall need needs have has
    please note see e.g i.e etc non yes""".split()
)
_WIDE_STOP = frozenset(
    (
        "者 的 等 今 現在 際 時 中 内 上 下 前 後 方 点 件 回 日 月 年 分 秒 人 名 円 約 間 以 "
        "各 全 毎 本 当 我々 私 必 全部 全員 必要 毎日 毎週 毎月 使 行 出 入 見 取 持 決 置 定 用 為 事 物"
    ).split()
)


class Spelt(NamedTuple):
    """How a term is written, and what it looks like."""

    text: str
    is_name: bool
    is_soft: bool


_PARTICLE = re.compile(
    "^(?:には|では|とは|へは|からは|から|まで|より|について|として|[はがをにでとへもやのか])"
)
_FUNCTION = re.compile(
    "(?:[をはがにのてたなくうず]|から|まで|など|ので|との|への|での|こと|もの|ため|よう|とき|ところ|すべて|それぞれ|いつも|さらに"
    "|ただし|および|または|しかし|そして|それで|ここで|もっと|とても|かなり|まずは|つまり|やはり|みんな|きっと|ずっと|ちょっと|する|される|いる|ある|なる)$"
)


def _hiragana(run: str, first: bool) -> str:
    """Give the name in a run of hiragana that leads to another word, "" where it is grammar."""
    name = run if first else _PARTICLE.sub("", run)
    return "" if len(name) < 3 or _FUNCTION.search(name) else name


_HONORED = re.compile("さん|氏|様|君|部長|課長|主任")


def spelled_terms(text: str) -> dict[str, Spelt]:
    """Give each term of a text."""
    found: dict[str, Spelt] = {}
    first, pending = True, ""
    for match in _term().finditer(text):
        word = match[0]
        if match["plain"]:
            word = re.sub(r"['’]s$", "", word)
            lower = word.lower()
            if (lower not in _STOP and len(lower) > 1) or (word.isupper() and len(word) == 1 and not first):
                named = (
                    (word[:1].isupper() and not first)
                    or (not word.islower() and not word.istitle())
                    or bool(re.search(r"\d", word))
                )
                term = lexical.stem(lower)
                soft = not named and polarity.is_soft(
                    term, text[: match.start()][-12:], text[match.end() :][:12]
                )
                found.setdefault(polarity.canonical(term), Spelt(word, named, soft))
        elif match["hira"]:
            pending = _hiragana(word, match.start() == 0)
        else:
            named = bool(_HONORED.match(text, match.end())) or bool(pending)
            named = named or (bool(match["kata"]) and not polarity.is_common(word))
            parts = polarity.parts(word) if match["kanji"] and len(word) > 2 else [word]
            parts[0], pending = pending + parts[0], ""
            for number, part in enumerate(parts):
                if part not in _WIDE_STOP and part != "ー" and (len(parts) == 1 or len(part) > 1):
                    after = text[match.end() :][:6] if number == len(parts) - 1 else ""
                    soft = not named and polarity.is_soft(part, "", after)
                    found.setdefault(polarity.canonical(part), Spelt(part, named, soft))
        first = False if not match["other"] else first
    return found


@lru_cache(4096)
def terms_of(text: str) -> frozenset[str]:
    """Give the terms of a title or of headings."""
    return frozenset(spelled_terms(without_values(text)))


def without_values(text: str) -> str:
    for value in reversed(values(text)):
        text = text[: value.start] + " " * (value.end - value.start) + text[value.end :]
    return text
