"""Vectors for all texts: in the right order, never twice, and nothing lost half way."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from conftest import write_notes

from memtool.embedders.fake import FakeEmbedder
from memtool.errors import EmbedderError
from memtool.memory.memory import Memory
from memtool.search.coverage import Coverage

OpenMemory = Callable[..., Memory]


class Recording:
    """The fake embedder, what it was given, and when it is to fail."""

    probe = None

    def __init__(self, *, fail_from: int | None = None, fail_on: str = "", dimensions: int = 64) -> None:
        self.inner = FakeEmbedder(dimensions=dimensions)
        self.name, self.fingerprint, self.calibration = "fake", self.inner.fingerprint, self.inner.calibration
        self.texts: list[str] = []
        self.fail_from, self.fail_on = fail_from, fail_on

    def embed(self, texts: Sequence[str], *, kind: Any) -> Any:
        if kind == "passage":
            if self.fail_from is not None and len(self.texts) >= self.fail_from:
                raise EmbedderError("the endpoint is down")
            if self.fail_on and any(self.fail_on in text for text in texts):
                raise EmbedderError("the endpoint refused a text")
            self.texts += texts
        return self.inner.embed(texts, kind=kind)


@pytest.fixture
def dated(tmp_path: Path) -> Path:
    notes = {
        f"{month:02}.md": f"---\ntitle: Month {month}\ncreated: 2026-{month:02}-01\n---\n\n"
        f"# Month {month}\n\nText {month}.\n"
        for month in (3, 1, 2)
    }
    return write_notes(tmp_path / "v", dict(notes))


def test_what_leads_to_a_note_comes_before_chunks_and_the_newest_first(
    dated: Path, open_memory: OpenMemory
) -> None:
    embedder = Recording()
    memory = open_memory(dated, embedder=embedder)
    memory.refresh()
    leads = memory.coverage().leads_missing
    memory.embed()

    months = [next(month for month in "321" if f"Month {month}" in text) for text in embedder.texts]
    assert months == sorted(months[:leads], reverse=True) + sorted(months[leads:], reverse=True)
    assert leads == 3


def test_a_bound_is_kept_and_the_next_run_goes_on(dated: Path, open_memory: OpenMemory) -> None:
    embedder = Recording()
    memory = open_memory(dated, embedder=embedder)
    memory.refresh()
    want = memory.coverage().want

    assert memory.embed(most=2) == 2
    assert memory.coverage().have == 2
    assert memory.embed() == want - 2
    assert memory.coverage() == Coverage(want, want)
    assert len(embedder.texts) == len(set(embedder.texts)) == want


def test_an_embedder_that_fails_keeps_what_was_done(
    vault: Path, open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memtool.search import coverage

    monkeypatch.setattr(coverage, "BATCH", 8)
    memory = open_memory(vault, embedder=Recording(fail_from=24))
    memory.refresh()
    with pytest.raises(EmbedderError):
        memory.embed()
    memory.close()

    embedder = Recording()
    memory = open_memory(vault, embedder=embedder)
    want = memory.coverage().want
    assert memory.coverage().have >= 24
    memory.embed()
    assert len(embedder.texts) <= want - 24


def test_a_search_says_when_some_texts_have_no_vector(vault: Path, open_memory: OpenMemory) -> None:
    answer = open_memory(vault, embedder=Recording(fail_from=0)).search("spare keys")

    assert answer
    assert any("have no vector yet (the endpoint is down)" in remark for remark in answer.freshness.remarks)


def test_one_text_that_is_refused_does_not_keep_the_others_from_being_searched(
    vault: Path, open_memory: OpenMemory
) -> None:
    memory = open_memory(vault, embedder=Recording())
    memory.search("spare keys")
    memory.derived._embedder = Recording(fail_on="poison")
    (vault / "bad.md").write_text("poison", encoding="utf-8")
    answer = memory.search("spare keys")

    assert answer.freshness.rankers == ("words", "vectors")
    assert 0.9 < answer.freshness.covered < 1


def test_another_embedder_embeds_anew_and_its_predecessor_can_come_back(
    dated: Path, open_memory: OpenMemory
) -> None:
    first, second, again = Recording(), Recording(dimensions=32), Recording()
    for embedder in (first, second, again):
        memory = open_memory(dated, embedder=embedder)
        memory.search("month")
        memory.close()

    assert len(first.texts) == len(second.texts) > 0
    assert again.texts == []


def test_vectors_that_were_deleted_come_back(dated: Path, open_memory: OpenMemory) -> None:
    memory = open_memory(dated, embedder=Recording())
    memory.search("month")
    memory.close()
    shutil.rmtree(dated / ".memtool" / "cache" / "vectors")

    embedder = Recording()
    memory = open_memory(dated, embedder=embedder)
    assert memory.status().coverage.have == 0
    answer = memory.search("month")
    assert answer.freshness.covered == 1
    assert len(embedder.texts) == memory.coverage().want


def test_half_of_the_vectors_that_went_missing_come_back(dated: Path, open_memory: OpenMemory) -> None:
    memory = open_memory(dated, embedder=Recording())
    memory.refresh()
    memory.embed(most=3)
    memory.embed()
    memory.close()
    newest = max((dated / ".memtool" / "cache" / "vectors").rglob("seg-*.npz"))
    newest.unlink()

    embedder = Recording()
    memory = open_memory(dated, embedder=embedder)
    memory.search("month")
    assert 0 < len(embedder.texts) < memory.coverage().want
    assert memory.coverage().missing == 0


def test_the_index_made_anew_embeds_nothing(dated: Path, open_memory: OpenMemory) -> None:
    memory = open_memory(dated, embedder=Recording())
    memory.search("month")
    memory.close()
    memory.derived.index_file.unlink()

    embedder = Recording()
    memory = open_memory(dated, embedder=embedder)
    assert memory.search("month").freshness.covered == 1
    assert embedder.texts == []


def test_rewriting_a_note_often_does_not_pile_up_vectors(dated: Path, open_memory: OpenMemory) -> None:
    memory = open_memory(dated, embedder=Recording())
    for version in range(40):
        (dated / "03.md").write_text(f"# Month\n\nversion {version}\n", encoding="utf-8")
        memory.search("month")

    assert memory.vectors.count <= 3 * memory.coverage().want
    assert memory.coverage().missing == 0
    assert len(list(memory.vectors.folder.glob("seg-*.npz"))) <= 34


def test_a_text_without_direction_is_found_by_words_and_tried_again_on_request(
    dated: Path, open_memory: OpenMemory
) -> None:
    import numpy as np

    class Zero(Recording):
        def embed(self, texts: Sequence[str], *, kind: Any) -> Any:
            matrix = super().embed(texts, kind=kind)
            if kind == "passage":
                matrix[[n for n, text in enumerate(texts) if "Text 1" in text]] = np.nan
            return matrix

    memory = open_memory(dated, embedder=Zero())
    memory.search("month")
    assert "01.md" in {hit.path for hit in memory.search("Text 1", mode="lexical")}
    assert {(f.code, f.path) for f in memory.check()} == {("no-vector", "01.md")}
    memory.derived._embedder = Recording()
    memory.search("Text 1")
    before = memory.derived._embedder.texts[:]
    memory.embed(again=True)

    assert before == []
    assert memory.derived._embedder.texts != []
    assert all("Text 1" in text for text in memory.derived._embedder.texts)
    assert memory.check() == []


def test_a_word_that_stands_in_one_note_finds_it_though_its_vector_is_missing(
    dated: Path, open_memory: OpenMemory
) -> None:
    memory = open_memory(dated, embedder=Recording())
    memory.search("month")
    memory.derived._embedder = Recording(fail_from=0)
    (dated / "04.md").write_text("# Realgar\n\nA realgar is red.\n", encoding="utf-8")

    assert [hit.path for hit in memory.search("realgar")][:1] == ["04.md"]


def test_a_search_of_a_vault_that_is_far_behind_catches_up_a_little(
    tmp_path: Path, open_memory: OpenMemory
) -> None:
    from memtool.answer.answering import SEARCH_EMBEDS

    vault = write_notes(
        tmp_path / "v", {f"{n}.md": f"# Note {n}\n\nOwl number {n}.\n" for n in range(SEARCH_EMBEDS)}
    )
    embedder = Recording()
    answer = open_memory(vault, embedder=embedder).search("owl")

    assert answer
    assert 0 < len(embedder.texts) < SEARCH_EMBEDS
    assert any("memtool index" in remark for remark in answer.freshness.remarks)


def test_status_does_not_take_the_vectors_of_one_embedder_for_those_of_another(
    dated: Path, open_memory: OpenMemory
) -> None:
    open_memory(dated, embedder=Recording()).search("month")
    other = Recording(dimensions=32)
    other.name = "another"
    memory = open_memory(dated, embedder=other)

    assert memory.status().coverage.have == 0
    memory.search("month")
    assert memory.status().coverage.missing == 0


@pytest.mark.parametrize("inner", [False, True])
def test_a_link_among_the_vectors_is_not_followed_out(
    dated: Path, tmp_path: Path, open_memory: OpenMemory, inner: bool
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    memory = open_memory(dated, embedder=Recording())
    place = memory.vault.prepare(memory.vault.cache) / "vectors"
    if inner:
        place.mkdir()
        place /= Recording().fingerprint
    place.symlink_to(outside)
    answer = memory.search("month")

    assert answer.freshness.covered == 1
    assert any("not followed" in remark for remark in answer.freshness.remarks)
    assert list(outside.iterdir()) == []
