"""Notes an agent wrote -> what each lacks by the rules of its type.

A remark, never a refusal: what is written without a reason is still better kept than lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from memtool import kinds, standing
from memtool.errors import Finding
from memtool.identity import Signature
from memtool.note import note

_REASONS, _SOURCES = ("reason", "why"), ("source", "sources", "against", "url")


def findings(written: Iterable[tuple[str, bytes]], by: Signature | None) -> Iterator[Finding]:
    """Tell an agent what the notes it wrote lack: a reason, a date, a source; people are not asked."""
    if by is None or not by.is_agent:
        return
    for path, data in written:
        parsed = note.parse(data)
        kind = kinds.kind_of(note.get_text(parsed, "type"))
        for what in kind.must_carry if kind else ():
            if found := _lacks(what, path, parsed, by):
                yield Finding(
                    f"{what}-missing", path, 0, f"a {kind.name if kind else ''} note {found[0]}", found[1]
                )


def _lacks(what: str, path: str, parsed: note.Note, by: Signature) -> tuple[str, str] | None:
    if what == "reason" and not by.reason and not _has(parsed, _REASONS):
        return "was written without a reason", "say why: `--reason TEXT`"
    if what == "date" and not standing.of(parsed, path).start:
        return "tells no day", "give `created`, or name the file for its day"
    if what == "source" and not _has(parsed, _SOURCES):
        return "names no source", "give `source`: where it was read"
    return None


def _has(parsed: note.Note, keys: tuple[str, ...]) -> bool:
    return any(parsed.meta.get(key) for key in keys)


def speaks_for_another(before: bytes | None, after: bytes | None, by: Signature) -> str:
    """Give in whose name an agent's change says that lines were verified; "" where in none but its own."""
    if not by.is_agent or after is None or b"verified" not in after:
        return ""
    stamp = note.parse(after).meta.get("verified")
    if not isinstance(stamp, Mapping) or stamp.get("by") == by.writer:
        return ""
    old = note.parse(before).meta.get("verified") if before else None
    return "" if stamp == old else str(stamp.get("by", "nobody"))[:80]
