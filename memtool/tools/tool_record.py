"""Kept tool calls -> the record of each tool: how often which parameters worked, and what failed.

Knows how calls are added up, which values of a parameter are one of a few and which vary, and how
the sums stay small. Pure; where they are kept is `toolmemory`'s business.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from zlib import crc32

from memtool.tools import tool_calls
from memtool.tools.odds import Outcome
from memtool.tools.tool_calls import Template
from memtool.usage.ledger import Record, Sums

OTHERS = "…"
"""The name of what was added up because there was too much of it."""

_SHARE = 0.15  # of all calls: from it on a value stays, however many others there are
_OUTCOMES, _TASKS, _KINDS = 64, 12, 12  # kept one by one in a row
_SHAPES = 64  # rows of one tool after a fold
_BYTES = 2_000_000  # of all sums

Row = dict[str, Any]


class Trap(NamedTuple):
    """A kind of error that came up: how often, when first and last, one example."""

    kind: str
    times: int
    first: float
    last: float
    sample: str
    template: Template


class Way(NamedTuple):
    """One way to call a tool: a template of parameters with its record."""

    tool: str
    template: Template
    ok: int
    trials: int
    outcomes: tuple[tuple[Outcome, str], ...]  # the newest, oldest first, each with the key of its task
    old: tuple[int, int]  # successes and failures before these
    tasks: Mapping[str, str]
    traps: tuple[Trap, ...]
    example: dict[str, Any] | None  # parameters that worked last
    last: float
    ms: float  # mean of those that worked


# Adding up


def absorb(sums: Sums, entry: Record) -> None:
    """Add one call to the sums."""
    rows: dict[str, Row] = sums.setdefault("tools", {}).setdefault(str(entry["t"]), {})
    key = shape_key(tool_calls.template(entry["p"]))
    row = rows.setdefault(key, _empty())
    when, ok, task = float(entry["w"]), bool(entry["ok"]), str(entry.get("task", ""))
    tid = task_key(task) if task else ""
    row["n"] += 1
    row["ok"] += ok
    row["ms"] += float(entry.get("ms", 0)) if ok else 0
    row["last"] = max(row["last"], when)
    row["out"] = _newest(row["out"], [[when, int(ok), tid]], row)
    if task:
        row["tasks"] = _latest(row["tasks"], {tid: [task, when]}, _TASKS)
    if ok:
        row["ex"] = entry["p"]
    else:
        known = row["kinds"].get(entry["k"], [0, when, when, ""])
        row["kinds"][entry["k"]] = [known[0] + 1, known[1], when, entry.get("x") or known[3]]
        row["kinds"] = _top_kinds(row["kinds"])


def _empty() -> Row:
    return {"n": 0, "ok": 0, "ms": 0.0, "last": 0.0, "out": [], "old": [0, 0], "tasks": {}, "kinds": {}}


def _newest(one: list[Any], other: list[Any], row: Row) -> list[Any]:
    """Join outcomes in the order of time; those over the bound become plain counts."""
    both = sorted([*one, *other], key=lambda entry: entry[0]) if one and other else [*one, *other]
    for entry in both[:-_OUTCOMES]:
        row["old"][0 if entry[1] else 1] += 1
    return both[-_OUTCOMES:]


def _latest(one: dict[str, Any], other: dict[str, Any], most: int) -> dict[str, Any]:
    both = sorted({**one, **other}.items(), key=lambda entry: entry[1][-1])
    return dict(both[-most:])


def _top_kinds(kinds: dict[str, Any]) -> dict[str, Any]:
    if len(kinds) <= _KINDS:
        return kinds
    # The newest stay, and of the others those that came most often.
    order = sorted(kinds, key=lambda kind: (kinds[kind][2], kinds[kind][0]), reverse=True)
    newest = order[: _KINDS // 3]
    often = sorted(order[_KINDS // 3 :], key=lambda kind: -kinds[kind][0])
    kept, *rest = [*newest, *often][: _KINDS - 1], *[*newest, *often][_KINDS - 1 :]
    found = {kind: kinds[kind] for kind in kept}
    for kind in rest:
        found[OTHERS] = _joined_kind(found.get(OTHERS), kinds[kind])
    return found


def _joined_kind(one: list[Any] | None, other: list[Any]) -> list[Any]:
    if one is None:
        return other
    newest = max(one, other, key=lambda kind: kind[2])
    return [one[0] + other[0], min(one[1], other[1]), newest[2], newest[3]]


def _join(into: Row, other: Row) -> None:
    newer = other["last"] > into["last"]
    for key in ("n", "ok", "ms"):
        into[key] += other[key]
    into["last"] = max(into["last"], other["last"])
    into["old"] = [into["old"][0] + other["old"][0], into["old"][1] + other["old"][1]]
    into["out"] = _newest(into["out"], other["out"], into)
    into["tasks"] = _latest(into["tasks"], other["tasks"], _TASKS)
    for kind, told in other["kinds"].items():
        into["kinds"][kind] = _joined_kind(into["kinds"].get(kind), told)
    into["kinds"] = _top_kinds(into["kinds"])
    if "ex" in other and (newer or "ex" not in into):
        into["ex"] = other["ex"]


def shape_key(template: Template) -> str:
    """Write a template so that equal ones are equal texts."""
    return json.dumps(template, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def task_key(task: str) -> str:
    """Name a task by its words.

    >>> task_key("Deploy  it") == task_key("deploy it")
    True
    """
    return f"{crc32(' '.join(task.lower().split()).encode('utf-8', 'surrogatepass')):08x}"


# Staying small


def bound(sums: Sums) -> None:
    """Join rows until the sums are small enough; no call is forgotten in the totals."""
    tools: dict[str, dict[str, Row]] = sums.get("tools", {})
    for name in list(tools):
        if len(tools[name]) > _SHAPES:
            tools[name] = _joined(tools[name])
    for shapes, names in ((64, 2000), (16, 1000), (4, 400), (1, 100), (1, 20)):
        for name in tools:
            tools[name] = _fewer(tools[name], shapes)
        _fewer_tools(tools, names)
        if len(json.dumps(tools, ensure_ascii=False)) <= _BYTES:
            return


def _joined(rows: dict[str, Row]) -> dict[str, Row]:
    found: dict[str, Row] = {}
    for key, template in varying(rows).items():
        _join(found.setdefault(shape_key(template), _empty()), rows[key])
    return found


def _fewer(rows: dict[str, Row], most: int) -> dict[str, Row]:
    if len(rows) <= most:
        return rows
    order = sorted(rows, key=lambda key: rows[key]["last"], reverse=True)
    kept = [key for key in order if key != "null"][: most - 1]
    found = {key: rows[key] for key in kept}
    rest = _empty()
    for key in order:
        if key not in found:
            _join(rest, rows[key])
    return {**found, "null": rest}


def _fewer_tools(tools: dict[str, dict[str, Row]], most: int) -> None:
    if len(tools) <= most:
        return
    last = {name: max(row["last"] for row in rows.values()) for name, rows in tools.items()}
    rest = _empty()
    for name in sorted(tools, key=lambda name: last[name])[: len(tools) - most + 1]:
        for row in tools.pop(name).values():
            _join(rest, row)
    tools[OTHERS] = {"null": rest}


# Reading


def ways(sums: Sums) -> Iterator[Way]:
    """Give every way in which every tool was called, its varying values put aside."""
    for tool, rows in sums.get("tools", {}).items():
        found: dict[str, Row] = {}
        templates: dict[str, Template] = {}
        for key, template in varying(rows).items():
            shape = shape_key(template)
            templates[shape] = template
            _join(found.setdefault(shape, _empty()), rows[key])
        for shape, row in found.items():
            yield _way(tool, templates[shape], row)


def _way(tool: str, template: Template, row: Row) -> Way:
    kinds = sorted(row["kinds"].items(), key=lambda kind: (-kind[1][2], -kind[1][0]))
    return Way(
        tool,
        template,
        row["ok"],
        row["n"],
        tuple((Outcome(when, bool(ok)), tid) for when, ok, tid in row["out"]),
        (row["old"][0], row["old"][1]),
        {tid: told[0] for tid, told in row["tasks"].items()},
        tuple(_trap(kind, told, template) for kind, told in kinds),
        row.get("ex"),
        row["last"],
        row["ms"] / row["ok"] if row["ok"] else 0.0,
    )


def _trap(kind: str, told: Sequence[Any], template: Template) -> Trap:
    times, first, last, sample = told
    return Trap(kind, times, first, last, sample, template)


def varying(rows: Mapping[str, Row]) -> dict[str, Template]:
    """Give the template of each row, with placeholders where values vary from call to call.

    A value stays when it is one of a few that recur; a path, an id, a text never does.
    """
    parsed = {key: json.loads(key) or {} for key in rows}
    seen: dict[str, Counter[str]] = {}
    for key, template in parsed.items():
        for name, value in template.items():
            seen.setdefault(name, Counter())[json.dumps(value, ensure_ascii=False)] += rows[key]["n"]
    stays = {name: _recurring(counts) for name, counts in seen.items()}
    return {key: _placed(template, stays) for key, template in parsed.items()}


def _placed(template: Template, stays: Mapping[str, set[str]]) -> Template:
    return {
        name: value if json.dumps(value, ensure_ascii=False) in stays[name] else f"<{name}>"
        for name, value in template.items()
    }


def _recurring(counts: Counter[str]) -> set[str]:
    """Give the values of one parameter that stay.

    >>> sorted(_recurring(Counter({'"fast"': 9, '"safe"': 4})))
    ['"fast"', '"safe"']
    >>> _recurring(Counter({f'"{name}"': 1 for name in "abcdef"}))
    set()
    """
    calls, values = sum(counts.values()), len(counts)
    if values <= 2 or (values <= 8 and values <= calls / 2):
        return set(counts)
    least = max(3, calls * _SHARE)
    slots = {value for value in counts if tool_calls.is_slot(json.loads(value))}
    return slots | {value for value, times in counts.most_common(8) if times >= least}


def by_tool(found: Sequence[Way]) -> dict[str, list[Way]]:
    """Gather the ways of each tool, most used first."""
    gathered: dict[str, list[Way]] = {}
    for way in sorted(found, key=lambda way: -way.trials):
        gathered.setdefault(way.tool, []).append(way)
    return gathered
