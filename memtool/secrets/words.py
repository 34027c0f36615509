"""A line -> the values in it that the words beside them call secret: assignments, commands, prose.

`password: hunter2`, `export API_TOKEN=...`, "the PIN is 4821", 「パスワードは ... です」. The stronger the
words, the plainer the value may be; talk about passwords names none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memtool.secrets import commands, naming, values
from memtool.secrets.forms import Span

_QUOTES = values.QUOTES
_WRAPPED = re.compile(
    r"(?:Sensitive|Secret\w*|[\w.]*[pP]lainText|bytes|str|Buffer\.from|String|quote)\(\s*(?=[\"'])"
)
_QUOTES_OPEN = ('"', "'", "`")
_OPEN, _CLOSE = rf"[{_QUOTES}*_(（\[]*", rf"[{_QUOTES}*_)）\]]*"
#: `NAME = VALUE`, `"NAME": "VALUE"`, `| NAME | VALUE |`, `<NAME>VALUE</NAME>`, `--NAME VALUE`.
_ASSIGNED = re.compile(
    rf"{_CLOSE}(?:\s*\([^()]*\)|\s*（[^（）]*）|\s(?:of|for|on|at|in|to|from|rotated|changed|reset|today|updated)\s[^:：=.;!?|/(\[]{{1,50}}|[のは][^:：=。、]{{1,20}})?\s*(?:(?::=|=>|->|[=:：＝→|]|\*\*:|(?<=\s)[-–—](?=\s))\s*)+(?:now\s+)?\**\s*(?=\S)"
    rf"|(?<=[A-Za-z])[\"']?>\s*<(?i:value|string)>|(?<=[A-Za-z])>(?=[^<>\s])|[\"']\s*,\s*(?=[\"'])|\(\s*(?=[\"'`])"
)
#: In groups, as on a card: `kloi ioq7 tjrn fi2l`.
_GROUPED = re.compile(r"(?=[a-zA-Z ]*[0-9])[A-Za-z0-9]{4}(?: [A-Za-z0-9]{4}){3,11}(?![\w-])")
_SPACED = re.compile(r"[ \t]+(?:(?:to|with|as|[05-9])[ \t]+)?(?=\S)")
_IS = re.compile(
    r"""(?:[\s*_]+(?:for|to|of|on|at|in|from)\s[^.:;!?=「」]{1,60}?)??[*_]*\s+
    (?:(?:is|was|are|has\ been|will\ be|now|still|used\ to\ be|currently|set|changed|reset|remains|stays|updated|rotated|=)\s+)+
    (?:(?:now|set|changed|reset|still|currently|just|simply|always|temporarily|to|as|called|named|updated|rotated)\s+)*[:=]?\s*(?=\S)
    |(?:,[^,.;!?]{1,30},)\s+is\s+(?=\S)
    |[*_]*\s+(?=["'`“‘]\S)|\s*(?=[「『]\S)""",
    re.VERBOSE | re.I,
)
_IS_JA = re.compile(
    r"[」』）)*_]*(?:\s*（[^（）]*）)?(?:\s*(?:は|を|が|も|＝|=|：|:|→|に)(?:[、,]?\s*(?:現在|今は|今|いまは|当面|仮に|引き続き|それぞれ|新しく))*[、,]?\s*|\s*(?=[「『`\"]))(?=\S)"
)
_QUOTED = re.compile(rf"[{_QUOTES}](?P<value>[^{_QUOTES}\n]{{3,120}}?)[{_QUOTES}]")
_TOKEN = re.compile(r"[^\s\"'`“”‘’「」『』、。，（）()|<>]{1,300}")
_END_JA = (
    r"(?=\s*(?:です|だよ|だ[。、\s]|でした|になりました|にしました|に(?:なり|変え|変更|設定|更新|戻|した|なった|し[、。て])|と(?:なり|なっ|いい|設定|する|し)"
    r"|で(?:ログイン|入れ|入り|開き|開け|接続|す)|を(?:使|入力|入れ)|番|[。、，,\s（(]|$))"
)
_TOKEN_JA = re.compile(rf"[!-'*-~]+?{_END_JA}|(?=[^\x00-\x7f])[\w!-~]*?[0-9]\w*?{_END_JA}")
_RUN = re.compile(r"(?<![\w/+=.~@%:\\-])[A-Za-z0-9][\w+.~-]{14,158}={0,2}(?![\w/+=~@%(\[-])", re.ASCII)
#: What speaks of a secret; there a strong password, or the bare digits of a key, is one.
_ABOUT = re.compile(
    r"(?i)wi-?fi|pass(?:w(?:or)?d|wort|phrase|code)?(?![a-z])|assword|\bpw\b|\bcreds?\b|credential|secret|token|\blog ?in\b|api[_ -]?key|パスワード|トークン|シークレット|ログイン|認証|apiキー"
)
_STRONG = re.compile(
    r"(?<![^\s\"'`“‘「『（(])(?P<value>[!-~]{8,40}?)(?=(?:\\[rn])?[\"'`”’」』）),;]|[\s。、]|[^\x00-\x7f]|$)"
)
_HEX = re.compile(
    r"(?<![\w/+=.~@%:-])(?P<value>(?=[a-f]{0,12}[0-9])(?=[0-9]{0,12}[a-f])(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}))(?![\w/+=~@%-])"
)
_NO_VALUE = re.compile(
    r"""(?i:[a-z]*(?:ed|ing|ly|ble|ory|ary|ous|ive|less|ful|ant|ent)|correct|wrong|empty|long|short|weak|strong|safe
    |not|no|never|always|only|too|very|in|on|at|for|by|from|with|under|the|a|an|your|our|my|their|his|her|its|this|that
    |same|old|new|per|via|kept|known|set|sent|lost|held|hash|plain|one|two|just|now|still|also|of|to|as|and|or|if|when
    |bad|good|ok|okay|okta|github|gitlab|google|here|there|below|above|printed|within|yours|mine|gone|cleartext|different|unique
    |public|private|shared|secret|invalid|valid|due|up|out|off|over|handled|what|where|how|why|who|it|is|must|see|ask
    |then|user|username|admin|login|changes|field|name|manager|policy|reset|prompt|hashes|file|files|rotation)[.,;:!?)]*""",
    re.VERBOSE,
)
_JA_NO_VALUE = re.compile(
    r"[0-9０-９]+(?:文字|桁|回|日|週|か月|ヶ月|年|種類|分|時間|つ|個|名|人|件|以上|以下)|^[ぁ-ん]+$"
)


def find(line: str, folded: str) -> Iterator[Span]:
    """Give the values that words in *line* call secret; *folded* is the line in small letters."""
    for called in naming.CALLED.finditer(folded):
        if naming.begins(line, called):
            yield from _after(line, called)
    if len(line) >= 7:
        yield from commands.find(line, folded)


def find_near(line: str) -> Iterator[Span]:
    """Give the random runs of a line that speaks of secrets without saying which is one."""
    for found in _RUN.finditer(line):
        value = found.group().rstrip(".")
        kinds = [any(map(test, value)) for test in (str.islower, str.isupper, str.isdigit)]
        if all(kinds) and values.is_random(value) and not values.names_something(value):
            yield Span(found.start(), found.start() + len(value), "random key")
    if not _ABOUT.search(line):
        return
    for pattern in (_STRONG, _HEX):
        for found in pattern.finditer(line):
            value = found["value"].rstrip(".")
            if pattern is _HEX or values.is_strong(value):
                yield Span(
                    found.start("value"),
                    found.start("value") + len(value),
                    "password" if pattern is _STRONG else "random key",
                )


def _after(line: str, called: re.Match[str]) -> Iterator[Span]:
    """Give the value that follows a name, in the order from sure to vague; one at most."""
    kind, end, word = naming.kind(called), called.end(), called.group()
    wide = called["password_ja"] or called["key_ja"]
    if assigned := _ASSIGNED.match(line, end):
        yield from _assigned(line, assigned.end(), kind, word)
    elif wide and (told := _IS_JA.match(line, end)):
        yield from _told_ja(line, told.end(), kind, word)
    elif line[: called.start()].endswith("-") or re.match(r"\s*(?:machine|login|default)\b", line):
        if spaced := _SPACED.match(line, end):
            yield from _assigned(line, spaced.end(), kind, word)
    elif not wide and word != "pass" and (told := _IS.match(line, end)):
        yield from _told(line, told.end(), kind, word)
    elif (word != "pass" or line[end : end + 2].strip()[:1] in _QUOTES_OPEN) and (
        spaced := _SPACED.match(line, end)
    ):
        yield from _beside(line, spaced.end(), kind, word)


def _beside(line: str, at: int, kind: str, word: str) -> Iterator[Span]:
    """Give the word right after a name, `pw x8Mxkv6`: it must look like a secret by itself."""
    token = _TOKEN.match(line, at)
    value = token.group().rstrip(".,;:!?*") if token else ""
    is_code = bool(re.search(r"pin|code|combination", word))
    if is_code and not values.CODE.fullmatch(value) and (len(value) < 6 or values.is_identifier(value)):
        return
    if (
        token
        and (any(map(str.isdigit, value)) or values.is_scrambled(value))
        and values.is_likely(value, kind == "password")
        and not _counts(line[at:])
    ):
        yield Span(at, at + len(value), naming.label(kind, word))


def _assigned(line: str, at: int, kind: str, word: str) -> Iterator[Span]:
    if wrapped := _WRAPPED.match(line, at):
        at = wrapped.end()
    at += bool(re.match(r"[NbrfuL@][\"']", line[at : at + 2]))
    if quoted := _QUOTED.match(line, at):
        start, end = quoted.span("value")
    elif grouped := _GROUPED.match(line, at):
        start, end = grouped.span()
    elif token := _TOKEN.match(line, at):
        start, end = token.span()
        end -= len(token.group()) - len(token.group().rstrip(",;*"))
    else:
        return
    value, rest = line[start:end], line[end:].strip(_QUOTES + " ,;|*})]\\")
    alone = not rest or rest.startswith(("#", "//", "<", "(", "（", "&"))
    password = kind == "password" and not re.fullmatch(r"auth|combination", word)
    if values.is_likely(
        value, password and (alone or not values.CODE.fullmatch(value)) and not _is_type(value)
    ) or (kind == "password" and (quoted or alone) and _is_word(value, quoted is not None, word)):
        yield Span(start, end, naming.label(kind, word))


def _told(line: str, at: int, kind: str, word: str) -> Iterator[Span]:
    if quoted := _QUOTED.match(line, at):
        start, end = quoted.span("value")
        if values.is_likely(quoted["value"], kind == "password") or (
            kind == "password" and _is_word(quoted["value"], True, word)
        ):
            yield Span(start, end, naming.label(kind, word))
    elif token := _TOKEN.match(line, at):
        value = token.group().rstrip(".,;:!?*")
        last = (
            not line[token.start() + len(value) :].strip(" .;:!?*")
            or line[token.start() + len(value)] in ".;!"
        )
        if (values.is_likely(value, kind == "password") and not _counts(line[token.start() :])) or (
            kind == "password" and last and _is_word(value, False, word)
        ):
            yield Span(token.start(), token.start() + len(value), naming.label(kind, word))


def _told_ja(line: str, at: int, kind: str, word: str) -> Iterator[Span]:
    if quoted := _QUOTED.match(line, at):
        value, span = quoted["value"], quoted.span("value")
        likely = values.is_likely(value, kind == "password") or (
            kind == "password" and _is_word(value, True, word)
        )
    elif token := _TOKEN_JA.match(line, at):
        value, span = token.group(), token.span()
        likely = not _JA_NO_VALUE.search(value) and (
            values.is_likely(value, kind == "password")
            or (kind == "password" and _is_latin(value) and not _NO_VALUE.fullmatch(value) and len(value) > 4)
        )
    else:
        return
    if likely:
        yield Span(*span, naming.label(kind, word))


def _is_word(value: str, quoted: bool, word: str) -> bool:
    """Tell a password made of words alone; in quotes it may be several."""
    if (word in ("pin", "pass", "pw", "combination") and not quoted) or values.is_placeholder(value):
        return False
    if any(map(_NO_VALUE.fullmatch, value.split())) or values.is_name(value) or len(value) < 5:
        return False
    if re.search(r"(?i)pass|secret|pwd|token|key", value):
        return False
    return bool(re.fullmatch(r"[^\W\d_]+(?:[-_. ][^\W\d_]+){0,7}[!?.]?", value)) and (
        quoted or " " not in value
    )


def _is_latin(value: str) -> bool:
    return bool(re.fullmatch(r"[A-Za-z][A-Za-z_-]+", value)) and not values.is_placeholder(value)


def _is_type(value: str) -> bool:
    """Tell a declaration: `password: str = None`."""
    return value in ("str", "string", "bytes", "String", "Optional", "SecretStr")


def _counts(text: str) -> bool:
    """Tell a number of something from a code: `the password is 12 characters long`."""
    return bool(re.match(r"[0-9][0-9.-]*(?:,[0-9]+)*(?:[ -](?:[a-z]|%)|[a-z]{1,7}\b|%)", text))
