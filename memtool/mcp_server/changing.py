"""Arguments of a tool that writes -> what became of it: one `Memory` call each, signed, with its reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memtool import quoting
from memtool.errors import ConflictError, MemtoolError, UsageError
from memtool.identity import Signature, signature
from memtool.mcp_server import told
from memtool.mcp_server.told import Told
from memtool.note.anchor import Anchor

if TYPE_CHECKING:
    from memtool.memory.memory import Memory

#: Lines around a conflict that are shown with it.
AROUND = 5


def remember(memory: Memory, given: dict[str, Any]) -> Told:
    """Write a new note."""
    keys = ("type", "tags", "description", "read_if", "asks")
    anchor = memory.add(
        given["text"],
        title=given.get("title", ""),
        folder=given.get("folder", ""),
        meta={key: given[key] for key in keys if given.get(key)},
        by=_signed(memory, given),
        alike=True,
        merge=given["merge"],
        dry_run=given["dry_run"],
    )
    return _changed(memory, anchor, given["dry_run"])


def edit(memory: Memory, given: dict[str, Any]) -> Told:
    """Replace lines, append lines, or set a key."""
    modes = {"replace": _replace, "append": _append, "set": _set}
    try:
        anchor = modes[given["mode"]](memory, given, _signed(memory, given))
    except ConflictError as error:
        return told.error(error, _now(memory, given["anchor"]))
    return _changed(memory, anchor, given["dry_run"])


def _replace(memory: Memory, given: dict[str, Any], by: Signature) -> Anchor:
    anchor = Anchor.parse(given["anchor"])
    text, digest = _needed(given, "text"), given.get("if_digest", "")
    if not anchor.start:
        raise UsageError(
            "`replace` needs the lines that are replaced",
            why=f"{anchor.path} names the whole note",
            fix="write the anchor as path:start-end, or use mode `append`",
        )
    if not (digest or anchor.digest):
        raise UsageError(
            "`replace` needs `if_digest`",
            why="line numbers mean nothing without the version they were read in",
            fix="call `read` on the anchor, and hand its digest back",
        )
    return memory.edit(anchor, text, if_digest=digest, by=by, dry_run=given["dry_run"])


def _append(memory: Memory, given: dict[str, Any], by: Signature) -> Anchor:
    path, text = Anchor.parse(given["anchor"]).path, _needed(given, "text")
    heading, digest = given.get("heading", ""), given.get("if_digest", "")
    return memory.append(path, text, heading=heading, if_digest=digest, by=by, dry_run=given["dry_run"])


def _set(memory: Memory, given: dict[str, Any], by: Signature) -> Anchor:
    path, key = Anchor.parse(given["anchor"]).path, _needed(given, "key")
    if "value" not in given:
        raise UsageError("`set` needs `value`", fix="give text, a list of texts, or null to take the key out")
    digest = given.get("if_digest", "")
    return memory.set(path, key, given["value"], if_digest=digest, by=by, dry_run=given["dry_run"])


def _needed(given: dict[str, Any], name: str) -> str:
    if name not in given:
        raise UsageError(f"mode `{given['mode']}` needs `{name}`", fix=f"call `edit` again with `{name}`")
    return str(given[name])


def _signed(memory: Memory, given: dict[str, Any]) -> Signature:
    return signature(memory.who.writer, memory.who.session, given["reason"])


def _changed(memory: Memory, anchor: Anchor, dry_run: bool) -> Told:
    report = memory.committed
    findings = [*memory.noticed, *(report.findings if report else ())]
    commits = [commit.revision for commit in report.commits] if report else []
    value: dict[str, Any] = {
        "anchor": str(anchor),
        "digest": "" if dry_run else memory.digest(anchor.path),
        "revision": commits[-1] if commits else "",
        "findings": [told.finding(one) for one in findings],
    }
    said = [str(one) for one in findings]
    if dry_run:
        value["diff"] = memory.planned.split("\n")
        said.append(quoting.enclose([quoting.quote(memory.planned, "nothing is written; this would change")]))
        return Told(value, "\n".join(said))
    saved = f"committed as {commits[-1][:10]}" if commits else "written, to be committed"
    return Told(value, "\n".join([f"{value['anchor']} {saved}, digest {value['digest']}", *said]))


def _now(memory: Memory, text: str) -> list[tuple[int, str]]:
    """Give the lines that somebody else changed, as they are now."""
    anchor = Anchor.parse(text)
    try:
        lines = list(memory.show(anchor.path))
    except MemtoolError:
        return []
    if not anchor.start:
        return lines[:40]
    return lines[max(0, anchor.start - 1 - AROUND) : anchor.end + AROUND]
