"""A vault and its index -> how things stand: sizes, coverage, and every odd thing with its fix.

Looks and changes nothing. The deep check makes the index anew beside the live one and names
every row that differs.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from memtool import heartbeat
from memtool.derived import Derived
from memtool.errors import Finding
from memtool.heartbeat import Sign
from memtool.index.index import Index
from memtool.index.index_check import compare
from memtool.refresh import refresh as refreshing
from memtool.refresh.refresh import Ahead
from memtool.repository import Head
from memtool.search import coverage as covering
from memtool.search.coverage import Coverage
from memtool.vault import Vault


class Status(NamedTuple):
    """How a vault and what is worked out from it stand."""

    root: str
    revision: str
    branch: str
    notes: int
    chunks: int
    ahead: Ahead  # what the next refresh will read
    embedder: str
    coverage: Coverage
    index_bytes: int
    vector_bytes: int
    findings: list[Finding]
    watcher: Sign | None = None  # its last sign of life; None where nobody watches


def status(vault: Vault, derived: Derived, head: Head, odd: Iterable[Finding]) -> Status:
    """Tell how things stand; *odd* is what is known to be odd besides the notes."""
    ignore = derived.config.ignore
    ahead, findings = derived.mended(lambda: refreshing.look(vault, derived.index, ignore=ignore))
    vector_bytes = folder_bytes(vault.cache / "vectors")
    return Status(
        root=str(vault.root),
        revision=head.revision or "",
        branch=head.branch or "",
        notes=derived.index.count("notes"),
        chunks=derived.index.chunk_count(),
        ahead=ahead,
        embedder=derived.embedder_name,
        coverage=coverage(derived.index, derived.embedder_name, vector_bytes),
        index_bytes=folder_bytes(derived.index_file),
        vector_bytes=vector_bytes,
        findings=order([*odd, *findings, *derived.index.findings()]),
        watcher=heartbeat.load(vault.state, time.time()),
    )


def order(findings: Iterable[Finding]) -> list[Finding]:
    """Put findings in the order of the vault, each once."""
    return sorted(set(findings), key=lambda finding: (finding.path, finding.line, finding.code))


def folder_bytes(place: Path) -> int:
    """Add up the sizes of a file, or of all files in a folder; 0 where there is none."""
    if place.is_file():
        return place.stat().st_size
    return sum(_bytes(file) for file in place.rglob("*"))


def _bytes(file: Path) -> int:
    try:
        return file.stat().st_size if file.is_file() else 0
    except OSError:
        return 0  # another process has just removed it


def coverage(index: Index, embedder: str, vector_bytes: int) -> Coverage:
    """Tell the coverage without opening any vectors: none where nothing lies on disk."""
    if embedder == "none":
        return Coverage(0, 0)
    known = covering.last_known(index)
    ours = index.fact("embedder") in ("", embedder)
    return known if vector_bytes and ours else known._replace(have=0)


def unusable(derived: Derived) -> Iterator[Finding]:
    """Name the notes with a text that the embedder gave no direction; words still find them."""
    if derived.embedder is None or not (derived.vault.cache / "vectors").is_dir():
        return
    with derived.index.still():
        targets = derived.index.targets(list(derived.vectors.unusable()))
        files, rows = derived.index.files(), derived.index.rows([t.row for t in targets if t.row is not None])
    for target in targets:
        line = rows[target.row].start if target.row in rows else 0
        what = f"a text of it ({target.kind}) has no usable vector; words find it all the same"
        yield Finding("no-vector", files[target.file].path, line, what, "run `memtool index` to try again")


def deep(
    vault: Vault,
    index: Index,
    *,
    ignore: tuple[str, ...] = (),
    limit: int,
    wide_limit: int,
    unread: tuple[str, ...] = (),
) -> Iterator[Finding]:
    """Compare the live index with one made anew from the notes, row by row.

    *unread*: what the live index keeps of these could not be looked at, and stays as it is.
    """
    with tempfile.TemporaryDirectory(prefix="memtool-check-") as folder:
        anew = Index.open(Path(folder) / "index.sqlite3")
        try:
            refreshing.refresh(vault, anew, ignore=ignore, limit=limit, wide_limit=wide_limit)
            yield from compare(index, anew, frozenset(unread))
        finally:
            anew.close()
