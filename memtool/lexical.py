"""Text -> tokens; a question -> FTS5 expressions: words, identifiers, character bigrams.

Two readings of a text that agree: `index_text`, which FTS5 cuts further with its own tokeniser,
and `tokens`, which measure a chunk once FTS5 has found it. Knows nothing of notes or of SQLite,
but for the quoting of an FTS5 string.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from itertools import chain

#: Part of the index's key: a changed reading, or another Unicode table, means another index.
VERSION = f"3/{unicodedata.unidata_version}"

#: The FTS5 tokeniser that `index_text` is written for.
TOKENIZER = "ascii"

_WORD = re.compile(r"[^\W_]+(?:[._\-/:@#+'’][^\W_]+|_+)*")
_BORDER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-rt-z])")
_JOINER = re.compile(r"[._\-/:@#+'’]+")
_STRONG_JOINER = re.compile(r"[/:@#+]+")
_VERSION = re.compile(r"\d+(?:\.\d+)+")
_NAMED = re.compile(r"(?=.*[A-Za-z])(?=.*[0-9])")
_POSSESSIVE = re.compile(r"[^\W_]+['’][^\W_]+")
# Written with look-behinds so that the engine leaps from capital to capital.
_HUMP = re.compile(r"[A-Z](?:(?<=[a-z0-9].)|(?<=[A-Z].)(?=[a-rt-z]))")
_PLAIN_WORD = re.compile(r"[A-Za-z0-9]+")
_NO_WORD = re.compile(r"[^\x00-\x7f\w]+")
_KATAKANA = re.compile("[\u30a1-\u30f6]")
_HIRAGANA = {code: code - 0x60 for code in range(0x30A1, 0x30F7)}
_ACCENTED = re.compile("[\u00c0-\u024f\u0300-\u036f\u1e00-\u1fff]")
_MARKS = dict.fromkeys(range(0x300, 0x370))
_VOWEL = re.compile("[aeiouy]")

#: Asked for only when a question holds nothing else.
STOP = frozenset(
    """a an and are as at be been being but by can could did do does for from had has have he her his how i
    if in into is it its me my no not of on or our she should so such than that the their them then
    there these they this to us was we were what when where which who whom whose why will with would you
    your about any some am may might must shall just also please tell s t re ve ll d m don didn doesn
    isn wasn aren let get got""".split()
)

#: Pairs of characters that Japanese grammar leaves everywhere.
WIDE_STOP = frozenset(
    """である です ます した して する され れた いる いた った って から まで など とは
    では には ので のは のが のを こと もの ため よう どの どん んな いつ なに どこ だれ
    どう なぜ いく くら でし しょ ょう うか すか たか るか いう もっ また その この それ
    これ あの しい たち ある あっ おけ ける なっ なる れて られ れる いて てい にお おい
    につ つい によ よっ よる たは にな とし のか しま まし ませ せん がら ながら""".split()
)


# -- reading ---------------------------------------------------------------------------------


def fold(text: str) -> str:
    """Make spellings equal that a reader takes for the same: width, case, the two kana.

    >>> fold("ＡＢＣ ｶﾀｶﾅ ひらがな")
    'abc かたかな ひらがな'
    """
    return text.lower() if text.isascii() else _normalised(text).casefold()


def _normalised(text: str) -> str:
    if not unicodedata.is_normalized("NFKC", text):
        text = unicodedata.normalize("NFKC", text)
    # Translating costs as much as all the rest, and most text holds no katakana.
    return text.translate(_HIRAGANA) if _KATAKANA.search(text) else text


def index_text(text: str) -> str:
    """Write *text* so that FTS5 finds all there is to find in it; most text stays as it is.

    FTS5's ``ascii`` tokeniser parts words at all of ASCII that is neither letter nor digit, so an
    identifier is found by its parts, and whole as a phrase. What it cannot part is written for it:
    scripts without spaces as pairs of characters (and the last one alone, so that each character
    begins a token), words in humps.

    >>> index_text("合鍵を parseNote()")
    '合鍵 鍵を を parsenote() parse Note'
    """
    if not text.isascii():
        text = _without_accents(_normalised(text))
    humps = _humps(text)
    if not text.isascii():
        text = _for_ascii(text)
    return " ".join([text, *(part for word in humps for part in _BORDER.split(word))]) if humps else text


def _for_ascii(text: str) -> str:
    """Fold what the ``ascii`` tokeniser takes for letters: marks and capitals of other scripts."""
    text = _NO_WORD.sub(" ", text.casefold())
    if text.isascii():
        return text
    if _runs().search(text):
        text = re.sub("  +", " ", _runs().sub(lambda run: f" {' '.join(_pairs(run[0]))} ", text).strip())
    return text


def _humps(text: str) -> list[str]:
    """Find the words written in humps, each once."""
    words, end = [], 0
    for hump in _HUMP.finditer(text):
        start = hump.start()
        if start >= end:
            while start and text[start - 1].isascii() and text[start - 1].isalnum():
                start -= 1
            word = _PLAIN_WORD.match(text, start)
            end = word.end() if word else end
            words += [word[0]] if word else []
    return list(dict.fromkeys(words))


def _pairs(run: str) -> list[str]:
    return [*(run[at : at + 2] for at in range(len(run) - 1)), run[-1]]


@cache
def _runs() -> re.Pattern[str]:
    """Find scripts that are cut by characters. Compiled late: large classes take milliseconds.

    Korean has spaces, but what follows a noun is written onto it, so it is cut in the same way.
    """
    kana, kanji, hangul = (
        "\u3040-\u30fa\u30fc-\u30ff",
        "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff",
        "\uac00-\ud7a3",
    )
    return re.compile(f"[{kana}{kanji}{hangul}\u3005-\u3007\U00020000-\U0003ffff]+")


def names(question: str) -> list[str]:
    """Give the tokens of a question that name one thing: identifiers, and capitalised words inside it.

    >>> names("Which Kubernetes version fixed BOOT-27?")
    ['boot-27', 'kubernet']
    """
    words = [word for word in _WORD.findall(question) if not is_wide(word)]
    given = [word for word in words if _NAMED.search(word)]
    given += [word for word in words[1:] if word[:1].isupper() and not _NAMED.search(word)]
    return list(dict.fromkeys(_word_tokens(word)[0] for word in given if _word_tokens(word)))


def is_wide(text: str) -> bool:
    """Tell text of a script that is cut by characters by its first one."""
    return _runs().match(text) is not None


@cache
def _counted() -> re.Pattern[str]:
    return re.compile("[\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef]")


def wide_count(text: str) -> int:
    """Count characters that a language model takes for a token or so each."""
    return 0 if text.isascii() else len(_counted().findall(text))


def length(text: str) -> int:
    """Measure how long a text is for a reader, whatever its script: in bytes of UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


# -- tokens ----------------------------------------------------------------------------------


def tokens(text: str) -> list[str]:
    """Cut *text* into tokens, in order, doubles kept: stems, identifiers whole and in parts, pairs.

    >>> tokens("Rotate the API_KEY, 合鍵")
    ['rotat', 'the', 'api_key', 'api', 'key', '合鍵', '鍵']
    """
    return list(_tokens(text, last=True))


def question_tokens(text: str) -> list[str]:
    """Cut a question into the tokens worth asking for; all of them when nothing else is left.

    >>> question_tokens("What is the API_KEY?"), question_tokens("合鍵はどこ？")
    (['api_key', 'api', 'key'], ['合鍵', '鍵は', 'はど'])
    """
    found = list(_tokens(text, last=False))
    return [token for token in found if token not in STOP and token not in WIDE_STOP] or found


def _tokens(text: str, *, last: bool) -> Iterator[str]:
    return _plain_tokens(text) if text.isascii() else chain.from_iterable(_mixed_tokens(text, last))


def _plain_tokens(text: str) -> Iterator[str]:
    # No loop of ours: a search cuts a hundred chunks into tokens, and waits for it.
    return chain.from_iterable(map(_word_tokens, _WORD.findall(text)))


def _mixed_tokens(text: str, last: bool) -> Iterator[Iterable[str]]:
    text, at = _normalised(text), 0
    for run in _runs().finditer(text):
        yield _plain_tokens(text[at : run.start()])
        pairs = _pairs(run[0])
        yield pairs if last or len(pairs) == 1 else pairs[:-1]
        at = run.end()
    yield _plain_tokens(text[at:])


@lru_cache(100_000)  # bounded: a watcher lives long
def _word_tokens(word: str) -> tuple[str, ...]:
    """Give a plain word's stem; an identifier whole, then in parts."""
    word = _without_accents(word).strip("_")
    if _POSSESSIVE.fullmatch(word):
        word = re.split("['’]", word)[0]
    whole = word.casefold()
    joined = _JOINER.split(word) if word.isascii() else _JOINER.split(whole)
    parts = [stem(part.casefold()) for piece in joined for part in _BORDER.split(piece) if part]
    if len(parts) <= 1:
        return (stem(whole),) if whole else ()
    return tuple(dict.fromkeys([whole, *_pieces(whole), *parts]))


def forget() -> None:
    """Let go of the words seen so far; they are cut again when they come again."""
    _word_tokens.cache_clear()


def _pieces(whole: str) -> list[str]:
    """Give the pieces of an identifier that are one thing by themselves: file names, versions, fields.

    >>> _pieces("src/keys.py:12"), _pieces("kazami-4.13")
    (['keys.py', 'src', 'key', 'py', '12'], ['4.13', 'kazami', '4', '13'])
    """
    segments = [piece for piece in _STRONG_JOINER.split(whole) if piece != whole and _JOINER.search(piece)]
    return [
        *segments,
        *(v for v in _VERSION.findall(whole) if v != whole),
        *map(stem, filter(None, _JOINER.split(whole))),
    ]


def _without_accents(word: str) -> str:
    """Drop accents, for a reader may have no key for them; FTS5 does the same."""
    if not _ACCENTED.search(word):
        return word
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", word).translate(_MARKS))


def stem(word: str) -> str:
    """Strip the commonest English endings, so that one word's forms meet.

    >>> [stem(word) for word in ("keys", "policies", "rotated", "running", "boss", "boxes")]
    ['key', 'policy', 'rotat', 'run', 'boss', 'box']
    """
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    word = _without_plural(word)
    for ending, least in (("ing", 6), ("ed", 5)):
        if word.endswith(ending) and len(word) >= least and _VOWEL.search(word[: -len(ending)]):
            word = _undoubled(word[: -len(ending)])
            break
    if word.endswith("ly") and len(word) > 5:
        word = word[:-2]
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


def _without_plural(word: str) -> str:
    if word.endswith(("ies", "ied")) and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("sses") and len(word) > 4:
        return word[:-2]
    if word.endswith("es") and len(word) > 4 and word[-3] in "sxzh":
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def _undoubled(word: str) -> str:
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz" else word


def forms(token: str) -> list[str]:
    """Spell out the words whose stem is *token*, itself first: what a stem stands for in the index.

    >>> forms("box")
    ['box', 'boxs', 'boxes', 'boxed', 'boxing', 'boxe', 'boxely', 'boxxed', 'boxxing']
    """
    if len(token) < 3 or not token.isascii() or not token.isalpha():
        return [token]
    spelled = [token + ending for ending in ("s", "es", "ed", "ing", "ly", "e", "ely")]
    spelled += [token + token[-1] + ending for ending in ("ed", "ing")]
    spelled += [token[:-1] + ending for ending in ("ies", "ied") if token.endswith("y")]
    return [token, *(word for word in dict.fromkeys(spelled) if stem(word) == token)]


def quote(token: str, *, prefix: bool = False) -> str:
    """Write *token* as an FTS5 string; several words are a phrase."""
    # SQLite ends a string at a NUL, and no text is ever found by one.
    return '"' + token.replace('"', '""').replace("\0", " ") + '"' + ("*" if prefix else "")
