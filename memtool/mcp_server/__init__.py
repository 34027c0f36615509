"""Calls of the Model Context Protocol -> calls of `Memory`: how agents use a vault.

``tools`` and ``resources`` say what is offered, ``desk`` does it for one vault, and only ``protocol``
and ``http`` know the protocol's package, which loads late: it costs more than all else.
"""

from __future__ import annotations

from types import ModuleType

from memtool.errors import ConfigError


def load(name: str) -> ModuleType:
    """Import a part that needs the protocol's package; ConfigError where that is not installed."""
    import gc
    from importlib import import_module

    gc.disable()  # thousands of classes are made, and none of them goes away again
    try:
        return import_module(f"memtool.mcp_server.{name}")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("memtool"):
            raise
        raise ConfigError(
            "the MCP server is not installed",
            why=f"the package `{error.name}` is missing",
            fix="run `pip install 'memtool[mcp]'`",
        ) from error
    finally:
        gc.enable()
