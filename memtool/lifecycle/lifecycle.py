"""Notes, their use and today -> a plan: what to restore, to merge, to put into the archive, and why.

Only ever proposes, and nothing is deleted by any step. What is pinned, frozen, a core note, closed to
some, or somebody's own by the rules is left alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from memtool import kinds
from memtool.conflicts import likeness
from memtool.door.moving import ARCHIVE
from memtool.errors import Finding
from memtool.generated import FOLDER as ANSWERS
from memtool.lifecycle.aged import Aged, origin
from memtool.lifecycle.plans import Plan, Source, Step
from memtool.policy.policy import Policy

if TYPE_CHECKING:
    from memtool.embedders.base import Matrix

#: Who carries a plan out.
WRITER = "agent/memtool"

#: Below this strength a note is faded.
FADED = 0.1

#: An archived note that was opened so often within so many days is wanted again.
WANTED, WANTED_DAYS = 2, 30

#: More than this share of the notes, and so many, are not archived at once unless somebody accepts it.
LOSS_SHARE, LOSS_COUNT = 0.2, 20


class Ground(NamedTuple):
    """What a plan is made from: the notes, the rules, how often archived notes were opened lately."""

    notes: Sequence[Aged]
    today: date
    policy: Policy
    opened: Mapping[str, int]
    vectors: Callable[[Collection[str]], Mapping[str, Matrix]]
    below: float = FADED
    alike: float = likeness.ALIKE


def plan(ground: Ground, made: float) -> Plan:
    """Work out all steps, in the order of the plan; a note takes part in one of them at most."""
    live = [note for note in ground.notes if not note.archived]
    free, findings = _free(live, ground.policy)
    merges, told = _merges([note for note in free if _may_merge(note)], ground)
    gone = {source.path for step in merges for source in step.sources}
    fading = [note for note in free if note.path not in gone]
    steps = [*_restores(ground), *merges, *_fading(fading, ground)]
    return Plan("lifecycle", made, len(live), tuple(steps), (*findings, *told))


def is_loss(plan: Plan) -> bool:
    """Tell whether a plan puts away so much that somebody should accept it first."""
    return plan.moved >= LOSS_COUNT and plan.moved > LOSS_SHARE * max(1, plan.notes)


# Who may be touched at all


def _free(notes: Iterable[Aged], policy: Policy) -> tuple[list[Aged], list[Finding]]:
    """Pick the notes that may be moved; say how many are left alone by which rule."""
    free, why = [], Counter[str]()
    for note in notes:
        objection = kept_by(note, policy)
        if objection:
            why[objection] += 1
        else:
            free.append(note)
    return free, [
        Finding("lifecycle-kept", ".", 0, f"{many} note{'s' * (many > 1)} left alone: {reason}")
        for reason, many in sorted(why.items())
    ]


def kept_by(note: Aged, policy: Policy) -> str:
    """Say why a note is left alone; "" when it may be moved."""
    if note.pinned:
        return "pinned"
    if note.frozen:
        return "frozen"
    if note.torn:
        return "holding two versions of one note"
    opens = policy.open_path()
    if opens is not None and not opens(note.path):
        return "not everybody may read it"
    for path in (note.path, note.path if note.archived else f"{ARCHIVE}/{note.path}"):
        decision = policy.decide(WRITER, "archive", path)
        if not decision.allowed:
            return f"{decision.why} ({decision.rule})"
    return ""


# Wanted again


def _restores(ground: Ground) -> Iterator[Step]:
    for note in ground.notes:
        times = ground.opened.get(note.path, 0)
        if note.archived and times >= WANTED and not note.frozen:
            reason = f"opened {times} times within {WANTED_DAYS} days though it is archived"
            yield Step("restore", note.path, origin(note.path), reason, (_source(note),))


# Faded


def _fading(notes: Iterable[Aged], ground: Ground) -> Iterator[Step]:
    for note in notes:
        reason = _why_faded(note, ground.below)
        if reason:
            more = {"strength": round(note.strength.value, 4), "days": note.strength.days}
            yield Step("archive", note.path, f"{ARCHIVE}/{note.path}", reason, (_source(note),), more)


def _why_faded(note: Aged, below: float) -> str:
    named = kinds.kind_of(note.kind)
    if not note.strength.fades:
        return ""
    if named and named.expires_days and note.strength.days > named.expires_days:
        return (
            f"{named.name} notes expire after {named.expires_days} days; untouched for {note.strength.days}"
        )
    if note.strength.value < below:
        return f"faded: {note.strength}, below {below:g}"
    return ""


# Said twice


def _may_merge(note: Aged) -> bool:
    """Leave out what says itself how it stands to others, and what was made from others."""
    bound = {"supersedes", "superseded_by", "valid_from", "valid_to"} & note.note.meta.keys()
    made = note.depth or note.says("generated") or note.path.startswith(f"{ANSWERS}/")
    return not bound and not made and any(line.strip() for line in note.body)


def _merges(notes: Sequence[Aged], ground: Ground) -> tuple[list[Step], list[Finding]]:
    """Let the strongest of notes that say the same take the lines of the others."""
    known = ground.vectors([note.path for note in notes])
    at = {place: known[note.path] for place, note in enumerate(notes) if note.path in known}
    alike: dict[int, dict[int, likeness.Pair]] = {}
    texts = ["\n".join(note.body) for note in notes]
    for pair in likeness.pairs(texts, at, least=ground.alike):
        alike.setdefault(pair.one, {})[pair.other] = pair
        alike.setdefault(pair.other, {})[pair.one] = pair
    steps, findings, taken = list[Step](), list[Finding](), set[int]()
    for keeper in sorted(alike, key=lambda place: (-notes[place].strength.value, notes[place].path)):
        for other, pair in sorted(alike[keeper].items()) if keeper not in taken else ():
            if other in taken or keeper in taken:
                continue
            differ = likeness.contradicts(notes[keeper].body, notes[other].body)
            if differ:
                findings += [_told_apart(notes[keeper], notes[other])] if keeper < other else []
            else:
                taken.add(other)
                steps.append(_merge(notes[keeper], notes[other], pair))
        taken |= {keeper} if any(step.path == notes[keeper].path for step in steps) else set()
    return steps, findings


def _merge(kept: Aged, other: Aged, pair: likeness.Pair) -> Step:
    reason = f"says nearly the same as {kept.path} (likeness {pair.likeness:.2f} by {pair.by})"
    more = {"likeness": pair.likeness, "by": pair.by, "archived": f"{ARCHIVE}/{other.path}"}
    return Step("merge", kept.path, kept.path, reason, (_source(kept), _source(other)), more)


def _told_apart(one: Aged, other: Aged) -> Finding:
    what = f"{other.path} is nearly the same, but differs in a number or a negation; not offered as a merge"
    fix = "see which of them is true, then let it supersede the other"
    return Finding("lifecycle-differs", one.path, 0, what, fix)


def _source(note: Aged) -> Source:
    return Source(note.path, note.digest)
