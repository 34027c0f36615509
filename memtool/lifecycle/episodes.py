"""Old episodic notes -> a plan: notes that sum them up and cite their lines, and what goes to the archive.

Made from originals only: what is folded itself is never folded again. One that exists is made anew when its
originals changed or new ones belong to it; what can no longer be found stops that, and is told of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from memtool import names
from memtool.door.moving import ARCHIVE
from memtool.errors import ConflictError, Finding
from memtool.lifecycle import folded, gleaned, lifecycle, topics
from memtool.lifecycle.aged import Aged, origin
from memtool.lifecycle.lifecycle import Ground
from memtool.lifecycle.plans import Plan, Source, Step
from memtool.note import note

if TYPE_CHECKING:
    from memtool.llm import Chat

#: An old episode weaker than this is cold: its summary is enough at hand.
COLD = 0.25

#: Notes that one folded note is made from at most.
MOST = 80


class Wish(NamedTuple):
    """How old an episode must be, whether untyped daily notes are some, whether cold ones are archived."""

    older_than: int = 90
    untyped: bool = False
    archive: bool = True


class _Group(NamedTuple):
    path: str
    title: str
    topic: str
    sources: Sequence[Aged]
    before: Aged | None = None


def plan(ground: Ground, wish: Wish, made: float, chat: Chat | None = None) -> Plan:
    """Work out all steps: for each folded note first what is archived, then the note."""
    live = sum(not one.archived for one in ground.notes)
    findings: list[Finding] = []
    steps: list[Step] = []
    for group in _groups(ground, wish, findings):
        if wish.archive:
            steps += _archived(group, ground)
        steps.append(_step(group, chat, findings))
    return Plan("fold", made, live, tuple(steps), tuple(findings))


# Which notes belong together


def _groups(ground: Ground, wish: Wish, findings: list[Finding]) -> Iterator[_Group]:
    notes = {one.path: one for one in ground.notes}
    there = {one.path: one for one in ground.notes if one.depth}
    members = {path: folded.as_sources(notes, folded.sources_of(one.note)) for path, one in there.items()}
    taken = {one.path for found, _ in members.values() for one in found}
    cutoff = ground.today - timedelta(days=wish.older_than)
    fresh = [
        one
        for one in ground.notes
        if one.path not in taken and _is_old_episode(one, wish, cutoff.isoformat())
    ]
    closed = ground.policy.open_path()
    fresh = [one for one in fresh if closed is None or closed(one.path)]
    parted = topics.groups(fresh)
    sizes = Counter(topic for (topic, _), some in parted.items() for _ in some)
    for (topic, period), some in parted.items():
        base = f"{folded.FOLDER}/{names.stem(topic)}/{period}"
        if topics.end(period) > cutoff:
            continue
        home = there.get(f"{base}.md") or there.get(f"{ARCHIVE}/{base}.md")
        if home and not members[home.path][1]:
            members[home.path] = (_ordered([*members[home.path][0], *some]), [])
        elif len(some) > 1 or sizes[topic] >= topics.LEAST:
            yield from _new(base, f"{topic}, {period}", topic, some, notes)
    for path, one in there.items():
        yield from _again(one, *members[path], findings)


def _ordered(some: Sequence[Aged]) -> list[Aged]:
    return sorted(some, key=lambda one: (one.day, origin(one.path)))


def _is_old_episode(one: Aged, wish: Wish, cutoff: str) -> bool:
    daily = wish.untyped and not one.kind and not note.get_text(one.note, "type")
    named = origin(one.path).rpartition("/")[2].startswith(one.day) if one.day else False
    if not one.day or one.day >= cutoff or one.depth or one.says("generated") or one.torn:
        return False
    return (one.kind == "episodic" or (daily and named)) and any(gleaned.lines(one))


def _new(
    base: str, title: str, topic: str, some: Sequence[Aged], notes: Mapping[str, Aged]
) -> Iterator[_Group]:
    """Give new groups under names that are free."""
    number = 0
    for at in range(0, len(some), MOST):
        number += 1
        while (path := f"{base}{f'-{number}' if number > 1 else ''}.md") in notes:
            number += 1
        more = f" ({number})" if number > 1 else ""
        yield _Group(path, title + more, topic, some[at : at + MOST])


def _again(
    one: Aged, sources: Sequence[Aged], gone: Sequence[str], findings: list[Finding]
) -> Iterator[_Group]:
    """Give a folded note that must be made anew, or say why it cannot be."""
    if gone:
        what = (
            f"{len(gone)} of the notes it was made from cannot be found, such as {gone[0]}; it stays as it is"
        )
        findings.append(Finding("fold-source-gone", one.path, 0, what, "bring them back, see `memtool undo`"))
        return
    if not sources or folded.state(sources) == note.get_text(one.note, "folded_from"):
        return
    try:
        folded.check(one.path, "\n".join([*one.note.lines, ""]).encode("utf-8", "surrogateescape"))
    except ConflictError as error:
        findings.append(Finding("fold-edited", one.path, 0, error.what, error.fix))
        return
    yield _Group(one.path, one.title, "", sources, one)


# What is done


def _archived(group: _Group, ground: Ground) -> Iterator[Step]:
    for one in group.sources:
        cold = one.strength.fades and one.strength.value < COLD
        if cold and not one.archived and not lifecycle.kept_by(one, ground.policy):
            cool = f"cold ({one.strength.value:.2f} after {one.strength.days} days)"
            reason = f"{cool}, and folded into {group.path}"
            more = {"into": group.path}
            yield Step(
                "archive", one.path, f"{ARCHIVE}/{one.path}", reason, (Source(one.path, one.digest),), more
            )


def _step(group: _Group, chat: Chat | None, findings: list[Finding]) -> Step:
    lines = gleaned.written(group.sources, chat, group.path, findings) if chat else []
    more: dict[str, Any] = {
        "title": group.title,
        "tags": [group.topic] if group.topic and _is_tag(group) else [],
        "lines": [list(line) for line in lines or gleaned.taken(group.sources)],
        "by": chat.model if chat and lines else "extraction",
        "depth": 1,
    }
    sources = [Source(one.path, one.digest) for one in ([group.before] if group.before else [])]
    more["again"] = len(sources)
    sources += [Source(one.path, one.digest) for one in group.sources]
    verb = "made again from" if group.before else "sums up"
    many = f"{len(group.sources)} note{'s' * (len(group.sources) > 1)}"
    reason = f"{verb} {many} from {group.sources[0].day} to {group.sources[-1].day}"
    return Step("fold", group.path, group.path, reason, tuple(sources), more)


def _is_tag(group: _Group) -> bool:
    return any(group.topic in map(str.casefold, note.get_list(one.note, "tags")) for one in group.sources)
