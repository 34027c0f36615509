"""A note -> what it says of its own standing: from when to when it holds, what it replaces, who verified it.

Read once, when the note is read; kept by the index as JSON, "" for a note that says nothing. What a
note's standing is at some time, among others, is for `beliefs` to say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from memtool import kinds
from memtool.errors import Finding
from memtool.note import note
from memtool.note.yaml_block import Value
from memtool.tense.dates import get_date
from memtool.tense.stated import Stated, Verified

#: Where a note says since when it holds, what stands first counting first; and when it was last true.
_SINCE, _SEEN = ("valid_from", "created", "date"), ("updated", "modified")

_DATE_IN_NAME = re.compile(
    r"(?<!\d)(?P<year>(?:19|20)\d{2})"
    r"(?:(?:[-_.]?(?P<month>0[1-9]|1[0-2])|年(?P<month2>1[0-2]|[1-9]))(?:[-_.月]?(?P<day>0[1-9]|[12]\d|3[01]|[1-9](?=日)))?)?(?!\d)"
)
_LINK = re.compile(r"!?\[\[(?P<name>[^\]|#]+)[^\]]*\]\]|\[[^\]]*\]\((?P<path>[^)\s]+)[^)]*\)")
_MOST = 50


def of(parsed: note.Note, path: str) -> Stated:
    """Read what the note at *path* says of its standing."""
    stem = path.rpartition("/")[2].rpartition(".")[0]
    since = _first_day(parsed, _SINCE) or day_in_name(stem)
    seen = _first_day(parsed, _SEEN)
    end = _first_day(parsed, ("valid_to",))
    if end and since and end < since:
        end = ""
    return Stated(
        start=since or seen,
        end=end,
        seen=max(seen, since),
        bound=bool(_first_day(parsed, ("valid_from",)) or end),
        supersedes=tuple(names(parsed.meta.get("supersedes"))),
        superseded_by=tuple(names(parsed.meta.get("superseded_by"))),
        verified=_verified(parsed),
        review_by=_first_day(parsed, ("review_by",)),
        watches=tuple(_watches(parsed.meta.get("watches"))),
    )


def day_in_name(stem: str) -> str:
    """Give the day that a file's name tells, the first one of a month or a year.

    >>> day_in_name("2023-12-30-coaches"), day_in_name("返金-2024"), day_in_name("rfc-3339")
    ('2023-12-30', '2024-01-01', '')
    """
    found = _DATE_IN_NAME.search(stem)
    if not found:
        return ""
    when = get_date(
        "-".join((found["year"], found["month"] or found["month2"] or "01", found["day"] or "01"))
    )
    return when.date().isoformat() if when else ""


def names(value: Value | None) -> Iterator[str]:
    """Give the notes that a value names: paths, titles, links of either kind."""
    texts = value if isinstance(value, list) else [value]
    for text in texts[:_MOST]:
        if isinstance(text, list):  # [[name]] without quotes is a list in a list to YAML
            yield from (name.partition("|")[0] for name in names(text))
        elif isinstance(text, str) and text.strip():
            link = _LINK.search(text)
            yield (link["name"] or link["path"] if link else text).strip()


def _first_day(parsed: note.Note, keys: tuple[str, ...]) -> str:
    for key in keys:
        when = get_date(note.get_text(parsed, key)) if key in parsed.meta else None
        if when:
            return when.date().isoformat()
    return ""


def _verified(parsed: note.Note) -> Verified | None:
    """Read the stamp of a verification, and whether the lines it covers still stand as they were."""
    from memtool import pin

    stamp = parsed.meta.get("verified")
    if not isinstance(stamp, Mapping) or not stamp.get("digest"):
        return None
    given = {key: value for key, value in stamp.items() if isinstance(value, str)}
    start, end = (
        pin.stands_at(parsed.lines, parsed.body_start, given.get("lines", ""), given["digest"])
        if "digest" in given
        else (0, 0)
    )
    return Verified(
        given.get("by", ""),
        given.get("at", ""),
        given.get("against", ""),
        start,
        end,
        given.get("watched", ""),
    )


def _watches(value: Value | None) -> Iterator[str]:
    """Give what a note watches as ``kind:what``; a text without a kind is a file glob."""
    items = value if isinstance(value, list) else [value]
    for item in items[:_MOST]:
        if isinstance(item, Mapping):
            yield from (f"{kind}:{_told(what)}" for kind, what in item.items() if what)
        elif isinstance(item, str) and item.strip():
            yield item.strip()


def _told(value: Value) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def findings(parsed: note.Note) -> Iterator[Finding]:
    """Tell what is odd about what a note says of its standing."""
    if "valid_to" in parsed.meta and "valid_from" in parsed.meta:
        start, end = _first_day(parsed, ("valid_from",)), _first_day(parsed, ("valid_to",))
        if start and end and end < start:
            line, what = (
                parsed.spans.get("valid_to", (0, 0))[0],
                f"it ends on {end}, before it begins on {start}",
            )
            yield Finding("valid-backwards", "", line, what, "swap them")
    stamp = parsed.meta.get("verified")
    if isinstance(stamp, Mapping) and not stamp.get("digest"):
        what = "`verified` was written by hand: nothing tells which lines it covers, so it is not shown"
        line = parsed.spans.get("verified", (0, 0))[0]
        yield Finding("verified-by-hand", "", line, what, "run `memtool verify NOTE --against SOURCE`")
    yield from _unknown_type(parsed)


def _unknown_type(parsed: note.Note) -> Iterator[Finding]:
    """Tell of a type that has no rules, with the one it was probably meant to be."""
    name = note.get_text(parsed, "type")
    if name and kinds.kind_of(name) is None:
        near = kinds.nearest(name)
        fix = f"write `{near}`" if near else f"write one of {', '.join(kinds.KINDS)}, or none"
        line = parsed.spans.get("type", (0, 0))[0]
        yield Finding(
            "type-unknown", "", line, f"`{name[:60]}` is no type, so no rules are known for it", fix
        )
