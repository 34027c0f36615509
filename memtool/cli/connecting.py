"""mcp: let agents use a vault over the Model Context Protocol."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from memtool.cli import render
from memtool.cli.main import OK
from memtool.errors import UsageError
from memtool.identity import SESSION_VARIABLE, WRITER_VARIABLE, signature

if TYPE_CHECKING:
    from memtool.vault import Vault

PORT = 8377


def flags(command: str, parser: argparse.ArgumentParser) -> None:
    """Give *parser* the flags of *command*."""
    add = parser.add_argument
    add(
        "--http",
        nargs="?",
        type=_port,
        const=PORT,
        metavar="PORT",
        help=f"serve over HTTP (default {PORT}; 0: a free port)",
    )
    add("--host", default="127.0.0.1", metavar="ADDRESS", help="listen there (default: this machine alone)")
    add(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="clients may call it so, too (repeated)",
    )
    add("--no-token", action="store_true", help="ask HTTP clients for no token; on this machine alone")
    add("--print-token", action="store_true", help="print the token for HTTP clients, and end")
    add(
        "--print-config",
        choices=("claude", "codex", "cursor", "vscode"),
        help="print what to paste there, and end",
    )
    add(
        "--writer",
        default="",
        metavar="NAME",
        help="who writes: agent/NAME (default: what the client calls itself)",
    )
    add("--session", default="", metavar="ID", help="in which session (default: one for each connection)")


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65_535:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 65535")
    return port


def run(options: argparse.Namespace) -> int:
    """Serve until the client goes, or print what a client needs."""
    from memtool.vault import Vault

    writer, session = _identity(options)
    vault = Vault.find(options.vault)
    if options.print_config:
        return _print_config(vault, options)
    if options.print_token:
        return _print_token(vault)
    from memtool import mcp_server

    plan = _plan(vault, options) if options.http is not None else None
    protocol = mcp_server.load("protocol")
    from memtool.mcp_server.desk import Desk

    protocol.be_quiet()
    reception = protocol.Reception(Desk(vault.root), writer=writer, session=session)
    if plan:
        mcp_server.load("http").serve(reception, plan, render.err)
    else:
        protocol.serve_stdio(reception)
    return OK


def _identity(options: argparse.Namespace) -> tuple[str, str]:
    """Tell who writes: an agent, for a client is nobody's hand; "" leaves it to what the client says."""
    writer, session = options.writer, options.session or os.environ.get(SESSION_VARIABLE, "")
    if writer and not signature(writer).is_agent:
        raise UsageError(
            "an MCP client writes as an agent, never as a person",
            why="what a person may do is decided by the rules for persons",
            fix="write `--writer agent/NAME`",
        )
    named = os.environ.get(WRITER_VARIABLE, "")
    if not writer and named and signature(named).is_agent:
        writer = named
    return writer, session


def _plan(vault: Vault, options: argparse.Namespace):  # type: ignore[no-untyped-def]
    from memtool import mcp_server
    from memtool.mcp_server import token

    http = mcp_server.load("http")
    given = "" if options.no_token else token.given(os.environ)
    plan = http.Plan(options.host, options.http, given, tuple(options.allow_host))
    http.check(plan)  # a token that nobody chose is none: it would be read off a disk that others may reach
    if not given and not options.no_token:
        plan = plan._replace(token=token.kept(vault))
        render.err(f"the token is in {token.place(vault)}; `memtool mcp --print-token` prints it")
    return plan


def _print_token(vault: Vault) -> int:
    from memtool.mcp_server import token

    render.out(token.given(os.environ) or token.kept(vault))
    return OK


def _print_config(vault: Vault, options: argparse.Namespace) -> int:
    from memtool.mcp_server import snippets

    start = [*snippets.command(), "mcp", "--vault", str(vault.root)]
    start += ["--writer", options.writer] if options.writer else []
    start += ["--session", options.session] if options.session else []
    url = f"http://127.0.0.1:{options.http}/mcp" if options.http is not None else ""
    made = snippets.snippet(options.print_config, start, url=url)
    print(made.text)
    print(f"paste this into {made.where}", file=sys.stderr)
    return OK
