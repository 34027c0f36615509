"""A sentence -> its signs: whether it denies, on which side of an opposition it stands, of which scope it is.

English and Japanese, by lists of words. Two sentences of one thing with opposite signs cannot both be true.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from memtool.conflicts.oppositions import COMMON, LIGHT, OPPOSITES, SAME, SCOPES, VERBS
from memtool.lexical import stem


class Signs(NamedTuple):
    """``denies``: the sentence denies what it says. ``sides``: opposition -> side, 1 or -1.

    ``scopes``: of which environment, bound or kind it speaks.
    """

    denies: bool
    sides: Mapping[str, int]
    scopes: frozenset[str]
    words: Mapping[str, str]  # opposition, or "not" -> the word that says so


@cache
def _lookup() -> dict[str, tuple[str, int]]:
    found: dict[str, tuple[str, int]] = {}
    for name, (one, other) in OPPOSITES.items():
        for side, words in ((1, one), (-1, other)):
            found |= {_key(word): (name, side) for word in words.split()}
    return found


@cache
def _scopes() -> dict[str, str]:
    return {_key(word): name for name, words in SCOPES.items() for word in words.split()}


@cache
def _same() -> dict[str, str]:
    found: dict[str, str] = {}
    for group in SAME.strip().split("\n"):
        first = _key(group.split()[0])
        for word in group.split():
            found.setdefault(_key(word), first)
    return found


def _key(word: str) -> str:
    return stem(word) if word.isascii() else word


def canonical(term: str) -> str:
    """Give the term that stands for all that mean the same.

    >>> canonical("retain") == canonical("keep"), canonical("保管")
    (True, 'keep')
    """
    if found := _same().get(term):
        return found
    if not term.isascii() and len(term) > 2 and term[-1] in "先日者時数中用型名額度":
        return _same().get(term[:-1], term)
    return term


@cache
def _known() -> re.Pattern[str]:
    words = {word for group in (*SAME.split(), *_lookup(), *_scopes()) for word in (group,)}
    wide = sorted(
        (word for word in words if not word.isascii() and len(word) > 1 and re.fullmatch("[一-龯々]+", word)),
        key=len,
        reverse=True,
    )
    return re.compile("|".join(wide))


def parts(run: str) -> list[str]:
    """Part a run of kanji at the words that are known.

    >>> parts("月額費用"), parts("保存期間"), parts("会員")
    (['月額', '費用'], ['保存', '期間'], ['会員'])
    """
    found, at = [], 0
    for known in _known().finditer(run):
        found += [run[at : known.start()], known[0]]
        at = known.end()
    return [part for part in (*found, run[at:]) if part]


def is_soft(term: str, before: str, after: str) -> bool:
    """Tell whether a term says what is done rather than what is spoken of, by what stands around it.

    >>> is_soft("order", "the ", " queue"), is_soft("order", "we ", " paper"), is_soft("移行", "を", "する")
    (False, True, True)
    """
    if term in LIGHT:
        return True
    if term.isascii():
        noun = re.search(r"(?i)\b(?:the|an?|its|our|their|this|that|each|every|of|for|in|on|per)\s+$", before)
        return term in VERBS and not noun
    return bool(re.match(r"する|し(?!か)|され|でき|させ", after)) or (
        len(term) == 1 and bool(re.match(r"[ぁ-ゖ]", after))
    )


def is_common(word: str) -> bool:
    """Tell katakana that names a kind of thing from a name."""
    return word in COMMON or word in _same() or word in _lookup() or word in _scopes()


def light() -> frozenset[str]:
    """Give the words that add nothing of their own."""
    return LIGHT


_MUST = re.compile(
    r"な(?:けれ|きゃ|く)(?:ば|ては|ちゃ)?(?:なら|いけ)(?:ない|ません)|ないと(?:いけない|いけません|だめ)"
    r"|ねばならない|ざるを得ない"
)
_NO_DENIAL = re.compile(
    r"(?i)\bnot only\b|\bnot just\b|\bno\.\s*\d|\b(?:do not|don't) forget\b|\bnot necessarily\b"
    r"|\bno doubt\b|\bwithout (?:problem|issue|fail)\w*|だけで(?:は)?なく|のみならず|かもしれない"
    r"|しかない|問題(?:は)?ない|なくなる|少ない|危ない|ではなく"
)
_DENIAL = re.compile(
    r"(?i)\b(?:not|never|cannot|without|none|neither|nobody)\b|n't\b|\bno\b(?! later| more than"
    r"| less than| longer)"
    r"|ない(?=[。、でとがのたよ]|$|\s|もの|こと|よう|方針|設定|ため|場合|です|だ|\)|ル)|ません|なかった"
    r"|(?<=[さわかがたばまらえけれせて])ず(?=に|、|。|$)|未(?=実施|設定|使用)"
)
_PLAIN = re.compile(r"[A-Za-z]+(?:-[A-Za-z]+)*")
_WIDE = re.compile(r"[ァ-ヺー]+|[一-龯々]+[ぁ-ゖ]?")
_BY_EYE = re.compile(
    r"不可能|不可(?!欠)|(?<![許認不])可(?=。|$|、|\s|と|です|だ)|(?<=は)要(?=。|$|、)|込み"
    r"|(?<![決経返共救])済み?(?=[。、\s)」のだ]|で|$)|除(?:く|き|外)|含(?:む|み|まれ)|認め|禁じ|始ま|終わ"
    r"|上が|下が|増え|減"
)


def read(text: str) -> Signs:
    """Read the signs of a sentence written in NFKC.

    >>> read("The cache is not enabled").sides == read("The cache is disabled").sides
    True
    >>> read("外部からのアクセスは不可").sides["allow"], read("変更できない。").denies
    (-1, True)
    """
    bare = _NO_DENIAL.sub(" ", text)
    must = _MUST.search(bare)
    bare = _MUST.sub(" ", bare)
    denials = [found[0] for found in _DENIAL.finditer(bare)]
    sides: dict[str, int] = {"need": 1} if must else {}
    words: dict[str, str] = {"need": must[0]} if must else {}
    scopes: set[str] = set()
    for word in _words(bare):
        key = _key(word.lower()) if word.isascii() else word
        if found := _lookup().get(word.lower()) or _lookup().get(key):
            words.setdefault(found[0], word)
            sides.setdefault(found[0], found[1])
        if scope := _scopes().get(key):
            scopes.add(scope)
    denies = len(denials) % 2 == 1
    if denials:
        words["not"] = denials[0]
    if denies and len(sides) >= 1:
        sides = {name: -side for name, side in sides.items()}
    return Signs(denies, sides, frozenset(scopes), words)


_SWITCH = re.compile(
    r"(?i)(?:\b(?:turned|switched|turn|switch|is|are|set to|be)\s+|:\s*)(on|off)\b(?!\s+(?:the|a|an)\b)"
)


def _words(text: str) -> list[str]:
    found = (
        [f"turned-{word.lower()}" for word in _SWITCH.findall(text)]
        + _PLAIN.findall(text)
        + _BY_EYE.findall(text)
    )
    for run in _WIDE.findall(text):
        found.append(run)
        stem_ = run.rstrip(
            "ぁあぃいうえおかがきぎくぐけげこごさざしじすずせぜそぞただちつてでとどなにぬねのはばひびふぶへべほぼまみむめもやゆよらりるれろわをん"
        )
        found += [stem_] if stem_ != run else []
        found += [
            part
            for word in _wide_words()
            if len(word) > 1 and word in run
            for part in (word,)
            if word != run and not _hidden(word, run)
        ]
    return found


@cache
def _wide_words() -> tuple[str, ...]:
    return tuple(word for word in (*_lookup(), *_scopes()) if not word.isascii())


def _hidden(word: str, run: str) -> bool:
    """Tell whether a word stands in a longer one of the lists that says otherwise, as 公開 in 非公開."""
    return any(word in longer and longer in run for longer in _wide_words() if len(longer) > len(word))


def opposed(one: Signs, other: Signs) -> tuple[str, str] | None:
    """Give the words by which two sentences deny each other; None when they do not.

    >>> opposed(read("Login is required"), read("Login is optional"))
    ('required', 'optional')
    """
    shared = [name for name in one.sides if name in other.sides]
    for name in shared:
        if one.sides[name] != other.sides[name]:
            return _told(one, name), _told(other, name)
    if not shared and one.denies != other.denies:
        return _told(one, "not"), _told(other, "not")
    return None


def _told(signs: Signs, name: str) -> str:
    word = signs.words.get(name, "").replace("turned-", "turned ")
    denial = signs.words.get("not", "") if signs.denies and name != "not" else ""
    return " ".join(filter(None, (denial, word)))
