"""Addresses -> the text of the catalog and of notes: what a client may attach without calling a tool."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, unquote

from memtool import quoting
from memtool.errors import PathError, UsageError

if TYPE_CHECKING:
    from memtool.memory.memory import Memory

CATALOG = "memtool://catalog"
NOTE = "memtool://note/"
TEMPLATE = "memtool://note/{path}"
PAGE = 100


class Listed(NamedTuple):
    """One entry of a list: an address, the path, a title, how large it is."""

    uri: str
    path: str
    title: str
    words: str = ""


class Page(NamedTuple):
    """Some entries, and the cursor of those that follow; "" at the end."""

    entries: list[Listed]
    cursor: str = ""


class Text(NamedTuple):
    """The quoted text of an address, and the version it is of."""

    text: str
    digest: str


def address(path: str) -> str:
    """Give the address of a note.

    >>> address("台所/ぬか床 1.md")
    'memtool://note/%E5%8F%B0%E6%89%80/%E3%81%AC%E3%81%8B%E5%BA%8A%201.md'
    """
    return NOTE + quote(path.encode("utf-8", "surrogateescape"), safe="/")


def path_of(uri: str) -> str:
    """Give the path that an address names; PathError where it names none.

    >>> path_of("memtool://note/a%2Fb%23.md"), path_of("memtool://catalog")
    ('a/b#.md', 'MEMORY.md')
    """
    if uri.rstrip("/") == CATALOG:
        return "MEMORY.md"
    if not uri.startswith(NOTE) or not uri[len(NOTE) :]:
        raise PathError(
            "there is no such resource",
            why=f"addresses are `{CATALOG}` and `{TEMPLATE}`",
            fix="list the resources, and take an address from there",
        )
    return unquote(uri[len(NOTE) :], errors="surrogateescape")


def page(memory: Memory, cursor: str = "") -> Page:
    """List the catalog and all notes that may be read, in order, a page at a time."""
    memory.refresh()
    after = _decoded(cursor)
    may_read = memory.reader or (lambda path: True)
    files = sorted(
        (file for file in memory.index.files().values() if may_read(file.path)), key=lambda f: f.path
    )
    rest = [file for file in files if not cursor or file.path > after]
    entries = (
        [] if cursor else [Listed(CATALOG, "MEMORY.md", "Catalog", "the list of all notes: read it first")]
    )
    entries += [_listed(file.path, file.title, file.type) for file in rest[:PAGE]]
    return Page(entries, _encoded(rest[PAGE - 1].path) if len(rest) > PAGE else "")


def _listed(path: str, title: str, kind: str) -> Listed:
    """Name a note; what sounds like an order is not repeated where names stand."""
    name, title = quoting.visible(path), quoting.visible(title)
    return Listed(address(path), name, name if quoting.suspicious(title) else title, quoting.visible(kind))


def text(memory: Memory, uri: str) -> Text:
    """Give the text of an address, quoted as data."""
    path = path_of(uri)
    if path == "MEMORY.md" and uri != address(path):
        return _catalog(memory)
    shown = memory.show(path)
    return _quoted([line for _, line in shown], path, memory.digest(shown))


def _catalog(memory: Memory) -> Text:
    """Give the catalog, whether or not it is written to a file yet."""
    memory.refresh()
    try:
        shown = memory.show("MEMORY.md")
        return _quoted([line for _, line in shown], "MEMORY.md", memory.digest(shown))
    except PathError:
        from memtool.catalog import cataloguing

        most = (memory.config.catalog_lines, memory.config.catalog_bytes)
        reader = memory.reader or (lambda path: True)
        return _quoted(
            cataloguing.page(memory.vault, memory.index, "MEMORY.md", reader, most).split("\n"),
            "MEMORY.md",
            "",
        )


def _quoted(lines: list[str], path: str, digest: str) -> Text:
    anchor = f"{path}:1-{len(lines)}" if lines else path
    return Text(quoting.enclose([quoting.quote("\n".join(lines), anchor)]), digest)


def _encoded(path: str) -> str:
    return base64.urlsafe_b64encode(path.encode("utf-8", "surrogateescape")).decode()


def _decoded(cursor: str) -> str:
    try:
        return base64.b64decode(cursor.encode(), altchars=b"-_", validate=True).decode(
            "utf-8", "surrogateescape"
        )
    except ValueError:
        raise UsageError("this cursor is none of ours", fix="list from the start, without a cursor") from None
