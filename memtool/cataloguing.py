"""The notes of an index -> ``MEMORY.md`` on disk: pages read, made, and written where they changed.

Knows where the pages lie; what stands in them is decided in `catalog`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from memtool import catalog, writer
from memtool.catalog import Listing
from memtool.errors import Finding, MemtoolError, PathError
from memtool.index import FileRow, Index
from memtool.vault import Vault, digest


class CatalogReport(NamedTuple):
    """Which pages there are, which of them changed, and what a person must see to."""

    pages: tuple[str, ...]
    changed: tuple[str, ...]
    stale: tuple[str, ...]  # generated pages that nothing leads to any more
    findings: tuple[Finding, ...]


def make(vault: Vault, index: Index, *, max_lines: int, max_bytes: int, write: bool) -> CatalogReport:
    """Make every page; write those that changed when *write*. Raises NoteError on broken markers then."""
    before = dict(_pages(vault))
    existing = {path: _text(data) for path, data in before.items()}
    findings = catalog.check(existing, max_lines=max_lines, max_bytes=max_bytes)
    try:
        pages = catalog.render(_listings(index), existing, max_lines=max_lines, max_bytes=max_bytes)
    except MemtoolError:
        if write:
            raise
        return CatalogReport(tuple(existing), (), (), tuple(findings))
    changed = [path for path, text in pages.items() if existing.get(path) != text]
    if write:
        for path in changed:
            base = digest(before[path]) if path in before else None
            writer.apply(vault, writer.Change(path, pages[path].encode("utf-8", "surrogateescape"), base))
    return CatalogReport(
        tuple(pages), tuple(changed), tuple(catalog.stale_pages(existing, pages)), tuple(findings)
    )


def _pages(vault: Vault) -> Iterator[tuple[str, bytes]]:
    names = [catalog.HOME, *(f"MEMORY/{name}" for name in vault.names("MEMORY") if name.endswith(".md"))]
    for path in names:
        try:
            yield path, vault.read(path)
        except PathError:
            continue


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _listings(index: Index) -> list[Listing]:
    return [_listing(file) for file in index.files().values()]


def _listing(file: FileRow) -> Listing:
    return Listing(
        path=file.path,
        title=file.title,
        description=str(file.facts.get("description", "")),
        read_if=str(file.facts.get("read_if", "")),
        type=file.type,
        tags=file.tags,
        pinned=bool(file.facts.get("pinned")),
        verified=bool(file.facts.get("verified")),
        updated=file.day,
    )
