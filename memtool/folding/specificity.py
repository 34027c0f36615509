"""Texts -> how much each says that no other text tells: numbers, dates, names, decisions, rare words.

A word counts for what it cost to read, so a score is per word. What everybody says, who is spoken to and
what is only asked counts little. Knows English and Japanese; knows nothing of budgets.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache

from memtool import lexical

#: What the rare words of a text count, and each of its numbers or dates, names and decisions.
RARE, NUMBER, NAME, DECISION = 0.3, 10.0, 6.0, 6.0

#: What being a question takes off.
QUESTION = 4.0

#: Words that every text costs besides its own: a very short one is seldom worth its line.
OVERHEAD = 6.0

#: A name that more of the texts speak of than this share (and than so many) is who is spoken to.
KNOWN, FEW = 0.05, 2

_WORD = re.compile(r"[^\W\d_][\w'’]*")
_CAPITAL = re.compile(r"(?<![\w'’])[A-Z][\w'’]*")
_I = re.compile(r"I(?:['’]\w+)?")
_IDENTIFIER = re.compile(r"(?<![\w/.])(?:[\w-]+[/_.][\w./-]*\w|[a-z]+[A-Z]\w*|[A-Z]{2,}\w*)|`[^`\n]+`")
_NUMBER = re.compile(r"\d[\d.,:/-]*")
_TIME = frozenset(
    """yesterday today tomorrow tonight ago week weekend month year last next morning two three four five six
    seven eight nine ten january february march april june july august september october november december
    monday tuesday wednesday thursday friday saturday sunday""".split()
)
_DECIDED = frozenset(
    """decided decide decision agreed deadline due must never always chose chosen settled approved cancelled
    canceled postponed instead replaced switched owner responsible""".split()
)
_WIDE_QUESTION = re.compile(r"(?:[?？]|(?:です|ます|ません|でしょう|ました|だろう)か[。]?)[」』）)\s]*$")


@cache
def _wide() -> Mapping[str, re.Pattern[str]]:
    """Read Japanese: numbers and dates, names, decisions. Compiled late, for most text has none."""
    digits = "0-9０-９〇一二三四五六七八九十百千万"
    units = "年月日時分秒円人名個件本台回階号室週歳度杯枚頁通票割倍%％㎡"
    return {
        "number": re.compile(
            rf"[{digits}][{digits}.,．，]*(?:[{units}]|か月|カ月|ヶ月|営業日|[kKmMgG]?[mgLBl])?"
            "|[月火水木金土日]曜日?|今?[昨明]後?[日朝晩]|[来先今翌前再]々?[週月年]末?|午[前後]|[上中下月年]旬|月末|年末|年度"
        ),
        "name": re.compile("[\u30a1-\u30fa\u30fc]{2,}|[\u3400-\u4dbf\u4e00-\u9fff々]{2,}"),
        "decision": re.compile(
            "決定|決ま|決め|ことに(?:し|な|す)|締め?切|期限|納期|担当|合意|承認|採用|却下|廃止|変更|中止|延期|禁止|必ず"
            "|今後は|以降は|に切り替え|をやめ|ではなく"
        ),
    }


def words(text: str) -> float:
    """Count words; a script without spaces has about one for every two characters.

    >>> words("Rotate the key"), words("鍵を交換")
    (3.0, 2.0)
    """
    wide = lexical.wide_count(text)
    return len(text.split()) + 0.0 if not wide else len(_narrow(text).split()) + wide / 2


def _narrow(text: str) -> str:
    return "".join(" " if lexical.wide_count(character) else character for character in text)


def scores(texts: Sequence[str]) -> list[float]:
    """Score each text by what it alone says, among *texts*."""
    tokens = [Counter(token for token in lexical.tokens(text) if _counts(token)) for text in texts]
    spread = Counter(token for one in tokens for token in one)
    rare = {token: math.log(len(texts) / count) for token, count in spread.items()}
    named = [_names(text) for text in texts]
    known = Counter(name for one in named for name in one)
    most = max(FEW, KNOWN * len(texts))
    return [
        _score(text, sum(rare[t] * n for t, n in one.items()), [n for n in names if known[n] <= most])
        for text, one, names in zip(texts, tokens, named, strict=True)
    ]


def _counts(token: str) -> bool:
    return token not in lexical.STOP and token not in lexical.WIDE_STOP


def _score(text: str, rare: float, names: Sequence[str]) -> float:
    worth = RARE * rare + NUMBER * _numbers(text) + NAME * len(names) + DECISION * _decisions(text)
    return (worth - QUESTION * is_question(text)) / (words(text) + OVERHEAD)


def is_question(text: str) -> bool:
    """Tell whether a text ends by asking.

    >>> is_question("Where is it?"), is_question("いつ締め切りですか。"), is_question("静かです。")
    (True, True, False)
    """
    return _WIDE_QUESTION.search(text.rstrip()) is not None


def _numbers(text: str) -> int:
    if lexical.wide_count(text):
        return len(_wide()["number"].findall(text))
    return len(_NUMBER.findall(text)) + sum(word.lower() in _TIME for word in _WORD.findall(text))


def _decisions(text: str) -> int:
    if lexical.wide_count(text):
        return len(_wide()["decision"].findall(text))
    return sum(word.lower() in _DECIDED for word in _WORD.findall(text))


def _names(text: str) -> list[str]:
    """Give the names in a text, each once: capitals inside a sentence, identifiers, katakana, kanji.

    >>> _names("Yesterday I met Hana at the Kawabata hall, see ops/keys.md."), _names("来週サーバーを更新")
    (['Hana', 'Kawabata', 'ops/keys.md'], ['来週', 'サーバー', '更新'])
    """
    found = [
        name[0]
        for name in _CAPITAL.finditer(text)
        if not _I.fullmatch(name[0]) and not _begins(text, name.start())
    ]
    found += _IDENTIFIER.findall(text)
    if lexical.wide_count(text):
        found += _wide()["name"].findall(text)
    return list(dict.fromkeys(re.split("['’]", name)[0] for name in found))


def _begins(text: str, at: int) -> bool:
    """Tell whether a sentence begins at a place: a capital says nothing there."""
    before = text[max(0, at - 8) : at].rstrip(" \t\"'“”‘’*(_")
    return not before or before[-1] in ".!?:;\n-…。！？"
