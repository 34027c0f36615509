"""policy: who may do what, and whether it was kept to."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from memtool.cli import render
from memtool.cli.main import NO, OK
from memtool.errors import Finding, UsageError

if TYPE_CHECKING:
    from memtool.vault import Vault


def flags(command: str, parser: argparse.ArgumentParser) -> None:
    """Give *parser* the flags of *command*."""
    add = parser.add_argument
    add(
        "action",
        choices=("show", "check", "review"),
        help="print the rules; check changes; list what awaits review",
    )
    add("revisions", nargs="?", default="", metavar="A..B", help="check: the commits of this range")
    add(
        "--staged",
        action="store_true",
        help="check: what the next commit would hold; the pre-commit hook runs it",
    )
    add("--policy", type=Path, metavar="FILE", help="check: the rules to check by (default: those at A)")
    add(
        "--agent-emails",
        action="append",
        default=[],
        metavar="GLOB",
        help="check: addresses that agents commit under",
    )
    add("--writer", default="", metavar="NAME", help="show: what this writer may do")


def run(options: argparse.Namespace) -> int:
    """Run one of this group's commands."""
    from memtool.vault import Vault

    vault = Vault.find(options.vault)
    return {"show": _show, "check": _check, "review": _review}[options.action](vault, options)


def _show(vault: Vault, options: argparse.Namespace) -> int:
    from memtool.identity import signature
    from memtool.policy import policy

    rules = policy.Policy.load(vault)
    told = policy.describe(rules, signature(options.writer).writer if options.writer else "")
    if options.json:
        scopes = [{"scope": scope, "says": words} for scope, words in told]
        render.document({"scopes": scopes, "findings": render.findings_value(rules.broken)})
        return NO if rules.broken else OK
    width = max((len(scope) for scope, _ in told), default=0)
    for scope, words in told:
        render.out(f"{scope.ljust(width)}  {words}")
    if not told and not rules.broken:
        render.err(f"there are no rules; write them into {policy.NAME}")
    for finding in rules.broken:
        render.err(str(finding))
    return NO if rules.broken else OK


def _check(vault: Vault, options: argparse.Namespace) -> int:
    from memtool.policy import policy_check

    if options.staged == bool(options.revisions):
        raise UsageError("there is nothing to check", fix="name a range of commits A..B, or give --staged")
    if options.staged:
        found = policy_check.staged(vault, os.environ)
    else:
        rules = _text(options.policy) if options.policy else None
        found = policy_check.span(vault, options.revisions, rules=rules, emails=options.agent_emails)
    return _tell(found, options)


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read", why=str(error), fix="name a policy file") from error


def _review(vault: Vault, options: argparse.Namespace) -> int:
    from memtool.review import reviews

    found = reviews.waiting(vault)
    if options.json:
        render.document({"waiting": [one._asdict() for one in found]})
    else:
        for one in found:
            render.out(f"{one.revision[:10]}  {one.day}  {one.writer}  {render.one_line(one.path)}")
        render.err(
            f"{render.counted(len(found), 'note')} to review: run `memtool review`"
            if found
            else "nothing awaits review"
        )
    return NO if found else OK


def _tell(found: list[Finding], options: argparse.Namespace) -> int:
    if options.json:
        render.document({"findings": render.findings_value(found)})
    else:
        for finding in found:
            render.out(str(finding))
        if not found:
            render.err("every change is allowed")
    return NO if found else OK
