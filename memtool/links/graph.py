"""An index -> its notes and named things, and the triples between them: (subject, relation, object).

Everything is looked up when asked, by name, so that a question costs what it touches. What who asks may
not read does not exist for them. Knows the tables `said` and `called`; how far to walk is for `paths`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from memtool import names
from memtool.index.index_file import many
from memtool.index.rows import PATH
from memtool.links import destinations
from memtool.links.destinations import Called, State
from memtool.note.anchor import Anchor

if TYPE_CHECKING:
    from memtool.history.blame import Provenance
    from memtool.index.index import Index

_SAID = (
    "SELECT s.file, f.path, f.title, s.line, s.kind, s.relation, s.target, s.key, s.fragment "
    "FROM said s JOIN files f ON f.id = s.file"
)


class Thing(NamedTuple):
    """A note (``path``), or a named thing that is no note (``path`` "")."""

    name: str
    path: str = ""

    @property
    def key(self) -> str:
        """What tells things apart: a note by its path, anything else by its name."""
        return f"/{self.path}" if self.path else names.key(" ".join(self.name.split()))

    def __str__(self) -> str:
        return self.path or self.name


class Triple(NamedTuple):
    """What one line says: ``subject`` ``relation`` ``object``."""

    subject: Thing
    relation: str
    object: Thing
    anchor: Anchor
    state: State
    written: str  # the target as the note writes it, with its heading or block
    fragment: str = ""
    others: tuple[str, ...] = ()  # further notes that the target could mean
    writer: Provenance | None = None  # who wrote the line; None where nobody asked, or can tell


class _Row(NamedTuple):
    file: int
    path: str
    title: str
    line: int
    kind: str
    relation: str
    target: str
    key: str
    fragment: str


class Graph:
    """The graph of one index, for one reader."""

    def __init__(self, index: Index, may_read: Callable[[str], bool] | None = None) -> None:
        self.index, self.may_read = index, may_read
        self._called: dict[str, list[Called]] = {}
        self._files: dict[str, int] = {}

    # -- things ------------------------------------------------------------------------------

    def note(self, path: str) -> Thing | None:
        """Give the note at *path*."""
        row = self.index.db.execute("SELECT id, title FROM files WHERE path=?", (path,)).fetchone()
        if row is None or not self._is_open(path):
            return None
        self._files[path] = row[0]
        return Thing(row[1] or path, path)

    def named(self, keys: Iterable[str]) -> dict[str, list[Thing]]:
        """Give the things called by each of these keys: notes, and values that name no note."""
        wanted = list(dict.fromkeys(keys))
        found = {key: [self._thing(one) for one in some] for key, some in self.called(wanted).items() if some}
        rest = [key for key in wanted if key not in found]
        for marks, part in many(rest):
            for key, target, path in self.index.db.execute(
                "SELECT s.key, s.target, f.path FROM said s JOIN files f ON f.id = s.file "
                f"WHERE s.kind IN ('text', 'wiki') AND s.key IN ({marks})",
                part,
            ):
                if self._is_open(path):
                    found.setdefault(key, [Thing(target)])
        return found

    def called(self, keys: Iterable[str]) -> dict[str, list[Called]]:
        """Give the notes called by each key; remembered."""
        unknown = [key for key in dict.fromkeys(keys) if key not in self._called]
        for marks, part in many(unknown):
            self._called.update((str(key), []) for key in part)
            for key, *one in self.index.db.execute(
                "SELECT c.key, c.rank, f.id, f.path, f.title FROM called c JOIN files f ON f.id = c.file "
                f"WHERE c.key IN ({marks})",
                part,
            ):
                if self._is_open(one[2]):
                    self._called[key].append(Called(*one))
        return self._called

    def _thing(self, one: Called) -> Thing:
        self._files[one.path] = one.file
        return Thing(one.title or one.path, one.path)

    def _is_open(self, path: str) -> bool:
        return self.may_read is None or self.may_read(path)

    # -- triples -----------------------------------------------------------------------------

    def out(self, things: Sequence[Thing]) -> list[Triple]:
        """Give what these notes say, in the order of their lines."""
        files = [self._files[thing.path] for thing in things if self._known(thing)]
        rows = [row for marks, part in many(files) for row in self._rows(f"WHERE s.file IN ({marks})", part)]
        return self._triples(sorted(rows, key=lambda row: (row.path, row.line)))

    def into(self, things: Sequence[Thing]) -> list[Triple]:
        """Give what other lines say of these things."""
        wanted = {thing.key for thing in things}
        keys = [thing.key for thing in things if not thing.path]
        files = [self._files[thing.path] for thing in things if self._known(thing)]
        for marks, part in many(files):
            found = self.index.db.execute(f"SELECT key FROM called WHERE file IN ({marks})", part)
            keys += [key for (key,) in found]
        rows = [
            row
            for marks, part in many(list(dict.fromkeys(keys)))
            for row in self._rows(f"WHERE s.key IN ({marks})", part)
        ]
        found_triples = self._triples(sorted(rows, key=lambda row: (row.path, row.line)))
        return [triple for triple in found_triples if triple.object.key in wanted]

    def every(self) -> list[Triple]:
        """Give all that all notes say."""
        for key, *one in self.index.db.execute(
            "SELECT c.key, c.rank, f.id, f.path, f.title FROM called c JOIN files f ON f.id = c.file"
        ):
            some = self._called.setdefault(key, [])
            if self._is_open(one[2]) and not any(known.file == one[1] for known in some):
                some.append(Called(*one))
        return self._triples(sorted(self._rows("", ()), key=lambda row: (row.path, row.line)))

    def relations(self) -> dict[str, int]:
        """Give every relation that is said somewhere, with how often."""
        return dict(self.index.db.execute("SELECT relation, count(*) FROM said GROUP BY relation"))

    def names(self) -> list[str]:
        """Give every name that a note of this reader has."""
        found = self.index.db.execute("SELECT c.name, f.path FROM called c JOIN files f ON f.id = c.file")
        return sorted({name for name, path in found if self._is_open(path)})

    def notes(self) -> Iterator[str]:
        for (path,) in self.index.db.execute("SELECT path FROM files ORDER BY path"):
            if self._is_open(path):
                yield path

    def _known(self, thing: Thing) -> bool:
        return bool(thing.path) and (thing.path in self._files or self.note(thing.path) is not None)

    def _rows(self, where: str, parameters: Sequence[object]) -> list[_Row]:
        rows = [_Row(*row) for row in self.index.db.execute(f"{_SAID} {where}", parameters)]
        return rows if self.may_read is None else [row for row in rows if self.may_read(row.path)]

    def _triples(self, rows: Collection[_Row]) -> list[Triple]:
        called = self.called(row.key for row in rows)
        return [self._triple(row, called) for row in rows]

    def _triple(self, row: _Row, called: Mapping[str, list[Called]]) -> Triple:
        self._files[row.path] = row.file
        end = destinations.destination(row.kind, row.target, row.path, called[row.key] if row.key else ())
        return Triple(
            subject=Thing(row.title or row.path, row.path),
            relation=row.relation,
            object=self._thing(end.note) if end.note else Thing(row.target),
            anchor=Anchor(row.path, row.line, row.line),
            state=end.state,
            written=row.target + row.fragment,
            fragment=row.fragment,
            others=end.others,
        )

    # -- headings and blocks -----------------------------------------------------------------

    def has_fragment(self, triple: Triple) -> bool:
        """Tell whether the note that a link leads to has the heading or the block it names."""
        if not triple.fragment or not triple.object.path or not self._known(triple.object):
            return True
        file = self._files[triple.object.path]
        return destinations.has_fragment(
            triple.fragment, self._headings(file), lambda block: self._has_block(file, block)
        )

    def _headings(self, file: int) -> Iterator[str]:
        import json

        found = self.index.db.execute("SELECT headings, sections FROM chunks WHERE file=?", (file,))
        for headings, sections in found:
            yield from (headings or "").split(PATH)
            for _, path in json.loads(sections) if sections else ():
                yield from path.split(PATH)

    def _has_block(self, file: int, block: str) -> bool:
        sign = f"^{block}".lower()
        found = self.index.db.execute("SELECT text FROM chunks WHERE file=?", (file,))
        return any(line.rstrip().lower().endswith(sign) for (text,) in found for line in text.split("\n"))
