"""The notes of an index -> ``MEMORY.md`` on disk: pages read, made, and written where they changed.

Knows where the pages lie; what stands in them is decided in `catalog`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

from memtool import secrets, writer
from memtool.catalog import catalog
from memtool.catalog.catalog import Listing
from memtool.errors import Finding, MemtoolError, PathError
from memtool.index.index import FileRow, Index
from memtool.vault import Vault, digest


class CatalogReport(NamedTuple):
    """Which pages there are, which of them changed, and what a person must see to."""

    pages: tuple[str, ...]
    changed: tuple[str, ...]
    stale: tuple[str, ...]  # generated pages that nothing leads to any more
    findings: tuple[Finding, ...]


def make(
    vault: Vault,
    index: Index,
    *,
    max_lines: int,
    max_bytes: int,
    write: bool,
    may_list: Callable[[str], bool] | None = None,
) -> CatalogReport:
    """Make every page; write those that changed when *write*. Raises NoteError on broken markers then.

    *may_list* leaves notes out; None lists all.
    """
    before = dict(_pages(vault))
    existing = {path: _text(data) for path, data in before.items()}
    findings = catalog.check(existing, max_lines=max_lines, max_bytes=max_bytes)
    try:
        pages = catalog.render(_listings(index, may_list), existing, max_lines=max_lines, max_bytes=max_bytes)
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


def page(
    vault: Vault, index: Index, path: str, may_list: Callable[[str], bool], most: tuple[int, int]
) -> str:
    """Make one page as it is for a reader who may not see every note; *most* lines and bytes."""
    existing = {name: _text(data) for name, data in _pages(vault)}
    pages = catalog.render(_listings(index, may_list), existing, max_lines=most[0], max_bytes=most[1])
    if path not in pages:
        raise PathError(f"there is no note `{path}`", fix="run `memtool show MEMORY.md`")
    return pages[path]


def _listings(index: Index, may_list: Callable[[str], bool] | None) -> list[Listing]:
    files = [file for file in index.files().values() if not file.path.startswith("archive/")]
    return [_listing(file) for file in files if may_list is None or may_list(file.path)]


@lru_cache(100_000)
def _masked(text: str) -> str:
    """Keep a secret that a person wrote into a note out of the page that everybody reads first."""
    return secrets.mask(text) if any(map(str.isdigit, text)) else text


def _listing(file: FileRow) -> Listing:
    return Listing(
        path=file.path,
        title=_masked(file.title),
        description=_masked(str(file.facts.get("description", ""))),
        read_if=_masked(str(file.facts.get("read_if", ""))),
        type=file.type,
        tags=file.tags,
        pinned=bool(file.facts.get("pinned")),
        verified=bool(file.facts.get("verified")),
        updated=file.day,
    )
