"""Notes and their counts -> the notes that nobody ever opened, why not, and what to do about it.

A note is judged by what is known of it: was it ever shown, at which rank, does the catalog list it,
does it say what it is about. Knows nothing of how usage is recorded.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import NamedTuple

from memtool import names
from memtool.catalog import catalog_page
from memtool.errors import MemtoolError
from memtool.git import Git
from memtool.history import versions
from memtool.index.index import FileRow, Index
from memtool.usage import usage
from memtool.usage.usage import Use
from memtool.vault import Vault

_GENERIC = ("untitled", "note", "new note", "無題", "メモ", "ノート", "新規ノート")
_MOST_RENAMES = 50  # looked up in git by one call; each costs a walk of the history


class Cause(NamedTuple):
    """One reason, by a stable code and in words, and what mends it."""

    code: str
    what: str
    fix: str = ""


class Unopened(NamedTuple):
    """A note that nobody opened; the first cause weighs most."""

    path: str
    title: str
    use: Use
    causes: tuple[Cause, ...]


class Known(NamedTuple):
    """What a judgement rests on, for the whole vault."""

    questions: int  # searches that were recorded
    listed: Collection[str]  # links of the catalog, as they are written there
    superseded: Mapping[str, str]  # old path -> the note that takes its place


def find(
    vault: Vault, index: Index, *, may_read: Callable[[str], bool], unread: Collection[str] = ()
) -> list[Unopened]:
    """Name every note that was never opened, cited or judged: those that cannot be found first.

    What *may_read* forbids is not told of. *unread* are paths that could not be read: no search finds them.
    """
    counted = follow(vault, {file.path for file in index.files().values()})
    notes = (file for file in index.files().values() if not catalog_page.is_generated(file.path))
    rows = sorted((file for file in notes if may_read(file.path)), key=lambda file: file.path)
    unread = [path for path in unread if may_read(path)]
    known = Known(usage.questions(vault), _listed(vault), _superseded(rows))
    found = [_unreadable(path, counted) for path in sorted(unread) if not _used(counted, path)]
    for file in rows:
        use = counted.get(file.path, Use())
        if not use.used and file.path not in unread:
            found.append(Unopened(file.path, file.title, use, tuple(_causes(file, use, known))))
    return sorted(found, key=lambda one: (_ORDER.index(one.causes[0].code), -one.use.shown, one.path))


def follow(vault: Vault, there: Collection[str]) -> dict[str, Use]:
    """Give all counts under the present names of notes; a rename that git knows is recorded."""
    counted = usage.counts(vault)
    gone = [path for path in counted if path not in there][:_MOST_RENAMES]
    git = Git(vault.root)
    if not gone or git.problem():
        return counted
    moved = False
    for path in gone:
        try:
            name = versions.newest_name(git, path)
        except MemtoolError:
            continue
        if name != path and name in there:
            usage.record(vault, "moved", [usage.whole(path), usage.whole(name)], environment={})
            moved = True
    return usage.counts(vault) if moved else counted


_ORDER = (
    "unreadable",
    "superseded",
    "archived",
    "unlisted",
    "unnamed",
    "undescribed",
    "low",
    "passed",
    "far",
)


def _used(counted: Mapping[str, Use], path: str) -> bool:
    return counted.get(path, Use()).used


def _unreadable(path: str, counted: Mapping[str, Use]) -> Unopened:
    what, fix = (
        "it cannot be read, so no search finds it",
        "see `memtool status`, then mend its mode or bytes",
    )
    cause = Cause("unreadable", what, fix)
    return Unopened(path, "", counted.get(path, Use()), (cause,))


def _causes(file: FileRow, use: Use, known: Known) -> Iterator[Cause]:
    """Give why nobody opened a note: what keeps it from being found, then what keeps it from being read."""
    path = shlex.quote(names.printable(file.path))
    if newer := known.superseded.get(file.path):
        yield Cause("superseded", f"`{names.printable(newer)}` takes its place", f"`memtool archive {path}`")
        return
    if file.path.startswith("archive/"):
        yield Cause("archived", "it is archived", "nothing, or move it back if it is needed")
        return
    if known.listed and catalog_page.link(file.path) not in known.listed:
        yield Cause("unlisted", "the catalog does not list it", "run `memtool catalog`")
    yield from _unsaid(file, path)
    if use.shown:
        yield _passed(use, path)
    else:
        asked = f"{known.questions} question{'s' * (known.questions != 1)} so far, none came near it"
        fix = f"say in `asks` which questions it answers: `memtool set {path} 'asks=[...]'`"
        yield Cause("far", f"it was never shown: {asked}", fix)


def _unsaid(file: FileRow, path: str) -> Iterator[Cause]:
    title = str(file.facts.get("own_title") or "").strip()
    if not title or title.lower() in _GENERIC:
        yield Cause("unnamed", "it has no title of its own", f"`memtool set {path} 'title=...'`")
    if not (file.facts.get("description") or file.facts.get("read_if")):
        what = "it says neither what it is about nor when to read it"
        yield Cause("undescribed", what, f"`memtool set {path} 'description=...'`, or `read_if`")


def _passed(use: Use, path: str) -> Cause:
    times = f"{use.shown} time{'s' * (use.shown != 1)}"
    if use.best > 1:
        what = f"it was shown {times}, at best as number {use.best}"
        return Cause("low", what, f"say in `asks` which questions it answers best, or split {path}")
    what = f"it was shown {times}, first at best, and never opened: its lines may be enough, or do not invite"
    return Cause(
        "passed", what, "nothing if the lines shown are enough; else a clearer title and description"
    )


def _listed(vault: Vault) -> set[str]:
    """Give the targets of all links in the catalog; empty where there is no catalog."""
    found: set[str] = set()
    pages = [catalog_page.HOME, *(f"MEMORY/{name}" for name in vault.names("MEMORY") if name.endswith(".md"))]
    for page in pages:
        try:
            text = vault.read(page).decode("utf-8", "surrogateescape")
        except MemtoolError:
            continue
        targets = (part.partition(")")[0] for part in text.split("](")[1:])
        found |= {target.removeprefix("../") for target in targets}
    return found


def _superseded(rows: Collection[FileRow]) -> dict[str, str]:
    """Give which notes another note says it takes the place of."""
    found: dict[str, str] = {}
    there = {row.path for row in rows}
    for row in rows:
        if newer := row.facts.get("superseded_by"):
            found[row.path] = str(newer[0] if isinstance(newer, list) else newer).strip("[] ")
        told = row.facts.get("supersedes") or ()
        for old in [told] if isinstance(told, str) else told if isinstance(told, list | tuple) else ():
            path = str(old).strip().strip("[]")
            path = path if path in there else f"{path}.md"
            if path in there and path != row.path:
                found[path] = row.path
    return found
