"""Passages: pieces hold all of a chunk, and every digest leads back to its text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from conftest import write_notes
from hypothesis import given
from hypothesis import strategies as st

from memtool.chunks import passages
from memtool.memory.memory import Memory
from memtool.search import coverage

LINES = st.lists(st.text("ab .。鍵\t", max_size=300), min_size=1, max_size=12)


@given(LINES, st.integers(1, 50))
def test_pieces_hold_every_visible_character_in_order(lines: list[str], start: int) -> None:
    text = "\n".join(lines)
    parts = passages.pieces(start, start + len(lines) - 1, text)

    def seen(text: str) -> str:
        return "".join(text.split())

    assert seen("".join(part.text for part in parts)) == seen(text)
    assert all(start <= part.start <= part.end <= start + len(lines) - 1 for part in parts)
    assert [part.start for part in parts] == sorted(part.start for part in parts)


@given(LINES)
def test_only_a_sentence_without_a_seam_makes_a_large_piece(lines: list[str]) -> None:
    for part in passages.pieces(1, len(lines), "\n".join(lines)):
        assert len(part.text) <= passages.PIECE or "\n" not in part.text


def test_every_digest_leads_back_to_the_text_it_names(
    vault: Path, open_memory: Callable[..., Memory]
) -> None:
    memory = open_memory(vault)
    memory.refresh()
    coverage.plan(memory.index)
    digests = list(memory.index.digests())
    found = passages.texts(memory.index, digests)

    assert set(found) == set(digests)
    assert all(passages.digest(text) == digest for digest, text in found.items())


def test_a_note_leads_with_its_opening_its_description_and_what_it_answers(
    tmp_path: Path, open_memory: Callable[..., Memory]
) -> None:
    text = (
        "---\ntitle: T\ndescription: D\nread_if: R\naliases: [A, 別名]\nasks: [Q1, Q2]\n---\n\n# T\n\nText.\n"
    )
    memory = open_memory(write_notes(tmp_path / "v", {"a.md": text}))
    memory.refresh()
    coverage.plan(memory.index)
    kinds = [target.kind for target in memory.index.leads_of(memory.index.files())]

    assert sorted(kinds) == ["alias", "alias", "asks", "asks", "description", "opening", "read_if"]


def test_a_question_that_a_note_says_it_answers_finds_the_note(
    tmp_path: Path, open_memory: Callable[..., Memory]
) -> None:
    memory = open_memory(
        write_notes(
            tmp_path / "v",
            {
                "a.md": "---\nasks: [why does the basement smell]\n---\nThe drain dries out in summer.\n",
                "b.md": "Basements are cold.\n",
                "c.md": "The attic smells of apples.\n",
            },
        )
    )
    (hit, *_) = memory.search("why does the basement smell", mode="semantic", min_score=-1)

    assert (hit.path, hit.text) == ("a.md", "The drain dries out in summer.")
