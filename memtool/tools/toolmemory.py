"""A tool's outcome -> a record; a task -> advice: what worked, with which parameters, and the traps.

Counts decide: a way to call a tool is judged by its record on tasks like this one, the newest results
first of all. Knows nothing of notes; `tool_notes` writes them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from memtool.errors import UsageError, VaultError
from memtool.tools import odds, tool_calls, tool_matching, tool_record
from memtool.tools.odds import Odds
from memtool.tools.tool_calls import Mask
from memtool.tools.tool_matching import Near
from memtool.tools.tool_record import Trap, Way
from memtool.usage import ledger
from memtool.usage.ledger import Ledger, Record, Sums
from memtool.vault import Vault

FOLDER, NAME = "tools", "log"
BYTES = 1_000_000  # of the log; what is older is counts

_LEAST = 0.2  # of the words of a task, weighed: below it nothing is known of such tasks
_GATE = 0.6  # of the best match: ways that match less are for other tasks
_PATTERN = 10  # results without an exception that make a pattern
_AVOID = 3


class Advice(NamedTuple):
    """One way to do a task: tool, parameters, its record, and what to look out for."""

    tool: str
    params: dict[str, Any]  # a template: what varies stands in angle brackets
    example: dict[str, Any] | None
    odds: Odds
    ok: int
    trials: int
    match: float  # how near its tasks are to this one, from 0 to 1
    changed: float | None  # since when it behaves otherwise than before
    last: float
    ms: float
    contradicted: str  # "worked" or "failed": the newest result, where the pattern before it was the other
    traps: tuple[Trap, ...]
    avoid: tuple[tuple[dict[str, Any], int, int], ...]  # ways of the same tool that fail: params, ok, trials


def log(
    vault: Vault,
    name: str,
    params: object = None,
    *,
    ok: bool,
    mask: Mask,
    error: str = "",
    ms: float | None = None,
    task: str = "",
    session: str = "",
    writer: str = "",
    now: float | None = None,
) -> Record:
    """Keep one call of a tool and give what was kept. *ms* None: not measured. *now* None asks the clock.

    Raises UsageError for a name that is none, VaultError when it cannot be kept.
    """
    if mask(name) != name:
        raise UsageError("the tool's name seems to hold a secret", fix="name the tool alone")
    entry: Record = {
        "t": checked(name),
        "w": round(time.time() if now is None else now, 6),
        "ok": bool(ok),
        "p": tool_calls.keep(params, mask),
        "ms": round(ms, 1) if ms is not None and math.isfinite(ms) and ms >= 0 else None,
        "k": "" if ok else tool_calls.error_kind(mask(error[:20_000])),
        "x": "" if ok else tool_calls.short(error.strip(), mask),
        "task": tool_calls.short(" ".join(task.split()), mask),
        "s": session[:200],
        "by": writer[:100],
    }
    entry = {key: value for key, value in entry.items() if value not in ("", None)}
    try:
        vault.prepare(vault.state / FOLDER)
        ledger.append(place(vault), entry, patience_s=5.0)
    except OSError as error_:
        raise VaultError(
            "the call was not kept",
            why=(error_.strerror or str(error_)).lower(),
            fix="see that the disk is not full and that you may write in `.memtool/state/tools/`",
        ) from error_
    return entry


def checked(name: str) -> str:
    """Give a tool's name as it is; raises UsageError for one that cannot be kept."""
    if not name.strip():
        raise UsageError(
            "a tool needs a name", fix="name it as its callers do, as in `memtool tool log Bash`"
        )
    if len(name) > tool_calls.NAME_CHARACTERS:
        why = f"{len(name):,} characters; {tool_calls.NAME_CHARACTERS:,} are kept"
        raise UsageError("the tool's name is too long", why=why, fix="give the name only, not the call")
    return name


def place(vault: Vault) -> Ledger:
    """Give where the calls of a vault are kept."""
    return Ledger(vault.state / FOLDER, NAME, tool_record.absorb, BYTES, tool_record.bound)


def sums(vault: Vault) -> Sums:
    """Add up all calls."""
    return ledger.tally(place(vault))


def ways(vault: Vault) -> list[Way]:
    """Give every way in which every tool was called."""
    return list(tool_record.ways(sums(vault)))


# Advice


def advise(known: Sequence[Way], task: str, *, near: Near | None = None, limit: int = 3) -> list[Advice]:
    """Give the ways to do *task*, the one with the best record first; [] when nothing is known of it.

    Each tool is named once, with its best way.
    """
    matched = [
        (way, *found) for way, found in zip(known, tool_matching.match(known, task, near), strict=True)
    ]
    best = max((match for _, match, _ in matched), default=0.0)
    if best < _LEAST:
        return []
    ranked = sorted(
        (_judged(way, match, counts) for way, match, counts in matched if match >= best * _GATE),
        key=lambda advice: (-_worth(advice), -advice.match, advice.tool),
    )
    chosen: dict[str, Advice] = {}
    for advice in ranked:
        chosen.setdefault(advice.tool, advice)
    found = list(chosen.values())[:limit]
    return [_warned(advice, [one for one in matched if one[0].tool == advice.tool]) for advice in found]


def _worth(advice: Advice) -> float:
    """Prefer what works; among equals the one that more is known of, then the quicker."""
    known = min(advice.odds.trials, 20) / 20
    mean = advice.odds.mean
    if advice.contradicted:
        # One result that breaks a pattern says more of the present than all that made the pattern.
        mean = min(mean, 0.5) if advice.contradicted == "failed" else max(mean, 0.5)
    return mean + 0.03 * known - 0.02 * min(advice.ms / 60_000, 1)


def _judged(way: Way, match: float, near: Mapping[str, float]) -> Advice:
    """Judge a way by its results; those on tasks like this one count most."""
    outcomes = [outcome._replace(weight=near.get(tid, tool_matching.LIKE)) for outcome, tid in way.outcomes]
    estimated = odds.estimate(outcomes, old=way.old)
    changed = outcomes[estimated.changed].when if estimated.changed is not None else None
    return Advice(
        way.tool,
        way.template,
        way.example,
        estimated,
        way.ok,
        way.trials,
        match,
        changed,
        way.last,
        way.ms,
        contradicted=_contradicted([outcome.ok for outcome in outcomes]),
        traps=way.traps,
        avoid=(),
    )


def _contradicted(results: Sequence[bool]) -> str:
    """Give the newest result where it breaks a pattern that had no exception lately."""
    before = results[-_PATTERN - 1 : -1]
    breaks = len(before) >= 3 and len(set(before)) == 1 and results[-1] != before[-1]
    return ("worked" if results[-1] else "failed") if breaks else ""


def _warned(advice: Advice, all_ways: Sequence[tuple[Way, float, Mapping[str, float]]]) -> Advice:
    """Add to a tool's best way what is known of its other ways: their traps, and whether they fail."""
    others = [_judged(*one) for one in all_ways if one[0].template != advice.params]
    worse = [one for one in others if one.odds.mean < min(0.5, advice.odds.mean - 0.15)]
    traps = sorted((trap for one in (advice, *others) for trap in one.traps), key=lambda trap: -trap.last)
    avoid = [(one.params, one.ok, one.trials) for one in sorted(worse, key=lambda one: -one.trials)]
    return advice._replace(traps=tuple(traps), avoid=tuple(avoid[:_AVOID]))
