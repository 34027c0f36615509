"""argv -> exit code: the parser, the error boundary, the late imports.

Only what a command needs is imported, and only once it is known which command that is: `--help`
and a lexical search must stay quick.
"""

from __future__ import annotations

import argparse
import errno
import io
import os
import sys
from collections.abc import Sequence
from typing import Any

from memtool import __version__
from memtool.errors import MemtoolError

#: Command -> the group that has its flags and body, and its line in the help.
COMMANDS = {
    "init": ("writing", "make a vault, or make one of a folder of notes"),
    "index": ("writing", "read what changed and give every text its vector"),
    "search": ("reading", "find the lines that answer a question"),
    "show": ("reading", "print the lines of an anchor"),
    "status": ("reading", "tell how fresh, covered and large everything is"),
    "add": ("writing", "write a new note"),
    "set": ("writing", "change one key of a note's front matter"),
    "catalog": ("writing", "write MEMORY.md, the list of all notes"),
    "check": ("checking", "name everything that is odd, with its fix"),
    "eval": ("checking", "measure how well questions find their lines"),
    "calibrate": ("checking", "set the line below which nothing is relevant"),
}

OK, NO, FAILED, BUG, INTERRUPTED = 0, 1, 2, 3, 130


class _Parser(argparse.ArgumentParser):
    """A parser whose refusals are errors like all others."""

    def __init__(self, **settings: Any) -> None:
        # A flag is written in full: a shortened one would change its meaning when a longer one comes.
        super().__init__(allow_abbrev=False, **settings)

    def error(self, message: str) -> None:  # type: ignore[override]
        from memtool.errors import UsageError

        raise UsageError(message, fix=f"run `{self.prog} --help`")


def parser(command: str | None = None) -> argparse.ArgumentParser:
    """Build the parser; the flags of *command* only, for the others are not needed now."""
    common = _Parser(add_help=False)
    common.add_argument(
        "--vault", metavar="DIR", default=argparse.SUPPRESS, help="the vault; found by itself otherwise"
    )
    common.add_argument(
        "--json", action="store_true", default=argparse.SUPPRESS, help="one JSON document on standard output"
    )
    top = _Parser(prog="memtool", description="Agent memory you can check.", parents=[common])
    top.add_argument("--version", action="version", version=f"memtool {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (group, words) in COMMANDS.items():
        sub = commands.add_parser(
            name, help=words, description=words[0].upper() + words[1:] + ".", parents=[common]
        )
        if command is None or name == command:
            _group(group).flags(name, sub)
    return top


def _group(name: str):  # type: ignore[no-untyped-def]
    from importlib import import_module

    return import_module(f"memtool.cli.{name}")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and give its exit code; never raises for what a user can meet."""
    argv = list(sys.argv[1:] if argv is None else argv)
    as_json = "--json" in argv
    try:
        options = parser(_named(argv)).parse_args(argv)
        options.json = getattr(options, "json", False)
        options.vault = getattr(options, "vault", None)
        code: int = _group(COMMANDS[options.command][0]).run(options)
        sys.stdout.flush()
        return code
    except MemtoolError as error:
        _report(error, as_json=as_json)
        return FAILED
    except SystemExit as leaving:  # argparse, after --help or --version
        return int(leaving.code or 0)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read us has heard enough; without this the interpreter complains at its end.
        _silence()
        return OK
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.ENOSPC and error.filename is None:
            _silence()
            print(f"memtool: the result cannot be written: {error.strerror}", file=sys.stderr)
            return FAILED
        import traceback

        traceback.print_exc()
        print("memtool: this is a bug in memtool", file=sys.stderr)
        return BUG


def _named(argv: Sequence[str]) -> str:
    """Find the command: the first word that is no flag and no flag's value."""
    words = iter(argv)
    for word in words:
        if word == "--vault":
            next(words, None)
        elif not word.startswith("-"):
            return word
    return ""


def _silence() -> None:
    """Let what is still to be written go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report(error: MemtoolError, *, as_json: bool) -> None:
    if as_json:
        from memtool.cli.render import json_text

        told = {"code": error.code, "what": error.what, "why": error.why, "fix": error.fix}
        print(json_text({"error": told}), file=sys.stderr)
    else:
        from memtool.cli.render import plain

        print(plain(f"memtool: {error}"), file=sys.stderr)


def run() -> None:
    """Be the console script."""
    # One product of a matrix and a vector gains nothing from threads, and starting them costs 0.1 s.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that has no Japanese shows escapes rather than nothing at all.
            stream.reconfigure(errors="backslashreplace")
    sys.exit(main())
