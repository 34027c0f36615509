"""Lines of old episodes -> a note that cites each of them; made again from the originals, never from itself.

What memtool wrote stands between two markers, and front matter names the sources and digests; all other
text is a person's and stays. A part that somebody edited is left alone and told of.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from memtool import pin, secrets, writer
from memtool.catalog import catalog_page
from memtool.errors import ConflictError
from memtool.lifecycle.aged import Aged
from memtool.links import links
from memtool.note import note
from memtool.note.anchor import Anchor

BEGIN = "<!-- memtool:folded begin: made from the notes below; write outside these two marks -->"
END = "<!-- memtool:folded end -->"

#: Where folded notes are put.
FOLDER = "folded"

_PART = re.compile(
    r"^<!-- memtool:folded begin[^\n]*-->\r?$(?P<part>.*?)^<!-- memtool:folded end -->", re.M | re.S
)
_LONGEST = 300  # characters of a line that are shown; its source has all of them
_LIST = re.compile(r"^\s*(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
_PINNED = re.compile(r"@[0-9a-f]{8,64}$")


class Cited(NamedTuple):
    """One line of a folded note and the lines of an original that it stands for."""

    path: str
    start: int
    end: int
    text: str


class Fold(NamedTuple):
    """What a folded note is made of: its place, title, topic, period, sources and chosen lines."""

    path: str
    title: str
    tags: tuple[str, ...]
    sources: Sequence[Aged]
    lines: Sequence[Cited]
    created: str = ""


def sources_of(parsed: note.Note) -> list[str]:
    """Name the notes that a folded note says it was made from, without their digests."""
    return [_PINNED.sub("", name) for name in note.get_list(parsed, "folds")]


def state(sources: Sequence[Aged]) -> str:
    """Give a digest of all that a folded note is made from."""
    told = "\n".join(sorted(source.digest for source in sources))
    return hashlib.sha256(told.encode()).hexdigest()[: pin.SHORT]


def part_digest(text: str) -> str:
    """Give a digest of what stands between the markers; links in it may follow moved notes."""
    found = _PART.search(text)
    bare = re.sub(r"\]\([^)\n]*\)|\[\[[^\]\n]*\]\]", "]()", found["part"] if found else "")
    return hashlib.sha256("\n".join(bare.split()).encode("utf-8", "surrogatepass")).hexdigest()[: pin.SHORT]


def render(fold: Fold, before: bytes | None = None) -> bytes:
    """Write the note, or its generated part anew where there is one already.

    Raises ConflictError where a person edited or took out that part.
    """
    part = "\n".join([BEGIN, *_part(fold), END])
    keys = {"folds": [f"{one.path}@{pin.digest(one.note.lines)[: pin.SHORT]}" for one in fold.sources]}
    if before is None:
        meta: dict[str, str | Sequence[str]] = {"type": "semantic", "folded": "1"}
        meta |= {"tags": list(fold.tags)} if fold.tags else {}
        text = writer.render(fold.title, f"# {fold.title}\n\n{part}", meta, created=fold.created)
        data = text.encode("utf-8", "replace")
    else:
        check(fold.path, before)
        old = before.decode("utf-8", "surrogateescape")
        newline = "\r\n" if "\r\n" in old else "\n"
        data = _PART.sub(lambda _: part.replace("\n", newline), old, count=1).encode(
            "utf-8", "surrogateescape"
        )
    values: dict[str, str | Sequence[str]] = {**keys, "folded_from": state(fold.sources)}
    for key, value in {**values, "folded_part": part_digest(note.parse(data).text)}.items():
        data = note.set_key(data, key, value)
    return data


def check(path: str, data: bytes) -> None:
    """Raise ConflictError where the generated part is not as it was written."""
    parsed = note.parse(data)
    there = _PART.search(parsed.text)
    if not there or part_digest(parsed.text) != note.get_text(parsed, "folded_part"):
        fix = "move your lines out of the marked part, or take the marks out and keep it as yours"
        what = f"{path} was edited between its marks"
        raise ConflictError(what, why="nobody's words are replaced", fix=fix)


def _part(fold: Fold) -> list[str]:
    by_path = {source.path: source for source in fold.sources}
    said = [_line(fold, line, by_path[line.path]) for line in fold.lines]
    listed = [_source(fold, source) for source in fold.sources]
    return ["", *said, "", f"Made from {len(listed)} note{'s' * (len(listed) > 1)}:", "", *listed, ""]


def _line(fold: Fold, line: Cited, source: Aged) -> str:
    anchor = pin.pinned(Anchor(line.path, line.start, line.end), source.note.lines)
    text = links.rebase(line.text, line.path, fold.path, lambda _: True)
    text = secrets.mask(_harmless(_LIST.sub("", text)))
    day = f"{source.day}: " if source.day else ""
    return f"- {day}{text} (`{_ticked(str(anchor))}`)"


def _source(fold: Fold, source: Aged) -> str:
    import posixpath

    target = posixpath.relpath(source.path, posixpath.dirname(fold.path) or ".")
    name = secrets.mask(_harmless(source.title)).replace("[", "(").replace("]", ")")
    return f"- [{name}]({catalog_page.link(target)})" + (f", {source.day}" if source.day else "")


def _harmless(text: str) -> str:
    """Put a text on one line that can end neither the part nor the line."""
    text = " ".join(text.replace("<!--", "<\u200b!--").split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _ticked(text: str) -> str:
    return text.replace("`", "'")


def anchors(text: str) -> list[str]:
    """Give the pinned anchors that a folded note cites, in order."""
    found = _PART.search(text)
    return re.findall(r"\(`([^`\n]+:\d+-\d+@[0-9a-f]+)`\)$", found["part"] if found else "", re.M)


def as_sources(notes: Mapping[str, Aged], names: Sequence[str]) -> tuple[list[Aged], list[str]]:
    """Find the originals by the names a folded note gives, moved in or out of the archive or not."""
    from memtool.door.moving import ARCHIVE
    from memtool.lifecycle.aged import is_archived, origin

    found, gone = [], []
    for name in names:
        other = origin(name) if is_archived(name) else f"{ARCHIVE}/{name}"
        one = notes.get(name) or notes.get(other)
        found += [one] if one else []
        gone += [] if one else [name]
    return found, gone
