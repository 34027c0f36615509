"""Groups of commands -> the parser of the command line: only the flags that are needed now."""

from __future__ import annotations

import argparse
from functools import lru_cache
from typing import Any

from memtool import __version__
from memtool.cli.commands import COMMANDS, group
from memtool.errors import UsageError


class _Parser(argparse.ArgumentParser):
    """A parser whose refusals are errors like all others."""

    def __init__(self, **settings: Any) -> None:
        # A flag is written in full: a shortened one would change its meaning when a longer one comes.
        super().__init__(allow_abbrev=False, **settings)

    def error(self, message: str) -> None:  # type: ignore[override]
        raise UsageError(message, fix=f"run `{self.prog} --help`")


@lru_cache(4)  # one that answers many requests builds it once
def parser(command: str | None = None) -> argparse.ArgumentParser:
    """Build the parser; the flags of *command* only, for the others are not needed now."""
    common = _Parser(add_help=False)
    common.add_argument(
        "--vault", metavar="DIR", default=argparse.SUPPRESS, help="the vault; found by itself otherwise"
    )
    common.add_argument(
        "--json", action="store_true", default=argparse.SUPPRESS, help="one JSON document on standard output"
    )
    common.add_argument(
        "--no-resident",
        action="store_true",
        default=argparse.SUPPRESS,
        help="do not ask a resident; as MEMTOOL_RESIDENT=0",
    )
    top = _Parser(prog="memtool", description="Agent memory you can check.", parents=[common])
    top.add_argument("--version", action="version", version=f"memtool {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (room, words) in COMMANDS.items():
        sub = commands.add_parser(
            name, help=words, description=words[0].upper() + words[1:] + ".", parents=[common]
        )
        if command is None or name == command:
            group(room).flags(name, sub)
    return top
