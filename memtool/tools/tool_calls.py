"""A tool's parameters and error -> what is kept of them: masked values, a template, a kind of error.

Pure: values are cut, secrets are dropped or masked, what varies from call to call becomes a
placeholder. Knows nothing of where calls are kept or what is made of them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from typing import Any

from memtool.errors import UsageError

Mask = Callable[[str], str]
Template = dict[str, Any]
"""Names of parameters, with dots where they lie in one another, and what stands there."""

NAME_CHARACTERS = 10_000
TEXT = 200  # characters of a value, a task or an error that are kept
_READ = 4_000  # characters that are looked at for secrets; the cut is far before their end
_DEPTH, _ITEMS, _LEAVES = 6, 40, 100
_LARGEST = 32 * 1024 * 1024

_SECRET_KEY = re.compile(
    r"(?i)(?:^|[._-])(?:pass(?:word|wd|phrase)?|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|"
    r"credentials?|auth(?:orization)?|cookie|session[_-]?key|bearer|パスワード|暗証番号|秘密鍵)s?(?:$|[._-])"
)
_COUNTED = re.compile(
    r"(?i)(?:max|min|num|count|limit|budget|total|input|output|new|prompt|stop)[_-]*tokens?$"
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def parse_params(text: str) -> object:
    """Read parameters from JSON; "" is none. Raises UsageError."""
    fix = 'give one JSON object, as in --params \'{"path": "a.md"}\', or `-` to read it from standard input'
    if len(text) > _LARGEST:
        raise UsageError(
            "the parameters are too long", why=f"{len(text):,} characters", fix="leave out contents"
        )
    try:
        return json.loads(text) if text.strip() else {}
    except RecursionError:
        raise UsageError("the parameters cannot be read", why="they are nested too deeply", fix=fix) from None
    except ValueError as error:
        raise UsageError("the parameters are no JSON", why=str(error)[:100], fix=fix) from None


def keep(params: object, mask: Mask) -> dict[str, Any]:
    """Give what is kept of parameters: short masked values, no keys that name secrets."""
    whole = params if isinstance(params, dict) else {} if params is None else {"value": params}
    kept = _kept(whole, mask, _DEPTH, [_LEAVES])
    return kept if isinstance(kept, dict) else {}


def _kept(value: object, mask: Mask, depth: int, left: list[int]) -> Any:
    if isinstance(value, dict | list | tuple) and (not depth or left[0] <= 0):
        return "…"
    if isinstance(value, dict):
        named = [(short(str(key), mask, 80), one) for key, one in list(value.items())[:_ITEMS]]
        return {key: _kept(one, mask, depth - 1, left) for key, one in named if not is_secret(key)}
    if isinstance(value, list | tuple):
        return [_kept(one, mask, depth - 1, left) for one in value[:_ITEMS]]
    left[0] -= 1
    if left[0] < 0:
        return "…"
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) < 10**15 else f"{'-' * (value < 0)}…"
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return short(value, mask) if isinstance(value, str) else f"<{type(value).__name__}>"


def is_secret(key: str) -> bool:
    """Tell a parameter whose name says that its value is a secret.

    >>> [key for key in ("apiKey", "DB_PASSWORD", "keyboard", "max_tokens", "author") if is_secret(key)]
    ['apiKey', 'DB_PASSWORD']
    """
    spelt = _CAMEL.sub("_", key)
    return bool(_SECRET_KEY.search(spelt)) and not _COUNTED.search(spelt)


_HARMLESS = re.compile(r"[\w.-]{0,7}|[a-z]{0,20}|-?\d+(?:\.\d+)?")


def short(text: str, mask: Mask, most: int = TEXT) -> str:
    """Mask a text, then cut it: the cut never parts a secret from what gives it away."""
    if not _HARMLESS.fullmatch(text[:_READ]):
        text = mask(text[:_READ])
    return text if len(text) <= most else text[: most - 1] + "…"


# Templates

_URL = re.compile(r"\w+://\S+")
_DATE = re.compile(r"\d{4}[-/]\d{2}[-/]\d{2}(?:[T ][\d:.]+(?:Z|[+-]\d\d:?\d\d)?)?|\d{4}年\d{1,2}月\d{1,2}日")
_PATH = re.compile(r"[^\s=]*[/\\][^\s]*|[^\s/\\=]*[^\s/\\=.]\.[A-Za-z][A-Za-z0-9]{0,5}")
_ID = re.compile(r"(?=\S*\d)(?=\S*[A-Za-z])(?:[0-9a-fA-F]{7,}|[0-9a-fA-F-]{32,}|[\w-]{20,})|\d{6,}")
_WORDS, _LONG, _LONG_WIDE = 12, 120, 24


def template(params: dict[str, Any]) -> Template:
    """Give the shape of parameters: paths, addresses, dates, ids and long texts become placeholders.

    >>> template({"cmd": "pytest -q tests/test_a.py", "opts": {"n": 3}, "q": "all of it"})
    {'cmd': 'pytest -q <path>', 'opts.n': 3, 'q': 'all of it'}
    """
    return dict(_leaves(params, ""))


def _leaves(value: dict[str, Any], name: str) -> Iterator[tuple[str, Any]]:
    for key, one in sorted(value.items()):
        path = f"{name}.{key}" if name else key
        if isinstance(one, dict) and one:
            yield from _leaves(one, path)
        else:
            yield path, slot(one)


def slot(value: Any) -> Any:
    """Give what of a value may recur: itself, or a placeholder."""
    if isinstance(value, list):
        plain = [slot(one) for one in value]
        few = len(plain) <= 3 and all(not isinstance(one, dict | list) for one in value)
        return plain if few and not any(is_slot(one) for one in plain) else "<list>"
    if isinstance(value, float):
        return round(value, 3)
    if not isinstance(value, str):
        return value if not isinstance(value, dict) else "<object>"
    words = value.split(" ")
    wide = sum(mark > "\u2e7f" for mark in value)
    if "\n" in value or len(value) > _LONG or len(words) > _WORDS or wide > _LONG_WIDE or value.endswith("…"):
        return "<text>"
    return " ".join(map(_word, words))


def _word(word: str) -> str:
    head, sign, tail = word.partition("=")
    if sign and head and _kind(tail):
        return f"{head}={_kind(tail)}"
    return _kind(word) or word


def _kind(word: str) -> str:
    for kind, pattern in (("<url>", _URL), ("<date>", _DATE), ("<path>", _PATH), ("<id>", _ID)):
        if pattern.fullmatch(word):
            return kind
    return ""


def is_slot(value: Any) -> bool:
    """Tell a placeholder from a value."""
    return isinstance(value, str) and value.startswith("<") and value.endswith(">")


# Errors

_QUOTED = re.compile(r"'[^'\n]{1,200}'|\"[^\"\n]{1,200}\"|`[^`\n]{1,200}`|「[^」\n]{1,200}」")
_CODE = re.compile(
    r"(?i)\b(?:http(?:/[\d.]+)?|status(?: code)?|exit(?:ed with)?(?: code| status)?|errno|code)"
    r"[ =:]*\d{1,4}\b"
)
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_HEX = re.compile(r"\b0x[0-9a-fA-F]+\b|(?=[0-9a-fA-F-]*\d)\b[0-9a-fA-F]{6,}(?:-[0-9a-fA-F]{3,})*\b")
_PLACE = re.compile(r"(?<![\w<])(?:~|\.{1,2}|[A-Za-z]:)?(?:[/\\][\w.@%+-]+)+[/\\]?|\b[\w-]+(?:[/\\][\w.-]+)+")
_TELLING = re.compile(
    r"(?i)error|exception|fail|fatal|denied|refused|timed? ?out|not found|失敗|エラー|例外|できません|拒否"
)
_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ue000]")
KIND = 120


def error_kind(error: str) -> str:
    """Give the kind of an error: its telling line, without what differs from call to call.

    >>> error_kind("HTTP 503: no answer from 10.0.0.7:8080 after 31.2 s")
    'HTTP 503: no answer from N after N s'
    >>> error_kind("ファイル「a.md」が見つかりません (id 4f2a99c1)")
    'ファイル「…」が見つかりません (id ID)'
    """
    line = _telling(error)
    codes = _CODE.findall(line)
    line = _CODE.sub("\ue000", line)
    line = _URL.sub("URL", line)
    line = _QUOTED.sub(lambda found: f"{found[0][0]}…{found[0][-1]}", line)
    line = _PLACE.sub("PATH", line)
    line = _NUMBER.sub("N", _HEX.sub("ID", line))
    for code in codes:
        line = line.replace("\ue000", code, 1)
    return " ".join(line.split())[:KIND].rstrip() or "failed without a message"


def _telling(error: str) -> str:
    """Pick the line that says most: the last of a traceback, else the first that speaks of a failure."""
    text = error[:_READ] if len(error) <= 2 * _READ else error[:_READ] + "\n" + error[-_READ:]
    text = _UNSEEN.sub(" ", _COLOUR.sub("", text))
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    if not lines:
        return ""
    if any(line.startswith("Traceback (most recent") for line in lines):
        return lines[-1]
    return next((line for line in lines if _TELLING.search(line)), lines[0])
