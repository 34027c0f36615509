"""A line -> the secrets that commands, sentences and links hold, where no name stands right before the value.

`mysql -pVALUE`, "sign in as sam with VALUE", "the door code at the back is VALUE", `https://hooks.../VALUE`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memtool.secrets import values
from memtool.secrets.forms import Span

_AS = re.compile(
    r"""(?<![^\s`"'「」、。（）()])(?P<value>[^\s`"'「」、。（）()]{5,})[`"'」]?
    (?:\s+(?:as|is|was|for)\s+(?:(?:the|your|our|my|a|its|their|his|her)\s+)?(?:[a-z]+\s+){0,3}?(?:password|passphrase|passwd|pin|passcode|token|secret|key)
    |\s*(?:という|が|を)\s*(?:[^\s、。「」]{0,8}の)?(?:パスワード|パス|暗証番号|合言葉|トークン|鍵))(?![a-z-])""",
    re.VERBOSE,
)
_COMMANDS = re.compile(
    r"""(?:\bcurl\b.*?\s(?:-u|--user)[ =]?["']?(?P<cc>[\w-]{20,}):\w?["']?\s
    |\bcurl\b.*?\s(?:-u|--user)[ =]?["']?[^\s:"']+:(?P<a>[^\s"']+)
    |\b(?:mysql(?:dump|admin)?|unrar|rar|7za?)\b.*?\s-p(?P<b>[^\s"']+)
    |\bhtpasswd\s+-\w*b\w*\s+(?:-\w+\s+)*\S+\s+\S+\s+["']?(?P<k>[^\s"']+)
    |\bopenssl\b.*?\s-[kK]\s+["']?(?P<l>[^\s"']+)
    |\b(?:sshpass|redis-cli|mongo(?:sh|dump)?|docker|podman|az|net|smbclient|ldap\w+|unzip|7z|zip|gpg|openssl|wget|xfreerdp|vncviewer|rclone|psql|mosquitto_\w+|kinit|bw|op|vault|skopeo|crane|helm|argocd|rdesktop|sqlcmd|bcp|isql|cqlsh|influx|clickhouse-client|lftp|twine|az)\b.*?
       \s(?:-p|-a\s|-w|-P|/p:|--pass(?:word|phrase)?|--auth|-b\s+\S+\s+\S+|user\s+\S+)[ =]?["']?(?P<c>[^\s"'-][^\s"']*)
    |\bnet\s+use\b.*\s/user:\S+\s+(?P<i>[^\s"'/]+)
    |(?:name|key)["']?\s*[=:]\s*["']?[\w.-]*(?i:password|passwd|secret|token|api_?key|cookie|authorization)["']?[,\s]+["']?value["']?\s*[=:]\s*["']?(?P<j>[^"'\s<>}]+)
    |\bwpa_passphrase\s+\S+\s+(?P<h>[^\s"']{8,})|\bpass:(?P<d>[^\s"']+)|\bWIFI:[^\s]*?;?P:(?P<e>[^;]+);
    |^[\w.*-]+:(?:\d+|\*):[\w*-]+:[\w.@-]+:(?P<f>[^\s:]{5,})$
    |otpauth://\S*?secret=(?P<g>[A-Z2-7]{8,})
    |(?i:\bidentified\s+(?:with\s+\S+\s+)?by\s+(?:password\s+)?)["']?(?P<m>[^\s"';]+)
    |(?i:securestring)\s+(?:-(?i:string)\s+)?["'](?P<n>[^\s"']+)
    |--from-literal[= ]["']?[\w.-]+=(?P<o>[^\s"']+)
    |["']?[\w.-]+:(?P<p>[^\s"':|]+)["']?\s*\|\s*(?:sudo\s+)?chpasswd
    |(?i:jdbc:oracle\S*?|sqlplus\s+|expdp\s+|impdp\s+)[:"'\s]?[A-Za-z]\w*/(?P<q>[^\s/@"']{4,})@
    |(?i:auth|login|connect|credentials?|sign_?in|client|search|init\w*|configure)\s*[=:(]\s*[(\[]?\s*(?:\$?\w{1,30}\s*,\s*)?["'][^"'\n]{1,60}["']\s*,\s*["'](?P<r>[^"'\s]{5,})["']
    |^\[?[\w.-]+\]?:\d+\s+[\w.@-]+:(?P<bb>\S{5,})$
    |type=["']password["'][^>]*\svalue=["'](?P<dd>[^"'<>]+)
    |[\w.+-]+@[\w-]+\.[\w.-]+\s*/\s*["'`]?(?P<ee>[^\s@"'`/,;()]{6,})
    |\s-[uU][ =]?\S+(?=\s).*?\s-[pP][ =]["']?(?P<t>[^\s"']{5,})|\s-u\s?\w+,(?P<u>[^\s"',]{5,})
    |\s[-/][pP](?:ass\w*)?[:= ]["']?(?P<v>(?=\S*[0-9])(?=\S*[!@#$%^&*?+]|\S*[a-z]\S*[A-Z]|\S*[A-Z]\S*[a-z])[^\s"'/:]{8,})
    |\s/(?:p|pass|password|pwd):["']?(?P<w>[^\s"'/]{5,})
    |(?i:\b(?:add|create|change|set|new|reset)[_-]?(?:user|passw(?:or)?d)\s+[\w.@-]+\s+(?:(?:SHA|MD5)\S*\s+)?)["']?(?P<x>[^\s"']{6,})
    |\brootpw\s+(?:--?\w+\s+)*["']?(?P<y>[^\s"'-][^\s"']*)
    |\b(?:PSK|EAP|XAUTH)\s+["'](?P<z>[^\s"']+)|message-digest-key\s+\d+\s+md5\s+(?:\d\s+)?(?P<aa>\S+)
    |(?i:\becho|printf)\s+(?:-n\s+)?["']?(?P<s>[^\s"'|]{6,})["']?\s*\|[^|]*(?:password-stdin|passwd|secret\s+create|--stdin|kinit|cryptsetup|gpg)\b)""",
    re.VERBOSE,
)
_COMMAND = re.compile(
    r"curl|mysql|wpa_|net\s+use|name|key|pass:|wifi:|otpauth|:(?:\d+|\*):|sshpass|redis-cli|mongo|docker|podman|az\s|net\s|smbclient"
    r"|ldap|htpasswd|unzip|7z|zip|gpg|openssl|wget|identified|securestring|from-literal|chpasswd|oracle|sqlplus|xpdp|impdp|auth|login|rar\s"
    r"|connect|credential|sign_?in|client|search|init|configure|echo|printf|xfreerdp|vnc|rclone|psql|mosquitto|kinit|vault|skopeo|crane|helm|argocd"
    r"|rdesktop|sqlcmd|bcp|isql|cqlsh|influx|clickhouse|lftp|twine|\s-u|\s[-/]p|:\d+\s|user|passw|rootpw|curl|value=|@|psk\s|eap\s|xauth|digest-key"
)
_DOOR = re.compile(
    r"(?:door|gate|safe|alarm|lock|locker|building|garage|entry|entrance|elevator|key ?box|mailbox|lockbox|玄関|金庫|ドア|ロッカー|門|扉|駐輪場|倉庫|入口|キーボックス|宅配ボックス|郵便受け|ゲート|アラーム|警備|オートロック|裏口|南京錠)[^.。\n]{0,40}?"
    r"(?:code|コード|番号|combination|combo)[^\w\n]{0,4}(?:is|was|は|：|=)?[^\w\n]{0,4}(?P<value>[0-9]{4,8}[#*]?)(?![0-9.:-]|\s?(?:年|円|万|個))"
)
#: Said of what a number opens, right before the number; the kind of code that opens something.
_OPENS = re.compile(
    r"(?:(?:unlock(?:s|ed|ing)?|keypad|key ?box|lock ?box|locker|door|gate|garage|safe|closet|entrance|intercom|padlock|disarm\w*"
    r"|オートロック|金庫|入口|玄関|ロック解除|ドア|ゲート|ロッカー|解錠|開錠|ダイヤル|鍵の番号|確認コード|認証コード|暗証番号[^。\n0-9]{0,6}|暗証番号[4-8]桁)(?:\s*(?:opens?|unlocks?))?\s*(?:with|by|using|is|[:：]|は|→|、)"
    r"|(?<!error )(?<!status )(?<!zip )(?<!country )(?<!area )(?<!exit )(?<!promo )(?<!product )\bcode\s+(?:to|for|of|at|on)\s+[^.\n]{1,40}?(?:\s+is|:)"
    r"|\bcombination\s+(?:to|for|of|on)\s+[^.\n]{1,40}?(?:\s+is|:)|\b(?:entry|gate|access|door)\s+code\s+(?:to|for|of)\s+[^.\n]{1,40}?|[4-8]桁の(?:番号|コード|数字)は"
    r"|\b(?:airbnb|atm|entry|pickup|bank|guest|hotel|office|house|home|visitor|elevator|parking|bike|gym|pool|apartment|room|laundry|shed|cabin|keypad|verification|login|sms|otp|2fa)"
    r"\s+code(?:\s+is|\s*[:=→])?)\s*[「\"'`(（*]{0,3}(?P<value>[0-9]{4,8}[#*]?)(?=[」\"'`)）*]|\s*(?:$|[,.;!。、]|で|です|に|を|だ|then|and|to))(?![.,][0-9])"
)
_APP = re.compile(
    r"(?:app|アプリ)[^\n]{0,30}?(?:password|パスワード)[^a-z\n]{0,6}(?:is )?(?P<value>(?:[a-z]{4} ){3}[a-z]{4})(?![\w])"
)
_DIAL = re.compile(
    r"(?:金庫|ダイヤル|錠|safe|combination|lock|dial)[^。\n]{0,40}?(?P<value>(?:[左右]に?\s?[0-9]{1,3}[^0-9。\n]{0,6}){2,}"
    r"|(?:(?:left|right)\s+(?:to\s+)?[0-9]{1,2}\b[\s,;]*(?:then\s+)?){2,})"
)
_LOGIN = re.compile(
    r"""(?<![A-Za-z_])(?i:log[ -]?in|sign[ -]?in|logged\ in|credentials?|creds|account|username|user|ID|FTP|SSH|VPN|NAS|SMTP|IMAP|DB|router|root|admin|wi-?fi|wlan|ssid|wireless|ログイン|ユーザー?名?|クレデンシャル|アカウント|認証情報|無線(?:LAN)?|ルーター?)(?![A-Za-z_])
    (?:[ :：=は`"'「(→]|[-=]>|\b(?:as|with|is|are|at|to|for|the|on|で|に|を)\b|[\w.-]+[ ](?=(?:as|with|:)))*?
    (?P<user>[A-Za-z][\w.@+-]{1,40})[`"'」]?(?:\s*(?:/|／|[ ]//[ ])\s*|:)[`"'「]?(?P<value>[^\s`"'」、。,/()]{5,})""",
    re.VERBOSE,
)
_SIGN_IN = re.compile(
    r"(?:\b(?:log(?:ged|ging)?|sign(?:ed|ing)?)[ -]?(?:in|on)\b|\bconnect|\bauthenticat\w+|\bunlock\w*|\bopen(?:s|ed)?\b|\blogin\b)[^.\n]{1,60}?\s(?:with|using|and|by typing|by entering)\s+[`\"'“]?(?P<value>[^\s`\"'”,;]{8,})"
)
_PHRASE = re.compile(
    r"(?:seed|recovery|mnemonic|backup|リカバリー|シード|復元|ニーモニック)[ -]?(?:phrase|words?|フレーズ|の言葉)?[^a-z]{1,6}(?:(?:is|are)[^a-z]{1,6})?(?P<value>[a-z]{3,8}(?:[ ,]+[a-z]{3,8}){11,23})(?![\w ,]*[A-Z])",
    re.I,
)
_CHECK = re.compile(
    r"\b(?:cvv2?|cvc2?|security code|セキュリティコード)\W{0,4}(?:is |は)?\s*(?P<value>[0-9]{3,4})(?![0-9桁])"
)
_CARD = re.compile(
    r"(?<![0-9.-])(?P<value>[2-6][0-9]{3}([ -]?)[0-9]{4}\2[0-9]{4}\2[0-9]{4}|3[47][0-9]{2}([ -]?)[0-9]{6}\3[0-9]{5})(?![0-9.-])"
)
_SHOWN_CARDS = (
    "4242424242424242",
    "4111111111111111",
    "5555555555554444",
    "378282246310005",
    "4000000000000002",
)
_IN_LINK = re.compile(
    r"""://(?P<user>[\w-]{20,})@\w
    |[?&;#][\w-]*(?i:signature|sig|token|key|secret|code|passw(?:or)?d|pwd|auth|jwt|session|ticket|credential|otp|invite|hmac|appid)=(?P<query>[\w%.~+/=-]{16,})
    |://\S{1,200}?/(?:key|token|secret|private|auth|invite|reset|verify|magic|bot|unsubscribe|v[0-9])[-/](?P<path>[\w-]{20,})""",
    re.VERBOSE | re.ASCII,
)
_HOOK = re.compile(r"https?://[^\s\"'`<>)]*hook[^\s\"'`<>)]*", re.I | re.ASCII)
_SEGMENT = re.compile(r"(?<=[/=])[\w-]{6,}(?=[/?\s]|$)", re.ASCII)


def find(line: str, folded: str) -> Iterator[Span]:
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
            if name == "phrase" or values.is_likely(found[group], group != "g"):
                yield Span(*found.span(group), "recovery words" if name == "phrase" else "password")
    yield from (Span(*found.span("value"), "password") for found in _APP.finditer(folded))
    if not any(map(str.isdigit, line)):
        return
    for code in (_DOOR, _CHECK, _DIAL, _OPENS):
        yield from (Span(*found.span("value"), "PIN") for found in code.finditer(folded))
    for found in _SIGN_IN.finditer(folded):
        value = line[slice(*found.span("value"))].rstrip(".!?)")
        if any(map(str.isdigit, value)) and values.is_password(value) and not values.is_identifier(value):
            yield Span(found.start("value"), found.start("value") + len(value), "password")
    for found in _AS.finditer(folded):
        if values.is_likely(line[slice(*found.span("value"))], True):
            yield Span(*found.span("value"), "password")


def find_bare(line: str) -> Iterator[Span]:
    """Give what needs no telling word: keys in links, card numbers."""
    if "://" in line:
        for found in _IN_LINK.finditer(line):
            group = found.lastgroup or "query"
            if values.is_key(found[group].replace("%", "")):
                yield Span(*found.span(group), "key in a link")
        for hook in _HOOK.finditer(line):
            for part in _SEGMENT.finditer(hook.group()):
                if _opens_hook(part.group(), short="://hooks." in hook.group()):
                    yield Span(hook.start() + part.start(), hook.end(), "address of a hook")
                    break
    for found in _CARD.finditer(line):
        digits = re.sub(r"\D", "", found["value"])
        if (
            _is_card(digits)
            and digits not in _SHOWN_CARDS
            and (found[2] or found[3] or "card" in line.lower() or "カード" in line)
        ):
            yield Span(*found.span("value"), "card number")


def _opens_hook(part: str, short: bool) -> bool:
    mixed = any(map(str.isdigit, part)) and any(map(str.isalpha, part)) and not values.is_identifier(part)
    return mixed and (len(part) >= 20 or (short and len(part) >= 6 and not values.names_something(part)))


def _is_card(digits: str) -> bool:
    """Tell a number whose last digit fits the others, as on every card."""
    twice = [int(digit) * 2 for digit in digits[-2::-2]]
    return (sum(map(int, digits[-1::-2])) + sum(one // 10 + one % 10 for one in twice)) % 10 == 0
