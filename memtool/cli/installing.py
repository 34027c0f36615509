"""hooks: let an agent call memtool by itself, and take that back."""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memtool import hook_log, repository
from memtool.cli import render
from memtool.cli.main import NO, OK
from memtool.errors import Finding, MemtoolError, UsageError
from memtool.hooks import hook_files
from memtool.hooks.hook_events import AGENTS
from memtool.hooks.hook_files import Call, FileChange
from memtool.vault import Vault


def flags(command: str, parser: argparse.ArgumentParser) -> None:
    """Give *parser* the flags of *command*."""
    add = parser.add_argument
    add("action", choices=("install", "uninstall", "status"))
    add("agent", nargs="?", choices=AGENTS, help="whose settings are changed")
    add("--scope", choices=hook_files.SCOPES, default="project", help="this project's settings, or yours")
    add("--project", metavar="DIR", help="the project (default: the work tree of the current folder)")
    add("--resident", action="store_true", help="let a session that starts also start a resident")
    add("--yes", action="store_true", help="do not ask")
    add("--dry-run", action="store_true", help="show the difference and change nothing")


def run(options: argparse.Namespace) -> int:
    """Run one of this group's commands."""
    if options.action == "status":
        return _status(options)
    if not options.agent:
        raise UsageError("no agent is named", fix=f"name one of {', '.join(AGENTS)}")
    call = _call(options) if options.action == "install" else None
    files = hook_files.files_of(options.agent, options.scope, _project(options), os.environ)
    changes = hook_files.plan(options.agent, files, call)
    if not changes:
        words = "nothing to do: they are installed" if call else "nothing to do: none are installed"
        return _tell(options, [], [], words)
    _show(changes)
    if options.dry_run:
        return _tell(options, changes, [], "nothing was changed")
    if not options.yes:
        _ask()
    kept = [hook_files.apply(change) for change in changes]
    return _tell(options, changes, [file for file in kept if file], _next(options))


def _call(options: argparse.Namespace) -> Call:
    return Call(program(), str(Vault.find(options.vault).root), options.resident)


def program() -> tuple[str, ...]:
    """Name the program that runs now by an absolute path, whatever PATH is later."""
    beside = Path(sys.executable).parent / "memtool"
    if os.access(beside, os.X_OK):
        return (str(beside),)
    return (sys.executable, "-m", "memtool")


def _project(options: argparse.Namespace) -> Path:
    here = Path(options.project or os.getcwd()).absolute()
    return here if options.project else repository.find_work_tree(here) or here


def _next(options: argparse.Namespace) -> str:
    if options.action == "uninstall":
        return f"{options.agent} calls memtool no more"
    review = "; it asks you once to trust new hooks" if options.agent == "codex" else ""
    return f"sessions of {options.agent} that start from now on call memtool{review}"


# -- showing and asking ----------------------------------------------------------------------


def _show(changes: Sequence[FileChange]) -> None:
    for change in changes:
        lines = difflib.unified_diff(
            _lines(change.before),
            _lines(change.after),
            str(change.file) if change.before is not None else "(not there)",
            str(change.file) if change.after is not None else "(removed)",
            lineterm="",
        )
        for line in lines:
            render.err(line)


def _lines(data: bytes | None) -> list[str]:
    return (data or b"").decode("utf-8", "replace").split("\n")


def _ask() -> None:
    if not sys.stdin.isatty():
        why, fix = "nobody is there to be asked", "look at the difference above, then add --yes"
        raise UsageError("the settings are not changed", why=why, fix=fix)
    print("Change these settings? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UsageError("nothing was changed", fix="say yes")


def _tell(
    options: argparse.Namespace, changes: Sequence[FileChange], kept: Sequence[Path], words: str
) -> int:
    if options.json:
        files = [str(change.file) for change in changes]
        render.document({"changed": files, "backups": [str(file) for file in kept], "text": words})
        return OK
    for file in kept:
        render.err(f"the old file is kept as {file}")
    render.out(words)
    return OK


# -- status ----------------------------------------------------------------------------------


def _status(options: argparse.Namespace) -> int:
    rows = [_installed(agent, scope, options) for agent in AGENTS for scope in hook_files.SCOPES]
    failed = _failures(options)
    if options.json:
        render.document({"hooks": rows, "failures": render.findings_value(failed)})
    else:
        for row in rows:
            events = ", ".join(row["events"])
            render.out(f"{row['agent']:9} {row['scope']:8} {events or row['problem'] or 'not installed'}")
            for gone in row["gone"]:
                render.out(f"    {gone} is not there any more: install again")
        render.findings(failed)
    return NO if failed or any(row["problem"] or row["gone"] for row in rows) else OK


def _installed(agent: str, scope: str, options: argparse.Namespace) -> dict[str, Any]:
    file = hook_files.files_of(agent, scope, _project(options), os.environ)[0]
    row: dict[str, Any] = {"agent": agent, "scope": scope, "file": str(file)}
    events: list[str] = []
    programs: list[str] = []
    problem = ""
    try:
        data = hook_files.read(file)
        events, programs = hook_files.installed(agent, data)
    except MemtoolError as error:
        problem = error.what
    gone = [name for name in dict.fromkeys(programs) if not os.access(name, os.X_OK)]
    return {**row, "events": events, "gone": gone, "problem": problem}


def _failures(options: argparse.Namespace) -> list[Finding]:
    import time

    try:
        return hook_log.findings(Vault.find(options.vault).state, time.time())
    except MemtoolError:
        return []
