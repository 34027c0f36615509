"""add, append, edit, set, move, archive, undo: commands that change notes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from memtool.cli import keeping, render
from memtool.cli.main import OK
from memtool.errors import UsageError
from memtool.memory.memory import Memory
from memtool.note.anchor import Anchor

if TYPE_CHECKING:
    from memtool.identity import Signature


def flags(command: str, parser: argparse.ArgumentParser) -> None:
    """Give *parser* the flags of *command*."""
    own = {"add": _add_flags, "append": _append_flags, "edit": _edit_flags, "set": _set_flags}
    own |= {"move": _move_flags, "undo": _undo_flags}
    own.get(command, _note_flags)(parser)
    if command not in ("add", "undo"):
        parser.add_argument(
            "--if-digest",
            default="",
            metavar="DIGEST",
            help="the version the change is meant for (show --json)",
        )
    parser.add_argument(
        "--dry-run", action="store_true", help="print the change as a diff, and write nothing"
    )
    parser.add_argument(
        "--allow-secret",
        action="append",
        type=int,
        default=[],
        metavar="LINE",
        help="let the secret in that line pass; only a person may, with --reason",
    )


def _note_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("note", help="the note's path")
    keeping.signature_flags(parser)


def _add_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", nargs="*", help="the note's text (default: standard input)")
    parser.add_argument("--title", default="", help="its title (default: the first line)")
    parser.add_argument("--scope", default="", metavar="FOLDER", help="the part of the vault it goes to")
    parser.add_argument("--folder", default="", help="the folder it goes to, in its scope")
    parser.add_argument(
        "--type", default="", help="episodic, semantic, procedural, working, reference or tool"
    )
    parser.add_argument("--tag", action="append", default=[], help="a tag (may be repeated)")
    parser.add_argument("--description", default="", help="one line on what it says")
    parser.add_argument("--read-if", default="", help="when it is worth reading")
    parser.add_argument("--ask", action="append", default=[], help="a question it answers (may be repeated)")
    parser.add_argument(
        "--merge", action="store_true", help="append what is new to the note that says nearly the same"
    )
    parser.add_argument(
        "--no-alike", dest="alike", action="store_false", help="do not look for a note that says the same"
    )
    keeping.signature_flags(parser)


def _append_flags(parser: argparse.ArgumentParser) -> None:
    _note_flags(parser)
    parser.add_argument("text", nargs="*", help="the lines (default: standard input)")
    parser.add_argument(
        "--heading", default="", metavar="H", help="below this heading; A > B where B is not alone"
    )


def _edit_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "anchor", help="path:start-end, better pinned with @digest (see cite); or a whole note"
    )
    parser.add_argument("text", nargs="*", help='the new lines, "" for none (default: standard input)')
    keeping.signature_flags(parser)


def _set_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("note", help="the note's path")
    parser.add_argument(
        "setting", metavar="KEY=VALUE", help="the key and its new value; a list is written [a, b]"
    )
    parser.add_argument("--remove", action="store_true", help="take the key out: KEY stands alone then")
    keeping.signature_flags(parser)


def _move_flags(parser: argparse.ArgumentParser) -> None:
    _note_flags(parser)
    parser.add_argument("to", help="its new path, or a folder")


def _undo_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "revision", nargs="?", default="", metavar="REV", help="the change (default: your last commit)"
    )
    parser.add_argument("--session", default="", metavar="ID", help="all changes of that session instead")
    parser.add_argument("--writer", default="", metavar="NAME", help="who undoes: human or agent/NAME")
    parser.add_argument("--reason", default="", metavar="TEXT", help="why")


def run(options: argparse.Namespace) -> int:
    """Run one of this group's commands."""
    with Memory.open(options.vault) as memory:
        return perform(memory, options)


def perform(memory: Memory, options: argparse.Namespace) -> int:
    """Run one of this group's commands on a memory that is open already."""
    memory.allow_secrets = tuple(options.allow_secret)
    commands = {"add": _add, "append": _append, "edit": _edit, "set": _set}
    commands |= {"move": _move, "archive": _archive, "undo": _undo}
    return commands[options.command](memory, options)


def _text(words: Sequence[str]) -> str:
    return " ".join(words) if words else sys.stdin.read()


def _by(memory: Memory, options: argparse.Namespace) -> Signature | None:
    return keeping.signed(options, memory.who)


def _add(memory: Memory, options: argparse.Namespace) -> int:
    text = _text(options.text)
    if not text.strip():
        raise UsageError("there is no text to add", fix="give it as an argument or on standard input")
    given = {
        "type": options.type,
        "tags": options.tag,
        "description": options.description,
        "read_if": options.read_if,
        "asks": options.ask,
    }
    anchor = memory.add(
        text,
        title=options.title,
        folder="/".join(filter(None, (options.scope.rstrip("/"), options.folder))),
        meta={key: value for key, value in given.items() if value},
        by=_by(memory, options),
        dry_run=options.dry_run,
        alike=options.alike,
        merge=options.merge,
    )
    return _tell_change(memory, anchor, options)


def _append(memory: Memory, options: argparse.Namespace) -> int:
    text, by = _text(options.text), _by(memory, options)
    version, dry_run = options.if_digest, options.dry_run
    anchor = memory.append(
        options.note, text, heading=options.heading, if_digest=version, by=by, dry_run=dry_run
    )
    return _tell_change(memory, anchor, options)


def _edit(memory: Memory, options: argparse.Namespace) -> int:
    text, by = _text(options.text), _by(memory, options)
    anchor = memory.edit(options.anchor, text, if_digest=options.if_digest, by=by, dry_run=options.dry_run)
    return _tell_change(memory, anchor, options)


def _set(memory: Memory, options: argparse.Namespace) -> int:
    key, equals, text = options.setting.partition("=")
    if bool(equals) == options.remove or not key.strip():
        raise UsageError(f"{options.setting!r} sets nothing", fix="write KEY=VALUE, or KEY --remove")
    anchor = memory.set(
        options.note,
        key.strip(),
        None if options.remove else _value(text.strip()),
        if_digest=options.if_digest,
        by=_by(memory, options),
        dry_run=options.dry_run,
    )
    return _tell_change(memory, anchor, options)


def _move(memory: Memory, options: argparse.Namespace) -> int:
    version, by = options.if_digest, _by(memory, options)
    path = memory.move(options.note, options.to, if_digest=version, by=by, dry_run=options.dry_run)
    return _tell_change(memory, Anchor(path, 0, 0), options)


def _archive(memory: Memory, options: argparse.Namespace) -> int:
    version, by = options.if_digest, _by(memory, options)
    path = memory.archive(options.note, if_digest=version, by=by, dry_run=options.dry_run)
    return _tell_change(memory, Anchor(path, 0, 0), options)


def _undo(memory: Memory, options: argparse.Namespace) -> int:
    from memtool.identity import overridden

    if options.revision and options.session:
        raise UsageError("a revision and a session are given", fix="give one of them")
    by = overridden(memory.who, options.writer, "", options.reason)
    memory.undo(options.revision, session=options.session, by=by, dry_run=options.dry_run)
    return _tell_change(memory, None, options)


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


def _tell_change(memory: Memory, anchor: Anchor | None, options: argparse.Namespace) -> int:
    """Tell where the change is, and what came of committing it; the note is written either way."""
    report = memory.committed
    if options.json:
        told: dict[str, object] = {"anchor": str(anchor), "path": anchor.path} if anchor else {}
        told |= {"commit": keeping.report_value(report)} if report else {}
        told |= {"diff": memory.planned} if options.dry_run else {}
        render.document({**told, "findings": render.findings_value(memory.noticed)})
        return OK
    for finding in memory.noticed:
        render.err(str(finding))
    if options.dry_run:
        for line in memory.planned.removesuffix("\n").split("\n") if memory.planned else ():
            render.out(line)
        return OK
    if anchor:
        render.out(str(anchor))
    for commit in report.commits if report else ():
        render.err(f"committed as {commit.revision[:10]}: {commit.subject}")
    for finding in report.findings if report else ():
        render.err(str(finding))
    return OK
