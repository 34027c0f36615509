"""Cases and a search function -> recall, MRR, nDCG, evidence within a budget, abstention.

A case is judged by lines: a hit counts when it overlaps the lines that answer. Knows nothing of
how hits are found.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from memtool.errors import UsageError
from memtool.tense.dates import get_date

#: A hit longer than this never counts as strict.
STRICT_LINES = 40

#: What is counted of each answerable case.
COLUMNS = ("R@1", "R@3", "R@5", "R@10", "MRR@10", "nDCG@10", "budget", "strict R@5", "fresh")


class Span(NamedTuple):
    """A run of lines of one note, both ends included."""

    path: str
    start: int
    end: int

    def overlaps(self, other: Span) -> bool:
        return self.path == other.path and self.start <= other.end and other.start <= self.end


class Case(NamedTuple):
    """A question with the lines that answer it; no lines when nothing does."""

    id: str
    query: str
    category: str
    vault: str
    gold: tuple[Span, ...]
    stale: tuple[Span, ...] = ()
    any: bool = False  # one of the gold runs is enough
    answerable: bool = True
    now: str = ""  # the ISO day on which it is asked, or that it asks about


class Judged(NamedTuple):
    """A case with what an answer to it is worth; None where a figure does not apply."""

    case: Case
    figures: Mapping[str, float | None]
    confidence: float


class Table(NamedTuple):
    """Figures by category, ``ALL`` first, and how well answerable questions are told apart."""

    rows: list[tuple[str, int, dict[str, float | None]]]
    abstention: float | None  # AUROC; None without unanswerable questions


#: What is asked of a search: hits best first, and how sure it is that the vault answers at all.
Searching = Callable[[Case], tuple[Sequence[Span], float]]


def load(file: Path) -> list[Case]:
    """Read cases, one JSON object a line; raises UsageError naming the line that is none."""
    cases = []
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"cannot read {file}",
            why=getattr(error, "strerror", None) or str(error),
            fix="give a file of cases, one JSON object a line",
        ) from error
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                cases.append(_case(json.loads(line)))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise UsageError(
                    f"{file}:{number} is no case",
                    why=_why(error),
                    fix='write {"id", "query", "gold": [{"path", "start_line", "end_line"}]} on one line',
                ) from error
    return cases


def _why(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"it has no `{error.args[0]}`"
    return str(error) if isinstance(error, ValueError) else "it has another form"


def _case(given: Mapping[str, object]) -> Case:
    def spans(key: str) -> tuple[Span, ...]:
        found: Iterable[Mapping[str, object]] = given.get(key) or ()  # type: ignore[assignment]
        return tuple(_span(str(g["path"]), int(str(g["start_line"])), int(str(g["end_line"]))) for g in found)

    return Case(
        id=str(given["id"]),
        query=str(given["query"]),
        category=str(given.get("category", "")),
        vault=str(given.get("vault", ".")),
        gold=spans("gold"),
        stale=spans("stale"),
        any=bool(given.get("gold_any", False)),
        answerable=bool(given.get("answerable", True)),
        now=_day(given.get("as_of")),
    )


def _day(value: object) -> str:
    """Give the day of a time; one that is none is not given."""
    when = get_date(value) if isinstance(value, str) else None
    return when.date().isoformat() if when else ""


def _span(path: str, start: int, end: int) -> Span:
    if not 1 <= start <= end:
        raise ValueError(f"{path}:{start}-{end} names no lines")
    return Span(path, start, end)


def judge(
    case: Case, hits: Sequence[Span], *, cost: Callable[[str, int], float], budget: float
) -> dict[str, float | None]:
    """Count one answer; *cost* gives the tokens of a line of a note."""
    wanted = 1 if case.any else len(case.gold)
    ranks = _first_ranks(hits[:10], case.gold)
    found = sorted(rank for rank in ranks if rank)
    strict = [hit if hit.end - hit.start < STRICT_LINES else hit._replace(path="\0") for hit in hits[:10]]

    def share(ranks: Iterable[int | None], most: int) -> float:
        return min(wanted, sum(1 for rank in ranks if rank and rank <= most)) / wanted

    best = sum(1 / math.log2(rank + 1) for rank in range(1, min(wanted, 10) + 1))
    gains = sum(1 / math.log2(rank + 1) for rank in found[:wanted])
    figures: dict[str, float | None] = {f"R@{k}": share(ranks, k) for k in (1, 3, 5, 10)}
    figures["MRR@10"] = 1 / found[0] if found else 0.0
    figures["nDCG@10"] = min(1.0, gains / best)
    figures["budget"] = min(wanted, _reached(case.gold, hits, cost, budget)) / wanted
    figures["strict R@5"] = share(_first_ranks(strict, case.gold), 5)
    figures["fresh"] = _fresh(case, hits, found) if case.stale else None
    return figures


def _first_ranks(hits: Sequence[Span], gold: Sequence[Span]) -> list[int | None]:
    """For each gold run, the rank of the first hit that overlaps it."""
    return [next((rank for rank, hit in enumerate(hits, 1) if hit.overlaps(span)), None) for span in gold]


def _fresh(case: Case, hits: Sequence[Span], found: Sequence[int]) -> float:
    """1 when a gold run stands before every run that no longer holds."""
    old = [rank for rank in _first_ranks(hits[:10], case.stale) if rank]
    return float(bool(found) and (not old or found[0] < min(old)))


def _reached(
    gold: Sequence[Span], hits: Sequence[Span], cost: Callable[[str, int], float], budget: float
) -> int:
    """Count the gold runs that are read before *budget* tokens are; a line read twice costs once."""
    used, seen, reached = 0.0, set(), [False] * len(gold)
    for hit in hits:
        end, full = None, False
        for line in range(hit.start, hit.end + 1):
            if (hit.path, line) not in seen:
                price = cost(hit.path, line)
                if used + price > budget:
                    full = True
                    break
                used += price
                seen.add((hit.path, line))
            end = line
        if end is not None:
            read = hit._replace(end=end)
            reached = [done or read.overlaps(span) for done, span in zip(reached, gold, strict=True)]
        if full:
            break
    return sum(reached)


def evaluate(
    cases: Sequence[Case], search: Searching, *, cost: Callable[[Case, str, int], float], budget: float = 1500
) -> list[Judged]:
    """Ask every case and judge what comes back."""
    judged = []
    for case in cases:
        hits, confidence = search(case)
        price = lambda path, line, case=case: cost(case, path, line)  # noqa: E731
        figures = judge(case, hits, cost=price, budget=budget) if case.gold else {}
        judged.append(Judged(case, figures, confidence))
    return judged


def table(judged: Sequence[Judged]) -> Table:
    """Average by category; unanswerable cases stand in rows of their own and never in ``ALL``."""
    answerable = [one for one in judged if one.case.answerable]
    groups = [("ALL", answerable)]
    for category in sorted({one.case.category for one in judged if one.case.category}):
        groups.append((category, [one for one in judged if one.case.category == category]))
    rows = [
        (name, len(group), {column: _mean(group, column) for column in COLUMNS}) for name, group in groups
    ]
    yes = [one.confidence for one in answerable]
    no = [one.confidence for one in judged if not one.case.answerable]
    return Table(rows, auroc(yes, no) if yes and no else None)


def _mean(judged: Sequence[Judged], column: str) -> float | None:
    values = [value for one in judged if (value := one.figures.get(column)) is not None]
    return sum(values) / len(values) if values else None


def auroc(higher: Sequence[float], lower: Sequence[float]) -> float:
    """Give the chance that one of *higher* is above one of *lower*; a tie counts half.

    >>> auroc([0.9, 0.4], [0.1, 0.4])
    0.875
    """
    wins = sum((a > b) + 0.5 * (a == b) for a in higher for b in lower)
    return wins / (len(higher) * len(lower))
