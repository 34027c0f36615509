"""Words -> what they call secret: a password or a key, in English and in Japanese.

Knows the names that secrets go by, and where in a line such a name may begin and end.
"""

from __future__ import annotations

import re

_PASSWORD = (
    r"pass(?:word|wd|phrase|code|key)?|pwd|pw|pswd|psk|kennwort|passwort|contraseña|mot de passe|login code"
    r"|pin(?:[ _-]?(?:code|number))?|(?:door|gate|lock|alarm|access|safe|entry|unlock|vault|backup|recovery)[ _-]?code"
    r"|(?:safe|lock|locker|lock ?box|key ?box|vault|padlock|suitcase)[ _-](?:combination|combo|number)|combination"
    r"|puk(?:[ _-]?code)?|cvv2?|cvc2?|(?:key ?box|mail ?box|elevator|entrance|building|front door|panel|meeting|voicemail|security|verification)[ _-]?code"
    r"|storepass|requirepass|keypass|key[ _-]?material|rootpw|security[ _-](?:answer|question)|(?:2fa|mfa|otp)[ _-]?(?:backup|code|seed)|(?:network|wi-?fi|wpa2?)[ _-]?key"
)
_KEY = (
    r"secret|token|api[ _-]?key|(?:pre-?shared|access|secret|private|signing|encryption|master|account|shared|auth|session|licen[sc]e"
    r"|service|webhook|deploy|ssh|consumer|app|application|client|storage|subscription|admin|user|team|project)[ _-]?key"
    r"|(?<!public[ _-])(?<!public)key|recovery[ _-]key|(?:activation|registration|redeem|gift)[ _-]code|(?<=_)session(?=\s?[:=])|credentials?|auth|authorization|bearer|pat|cookies?|(?:php|j|asp\.net_)?sess(?:ion)?[ _-]?id|connect\.sid|signature|community|salt|seed|sig"
)
_PASSWORD_JA = (
    "(?:復旧|復元|回復|バックアップ|リカバリー?|認証|確認|解除|入室|裏口の?|入口の?)コード|パスワード|パスフレーズ|パスコード|合い?言葉|秘密の(?:質問の)?答え|質問の答え|あいことば|暗証番号|暗証コード|pinコード|解錠番号|解錠コード|ロック番号|暗号キー"
    "|pwコード|ログイン情報|(?:金庫|キーボックス|ロッカー|郵便受け|ポスト|宅配ボックス|南京錠|ダイヤル錠)の(?:解錠|開錠)?(?:番号|コード)|pin(?=[はがを：])|暗証|開錠番号|ドアコード|セキュリティコード|(?<![ァ-ヶー])パス(?![ァ-ヶー])"
)
_KEY_JA = (
    "トークン|シークレット(?:キー)?|秘密鍵|秘密キー|アクセスキー|apiキー|認証キー|認証情報|暗号鍵|署名鍵|ライセンスキー|共有鍵"
    "|(?<=[ァ-ヶー一-龠a-zの])(?:キー|コード)(?![ァ-ヶー])|事前共有キー|接続キー|(?<![ァ-ヶー一-龠])鍵"
)
_TAIL = r"(?:[_-]?(?:[0-9]{1,3}|prod|live|dev|staging|value|base64|b64|old|new|base|hex|private|text|default))?(?![a-z0-9_-])"
#: Read in the folded line; whether a name may begin there is asked of the line as it stands.
CALLED = re.compile(
    rf"(?P<password_ja>{_PASSWORD_JA})|(?P<key_ja>{_KEY_JA})|(?P<password>{_PASSWORD}){_TAIL}|(?P<key>{_KEY}){_TAIL}"
)
_LONG_WORDS = ("password", "passwd", "passphrase", "secret", "token", "apikey", "api_key", "credential")
#: A line without any of these is not read for words; plain text, because that is looked for fastest.
HINTS = tuple(
    hint.replace("~", " ")  # which stands for a space
    for hint in """passw passp passc passk _pass -pass dbpass pass= pass: pass~ pwd pw: pw= ~pw~ psk pswd kennwort
    contraseña mot~de~passe secret token apikey api_key api-key api~key _key -key ~key sharedkey
    privatekey accesskey key identified data: words wallet wi-fi wlan ssid puk cvv cvc combo card カード hook ボックス sess community
    復元 復旧 リカバリ バックアップ 錠 ポスト sid: sid= 秘密 合い言葉 解除 オートロック 入口 玄関 unlock keypad closet intercom ~-u /p /add appid answer question wallet
    material rootpw eap xauth digest-key シリアル 金庫 ドア ゲート disarm client( connect( ダイヤル com~/ jp~/ pw「 pw『 echo printf cryptsetup kinit 桁の 裏口 type=" 2fa mfa otp backup assword ~pat pat: pat= securestring codes pin signature signingkey secretkey encryptionkey masterkey cred auth bearer cookie session
    salt seed sig: sig= pin: pin= pin~ pincode ~code -code combination login log~in sign~in logged~in
    user account admin root ftp ssh: ssh~/ vpn nas: nas~/ smtp imap db~ db: router id: id= id~ curl
    mysql docker redis sshpass wifi: wpa_ net~use htpasswd otpauth ~-p ~-a~ ~-w~ :*: phrase mnemonic
    unzip openssl wget pw~ door gate safe alarm lock building garage entr :54 :33 パス 合言葉 あいことば 暗証 番号 コード
    暗号 ログイン トークン シークレット 鍵 キー 認証 フレーズ ユーザ private putty""".split()
)
#: Words that make a random run beside them a secret.
NEAR = re.compile(
    r"wi-?fi|pass(?:word|wd|phrase|code)|pass(?![a-z])|assword|\bcreds?\b|\bpw\b|secret|token|credential|\bkey\b|api|auth|log ?in|sign ?in|bearer"
    r"|パスワード|トークン|シークレット|鍵|キー|認証|ログイン|暗号"
)


def kind(called: re.Match[str]) -> str:
    return "password" if called["password"] or called["password_ja"] else "key"


def begins(line: str, called: re.Match[str]) -> bool:
    """Tell whether a name may begin, or end, there: `dbPassword` and `db_password` hold one, `compass` none."""
    start, word = called.start(), called.group()
    if not start or called["password_ja"] or called["key_ja"] or word.startswith(_LONG_WORDS):
        return True
    before = line[start - 1]
    return not (before.isascii() and before.isalpha()) or (line[start].isupper() and before.islower())


def names_secret(text: str) -> str:
    """Tell which kind of secret *text*, the name of a key or of a column, stands for; "" for none.

    >>> names_secret("db_password"), names_secret("clientSecret"), names_secret("max_tokens")
    ('password', 'key', '')
    """
    name = text.strip(" \t*`\"'-_")
    for called in CALLED.finditer(name.lower()):
        if called.end() == len(name) and begins(name, called):
            return kind(called)
    return ""


def label(kind: str, word: str) -> str:
    if kind == "password":
        return "PIN" if re.search(r"pin|code|暗証|番号|コード", word) else "password"
    return (
        "secret key"
        if re.search(r"key|キー|鍵|salt|seed", word)
        else "token"
        if re.search("token|トークン|auth|bearer", word)
        else "secret"
    )
