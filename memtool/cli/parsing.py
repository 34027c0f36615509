"""Groups of commands -> the parser of the command line: only the flags that are needed now."""

from __future__ import annotations

import argparse
import re
from functools import lru_cache
from typing import Any, NoReturn

from memtool import __version__
from memtool.cli.commands import COMMANDS, group
from memtool.errors import UsageError


class _Parser(argparse.ArgumentParser):
    """A parser whose refusals are errors like all others."""

    def __init__(self, **settings: Any) -> None:
        # A flag is written in full: a shortened one would change its meaning when a longer one comes.
        super().__init__(allow_abbrev=False, **settings)
        self.asked = ""  # the command whose help says more than that of the whole

    def error(self, message: str) -> None:  # type: ignore[override]
        if unknown := re.match(r"argument COMMAND: invalid choice: '(.*?)' \(", message):
            _refuse(unknown[1])
        raise UsageError(message, fix=f"run `{f'{self.prog} {self.asked}'.strip()} --help`")


def _refuse(command: str) -> NoReturn:
    """Say that there is no such command, and which one is nearest; where none is near, which there are."""
    from difflib import get_close_matches

    near = get_close_matches(command, COMMANDS, 1)
    why = f"the nearest is `memtool {near[0]}`" if near else f"there are {', '.join(COMMANDS)}"
    raise UsageError(f"there is no command `{command}`", why=why, fix="run `memtool --help`")


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
    top.asked = command if command in COMMANDS else ""
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (room, words) in COMMANDS.items():
        sub = commands.add_parser(
            name, help=words, description=words[0].upper() + words[1:] + ".", parents=[common]
        )
        if command is None or name == command:
            group(room).flags(name, sub)
    return top
