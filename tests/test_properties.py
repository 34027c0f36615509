"""Invariants of the whole: whatever is done to a vault, what is worked out from it follows."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memtool.embedders.fake import FakeEmbedder
from memtool.index.index import Index
from memtool.index.index_check import contents, links, problems, vocabulary
from memtool.memory.memory import Memory
from memtool.note.anchor import Anchor
from memtool.refresh import refresh
from memtool.vault import Vault

FEW = settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)

PATHS = ("a.md", "b.md", "sub/c.md", "sub/deep/日本.md", "MEMORY.md")
WORDS = st.sampled_from(
    [
        "owl",
        "badger",
        "heron",
        "梟は夜に",
        "穴熊",
        "#",
        "-",
        "|",
        "```",
        "---",
        "title:",
        "tags:",
        "[x,",
        "[[link]]",
        "\t",
        "1.",
        ">",
    ]
)
TEXTS = st.one_of(
    st.lists(st.one_of(WORDS, st.sampled_from(["\n", "\n\n", "\r\n"])), max_size=25).map(" ".join),
    st.text(max_size=60),
)
BYTES = st.one_of(TEXTS.map(lambda text: text.encode("utf-8", "surrogatepass")), st.binary(max_size=40))

WRITE = st.tuples(st.just("write"), st.sampled_from(PATHS), BYTES)
DELETE = st.tuples(st.just("delete"), st.sampled_from(PATHS), st.none())
RENAME = st.tuples(st.just("rename"), st.sampled_from(PATHS), st.sampled_from(PATHS))
TOUCH = st.tuples(st.just("touch"), st.sampled_from(PATHS), st.none())
REFRESH = st.tuples(st.just("refresh"), st.none(), st.none())
EDITS = st.lists(st.one_of(WRITE, WRITE, DELETE, RENAME, TOUCH, REFRESH), max_size=12)


@contextmanager
def folder() -> Iterator[Path]:
    place = tempfile.mkdtemp(prefix="memtool-property-")
    try:
        yield Path(place)
    finally:
        shutil.rmtree(place)


def edit(vault: Path, what: str, path: str | None, more: Any) -> None:
    file = vault / (path or "")
    if what == "write":
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(more)
    elif what == "delete":
        file.unlink(missing_ok=True)
    elif what == "rename" and file.exists():
        (vault / more).parent.mkdir(parents=True, exist_ok=True)
        file.replace(vault / more)
    elif what == "touch" and file.exists():
        os.utime(file)


def dump(index: Index) -> object:
    return (
        contents(index),
        links(index),
        vocabulary(index),
        index.count("notes"),
        index.chunk_count(),
        index.count("embeds"),
    )


@FEW
@given(EDITS)
def test_a_refresh_after_any_edits_equals_building_anew(edits: list[tuple[str, Any, Any]]) -> None:
    with folder() as place:
        (place / "v").mkdir()
        vault = Vault.open(place / "v")
        live, anew = Index.open(place / "live.sqlite3"), Index.open(place / "anew.sqlite3")
        for one in edits:
            if one[0] == "refresh":
                refresh.refresh(vault, live)
            else:
                edit(place / "v", *one)
        refresh.refresh(vault, live)
        refresh.refresh(vault, anew)

        assert dump(live) == dump(anew)
        assert problems(live) == []
        live.close()
        anew.close()


@FEW
@given(st.dictionaries(st.sampled_from(PATHS), BYTES, max_size=4))
def test_every_row_is_the_lines_its_anchor_names(notes: dict[str, bytes]) -> None:
    with folder() as place:
        for path, data in notes.items():
            edit(place, "write", path, data)
        with Memory.open(place, embedder=None if not notes else FakeEmbedder()) as memory:
            memory.refresh()
            for path, (_, chunks) in contents(memory.index).items():
                lines = [line for _, line in memory.show(path)]
                for start, end, _, text in chunks:
                    assert 1 <= start <= end <= len(lines)
                    if path != "MEMORY.md" and text.count("\n") == end - start:
                        shown = lines[start - 1 : end]
                        assert text.split("\n") == shown or (start == end and text in shown[0])


@FEW
@given(st.dictionaries(st.sampled_from(PATHS), BYTES, max_size=4), st.text(max_size=30))
def test_any_question_of_any_vault_is_answered_and_embeds_once(
    notes: dict[str, bytes], question: str
) -> None:
    with folder() as place:
        for path, data in notes.items():
            edit(place, "write", path, data)
        with Memory.open(place, embedder=FakeEmbedder()) as memory:
            first = memory.search(question, min_score=-1, limit=50)
            before = memory.vectors.count
            memory.embed()
            second = memory.search(question, min_score=-1, limit=50)

            assert memory.vectors.count == before or not first.freshness.rankers[1:]
            assert [hit.anchor for hit in second] == [hit.anchor for hit in first] or len(
                second.freshness.rankers
            ) != len(first.freshness.rankers)


@FEW
@given(st.dictionaries(st.sampled_from(PATHS[:4]), BYTES, max_size=4))
def test_a_vault_moved_elsewhere_embeds_nothing(notes: dict[str, bytes]) -> None:
    with folder() as place:
        for path, data in notes.items():
            edit(place / "old", "write", path, data)
        (place / "old").mkdir(exist_ok=True)
        with Memory.open(place / "old", embedder=FakeEmbedder()) as memory:
            memory.refresh()
            memory.embed()
        (place / "old").rename(place / "new")
        with Memory.open(place / "new", embedder=FakeEmbedder()) as memory:
            memory.refresh()

            assert memory.embed() == 0


@FEW
@given(st.dictionaries(st.sampled_from(PATHS[:4]), BYTES, max_size=4), BYTES)
def test_a_catalog_written_twice_is_the_same(notes: dict[str, bytes], mine: bytes) -> None:
    with folder() as place:
        for path, data in {**notes, "MEMORY.md": mine}.items():
            edit(place, "write", path, data)
        with Memory.open(place, embedder="none") as memory:
            try:
                memory.catalog()
            except Exception as error:
                assert getattr(error, "fix", "")
                return
            written = (place / "MEMORY.md").read_bytes()
            report = memory.catalog()

            assert (report.changed, (place / "MEMORY.md").read_bytes()) == ((), written)


@given(
    st.text(min_size=1, max_size=20).filter(str.strip),
    st.integers(1, 999_999),
    st.integers(0, 999),
    st.sampled_from(["", "3f9a", "0123456789abcdef"]),
)
def test_an_anchor_reads_back_as_it_was_written(path: str, start: int, more: int, digest: str) -> None:
    anchor = Anchor(path, start, start + more, digest)

    assert Anchor.parse(str(anchor)) == anchor
