"""Names around a note: no spelling of a path leads round a rule, and none that git keeps holds a secret."""

from __future__ import annotations

from pathlib import Path

import pytest
from repositories import Repository

from memtool.embedders.fake import FakeEmbedder
from memtool.errors import MemtoolError, PolicyError, SecretError, UsageError
from memtool.identity import Signature
from memtool.memory.memory import Memory

TOKEN = "gh" + "p_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
ULID = "01HZXYK2M3N4P5Q6R7S8T9V0W1"
NOTES = {
    "agents/planner/plan.md": "---\nport: 4711\n---\n# Plan\n\nThe ferry leaves at nine.\n",
    "people/sam.md": "# Sam\n\nSam likes tea.\n",
    "travel/ferry.md": "# Ferry\n\nThe ferry costs nine coins.\n",
    ".memtool/policy.toml": '[scope."agents/planner"]\nreaders = ["agent/planner"]\n'
    '[scope."people"]\nowner = "human"\n',
}


@pytest.fixture
def ruled(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "vault")
    repository.commit("2026-01-01", NOTES)
    return repository


def opened(repository: Repository, writer: str = "agent/scribe") -> Memory:
    return Memory.open(repository.folder, embedder=FakeEmbedder(), writer=writer)


@pytest.mark.parametrize("before", ["travel/../", "./", "travel/..//", "{root}/", "../vault/"])
def test_no_spelling_of_a_path_opens_the_past_of_a_closed_folder(ruled: Repository, before: str) -> None:
    path = before.format(root=ruled.folder) + "agents/planner/plan.md"
    with opened(ruled) as memory:
        for way in (memory.past.history, memory.past.diff, memory.past.blame, memory.facts, memory.show):
            with pytest.raises(MemtoolError):
                way(path)
                pytest.fail(f"{way} told of {path}")


def test_an_archived_note_stays_as_closed_as_it_was(ruled: Repository) -> None:
    with opened(ruled, "agent/planner") as memory:
        away = memory.archive("agents/planner/plan.md")
    with opened(ruled, "human") as memory:
        sam = memory.archive("people/sam.md")
    with opened(ruled) as memory:
        assert not memory.search("when does the ferry leave?", mode="lexical", archived=True, path="archive")
        for refused in (
            lambda: memory.show(away),
            lambda: memory.append(away, "More."),
            lambda: memory.move(away, "travel/"),
            lambda: memory.append(sam, "Sam likes coffee."),
        ):
            with pytest.raises(PolicyError):
                refused()
        assert memory.show(sam).digest


@pytest.mark.parametrize(
    ("folder", "by"),
    [
        (f"travel/{TOKEN}/deep", Signature("agent/scribe")),
        ("travel", Signature("agent/scribe", TOKEN)),
        ("travel", Signature(f"agent/{TOKEN}", "s1")),
    ],
)
def test_no_name_that_git_keeps_holds_a_secret(ruled: Repository, folder: str, by: Signature) -> None:
    with opened(ruled) as memory, pytest.raises(SecretError) as refused:
        memory.add("The ferry is late. 船は遅れる。", title="Late", folder=folder, by=by)

    assert TOKEN not in str(refused.value)
    assert TOKEN not in ruled.git("log", "--all", "--name-only")


def test_a_made_session_and_a_folder_that_is_there_stop_nothing(ruled: Repository) -> None:
    ruled.commit("2026-01-02", {f"old/{TOKEN}/a.md": "# A\n"})
    with opened(ruled) as memory:
        anchor = memory.append(f"old/{TOKEN}/a.md", "More.", by=Signature("agent/scribe", ULID))
        memory.add("船は遅れる。", title="Late", folder="新しい/旅", by=Signature("agent/書記", ULID))
    assert anchor.path == f"old/{TOKEN}/a.md"


def test_a_tool_is_not_called_like_a_secret(ruled: Repository) -> None:
    with opened(ruled) as memory, pytest.raises(UsageError):
        memory.tool_log(TOKEN, {}, ok=True)
    assert not any(TOKEN.encode() in file.read_bytes() for file in ruled.folder.rglob("*") if file.is_file())
