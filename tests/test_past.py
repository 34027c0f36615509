from __future__ import annotations

import gc
import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import GARDEN, Ran
from repositories import Repository

from memtool.embedders.fake import FakeEmbedder
from memtool.errors import PathError, UsageError
from memtool.index import past_files
from memtool.index.index_check import compare
from memtool.memory.memory import Memory
from memtool.note.anchor import Anchor

Open = Callable[..., Memory]

KEYS = "# Keys\n\nRotate the staging key every 30 days.\n"
BEES = "# Bees\n\nFeed the bees in March.\n"


class CountingEmbedder(FakeEmbedder):
    """An embedder that remembers the passages it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.passages: list[str] = []

    def embed(self, texts, *, kind):  # type: ignore[no-untyped-def]
        if kind == "passage":
            self.passages += texts
        return super().embed(texts, kind=kind)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "vault")
    made.commit("2026-01-05", {"keys.md": KEYS, "bees.md": BEES})
    made.commit("2026-01-07", {"keys.md": KEYS.replace("30", "90")})
    return made


def texts(answer: list[object]) -> list[str]:
    return [hit.text for hit in answer]  # type: ignore[attr-defined]


# -- search as of ----------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["hybrid", "lexical", "semantic"])
def test_the_past_is_searched_like_the_present(repository: Repository, open_memory: Open, mode: str) -> None:
    memory = open_memory(repository.folder)
    question = "rotate the staging key"

    then = memory.search(question, as_of="2026-01-06", mode=mode, min_score=-1)  # type: ignore[arg-type]
    now = memory.search(question, mode=mode, min_score=-1)  # type: ignore[arg-type]

    assert "30 days" in then[0].text and str(then[0].anchor) == "keys.md:1-3"
    assert "90 days" in now[0].text
    assert then.freshness.as_of.startswith("2026-01-05 10:00 UTC")
    assert "as of 2026-01-05" in str(then.freshness)
    assert then.freshness.watcher is None


def test_the_vault_as_of_head_is_the_vault_on_disk(tmp_path: Path, open_memory: Open) -> None:
    import shutil

    shutil.copytree(GARDEN, tmp_path / "v")
    repository = Repository(tmp_path / "v")
    repository.commit("2026-01-05")
    memory = open_memory(repository.folder)
    memory.refresh()
    past, fill = memory.past.asof.open(memory.past.asof.find("HEAD"), embed=True)

    fill()

    assert list(compare(memory.index, past.index, frozenset())) == []
    past.close()


def test_hits_of_then_have_the_anchors_and_the_writers_of_then(
    repository: Repository, open_memory: Open
) -> None:
    repository.git("mv", "keys.md", "鍵.md")
    repository.commit("2026-01-08", {"鍵.md": f"# New head\n\n{KEYS}"})
    memory = open_memory(repository.folder)

    hit = memory.search("rotate the staging key", as_of="HEAD~2", blame=True)[0]

    assert str(hit.anchor) == "keys.md:1-3"
    assert hit.provenance and hit.provenance.revision
    assert hit.provenance.revision.when.isoformat() == "2026-01-05T10:00:00+00:00"
    assert memory.show(hit.anchor, as_of="HEAD~2")[2] == (3, "Rotate the staging key every 30 days.")


def test_a_note_that_is_gone_is_found_in_the_past(repository: Repository, open_memory: Open) -> None:
    (repository.folder / "bees.md").unlink()
    repository.commit("2026-01-08")
    memory = open_memory(repository.folder)

    assert "bees.md" not in {hit.path for hit in memory.search("feed the bees")}
    assert str(memory.search("feed the bees", as_of="2026-01-07")[0].anchor) == "bees.md:1-3"


def test_text_that_was_ever_embedded_is_not_embedded_again(repository: Repository, open_memory: Open) -> None:
    embedder = CountingEmbedder()
    memory = open_memory(repository.folder, embedder=embedder)
    memory.search("keys")
    before = list(embedder.passages)

    memory.search("keys", as_of="2026-01-06")
    new = embedder.passages[len(before) :]
    memory.search("keys", as_of="2026-01-06")
    memory.search("keys", as_of="HEAD")
    repository.git("mv", "keys.md", "moved.md")
    repository.commit("2026-01-08")
    memory.search("keys", as_of="HEAD")

    assert new and all("30 days" in text for text in new)
    assert embedder.passages == before + new


def test_vectors_of_the_past_survive_when_the_present_is_tidied(
    repository: Repository, open_memory: Open
) -> None:
    embedder = CountingEmbedder()
    memory = open_memory(repository.folder, embedder=embedder)
    memory.search("keys", as_of="2026-01-06")
    count = len(embedder.passages)
    for path in ("keys.md", "bees.md"):
        (repository.folder / path).unlink()
    repository.write({f"n{n}.md": f"# Note {n}\n\nAbout {n}.\n" for n in range(3)})
    memory.refresh(accept_loss=True)
    memory.embed()
    memory.derived._tidy()
    more = len(embedder.passages)

    answer = memory.search("keys", as_of="2026-01-06")

    assert answer.freshness.covered == 1.0
    assert len(embedder.passages) == more > count


def test_moving_between_moments_gives_what_a_fresh_index_gives(
    repository: Repository, open_memory: Open
) -> None:
    for day in range(8, 20):
        repository.commit(f"2026-01-{day:02}", {"keys.md": KEYS.replace("30", str(day)), f"n{day}.md": BEES})
    memory = open_memory(repository.folder)

    for when in ("HEAD", "2026-01-10", "2026-01-05", "2026-01-15", "HEAD~1", "2026-01-10", "2026-01-06"):
        answer = memory.search("rotate the staging key", as_of=when, mode="lexical")
        past, fill = memory.past.asof.open(memory.past.asof.find(when), embed=False)
        fill()
        stored = {file.path: file.blob for file in past.index.files().values()}
        past.close()

        from memtool.history import history

        commit = memory.past.asof.find(when).revision.revision
        assert stored == history.tree(memory.past.git, commit)
        assert answer.freshness.notes == len(stored)
    assert len(past_files.files(memory.vault.cache)) <= past_files.SLOTS + 1


def test_the_past_changes_nothing_in_the_vault_and_nothing_of_the_present(
    repository: Repository, open_memory: Open
) -> None:
    memory = open_memory(repository.folder)
    memory.search("keys")
    before = list(memory.index.db.iterdump())

    memory.search("keys", as_of="2026-01-06", blame=True)
    memory.when("rotate the staging key")

    assert list(memory.index.db.iterdump()) == before
    assert repository.git("status", "--porcelain") == ""


def test_ignored_and_hidden_files_of_a_tree_are_no_notes(tmp_path: Path, open_memory: Open) -> None:
    repository = Repository(tmp_path / "v")
    repository.write({".memtool.toml": "", "memtool.toml": ""})
    repository.commit(
        "2026-01-05", {"a.md": KEYS, ".hidden/b.md": KEYS, "node_modules/c.md": KEYS, "d.txt": KEYS}
    )
    memory = open_memory(repository.folder)

    memory.search("keys", as_of="HEAD")
    past, fill = memory.past.asof.open(memory.past.asof.find("HEAD"), embed=False)
    fill()

    assert [file.path for file in past.index.files().values()] == ["a.md"]
    past.close()


def test_filters_and_days_work_in_the_past(repository: Repository, open_memory: Open) -> None:
    memory = open_memory(repository.folder)

    hits = memory.search("rotate the staging key", as_of="HEAD", since="2026-01-06")
    none = memory.search("feed the bees", as_of="HEAD", since="2026-01-06")
    path = memory.search("rotate the staging key", as_of="HEAD", path="bees*")

    assert [hit.day for hit in hits] == ["2026-01-07"]
    assert "bees.md" not in {hit.path for hit in none}
    assert {hit.path for hit in path} <= {"bees.md"}


def test_a_damaged_or_deleted_index_of_the_past_is_made_anew(
    repository: Repository, open_memory: Open
) -> None:
    memory = open_memory(repository.folder)
    memory.search("keys", as_of="2026-01-06")
    for file in past_files.files(memory.vault.cache):
        file.write_bytes(b"not an index" * 1000)

    damaged = memory.search("rotate the staging key", as_of="2026-01-06")
    for file in past_files.files(memory.vault.cache):
        file.unlink()
    deleted = memory.search("rotate the staging key", as_of="2026-01-06")

    assert texts(damaged) == texts(deleted)
    assert texts(deleted)[0] == KEYS.rstrip("\n")
    assert any("made anew" in remark for remark in damaged.freshness.remarks)
    assert list((memory.vault.cache / "past").glob("*.bad")) == []


def test_a_half_filled_index_never_answers(repository: Repository, open_memory: Open) -> None:
    memory = open_memory(repository.folder)
    memory.search("keys", as_of="2026-01-06", mode="lexical")
    (file,) = past_files.files(memory.vault.cache)
    with sqlite3.connect(file) as db:
        db.execute("DELETE FROM facts WHERE key = 'tree'")
        db.execute("DELETE FROM files WHERE path = 'keys.md'")
    db.close()

    answer = memory.search("rotate the staging key", as_of="2026-01-06", mode="lexical")

    assert texts(answer) == [KEYS.rstrip("\n")]


def test_a_note_whose_bytes_are_missing_is_told_as_not_read(
    repository: Repository, open_memory: Open
) -> None:
    name = repository.git("rev-parse", "HEAD~1:keys.md")
    (repository.folder / ".git" / "objects" / name[:2] / name[2:]).unlink()
    memory = open_memory(repository.folder)

    answers = [memory.search("feed the bees", as_of="HEAD~1") for _ in range(2)]

    assert [answer.freshness.unread for answer in answers] == [("keys.md",)] * 2
    assert [answer[0].path for answer in answers] == ["bees.md"] * 2


def test_a_tag_that_moves_and_a_branch_that_grows_mean_what_they_mean_now(
    repository: Repository, open_memory: Open
) -> None:
    repository.git("tag", "v", "HEAD~1")
    memory = open_memory(repository.folder)
    question = "rotate the staging key"
    first = [memory.search(question, as_of=name)[0].text for name in ("v", "main", "HEAD", "2026-01-20")]

    repository.git("tag", "-f", "v", "HEAD")
    repository.commit("2026-01-09", {"keys.md": KEYS.replace("30", "7")})
    again = [memory.search(question, as_of=name)[0].text for name in ("v", "main", "HEAD", "2026-01-20")]

    days = ["30" in first[0], "90" in first[1], "90" in first[2], "90" in first[3]]
    assert days == [True] * 4
    assert [" 90 " in again[0], *(" 7 " in text for text in again[1:])] == [True] * 4


def test_a_moment_asked_again_asks_git_nothing(
    repository: Repository, open_memory: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = open_memory(repository.folder)
    repository.git("tag", "-a", "-m", "x", "v")
    moments = ("2026-01-06", "HEAD~1", "v", "main")
    for when in moments:
        memory.search("rotate the staging key", as_of=when, blame=True)

    def never(*arguments: object, **more: object) -> bytes:
        raise AssertionError(f"git was asked {arguments}")

    monkeypatch.setattr("memtool.git.Git.run", never)

    for when in moments:
        assert memory.search("rotate the staging key", as_of=when, blame=True)[0].provenance


def test_a_vault_that_was_not_there_says_so(tmp_path: Path, open_memory: Open) -> None:
    (tmp_path / "top").mkdir()
    outer = Repository(tmp_path / "top")
    outer.commit("2026-01-05", {"a.md": KEYS})
    inner = Repository(tmp_path / "top" / "notes", top=tmp_path / "top")
    inner.commit("2026-01-06", {"b.md": KEYS})

    with pytest.raises(UsageError, match="was not there"):
        open_memory(inner.folder).search("keys", as_of="2026-01-05")


def test_show_as_of_names_the_name_of_then(repository: Repository, open_memory: Open) -> None:
    repository.git("mv", "keys.md", "new.md")
    repository.commit("2026-01-08")
    memory = open_memory(repository.folder)

    assert memory.show("new.md:3", as_of="HEAD") == [(3, "Rotate the staging key every 90 days.")]
    with pytest.raises(PathError) as caught:
        memory.show("new.md", as_of="2026-01-06")
    assert "keys.md --as-of 2026-01-06" in caught.value.fix
    with pytest.raises(PathError):
        memory.show("never.md", as_of="2026-01-06")


def test_the_command_line_searches_and_shows_the_past(
    repository: Repository, run: Callable[..., Ran]
) -> None:
    vault = ("--vault", str(repository.folder))

    text = run("search", "--lexical", "rotate the staging key", "--as-of", "2026-01-06", *vault)
    value = json.loads(
        run("search", "--lexical", "rotate the staging key", "--as-of", "HEAD~1", "--json", *vault).out
    )
    shown = run("show", "keys.md:3", "--as-of", "HEAD~1", *vault)
    wrong = run("search", "--lexical", "x", "--as-of", "2020-01-01", *vault)

    assert "30 days" in text.out and "as of 2026-01-05 10:00 UTC" in text.err
    assert value["freshness"]["as_of"].startswith("2026-01-05")
    assert value["hits"][0]["provenance"]["when"] == "2026-01-05T10:00:00+00:00"
    assert "30 days" in shown.out
    assert (wrong.code, "there was no commit until 2020-01-01" in wrong.err) == (2, True)


# -- when ------------------------------------------------------------------------------------


def test_when_tells_since_when_something_stands(repository: Repository, open_memory: Open) -> None:
    repository.git("mv", "keys.md", "鍵.md")
    repository.commit("2026-01-08")

    found = open_memory(repository.folder).when("rotate the staging key")

    assert found.stands and found.hit and found.hit.path == "鍵.md"
    assert [(event.kind, f"{event.by.when:%d}") for event in found.events if event.by] == [
        ("appeared", "05"),
        ("changed", "07"),
        ("renamed", "08"),
    ]


def test_when_finds_what_stands_no_more(repository: Repository, run: Callable[..., Ran]) -> None:
    repository.commit("2026-01-09", {"bees.md": "# Bees\n\nThere are none.\n"}, agent="kai", reason="sold")

    ran = run("when", "--lexical", "feed them in March", "--vault", str(repository.folder))

    assert ran.code == 0
    assert [line.split("  ")[:2] for line in ran.out.split("\n")[::2] if line] == [
        ["bees.md:3-3", "appeared"],
        ["bees.md:3-3", "changed"],
    ]
    assert "agent/kai (Mio), 2026-01-09" in ran.out and "sold" in ran.out
    assert "stands no more" in ran.err


def test_when_counts_a_thing_said_again(repository: Repository, open_memory: Open) -> None:
    repository.commit("2026-01-09", {"bees.md": "# Bees\n"})
    repository.commit("2026-01-11", {"bees.md": BEES})

    found = open_memory(repository.folder).when("feed the bees in March", mode="lexical")

    kinds = [event.kind for event in found.events if event.kind in ("appeared", "vanished", "changed")]
    assert kinds == ["appeared", "vanished", "appeared"]
    assert found.stands


def test_when_nothing_ever_answered(repository: Repository, run: Callable[..., Ran]) -> None:
    ran = run("when", "--lexical", "zebra crossing", "--vault", str(repository.folder), "--json")

    assert ran.code == 1
    assert json.loads(ran.out)["events"] == []


def test_when_sees_what_is_not_committed_yet(repository: Repository, open_memory: Open) -> None:
    repository.write({"keys.md": "# Keys\n\nRotate the staging key every 7 days.\n"})

    found = open_memory(repository.folder).when("rotate the staging key")

    assert found.events[-1].by is None
    assert found.stands


def test_looking_into_the_past_again_and_again_leaves_nothing_open(
    repository: Repository, open_memory: Open
) -> None:
    memory = open_memory(repository.folder)

    def look() -> int:
        for when in ("HEAD", "HEAD~1", "2026-01-06"):
            memory.search("rotate the staging key", as_of=when, blame=True)
            memory.past.history(Anchor.parse("keys.md:3"))
            memory.past.blame(Anchor.parse("keys.md"))
        gc.collect()
        return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0

    look()
    first = look()

    assert max(look() for _ in range(4)) <= first


def test_two_processes_may_begin_the_same_moment_at_once(repository: Repository, open_memory: Open) -> None:
    memory = open_memory(repository.folder)
    memory.search("keys", as_of="HEAD", mode="lexical")
    (base,) = past_files.files(memory.vault.cache)
    file = base.with_name(f"other{past_files.ENDING}")

    assert past_files.begin(file, base)
    before = file.stat().st_ino
    assert not past_files.begin(file, base)

    assert file.stat().st_ino == before
    assert sorted(path.name for path in file.parent.iterdir()) == sorted([base.name, file.name])


#: Fills an index of the past and is killed by its parent in the middle of a note.
HALF_WAY = """
import sys, time
from memtool.refresh import reading
from memtool.memory.memory import Memory
from memtool.embedders.fake import FakeEmbedder

parse, seen = reading.parse, []

def slowly(path, data, **how):
    seen.append(path)
    if len(seen) == 20:
        print("half way", flush=True)
        time.sleep(60)
    return parse(path, data, **how)

reading.parse = slowly
with Memory.open(sys.argv[1], embedder=FakeEmbedder()) as memory:
    memory.search("鍵を交換する", as_of=sys.argv[2])
"""


@pytest.mark.parametrize("earlier", [False, True], ids=["the first moment", "begun from another"])
def test_a_process_killed_while_it_reads_the_past_leaves_nothing_half(
    tmp_path: Path, open_memory: Open, earlier: bool
) -> None:
    repository = Repository(tmp_path / "vault")
    then = {f"{place}.md": f"# 鍵 {place}\n\n鍵 {place} を毎月交換する。\n" for place in range(60)}
    repository.commit("2026-01-05", {"鍵.md": "# 鍵\n\nまだない。\n"})
    repository.commit("2026-01-06", then)  # type: ignore[arg-type]
    repository.commit("2026-01-07", dict.fromkeys(then, "# もうない\n"))
    memory = open_memory(repository.folder)
    if earlier:
        memory.search("鍵", as_of="2026-01-05")

    command = [sys.executable, "-c", HALF_WAY, str(repository.folder), "2026-01-06"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert child.stdout and child.stdout.readline() == b"half way\n"
    child.send_signal(signal.SIGKILL)
    child.communicate()
    answer = memory.search("鍵 59 を交換する", as_of="2026-01-06")

    assert answer[0].path == "59.md"
    whole = memory.search("毎月交換する", as_of="2026-01-06", mode="lexical", limit=100)
    assert {hit.path for hit in whole} == set(then)
    assert all("made anew" not in remark for remark in answer.freshness.remarks)
    assert memory.search("鍵 59 を交換する", mode="lexical").freshness.unread == ()


def test_half_a_copy_of_an_index_is_removed_once_nobody_can_be_making_it(
    repository: Repository, open_memory: Open
) -> None:
    memory = open_memory(repository.folder)
    memory.search("keys", as_of="HEAD", mode="lexical")
    folder = past_files.files(memory.vault.cache)[0].parent
    old, young = folder / f"a{past_files.ENDING}.1.new", folder / f"b{past_files.ENDING}.2.new-wal"
    old.write_bytes(b"half")
    young.write_bytes(b"half")
    os.utime(old, (1_000_000, 1_000_000))

    memory.search("keys", as_of="HEAD~1", mode="lexical")

    assert not old.exists() and young.exists()
