"""Text -> the likely secrets in it, by line and kind; the same text with them masked.

Puts together what is known by its form, what the words around it call a secret, and what is too random
to be anything else. A finding never carries the secret. Private keys and values on the next line count.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from memtool.secrets import blocks, commands, forms, naming, values, words
from memtool.secrets.forms import Span


class Secret(NamedTuple):
    """A likely secret: its line, counted from 1, and what it looks like."""

    line: int
    kind: str


class _Place(NamedTuple):
    line: int  # from 0
    span: Span


_BEGIN = re.compile(
    r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|---- BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY ----|-----BEGIN OpenVPN Static key V\d-----|PuTTY-User-Key-File-\d|Private-Lines: \d"
)
_END = re.compile(
    r"-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|---- END |-----END OpenVPN|Private-MAC:"
)
_BODY = re.compile(r"[\s>|*-]*(?:\\n)?[A-Za-z0-9+/=]{16,}")
_LONGEST_KEY = 120  # lines
_PIECE, _OVERLAP = 800, 200  # characters of a long line that are read at once
_BREAK = re.compile(r"[^A-Za-z0-9+/=_-]")
_SOME_RUN = re.compile(r"[\w+/=.~:$-]{16}", re.ASCII)
_CONTEXT = 12  # lines around a change: a table's head, the key above a value
_PUBLIC = re.compile(
    r"-----BEGIN (?:[A-Z0-9]+ )*(?:CERTIFICATE|PUBLIC KEY)|public.?key|pub_?key|ssh-(?:rsa|ed25519|dss) |ecdsa-sha2-\S+ ",
    re.I,
)
#: What looks random and is meant to be read: digests, pictures, addresses, public keys.
_HARMLESS = re.compile(
    r"""data:[\w/+.;=-]*;base64,[A-Za-z0-9+/=]*|\b(?:sha(?:1|224|256|384|512)|md5|h1|blake[23]\w*)[-:=/ ][A-Za-z0-9+/=_-]{20,}
    |(?:ssh-(?:rsa|ed25519|dss)|ecdsa-sha2-[\w-]+)\s+[A-Za-z0-9+/=]+|[a-z][a-z0-9+.-]{0,30}://[^\s?#"'`<>]+
    |(?i:integrity|digest|checksum|fingerprint|commit|revision|etag|nonce|hash)["'\s:=`]+[A-Za-z0-9+/=_-]+""",
    re.VERBOSE | re.ASCII,
)
_LONG = re.compile(r"(?<![\w/+=.~@%\\-])[A-Za-z0-9][\w/+.~-]{22,158}={0,2}(?![\w/+=~@%(\[-])", re.ASCII)
_BASE64 = re.compile(r"(?<![\w/+=-])[A-Za-z0-9+/]{20,4000}={0,2}(?![\w/+=-])", re.ASCII)
_WRAPPED = re.compile(r"\s*[A-Za-z0-9+/]{40,}={0,2}\s*")
#: Full-width letters and marks count as the plain ones; each stays one character.
_NARROW = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20}
_SMALL = {code: code + 0x20 for code in range(0x41, 0x5B)}


def find(text: str) -> list[Secret]:
    """Give the likely secrets of *text* in the order of their lines, each kind once a line.

    >>> find("# Router\\n\\nThe password is hunter2.\\n")
    [Secret(line=3, kind='password')]
    """
    return sorted(_told(_places(text)))


def mask(text: str) -> str:
    """Give *text* with every likely secret replaced by its kind; line ends and the rest stay.

    >>> mask("export API_TOKEN=q7Fz0LwXv3RkT9bNc2Hd")
    'export API_TOKEN=[masked: token]'
    """
    lines = text.split("\n")
    for place in reversed(_places(text)):
        line, (start, end, kind) = lines[place.line], place.span
        lines[place.line] = f"{line[:start]}[masked: {kind}]{line[end:]}"
    return "\n".join(lines)


def new_in(text: str, before: str) -> dict[Secret, list[str]]:
    """Give the likely secrets of *text* that *before* does not hold, with their values, for comparing only.

    A value that stood in *before* is not new, whichever line it is on now.
    """
    lines, old = text.split("\n"), before.split("\n")
    start, end = _changed(lines, old)
    places = _places("\n".join(lines[start : len(lines) - end]))
    if not places:
        return {}
    old_lines = old[start : len(old) - end]
    known = {_value(old_lines, place) for place in _places("\n".join(old_lines))}
    places = [place._replace(line=place.line + start) for place in places]
    fresh = [place for place in places if _value(lines, place) not in known]
    told, last = _told(fresh), dict[str, Secret]()
    found: dict[Secret, list[str]] = {}
    for place in fresh:
        secret = Secret(place.line + 1, place.span.kind)
        # A line within a private key counts for the line that key begins in.
        last[secret.kind] = secret if secret in told else last[secret.kind]
        found.setdefault(last[secret.kind], []).append(_value(lines, place))
    return found


def _changed(lines: Sequence[str], old: Sequence[str]) -> tuple[int, int]:
    """Count the lines at the start and at the end that both hold, less some that say what the others mean."""
    most = min(len(lines), len(old))
    start = next((at for at in range(most) if lines[at] != old[at]), most)
    end = next((at for at in range(most - start) if lines[-1 - at] != old[-1 - at]), most - start)
    return max(0, start - _CONTEXT), max(0, end - _CONTEXT)


def _value(lines: Sequence[str], place: _Place) -> str:
    return lines[place.line][place.span.start : place.span.end]


def _told(places: Sequence[_Place]) -> set[Secret]:
    """Name each once; a private key by its first line."""
    found = {Secret(place.line + 1, place.span.kind) for place in places}
    return {one for one in found if one.kind != "private key" or Secret(one.line - 1, one.kind) not in found}


def _places(text: str) -> list[_Place]:
    """Give every likely secret, in order and without overlaps: of two, the longer or the first known."""
    kept: list[_Place] = []
    narrow = text.translate(_NARROW)
    runs, hinted = _worth(narrow)
    if not (runs or hinted):
        return []
    for number, spans in _by_line(narrow.split("\n"), runs, hinted):
        for span in sorted(spans, key=lambda span: (span.start, -span.end)):
            if span.start >= span.end:
                continue
            if kept and kept[-1].line == number and span.start < kept[-1].span.end:
                last = kept.pop().span
                span = Span(last.start, max(last.end, span.end), last.kind)
            kept.append(_Place(number, span))
    return kept


def _worth(text: str) -> tuple[set[int], set[int]]:
    """Give the lines with a run long enough to be a key, and those with a telling word, which counts below too."""
    starts = [0, *(found.end() for found in re.finditer("\n", text))]
    runs = {bisect_right(starts, found.start()) - 1 for found in _SOME_RUN.finditer(text)}
    folded, hinted = text.translate(_SMALL), set[int]()
    for hint in naming.HINTS:
        at = folded.find(hint)
        while at >= 0:
            line = bisect_right(starts, at) - 1
            hinted.update(range(line, line + 4))
            at = folded.find(hint, starts[line + 1]) if line + 1 < len(starts) else -1
    return runs, hinted


def _by_line(
    lines: Sequence[str], runs: Collection[int], hinted: Collection[int]
) -> Iterator[tuple[int, list[Span]]]:
    secret_until = -1
    table: blocks.Table | None = None
    block: blocks.Block | None = None
    for number, line in enumerate(lines):
        if not (number <= secret_until or table or block or number in runs or number in hinted):
            continue
        if number <= secret_until:
            yield number, [_whole(line, "private key")]
            continue
        if "PRIVATE" in line or "Static key" in line or "Pu" in line or "Private-" in line:
            secret_until = _key_end(lines, number)
        if number <= secret_until:
            start = next(found.start() for found in [_BEGIN.search(line)] if found)
            yield number, [Span(start, len(line.rstrip("\r")), "private key"), *_in_line(line[:start], True)]
            continue
        table = blocks.columns(line, table)
        spans = [
            span for at, piece in _pieces(line) for span in _moved(_in_line(piece, number in hinted), at)
        ]
        if table:
            spans += blocks.cells(line, table)
        if number and not spans and line.strip():
            spans += blocks.below(lines, number)
        if block:
            spans += blocks.within(block, line)
            block = None if blocks.ends(block, line, number) else block
        if number in hinted:
            block = blocks.opened(lines, number) or block
        if spans or _WRAPPED.fullmatch(line):
            yield number, spans
        elif len(line) > 14:
            yield number, [span for at, piece in _pieces(line) for span in _moved(_alone(piece), at)]


def _pieces(line: str) -> Iterator[tuple[int, str]]:
    """Give a long line in pieces that overlap, so that its cost grows with its length and no faster."""
    if len(line) <= _PIECE + _OVERLAP:
        yield 0, line
        return
    for start in range(0, len(line), _PIECE):
        piece = line[start : start + _PIECE + _OVERLAP]
        # Half a word at its start was in the piece before; without its first half it looks like chance.
        edge = _BREAK.search(piece) if start else None
        if not start or edge:
            cut = edge.start() if edge else 0
            yield start + cut, piece[cut:]


def _moved(spans: Sequence[Span], by: int) -> list[Span]:
    return [Span(span.start + by, span.end + by, span.kind) for span in spans] if by else [*spans]


def _whole(line: str, kind: str) -> Span:
    bare = line.rstrip("\r")
    return Span(len(bare) - len(bare.lstrip()), len(bare), kind)


def _key_end(lines: Sequence[str], number: int) -> int:
    """Give the last line of the private key that begins in line *number*; -1 when only its name is there."""
    begin = _BEGIN.search(lines[number])
    if not begin:
        return -1
    if _BODY.match(lines[number], begin.end()):
        return number
    last = number
    for at in range(number + 1, min(len(lines), number + _LONGEST_KEY)):
        if _END.search(lines[at]):
            return at if last > number or at > number + 1 else -1
        if _BODY.match(lines[at]):
            last = at
        elif lines[at].strip() and ":" not in lines[at]:
            break
    return last if last > number else -1


def _in_line(line: str, hinted: bool) -> list[Span]:
    spans = [*forms.find(line), *commands.find_bare(line)]
    if hinted:
        spans += words.find(line, line.translate(_SMALL))
    return spans or [*forms.find_more(line)]


def _alone(line: str) -> list[Span]:
    """Give what is random, or hides a secret in base64, with no word that calls it so."""
    if _PUBLIC.search(line):
        return []
    blank = _HARMLESS.sub(lambda found: " " * len(found.group()), line)
    spans = []
    for found in _BASE64.finditer(blank):
        inside = forms.decoded(found.group())
        if any(_in_line(part, True) for part in inside.split("\n")):
            spans.append(Span(*found.span(), "secret in base64"))
    if naming.NEAR.search(blank.translate(_SMALL)):
        spans += words.find_near(blank)
    spans += [
        Span(*found.span(), "random key")
        for found in _LONG.finditer(blank)
        if values.is_random_alone(found.group().rstrip("."))
    ]
    return spans
