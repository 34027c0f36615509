"""A WHEN -> the vault as it was: its commit, and an index of that tree, filled from git.

An index of a tree begins as a copy of the nearest one there is; only notes that differ are read, and
a text that was ever embedded is not embedded again. Knows which files of a tree are notes, by the
rules of a walk; knows nothing of what is asked of the index.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from memtool import names, repository
from memtool.derived import Derived
from memtool.errors import EmbedderError, LockError, UsageError, VaultError
from memtool.git import Git
from memtool.history import history, moments
from memtool.history.history import Revision
from memtool.history.recall import Recall
from memtool.index import past_files
from memtool.index.index import Index
from memtool.refresh.refresh import RefreshReport
from memtool.walk import matcher

#: Texts that the first search as of a commit embeds before it answers.
EMBEDS = 512

#: The index of every version there ever was.
EVERY = f"every{past_files.ENDING}"

#: What means the same as long as HEAD stays where it is.
_STEADY = re.compile(r"HEAD(?:[~^]\d*)*|[0-9a-f]{7,64}")

_NO_STAT = (0, 0, 0, 0)


class Moment(NamedTuple):
    """The vault as of a commit; ``tree`` names what it held."""

    when: str  # as it was asked for
    revision: Revision
    tree: str

    def __str__(self) -> str:
        return f"{self.revision.when:%Y-%m-%d %H:%M} UTC ({self.revision.revision[:7]})"


class AsOf:
    """Opens the vault as it was."""

    def __init__(self, derived: Derived, git: Git, recall: Recall) -> None:
        self.derived, self.git, self.recall = derived, git, recall
        self.vault, self.config = derived.vault, derived.config

    def find(self, when: str) -> Moment:
        """Find the commit that *when* means; raises UsageError when there is none."""
        key = self._steady_key(when)
        if key and (kept := self.recall.get("when", [key]).get(key)):
            return Moment(when, history.unpack(kept[0]), kept[1])
        revision = moments.find(self.git, when)
        tree = history.tree_name(self.git, revision.revision)
        if not tree:
            raise UsageError(
                f"the vault was not there at {revision.revision[:7]}",
                why=f"that commit holds no folder `{self.git.prefix()}`",
                fix="ask for a later day",
            )
        if key:
            self.recall.keep("when", {key: [history.pack(revision), tree]})
        return Moment(when, revision, tree)

    def _steady_key(self, when: str) -> str:
        """Name what decides what *when* means, where that can be told without asking git; else ""."""
        root = self.git.work_tree()
        if root is None or not (head := self.git.head().revision):
            return ""
        place = root / ".git"
        steady = f"{self.vault.root}:{head}:{repository.shallow(place)}:{when}"
        if moments.last_second(when):
            return steady
        oid = repository.find_reference(place, when)
        if oid == "" and _STEADY.fullmatch(when):
            return steady
        return f"{self.vault.root}:{oid}" if oid else ""

    # -- the index of one tree ---------------------------------------------------------------

    def open(self, moment: Moment, *, embed: bool) -> tuple[Derived, Callable[[], RefreshReport]]:
        """Give the index of that tree, and what fills it: to be called before anything is asked."""
        past = self.derived.past(self._file(moment.tree))
        return past, lambda: self._fill(past, moment, embed)

    def _file(self, tree: str) -> Path:
        config = self.config
        rules = [config.chunk_characters, config.chunk_wide_characters, list(config.ignore)]
        key = hashlib.sha256(json.dumps([tree, rules]).encode()).hexdigest()[:24]
        return self.vault.cache / past_files.FOLDER / f"{key}{past_files.ENDING}"

    def _fill(self, past: Derived, moment: Moment, embed: bool) -> RefreshReport:
        self.vault.prepare(past.index_file.parent)
        if not past.index_file.exists():
            self._begin_near(past.index_file)
        try:
            report = past.mended(lambda: self._bring(past.index, moment))
        except LockError as error:  # what it holds now may be another tree
            raise VaultError(f"{moment} cannot be read yet", why=error.what, fix=error.fix) from error
        past_files.use(past.index_file, keep=EVERY)
        if embed and past.index.fact("embedded") != moment.tree:
            embed_some(past, moment.tree)
        return report

    def _begin_near(self, file: Path) -> None:
        """Begin with the index of the past that was used last: neighbours in time differ little."""
        base = next((other for other in past_files.files(self.vault.cache) if other.name != EVERY), None)
        if base:
            past_files.begin(file, base)

    def _bring(self, index: Index, moment: Moment) -> RefreshReport:
        """Make *index* hold that tree and nothing else."""
        if index.fact("tree") == moment.tree:
            before: list[str] = json.loads(index.fact("unread") or "[]")
            return RefreshReport(unchanged=index.count("notes"), unread=tuple(before))
        tree = self.notes(history.tree(self.git, moment.revision.revision))
        known = {file.path: file.blob for file in index.files().values()}
        new = {path: blob for path, blob in tree.items() if known.get(path) != blob}
        gone = [path for path in known if path not in tree]
        unread = add(
            index, self, {path: (path, blob) for path, blob in new.items()}, gone, moment, tree=moment.tree
        )
        changed = sum(path in known for path in new)
        return RefreshReport(
            len(new) - changed, changed, len(gone), len(tree) - len(new), unread=tuple(unread)
        )

    def notes(self, tree: Mapping[str, str]) -> dict[str, str]:
        """Keep of a tree what a walk would list."""
        ignored = matcher(self.config.ignore)
        return {
            path: blob for path, blob in tree.items() if _is_listed(path) and not _is_ignored(path, ignored)
        }

    def days(self, commit: str) -> Callable[[str, str], str]:
        """Give what tells the day on which a note got its bytes; reads the history when first asked."""
        known: dict[tuple[str, str], str] = {}

        def day(path: str, blob: str) -> str:
            if not known:
                known["", ""] = ""
                for touch in history.touches(self.git, until=commit):
                    known.setdefault((touch.path, touch.new), touch.revision.when.date().isoformat())
            return known.get((path, blob), "")

        return day


def add(
    index: Index,
    asof: AsOf,
    wanted: Mapping[str, tuple[str, str]],
    gone: list[str],
    moment: Moment,
    *,
    tree: str,
) -> list[str]:
    """Take notes into *index*, in one change: name there -> (path, blob). *gone* are taken out.

    Gives the names of those whose bytes this clone does not hold.
    """
    from memtool.refresh import reading

    config, day = asof.config, asof.days(moment.revision.revision)
    named: dict[str, list[str]] = {}
    for name, (_, blob) in wanted.items():
        named.setdefault(blob, []).append(name)
    with index.change() as change:
        change.remove([*gone, *wanted])
        for blob, data in asof.git.blobs(list(named)):
            for name in named.pop(blob):
                path = wanted[name][0]
                note = reading.parse(
                    path,
                    data,
                    blob=blob,
                    limit=config.chunk_characters,
                    wide_limit=config.chunk_wide_characters,
                )
                own = note.day or day(path, blob)
                change.add(note._replace(path=name), _NO_STAT, own)
        unread = sorted(name for names in named.values() for name in names)
        change.remember(tree=tree, looked="yes", unread=json.dumps(unread))
    return unread


def embed_some(past: Derived, name: str) -> None:
    """Embed what the first search of *name* needs; what was ever embedded has its vector."""
    # Where the embedder fails, words answer, and the search itself says so.
    with suppress(EmbedderError, LockError):
        past.embed(most=EMBEDS)
        with past.index.change() as change:
            change.remember(embedded=name)


def _is_listed(path: str) -> bool:
    *folders, name = path.split("/")
    return names.is_note(name) and names.is_path(path) and not any(map(names.is_skipped, folders))


def _is_ignored(path: str, ignored: Callable[[str], bool]) -> bool:
    parts = path.split("/")
    return any(ignored("/".join(parts[:end])) for end in range(1, len(parts) + 1))
