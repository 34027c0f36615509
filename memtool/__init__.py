"""memtool: agent memory you can check.

A folder of Markdown notes in a git repository is the truth; everything else is worked out from it,
in one direction, and can be thrown away::

    file -> blob -> Note -> chunks -> rows (FTS5) + vectors (.npz) -> hits

Each arrow is one module, named for the noun it makes. A module imports only from floors below its own.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing `typing` for it would double what starting costs
if TYPE_CHECKING:
    from memtool.answer.answer import Answer as Answer
    from memtool.archivist.archivist import Archivist as Archivist
    from memtool.identity import Signature as Signature
    from memtool.memory.memory import Memory as Memory
    from memtool.note.note import Anchor as Anchor
    from memtool.search.query import Hit as Hit

__version__ = "0.1.0"
__all__ = ["Anchor", "Answer", "Archivist", "Hit", "Memory", "Signature", "__version__"]

_HOMES = {
    "Memory": "memory.memory",
    "Signature": "identity",
    "Answer": "answer.answer",
    "Archivist": "archivist.archivist",
    "Anchor": "note.note",
    "Hit": "search.query",
}


def __getattr__(name: str) -> object:
    # Late, so that `import memtool` costs nothing until something is used.
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(f"memtool.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'memtool' has no attribute {name!r}")
