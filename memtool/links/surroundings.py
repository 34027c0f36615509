"""A vault -> who links to a note, and which notes there are, read once and kept up while many are moved.

For whoever moves thousands of notes: to look through all others for each of them would take hours.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memtool import names
from memtool.errors import MemtoolError
from memtool.links import links
from memtool.note.codec import decode
from memtool.vault import Vault

_SIGNS = (b"[[", b"](", b"]:", b".md", b".markdown", b".MD")


class Surroundings:
    """All notes of a vault by path, and by name of a note those that may link to it."""

    def __init__(self, vault: Vault, ignore: Sequence[str] = ()) -> None:
        self.vault = vault
        self.paths = dict.fromkeys(vault.walk(ignore=ignore).stats)
        self._linking: dict[str, set[str]] = {}
        self._named: dict[str, set[str]] = {}
        for path in self.paths:
            self._look_at(path)

    def _look_at(self, path: str) -> None:
        try:
            data = self.vault.read(path)
        except MemtoolError:
            return  # what cannot be read cannot follow; a check names it
        if any(sign in data for sign in _SIGNS):
            self._named[path] = {_stem(link.target) for link in links.find(decode(data).raw)}
            for stem in self._named[path]:
                self._linking.setdefault(stem, set()).add(path)

    def linking(self, path: str) -> list[str]:
        """Name the notes that may link to *path*, by its name alone."""
        return sorted(self._linking.get(_stem(path), set()) - {path})

    def changed(self, edits: Iterable[tuple[str, str]]) -> None:
        """Take in that notes were written: pairs of the old path ("" for none) and the new."""
        for old, path in edits:
            if old and old != path:
                self.paths.pop(old, None)
                for stem in self._named.pop(old, ()):
                    self._linking[stem].discard(old)
            self.paths[path] = None
            self._look_at(path)


def _stem(target: str) -> str:
    return names.key(links.bare(target.strip())).rpartition("/")[2]
