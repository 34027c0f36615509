"""add, set: commands that change notes."""

from __future__ import annotations

import argparse
import sys

from memtool.anchor import Anchor
from memtool.cli import keeping, render
from memtool.cli.main import OK
from memtool.errors import UsageError
from memtool.memory import Memory


def flags(command: str, parser: argparse.ArgumentParser) -> None:
    """Give *parser* the flags of *command*."""
    {"add": _add_flags, "set": _set_flags}[command](parser)


def _add_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", nargs="*", help="the note's text (default: standard input)")
    parser.add_argument("--title", default="", help="its title (default: the first line)")
    parser.add_argument("--folder", default="", help="the folder it goes to")
    parser.add_argument(
        "--type", default="", help="episodic, semantic, procedural, working, reference or tool"
    )
    parser.add_argument("--tag", action="append", default=[], help="a tag (may be repeated)")
    parser.add_argument("--description", default="", help="one line on what it says")
    parser.add_argument("--read-if", default="", help="when it is worth reading")
    parser.add_argument("--ask", action="append", default=[], help="a question it answers (may be repeated)")
    keeping.signature_flags(parser)


def _set_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("note", help="the note's path")
    parser.add_argument(
        "setting", metavar="KEY=VALUE", help="the key and its new value; a list is written [a, b]"
    )
    keeping.signature_flags(parser)


def run(options: argparse.Namespace) -> int:
    """Run one of this group's commands."""
    with Memory.open(options.vault) as memory:
        return {"add": _add, "set": _set}[options.command](memory, options)


def _add(memory: Memory, options: argparse.Namespace) -> int:
    text = " ".join(options.text) if options.text else sys.stdin.read()
    if not text.strip():
        raise UsageError("there is no text to add", fix="give it as an argument or on standard input")
    given = {
        "type": options.type,
        "tags": options.tag,
        "description": options.description,
        "read_if": options.read_if,
        "asks": options.ask,
    }
    meta = {key: value for key, value in given.items() if value}
    by = keeping.signed(options)
    anchor = memory.add(text, title=options.title, folder=options.folder, meta=meta, by=by)
    return _tell_change(memory, anchor, options)


def _set(memory: Memory, options: argparse.Namespace) -> int:
    key, equals, value = options.setting.partition("=")
    if not equals or not key.strip():
        raise UsageError(f"{options.setting!r} sets nothing", fix="write KEY=VALUE")
    anchor = memory.set(options.note, key.strip(), _value(value.strip()), by=keeping.signed(options))
    return _tell_change(memory, anchor, options)


def _value(text: str) -> str | list[str]:
    """Read ``[a, b]`` as a list, as it is written in front matter; all else is text as typed."""
    if not (text.startswith("[") and text.endswith("]")):
        return text
    import yaml

    try:
        value = yaml.load(text, Loader=yaml.BaseLoader)
    except yaml.YAMLError:
        return text
    return value if isinstance(value, list) and all(isinstance(item, str) for item in value) else text


def _tell_change(memory: Memory, anchor: Anchor, options: argparse.Namespace) -> int:
    """Tell where the change is, and what came of committing it; the note is written either way."""
    report = memory.committed
    if options.json:
        told = {"commit": keeping.report_value(report)} if report else {}
        render.document({"anchor": str(anchor), "path": anchor.path, **told})
        return OK
    render.out(str(anchor))
    for commit in report.commits if report else ():
        render.err(f"committed as {commit.revision[:10]}: {commit.subject}")
    for finding in report.findings if report else ():
        render.err(str(finding))
    return OK
