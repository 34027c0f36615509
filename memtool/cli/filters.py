"""Flags that say which part of a vault is asked, and by what: the same in every command that asks."""

from __future__ import annotations

import argparse
from typing import Any


def mode_flags(parser: argparse.ArgumentParser) -> None:
    """Let a question be asked of one ranker alone."""
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--lexical", dest="mode", action="store_const", const="lexical", help="by words alone")
    mode.add_argument(
        "--semantic", dest="mode", action="store_const", const="semantic", help="by meaning alone"
    )


def chosen(options: argparse.Namespace) -> dict[str, Any]:
    """Read what is asked of what: the arguments that `Memory.search` and `Memory.why` share."""
    return {
        "limit": options.limit,
        "mode": options.mode or "hybrid",
        "types": options.type,
        "tags": options.tag,
        "path": options.path,
        "since": options.since,
        "until": options.until,
        "archived": options.archived,
        "now": options.now,
    }
