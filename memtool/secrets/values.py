"""A piece of text -> what it may be: a placeholder, a name for something, a password, a random key.

Looks at the value alone. Knows nothing of the words around it, which say how much doubt it deserves.
"""

from __future__ import annotations

import math
import re
from collections import Counter

QUOTES = "\"'`“”‘’「」『』＂＇"
JUDGED = 300  # characters of a value; a longer one is judged by its head
CODE = re.compile(r"[0-9][0-9 -]{2,10}[0-9]|[0-9]{4,12}#?|[A-Z]?[0-9]{3,8}[A-Z#*]?")
_HOLDERS = re.compile(
    r"""^<|>$|^!(?:vault|secret|env\w*|include|Ref|GetAtt|Sub)\b|^(?:hashed_?|new_?|old_?)?(?:password|passwd)_?[0-9]?$|<\w[^<>]*>|\$[{(]|^\$\w+$|^%\w+%$|\{\{|\}\}|%\(|\{\w*\}|\.{3}|…|[*•●＊xX_\#?]{4}|^[\W0_]*$
    |(?i:example|sample|change[_-]?(?:me|it|this)|^(?:your|my|the|some|any|an?)[_\- ]|-your-|placeholder|redacted
    |masked|dummy|fixme|to[_-]?do\b|^insert|replace[_-]?(?:me|this|with)|goes[_-]?here|[_-]here$|not[_-]?(?:a|real)[_-]
    |omitted|(?<![a-z])fake|ダミー|伏せ|省略|サンプル|〇〇|○○|あなたの)""",
    re.VERBOSE,
)
#: Words that stand where a value would, and are none.
_WORDS = frozenset(
    """pass pwd pw none null nil true false yes no on off empty blank unset undefined string str int bytes text optional required
    secret secrets password passwords passwd token tokens key keys value values user username login email
    default env environment stdin prompt file vault keychain keyring auto automatic generated random
    foo bar baz test testing see ask unknown n/a na tbd disabled enabled basic bearer digest oauth oauth2 saml
    1password keepass keepassxc lastpass bitwarden dashlane bcrypt scrypt argon2 argon2i argon2id pbkdf2 md5
    sha1 sha256 sha-1 sha-256 sha512 sha-512 hs256 rs256 es256 aes128 aes256 aes-256 aes-256-gcm ed25519 x25519
    base32 base64 base64url utf8 utf-8 ascii jwt jws oidc mfa 2fa tls1.2 tls1.3 http https ssh ldap pam md4 rsa
    rsa2048 rsa4096 k8s s3 ec2 kms hmac hmac-sha256 sha3 oauth1 web3 p12 pkcs12 pkcs8 x509 x.509 pem v1 v2 v3""".split()
)
_NAMED = re.compile(
    r"""(?P<path>(?:~|\.{1,2})?/[\w.@+-]+(?:/[\w.@+~-]*)*|(?:[\w.-]+/)+[\w-]*\.\w{1,5}|[A-Za-z]:\\\S*)
    |(?P<link>[a-z][a-z0-9+.-]*://[^\s:@]+)
    |(?P<call>[A-Za-z_][\w.]*[(\[].*)
    |(?P<dotted>(?![^\s]*[A-Za-z][0-9]{2,}$)[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)
    |(?P<constant>[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)
    |(?P<number>[-+]?[0-9.,:]+(?:\s?(?:[kKMGTmnµ]?i?[bBs]|ms|min|hours?|days?|weeks?|chars?|bytes?|bits?|%|x|d|h|m))?)
    |(?P<date>[0-9]{4}[-/][0-9]{1,2}(?:[-/][0-9]{1,2}(?:[T ][0-9:.+Z]*)?)?)
    |(?P<version>v?[0-9]+(?:\.[0-9]+)+(?:[-+.]\w+)*)
    |(?P<file>[\w-]+\.(?:md|txt|json|ya?ml|toml|env|pem|key|crt|py|js|ts|sh|ini|cfg|conf|html?|csv|log|lock|go|rs))
    """,
    re.VERBOSE | re.ASCII,
)
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
#: A seed of one-time codes; a key in groups, as on a card.
_BASE32 = re.compile(r"[A-Z2-7]{16,}={0,6}")
_GROUPS = re.compile(r"(?=.*[0-9])[A-Za-z0-9]{4,6}(?:[- ][A-Za-z0-9]{4,6}){3,11}")
_PARTS = re.compile(r"[a-z]+|[A-Z][a-z]+|[A-Z]{2,6}|v?[0-9]{1,4}")
_LOWER_RUN = re.compile(r"[a-z]{3,}")
_VOWEL = re.compile("[aeiouy]")
_HARSH = re.compile("[^aeiouy]{4}|(.)\\1\\1")
_DIGIT_RUN = re.compile(r"[0-9]+")


def is_placeholder(value: str) -> bool:
    """Tell text that only shows where a secret would stand.

    >>> [is_placeholder(value) for value in ("<your-token>", "${TOKEN}", "xxxx-xxxx", "changeme", "hunter2")]
    [True, True, True, True, False]
    """
    return bool(_HOLDERS.search(value)) or value.lower() in _WORDS or len(set(value)) < 3


def is_name(value: str) -> bool:
    """Tell what names something else: a path, an address, a call, a variable, a number, a date."""
    return bool(_NAMED.fullmatch(value))


def is_identifier(value: str) -> bool:
    """Tell words joined by marks or by capitals, as programmers name things.

    >>> [is_identifier(value) for value in ("my-app-secret-v2", "clientSecret", "tr0ub4dor", "aB3xK9")]
    [True, True, False, False]
    """
    parts = [part for part in re.split(r"[-_.:/@]", value) if part]
    if len(parts) < 2:
        return bool(re.fullmatch(r"[a-z]+(?:[A-Z][a-z]+)*|(?:[A-Z][a-z]+)+", value))
    return all(_PARTS.fullmatch(part) or re.fullmatch(r"[a-z]+(?:[A-Z][a-z]+)+", part) for part in parts)


def is_uuid(value: str) -> bool:
    return bool(_UUID.fullmatch(value))


def entropy(value: str) -> float:
    """Count the bits that a character of *value* carries by how often each one stands in it."""
    counts = Counter(value).values()
    return -sum(count / len(value) * math.log2(count / len(value)) for count in counts)


def is_password(value: str) -> bool:
    """Tell what somebody may have chosen: letters with digits or marks among them, no name of a thing.

    >>> [is_password(value) for value in ("hunter2", "Summer!", "swordfish", "8", "config.token")]
    [True, True, False, False, False]
    """
    if len(value) < 5 or is_placeholder(value) or is_name(value):
        return False
    letters = any(character.isalpha() for character in value)
    digits = any(character.isdigit() for character in value)
    marks = any(character in "!@#$%^&*+=?~|§" for character in value)
    return letters and (digits or marks or is_scrambled(value))


def is_strong(value: str) -> bool:
    """Tell a password that no name or number looks like, though nothing says that it is one.

    >>> is_strong("Tiger7685@"), is_strong("KVL4ZOlj0M69"), is_strong("version2"), is_strong("user@example.com")
    (True, True, False, False)
    """
    if (
        len(value) < 8
        or not is_password(value)
        or is_identifier(value)
        or re.search(r"[()\[\]{}=/\\:,;|]", value)
    ):
        return False
    if not (any(map(str.isdigit, value)) and value.isascii()) or re.search(
        r"@[\w-]+\.|^[@#$&]\w+$|\+[A-Z]|^[A-Z]+\W", value
    ):
        return False
    marks = re.search(r"[!@#$%^&*?+]", value.rstrip("*?")) or value[-1] in "!#$"
    lower, upper = any(map(str.islower, value)), any(map(str.isupper, value))
    digits = len(_DIGIT_RUN.findall(value))
    return (bool(marks) and lower) or (
        lower
        and upper
        and len(value) >= 10
        and (digits >= 2 or is_scrambled(value))
        and _wordiness(value) < 0.4
    )


def is_scrambled(value: str) -> bool:
    """Tell letters in a mix of cases that no word and no name has.

    >>> is_scrambled("rUuOucZpMWws"), is_scrambled("PostgreSQLDriver")
    (True, False)
    """
    turns = len(re.findall("[a-z][A-Z]", value))
    return len(value) >= 10 and turns >= 2 and not is_identifier(value) and _wordiness(value) < 0.4


def is_random(value: str) -> bool:
    """Tell a made key from words: enough bits for its length, and few runs of letters as words have.

    >>> is_random("q7Fz0LwXv3RkT9bNc2Hd"), is_random("authentication-middleware-2")
    (True, False)
    """
    if len(value) < 16 or is_placeholder(value) or is_name(value) or is_identifier(value):
        return False
    bare = value.strip("=")
    return entropy(bare) > 3.0 and _wordiness(bare) < 0.5 and any(map(str.isdigit, bare))


def is_random_alone(value: str) -> bool:
    """Tell a key that no word beside it announces; a digest, an id or a long name is none.

    >>> is_random_alone("q7Fz0LwXv3RkT9bNc2HdYs5P"), is_random_alone("3f2504e04f8941d39a0c0305e82c3301aaaaaaaa")
    (True, False)
    """
    bare = value.strip("=")
    if not 24 <= len(bare) <= 160 or is_uuid(bare) or re.fullmatch(r"[0-9a-fA-F-]+", bare):
        return False
    if not is_random(value) or names_something(bare):
        return False
    wordy = _wordiness(bare)
    digits = len(_DIGIT_RUN.findall(bare))
    kinds = [any(map(test, bare)) for test in (str.islower, str.isupper, str.isdigit)]
    if all(kinds):
        return entropy(bare) > 3.7 and wordy < 0.4 and digits >= 2
    return bare.isalnum() and digits >= 5 and entropy(bare) > 3.8 and wordy < 0.4


def _wordiness(value: str) -> float:
    """Give the share of characters in runs of letters that could be spoken."""
    runs = [run for run in _LOWER_RUN.findall(value) if _VOWEL.search(run) and not _HARSH.search(run)]
    return sum(map(len, runs)) / max(len(value), 1)


def names_something(bare: str) -> bool:
    """Tell a long text with a plain part: a word, or a digest with a name before it."""
    digests = any(re.fullmatch(r"[0-9a-f]{12,}|[0-9A-F]{12,}", part) for part in re.split(r"[-_./]", bare))
    named = any(is_identifier(part) and len(part) > 8 for part in re.split(r"[/.]", bare))
    return (
        digests or named or any(re.fullmatch(r"[A-Z]?[a-z]{4,}", part) for part in re.split(r"[-_./]", bare))
    )


def is_likely(value: str, password: bool) -> bool:
    """Tell whether a value that is called a secret may be one; a *password* may be plainer than a key."""
    value = value.strip(QUOTES + "*,;")[:JUDGED]
    if password and re.fullmatch(r"[0-9]{4,8}", value):
        return len(set(value)) > 1
    if len(value) < 4 or is_placeholder(value):
        return False
    if not password:
        return is_key(value)
    return bool(CODE.fullmatch(value) or _GROUPS.fullmatch(value)) or is_password(value.rstrip(".,;:)"))


def is_key(value: str) -> bool:
    if is_name(value) or is_identifier(value) or len(value) < 8:
        return is_uuid(value) or bool(_BASE32.fullmatch(value) and _wordiness(value.lower()) < 0.5)
    if _GROUPS.fullmatch(value) or (_BASE32.fullmatch(value) and _wordiness(value.lower()) < 0.5):
        return True
    return (is_password(value) and any(map(str.isdigit, value))) or is_random(value) or is_scrambled(value)
