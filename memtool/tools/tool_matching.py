"""A task and ways to call tools -> how near each way is to the task, by words and by meanings.

A way is as near as the nearest task it was used for; words that all tools are used for tell little.
Knows nothing of what worked.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence

from memtool import lexical
from memtool.tools import tool_calls
from memtool.tools.tool_record import Way

#: Tells how near a task is to each of some texts, from 0 to 1.
Near = Callable[[str, Sequence[str]], Sequence[float]]

_SAME_TOOL = 0.9  # of the match of a tool's best way, for its other ways
LIKE = 0.5  # what a result on any other task counts at least
_OTHER = 0.5  # of a match is left where the task names another value of a parameter
_BASE = 0.5  # what the words of a tool's name and parameters weigh against those of a task
_HIRAGANA = re.compile("[\u3041-\u309f]")
_MOST_NEAR = 48


def match(known: Sequence[Way], task: str, near: Near | None) -> list[tuple[float, dict[str, float]]]:
    """Tell of each way how near it is to the task, and what results on each of its tasks count."""
    wanted = _wanted(task)
    bases = [_words(_about(way)) for way in known]
    texts = {tid: text for way in known for tid, text in way.tasks.items()}
    words = {tid: _words(text) for tid, text in texts.items()}
    weights = _weights(wanted, known, bases, words)
    meant = _meant(task, texts, {tid: _share(wanted, words[tid], weights) for tid in texts}, near)
    found = []
    for way, base in zip(known, bases, strict=True):
        each = {tid: max(meant.get(tid, 0.0), _joint(wanted, words[tid], base, weights)) for tid in way.tasks}
        found.append((max([_BASE * _share(wanted, base, weights), *each.values()]), each))
    return _levelled(known, found, _named(known, wanted))


def _levelled(
    known: Sequence[Way],
    found: Sequence[tuple[float, dict[str, float]]],
    named: Mapping[tuple[str, str], set[str]],
) -> list[tuple[float, dict[str, float]]]:
    """Let all ways of a tool be candidates for its tasks, but for those that the task speaks against."""
    tools: dict[str, float] = {}
    for way, (match, _) in zip(known, found, strict=True):
        tools[way.tool] = max(tools.get(way.tool, 0.0), match)
    best = max(tools.values(), default=0.0) or 1.0
    levelled = []
    for way, (match, each) in zip(known, found, strict=True):
        match = max(match, _SAME_TOOL * tools[way.tool]) * (_OTHER if _is_other(way, named) else 1)
        counts = {tid: max(LIKE, min(1.0, near / best) ** 2) for tid, near in each.items()}
        levelled.append((match, counts))
    return levelled


def _is_other(way: Way, named: Mapping[tuple[str, str], set[str]]) -> bool:
    """Tell a way that has another value where the task names one: what says "prod" is not about "staging"."""
    values = ((name, value) for name, value in way.template.items() if (way.tool, name) in named)
    return any(not isinstance(value, str) or value not in named[way.tool, name] for name, value in values)


def _named(known: Sequence[Way], wanted: set[str]) -> dict[tuple[str, str], set[str]]:
    """Give the values that a task calls by name, by tool and parameter."""
    found: dict[tuple[str, str], set[str]] = {}
    for way in known:
        for name, value in way.template.items():
            words = set(lexical.tokens(value[:100])) if isinstance(value, str) else set()
            if words and words <= wanted and not tool_calls.is_slot(value):
                found.setdefault((way.tool, name), set()).add(value)
    return found


def _about(way: Way) -> str:
    values = [str(value) for value in way.template.values() if not tool_calls.is_slot(value)]
    kinds = [trap.kind for trap in way.traps[:4]]
    return " ".join([way.tool, *way.template, *values, *kinds])


def _wanted(task: str) -> set[str]:
    """Give the words of a task; pairs with endings and particles only where there is nothing else.

    >>> sorted(_wanted("席を予約したい")), sorted(_wanted("ねがい"))
    (['予約'], ['がい', 'ねが'])
    """
    words = {word for word in lexical.question_tokens(task) if word not in ("を", "の")}
    return {word for word in words if not _HIRAGANA.search(word)} or words


def _words(text: str) -> set[str]:
    return set(lexical.tokens(text[:2000]))


def _weights(
    wanted: set[str], known: Sequence[Way], bases: Sequence[set[str]], words: Mapping[str, set[str]]
) -> dict[str, float]:
    """Weigh the words of a task by how well they part tools: what all tools are used for tells little."""
    spoken: dict[str, set[str]] = {}
    for way, base in zip(known, bases, strict=True):
        spoken.setdefault(way.tool, set()).update(base, *(words[tid] for tid in way.tasks))
    many = len(spoken) + 1
    counts = {word: sum(word in text for text in spoken.values()) for word in wanted}
    # A word that nobody ever used parts nothing; it only makes the match less sure.
    return {word: max(0.1, math.log(many / (count or many / 2))) for word, count in counts.items()}


def _share(wanted: set[str], words: set[str], weights: dict[str, float]) -> float:
    whole = sum(weights.values())
    there = sum(weights[word] for word in wanted if word in words)
    return there / whole if whole else 0.0


def _joint(wanted: set[str], words: set[str], base: set[str], weights: dict[str, float]) -> float:
    """Measure a task by its own words, and half by those of the tool."""
    own = _share(wanted, words, weights)
    return own + _BASE * (_share(wanted, words | base, weights) - own)


def _meant(task: str, texts: dict[str, str], shares: dict[str, float], near: Near | None) -> dict[str, float]:
    """Tell how near the meanings of earlier tasks are; {} without vectors."""
    if near is None or not texts:
        return {}
    tids = sorted(texts, key=lambda tid: -shares[tid])[:_MOST_NEAR]
    return dict(zip(tids, near(task, [texts[tid] for tid in tids]), strict=True))
