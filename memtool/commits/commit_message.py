r"""What changed in some notes -> the message of a commit: names and sections, in words.

Pure: takes bytes before and after. A note is data, so what it says never becomes a line or a
trailer of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from memtool import names, runs
from memtool.catalog.catalog_page import is_generated
from memtool.chunks.chunks import Heading, cut
from memtool.identity import HUMAN as HUMAN
from memtool.identity import Signature as Signature
from memtool.identity import signature as signature
from memtool.note import note

SUBJECT = 72  # characters; more is cut off where commits are listed
DETAILED = 50  # notes whose sections are named; of more, only the names
LISTED = 200  # notes that are named at all
_SECTIONS = 4
_ALIKE = 0.5  # share of equal lines from which on a note gone and a new one are one note renamed
_COMPARED = 40  # notes gone and notes new that are compared for that

_VERBS = {"added": "Add", "changed": "Change", "renamed": "Rename", "deleted": "Delete"}


class Edit(NamedTuple):
    """One note before and after; None where it is not there. ``old_path`` where it was renamed."""

    path: str
    before: bytes | None
    after: bytes | None
    old_path: str = ""

    @property
    def kind(self) -> str:
        if self.old_path:
            return "renamed"
        return "added" if self.before is None else "deleted" if self.after is None else "changed"


def message(edits: Sequence[Edit], signed: Signature, more: Sequence[str] = ()) -> str:
    """Write the message: a subject, one line for each note, the trailers, *more* of them last."""
    edits = renames(edits)
    body = [f"- {_line(edit)}" for edit in edits[:DETAILED]]
    body += [f"- {edit.kind.capitalize()} {_named(edit)}" for edit in edits[DETAILED:LISTED]]
    if len(edits) > LISTED:
        body.append(f"- and {len(edits) - LISTED} more")
    trailers = [f"Memtool-{key.capitalize()}: {value}" for key, value in signed._asdict().items() if value]
    return "\n".join([subject(edits), "", *body, "", *trailers, *more]) + "\n"


def subject(edits: Sequence[Edit]) -> str:
    """Say in one line what changed, with names where they fit.

    >>> subject([Edit("a.md", None, b"x"), Edit("b.md", b"x", b"y")])
    'Add a.md, change b.md'
    >>> subject([Edit(f"folder/note-{number}.md", b"x", None) for number in range(9)])
    'Delete 9 notes'
    """
    own = [edit for edit in edits if not is_generated(edit.path)] or list(edits)
    if len(own) == 1 and own[0].kind == "changed":
        places = ", ".join(_places(own[0]))
        full = f"Change {_named(own[0])}: {places}"
        if places and len(full) <= SUBJECT:
            return full
    by_kind = {kind: [edit for edit in own if edit.kind == kind] for kind in _VERBS}
    parts = [(_VERBS[kind], some) for kind, some in by_kind.items() if some]
    named = _sentence([f"{verb} {', '.join(map(_named, some))}" for verb, some in parts])
    if len(named) <= SUBJECT or len(own) == 1:
        return named
    return _sentence([f"{verb} {len(some)} note{'s' * (len(some) > 1)}" for verb, some in parts])


def _sentence(parts: Sequence[str]) -> str:
    return ", ".join([parts[0], *(part[0].lower() + part[1:] for part in parts[1:])])


def _named(edit: Edit) -> str:
    path = names.printable(edit.path)
    return f"{names.printable(edit.old_path)} to {path}" if edit.old_path else path


def _line(edit: Edit) -> str:
    """Say what happened to one note: its title when it is new or gone, else where it changed."""
    head = f"{edit.kind.capitalize()} {_named(edit)}"
    if edit.before is None or edit.after is None:
        title = _title(edit.before or edit.after or b"")
        return f'{head}: "{title}"' if title else head
    places, (more, less) = _places(edit), _counts(edit)
    counts = f"(+{more} -{less} lines)" if more or less else ""
    return " ".join(filter(None, [head + ":" if places else head, ", ".join(places), counts]))


def _title(data: bytes) -> str:
    read = note.parse(data)
    heads = (line.lstrip("# ") for line in read.lines[read.body_start - 1 :] if line.startswith("# "))
    return _short(note.get_text(read, "title") or next(heads, ""))


def _short(text: str) -> str:
    text = names.one_line(text)
    return text if len(text) <= 40 else text[:39] + "…"


# Where it changed


def _places(edit: Edit) -> list[str]:
    """Name what differs: keys of the front matter, then the sections, in the order of the note."""
    if edit.before is None or edit.after is None or is_generated(edit.path):
        return []
    old, new = note.parse(edit.before), note.parse(edit.after)
    keys = [key for key in {**new.meta, **old.meta} if old.meta.get(key) != new.meta.get(key)]
    found = [f"front matter ({', '.join(map(_short, keys[:_SECTIONS]))})"] if keys else []
    sections = list(dict.fromkeys(_sections(old, new)))
    more = [f"{len(sections) - _SECTIONS} more sections"] if len(sections) > _SECTIONS else []
    return found + sections[:_SECTIONS] + more


def _sections(old: note.Note, new: note.Note) -> Iterator[str]:
    heads_old, heads_new = cut(old).headings, cut(new).headings
    for (first, last), (start, end) in runs.differing(old.lines, new.lines):
        yield from _under(heads_new, range(max(start, new.body_start - 1) + 1, end + 1), new.lines)
        # Lines that went without a trace are named by where they stood.
        if start == end:
            yield from _under(heads_old, range(max(first, old.body_start - 1) + 1, last + 1), old.lines)


def _under(headings: Sequence[Heading], lines: range, text: Sequence[str]) -> Iterator[str]:
    for number in lines:
        if text[number - 1].strip():
            inner = [heading for heading in headings if heading.line <= number <= heading.end]
            if inner:
                yield _short(inner[-1].text)


def _counts(edit: Edit) -> tuple[int, int]:
    old, new = (edit.before or b"").split(b"\n"), (edit.after or b"").split(b"\n")
    pairs = list(runs.differing(old, new))
    return sum(b - a for _, (a, b) in pairs), sum(b - a for (a, b), _ in pairs)


# Renames


def renames(edits: Sequence[Edit]) -> list[Edit]:
    """Join a note gone and a new one that says the same, or nearly, to one note renamed."""
    gone = {edit.path: edit for edit in edits if edit.kind == "deleted"}
    found: dict[str, Edit] = {}
    new = [edit for edit in edits if edit.kind == "added"]
    for least in (1.0, _ALIKE) if len(gone) <= _COMPARED and len(new) <= _COMPARED else (1.0,):
        for edit in new:
            if edit.path not in found and (old := _nearest(edit, list(gone.values()), least)):
                found[edit.path] = Edit(edit.path, old.before, edit.after, old.path)
                del gone[old.path]
    left = {edit.path for edit in edits if edit.kind == "deleted"} - gone.keys()
    return [found.get(edit.path, edit) for edit in edits if edit.path not in left]


def _nearest(edit: Edit, gone: Sequence[Edit], least: float) -> Edit | None:
    if least == 1.0:
        return next((old for old in gone if old.before == edit.after and edit.after), None)
    scored = [(_alike(old.before or b"", edit.after or b""), old) for old in gone]
    best = max(scored, key=lambda pair: pair[0], default=(0.0, None))
    return best[1] if best[0] >= least else None


def _alike(old: bytes, new: bytes) -> float:
    a, b = old.split(b"\n"), new.split(b"\n")
    if len(a) * len(b) > runs.LARGEST:
        return 0.0
    return SequenceMatcher(None, a, b, autojunk=False).quick_ratio()
