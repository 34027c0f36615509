"""What a caller asks for -> a `Query`: defaults filled in, nonsense refused.

Knows the defaults of each mode and what an argument may be. Knows nothing of how it is answered.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import get_args

from memtool.config import Config
from memtool.errors import UsageError
from memtool.search.query import Mode, Opened, Query, Score

#: Defaults of a purely semantic search.
SEMANTIC_LIMIT, SEMANTIC_MIN_SCORE = 3, 0.35

FUSIONS = ("weighted", "rrf")
OPENED = get_args(Opened)
SCORES = get_args(Score)

_DAY = re.compile(r"\d{4}(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?)?")


def complete(query: Query, config: Config, *, limit: int | None, min_score: float | None) -> Query:
    """Give *query* with the limit and the line it is asked with; raises UsageError for nonsense."""
    if query.mode not in get_args(Mode):
        raise _wrong("mode", query.mode, f"it is one of {', '.join(get_args(Mode))}")
    if query.fusion not in FUSIONS:
        raise _wrong("fusion", query.fusion, f"it is one of {', '.join(FUSIONS)}")
    if query.opened not in OPENED:
        raise _wrong("opened", query.opened, f"it is one of {', '.join(OPENED)}")
    if query.score not in SCORES:
        raise _wrong("score", query.score, f"it is one of {', '.join(SCORES)}")
    semantic = query.mode == "semantic"
    if limit is None:
        limit = SEMANTIC_LIMIT if semantic else config.limit
    if limit < 1:
        raise _wrong("limit", limit, "it counts hits, so it is at least 1")
    if min_score is None:
        min_score = config.min_score
    if min_score is None and semantic:
        min_score = SEMANTIC_MIN_SCORE
    if min_score is not None and not -1 <= min_score <= 1:
        raise _wrong("min_score", min_score, "scores lie between -1 and 1")
    if query.budget is not None and not query.budget > 0:
        raise _wrong("budget", query.budget, "it counts tokens, so it is above 0")
    return query._replace(
        limit=limit,
        min_score=min_score,
        since=day("since", query.since),
        until=day("until", query.until),
        now=day("now", query.now),
    )


def day(name: str, text: str) -> str:
    """Check an ISO day, month or year; "" stands for no bound."""
    if text and not _DAY.fullmatch(text):
        raise _wrong(name, repr(text), "it is a day: write 2026-04-01, 2026-04 or 2026")
    return text


def listed(value: str | Sequence[str]) -> tuple[str, ...]:
    """Take one name for a list of one.

    >>> listed("ops"), listed(["a", "b"])
    (('ops',), ('a', 'b'))
    """
    return (value,) if isinstance(value, str) else tuple(value)


def _wrong(name: str, value: object, why: str) -> UsageError:
    return UsageError(f"{name} is {value}", why=why, fix=f"give another {name}")
