"""Lines that belong together -> the secrets that a line above them names: tables, lists, blocks of settings.

`Password:` with the value below, a column `password`, recovery codes one a line, the data of a `kind: Secret`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from memtool.secrets import naming, values
from memtool.secrets.forms import Span


class Table(NamedTuple):
    """The columns of a table that hold secrets: what parts its cells, how many there are, kind by column."""

    mark: str
    cells: int
    kinds: dict[int, str]


class Block(NamedTuple):
    """Lines below one that says what they hold: `codes`, `words`, `data` or the kind of a named value."""

    holds: str
    until: int  # the last line it may reach to


_LONGEST_HEADER = 200  # characters of a line that names what stands below it
_REACH, _NEARBY = 24, 40  # lines of a block; lines around `data:` that may say it is a secret's
_HEADER = re.compile(
    r"^\s*(?P<mark>(?:[-*・■●◆▼]|#{1,6})?\s*[【［\[]?)[\"'`*]*(?P<name>[\w .-]{2,40}?|[^\W\d_]{2,22})[\"'`*]*"
    r"(?P<colon>[】］\]]|\s*\([^()]{1,30}\))?\s*(?P<end>[:：=]\**\s*[|>]?[-+]?)?\s*$"
)
_FOLLOWS = re.compile(
    r"(?:は|を)?(?:、)?(?:以下|次|下記|こちら|下)(?:の)?(?:通り|とおり|よう)?(?:です|に記載|になります)?。?$"
    r"|\s+(?:is|are)?\s*(?:as\s+follows|below|this|follows|the\s+following)$"
)
_SPEAKS = re.compile(r"(?i)password|passphrase|パスワード|パスフレーズ|合言葉")
_PLAINER = re.compile(r"[A-Za-z]{3,}[-_.!@#$%&]?[A-Za-z]{3,}[0-9]{2,4}[!#$@]?|[A-Za-z]{4,}[0-9]{3,4}[!#$@]?")
_EXACT = re.compile(r"[\s()<>/\\]")
_LOGINS = re.compile(
    r"<auth-user-pass>|\bchpasswd:|^\s*(?:logins?|accounts?|credentials|ログイン|アカウント)\s*[:：]?\s*$",
    re.I,
)
_LOGIN = re.compile(r"^\s*(?:[-*・]\s*)?(?:[\w.@-]+\s?[:/]\s?)?(?P<value>[!-~]{6,40})\s*$")
_NAME = re.compile(
    r"^\s*(?:[-*]\s+)?[\"']?(?:name|key)[\"']?\s*[:=]\s*[\"']?(?P<name>[\w.-]+)[\"']?,?\s*$", re.I
)
_VALUE = re.compile(r"^\s*[\"']?(?:value|default|val)[\"']?\s*[:=]\s*[\"']?(?P<value>[^\s\"']+)", re.I)
_CELL = re.compile(r"(?<!\\)\|")
_HEAD = re.compile(r"[\"']?[\w .()/-]{1,30}[\"']?")
_CODES = re.compile(
    r"(?:recovery|backup|scratch|one[- ]time|emergency|rescue|reset|2fa|mfa|リカバリー?|バックアップ|復元|復旧|回復|緊急|予備の?)"
    r"[ -]?(?:codes?|keys?|passwords?|コード|キー)",
    re.I,
)
_WORDS = re.compile(
    r"seed|mnemonic|wallet|recover|restor|backup|phrase|シード|復元|ウォレット|リカバリ|ニーモニック", re.I
)
_SEED = re.compile(
    r"seed\b|mnemonic|(?:recovery|wallet|backup|secret)\s+(?:words|phrase)|シード|ニーモニック|(?:復元|リカバリー)フレーズ",
    re.I,
)
_ITEM = re.compile(
    r"^\s*(?:[-*・]\s*|\(?\d{1,2}[.):]\s+)?(?:\[[ x]\]\s*)?[`*]*(?P<value>[A-Za-z0-9]{3,}(?:[- ][A-Za-z0-9]{3,}){0,5}|[0-9]{6,10})[`*]*\s*$"
)
_DATE = re.compile(r"[12][0-9]{3}-?[01][0-9]-?[0-3][0-9]|[12][0-9]{3}")
_WORD_ITEM = re.compile(r"^\s*(?:[-*・]|\(?\d{1,2}[.):]?)\s+`?(?P<value>[a-z]{3,8})`?\s*$")
_PHRASE = re.compile(
    r"^[\s>\"'`*-]*(?P<value>(?:\d{1,2}[.):]?\s*)?[a-z]{3,8}(?:[\s,]+(?:\d{1,2}[.):]?\s*)?[a-z]{3,8}){11,23})[\s\"'`*.]*$"
)
_PLAIN = re.compile(r"\b(?:the|and|for|with|that|this|from|are|was|you|your|have|not|but|its|our|milk)\b")
_OPENS = re.compile(
    r"^\s*(?:(?:variable|output|parameter)\s+)?[\"']?(?P<name>[\w.-]{2,60})[\"']?\s*(?:[:=]\s*\{?|\{)\s*$"
)
_DATA = re.compile(r"^\s*[\"']?(?:data|stringData)[\"']?:\s*\{?\s*$")
_IS_SECRET = re.compile(r"^\s*[\"']?kind[\"']?:\s*[\"']?(?:Sealed)?Secret[\"']?,?\s*$")
_ENTRY = re.compile(r"^\s+[\"']?[\w.-]+[\"']?:\s*[\"']?(?P<value>[^\s\"',]{5,})[\"']?,?\s*$")


def below(lines: Sequence[str], number: int) -> list[Span]:
    """Give the value of a key that stands alone on a line above, or of `name:` and `value:`."""
    line, at = lines[number], number - 1
    while at > max(0, number - 3) and (not lines[at].strip() or lines[at].lstrip().startswith("```")):
        at -= 1
    above = lines[at]
    if len(above) > _LONGEST_HEADER:
        return []
    if len(line) < 400 and _WORDS.search(above) and (phrase := _PHRASE.match(line)):
        return [] if _PLAIN.search(line) else [Span(*phrase.span("value"), "recovery words")]
    if named := _NAME.match(above):
        told = _VALUE.match(line)
        value = told["value"] if told else ""
    elif (named := _HEADER.match(_FOLLOWS.sub("", above.rstrip(" \t\r:：")) + ":")) and (
        above.rstrip(" \t\r*|>-+").endswith((":", "：", "="))
        or named["mark"].strip().startswith(("#", "【", "［"))
        or line.lstrip().startswith(":")
        or _FOLLOWS.search(above.strip())
    ):
        value = line.strip(" \t\r-*>:`\"'「」")
    else:
        value = line.strip(" \t\r-*>`\"'「」")
        named_above = naming.names_secret(above.strip(" \t\r-*#:：。")) or _SPEAKS.search(above)
        if (
            len(value) >= 8
            and named_above
            and not _EXACT.search(value)
            and (
                values.is_strong(value)
                or values.is_random(value)
                or (len(above) < 60 and _PLAINER.fullmatch(value))
                or (
                    len(above) < 30
                    and any(map(str.isdigit, value))
                    and values.is_password(value)
                    and not values.is_identifier(value)
                )
            )
        ):
            return [Span(line.index(value), line.index(value) + len(value), "password")]
        return []
    kind = naming.names_secret(named["name"]) if value and " " not in value else ""
    if kind and values.is_likely(value, kind == "password"):
        start = line.index(value)
        return [Span(start, start + len(value), kind if kind == "password" else "secret key")]
    return []


def opened(lines: Sequence[str], number: int) -> Block | None:
    """Tell what the lines below line *number* hold, when it says so."""
    line = lines[number]
    if len(line) > _LONGEST_HEADER:
        return None
    if _CODES.search(line):
        return Block("codes", number + _REACH)
    if _SEED.search(line):
        return Block("words", number + _REACH + 4)
    if _DATA.match(line):
        around = lines[max(0, number - _NEARBY) : number + _NEARBY]
        return Block("data", number + _REACH) if any(map(_IS_SECRET.match, around)) else None
    if _LOGINS.search(line):
        return Block("logins", number + 8)
    if (named := _OPENS.match(line)) and (kind := naming.names_secret(named["name"])):
        return Block(kind, number + 6)
    return None


def within(block: Block, line: str) -> list[Span]:
    """Give the secret of a line of *block*."""
    if len(line) > _LONGEST_HEADER and block.holds != "data":
        return []
    if block.holds == "codes":
        found = _ITEM.match(line)
        value = found["value"] if found else ""
        likely = (
            sum(map(str.isalnum, value)) >= 6 and any(map(str.isdigit, value)) and not _DATE.fullmatch(value)
        )
        kind = "recovery code"
    elif block.holds == "logins":
        found, kind = _LOGIN.match(line), "password"
        value = found["value"] if found else ""
        likely = (
            values.is_strong(value)
            or values.is_scrambled(value)
            or bool(_PLAINER.fullmatch(value))
            or (len(value) > 7 and "@" in value and values.is_password(value) and "." not in value)
        )
    elif block.holds == "words":
        found, likely, kind = _WORD_ITEM.match(line), True, "recovery words"
    elif block.holds == "data":
        found, kind = _ENTRY.match(line), "secret of a cluster"
        value = found["value"] if found else ""
        likely = bool(values.is_likely(value, True) or re.fullmatch(r"[A-Za-z0-9+/]{8,}={0,2}", value))
    else:
        found, kind = _VALUE.match(line), block.holds if block.holds == "password" else "secret key"
        likely = bool(found) and values.is_likely(found["value"] if found else "", block.holds == "password")
    return [Span(*found.span("value"), kind)] if found and likely else []


def ends(block: Block, line: str, number: int) -> bool:
    return number >= block.until or line.startswith(("#", "---", "}")) or line.strip() == "}"


def columns(line: str, table: Table | None) -> Table | None:
    """Give the table that *line* belongs to, when columns of it hold secrets: told by its first row."""
    if (
        table
        and _count(line, table.mark) >= min(table.cells, 2 if table.mark == "|" else 1)
        and (table.mark == "|" or line.strip())
    ):
        return table
    for mark in "|\t,;":
        if not _count(line, mark):
            continue
        cells = [cell.strip() for cell in _parts(line, mark)]
        if (mark != "|" or len(cells) < 3) and not (
            len(line) < _LONGEST_HEADER and all(map(_HEAD.fullmatch, cells))
        ):
            continue
        named = {at: naming.names_secret(cell) for at, cell in enumerate(cells)}
        if kinds := {at: kind for at, kind in named.items() if kind}:
            return Table(mark, len(cells) - 1, kinds)
    return None


def cells(line: str, table: Table) -> list[Span]:
    """Give the secrets in a row of *table*."""
    spans, start = [], 0
    for at, cell in enumerate(_parts(line, table.mark)):
        value = cell.strip(" \t\r`*\"'")
        kind = table.kinds.get(at, "")
        # Commas part sentences, too: there a secret is one word.
        if (
            kind
            and value
            and values.is_likely(value, kind == "password")
            and (table.mark == "|" or " " not in value)
        ):
            offset = start + cell.index(value)
            spans.append(Span(offset, offset + len(value), kind if kind == "password" else "secret key"))
        start += len(cell) + 1
    return spans


def _count(line: str, mark: str) -> int:
    return line.count(mark)


def _parts(line: str, mark: str) -> list[str]:
    return _CELL.split(line) if mark == "|" else line.split(mark)
