"""The text of a note -> its claims: what each sentence, key or cell of a table says, and of what.

A claim has the words of its subject, the headings it stands under, and its values. What is said of the
past, of plans, of maybes and in questions is no claim. English and Japanese. Pure.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from memtool import lexical
from memtool.conflicts import polarity, sentence
from memtool.conflicts.terms import spelled_terms, terms_of, without_values
from memtool.conflicts.values import Value, values

#: What is longer says too much to be one claim.
_LONGEST = 400
_MOST = 2_000  # claims of one note
_MANY = 3  # times that a key stands in one note, for it to be a list

#: Front matter that is about the note and not about the world.
OWN_KEYS = frozenset(
    """title type tags tag keywords description read_if aliases alias asks created updated date modified
    valid_from valid_to supersedes superseded_by contradicts not_in_conflict verified review_by watches pinned
    importance frozen scope cites generated id uid slug lang language source sources url link links author
    authors writer session reason cssclass cssclasses publish permalink layout draft parent related relates_to
    part_of caused_by weight order nav_order sidebar_position sidebar_label summary image cover
    digest""".split()
)


_WAS = re.compile(r"(?i)\b(?:was|were|had|did)\b|(?:[^い\s]た|ていた)(?=[。、）)\s]|$)|でした")
_DONE_ONCE = re.compile(r"\b[a-z]{2,}ed\b")
_HELPED = re.compile(r"(?i)\b(?:is|are|be|been|being|has|have|gets?|must|can|may|will)\b")
_OF = re.compile(r"(?i)\b(?:of|for)\b|['’]s\b|[^\W\d_]の[^\W\d_]")
_VAGUE = re.compile(
    r"(?:This|That|These|Those|It|They|He|She|Its|Their|His|Her|Both|Others?)\b|[こそあ](?:の|れ|こ|ちら)"
    r"|同(?:じ|氏|社|年|国|地)|彼|両"
)


class Claim(NamedTuple):
    """What one line says. ``words`` are of what it speaks, ``told`` what a key or a copula says of it."""

    line: int
    text: str  # the sentence, as it is shown
    words: frozenset[str]  # terms of the sentence without its values
    context: frozenset[str]  # terms of the title and of the headings it stands under
    values: tuple[Value, ...]
    signs: polarity.Signs
    key: frozenset[str] = frozenset()  # terms of what is left of a copula, a colon; of a row and its column
    told: frozenset[str] = frozenset()  # terms of what is right of it
    shown: tuple[tuple[str, str], ...] = ()  # term -> how it is written
    names: frozenset[str] = frozenset()  # terms that look like names
    soft: frozenset[str] = frozenset()  # terms that say what is done, not what is spoken of
    past: bool = False
    of: bool = False  # whether it speaks of something that another thing has: "the owner of", 「の担当」
    vague: bool = False  # "this", "it": what it speaks of stands elsewhere
    kind: str = "text"  # "key", "cell" or "text"


_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.*?)[ \t#]*$")
_FENCE = re.compile(r"^[ \t>]*(`{3,}|~{3,})")
_LIST = re.compile(r"^[ \t>]*(?:(?:[-*+・]|\d{1,3}[.)])[ \t]*)?(?:\[[ xX]\][ \t]+)?")
_DONE = re.compile(r"~~.*?~~")
_MARKUP = re.compile(r"\*\*|__|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)")
_KEY = re.compile(r"^(?P<key>[^\W\d_][^:：|。.!?]{0,38}?)[ \t]*(?:::|:|：)[ \t]*(?P<value>\S.{0,118})$")
_SENTENCE = re.compile(r"(?<=[。！？])\s*|(?<=[.!?])\s+(?=[A-Z0-9\"'(\[「])|\s*;\s+")
_ROW = re.compile(r"^[ \t]*\|(.+)\|[ \t]*$")
_RULE = re.compile(r"^[ \t]*\|?[ \t:|-]+\|?[ \t]*$")
_FRONT = re.compile(r"^([A-Za-z_À-￿][\w -]{0,40}):[ \t]+(\S.*)$")


@cache
def _past() -> re.Pattern[str]:
    return re.compile(
        r"(?i)\b(?:formerly|previously|used to|originally|initially|no longer|until|till|back then"
        r"|at first|in the past"
        r"|before (?:that|then|the (?:move|switch|change|migration))|the old|was once|had been|deprecated"
        r"|obsolete|historical(?:ly)?|back in|in those days|earlier (?:it|we|this))\b"
        r"|以前|かつて|従来|当初|元々|もともと|昔|旧(?!約|姓)|当時|までは|だった頃|廃止|前任|改定前"
        r"|変更前|移行前|まで使|まで運用"
    )


@cache
def _open() -> re.Pattern[str]:
    """What is not (yet) so."""
    return re.compile(
        r"(?i)\b(?:last|this|next|past) (?:week|month|year|quarter|time|sprint|spring|summer|autumn"
        r"|winter|morning|afternoon)\b|\b(?:yesterday|tomorrow|today|tonight|so far)\b"
        r"|[先今来昨翌前](?:月|週|年|日|期|回|朝|晩|夜|季)(?!度)|本日|ただいま|\b(?:might|maybe|perhaps"
        r"|could|proposal|propose[ds]?|proposed|considering|consider|if|would|should we|plan(?:s|ned"
        r"|ning)? to|hope|idea|suggest(?:ed|s)?|draft"
        r"|for example|e\.g|unless|asked (?:whether|if)|whether|will)\b|[?？]\s*$|かもしれ|検討|提案|予定"
        r"|案(?:で|は|と|も|$)|だろうか|ですか|ますか|たとえば|例えば|もし|場合|仮に|の予定"
    )


_CHANGED = re.compile(
    r"(?i)\b(?:changed|moved|raised|lowered|increased|reduced|cut|switched|went|upgraded|extended"
    r"|shortened|bumped|migrated)\b[^.]*?\bfrom\b(?P<old>.*?)\b(?:to|into)\b"
    r"|(?P<old2>[^、。は]*?)から(?P<new>[^、。]*?)(?:に|へ)(?=変更|引き上げ|引き下げ|移行|切り替え|延長"
    r"|短縮|更新|増|減)"
)


def read(text: str, title: str = "") -> list[Claim]:
    """Find the claims of a note's text, front matter included, in the order of its lines.

    >>> [sorted(claim.words) for claim in read("# Cache\\n\\nThe cache keeps 30 items.\\n", "Cache")]
    [['cach', 'keep']]
    """
    found: list[Claim] = []
    for claim in _read(unicodedata.normalize("NFKC", text).split("\n"), title):
        found.append(claim)
        if len(found) >= _MOST:
            break
    # A key that a note gives again and again has many values, and none of them is its only one.
    keys = Counter(claim.key for claim in found if claim.kind == "key")
    return [claim for claim in found if claim.kind != "key" or keys[claim.key] < _MANY]


def _read(lines: Sequence[str], title: str) -> Iterator[Claim]:
    start = 0
    if lines and lines[0].rstrip() == "---":
        end = next((n for n, line in enumerate(lines[1:400], 1) if line.rstrip() in ("---", "...")), 0)
        for number, line in enumerate(lines[1:end], 2):
            found = _FRONT.match(line)
            if found and found[1].strip().lower() == "title" and not title:
                title = found[2].strip("\"' ")
            elif found and found[1].strip().lower().replace("-", "_") not in OWN_KEYS:
                yield from _pair(number, found[1], found[2].strip("\"' "), terms_of(title))
        start = end + 1 if end else 0
    yield from _body(lines, start, title)


def _body(lines: Sequence[str], start: int, title: str) -> Iterator[Claim]:
    headings: list[tuple[int, str]] = []
    fence, header = "", list[str]()
    for number in range(start, len(lines)):
        line = lines[number]
        if mark := _FENCE.match(line):
            fence = "" if fence and mark[1].startswith(fence) else fence or mark[1][:3]
            continue
        if fence or not line.strip():
            header = header if fence else []
            continue
        if heading := _HEADING.match(line):
            headings = [(level, name) for level, name in headings if level < len(heading[1])]
            headings.append((len(heading[1]), heading[2]))
            continue
        context = terms_of(" \n ".join((title, *(name for _, name in headings))))
        if _closed(" ".join(name for _, name in headings[-1:])):
            continue
        if row := _ROW.match(line):
            cells = [cell.strip() for cell in row[1].split("|")]
            if not header:
                header = cells
            elif not _RULE.match(line):
                yield from _cells(number + 1, header, cells, context)
            continue
        header = []
        yield from _line(number + 1, line, context)


def _closed(heading: str) -> bool:
    """Tell a heading under which the past stands."""
    return bool(heading) and bool(
        re.search(
            r"(?i)\b(?:history|changelog|archive|deprecated|obsolete|old|former|past|log)\b|履歴|旧|廃止"
            r"|過去",
            heading,
        )
    )


def _cells(
    line: int, header: Sequence[str], cells: Sequence[str], context: frozenset[str]
) -> Iterator[Claim]:
    for name, cell in zip(header[1:], cells[1:], strict=False):
        if name and cell and cells[0] and len(cell) <= 120:
            row = frozenset((f"={lexical.fold(cells[0])}", f"={lexical.fold(name)}"))
            for claim in _pair(line, f"{cells[0]} {name}", cell, context, kind="cell"):
                yield claim._replace(words=claim.words | row, names=claim.names | row, key=claim.key | row)


#: A line of a log, or of a timetable: what happened then.
_STAMP = re.compile(r"[-*+>\s\[(]*(?:\d{1,2}:\d\d|\d{4}-\d\d-\d\d|\d{1,2}/\d{1,2})[\])]?[\s:：、-]")


def _line(line: int, text: str, context: frozenset[str]) -> Iterator[Claim]:
    if ("://" in text and len(text) > 300) or _STAMP.match(text):
        return
    text = _MARKUP.sub("", _DONE.sub("", text[_LIST.match(text).end() :])).strip()  # type: ignore[union-attr]
    pair = _KEY.match(text)
    if (
        pair
        and not pair["value"].startswith("//")
        and len(pair["key"].split()) <= 5
        and not re.search(r"\d$", pair["key"])
    ):
        yield from _pair(line, pair["key"], pair["value"], context)
        return
    for part in _SENTENCE.split(text):
        if part and len(part) <= _LONGEST:
            yield from _sentence(line, part.strip(), context)


def current(text: str) -> str:
    """Give what a sentence says of now; "" when it speaks of the past, of plans or of maybes alone.

    >>> current("It was 30 until May, now it is 60."), current("以前は30日だった。")
    ('now it is 60.', '')
    """
    if changed := _CHANGED.search(text):
        side = "old" if changed["old"] else "old2"
        text = text[: changed.start(side)] + " " + text[changed.end(side) :]
    if not _past().search(text):
        return "" if _open().search(text) else text
    parts = re.split(r"(?:,|、|;|。|\bbut\b|\band\b|(?<=が))\s*", text)
    kept = [part for part in parts if part.strip() and not _past().search(part) and not _open().search(part)]
    kept = [
        part
        for part in kept
        if re.search(r"(?i)\b(?:now|today|since|currently)\b|現在|今は|今では|以降|からは", part)
    ]
    return " ".join(kept)


def _sentence(line: int, text: str, context: frozenset[str]) -> Iterator[Claim]:
    said = current(text)
    if not said or len(said) < 4:
        return
    key, told = sentence.parted(said)
    yield _claim(line, text, said, key, told, context, "text")


def _pair(line: int, key: str, value: str, context: frozenset[str], kind: str = "key") -> Iterator[Claim]:
    said = current(value)
    if (
        said
        and len(value) <= 160
        and not re.match(r"[\[{]?\s*$|https?://", value)
        and not _past().search(key)
    ):
        yield _claim(line, f"{key}: {value}", f"{key} : {said}", key, said, context, kind)


def _claim(
    line: int, shown: str, said: str, key: str, told: str, context: frozenset[str], kind: str
) -> Claim:
    found = tuple(values(said))
    bare = said
    for value in found:
        bare = bare[: value.start] + " " * (value.end - value.start) + bare[value.end :]
    spelled = spelled_terms(bare)
    words = frozenset(spelled)
    return Claim(
        line,
        shown,
        words,
        context,
        found,
        polarity.read(said),
        frozenset(spelled_terms(without_values(key))) & words,
        frozenset(spelled_terms(without_values(told))) & words,
        tuple((term, spelt.text) for term, spelt in spelled.items()),
        frozenset(term for term, spelt in spelled.items() if spelt.is_name) | _leading(said, told),
        frozenset(term for term, spelt in spelled.items() if spelt.is_soft)
        if kind == "text"
        else frozenset(),
        _is_past(said),
        bool(_OF.search(key)),
        bool(_VAGUE.match(said)),
        kind,
    )


def _is_past(text: str) -> bool:
    """Tell a sentence that says what was from one that says what is."""
    return bool(_WAS.search(text)) or (
        text.isascii() and bool(_DONE_ONCE.search(text)) and not _HELPED.search(text)
    )


def _leading(said: str, told: str) -> frozenset[str]:
    """Give the name that a sentence begins with, when that is what it says: "Mio owns the vault"."""
    return terms_of(told) if told[:1].isupper() and said.startswith(told) else frozenset()
