"""A line -> the values in it that the words beside them call secret: assignments, commands, prose.

`password: hunter2`, `export API_TOKEN=...`, "the PIN is 4821", 「パスワードは ... です」. The stronger the
words, the plainer the value may be; talk about passwords names none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memtool.secrets import naming, values
from memtool.secrets.forms import Span

_QUOTES = "\"'`“”‘’「」『』＂＇"
_OPEN, _CLOSE = rf"[{_QUOTES}*_(（\[]*", rf"[{_QUOTES}*_)）\]]*"
#: `NAME = VALUE`, `"NAME": "VALUE"`, `| NAME | VALUE |`, `<NAME>VALUE</NAME>`, `--NAME VALUE`.
_ASSIGNED = re.compile(
    rf"{_CLOSE}(?:\s*\([^()]*\)|\s*（[^（）]*）|\s(?:of|for|on|at|in|to|from|rotated|changed|reset|today|updated)\s[^:：=.;!?|/(\[]{{1,50}}|[のは][^:：=。、]{{1,20}})?\s*(?:(?::=|=>|->|[=:：＝→|]|\*\*:|(?<=\s)[-–—](?=\s))\s*)+(?:now\s+)?\**\s*(?=\S)"
    rf"|(?<=[A-Za-z])>(?=[^<>\s])"
)
_JUDGED = 300  # characters of a value; a longer one is judged by its head
_SPACED = re.compile(r"[ \t]+(?=\S)")
_IS = re.compile(
    r"""(?:[\s*_]+(?:for|to|of|on|at|in|from)\s[^.:;!?=「」]{1,60}?)??[*_]*\s+
    (?:(?:is|was|are|has\ been|will\ be|now|still|currently|set|changed|reset|remains|stays|updated|rotated|=)\s+)+
    (?:(?:now|set|changed|reset|still|currently|just|simply|always|temporarily|to|as|called|named|updated|rotated)\s+)*[:=]?\s*(?=\S)
    |[*_]*\s+(?=["'`“‘]\S)""",
    re.VERBOSE | re.I,
)
_AS = re.compile(
    r"""(?<![^\s`"'「」、。（）()])(?P<value>[^\s`"'「」、。（）()]{5,})[`"'」]?
    (?:\s+(?:as|is|was|for)\s+(?:(?:the|your|our|my|a|its|their|his|her)\s+)?(?:[a-z]+\s+){0,3}?(?:password|passphrase|passwd|pin|passcode|token|secret|key)
    |\s*(?:という|が|を)\s*(?:[^\s、。「」]{0,8}の)?(?:パスワード|パス|暗証番号|合言葉|トークン|鍵))(?![a-z-])""",
    re.VERBOSE,
)
_IS_JA = re.compile(
    r"[」』）)*_]*(?:\s*（[^（）]*）)?(?:\s*(?:は|を|が|も|＝|=|：|:|→|に)(?:[、,]?\s*(?:現在|今は|今|いまは|当面|仮に|引き続き|それぞれ|新しく))*[、,]?\s*|\s*(?=[「『`\"]))(?=\S)"
)
_QUOTED = re.compile(rf"[{_QUOTES}](?P<value>[^{_QUOTES}\n]{{3,120}}?)[{_QUOTES}]")
_TOKEN = re.compile(r"[^\s\"'`“”‘’「」『』、。，（）()|<>]{1,300}")
_END_JA = (
    r"(?=\s*(?:です|だよ|だ[。、\s]|でした|になりました|にしました|に(?:変更|設定|更新|戻|した|なった|し[、。て])|と(?:なり|なっ|いい|設定|する|し)"
    r"|で(?:ログイン|入れ|入り|開き|開け|接続|す)|を(?:使|入力|入れ)|番|[。、，,\s（(]|$))"
)
_TOKEN_JA = re.compile(rf"[!-'*-~]+?{_END_JA}|(?=[^\x00-\x7f])[\w!-~]*?[0-9]\w*?{_END_JA}")
_RUN = re.compile(r"(?<![\w/+=.~@%:\\-])[A-Za-z0-9][\w+.~-]{14,158}={0,2}(?![\w/+=~@%(\[-])", re.ASCII)
_CODE = re.compile(r"[0-9][0-9 -]{2,10}[0-9]|[0-9]{4,12}#?|[A-Z]?[0-9]{3,8}[A-Z#*]?")
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
_COMMANDS = re.compile(
    r"""(?:\bcurl\b.*?\s(?:-u|--user)[ =]?["']?[^\s:"']+:(?P<a>[^\s"']+)
    |\bmysql(?:dump|admin)?\b.*?\s-p(?P<b>[^\s"']+)
    |\b(?:sshpass|redis-cli|mongo(?:sh|dump)?|docker|podman|az|net|smbclient|ldapsearch|htpasswd|unzip|7z|zip|gpg|openssl|wget)\b.*?
       \s(?:-p|-a|-w|-P|--pass(?:word|phrase)?|--auth|-b\s+\S+\s+\S+|user\s+\S+)[ =]?["']?(?P<c>[^\s"'-][^\s"']*)
    |\bnet\s+use\b.*\s/user:\S+\s+(?P<i>[^\s"'/]+)
    |(?:name|key)["']?\s*[=:]\s*["']?[\w.-]*(?i:password|passwd|secret|token|api_?key)["']?[,\s]+["']?value["']?\s*[=:]\s*["']?(?P<j>[^"'\s<>}]+)
    |\bwpa_passphrase\s+\S+\s+(?P<h>[^\s"']{8,})|\bpass:(?P<d>[^\s"']+)|\bWIFI:[^\s]*?;?P:(?P<e>[^;]+);
    |^[\w.*-]+:(?:\d+|\*):[\w*-]+:[\w.@-]+:(?P<f>[^\s:]{5,})$
    |otpauth://\S*?secret=(?P<g>[A-Z2-7]{8,}))""",
    re.VERBOSE,
)
_COMMAND = re.compile(
    r"curl|mysql|wpa_|net\s+use|name|key|pass:|wifi:|otpauth|:(?:\d+|\*):|sshpass|redis-cli|mongo|docker|podman|az\s|net\s|smbclient"
    r"|ldapsearch|htpasswd|unzip|7z|zip|gpg|openssl|wget"
)
_DOOR = re.compile(
    r"(?:door|gate|safe|alarm|lock|locker|building|garage|entry|entrance|玄関|金庫|ドア|ロッカー|門|扉|駐輪場|倉庫|入口)[^.。\n]{0,40}?"
    r"(?:code|コード|番号|combination)[^\w\n]{0,4}(?:is|was|は|：|=)?[^\w\n]{0,4}(?P<value>[0-9]{4,8}[#*]?)(?![0-9.:-]|\s?(?:年|円|万|個))"
)
_LOGIN = re.compile(
    r"""(?<![A-Za-z_])(?i:log[ -]?in|sign[ -]?in|logged\ in|credentials?|creds|account|username|user|ID|FTP|SSH|VPN|NAS|SMTP|IMAP|DB|router|root|admin|ログイン|ユーザー?名?)(?![A-Za-z_])
    (?:[ :：=は`"'「(]|\b(?:as|with|is|are|at|to|for|the|on|で|に|を)\b|[\w.-]+[ ](?=(?:as|with|:)))*?
    (?P<user>[A-Za-z][\w.@+-]{1,40})[`"'」]?(?:\s*(?:/|／)\s*|:)[`"'「]?(?P<value>[^\s`"'」、。,/()]{5,})""",
    re.VERBOSE,
)
_PHRASE = re.compile(
    r"(?:seed|recovery|mnemonic|backup|リカバリー|シード|復元|ニーモニック)[ -]?(?:phrase|words?|フレーズ|の言葉)?[^a-z]{1,12}(?:is |are )?(?P<value>[a-z]{3,8}(?:[ ,]+[a-z]{3,8}){11,23})(?![\w ,]*[A-Z])",
    re.I,
)


def find(line: str, folded: str) -> Iterator[Span]:
    """Give the values that words in *line* call secret; *folded* is the line in small letters."""
    for called in naming.CALLED.finditer(folded):
        if naming.begins(line, called):
            yield from _after(line, folded, called)
    if len(line) >= 12:
        yield from _phrased(line, folded)


def _phrased(line: str, folded: str) -> Iterator[Span]:
    """Give what commands and sentences hold; each pattern only where it can fit, for lines are many."""
    patterns = {
        "command": _COMMANDS if _COMMAND.search(folded) else None,
        "login": _LOGIN if "/" in folded or "／" in line or ":" in line else None,
        "phrase": _PHRASE if folded.count(" ") + folded.count(",") > 10 else None,
    }
    for name, pattern in patterns.items():
        for found in pattern.finditer(line) if pattern else ():
            group = found.lastgroup or "value"
            group = "value" if name != "command" else group
            if name == "phrase" or is_likely(found[group], group != "g"):
                yield Span(*found.span(group), "recovery words" if name == "phrase" else "password")
    if not any(map(str.isdigit, line)):
        return
    yield from (Span(*found.span("value"), "PIN") for found in _DOOR.finditer(folded))
    for found in _AS.finditer(folded):
        if is_likely(line[slice(*found.span("value"))], True):
            yield Span(*found.span("value"), "password")


def find_near(line: str) -> Iterator[Span]:
    """Give the random runs of a line that speaks of secrets without saying which is one."""
    for found in _RUN.finditer(line):
        value = found.group().rstrip(".")
        kinds = [any(map(test, value)) for test in (str.islower, str.isupper, str.isdigit)]
        if all(kinds) and values.is_random(value) and not values.names_something(value):
            yield Span(found.start(), found.start() + len(value), "random key")


def is_likely(value: str, password: bool) -> bool:
    """Tell whether a value that is called a secret may be one; a *password* may be plainer than a key."""
    value = value.strip(_QUOTES + "*,;")[:_JUDGED]
    if len(value) < 4 or values.is_placeholder(value):
        return False
    if not password:
        return _is_key(value)
    return bool(_CODE.fullmatch(value)) or values.is_password(value.rstrip(".,;:)"))


def _is_key(value: str) -> bool:
    if values.is_name(value) or values.is_identifier(value) or len(value) < 8:
        return values.is_uuid(value)
    return (values.is_password(value) and any(map(str.isdigit, value))) or values.is_random(value)


def _after(line: str, folded: str, called: re.Match[str]) -> Iterator[Span]:
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
    elif word != "pass" and (spaced := _SPACED.match(line, end)):
        yield from _beside(line, spaced.end(), kind, word)


def _beside(line: str, at: int, kind: str, word: str) -> Iterator[Span]:
    """Give the word right after a name, `pw x8Mxkv6`: it must look like a secret by itself."""
    token = _TOKEN.match(line, at)
    value = token.group().rstrip(".,;:!?*") if token else ""
    is_code = bool(re.search(r"pin|code|combination", word))
    if is_code and not _CODE.fullmatch(value):
        return
    if (
        token
        and any(map(str.isdigit, value))
        and is_likely(value, kind == "password")
        and not _counts(line[at:])
    ):
        yield Span(at, at + len(value), naming.label(kind, word))


def _assigned(line: str, at: int, kind: str, word: str) -> Iterator[Span]:
    if quoted := _QUOTED.match(line, at):
        start, end = quoted.span("value")
    elif token := _TOKEN.match(line, at):
        start, end = token.span()
        end -= len(token.group()) - len(token.group().rstrip(",;*"))
    else:
        return
    value, rest = line[start:end], line[end:].strip(_QUOTES + " ,;|*})]\\")
    alone = not rest or rest.startswith(("#", "//", "<", "(", "（", "&"))
    password = kind == "password" and not re.fullmatch(r"auth|combination", word)
    if is_likely(value, password and (alone or not _CODE.fullmatch(value)) and not _is_type(value, rest)) or (
        kind == "password" and (quoted or alone) and _is_word(value, quoted is not None, word)
    ):
        yield Span(start, end, naming.label(kind, word))


def _told(line: str, at: int, kind: str, word: str) -> Iterator[Span]:
    if quoted := _QUOTED.match(line, at):
        start, end = quoted.span("value")
        if is_likely(quoted["value"], kind == "password") or (
            kind == "password" and _is_word(quoted["value"], True, word)
        ):
            yield Span(start, end, naming.label(kind, word))
    elif token := _TOKEN.match(line, at):
        value = token.group().rstrip(".,;:!?*")
        last = (
            not line[token.start() + len(value) :].strip(" .;:!?*")
            or line[token.start() + len(value)] in ".;!"
        )
        if (is_likely(value, kind == "password") and not _counts(line[token.start() :])) or (
            kind == "password" and last and _is_word(value, False, word)
        ):
            yield Span(token.start(), token.start() + len(value), naming.label(kind, word))


def _told_ja(line: str, at: int, kind: str, word: str) -> Iterator[Span]:
    if quoted := _QUOTED.match(line, at):
        value, span = quoted["value"], quoted.span("value")
        likely = is_likely(value, kind == "password") or (kind == "password" and _is_word(value, True, word))
    elif token := _TOKEN_JA.match(line, at):
        value, span = token.group(), token.span()
        likely = not _JA_NO_VALUE.search(value) and (
            is_likely(value, kind == "password")
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


def _is_type(value: str, rest: str) -> bool:
    """Tell a declaration: `password: str = None`."""
    return value in ("str", "string", "bytes", "String", "Optional", "SecretStr")


def _counts(text: str) -> bool:
    """Tell a number of something from a code: `the password is 12 characters long`."""
    return bool(re.match(r"[0-9][0-9,. -]*\s?(?:[a-z]|%)", text, re.I)) and not re.match(
        r"\w*[a-z]\w*\d|\d+[A-Za-z]+\w*\d", text
    )
