"""Search: filters, folding of doubles, budget, and the quality that must not fall."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import write_notes

from memtool.memory.memory import Memory
from memtool.search.search import cost, matches

HERE = Path(__file__).parent
OpenMemory = Callable[..., Memory]


@pytest.fixture
def notes(tmp_path: Path, open_memory: OpenMemory) -> Callable[..., Memory]:
    return lambda notes: open_memory(write_notes(tmp_path / "v", notes))


def paths(answer: list[object]) -> list[str]:
    return [hit.path for hit in answer]  # type: ignore[attr-defined]


def test_the_same_text_in_two_notes_is_one_hit(notes: Callable[..., Memory]) -> None:
    memory = notes({"a.md": "The pump is primed by hand.", "b.md": "The  pump is primed by hand.\n"})

    assert len(memory.search("prime the pump", mode="lexical")) == 1


def test_filters_keep_other_notes_out(notes: Callable[..., Memory]) -> None:
    memory = notes(
        {
            "ops/a.md": "---\ntype: procedural\ntags: [Pump, 水]\ncreated: 2026-01-05\n---\npump\n",
            "ops/b.md": "---\ntype: semantic\ntags: [pump]\nupdated: 2026-02-05\n---\nthe pump\n",
            "c.md": "---\ncreated: 2025-12-31\n---\na pump\n",
        }
    )

    def found(**filters: object) -> list[str]:
        return sorted(paths(memory.search("pump", min_score=-1, **filters)))  # type: ignore[arg-type]

    everything = sorted({"ops/a.md", "ops/b.md", "c.md"})
    assert sorted(set(found())) == everything
    assert set(found(types="Procedural")) == {"ops/a.md"}
    assert set(found(tags="#pump")) == {"ops/a.md", "ops/b.md"}
    assert set(found(tags=["pump", "水"])) == {"ops/a.md"}
    assert set(found(path="ops")) == {"ops/a.md", "ops/b.md"}
    assert set(found(path="*.md", until="2025")) == {"c.md"}
    assert set(found(since="2026-02")) == {"ops/b.md"}
    assert found(types="nothing") == []


@pytest.mark.parametrize("pattern", ["ops", "ops/", "ops/*", "*/keys.md", "ops/key?.md"])
def test_a_path_matches_as_in_a_shell(pattern: str) -> None:
    assert matches("ops/keys.md", pattern)
    assert not matches("other/locks.md", pattern)


def test_a_budget_takes_the_best_that_fit(notes: Callable[..., Memory]) -> None:
    memory = notes(
        {"long.md": "pump " * 200, "short.md": "The pump stands in the cellar.", "tiny.md": "pump house"}
    )
    answer = memory.search("pump", mode="lexical", budget=30, min_score=-1)

    assert "long.md" not in paths(answer)
    assert sum(cost(hit.text) for hit in answer) <= 30


def test_a_hit_is_exactly_its_lines(vault: Path, open_memory: OpenMemory) -> None:
    memory = open_memory(vault)
    for question in ("water the seedlings", "鍵", "tools", "spare keys"):
        for hit in memory.search(question, min_score=-1, limit=20):
            shown = [line for _, line in memory.show(hit.anchor)]
            assert hit.text.split("\n") == shown or hit.text in shown[0]
            assert hit.start <= hit.focus[0] <= hit.focus[1] <= hit.end


def test_words_that_stand_in_the_front_matter_only_are_found_there(notes: Callable[..., Memory]) -> None:
    memory = notes({"a.md": "---\nticket: PLN-20417\n---\nBody.\n", "b.md": "Other words.\n"})
    (hit,) = memory.search("PLN-20417", mode="lexical")

    assert (hit.path, hit.start, hit.end) == ("a.md", 1, 3)


def test_headings_of_a_hit_are_those_above_its_lines(notes: Callable[..., Memory]) -> None:
    memory = notes({"a.md": "# Pump\n\nprime it\n\n## Valve\n\nturn the valve left\n"})
    (hit,) = memory.search("valve left", mode="lexical")

    assert hit.headings.startswith("Pump")


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("cases", "folder", "floors"),
    [
        ("cases/template.jsonl", "../vault_template", ["R@5=0.95", "MRR@10=0.85", "abstention=0.75"]),
        ("vaults/garden.jsonl", "vaults/garden", ["R@5=0.93", "MRR@10=0.88", "abstention=0.80"]),
    ],
)
def test_the_offline_model_finds_what_the_cases_ask_for(
    cases: str, folder: str, floors: list[str], tmp_path: Path, run: Callable[..., object]
) -> None:
    import shutil

    vault = tmp_path / "vault"
    shutil.copytree(HERE / folder, vault)
    arguments = [word for floor in floors for word in ("--floor", floor)]
    done = run("eval", str(HERE / cases), "--vault", str(vault), *arguments)

    assert done.code == 0, done.out + done.err  # type: ignore[attr-defined]


@pytest.mark.timeout(60)
def test_a_japanese_note_is_found_by_a_paraphrase_that_shares_no_word_with_it(tmp_path: Path) -> None:
    (tmp_path / "退職の手続き.md").write_text(
        "# 退職の手続き\n\n辞める人は一か月前までに上長へ届けを出す。\n", encoding="utf-8"
    )
    for number, text in enumerate(
        ("会議室は三日前に予約する。", "経費は月末までに精算する。", "Tea is at four.")
    ):
        (tmp_path / f"{number}.md").write_text(text + "\n", encoding="utf-8")
    with Memory.open(tmp_path) as memory:
        by_meaning = memory.search("How do I resign from the company?")
        by_words = memory.search("How do I resign from the company?", mode="lexical")

    assert by_meaning[0].path == "退職の手続き.md"
    assert by_words == []
