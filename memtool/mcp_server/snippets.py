"""A client's name -> the lines to paste into its settings, so that it starts this server."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any, NamedTuple

from memtool.mcp_server.token import VARIABLE


class Snippet(NamedTuple):
    """What to paste, and where."""

    text: str
    where: str


def command() -> list[str]:
    """Give the command that starts this memtool, from whichever folder a client is started in."""
    beside = Path(sys.executable).with_name("memtool")
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which("memtool")
    # Without -P, a folder called `memtool` where a client is started would be run in our place.
    return [found] if found else [sys.executable, "-P", "-m", "memtool"]


def snippet(client: str, start: list[str], *, url: str = "") -> Snippet:
    """Write the settings of *client* for the command *start*, or for a server at *url*.

    >>> print(snippet("codex", ["memtool", "mcp"]).text)
    [mcp_servers.memtool]
    command = "memtool"
    args = ["mcp"]
    """
    return _SNIPPETS[client](start, url)


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _program(start: list[str]) -> dict[str, Any]:
    return {"type": "stdio", "command": start[0], "args": start[1:]}


def _claude(start: list[str], url: str) -> Snippet:
    headers = {"Authorization": f"Bearer ${{{VARIABLE}}}"}
    server = {"type": "http", "url": url, "headers": headers} if url else _program(start)
    where = "`.mcp.json` in your project (Claude Code), or `claude_desktop_config.json`"
    return Snippet(_json({"mcpServers": {"memtool": server}}), where)


def _cursor(start: list[str], url: str) -> Snippet:
    headers = {"Authorization": f"Bearer ${{env:{VARIABLE}}}"}
    server = {"url": url, "headers": headers} if url else _program(start)
    return Snippet(
        _json({"mcpServers": {"memtool": server}}),
        "`.cursor/mcp.json` in your project, or in your home folder",
    )


def _vscode(start: list[str], url: str) -> Snippet:
    where = "`.vscode/mcp.json` in your project"
    if not url:
        return Snippet(_json({"servers": {"memtool": _program(start)}}), where)
    headers = {"Authorization": "Bearer ${input:memtool-token}"}
    asked = {"type": "promptString", "id": "memtool-token", "description": "memtool token", "password": True}
    server = {"type": "http", "url": url, "headers": headers}
    return Snippet(_json({"inputs": [asked], "servers": {"memtool": server}}), where)


def _codex(start: list[str], url: str) -> Snippet:
    # A JSON string without surrogates is a TOML string too.
    words = (
        [f"url = {json.dumps(url)}", f"bearer_token_env_var = {json.dumps(VARIABLE)}"]
        if url
        else [
            f"command = {json.dumps(start[0], ensure_ascii=False)}",
            f"args = {json.dumps(start[1:], ensure_ascii=False)}",
        ]
    )
    return Snippet("\n".join(["[mcp_servers.memtool]", *words]), "`~/.codex/config.toml`")


_SNIPPETS = {"claude": _claude, "codex": _codex, "cursor": _cursor, "vscode": _vscode}
CLIENTS = tuple(_SNIPPETS)
