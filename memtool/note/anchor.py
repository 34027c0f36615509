"""An address in a vault <-> its text: ``path:start-end``, pinned by a digest or not.

Knows how an address is written. Knows nothing of what lies there.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from memtool.errors import UsageError

_ANCHOR = re.compile(
    r"(?P<path>.+?):(?P<start>[0-9]{1,9})(?:-(?P<end>[0-9]{1,9}))?(?:@(?P<digest>[0-9a-f]{4,64}))?",
    re.DOTALL,
)
# A note's own name may end in @ and letters; only behind a note's suffix is that a digest.
_WHOLE = re.compile(r"(?P<path>.+\.(?:md|markdown))@(?P<digest>[0-9a-f]{4,64})", re.DOTALL | re.IGNORECASE)


class Anchor(NamedTuple):
    """The address of some lines; ``start`` 0 means the whole note, ``digest`` pins what they said."""

    path: str
    start: int
    end: int
    digest: str = ""

    @classmethod
    def parse(cls, text: str) -> Anchor:
        """Read ``path``, ``path:line`` or ``path:start-end``, each but the first with ``@digest`` or without.

        >>> Anchor.parse("ops/a:b.md:7")
        Anchor(path='ops/a:b.md', start=7, end=7, digest='')
        """
        found = _ANCHOR.fullmatch(text)
        if not found:
            if whole := _WHOLE.fullmatch(text):
                return cls(whole["path"], 0, 0, whole["digest"])
            if text.strip():
                return cls(text, 0, 0)
            raise UsageError("an anchor is missing", fix="name a note, as in ops/staging.md:14-19")
        start = int(found["start"])
        end = int(found["end"] or start)
        if not 1 <= start <= end:
            raise UsageError(
                f"{text} names no lines",
                why="lines count from 1, and the first comes before the last",
                fix="write it as in ops/staging.md:14-19",
            )
        return cls(found["path"], start, end, found["digest"] or "")

    def __str__(self) -> str:
        lines = f":{self.start}-{self.end}" if self.start else ""
        return f"{self.path}{lines}" + (f"@{self.digest}" if self.digest else "")
