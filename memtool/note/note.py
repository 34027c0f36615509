"""The bytes of a note <-> a `Note`: its text, its lines, what its front matter says, where the body begins.

Reading never fails: what is wrong with a note is a finding, and its text is there all the same.
Setting a key changes the bytes of that key and no other. Knows nothing of files and folders.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from memtool.errors import Finding, NoteError
from memtool.note.anchor import Anchor
from memtool.note.codec import Decoded, decode
from memtool.note.front_matter import closing, looks_like_key, opens, read
from memtool.note.key_edit import added, replaced
from memtool.note.yaml_block import FIRST_LINE, Block, Value, read_yaml
from memtool.tense.dates import get_date

__all__ = ["Anchor", "Note", "Value", "get_date", "get_list", "get_text", "parse", "remove_key", "set_key"]

DATE_KEYS = ("created", "updated", "date", "modified", "valid_from", "valid_to", "review_by")
_LIST_OF_WORDS = ("tags", "tag", "keywords")
_NOTHING = ("", "~", "null")
_PLACEHOLDER = re.compile(r"\{\{|\{%|<%")


@dataclass(frozen=True, slots=True)
class Note:
    """A note as read: the bytes it came from and all that was understood of them.

    ``lines`` have no line ends; a line is what "\\n" ends, in the whole file, front matter
    included. ``meta`` is empty where the front matter cannot be read.
    """

    data: bytes
    text: str
    encoding: str
    lines: tuple[str, ...]
    body_start: int
    meta: Mapping[str, Value]
    spans: Mapping[str, tuple[int, int]]
    findings: tuple[Finding, ...]


def parse(data: bytes) -> Note:
    """Read a note; what is wrong with it becomes findings without a path. Never raises.

    >>> note = parse(b"---\\ntitle: 0123\\n---\\nText.\\n")
    >>> note.meta["title"], note.body_start, note.lines[3]
    ('0123', 4, 'Text.')
    """
    decoded = decode(data)
    text = decoded.text
    lines = _lines(text)
    body_start, block = _front_matter(lines)
    findings = [*_byte_findings(decoded), *block.findings, *_date_findings(block), *_conflicts(text, lines)]
    return Note(data, text, decoded.name, lines, body_start, block.meta, block.spans, tuple(findings))


def _lines(text: str) -> tuple[str, ...]:
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    if "\r" in text:
        lines = [line[:-1] if line.endswith("\r") else line for line in lines]
    return tuple(lines)


# ------------------------------------------------------------------ front matter


def _front_matter(lines: Sequence[str]) -> tuple[int, Block]:
    """Give the line on which the body begins, and what stands above it.

    A note may also open with a rule: then what follows is no block of keys, and is body.
    """
    nothing = Block({}, {}, [])
    if not lines or not opens(lines[0]):
        return 1, nothing
    end = closing(lines)
    if end:
        block = read(lines[1:end])
        if block.readable or not _is_body(lines[1:end]):
            return end + 2, block
    if len(lines) > 1 and looks_like_key(lines[1]):
        fix = "close it with a line --- below its last key"
        found = Finding("front-matter-open", "", 1, "front matter not closed", fix)
        return 1, nothing._replace(findings=[found])
    return 1, nothing


def _is_body(lines: Sequence[str]) -> bool:
    """Tell prose between two rules from front matter with a mistake in it: prose comes after a blank line."""
    blank = next((number for number, line in enumerate(lines) if not line.strip()), None)
    if blank is None:
        return False
    first = next((line for line in lines[blank:] if line.strip() and not line.startswith("#")), "")
    begins_with_key = looks_like_key(next((line for line in lines if line.strip()), ""))
    return not begins_with_key or (first[:1] not in (" ", "-", "") and not looks_like_key(first))


# ------------------------------------------------------------------ findings


def _byte_findings(decoded: Decoded) -> Iterator[Finding]:
    raw = decoded.raw
    if decoded.codec != "utf-8" or decoded.errors != "strict":
        bad = re.search("[\udc80-\udcff]", raw)
        line = raw.count("\n", 0, bad.start()) + 1 if bad else 0
        what = f"not valid UTF-8; read as {decoded.name}"
        yield Finding("not-utf-8", "", line, what, "save the note as UTF-8")
    if (place := raw.find("\0")) >= 0:
        line = raw.count("\n", 0, place) + 1
        yield Finding("nul-bytes", "", line, "the note holds NUL bytes, shown as \u2400", "take them out")


def _date_findings(block: Block) -> Iterator[Finding]:
    for key in DATE_KEYS:
        value = block.meta.get(key)
        if not isinstance(value, str) or value.strip() in _NOTHING or _PLACEHOLDER.search(value):
            continue
        if get_date(value) is None:
            line = block.spans[key][0] if key in block.spans else FIRST_LINE
            what = f"{key} is not a date: {value!r}"
            yield Finding("bad-date", "", line, what, "write it as in 2026-04-01")


def _conflicts(text: str, lines: Sequence[str]) -> Iterator[Finding]:
    """Find what git leaves behind when two versions were never brought together."""
    if "<<<<<<<" not in text and ">>>>>>>" not in text:
        return
    half = False
    for number, line in enumerate(lines, 1):
        half = half or line == "=======" or line.startswith("||||||| ")
        if re.match(r"<{7}(?: |$)" if not half else r"[<>]{7}(?: |$)", line):
            fix = "keep the right lines, and take the <<<<<<<, ======= and >>>>>>> lines out"
            yield Finding("merge-conflict", "", number, "unresolved merge conflict", fix)
            return


# ------------------------------------------------------------------ forgiving readers


def get_text(note: Note, key: str) -> str:
    """Give a value as one line of text; empty when it is missing, null, or a mapping."""
    value = note.meta.get(key, "")
    if isinstance(value, list):
        return ", ".join(_words(value))
    return "" if isinstance(value, dict) or value.strip() in _NOTHING else value.strip()


def is_frozen(data: bytes) -> bool:
    """Tell whether a note's front matter keeps agents from writing to it."""
    return b"frozen" in data and get_text(parse(data), "frozen").lower() in ("true", "yes", "on")


def get_list(note: Note, key: str) -> list[str]:
    """Give a value as a list: a single text is one item, and tags may also stand between commas."""
    value = note.meta.get(key, "")
    if isinstance(value, str):
        value = _split(value.strip(), commas=key in _LIST_OF_WORDS)
    items = _words(value)
    return [item.removeprefix("#") for item in items] if key in _LIST_OF_WORDS else items


def _split(text: str, *, commas: bool) -> list[Value]:
    if text in _NOTHING:
        return []
    if text.startswith("[") and text.endswith("]"):
        text, commas = text[1:-1], True
    return [part.strip(" \t'\"") for part in re.split("[,、，]", text)] if commas else [text]


def _words(value: Value) -> list[str]:
    if isinstance(value, str):
        return [] if value.strip() in _NOTHING else [value.strip()]
    if isinstance(value, dict):
        return [f"{key}: {word}" for key, item in value.items() for word in _words(item)]
    return [word for item in value for word in _words(item)]


# ------------------------------------------------------------------ one key


def set_key(data: bytes, key: str, value: str | Sequence[str]) -> bytes:
    """Give the note's bytes with one key set; every byte that is not that key's stays.

    Raises `NoteError` when that cannot be done exactly, or when it is not clear what to change.
    """
    decoded, note = decode(data), parse(data)
    _check_can_change(decoded, note, key)
    wanted: Value = value if isinstance(value, str) else list(value)
    if key in note.spans and note.meta.get(key) == wanted:
        return data
    for raw in _rewritten(decoded.raw, note, key, value):
        try:
            changed = decoded.encode(raw)
        except UnicodeEncodeError as error:
            why = f"{error.object[error.start : error.end]!r} does not exist in {decoded.name}"
            raise NoteError(f"cannot set {key}", why=why, fix="save the note as UTF-8 first") from error
        again = parse(changed)
        if again.meta == {**note.meta, key: wanted} and _body(again) == _body(note):
            return changed
    why = "no way of writing it leaves the rest of the front matter as it is"
    raise NoteError(f"cannot set {key}", why=why, fix="edit the front matter by hand")


def remove_key(data: bytes, key: str) -> bytes:
    """Give the note's bytes without one key and its lines; a key that is not there is no change.

    Raises `NoteError` when that cannot be done exactly.
    """
    decoded, note = decode(data), parse(data)
    _check_can_change(decoded, note, key)
    if key not in note.meta:
        return data
    start, end = note.spans.get(key, (1, 0))
    rows = decoded.raw.split("\n")
    changed = decoded.encode("\n".join([*rows[: start - 1], *rows[end:]]))
    again, rest = parse(changed), {name: value for name, value in note.meta.items() if name != key}
    if again.meta != rest or _body(again) != _body(note):
        why = "its lines hold more than that key"
        raise NoteError(f"cannot take {key} out", why=why, fix="edit the front matter by hand")
    return changed


def _check_can_change(decoded: Decoded, note: Note, key: str) -> None:
    if decoded.encode(decoded.raw) != note.data:
        why = f"it cannot be written back exactly as {decoded.name}"
        raise NoteError(f"cannot set {key}", why=why, fix="save the note as UTF-8 first")
    for finding in note.findings:
        broken = finding.code in ("front-matter-yaml", "front-matter-open", "alias-bomb", "recursive-value")
        if broken or (finding.code == "duplicate-key" and f" {key!r} " in finding.what):
            raise NoteError(f"cannot set {key}", why=f"line {finding.line}: {finding.what}", fix=finding.fix)


def _rewritten(raw: str, note: Note, key: str, value: str | Sequence[str]) -> Iterator[str]:
    newline = "\r\n" if raw.partition("\n")[0].endswith("\r") else "\n"
    if note.body_start == 1:
        for written in added("", [], key, value, newline):
            yield f"---{newline}{written}---{newline}{raw}"
        return
    lines = raw.split("\n")
    block = "".join(f"{line}\n" for line in lines[1 : note.body_start - 2])
    head, tail = lines[0] + "\n", "\n".join(lines[note.body_start - 2 :])
    entries = read_yaml(note.lines[1 : note.body_start - 2]).entries
    entry = next((entry for entry in entries if entry.key == key and key in note.meta), None)
    ways = replaced(block, entry, note.meta[key], value, newline) if entry else None
    for written in ways or added(block, entries, key, value, newline):
        yield head + written + tail


def _body(note: Note) -> tuple[str, ...]:
    return note.lines[note.body_start - 1 :]
