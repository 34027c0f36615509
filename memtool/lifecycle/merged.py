"""Two notes that say nearly the same -> one that holds every distinct line of both, with its date and source.

The kept note is not touched but for a section at its end; the other one is linked from there, and says
itself what took its place.
"""

from __future__ import annotations

from collections.abc import Sequence

from memtool.door import line_edit
from memtool.lifecycle.aged import Aged
from memtool.links import links
from memtool.note import note


def joined(data: bytes, other: Aged, to: str) -> bytes:
    """Append to the kept note, as it is in *data*, what the other one, which goes to *to*, says besides."""
    return line_edit.append(data, "\n" + "\n".join(_section(data, other, to))).data


def _section(data: bytes, other: Aged, to: str) -> list[str]:
    day = other.day or other.born
    lines = news(note.parse(data).lines, other.body)
    name = links.bare(to)
    head = f"## Merged from [[{name}]]" + (f" ({day})" if day else "")
    if not lines:
        return [head, "", f"It said the same{f' on {day}' if day else ''}, line for line."]
    return [head, "", *lines]


def news(there: Sequence[str], lines: Sequence[str]) -> list[str]:
    """Give the lines that are not *there*, in order; all where fences or tables would be torn.

    >>> news(["Keep out.", "Twice a week."], ["Keep out.", "", "Only on Mondays.", ""])
    ['Only on Mondays.']
    """
    known = {_plain(line) for line in there}
    whole = any(line.lstrip().startswith(("```", "~~~", "|")) for line in lines)
    kept: list[str] = []
    for line in lines:
        if line.strip() and not whole and _plain(line) in known:
            continue
        if line.strip() or (kept and kept[-1].strip()):
            kept.append(line)
    while kept and not kept[-1].strip():
        kept.pop()
    return kept


def _plain(line: str) -> str:
    return " ".join(line.split())
