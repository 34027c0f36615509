"""A question and a session -> all that could go into a context: turns, pins, extracts, each with its source.

Knows who must be asked for what; what goes in is decided in `context`, what a line is worth in `extracts`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from memtool.answer import answering, request
from memtool.answer.answer import Answer
from memtool.context import context, extracts
from memtool.context.context import Context, Item, Left
from memtool.errors import MemtoolError, UsageError
from memtool.folding import summaries, turns
from memtool.folding.summaries import Summary
from memtool.folding.turns import Turn
from memtool.search.query import Found, Hit, Leanings, Query
from memtool.search.search import cost

if TYPE_CHECKING:
    from memtool.context.extracts import Extract
    from memtool.index.index import FileRow
    from memtool.llm import Chat
    from memtool.refresh.refresh import RefreshReport

#: Chunks whose lines may go into a context; extracts of them that are compared for saying the same.
CHUNKS, COMPARED = 40, 60

#: Tokens below which chunks are cut into single lines.
FINE = 300

#: Turns that a summary is made of at most, the newest; an older one is found by `turn --list`.
FOLDED = 2000

#: Part of a budget that older turns are folded to; a little less than they may take, for a warning in front.
IN_SHORT = 0.15

#: Tokens of a pinned note that go in; the rest is a `memtool show` away.
PIN = 300.0


def gather(
    memory: Any,
    question: str,
    *,
    budget: float,
    session: str,
    min_score: float | None = None,
    turns: bool = True,
    look: Callable[[], RefreshReport] | None = None,
) -> Context:
    """Make the context of *question*; raises UsageError for a budget that is none."""
    if not budget > 0:
        raise UsageError(f"{budget:g} tokens hold nothing", fix="give a budget above 0, such as 1500")
    about = _about(memory, session)  # before this question counts as part of the work
    seen = extracts.Seen()
    answer = _search(memory, question, session, min_score, look, seen)
    with memory.derived.index.still():
        found = extracts.extracts(question, answer, memory.derived.index, seen, fine=budget < FINE)
        pinned = list(_pinned(memory, memory.derived.index.files().values()))
    relevant, twins = _relevant(found, {item.path for item in pinned})
    said = _said(memory, session, budget) if turns else []
    packed = context.pack(
        [*about, *said, *pinned, *relevant],
        budget,
        left=twins,
        look_up=lambda items: _sourced(memory, items, {hit.path: hit for hit in answer}),
    )
    return packed._replace(remarks=answer.freshness.remarks, confidence=answer.confidence, sure=answer.sure)


def _search(
    memory: Any,
    question: str,
    session: str,
    min_score: float | None,
    look: Callable[[], RefreshReport] | None,
    seen: extracts.Seen,
) -> Answer:
    query = Query(question, session=memory.unit_name(session) if session else "", may_read=memory.reader)
    query = request.complete(query, memory.config, limit=CHUNKS, min_score=min_score)
    query = memory.derived.calibrated(query)
    leanings: Leanings = memory._leanings(query)
    leanings = Leanings(
        (*leanings.meaning, *seen.leanings.meaning), (*leanings.order, *seen.leanings.order), leanings.found
    )
    revision = memory._head().revision or ""
    return answering.answer(memory.derived, query, look=look, revision=revision, leanings=leanings)


# -- lines of the vault ------------------------------------------------------------------------


def _relevant(found: Sequence[Extract], pinned: set[str]) -> tuple[list[Item], list[Left]]:
    """Make items of extracts; what is pinned, says nothing, or says what a better one says is left out."""
    found = [one for one in found if one.hit.path not in pinned and any(map(str.isalnum, one.text))]
    same = extracts.twins(found[:COMPARED])
    items = [_item(one) for one in found]
    left = [Left(items[at], f"say the same as others: {items[twin].anchor}") for at, twin in same.items()]
    return [item for at, item in enumerate(items) if at not in same], left


def _item(one: Extract) -> Item:
    before = one.hit.text.split("\n")[: one.start - one.hit.start]
    said = next((at for at in range(len(before), 0, -1) if before[at - 1].strip()), 0)
    after = one.hit.start + said - 1 if said else one.start - 1
    path, anchor = one.hit.path, f"{one.hit.path}:{one.start}-{one.end}"
    return Item(
        "relevant", anchor, one.text, one.worth, path, one.start, one.end, one.hit.day, None, after=after
    )


def _sourced(memory: Any, items: Sequence[Item], hits: dict[str, Hit]) -> list[Item]:
    """Tell who wrote the lines of each item, whether they are verified, and how they stand."""
    asked = [
        Hit(item.path, item.start, item.end, 0.0, "", "", item.text, (item.start, item.end), item.day, {})
        for item in items
    ]
    answer = Answer(asked, found=Found(asked, [], 0.0, 0.0), freshness=_freshness())
    with suppress(MemtoolError):
        memory.past.add_provenance(answer, memory.derived)
    return [_told(item, hit, hits.get(item.path)) for item, hit in zip(items, answer, strict=True)]


def _freshness() -> Any:
    from memtool.answer.answer import Freshness

    return Freshness(notes=0, looked=False)


def _told(item: Item, hit: Hit, found: Hit | None) -> Item:
    by = hit.provenance
    who = "" if by is None else by.revision.writer if by.revision else "not committed"
    standing = found.standing if found else None
    marks = [mark for mark in standing.marks if not mark.startswith("verified ")] if standing else []
    source = ", ".join(part for part in (who, *marks) if part)
    verified = bool((by and by.verified) or (standing and standing.verified) or item.verified)
    return item._replace(source=source[: context.LONGEST_SOURCE], verified=verified)


def _pinned(memory: Any, files: Any) -> Iterator[Item]:
    """Give the beginnings of pinned procedural notes that whoever asks may read."""
    from memtool.note import note

    wanted: list[FileRow] = [file for file in files if file.facts.get("pinned") and file.type == "procedural"]
    for file in sorted(wanted, key=lambda file: file.path):
        if not memory.may_read(file.path):
            continue
        with suppress(MemtoolError):
            read = note.parse(memory.vault.read(file.path))
            first, lines = _beginning(read.lines, read.body_start)
            if lines:
                end = first + len(lines) - 1
                anchor, verified = f"{file.path}:{first}-{end}", bool(file.facts.get("verified"))
                text = "\n".join(lines)
                yield Item(
                    "pinned", anchor, text, 9.0, file.path, first, end, file.day, None, verified, first - 1
                )


def _beginning(lines: Sequence[str], start: int) -> tuple[int, list[str]]:
    first = next((at for at in range(start, len(lines) + 1) if lines[at - 1].strip()), len(lines) + 1)
    kept: list[str] = []
    room = PIN
    for line in lines[first - 1 :]:
        room -= cost(line)
        if room < 0:
            break
        kept.append(line)
    while kept and not kept[-1].strip():
        kept.pop()
    return first, kept


def _about(memory: Any, session: str) -> list[Item]:
    """Say in one line what the session's work is about; nothing where its state says nothing."""
    if not session:
        return []
    with suppress(MemtoolError, ImportError):
        titles = list(dict.fromkeys(toward.title for toward in memory.direction(session, limit=3)))
        if titles:
            return [Item("about", "what this session is about", "; ".join(titles), 9.0, source="")]
    return []


# -- turns ---------------------------------------------------------------------------------------


def _said(memory: Any, session: str, budget: float) -> list[Item]:
    """Give the last turns, newest first, and in short those that no longer fit beside them."""
    said = turns.load(memory.vault, memory.unit_name(session), last=FOLDED)
    room = min(memory.config.turn_tokens, context.SHARES["turn"] * budget)
    recent = _recent(said, room)
    old = said[: len(said) - len(recent)]
    items = [_turn(turn) for turn in reversed(recent)]
    if old:
        head = Item("summary", _in_short(old[0].number, old[-1].number), "", 5.0, source="by extraction")
        folded = summaries.summarise(old, IN_SHORT * budget - head.tokens, size=_line_cost)
        if folded.lines:
            items.append(head._replace(text=str(folded)))
            turns.hold(memory.vault, memory.unit_name(session), [line.turn.number for line in folded.lines])
    return items


def _recent(said: Sequence[Turn], room: float) -> list[Turn]:
    """Give the newest turns that fit into *room*, without a gap."""
    kept: list[Turn] = []
    for turn in reversed(said):
        room -= _turn(turn).tokens
        if room < 0:
            break
        kept.insert(0, turn)
    return kept


def _turn(turn: Turn) -> Item:
    return Item("turn", turn.citation, turn.text, 1.0, "", turn.number, turn.number, turn.when, turn.role)


def _in_short(first: int, last: int) -> str:
    return f"turns {first}-{last}, in short"


def _line_cost(text: str) -> float:
    return cost(f"> {text}") + 0.25


def fold_old(memory: Any, session: str, *, budget: float | None, chat: Chat | None) -> Summary:
    """Summarise the turns that working memory no longer holds, and hold on to the ones cited."""
    said = turns.load(memory.vault, memory.unit_name(session), last=FOLDED)
    recent = _recent(said, memory.config.turn_tokens)
    room = memory.config.turn_tokens / 2 if budget is None else budget
    folded = summaries.summarise(said[: len(said) - len(recent)], room, size=cost, chat=chat)
    turns.hold(memory.vault, memory.unit_name(session), [line.turn.number for line in folded.lines])
    return folded
