"""watch, serve: processes that look after a vault and answer for it."""

from __future__ import annotations

import argparse
import io
import os
import signal
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING

from memtool import config as configuration
from memtool.cli import commands, main, render
from memtool.client import ANSWERED
from memtool.identity import identify
from memtool.memory.memory import Memory
from memtool.policy.policy import Policy
from memtool.resident.resident import Answer, Reply, Request
from memtool.vault import Vault

if TYPE_CHECKING:
    from memtool.resident.service import Service


def flags(command: str, parser: argparse.ArgumentParser) -> None:
    """Give *parser* the flags of *command*."""
    add = parser.add_argument
    if command == "watch":
        add("--poll", action="store_true", help="look every few seconds instead of waiting for file events")
        add("--no-commit", dest="commit", action="store_false", help="leave committing to you")
        add("--no-catalog", dest="catalog", action="store_false", help="leave MEMORY.md as it is")
        add("--quiet-time", type=_seconds, metavar="S", help="seconds without an edit before a commit")
    else:
        add("--idle", type=_seconds, default=900.0, metavar="S", help="end after so long unused (0: never)")


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 <= seconds <= 86_400:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 86400 seconds")
    return seconds


def run(options: argparse.Namespace) -> int:
    """Look after a vault until a signal comes."""
    from memtool.resident.service import Service, Wish

    own = not getattr(options, "no_resident", False)
    wish = (
        Wish(
            options.command == "watch", options.poll, options.commit, options.catalog, options.quiet_time, own
        )
        if options.command == "watch"
        else Wish(watch=False, idle_s=max(0.0, options.idle))
    )
    stream = sys.stderr  # kept: while an answer is printed, `sys.stderr` is that answer's

    def say(words: str) -> None:
        for line in words.split("\n"):
            print(render.one_line(line), file=stream, flush=True)

    _until_signalled(Service(options.vault, wish, answers=answering, say=say))
    if options.json:
        render.document({"ended": options.command})
    return main.OK


def _until_signalled(service: Service) -> None:
    def stop(*_: object) -> None:
        if service.stopped:  # asked twice: whatever is under way is not waited for
            raise KeyboardInterrupt
        service.stop()

    before = [(number, signal.getsignal(number)) for number in (signal.SIGTERM, signal.SIGINT)]
    for number, _ in before:
        signal.signal(number, stop)
    try:
        service.run()
    finally:
        for number, handler in before:
            signal.signal(number, handler)


class _Doubt(BaseException):
    """The client had better do it itself. No Exception: nobody on the way may take it for a fault."""


def answering(memory: Memory) -> Answer:
    """Give what answers requests from *memory* with what the command line would print."""

    def perform(options: argparse.Namespace, request: Request) -> int:
        if options.command not in ANSWERED or memory.derived.is_superseded():
            raise _Doubt
        named = options.vault or request.environment.get("MEMTOOL_VAULT") or ""
        folder = os.path.join(request.folder, named) if named else None
        vault = Vault.find(
            folder, start=request.folder, environment={**request.environment, "MEMTOOL_VAULT": ""}
        )
        same = (vault.root, vault.private) == (memory.vault.root, memory.vault.private)
        if not same or configuration.load(vault.root, environment=request.environment) != memory.config:
            raise _Doubt
        options.environment = request.environment
        if Policy.of_user(request.environment) != Policy.of_user(os.environ):
            raise _Doubt
        memory.who = identify("", "", request.environment)
        group = commands.group(commands.COMMANDS[options.command][0])
        if options.command == "hook":
            code: int = group.perform(memory, options, request.given, request.environment)
        else:
            code = group.perform(memory, options)
        return code

    def answer(request: Request) -> Reply | None:
        out, err = (_stream(encoding) for encoding in request.encodings)
        try:
            with redirect_stdout(out), redirect_stderr(err):
                code = main.main(request.argv, lambda options: perform(options, request))
        except _Doubt:
            return None
        if code not in (main.OK, main.NO):
            return None  # the client meets the same error, and tells of it itself
        return Reply(code, _bytes(out), _bytes(err))

    return answer


def _stream(encoding: str) -> io.TextIOWrapper:
    try:
        return io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="backslashreplace")
    except LookupError as error:
        raise ValueError(encoding) from error


def _bytes(stream: io.TextIOWrapper) -> bytes:
    stream.flush()
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue()
