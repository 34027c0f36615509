"""A name -> an embedder: the table of members, imported late.

Knows which members there are and where they live. Opening one costs nothing until it embeds.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from memtool.embedders.base import Embedder
from memtool.errors import ConfigError

MEMBERS = {
    "e5": ("memtool.embedders.e5", "E5Embedder"),
    "openai": ("memtool.embedders.openai", "OpenAIEmbedder"),
    "fake": ("memtool.embedders.fake", "FakeEmbedder"),
}


def open_embedder(name: str, **settings: object) -> Embedder | None:
    """Open the embedder called *name*; None for "none", which means: search by words alone."""
    if name == "none":
        return None
    if name not in MEMBERS:
        raise ConfigError(
            f"there is no embedder called {name!r}",
            why="the setting `embedder` names one of a fixed list",
            fix=f"set it to one of: {', '.join(MEMBERS)}, none",
        )
    module, member = MEMBERS[name]
    try:
        embedder: Embedder = getattr(import_module(module), member)(**settings)
    except TypeError as error:
        raise ConfigError(
            f"the embedder {name!r} does not take these settings",
            why=str(error),
            fix="remove the setting from the user's configuration",
        ) from error
    return embedder


def take_embedder(embedder: Any) -> Any:
    """Take a name, a function or an embedder for an embedder; None for what the configuration names."""
    if embedder is None:
        return "config"
    if isinstance(embedder, str):
        return open_embedder(embedder)
    if hasattr(embedder, "embed") and hasattr(embedder, "fingerprint"):
        return embedder
    from memtool.embedders.function import FunctionEmbedder

    return FunctionEmbedder(embedder)
