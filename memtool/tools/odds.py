"""Outcomes in the order of time -> the chance that the next one is a success, and since when.

A pattern may end at any trial. Every run of outcomes that the present could have begun with is
weighed by how well it foretold what followed (Bayesian change points with Beta posteriors), so that a
new result counts for more the less the old pattern allows it. Knows nothing of what was tried.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

#: The chance that a pattern ends between two trials of the same day; more time, more chance.
HAZARD = 1 / 20
_MONTH_S = 30 * 86_400.0
_MOST_OLD = 50  # trials before the first outcome known one by one that count at most
_GRID = 100


class Outcome(NamedTuple):
    """One trial: when, in seconds since 1970, and whether it was a success."""

    when: float
    ok: bool
    weight: float = 1.0  # below 1: a trial of something else that is only like it


class Odds(NamedTuple):
    """The chance of success now, with the bounds that hold nine times in ten."""

    mean: float
    low: float
    high: float
    trials: float  # that speak of the present
    changed: int | None  # the outcome with which the present pattern began, when there was another before

    @property
    def sure(self) -> bool:
        """Whether there are enough trials to rely on."""
        return self.trials >= 4 and self.high - self.low <= 0.55


def estimate(outcomes: Sequence[Outcome], *, old: tuple[int, int] = (0, 0)) -> Odds:
    """Estimate the chance of success after *outcomes*, oldest first, and *old* (successes, failures) before.

    >>> odds = estimate([Outcome(n, True) for n in range(20)])
    >>> round(odds.mean, 2), odds.changed
    (0.93, None)
    >>> odds = estimate([Outcome(n, n < 20) for n in range(22)])
    >>> odds.mean < 0.4, odds.changed
    (True, 20)
    """
    runs = _runs(outcomes, old)
    mean = sum(weight * ok / (ok + bad) for _, weight, ok, bad in runs)
    low, high = _bounds(runs)
    trials = sum(weight * (ok + bad - 2) for _, weight, ok, bad in runs)
    begun, *_ = max(runs, key=lambda run: run[1])
    later = sum(weight for start, weight, *_ in runs if start > 0)
    return Odds(mean, low, high, trials, begun if begun > 0 and later > 0.5 else None)


_Run = tuple[int, float, float, float]  # where it begins, its weight, successes + 1, failures + 1


def _runs(outcomes: Sequence[Outcome], old: tuple[int, int]) -> list[_Run]:
    """Weigh every place at which the present pattern may have begun."""
    scale = min(1.0, _MOST_OLD / max(1, sum(old)))
    runs: list[_Run] = [(0, 1.0, 1 + old[0] * scale, 1 + old[1] * scale)]
    before = outcomes[0].when if outcomes else 0.0
    for place, (when, ok, worth) in enumerate(outcomes):
        hazard = _hazard(when - before) if place or sum(old) else 0.0
        runs = [(start, weight * (1 - hazard), good, bad) for start, weight, good, bad in runs]
        if hazard:
            runs.append((place, hazard, 1.0, 1.0))
        foretold = [
            (
                start,
                weight * ((good if ok else bad) / (good + bad)) ** worth,
                good + ok * worth,
                bad + (not ok) * worth,
            )
            for start, weight, good, bad in runs
        ]
        whole = sum(weight for _, weight, *_ in foretold)
        runs = [(start, weight / whole, good, bad) for start, weight, good, bad in foretold]
        runs = [run for run in runs if run[1] > 1e-4] or runs
        before = when
    whole = sum(weight for _, weight, *_ in runs)
    return [(start, weight / whole, good, bad) for start, weight, good, bad in runs]


def _hazard(gap_s: float) -> float:
    """Give the chance that a pattern ended in a gap: what worked half a year ago may no longer.

    >>> round(_hazard(60), 3), round(_hazard(180 * 86_400), 3)
    (0.05, 0.302)
    """
    return float(min(0.5, 1 - (1 - HAZARD) ** (1 + max(0.0, gap_s) / _MONTH_S)))


def _bounds(runs: Sequence[_Run]) -> tuple[float, float]:
    """Give the 5 % and 95 % points of the mixture of Beta posteriors."""
    points = [(step + 0.5) / _GRID for step in range(_GRID)]
    heavy = [run for run in runs if run[1] > 0.01] or list(runs)
    density = [sum(run[1] * _beta(point, run[2], run[3]) for run in heavy) for point in points]
    whole, low, high, at = sum(density), 0.0, 1.0, 0.0
    for point, mass in zip(points, density, strict=True):
        if at <= 0.05 * whole:
            low = point
        at += mass
        if at <= 0.95 * whole:
            high = point
    return low, min(1.0, high + 1 / _GRID)


def _beta(point: float, good: float, bad: float) -> float:
    scale = math.lgamma(good + bad) - math.lgamma(good) - math.lgamma(bad)
    return math.exp(scale + (good - 1) * math.log(point) + (bad - 1) * math.log(1 - point))
