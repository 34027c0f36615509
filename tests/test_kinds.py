"""Types: each has its rules, a misspelt one is told, and agents hear what a write lacks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import write_notes

from memtool import carrying, kinds
from memtool.identity import HUMAN, Signature, signature
from memtool.memory.memory import Memory

AGENT = signature("agent/planner")


def told(text: str, by: Signature | None = AGENT, path: str = "a.md") -> list[str]:
    return [finding.code for finding in carrying.findings([(path, text.encode())], by)]


def test_every_type_has_rules() -> None:
    assert set(kinds.KINDS) == {"episodic", "semantic", "procedural", "working", "reference", "tool"}
    assert kinds.half_life("working") == 7.0 and kinds.half_life("reference") is None
    assert kinds.half_life("") == kinds.half_life("semantic") == kinds.half_life("no such type")


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("---\ntype: semantic\n---\nA fact.\n", ["reason-missing"]),
        ("---\ntype: semantic\nwhy: it was asked twice\n---\nA fact.\n", []),
        ("---\ntype: Procedural\n---\nDo it.\n", ["reason-missing"]),
        ("---\ntype: episodic\n---\nIt rained.\n", ["date-missing"]),
        ("---\ntype: episodic\ncreated: 2026-03-01\n---\nIt rained.\n", []),
        ("---\ntype: reference\n---\nA table.\n", ["source-missing"]),
        ("---\ntype: reference\nsource: 規程集\n---\n表。\n", []),
        ("---\ntype: working\n---\nUnder way.\n", []),
        ("---\ntype: tool\n---\nIt needs a flag.\n", []),
        ("---\ntype: nonsense\n---\nText.\n", []),
        ("No type.\n", []),
    ],
)
def test_an_agent_is_told_what_a_note_of_its_type_lacks(text: str, codes: list[str]) -> None:
    assert told(text) == codes
    assert told(text, HUMAN) == told(text, None) == []


def test_a_reason_given_with_the_change_is_a_reason() -> None:
    assert told("---\ntype: semantic\n---\nA fact.\n", AGENT._replace(reason="it was asked twice")) == []


def test_a_day_in_the_name_is_a_day() -> None:
    assert told("---\ntype: episodic\n---\nIt rained.\n", path="journal/2026-03-01.md") == []


def test_an_agent_hears_it_at_the_write(tmp_path: Path, open_memory: Callable[..., Memory]) -> None:
    memory = open_memory(write_notes(tmp_path / "v", {"a.md": "Text.\n"}))

    memory.add("The gate is shut.", title="Gate", meta={"type": "semantic"}, by=AGENT)
    first = [finding.code for finding in memory.noticed]
    memory.add("The gate is open.", title="Gate", meta={"type": "semantic"})

    assert "reason-missing" in first
    assert "reason-missing" not in [finding.code for finding in memory.noticed]


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("sematic", "write `semantic`"),
        ("手順", "write `procedural`"),
        ("log", "write `episodic`"),
        ("ずんだ", "write one of"),
    ],
)
def test_an_unknown_type_is_a_finding_with_the_nearest_known_one(
    tmp_path: Path, open_memory: Callable[..., Memory], name: str, near: str
) -> None:
    memory = open_memory(write_notes(tmp_path / "v", {"a.md": f"---\ntitle: A\ntype: {name}\n---\nText.\n"}))

    finding = next(finding for finding in memory.check() if finding.code == "type-unknown")

    assert (finding.path, finding.line) == ("a.md", 3)
    assert near in finding.fix


@pytest.mark.parametrize("kind", ["", "type:\n", "type: Semantic\n", "type: ' tool '\n"])
def test_untyped_notes_and_other_spellings_are_fine(
    tmp_path: Path, open_memory: Callable[..., Memory], kind: str
) -> None:
    memory = open_memory(write_notes(tmp_path / "v", {"a.md": f"---\ntitle: A\n{kind}---\nText.\n"}))

    assert "type-unknown" not in {finding.code for finding in memory.check()}


def test_types_prints_the_table(run: Callable[..., object]) -> None:
    ran = run("types")

    lines = ran.out.split("\n")  # type: ignore[attr-defined]
    assert lines[2].startswith("| `episodic` |") and lines == [*kinds.table(), ""]
