"""A number of notes -> characters sent per turn: only what bears on the question, against everything.

Makes a vault of that size for the moment, of plain notes in English and Japanese. Searches by words
alone, so that it takes seconds; what is sent is held by the budget, whoever finds it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from memtool.archivist.archivist import Archivist, messages
from memtool.memory.memory import Memory

_THINGS = ("pump", "lamp", "gate", "heater", "printer", "boat", "piano", "camera", "oven", "drill")
_PLACES = (
    "harbour",
    "workshop",
    "archive",
    "kitchen",
    "stage",
    "garden",
    "cellar",
    "office",
    "tower",
    "hall",
)
_WORDS = ("倉庫", "会議室", "受付", "車庫", "屋上", "図書室", "厨房", "玄関", "工房", "中庭")


class Sent(NamedTuple):
    """Characters sent per turn, on average, for a vault of so many notes."""

    notes: int
    context: float
    paste_all: float


def measure(notes: int, *, budget: float = 1500) -> Sent:
    """Ask a vault of *notes* notes a few questions both ways, and count what would be sent."""
    with tempfile.TemporaryDirectory(prefix="memtool-growth-") as folder:
        for path, text in _notes(notes):
            file = Path(folder, path)
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
        with Memory.open(folder, embedder="none", environment={}) as memory:
            archivist = Archivist(memory, budget=budget, environment={})
            memory.refresh()
            questions = [_question(at) for at in range(0, notes, max(1, notes // 6))][:6]
            asked = [_size(question, memory.context(question, budget=budget).text) for question in questions]
            pasted = _size(questions[0], archivist.everything())
    return Sent(notes, sum(asked) / len(asked), float(pasted))


def _size(question: str, quoted: str) -> int:
    return sum(len(message["content"]) for message in messages(question, quoted))


def _notes(count: int) -> Iterator[tuple[str, str]]:
    for at in range(count):
        thing, place = _THINGS[at % 10], _PLACES[at // 10 % 10]
        english = f"The {thing} number {at} stands in the {place}; it was checked on day {at % 365}."
        japanese = f"{_WORDS[at % 10]}の鍵は{at}番の箱にある。{at % 28 + 1}日に点検した。"
        text = f"# {thing.capitalize()} {at}\n\n{english}\nAsk Hana before you move it.\n\n{japanese}\n"
        yield f"{place}/{thing}-{at:06}.md", text


def _question(at: int) -> str:
    return f"Where is the {_THINGS[at % 10]} number {at}?" if at % 2 else f"{_WORDS[at % 10]}の鍵はどこ？"
