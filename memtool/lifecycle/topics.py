"""Old episodes -> groups of one topic and one month, quarter or year: the same whenever they are asked for.

A topic is a tag, else what a note links to, else the words it shares with others, else its folder. How
long a period is follows from how much was written of a topic.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date

from memtool import lexical
from memtool.folding.folding import cosine
from memtool.lifecycle.aged import Aged, origin
from memtool.links import links
from memtool.note import note

#: A tag on more than this share of the notes says little of any of them.
COMMON = 0.6

#: Fewer notes than that are no topic of their own.
LEAST = 3

#: Notes in a month, or in a quarter, from which on it is a period of its own.
PER_MONTH, PER_QUARTER = 4.0, 3.0

#: Cosine of words from which on two notes without tags and links are of one topic.
ALIKE = 0.25

_MOST_LEADERS = 40


def groups(notes: Sequence[Aged]) -> dict[tuple[str, str], list[Aged]]:
    """Part notes by topic and period, both in order; every note has a day."""
    topics = _topics(notes)
    by_topic: dict[str, list[Aged]] = defaultdict(list)
    for one in sorted(notes, key=lambda one: (one.day, origin(one.path))):
        by_topic[topics[one.path]].append(one)
    found: dict[tuple[str, str], list[Aged]] = defaultdict(list)
    for topic, some in sorted(by_topic.items()):
        length = _length(some)
        sizes = Counter(period(one.day, length) for one in some)
        for one in some:
            # One that was alone in its time goes with others of the year.
            name = period(one.day, length)
            found[topic, name if sizes[name] > 1 else one.day[:4]].append(one)
    return dict(sorted(found.items()))


def period(day: str, length: str) -> str:
    """Name the period of a day.

    >>> period("2024-05-03", "month"), period("2024-05-03", "quarter"), period("2024-05-03", "year")
    ('2024-05', '2024-Q2', '2024')
    """
    if length == "month":
        return day[:7]
    return f"{day[:4]}-Q{(int(day[5:7]) + 2) // 3}" if length == "quarter" else day[:4]


def end(name: str) -> date:
    """Give the first day after a period.

    >>> end("2024-12"), end("2024-Q1"), end("2024")
    (datetime.date(2025, 1, 1), datetime.date(2024, 4, 1), datetime.date(2025, 1, 1))
    """
    year = int(name[:4])
    month = 12 if len(name) == 4 else 3 * int(name[6]) if "Q" in name else int(name[5:7])
    return date(year + (month == 12), month % 12 + 1, 1)


def _length(notes: Iterable[Aged]) -> str:
    months = Counter(one.day[:7] for one in notes)
    quarters = Counter(period(f"{month}-01", "quarter") for month in months.elements())
    if months.total() / len(months) >= PER_MONTH:
        return "month"
    return "quarter" if quarters.total() / len(quarters) >= PER_QUARTER else "year"


# Topics


def _topics(notes: Sequence[Aged]) -> dict[str, str]:
    tags = {one.path: _tags(one) for one in notes}
    linked = {one.path: _linked(one) for one in notes}
    tagged, led = _counts(tags), _counts(linked)
    found = {
        one.path: _best(tags[one.path], tagged, COMMON * len(notes)) or _best(linked[one.path], led, math.inf)
        for one in notes
    }
    plain = [one for one in notes if not found[one.path]]
    found |= _clusters(plain)
    sizes = Counter(found.values())
    return {one.path: found[one.path] if sizes[found[one.path]] >= LEAST else _folder(one) for one in notes}


def _tags(one: Aged) -> list[str]:
    return [tag.casefold().removeprefix("#") for tag in note.get_list(one.note, "tags")]


def _linked(one: Aged) -> list[str]:
    found = links.find("\n".join(one.body))
    names = (links.bare(link.target).rpartition("/")[2].strip() for link in found if link.kind == "wiki")
    return [name for name in names if name]


def _counts(named: Mapping[str, Sequence[str]]) -> Counter[str]:
    return Counter(name for names in named.values() for name in set(names))


def _best(names: Sequence[str], counts: Counter[str], most: float) -> str:
    """Take the name that most notes share; one on nearly all of them only when there is no other."""
    telling = [name for name in names if counts[name] <= most] or list(names)
    return min(telling, key=lambda name: (-counts[name], name), default="")


def _folder(one: Aged) -> str:
    return origin(one.path).rpartition("/")[0].rpartition("/")[2] or "notes"


def _clusters(notes: Sequence[Aged]) -> dict[str, str]:
    """Put each note to the first one it is like, in the order of days; name them for their common words."""
    ordered = sorted(notes, key=lambda one: (one.day, origin(one.path)))
    words = [Counter(filter(_tells, lexical.tokens(" ".join([one.title, *one.body])))) for one in ordered]
    spread = Counter(token for one in words for token in one)
    units = [_unit(one, spread, len(ordered)) for one in words]
    leaders: list[int] = []
    members: dict[int, list[int]] = defaultdict(list)
    for place, unit in enumerate(units):
        best = max(leaders, key=lambda leader: cosine(unit, units[leader]), default=None)
        if best is None or (cosine(unit, units[best]) < ALIKE and len(leaders) < _MOST_LEADERS):
            leaders.append(place)
            best = place
        members[best].append(place)
    found: dict[str, str] = {}
    for some in members.values():
        name = _named([words[place] for place in some], spread) if len(some) >= LEAST else ""
        found |= {ordered[place].path: name or _folder(ordered[place]) for place in some}
    return found


def _tells(token: str) -> bool:
    return (
        len(token) > 1
        and not token.isdecimal()
        and token not in lexical.STOP
        and token not in lexical.WIDE_STOP
    )


def _unit(counts: Counter[str], spread: Counter[str], total: int) -> dict[str, float]:
    weights = {token: n * math.log(1 + total / spread[token]) for token, n in counts.items()}
    length = math.sqrt(sum(value * value for value in weights.values())) or 1.0
    return {token: value / length for token, value in weights.items()}


def _named(words: Sequence[Counter[str]], spread: Counter[str]) -> str:
    """Name a cluster for the word that most of it holds, and little else."""
    inside = Counter(token for one in words for token in one)
    return max(sorted(inside), key=lambda token: inside[token] * inside[token] / spread[token], default="")
