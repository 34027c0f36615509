from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Ran
from repositories import Repository

from memtool.errors import GitError, PathError, UsageError
from memtool.facts.facts import facts
from memtool.git import Git
from memtool.history import history, moments
from memtool.memory.memory import Memory
from memtool.note.anchor import Anchor
from memtool.vault import Vault

Open = Callable[..., Memory]

KEYS = "# Keys\n\nRotate the key weekly.\n"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "vault")


def find(repository: Repository, when: str) -> str:
    return moments.find(Git(repository.folder), when).revision


# -- which commit ----------------------------------------------------------------------------


def test_a_day_means_its_last_commit_on_the_first_parent_history(repository: Repository) -> None:
    first = repository.commit("2026-01-05", {"a.md": "one\n"})
    second = repository.commit("2026-01-07", {"a.md": "two\n"})
    repository.git("checkout", "-q", "-b", "side", first)
    repository.commit("2026-01-06", {"b.md": "side\n"})
    repository.git("checkout", "-q", "main")
    repository.git("merge", "-q", "--no-ff", "-m", "Merge", "side", day="2026-01-09")
    head = repository.git("rev-parse", "HEAD")

    days = ["2026-01-05", "2026-01-06", "2026-01-07T09:59:59Z", "2026-01-07T19:00+09:00", "2026-01"]

    assert [find(repository, day) for day in days] == [first, first, first, second, head]


def test_names_of_commits_are_what_git_says_they_are(repository: Repository) -> None:
    first = repository.commit("2026-01-05", {"a.md": "one\n"})
    repository.git("tag", "-a", "-m", "Tag", "v1")
    second = repository.commit("2026-01-06", {"a.md": "two\n"})
    repository.git("branch", "日本")

    assert [find(repository, name) for name in ("v1", "HEAD~1", first[:8])] == [first] * 3
    assert [find(repository, name) for name in ("日本", "main", "HEAD", "@")] == [second] * 4


@pytest.mark.parametrize("when", ["nowhere", "--all", "HEAD..HEAD", "2025-12-31", "2026-02-30", ""])
def test_a_moment_without_a_commit_says_what_there_is(repository: Repository, when: str) -> None:
    repository.commit("2026-01-05", {"a.md": "one\n"})

    with pytest.raises(UsageError) as caught:
        find(repository, when)

    assert caught.value.why and caught.value.fix


def test_a_shallow_clone_says_that_it_does_not_reach_back(repository: Repository, tmp_path: Path) -> None:
    repository.commit("2026-01-05", {"a.md": "one\n"})
    repository.commit("2026-01-08", {"a.md": "two\n"})
    clone = tmp_path / "clone"
    repository.git("clone", "-q", "--depth=1", f"file://{repository.folder}", str(clone))

    with pytest.raises(UsageError) as caught:
        moments.find(Git(clone), "2026-01-06")

    assert "shallow" in caught.value.why
    assert "--unshallow" in caught.value.fix


def test_before_the_first_commit_nothing_is_known(repository: Repository) -> None:
    with pytest.raises(UsageError, match="nothing is known"):
        find(repository, "2026-01-05")


# -- trees and bytes -------------------------------------------------------------------------


def test_a_vault_in_a_subfolder_sees_only_its_own_paths(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "top" / "メモ", top=tmp_path / "top")
    (tmp_path / "top" / "outside.md").write_text("# Outside\n")
    commit = repository.commit("2026-01-05", {"鍵 一覧.md": KEYS, "*.md": "# Star\n", ":(top)x.md": "# X\n"})
    git = Git(repository.folder)

    assert sorted(history.tree(git, commit)) == ["*.md", ":(top)x.md", "鍵 一覧.md"]
    assert history.note_at(git, commit, "鍵 一覧.md") == KEYS.encode()
    assert {touch.path for touch in history.touches(git)} == {"*.md", ":(top)x.md", "鍵 一覧.md"}
    with pytest.raises(PathError):
        history.note_at(git, commit, "outside.md")


def test_links_and_submodules_are_no_notes(repository: Repository) -> None:
    repository.write({"a.md": "# A\n"})
    (repository.folder / "link.md").symlink_to("a.md")
    commit = repository.commit("2026-01-05")

    assert list(history.tree(Git(repository.folder), commit)) == ["a.md"]
    touched = [touch.path for touch in history.touches(Git(repository.folder)) if touch.new]
    assert touched == ["a.md"]


def test_trailers_tell_who_wrote_a_revision_and_why(repository: Repository) -> None:
    human = repository.commit("2026-01-05", {"a.md": "one\n"}, message="Start\n\nA body: not a trailer")
    agent = repository.commit("2026-01-06", {"a.md": "two\n"}, agent="kai", reason="鍵が替わった")

    found = history.revisions(Git(repository.folder), {human, agent})

    assert (found[human].writer, found[human].subject, found[human].author) == ("human", "Start", "Mio")
    assert (found[agent].writer, found[agent].reason) == ("agent/kai", "鍵が替わった")
    assert found[agent].when.isoformat() == "2026-01-06T10:00:00+00:00"


def test_settings_of_a_repository_do_not_change_what_is_read(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "top" / "notes", top=tmp_path / "top")
    repository.commit("2026-01-05", {"鍵.md": KEYS})
    commit = repository.commit("2026-01-06", {"鍵.md": KEYS.replace("weekly", "daily")})
    for setting, value in {
        "log.showSignature": "true",
        "core.quotepath": "true",
        "diff.renames": "false",
        "log.date": "relative",
        "format.pretty": "oneline",
        "color.ui": "always",
        "diff.external": "false",
        "diff.relative": "true",
    }.items():
        repository.git("config", setting, value)

    assert [touch.path for touch in history.touches(Git(repository.folder))] == ["鍵.md", "鍵.md"]
    assert list(history.tree(Git(repository.folder), commit)) == ["鍵.md"]


# -- history, diff ---------------------------------------------------------------------------


def test_the_history_of_a_note_follows_its_renames(repository: Repository, open_memory: Open) -> None:
    repository.commit("2026-01-05", {"keys.md": KEYS}, message="Write keys down")
    (repository.folder / "ops").mkdir()
    repository.git("mv", "keys.md", "ops/鍵.md")
    repository.commit("2026-01-06", message="Move keys")
    repository.commit("2026-01-07", {"ops/鍵.md": KEYS.replace("weekly", "every day")}, agent="kai")
    repository.write({"ops/鍵.md": KEYS.replace("weekly", "never")})

    found = open_memory(repository.folder).past.history(Anchor.parse("ops/鍵.md"))

    assert [(event.kind, event.anchor.path) for event in found] == [
        ("appeared", "keys.md"),
        ("renamed", "ops/鍵.md"),
        ("changed", "ops/鍵.md"),
        ("changed", "ops/鍵.md"),
    ]
    assert [event.by.writer if event.by else "" for event in found] == ["human", "human", "agent/kai", ""]
    assert [(event.added, event.removed) for event in found[2:]] == [(2, 1), (1, 2)]


def test_the_history_of_lines_leaves_out_what_passed_them_by(
    repository: Repository, open_memory: Open
) -> None:
    repository.commit("2026-01-05", {"a.md": "# Keys\n\nOther things.\n"})
    repository.commit("2026-01-06", {"a.md": "# Keys\n\nOther things.\n\nKeys last 30 days.\n"})
    repository.commit("2026-01-07", {"a.md": "# Keys\n\nNew above.\nOther things.\n\nKeys last 30 days.\n"})
    repository.commit("2026-01-08", {"a.md": "# Keys\n\nNew above.\nOther things.\n\nKeys last 90 days.\n"})

    found = open_memory(repository.folder).past.history(Anchor.parse("a.md:6"))

    assert [(event.kind, str(event.anchor), event.text) for event in found] == [
        ("appeared", "a.md:5-5", ("Keys last 30 days.",)),
        ("changed", "a.md:6-6", ("Keys last 90 days.",)),
    ]


def test_both_sides_of_a_merge_are_in_the_history_and_the_merge_has_no_share(
    repository: Repository, open_memory: Open
) -> None:
    body = "".join(f"Line {number} of the quay.\n\n" for number in range(12))
    first = "---\nstatus: draft\n---\n\n# 鍵\n\n交換は毎週。\n\n"
    repository.commit("2026-01-05", {"keys.md": f"{first}{body}Keys last 30 days.\n"})
    repository.git("checkout", "-q", "-b", "side")
    repository.git("mv", "keys.md", "鍵.md")
    side = repository.commit(
        "2026-01-06",
        {"鍵.md": f"{first.replace('毎週', '毎日').replace('draft', 'final')}{body}Keys last 30 days.\n"},
        agent="kai",
    )
    repository.git("checkout", "-q", "main")
    main = repository.commit("2026-01-07", {"keys.md": f"{first}{body}Keys last 90 days.\n"}, who="Ren")
    repository.git("merge", "-q", "--no-ff", "-m", "Merge", "side", day="2026-01-09")
    past = open_memory(repository.folder).past
    text = (repository.folder / "鍵.md").read_text(encoding="utf-8").split("\n")

    def told(anchor: str) -> list[tuple[str, str, str]]:
        events = past.history(Anchor.parse(anchor))
        return [(one.kind, one.by.revision, one.by.writer) for one in events if one.by][1:]

    last = text.index("Keys last 90 days.") + 1
    assert told("鍵.md") == [("changed", side, "agent/kai"), ("changed", main, "human")]
    assert told("鍵.md:7") == [("changed", side, "agent/kai")]
    assert told(f"鍵.md:{last}") == [("renamed", side, "agent/kai"), ("changed", main, "human")]
    for line, by in ((7, side), (last, main)):
        blamed, _ = past.blame(Anchor.parse(f"鍵.md:{line}"))
        assert blamed.revision and blamed.revision.revision == by
    found = facts(Vault.open(repository.folder), "鍵.md", key="status").facts
    assert [(fact.value, fact.since.revision == side) for fact in found if fact.since] == [
        ("draft", False),
        ("final", True),
    ]


def test_what_a_merge_itself_wrote_is_its_own(repository: Repository, open_memory: Open) -> None:
    repository.commit("2026-01-05", {"a.md": KEYS})
    repository.git("checkout", "-q", "-b", "side")
    repository.commit("2026-01-06", {"a.md": KEYS.replace("weekly", "daily")})
    repository.git("checkout", "-q", "main")
    repository.commit("2026-01-07", {"a.md": KEYS.replace("weekly", "monthly")})
    with pytest.raises(subprocess.CalledProcessError):
        repository.git("merge", "-q", "side", day="2026-01-08")
    merge = repository.commit("2026-01-09", {"a.md": KEYS.replace("weekly", "each night")})
    past = open_memory(repository.folder).past

    for anchor in ("a.md", "a.md:3"):
        events = past.history(Anchor.parse(anchor))
        assert [event.kind for event in events] == ["appeared", "changed", "changed", "changed"]
        assert events[-1].by and events[-1].by.revision == merge


def test_the_history_of_a_note_that_is_gone_tells_when_it_went(
    repository: Repository, open_memory: Open
) -> None:
    repository.commit("2026-01-05", {"a.md": KEYS, "b.md": "# B\n"})
    (repository.folder / "a.md").unlink()
    repository.commit("2026-01-06")

    found = open_memory(repository.folder).past.history(Anchor.parse("a.md"))

    assert [event.kind for event in found] == ["appeared", "vanished"]


def test_a_note_that_never_was_has_no_history(repository: Repository, open_memory: Open) -> None:
    repository.commit("2026-01-05", {"a.md": KEYS})

    with pytest.raises(PathError):
        open_memory(repository.folder).past.history(Anchor.parse("b.md"))


def test_a_vault_without_git_has_no_history_and_says_so(tmp_path: Path, open_memory: Open) -> None:
    (tmp_path / "a.md").write_text(KEYS)

    with pytest.raises(GitError) as caught:
        open_memory(tmp_path).past.history(Anchor.parse("a.md"))

    assert "git init" in caught.value.fix


def test_another_owner_is_named_with_the_line_to_run(
    repository: Repository, open_memory: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit("2026-01-05", {"a.md": KEYS})
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")

    with pytest.raises(GitError) as caught:
        open_memory(repository.folder).past.history(Anchor.parse("a.md"))

    assert "safe.directory" in caught.value.fix


def test_crlf_made_by_a_checkout_is_no_edit(repository: Repository, open_memory: Open) -> None:
    repository.commit("2026-01-05", {"a.md": KEYS})
    repository.write({"a.md": KEYS.replace("\n", "\r\n")})
    repository.git("config", "core.autocrlf", "true")
    memory = open_memory(repository.folder)

    assert [event.kind for event in memory.past.history(Anchor.parse("a.md"))] == ["appeared"]
    assert memory.past.blame(Anchor.parse("a.md:3"))[0].uncommitted == 0


def test_a_note_is_compared_across_its_rename(repository: Repository, open_memory: Open) -> None:
    first = repository.commit("2026-01-05", {"keys.md": KEYS})
    repository.git("mv", "keys.md", "new.md")
    second = repository.commit("2026-01-06")
    repository.write({"new.md": KEYS.replace("weekly", "daily")})
    past = open_memory(repository.folder).past

    assert past.diff("new.md", f"{first[:7]}..HEAD").lines == []
    assert past.diff("new.md").lines == [
        f"--- new.md@{second[:7]}",
        "+++ new.md",
        "@@ -1,3 +1,3 @@",
        " # Keys",
        " ",
        "-Rotate the key weekly.",
        "+Rotate the key daily.",
    ]
    assert past.diff("new.md", "2026-01-05").old == f"keys.md@{first[:7]}"


def test_the_commands_print_anchors_first_and_json_whole(
    repository: Repository, run: Callable[..., Ran]
) -> None:
    repository.commit("2026-01-05", {"a.md": KEYS}, message="Write keys down")
    repository.commit("2026-01-06", {"a.md": KEYS.replace("weekly", "daily")}, agent="kai", reason="asked to")
    vault = ("--vault", str(repository.folder))

    told = run("history", "a.md", *vault)
    value = json.loads(run("history", "a.md:3", "--json", *vault).out)

    assert told.code == 0
    lines = told.out.split("\n")
    assert lines[0].startswith("a.md  changed  +1 -1 words  agent/kai (Mio), 2026-01-06, ")
    assert lines[0].endswith(": asked to")
    assert [event["kind"] for event in value["events"]] == ["changed", "appeared"]
    assert value["events"][0]["writer"] == "agent/kai"
    assert run("diff", "a.md", *vault).err == run("diff", "a.md", "HEAD", *vault).err
    assert "-Rotate the key weekly." in run("diff", "a.md", "HEAD~1..HEAD", *vault).out
    assert run("history", "a.md:99", *vault).code == 2


def test_history_works_in_a_linked_work_tree_with_a_detached_head(
    repository: Repository, tmp_path: Path, open_memory: Open
) -> None:
    repository.commit("2026-01-05", {"a.md": KEYS})
    linked = tmp_path / "linked"
    repository.git("worktree", "add", "-q", "--detach", str(linked))
    memory = open_memory(linked)

    assert [event.kind for event in memory.past.history(Anchor.parse("a.md"))] == ["appeared"]
    assert memory.past.asof.find("main").when == "main"
    assert subprocess.run(["git", "status", "--porcelain"], cwd=linked, capture_output=True).stdout == b""
