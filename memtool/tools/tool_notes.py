"""Records of tools -> one readable note for each below ``tools/``; a person's own text around it stays.

A note belongs to the tool that its ``tool`` key names, whatever its file is called. Only what stands
between the two markers is written anew, and only when it says something else than before.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol

from memtool import names
from memtool.errors import Finding, MemtoolError
from memtool.note import note
from memtool.note.anchor import Anchor
from memtool.tools import odds, tool_record
from memtool.tools.tool_record import Trap, Way
from memtool.vault import Vault, digest

FOLDER = "tools"
BEGIN = "<!-- memtool:tool:begin: the lines down to memtool:tool:end are generated -->"
END = "<!-- memtool:tool:end -->"
_MOST_TOOLS, _WAYS, _TRAPS = 200, 8, 8
_TITLE, _CODE = 120, 300


class Door(Protocol):
    """What changes notes: policy, secrets and commits are its business."""

    def add(self, text: str, *, title: str, folder: str, meta: Mapping[str, str]) -> Anchor: ...

    def edit(self, anchor: Anchor, text: str, if_digest: str) -> Anchor: ...


class NotesReport(NamedTuple):
    """Which notes were written, and what kept others from it."""

    changed: tuple[str, ...]
    same: int
    findings: tuple[Finding, ...]


def write(vault: Vault, known: Sequence[Way], door: Door) -> NotesReport:
    """Bring the note of every tool up to date; a tool that was not used since costs one read."""
    gathered = tool_record.by_tool(known)
    order = sorted(gathered, key=lambda tool: -max(way.last for way in gathered[tool]))[:_MOST_TOOLS]
    there = find(vault)
    changed, same, findings = list[str](), 0, list[Finding]()
    for tool in order:
        path = there.get(tool, "")
        try:
            written = (
                _rewrite(vault, path, gathered[tool], door) if path else _new(tool, gathered[tool], door)
            )
            changed += [written] if written else []
            same += not written
        except MemtoolError as error:
            findings.append(Finding(error.code, path or FOLDER, 0, error.what, error.fix))
    return NotesReport(tuple(changed), same, tuple(findings))


def find(vault: Vault) -> dict[str, str]:
    """Give the path of the note of every tool that has one."""
    found: dict[str, str] = {}
    for name in vault.names(FOLDER):
        path = f"{FOLDER}/{name}"
        try:
            tool = note.get_text(note.parse(vault.read(path)), "tool") if names.is_path(path) else ""
        except MemtoolError:
            continue
        if tool:
            found.setdefault(tool, path)
    return found


def _new(tool: str, known: Sequence[Way], door: Door) -> str:
    title = names.one_line(tool)[:_TITLE].strip() or "tool"
    about = "What worked with this tool, with which parameters, and which errors came up"
    meta = {"type": "tool", "tool": tool, "description": about}
    body = "\n".join([BEGIN, *render(known), END])
    return door.add(body, title=title, folder=FOLDER, meta=meta).path


def _rewrite(vault: Vault, path: str, known: Sequence[Way], door: Door) -> str:
    """Write the generated part of a note anew; "" when it says the same already."""
    data = vault.read(path)
    lines = note.parse(data).lines
    marks = [number for number, line in enumerate(lines, 1) if line.strip() in (BEGIN, END)]
    if len(marks) != 2 or lines[marks[0] - 1].strip() != BEGIN:
        raise _Broken(
            f"{path}: the markers of the generated part are not there",
            why="one begin and one end, each alone on its line, show what may be written anew",
            fix=f"put them back, or move your own text elsewhere and delete `{path}`",
        )
    wanted = [BEGIN, *render(known), END]
    if list(lines[marks[0] - 1 : marks[1]]) == wanted:
        return ""
    door.edit(Anchor(path, marks[0], marks[1]), "\n".join(wanted), digest(data))
    return path


class _Broken(MemtoolError):
    code = "tool-markers"


# What it says


def render(known: Sequence[Way]) -> list[str]:
    """Say what is known of one tool, as lines of Markdown; what callers gave is quoted as code."""
    ok, trials = sum(way.ok for way in known), sum(way.trials for way in known)
    last = max(way.last for way in known)
    order = sorted(known, key=lambda way: (-way.last, -way.trials))
    lines = [
        f"Called {times(trials)}, {ok} of them worked; last on {day(last)}.",
        "",
        "## Ways to call it",
        "",
    ]
    lines += [line for way in order[:_WAYS] for line in _way_lines(way)]
    if len(order) > _WAYS:
        lines.append(f"- and {len(order) - _WAYS} more, used longer ago")
    traps = merged_traps([trap for way in known for trap in way.traps])
    if traps:
        lines += ["", "## Traps", ""]
        lines += [_trap_line(trap) for trap in traps[:_TRAPS]]
    return lines


def _way_lines(way: Way) -> Iterator[str]:
    estimated = odds.estimate([outcome for outcome, _ in way.outcomes], old=way.old)
    unsure = "" if estimated.sure else ", too few to be sure"
    shown = code(way.template) if way.template else "no parameters"
    yield f"- {shown}: {way.ok} of {way.trials} worked{unsure}{_since(way, estimated)}"
    if way.example and way.example != way.template:
        yield f"  - worked on {day(_last_ok(way))} with {code(way.example)}"


def _since(way: Way, estimated: odds.Odds) -> str:
    if estimated.changed is None:
        return ""
    when = day(way.outcomes[estimated.changed][0].when)
    return f"; **since {when} it {'works' if estimated.mean >= 0.5 else 'fails'}, otherwise than before**"


def _last_ok(way: Way) -> float:
    return max((outcome.when for outcome, _ in way.outcomes if outcome.ok), default=way.last)


def _trap_line(trap: Trap) -> str:
    first = f" since {day(trap.first)}" if trap.times > 1 and day(trap.first) != day(trap.last) else ""
    shown = f", with {code(trap.template)}" if trap.template else ""
    return f"- {code(trap.kind)}: {times(trap.times)}{first}, last on {day(trap.last)}{shown}"


def merged_traps(traps: Sequence[Trap]) -> list[Trap]:
    """Join what is the same error in several ways of calling; the newest first."""
    found: dict[str, Trap] = {}
    for trap in sorted(traps, key=lambda trap: trap.last):
        old = found.pop(trap.kind, None)
        first = min(old.first, trap.first) if old else trap.first
        found[trap.kind] = trap._replace(times=trap.times + (old.times if old else 0), first=first)
    return sorted(found.values(), key=lambda trap: (-trap.last, -trap.times))


def times(many: int) -> str:
    """Count in words.

    >>> times(1), times(3)
    ('once', '3 times')
    """
    return "once" if many == 1 else f"{many} times"


def day(when: float) -> str:
    """Write the day of a moment, in UTC."""
    return f"{datetime.fromtimestamp(when, UTC):%Y-%m-%d}"


def code(value: Any) -> str:
    """Quote a value as code, on one line, whatever marks it holds.

    >>> code({"q": "`x`"}), code("plain")
    ('`` {"q": "`x`"} ``', '`plain`')
    """
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = names.one_line(text)
    text = text if len(text) <= _CODE else text[: _CODE - 1] + "…"
    if "`" not in text:
        return f"`{text}`"
    fence = "`" * (1 + max(len(run) for run in _runs(text)))
    return f"{fence} {text} {fence}"


def _runs(text: str) -> list[str]:
    import re

    return re.findall("`+", text)
