"""Bytes of a note -> its text and the encoding it is in, and back again byte for byte.

UTF-8 is what a note should be. Anything else is read as well as it can be, so that it is
found, and is named, so that it can be mended. Knows nothing of what the text means.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_MARKS = (
    (b"\xef\xbb\xbf", "utf-8", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32-le", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32-be", "utf-32"),
    (b"\xff\xfe", "utf-16-le", "utf-16"),
    (b"\xfe\xff", "utf-16-be", "utf-16"),
)
# What charset-normalizer may choose from: without this it likes rare code pages for short texts.
_GUESSES = [
    "cp1252", "cp1250", "cp1251", "koi8_r", "cp1253", "cp1254", "cp1255", "cp1256",
    "gb18030", "big5", "cp949", "cp932", "euc_jp",
]  # fmt: skip
_SAMPLE = 65536
_ESCAPED = re.compile("[\udc80-\udcff]")
_BEYOND_ASCII = re.compile("[^\x00-\x7f]")
_KANA = re.compile("[\u3041-\u30ff]")
_JAPANESE = re.compile("[\u3000-\u30ff\u4e00-\u9fff\uff01-\uff5e\u2010-\u203b\u2190-\u2193\u25a0-\u25cf]")
_WESTERN = re.compile("[\x00-\x7f\xa0\xab\xb0\xb7\xbb\xc0-\xff\u0152-\u0178\u2013-\u2026\u20ac]*")


class Decoded(NamedTuple):
    """The text of some bytes, with all that is needed to give the same bytes again.

    ``raw`` has one lone surrogate for each byte that is not in the encoding, and may hold NUL.
    """

    raw: str
    name: str
    codec: str
    mark: bytes = b""
    errors: str = "strict"

    @property
    def text(self) -> str:
        """The text to show and to search: as long as ``raw``, with nothing unprintable to trip over.

        >>> decode(b"a\\x00b").text
        'a␀b'
        """
        text = self.raw.replace("\0", "\u2400") if "\0" in self.raw else self.raw
        return text if self.errors == "strict" else re.sub("[\ud800-\udfff]", "\ufffd", text)

    def encode(self, raw: str) -> bytes:
        """Give the bytes of another text in the same encoding; raises UnicodeEncodeError."""
        return self.mark + raw.encode(self.codec, self.errors)


def decode(data: bytes) -> Decoded:
    """Read *data* in the first encoding that fits; never raises.

    >>> decode("漢字かな".encode("cp932"))[:2]
    ('漢字かな', 'cp932')
    """
    for mark, codec, name in _MARKS:
        if data.startswith(mark):
            return _marked(data[len(mark) :], mark, codec, name)
    if b"\0" in data and (wide := _unmarked_utf16(data)):
        return wide
    try:
        return Decoded(data.decode(), "utf-8", "utf-8") if b"\x1b$" not in data else _escapes(data)
    except UnicodeDecodeError:
        return next(_candidates(data))


def _marked(rest: bytes, mark: bytes, codec: str, name: str) -> Decoded:
    try:
        return Decoded(rest.decode(codec), name, codec, mark)
    except UnicodeDecodeError:
        if codec == "utf-8":
            return _damaged(rest, mark)
        # Cannot be given back exactly: whoever compares the round trip will see it.
        return Decoded(rest.decode(codec, "replace"), name, codec, mark)


def _damaged(rest: bytes, mark: bytes) -> Decoded:
    errors = "surrogateescape"
    return Decoded(rest.decode("utf-8", errors), "damaged utf-8", "utf-8", mark, errors)


def _candidates(data: bytes) -> Iterator[Decoded]:
    """Give the readings of bytes that are not UTF-8, likeliest first; the last always fits."""
    for reading in (_damaged_utf8, _unmarked_utf16, _japanese, _guess):
        if found := reading(data):
            yield found
    yield Decoded(data.decode("latin-1"), "latin-1", "latin-1")


def _escapes(data: bytes) -> Decoded:
    """ISO-2022-JP is plain ASCII to UTF-8; its escape sequences give it away."""
    try:
        return Decoded(data.decode("iso2022_jp"), "iso2022_jp", "iso2022_jp")
    except UnicodeDecodeError:
        return Decoded(data.decode(), "utf-8", "utf-8")


def _damaged_utf8(data: bytes) -> Decoded | None:
    """UTF-8 with a few broken bytes: a character cut in half, or one half of a pair."""
    found = _damaged(data, b"")
    bad = len(_ESCAPED.findall(found.raw))
    good = len(_BEYOND_ASCII.findall(found.raw)) - bad
    return found if bad * 4 <= good or (bad <= 3 and good) or _has_only_halves(data) else None


def _has_only_halves(data: bytes) -> bool:
    try:
        data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return False
    return True


def _unmarked_utf16(data: bytes) -> Decoded | None:
    if len(data) % 2:
        return None
    sample = data[:_SAMPLE]
    for codec, zeros in (("utf-16-le", sample[1::2]), ("utf-16-be", sample[::2])):
        mostly_ascii = zeros.count(0) * 10 > len(zeros) * 6 and sample.count(0) < len(zeros) * 1.1
        if mostly_ascii or _looks_japanese(sample.decode(codec, "replace"), lines=True):
            try:
                return Decoded(data.decode(codec), codec, codec)
            except UnicodeDecodeError:
                continue
    return None


def _japanese(data: bytes) -> Decoded | None:
    for codec in ("euc_jp", "cp932"):
        try:
            raw = data.decode(codec)
        except UnicodeDecodeError:
            continue
        # Chinese and Korean double bytes are valid EUC-JP too, but then show hardly any kana.
        if _looks_japanese(raw[:_SAMPLE], lines=False) and (codec == "cp932" or _KANA.search(raw)):
            return Decoded(raw, codec, codec)
    return None


def _looks_japanese(text: str, *, lines: bool) -> bool:
    """Nearly all beyond ASCII is kana, kanji or full width; *lines* asks for a line end as well."""
    beyond = len(_BEYOND_ASCII.findall(text))
    return (
        beyond > 0
        and len(_JAPANESE.findall(text)) >= 0.9 * beyond
        and (not lines or ("\n" in text and len(_KANA.findall(text)) >= 0.1 * beyond))
    )


def _guess(data: bytes) -> Decoded | None:
    from charset_normalizer import from_bytes  # only here: a vault in UTF-8 never needs it

    best = from_bytes(data[:_SAMPLE], cp_isolation=_GUESSES).best()
    if best is None:
        return None
    codec = best.encoding
    # Western European is commoner than its neighbours, wherever it shows letters only.
    if codec in ("cp1250", "cp1254") and _WESTERN.fullmatch(data.decode("cp1252", "replace")):
        codec = "cp1252"
    try:
        return Decoded(data.decode(codec), codec, codec)
    except UnicodeDecodeError:
        return None
