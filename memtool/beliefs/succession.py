"""Notes and what they say of each other -> which took whose place, and since when.

A note is named by its path, its file's name or its title, in the new note (`supersedes`) or in the old
one (`superseded_by`). Notes that took each other's place tell nothing. Knows the table that `index` keeps
of such names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from memtool.index.index import Index, Row
from memtool.tense import stated
from memtool.tense.stated import Stated

_MANY = 500  # host parameters in one statement


class Successor(NamedTuple):
    """A note that took another one's place, and since when ("": since ever)."""

    path: str
    since: str


def of(
    index: Index,
    rows: Mapping[int, Row],
    said: Mapping[int, Stated],
    may_read: Callable[[str], bool] | None = None,
) -> dict[int, list[Successor]]:
    """Give for each of these notes those that took its place, earliest first; only for notes that have one.

    A note that *may_read* keeps from whoever asks is never named.
    """
    named = _any(index)
    if not named and not any(one.superseded_by for one in said.values()):
        return {}
    keys = {file: stated.keys(row.path, row.title) for file, row in rows.items()}
    naming = _naming(index, [key for some in keys.values() for key in some]) if named else {}
    found: dict[int, list[Successor]] = {}
    for file, row in rows.items():
        news = [new for key in keys[file] for new in naming.get(key, ())]
        news += _own(index, row, said[file].superseded_by) if said[file].superseded_by else []
        seen = (new for new in news if may_read is None or may_read(new.path))
        unique = {new.path: new for new in seen if new.path != row.path}
        if unique:
            found[file] = sorted(unique.values(), key=lambda new: (new.since, new.path))
    return _without_circles(found, {row.path: file for file, row in rows.items()})


def _any(index: Index) -> bool:
    # "!" opens the marks of other kinds; no key of a note begins with it but by chance, which costs little.
    return (
        index.db.execute("SELECT 1 FROM marks WHERE mark != ? LIMIT 1", (stated.MAY_NEED_REVIEW,)).fetchone()
        is not None
    )


def _naming(index: Index, keys: Sequence[str]) -> dict[str, list[Successor]]:
    """Give for each key of a note the notes that say they took its place."""
    found: dict[str, list[Successor]] = {}
    for at in range(0, len(keys), _MANY):
        part = keys[at : at + _MANY]
        for key, path, text in index.db.execute(
            "SELECT m.mark, f.path, f.standing FROM marks m JOIN files f ON f.id = m.file "
            f"WHERE m.mark IN ({','.join('?' * len(part))})",
            part,
        ):
            found.setdefault(key, []).append(Successor(path, stated.unpack(text).start))
    return found


def _own(index: Index, row: Row, names: Sequence[str]) -> list[Successor]:
    """Find the notes that a note itself names as its successors."""
    folder = row.path.rpartition("/")[0]
    wanted = {key for name in names for key in stated.named(name, folder)}
    return [
        Successor(path, stated.unpack(text).start)
        for path, title, text in index.db.execute("SELECT path, title, standing FROM files")
        if not wanted.isdisjoint(stated.keys(path, title))
    ]


def _without_circles(
    found: dict[int, list[Successor]], files: Mapping[str, int]
) -> dict[int, list[Successor]]:
    """Leave out notes that took each other's place: nothing can be told from that."""

    def nexts(file: int) -> Iterator[int]:
        return (files[new.path] for new in found.get(file, ()) if new.path in files)

    def comes_back(start: int) -> bool:
        seen, waiting = set[int](), list(nexts(start))
        while waiting:
            file = waiting.pop()
            if file == start:
                return True
            if file not in seen:
                seen.add(file)
                waiting += nexts(file)
        return False

    return {file: some for file, some in found.items() if not comes_back(file)}


def may_need_review(index: Index) -> list[tuple[str, Stated]]:
    """Give the notes that watch something, or are to be reviewed by a day, by path."""
    found = index.db.execute(
        "SELECT f.path, f.standing FROM marks m JOIN files f ON f.id = m.file "
        "WHERE m.mark = ? ORDER BY f.path",
        (stated.MAY_NEED_REVIEW,),
    )
    return [(path, stated.unpack(text)) for path, text in found]
