"""What the public API promises, whoever ranks the hits."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from conftest import snapshot, write_notes

import memtool
from memtool.embedders.fake import FakeEmbedder
from memtool.errors import EmbedderError, PathError, StaleError, UsageError, VaultError
from memtool.memory.memory import Memory

OpenMemory = Callable[..., Memory]
MODES = ("hybrid", "lexical", "semantic")


class Down:
    """An embedder that cannot be reached."""

    name, fingerprint, probe = "down", "down", None
    calibration = FakeEmbedder.calibration

    def embed(self, texts: Sequence[str], *, kind: Any) -> Any:
        raise EmbedderError("the endpoint cannot be reached", fix="see that it runs")


def test_the_public_names_are_at_hand() -> None:
    assert memtool.Memory is Memory
    assert {"Anchor", "Answer", "Hit", "Memory"} <= set(memtool.__all__)


@pytest.mark.parametrize("mode", MODES)
def test_an_empty_vault_gives_an_empty_answer(tmp_path: Path, open_memory: OpenMemory, mode: str) -> None:
    answer = open_memory(tmp_path).search("anything", mode=mode)

    assert answer == []
    assert answer.freshness.notes == 0


@pytest.mark.parametrize(
    "question", ["", "  ", "\n", "\u3000", "\u200b", "???", "\ud800", "\0", '"', "*", "NEAR(", "🙂"]
)
@pytest.mark.parametrize("mode", MODES)
def test_a_question_of_nothing_is_never_an_error(
    vault: Path, open_memory: OpenMemory, question: str, mode: str
) -> None:
    assert isinstance(open_memory(vault).search(question, mode=mode), list)


def test_a_question_of_nothing_is_no_error_for_a_function_either(
    vault: Path, open_memory: OpenMemory
) -> None:
    memory = Memory.open(vault, embedder=lambda texts: FakeEmbedder().embed(texts, kind="query"))

    assert memory.search("\u200b\u3000") == []
    memory.close()


@pytest.mark.parametrize("mode", MODES)
def test_a_limit_above_the_number_of_chunks_is_no_error(
    vault: Path, open_memory: OpenMemory, mode: str
) -> None:
    memory = open_memory(vault)
    answer = memory.search("garden", limit=10_000, min_score=-1, mode=mode)

    assert 0 < len(answer) <= memory.index.chunk_count()


@pytest.mark.parametrize("mode", MODES)
def test_scores_lie_between_minus_one_and_one_and_fall(
    vault: Path, open_memory: OpenMemory, mode: str
) -> None:
    scores = [
        hit.score
        for question in ("spare keys of the shed", "草刈り機の鍵", "plot-07.md", "the")
        for hit in open_memory(vault).search(question, limit=50, min_score=-1, mode=mode)
    ]
    single = [hit.score for hit in open_memory(vault).search("spare keys", limit=50, min_score=-1, mode=mode)]

    assert all(-1 <= score <= 1 for score in scores)
    assert single == sorted(single, reverse=True)


def test_every_hit_is_the_lines_its_anchor_names(vault: Path, open_memory: OpenMemory) -> None:
    memory = open_memory(vault)
    for hit in memory.search("鍵 key", limit=30, min_score=-1):
        shown = "\n".join(line for _, line in memory.show(hit.anchor))

        assert hit.text in shown
        assert hit.start <= hit.focus[0] <= hit.focus[1] <= hit.end


def test_a_note_just_added_is_found_by_the_next_search(vault: Path, open_memory: OpenMemory) -> None:
    memory = open_memory(vault)
    memory.search("anything")
    anchor = memory.add("The badger sleeps below the old quince.", now=datetime(2026, 3, 1, tzinfo=UTC))
    (vault / "by hand.md").write_text("# 穴熊\n\n穴熊はマルメロの下で眠る。\n", encoding="utf-8")
    answer = memory.search("badger quince")

    assert answer[0].path == anchor.path
    assert answer.freshness.current
    assert memory.search("穴熊")[0].path == "by hand.md"


def test_a_set_key_is_found_by_the_next_search(vault: Path, open_memory: OpenMemory) -> None:
    memory = open_memory(vault)
    memory.search("anything")
    anchor = memory.set("compost/hot-heap.md", "reviewer", "Xanthippe")

    assert [line for _, line in memory.show(anchor)] == ["reviewer: Xanthippe"]
    assert memory.search("Xanthippe", mode="lexical")[0].path == "compost/hot-heap.md"


def test_searching_again_gives_the_same_answer(vault: Path, open_memory: OpenMemory) -> None:
    first = open_memory(vault).search("water the plots", limit=20)
    second = open_memory(vault).search("water the plots", limit=20)

    assert list(first) == list(second)


# -- embedders ---------------------------------------------------------------------------


def count_letters(text: str) -> list[float]:
    return [1.0 + text.count(letter) for letter in "abcdefghij"]


@pytest.mark.parametrize(
    "function",
    [
        lambda texts: [count_letters(text) for text in texts],
        lambda texts: FakeEmbedder().embed(texts, kind="query"),
        lambda text: count_letters(text.lower()),
    ],
    ids=["list to lists", "list to matrix", "one text"],
)
def test_a_plain_function_can_be_the_embedder(vault: Path, function: Callable[..., Any]) -> None:
    with Memory.open(vault, embedder=function) as memory:
        answer = memory.search("spare keys of the shed", mode="semantic", min_score=-1)

    assert len(answer) == 3
    assert answer.freshness.rankers == ("vectors",)
    assert answer.freshness.covered == 1


def test_a_semantic_search_shows_three_hits_from_a_cosine_of_035_on(tmp_path: Path) -> None:
    vault = write_notes(tmp_path, {f"{n}.md": f"angle {n}" for n in (0, 20, 40, 60, 68, 75, 90)})

    def angle(text: str) -> list[float]:
        import math

        degrees = next((int(word) for word in text.split() if word.isdigit()), 0)
        return [math.cos(math.radians(degrees)), math.sin(math.radians(degrees))]

    with Memory.open(vault, embedder=angle) as memory:
        assert [hit.path for hit in memory.search("0", mode="semantic")] == ["0.md", "20.md", "40.md"]
        wide = memory.search("0", mode="semantic", limit=50)
        assert [hit.path for hit in wide] == ["0.md", "20.md", "40.md", "60.md", "68.md"]
        assert [hit.score for hit in wide] == pytest.approx([1, 0.9397, 0.7660, 0.5, 0.3746], abs=1e-3)


def test_words_answer_when_the_embedder_is_down_and_the_answer_says_so(
    vault: Path, open_memory: OpenMemory
) -> None:
    answer = open_memory(vault, embedder=Down()).search("spare keys")

    assert answer
    assert answer.freshness.rankers == ("words",)
    assert any("cannot be reached" in remark for remark in answer.freshness.remarks)


def test_a_semantic_search_with_the_embedder_down_is_an_error(vault: Path, open_memory: OpenMemory) -> None:
    with pytest.raises(EmbedderError, match="cannot be reached"):
        open_memory(vault, embedder=Down()).search("spare keys", mode="semantic")


def test_a_semantic_search_without_any_embedder_is_an_error(vault: Path) -> None:
    with Memory.open(vault, embedder="none") as memory, pytest.raises(UsageError) as raised:
        memory.search("spare keys", mode="semantic")

    assert raised.value.fix


def test_a_lexical_search_never_asks_the_embedder(vault: Path, open_memory: OpenMemory) -> None:
    answer = open_memory(vault, embedder=Down()).search("spare keys", mode="lexical")

    assert answer.freshness.remarks == ()


def test_another_width_behind_the_same_name_is_noticed_at_once(vault: Path, open_memory: OpenMemory) -> None:
    class Named(FakeEmbedder):
        def __init__(self, dimensions: int) -> None:
            super().__init__(dimensions=dimensions)
            self.fingerprint = "one-name-for-both"

    open_memory(vault, embedder=Named(64)).search("spare keys")
    memory = open_memory(vault, embedder=Named(96))
    answer = memory.search("spare keys")

    assert any("another model" in remark for remark in answer.freshness.remarks)
    assert (answer.freshness.covered, answer.freshness.rankers) == (1, ("words", "vectors"))
    assert memory.search("spare keys").freshness.remarks == ()


@pytest.mark.parametrize("mode", MODES)
def test_the_offline_model_finds_what_says_it_in_other_words(tmp_path: Path, mode: str) -> None:
    vault = write_notes(
        tmp_path,
        {
            "car.md": "# Vehicle\n\nThe automobile is parked behind the house.\n",
            "soup.md": "# Soup\n\nBoil the carrots for twenty minutes.\n",
            "鍵.md": "# 鍵\n\n玄関の合鍵は管理人が預かっている。\n",
        },
    )
    with Memory.open(vault, embedder="e5") as memory:
        answer = memory.search("automobile", mode=mode, min_score=-1)
        assert answer[0].path == "car.md"
        assert memory.search("合鍵", mode=mode, min_score=-1)[0].path == "鍵.md"


# -- filters -----------------------------------------------------------------------------


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    def text(kind: str, tags: str, day: str) -> str:
        return f"---\ntype: {kind}\ntags: [{tags}]\nupdated: {day}\n---\n\nThe heron stands in the pond.\n"

    return write_notes(
        tmp_path / "v",
        {
            "birds/heron.md": text("semantic", "bird, Water", "2026-01-10") + "One.\n",
            "birds/old/heron.md": text("episodic", "bird", "2025-06-01") + "Two.\n",
            "サギ.md": text("Semantic", "鳥", "2026-02-20") + "Three.\n",
        },
    )


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, {"birds/heron.md", "birds/old/heron.md", "サギ.md"}),
        ({"types": ["semantic"]}, {"birds/heron.md", "サギ.md"}),
        ({"types": "episodic"}, {"birds/old/heron.md"}),
        ({"types": ["episodic", "semantic"]}, {"birds/heron.md", "birds/old/heron.md", "サギ.md"}),
        ({"tags": ["bird"]}, {"birds/heron.md", "birds/old/heron.md"}),
        ({"tags": ["bird", "water"]}, {"birds/heron.md"}),
        ({"tags": "#鳥"}, {"サギ.md"}),
        ({"path": "birds"}, {"birds/heron.md", "birds/old/heron.md"}),
        ({"path": "birds/*/*.md"}, {"birds/old/heron.md"}),
        ({"path": "サギ.md"}, {"サギ.md"}),
        ({"since": "2026"}, {"birds/heron.md", "サギ.md"}),
        ({"since": "2026-01-10", "until": "2026-01-10"}, {"birds/heron.md"}),
        ({"until": "2026-01"}, {"birds/heron.md", "birds/old/heron.md"}),
        ({"since": "2027"}, set()),
    ],
    ids=str,
)
@pytest.mark.parametrize("mode", MODES)
def test_filters_choose_the_notes(
    mixed: Path, open_memory: OpenMemory, filters: dict[str, Any], expected: set[str], mode: str
) -> None:
    answer = open_memory(mixed).search("heron pond", limit=50, min_score=-1, mode=mode, **filters)

    assert {hit.path for hit in answer} == expected


def test_a_note_without_a_day_has_the_day_of_its_file(tmp_path: Path, open_memory: OpenMemory) -> None:
    import os

    write_notes(tmp_path, {"a.md": "heron"})
    os.utime(tmp_path / "a.md", (1_767_225_600, 1_767_225_600))  # 2026-01-01

    assert open_memory(tmp_path).search("heron")[0].day == "2026-01-01"


def test_a_budget_bounds_what_is_read(vault: Path, open_memory: OpenMemory) -> None:
    from memtool.search.search import cost

    memory = open_memory(vault)
    answer = memory.search("garden plots water", limit=50, min_score=-1, budget=200)

    assert answer
    assert sum(cost(hit.text) for hit in answer) <= 200


@pytest.mark.parametrize(
    "wrong",
    [
        {"limit": 0},
        {"limit": -3},
        {"min_score": 1.5},
        {"min_score": float("nan")},
        {"budget": 0},
        {"budget": float("nan")},
        {"since": "yesterday"},
        {"until": "2026-13-01"},
        {"mode": "psychic"},
        {"fusion": "cold"},
    ],
    ids=str,
)
def test_nonsense_is_refused_with_a_way_out(
    vault: Path, open_memory: OpenMemory, wrong: dict[str, Any]
) -> None:
    with pytest.raises(UsageError) as raised:
        open_memory(vault).search("keys", **wrong)

    assert raised.value.why
    assert raised.value.fix


# -- freshness ---------------------------------------------------------------------------


def test_no_refresh_on_a_vault_that_was_never_read_is_no_empty_answer(
    vault: Path, open_memory: OpenMemory
) -> None:
    with pytest.raises(StaleError, match="nothing is indexed") as raised:
        open_memory(vault).search("keys", refresh=False)

    assert "memtool index" in raised.value.fix


def test_without_a_refresh_the_answer_is_from_what_was_last_seen(
    vault: Path, open_memory: OpenMemory
) -> None:
    memory = open_memory(vault)
    memory.search("keys")
    (vault / "new.md").write_text("The badger sleeps.", encoding="utf-8")
    answer = memory.search("badger", refresh=False, mode="lexical")

    assert "new.md" not in {hit.path for hit in answer}
    assert not answer.freshness.current
    assert "as last seen" in str(answer.freshness)


def test_an_emptied_vault_is_no_vault_that_was_never_read(tmp_path: Path, open_memory: OpenMemory) -> None:
    memory = open_memory(tmp_path)
    memory.refresh()

    assert memory.search("keys", refresh=False) == []


def test_fresh_refuses_an_answer_that_leaves_bytes_out(vault: Path, open_memory: OpenMemory) -> None:
    memory = open_memory(vault)
    memory.search("keys", fresh=True)
    for file in vault.rglob("*.md"):
        file.unlink()

    with pytest.raises(StaleError) as raised:
        memory.search("keys", fresh=True)

    assert raised.value.fix
    lost = memory.search("keys", mode="lexical")
    assert lost
    assert any("are gone" in remark for remark in lost.freshness.remarks)


def test_a_busy_index_is_told_of_and_does_not_stay_told(
    vault: Path, open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memtool.index.index import Index

    memory, other = open_memory(vault), open_memory(vault)
    memory.search("keys", mode="lexical")
    memory.index.db.execute("PRAGMA busy_timeout=20")
    (vault / "new.md").write_text("The badger sleeps.", encoding="utf-8")
    assert isinstance(other.index, Index)
    with other.index.change():
        held = memory.search("keys", mode="lexical")
        with pytest.raises(StaleError):
            memory.search("keys", mode="lexical", fresh=True)
    after = memory.search("badger", mode="lexical")

    assert held
    assert not held.freshness.current
    assert any("another process" in remark for remark in held.freshness.remarks)
    assert (after.freshness.current, after.freshness.remarks) == (True, ())


def test_a_first_search_while_another_indexes_says_so_and_is_no_empty_answer(
    vault: Path, open_memory: OpenMemory
) -> None:
    from memtool.errors import LockError

    memory, other = open_memory(vault), open_memory(vault)
    memory.index.db.execute("PRAGMA busy_timeout=20")
    with other.index.change(), pytest.raises(LockError, match="another process"):
        memory.search("keys", mode="lexical")


# -- what may not change -----------------------------------------------------------------


def test_reading_changes_no_byte_outside_the_private_folder(git_vault: Path, open_memory: OpenMemory) -> None:
    from memtool import template

    before = snapshot(git_vault)
    template.apply(template.plan(git_vault, notes=False))
    memory = open_memory(git_vault)
    memory.refresh()
    memory.embed()
    memory.search("spare keys")
    memory.show("compost/hot-heap.md")
    memory.status()
    memory.check(deep=True)
    memory.catalog(write=False)
    memory.rebuild()
    memory.close()

    said = subprocess.run(
        ["git", "status", "--porcelain"], cwd=git_vault, capture_output=True, text=True, check=True
    )
    assert snapshot(git_vault) == before
    assert said.stdout == ""


def test_the_cache_may_be_deleted_at_any_moment(vault: Path, open_memory: OpenMemory) -> None:
    import shutil

    memory = open_memory(vault)
    before = [hit.anchor for hit in memory.search("spare keys")]
    memory.close()
    shutil.rmtree(vault / ".memtool")

    assert [hit.anchor for hit in open_memory(vault).search("spare keys")] == before


def test_the_cache_may_be_deleted_under_an_open_memory(git_vault: Path, open_memory: OpenMemory) -> None:
    import shutil

    memory = open_memory(git_vault)
    before = [hit.anchor for hit in memory.search("spare keys")]
    shutil.rmtree(git_vault / ".memtool")
    answer = memory.search("spare keys")
    said = subprocess.run(
        ["git", "status", "--porcelain"], cwd=git_vault, capture_output=True, text=True, check=True
    )

    assert [hit.anchor for hit in answer] == before
    assert answer.freshness.covered == 1
    assert said.stdout == ""
    assert memory.derived.index_file.exists()


# -- show, status, check -----------------------------------------------------------------


def test_show_gives_the_lines_as_they_are_now(vault: Path, open_memory: OpenMemory) -> None:
    (vault / "x.md").write_bytes(b"one\r\ntwo\x0c still two\r\n\xef\xbd\xb3 three\n")
    memory = open_memory(vault)

    assert memory.show("x.md:2-3") == [(2, "two\x0c still two"), (3, "\uff73 three")]
    assert [number for number, _ in memory.show("x.md")] == [1, 2, 3]


@pytest.mark.parametrize(
    ("anchor", "kind"),
    [
        ("x.md:9-10", UsageError),
        ("x.md:0", UsageError),
        ("nothing.md", PathError),
        ("../outside.md", PathError),
        ("/etc/passwd", PathError),
        ("", UsageError),
    ],
)
def test_show_refuses_what_is_not_there(
    vault: Path, open_memory: OpenMemory, anchor: str, kind: type[Exception]
) -> None:
    write_notes(vault, {"x.md": "one\n", "../outside.md": "secret\n"})

    with pytest.raises(kind):
        open_memory(vault).show(anchor)


def test_a_vault_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(VaultError):
        Memory.open(tmp_path / "nowhere")


def test_status_tells_what_waits_and_changes_nothing(vault: Path, open_memory: OpenMemory) -> None:
    memory = open_memory(vault)
    waiting = memory.status().ahead.read
    memory.search("keys")
    status = memory.status()

    assert waiting == len(list(vault.rglob("*.md"))) + len(list(vault.rglob("*.markdown")))
    assert (status.ahead.read, status.notes, status.coverage.missing) == (0, waiting, 0)
    assert status.index_bytes > 0
    assert status.vector_bytes > 0


def test_check_names_what_is_odd_in_the_order_of_the_vault(vault: Path, open_memory: OpenMemory) -> None:
    write_notes(
        vault,
        {"aa.md": "---\ntitle: [open\n---\ntext\n", "bb.md": "```\nnot closed\n", "cc.md": b"\xff\xfe\xff"},
    )
    found = open_memory(vault).check()
    ours = [finding for finding in found if finding.path in ("aa.md", "bb.md", "cc.md")]

    assert [finding.path for finding in ours] == sorted(finding.path for finding in ours)
    assert {"aa.md", "bb.md"} <= {finding.path for finding in ours}
    assert found == sorted(found, key=lambda finding: (finding.path, finding.line, finding.code))


def test_a_deep_check_finds_a_row_that_was_tampered_with(vault: Path, open_memory: OpenMemory) -> None:
    memory = open_memory(vault)
    memory.refresh()
    memory.index.db.execute("UPDATE chunks SET text = 'a lie' WHERE row = (SELECT max(row) FROM chunks)")
    memory.index.db.execute("DELETE FROM files WHERE path = 'compost/hot-heap.md'")
    codes = {finding.code for finding in memory.check(deep=True)}

    assert "index-differs" in codes


def test_a_deep_check_passes_over_notes_that_cannot_be_looked_at(
    vault: Path, open_memory: OpenMemory
) -> None:
    memory = open_memory(vault)
    memory.refresh()
    for file in vault.rglob("*.md"):
        file.unlink()
    codes = [finding.code for finding in memory.check(deep=True)]

    assert "loss-paused" in codes
    assert "index-extra" not in codes


def test_rebuilding_gives_the_same_rows(vault: Path, open_memory: OpenMemory) -> None:
    memory = open_memory(vault)
    before = list(memory.search("garden", limit=50, min_score=-1))
    memory.rebuild()

    assert list(memory.search("garden", limit=50, min_score=-1)) == before
