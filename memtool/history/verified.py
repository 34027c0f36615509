"""A note's bytes -> the line that says it was verified, and the lines that this covers.

Knows the stamp that a verification leaves. Knows nothing of who wrote which line.
"""

from __future__ import annotations

import re

_VERIFIED = re.compile(rb"^verified[ \t]*:[ \t]*(?P<value>[^\r\n]*)", re.MULTILINE)
_NOT_VERIFIED = (b"", b"false", b"no", b"null", b"~", b"off")


def verified_line(data: bytes) -> int:
    r"""Give the line of the front matter that says the note was verified; 0 when none does.

    >>> verified_line(b"---\ntitle: A\nverified: 2026-03-01\n---\nverified: no\n")
    3
    """
    data = data.removeprefix(b"\xef\xbb\xbf")
    if not data.startswith(b"---"):
        return 0
    close = re.compile(rb"^(?:---|\.\.\.)[ \t]*\r?$", re.MULTILINE).search(data, 3)
    found = _VERIFIED.search(data, 0, close.start() if close else 0)
    if not found or found["value"].strip(b" \t\"'").lower() in _NOT_VERIFIED:
        return 0
    return data.count(b"\n", 0, found.start()) + 1


def covered_lines(data: bytes) -> tuple[int, int]:
    """Give the lines that a verification covers where they stand now; (0, 0) when it covers none any more.

    A stamp written by hand names no lines, so it speaks for the whole note.
    """
    from memtool import pin
    from memtool.note import note

    parsed = note.parse(data)
    stamp = parsed.meta.get("verified")
    if not isinstance(stamp, dict):
        return 1, len(parsed.lines)
    lines, digest = stamp.get("lines"), stamp.get("digest")
    if not isinstance(lines, str) or not isinstance(digest, str):
        return 0, 0
    return pin.stands_at(parsed.lines, parsed.body_start, lines, digest)
