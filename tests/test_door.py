"""The one door to the notes: who may, who was first, what is committed, and what comes back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from conftest import Ran, write_notes

from memtool import git_hooks
from memtool.commits import commit_queue, commits, plain_git, quick_commit
from memtool.commits.commit_message import Edit
from memtool.door import accounts, bases
from memtool.errors import ConflictError, MemtoolError, PathError, PolicyError, SecretError, UsageError
from memtool.git import Git
from memtool.identity import HUMAN, Signature
from memtool.memory.memory import Memory
from memtool.staging import Patience

OpenMemory = Callable[..., Memory]
KAI, ANA = Signature("agent/kai", "s1", "asked to"), Signature("agent/ana", "s2")
NOTES: dict[str, str | bytes] = {
    "plan.md": "# Plan\n\nseed\n",
    "ops/a.md": "# A\n\nsee [[plan]] and [p](../plan.md#x)\n",
    "鍵.md": "# 鍵\r\n\r\n毎月交換する。\r\n",
}


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.rstrip("\n")


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = write_notes(tmp_path / "v", NOTES)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "Start")
    return folder


@pytest.fixture
def memory(vault: Path, open_memory: OpenMemory) -> Memory:
    return open_memory(vault, embedder="none")


def log(folder: Path) -> list[str]:
    """Tell subject and writer of each commit, the newest first."""
    return git(folder, "log", "--format=%s|%(trailers:key=Memtool-Writer,valueonly,separator=%x2c)").split(
        "\n"
    )


def is_clean(folder: Path) -> bool:
    return git(folder, "status", "--porcelain") == "" and "error" not in git(folder, "fsck", "--full")


# -- who ---------------------------------------------------------------------------------------


def test_who_writes_is_said_in_the_call_else_when_opening_else_in_the_environment(vault: Path) -> None:
    told = {"MEMTOOL_WRITER": "agent/env", "MEMTOOL_SESSION": "s9"}
    with Memory.open(vault, embedder="none", environment=told, session="s1") as memory:
        assert memory.who == Signature("agent/env", "s1")
        memory.append("plan.md", "one")
        memory.append("plan.md", "two", by=ANA)
    with Memory.open(vault, embedder="none", environment={}) as memory:
        assert memory.who == HUMAN
        memory.append("plan.md", "three")
        assert memory.committed is None

    assert [line.partition("|")[2] for line in log(vault)] == ["agent/ana", "agent/env", ""]


def test_a_flag_says_who_writes_and_the_environment_says_the_rest(
    vault: Path, run: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMTOOL_WRITER", "agent/env")
    monkeypatch.setenv("MEMTOOL_SESSION", "s9")

    assert run("append", "plan.md", "x", "--reason", "why", "--vault", str(vault)).code == 0

    trailers = git(vault, "log", "-1", "--format=%(trailers:unfold)")
    assert trailers.split("\n")[:3] == [
        "Memtool-Writer: agent/env",
        "Memtool-Session: s9",
        "Memtool-Reason: why",
    ]


def test_a_writer_in_the_environment_that_is_none_is_told_of(vault: Path) -> None:
    with pytest.raises(UsageError):
        Memory.open(vault, environment={"MEMTOOL_WRITER": "root"})


def test_agents_leave_a_frozen_note_alone_and_people_do_not(memory: Memory) -> None:
    memory.set("plan.md", "frozen", "true")
    for change in (
        lambda: memory.append("plan.md", "x", by=KAI),
        lambda: memory.set("plan.md", "frozen", "false", by=KAI),
        lambda: memory.move("plan.md", "b.md", by=KAI),
        lambda: memory.archive("plan.md", by=KAI),
    ):
        with pytest.raises(PolicyError, match="frozen"):
            change()

    assert str(memory.append("plan.md", "by hand")) == "plan.md:7-7"


# -- append, edit, set -------------------------------------------------------------------------


def test_two_agents_and_a_person_write_to_one_note_and_nothing_is_lost(memory: Memory, vault: Path) -> None:
    first = memory.digest("plan.md")
    memory.edit("plan.md", "# Plan\n\nseed\nfrom A\n", if_digest=first, by=KAI)
    with pytest.raises(ConflictError) as late:
        memory.edit("plan.md", "# Plan\n\nseed\nfrom B\n", if_digest=first, by=ANA)
    own = memory.digest("plan.md")
    (vault / "plan.md").write_text((vault / "plan.md").read_text() + "from the editor\n")
    with pytest.raises(ConflictError):
        memory.edit("plan.md", "# Plan\n\nwithout the editor line\n", if_digest=own, by=KAI)
    memory.append("plan.md", "appended by B\n", by=ANA)
    with pytest.raises(UsageError, match="version"):
        memory.edit("plan.md", "# Plan\n", by=ANA)

    assert (vault / "plan.md").read_text() == "# Plan\n\nseed\nfrom A\nfrom the editor\nappended by B\n"
    assert late.value.digest.startswith(own) and own[:7] in late.value.why
    assert (vault / late.value.kept).read_text() == "# Plan\n\nseed\nfrom B\n"
    assert late.value.kept in late.value.fix
    assert [line.partition("|")[2] for line in log(vault)] == ["agent/ana", "human", "agent/kai", ""]
    assert is_clean(vault)


def test_changes_of_different_lines_are_joined(memory: Memory, vault: Path) -> None:
    (vault / "plan.md").write_text("# Plan\n\none\ntwo\nthree\n")
    read = memory.digest("plan.md")
    memory.edit("plan.md:3", "ONE", if_digest=read, by=KAI)

    anchor = memory.edit("plan.md:5-5", "三\n四", if_digest=read[:12], by=ANA)

    assert (vault / "plan.md").read_text() == "# Plan\n\nONE\ntwo\n三\n四\n"
    assert str(anchor) == "plan.md:5-6"
    with pytest.raises(ConflictError, match="same lines"):
        memory.edit("plan.md:3", "eins", if_digest=read, by=ANA)


def test_a_version_that_only_git_knows_any_more_is_merged_with(memory: Memory, vault: Path) -> None:
    read = memory.show("plan.md").digest
    memory.append("plan.md", "later", by=KAI)

    memory.edit("plan.md:1", "# The plan", if_digest=read, by=ANA)

    assert (vault / "plan.md").read_text() == "# The plan\n\nseed\nlater\n"


def test_a_version_nobody_knows_is_refused_and_the_text_kept(memory: Memory, vault: Path) -> None:
    with pytest.raises(ConflictError, match="changed") as told:
        memory.edit("plan.md:3", "new text", if_digest="0" * 64, by=KAI)

    assert (vault / told.value.kept).read_text() == "new text"
    assert "not known" in told.value.why


def test_pinned_lines_are_followed_where_they_say_the_same(memory: Memory, vault: Path) -> None:
    pinned = memory.cite("plan.md:3")
    memory.append("ops/a.md", "end", by=KAI)
    (vault / "plan.md").write_text("# Plan\n\nnew line above\n\nseed\n")

    assert str(memory.edit(pinned, "tree", by=KAI)) == "plan.md:5-5"
    assert (vault / "plan.md").read_text() == "# Plan\n\nnew line above\n\ntree\n"
    with pytest.raises(ConflictError, match="does not say what it said") as told:
        memory.edit(pinned, "bush", by=KAI)
    assert (vault / told.value.kept).read_text() == "bush"


def test_pinned_lines_that_stand_twice_are_not_guessed(memory: Memory, vault: Path) -> None:
    pinned = memory.cite("plan.md:3")
    (vault / "plan.md").write_text("# Plan\n\nx\nseed\nseed\n")

    with pytest.raises(ConflictError, match="more than once"):
        memory.edit(pinned, "tree", by=KAI)


def test_an_agent_says_which_text_it_replaces(memory: Memory) -> None:
    with pytest.raises(UsageError, match="which text") as told:
        memory.edit("plan.md:3", "x", by=KAI)
    assert "memtool cite plan.md:3-3" in told.value.fix and memory.digest("plan.md")[:12] in told.value.fix

    assert str(memory.edit("plan.md:3", "by a person")) == "plan.md:3-3"


def test_a_key_is_set_and_taken_out_and_no_other_byte_changes(memory: Memory, vault: Path) -> None:
    before = (vault / "鍵.md").read_bytes()
    (vault / "鍵.md").write_bytes(b"---\r\na: 1 # one\r\nb: [x,  y]\r\n---\r\n" + before)

    memory.set("鍵.md", "c", "z", by=KAI)
    memory.set("鍵.md", "b", None, by=KAI)

    assert (vault / "鍵.md").read_bytes() == b"---\r\na: 1 # one\r\nc: z\r\n---\r\n" + before


def test_a_dry_run_prints_the_change_and_makes_none(
    memory: Memory, vault: Path, run: Callable[..., Ran]
) -> None:
    before = git(vault, "rev-parse", "HEAD")

    done = run(
        "append", "鍵.md", "予備は倉庫にある。", "--dry-run", "--writer", "agent/x", "--vault", str(vault)
    )

    assert (
        done.out
        == "--- a/鍵.md\n+++ b/鍵.md\n@@ -1,3 +1,4 @@\n # 鍵\n \n 毎月交換する。\n+予備は倉庫にある。\n"
    )
    assert (vault / "鍵.md").read_bytes() == NOTES["鍵.md"].encode()  # type: ignore[union-attr]
    assert (git(vault, "rev-parse", "HEAD"), is_clean(vault)) == (before, True)


def test_show_tells_the_version_and_an_error_the_file_that_keeps_the_text(
    vault: Path, run: Callable[..., Ran]
) -> None:
    place = ["--vault", str(vault), "--json"]
    read = json.loads(run("show", "plan.md", *place).out)["digest"]
    assert run("append", "plan.md", "x", *place).code == 0

    done = run("edit", "plan.md", "all new", "--if-digest", read, *place)

    told = json.loads(done.err)["error"]
    assert (done.code, told["code"], len(told["digest"])) == (2, "conflict", 64)
    assert (vault / told["kept"]).read_text() == "all new"


def test_the_store_of_what_was_read_is_bounded(memory: Memory, vault: Path) -> None:
    for number in range(bases.KEPT + 9):
        bases.remember(memory.vault, str(number).encode())

    assert len(list((memory.vault.state / "read").iterdir())) == bases.KEPT


# -- add ---------------------------------------------------------------------------------------

TEXT = "The spare key of the staging cluster lies in the blue box.\n\nIt is changed each month."


@pytest.mark.parametrize("embedder", ["fake", "none"])
def test_a_note_that_says_nearly_the_same_is_named_and_written_all_the_same(
    vault: Path, open_memory: OpenMemory, embedder: str
) -> None:
    memory = open_memory(vault, embedder=embedder)
    first = memory.add(TEXT, title="The spare key")
    memory.refresh()
    memory.embed()

    second = memory.add(TEXT, title="The spare key", alike=True)

    assert [(found.code, found.path) for found in memory.noticed] == [("near-duplicate", first.path)]
    assert second.path != first.path
    memory.add("Quite another text about marmots.", alike=True)
    assert memory.noticed == ()


def test_what_is_new_is_merged_into_the_note_that_says_nearly_the_same(
    vault: Path, open_memory: OpenMemory
) -> None:
    memory = open_memory(vault, embedder="none")
    long = "\n".join(f"Line {number} of the long list of keys." for number in range(30))
    first = memory.add(long, title="Keys")

    anchor = memory.add(f"{long}\nAnd one that is new.", title="Keys", merge=True)

    assert (anchor.path, memory.show(anchor)[-1][1]) == (first.path, "And one that is new.")


def test_an_agent_is_asked_which_questions_its_note_answers(memory: Memory) -> None:
    memory.add("The key is blue.", by=KAI)
    assert [found.code for found in memory.noticed] == ["asks-missing"]

    memory.add("The box is red.", meta={"asks": ["What colour is the box?", "箱は何色？"]}, by=KAI)
    assert memory.noticed == ()


# -- move, archive -----------------------------------------------------------------------------


def test_a_move_takes_all_links_along_in_one_commit(memory: Memory, vault: Path) -> None:
    assert memory.move("plan.md", "ops/new plan", by=KAI) == "ops/new plan.md"

    assert (vault / "ops/a.md").read_text() == "# A\n\nsee [[new plan]] and [p](new%20plan.md#x)\n"
    assert log(vault)[0] == "Change ops/a.md, rename plan.md to ops/new plan.md|agent/kai"
    assert git(vault, "log", "--follow", "--format=%s", "--", "ops/new plan.md").endswith("Start")
    assert is_clean(vault)


def test_the_own_links_of_a_moved_note_lead_where_they_led(memory: Memory, vault: Path) -> None:
    memory.move("ops/a.md", "deep/down/", by=KAI)

    assert (vault / "deep/down/a.md").read_text() == "# A\n\nsee [[plan]] and [p](../../plan.md#x)\n"


def test_only_the_case_of_a_name_may_change(memory: Memory, vault: Path) -> None:
    assert memory.move("plan.md", "Plan.md", by=KAI) == "Plan.md"

    assert sorted(os.listdir(vault)) == [".git", ".memtool", "Plan.md", "ops", "鍵.md"]
    assert (git(vault, "ls-files", "*lan.md"), is_clean(vault)) == ("Plan.md", True)


@pytest.mark.parametrize(
    "to", ["鍵.md", "OPS/A.md", "ops/A", "plan.md", "con.md", "a?.md", ".git/x.md", "x" * 300]
)
def test_a_note_never_goes_where_one_is_or_none_may_be(memory: Memory, vault: Path, to: str) -> None:
    with pytest.raises(MemtoolError):
        memory.move("plan.md", to, by=KAI)

    assert (vault / "plan.md").read_text() == NOTES["plan.md"]
    assert is_clean(vault)


def test_an_archived_note_keeps_its_path_below_the_archive(memory: Memory, vault: Path) -> None:
    assert memory.archive("ops/a.md", by=KAI) == "archive/ops/a.md"
    write_notes(vault, {"ops/a.md": "# Another\n"})
    assert memory.archive("ops/a.md", by=KAI) == "archive/ops/a-2.md"

    with pytest.raises(UsageError, match="already"):
        memory.archive("archive/ops/a.md")


def test_a_move_that_may_not_change_a_linking_note_changes_nothing(memory: Memory, vault: Path) -> None:
    memory.set("ops/a.md", "frozen", "true")
    memory.commit()

    with pytest.raises(PolicyError, match=r"ops/a\.md"):
        memory.move("plan.md", "b.md", by=KAI)
    assert (vault / "plan.md").exists() and is_clean(vault)


# -- undo --------------------------------------------------------------------------------------


def test_a_change_is_taken_back_and_the_lines_of_others_stay(memory: Memory, vault: Path) -> None:
    memory.append("plan.md", "from kai", by=KAI)
    revision = memory.committed.commits[0].revision if memory.committed else ""
    memory.append("plan.md", "from ana", by=ANA)

    report = memory.undo(revision, by=ANA)

    assert (vault / "plan.md").read_text() == "# Plan\n\nseed\nfrom ana\n"
    assert "undo " + revision[:10] in git(vault, "log", "-1", "--format=%B")
    assert ([commit.writer for commit in report.commits], is_clean(vault)) == (["agent/ana"], True)


def test_a_whole_session_is_taken_back_in_one_commit(memory: Memory, vault: Path) -> None:
    anchor = memory.add("A new note.", title="新しい", by=KAI)
    memory.append("plan.md", "one", by=KAI)
    memory.append("plan.md", "ana", by=ANA)
    memory.move("鍵.md", "ops/", by=KAI)
    memory.set("ops/a.md", "type", "note", by=KAI)
    before = len(log(vault))

    memory.undo(session="s1")

    files = {
        path: (vault / path).read_bytes().decode()
        for path in git(vault, "ls-files", "-z").split("\0")
        if path
    }
    assert files == {**NOTES, "plan.md": "# Plan\n\nseed\nana\n"}
    assert (len(log(vault)) - before, log(vault)[0].partition("|")[2], (vault / anchor.path).exists()) == (
        *(1, "human"),
        False,
    )


def test_an_undo_can_be_undone(memory: Memory, vault: Path) -> None:
    memory.append("plan.md", "one", by=KAI)
    memory.undo(by=KAI)
    memory.undo(by=KAI)

    assert (vault / "plan.md").read_text() == "# Plan\n\nseed\none\n"


def test_an_older_change_is_not_undone_for_one_that_is_not_committed(memory: Memory, vault: Path) -> None:
    memory.append("plan.md", "committed", by=Signature(reason="so that it is committed at once"))
    revision = git(vault, "rev-parse", "HEAD").strip()
    memory.append("鍵.md", "予備は裏口")

    with pytest.raises(UsageError, match=r"not committed yet: 鍵\.md") as told:
        memory.undo()
    assert "memtool commit" in told.value.fix and revision[:10] in told.value.fix
    assert (vault / "plan.md").read_text() == "# Plan\n\nseed\ncommitted\n"

    memory.commit()
    memory.undo()
    assert "予備は裏口" not in (vault / "鍵.md").read_text()
    assert (vault / "plan.md").read_text() == "# Plan\n\nseed\ncommitted\n"


def test_a_catalog_that_waits_to_be_committed_keeps_nobody_from_undoing(memory: Memory, vault: Path) -> None:
    memory.append("plan.md", "committed", by=Signature(reason="so that it is committed at once"))
    (vault / "MEMORY.md").write_text("- [a](plan.md)\n")

    memory.undo()

    assert (vault / "plan.md").read_text() == "# Plan\n\nseed\n"


def test_what_others_built_on_is_not_taken_back(memory: Memory, vault: Path) -> None:
    memory.append("plan.md", "from kai", by=KAI)
    memory.edit("plan.md:4", "from kai, mended by ana", if_digest=memory.digest("plan.md"), by=ANA)

    with pytest.raises(ConflictError, match="changed since in the same lines") as told:
        memory.undo(session="s1")
    assert "memtool diff plan.md" in told.value.fix
    assert is_clean(vault)


def test_only_a_change_of_memtools_is_undone(memory: Memory) -> None:
    with pytest.raises(UsageError, match="no change of memtool"):
        memory.undo("HEAD")
    for wanted in ({"revision": "nowhere"}, {"session": "s404"}, {"revision": "--all"}):
        with pytest.raises(UsageError):
            memory.undo(**wanted)


# -- names -------------------------------------------------------------------------------------

HOSTILE = [
    *("../outside.md", "../../outside.md", "a/../../outside.md", "./../outside.md", "..%2foutside.md"),
    *("%2e%2e/outside.md", "....//outside.md", "../outside", "..", "../", "a/..", "\u2025/outside.md"),
    *("\uff0e\uff0e/outside.md", "../.ssh/config", "/etc/passwd", "~/x.md", "..\\outside.md", "a\0.md"),
    *(".git/config", ".memtool/state/x.md", "C:/x.md", ""),
]


@pytest.mark.parametrize("path", HOSTILE)
def test_a_path_out_of_the_vault_is_refused_by_every_door_alike(
    memory: Memory, vault: Path, path: str
) -> None:
    def answers() -> list[str]:
        said = []
        for act in (
            lambda: memory.vault.read(path),
            lambda: memory.append(path, "x", by=KAI),
            lambda: memory.edit(path or "..", "x", if_digest="0" * 64, by=KAI),
            lambda: memory.set(path, "a", "b", by=KAI),
            lambda: memory.archive(path, by=KAI),
            lambda: memory.move(path, "new.md", by=KAI),
            lambda: memory.move("plan.md", path, by=KAI),
        ):
            with pytest.raises(PathError) as told:
                act()
            said.append(str(told.value))
        return said

    outside = vault.parent / "outside.md"
    without = answers()
    outside.write_text("# Outside\n")

    assert answers() == without
    assert (outside.read_text(), is_clean(vault), len(set(without[:2] + without[3:6]))) == (
        "# Outside\n",
        True,
        1,
    )
    assert sorted(os.listdir(vault.parent)) == ["outside.md", "v"]


def test_a_link_out_of_the_vault_is_no_note(memory: Memory, vault: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("# Outside\n")
    (vault / "link.md").symlink_to(outside)
    (vault / "away").symlink_to(tmp_path)

    for path in ("link.md", "away/outside.md"):
        with pytest.raises(PathError):
            memory.append(path, "x", by=KAI)
    for to in ("away/new.md", "link.md"):
        with pytest.raises(MemtoolError):
            memory.move("plan.md", to, by=KAI)
    assert (outside.read_text(), (vault / "plan.md").exists()) == ("# Outside\n", True)


TITLES = [
    *(
        "日本語ドキュメント",
        "設計メモ",
        "인증 아키텍처",
        "Привет мир",
        "🎉🎉",
        "???",
        "Ünïcödé",
        "UNICODE",
        "unicode",
    ),
    *(
        "C#",
        "C++",
        "C",
        "a/b",
        "a\\b",
        "2026-05-01",
        "设计备忘",
        "設計備忘",
        "長" * 150,
        ".md",
        "..",
        "nul",
        "x\ty",
    ),
]


def test_every_title_gets_a_note_of_its_own_and_reads_back(memory: Memory, vault: Path) -> None:
    paths = [memory.add(f"Text {n}.", title=title, by=KAI).path for n, title in enumerate(TITLES * 2)]

    memory.refresh()
    titles = {file.path: file.title for file in memory.index.files().values()}
    assert len({path.casefold() for path in paths}) == len(TITLES) * 2
    assert [titles[path] for path in paths] == TITLES * 2
    assert not any(Path(path).name.startswith(".") for path in paths)
    assert is_clean(vault)


# -- committing --------------------------------------------------------------------------------


def queue(memory: Memory, path: str, text: str, by: Signature) -> str:
    """Change a note as a writer does that was stopped before it could commit."""
    before = memory.vault.read(path)
    with memory.vault.lock():
        after = before + f"{text}\n".encode()
        (memory.vault.root / path).write_bytes(after)
        return commit_queue.put(memory.vault, by, [Edit(path, before, after)])


def test_whoever_commits_takes_along_what_waits_one_commit_each(memory: Memory, vault: Path) -> None:
    queue(memory, "plan.md", "one", KAI)
    queue(memory, "plan.md", "two", ANA)
    (vault / "plan.md").write_text((vault / "plan.md").read_text() + "by hand\n")

    memory.append("plan.md", "three", by=KAI)

    assert [line.partition("|")[2] for line in log(vault)] == [
        "agent/kai",
        "human",
        "agent/ana",
        "agent/kai",
        "",
    ]
    assert git(vault, "show", "HEAD~2:plan.md") == "# Plan\n\nseed\none\ntwo"
    assert (is_clean(vault), list((memory.vault.state / "queue").glob("*.change"))) == (True, [])


@pytest.mark.parametrize("below", ["", "deep/vault"])
def test_what_a_person_staged_elsewhere_stays_staged(
    tmp_path: Path, open_memory: OpenMemory, below: str
) -> None:
    top = tmp_path / "top"
    folder = write_notes(top / below, {"a.md": "# A\n", "b.md": "# B\n", 'say "hi"\t.md': "# C\n"})
    git(tmp_path, "init", "-q", "-b", "main", str(top))
    git(top, "add", "-A")
    git(top, "commit", "-q", "-m", "Start")
    (folder / "b.md").write_text("# Staged\n")
    git(folder, "add", "b.md")
    memory = open_memory(folder, embedder="none")

    memory.append("a.md", "x", by=KAI)
    memory.append('say "hi"\t.md', "x", by=KAI)
    memory.append("b.md", "x", by=KAI)

    assert memory.committed is not None
    assert [found.code for found in memory.committed.findings] == ["git-staged"]
    assert (folder / "b.md").read_text() == "# Staged\nx\n"
    assert (len(log(top)), git(folder, "status", "--porcelain", "--", ".")) == (
        3,
        f"MM {below + '/' * bool(below)}b.md",
    )


def test_where_a_hook_has_a_say_each_change_is_shown_to_it(memory: Memory, vault: Path) -> None:
    hook = vault / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ngit diff --cached --name-only >> .git/seen\n! grep -q bad plan.md\n")
    hook.chmod(0o755)

    memory.append("plan.md", "good", by=KAI)
    assert memory.committed and memory.committed.complete
    memory.append("plan.md", "bad", by=KAI)

    assert [found.code for found in memory.committed.findings] == ["git-hook"]
    assert ((vault / ".git/seen").read_text().split(), len(log(vault))) == (["plan.md"] * 2, 2)
    assert (vault / "plan.md").read_text().endswith("good\nbad\n")


@pytest.mark.parametrize(
    ("settings", "attributes", "plain"),
    [
        ([], "", True),
        ([], "*.md merge=memtool-note\n", True),
        ([], "*.md text eol=lf\n", False),
        (["commit.gpgSign", "true"], "", False),
        (["core.autocrlf", "input"], "", False),
        (["core.hooksPath", "hooks"], "", True),
    ],
)
def test_only_a_plain_repository_is_committed_to_at_once(
    vault: Path, settings: list[str], attributes: str, plain: bool
) -> None:
    if settings:
        git(vault, "config", *settings)
    (vault / ".gitattributes").write_text(attributes)

    assert plain_git.is_plain(Git(vault)) is plain


def test_the_lock_that_a_killed_commit_left_is_taken_away_and_no_other(memory: Memory, vault: Path) -> None:
    spare, lock = vault / ".git/memtool-index", vault / ".git/index.lock"
    spare.write_bytes((vault / ".git/index").read_bytes())
    os.link(spare, lock)

    memory.append("plan.md", "x", by=KAI)

    assert (lock.exists(), spare.exists(), len(log(vault)), is_clean(vault)) == (False, False, 2, True)
    lock.touch()
    os.utime(lock, (0, 0))
    spare.touch()
    quick_commit.recover(Git(vault))
    assert (lock.exists(), spare.exists()) == (True, False)


def test_an_index_that_a_killed_commit_left_behind_follows(memory: Memory, vault: Path) -> None:
    memory.append("plan.md", "x", by=KAI)
    head, index = git(vault, "rev-parse", "HEAD"), (vault / ".git/index").read_bytes()
    memory.append("plan.md", "y", by=KAI)
    memory.append("鍵.md", "y", by=KAI)
    (vault / ".git/index").write_bytes(index)
    ledger = accounts.commit_ledger.load(memory.vault)
    accounts.commit_ledger.save(memory.vault, ledger._replace(begun=(head, ("plan.md", "鍵.md"))))

    memory.append("plan.md", "z", by=KAI)

    assert (memory.committed and memory.committed.complete, is_clean(vault)) == (True, True)


def test_a_change_without_git_is_kept_and_told_of(tmp_path: Path, open_memory: OpenMemory) -> None:
    memory = open_memory(write_notes(tmp_path / "v", {"a.md": "# A\n"}), embedder="none")

    memory.append("a.md", "x", by=KAI)

    assert memory.committed and [found.code for found in memory.committed.findings] == ["git-none"]
    assert not commit_queue.load(memory.vault)
    with pytest.raises(MemtoolError, match="nothing can be undone"):
        memory.undo()


def test_a_note_that_could_not_be_written_leaves_the_others_as_they_were(memory: Memory, vault: Path) -> None:
    (vault / "ops/a.md").chmod(0o444)

    with pytest.raises(MemtoolError, match="read-only"):
        memory.move("plan.md", "b.md", by=KAI)

    assert ((vault / "plan.md").exists(), (vault / "b.md").exists(), is_clean(vault)) == (True, False, True)


def test_a_patience_that_is_over_leaves_the_change_to_the_next_commit(memory: Memory, vault: Path) -> None:
    account = accounts.Account(KAI, True, Patience(0.0, lambda seconds: None, lambda: 0.0))
    name = queue(memory, "plan.md", "x", KAI)
    with accounts.commit_ledger.alone(memory.vault, 1.0):
        edits = [Edit("plan.md", None, b"")]
        report = accounts.close(memory.vault, edits, name, account, alone=False)
    assert report and [found.code for found in report.findings] == ["lock"]

    memory.append("plan.md", "y", by=ANA)

    assert [line.partition("|")[2] for line in log(vault)[:2]] == ["agent/ana", "agent/kai"]


WRITER = """
import json, sys
from memtool.errors import MemtoolError
from memtool.identity import Signature
from memtool.memory.memory import Memory
told = {"accepted": [], "refused": []}
with Memory.open(sys.argv[1], embedder="none") as memory:
    for number in range(20):
        line, path = f"{sys.argv[2]}-{number:02d} 行", f"n{(number * 7 + int(sys.argv[2])) % 5}.md"
        by = Signature(f"agent/w{sys.argv[2]}", "s")
        try:
            if number % 5 == 4:
                shown = memory.show(path)
                text = shown[0][1] + chr(10) + line
                memory.edit(f"{path}:1", text, if_digest=memory.digest(shown), by=by)
            else:
                memory.append(path, line, by=by)
            assert memory.committed.complete, memory.committed
            told["accepted"].append(line)
        except MemtoolError as error:
            told["refused"].append([line, error.code])
print(json.dumps(told))
"""


@pytest.mark.timeout(120)
def test_many_processes_lose_nothing_and_every_change_has_its_commit(tmp_path: Path) -> None:
    folder = write_notes(tmp_path / "v", {f"n{number}.md": f"# N{number}\n\nEnd.\n" for number in range(5)})
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "Start")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", WRITER, str(folder)]
    running = [
        subprocess.Popen([*command, str(number)], env=environment, stdout=subprocess.PIPE, text=True)
        for number in range(6)
    ]

    told = [json.loads(process.communicate()[0]) for process in running]

    accepted = [line for one in told for line in one["accepted"]]
    refused = [line for one in told for line, _ in one["refused"]]
    there = Counter(line for file in folder.glob("*.md") for line in file.read_text().split("\n"))
    assert len(accepted) + len(refused) == 120
    assert {line: there[line] for line in accepted} == dict.fromkeys(accepted, 1)
    assert not any(there[line] for line in refused)
    assert (len(log(folder)) - 1, is_clean(folder)) == (len(accepted), True)
    trees = git(folder, "log", "--format=%T").split("\n")
    assert all(one != two for one, two in pairwise(trees))


def test_the_hook_that_asks_the_policy_has_no_say_in_what_the_door_has_asked(vault: Path) -> None:
    git_hooks.install(Git(vault), sys.executable)
    assert plain_git.is_plain(Git(vault))

    hook = vault / ".git/hooks/pre-commit"
    hook.write_text(hook.read_text() + "make lint\n")
    assert not plain_git.is_plain(Git(vault))


def test_a_commit_of_everything_leaves_waiting_changes_their_names(memory: Memory, vault: Path) -> None:
    queue(memory, "plan.md", "one", KAI)
    queue(memory, "plan.md", "two", ANA)
    (vault / "鍵.md").write_text("# 鍵\n\n手で。\n")

    report = memory.commit()

    assert [line.partition("|")[2] for line in log(vault)] == ["human", "agent/ana", "agent/kai", ""]
    assert ([commit.paths for commit in report.commits], is_clean(vault)) == ([("鍵.md",)], True)
    queue(memory, "plan.md", "three", KAI)
    commits.keep(memory.vault, commits.Ask(), patience=Patience(1.0, lambda seconds: None, lambda: 0.0))
    assert log(vault)[0].partition("|")[2] == "agent/kai"


def test_an_edit_that_breaks_the_front_matter_says_so(memory: Memory, vault: Path) -> None:
    memory.set("plan.md", "type", "note")

    memory.edit("plan.md:1", "")
    assert "front-matter-gone" in [found.code for found in memory.noticed]
    memory.append("plan.md", "x")
    assert memory.noticed == ()


def test_a_text_that_may_not_be_kept_is_not_kept_for_its_writer_either(memory: Memory) -> None:
    text = "the password is hunter2-x9\n"
    with pytest.raises(SecretError) as told:
        memory.edit("plan.md:3", text, if_digest="0" * 64, by=KAI)

    assert "hunter2" not in str(told.value)
    assert not (memory.vault.state / "rejected").exists()
    with pytest.raises(SecretError):
        memory.append("plan.md", text, by=KAI)


def test_who_may_not_read_a_note_learns_nothing_by_writing_to_it(vault: Path) -> None:
    write_notes(vault, {".memtool/policy.toml": '[scope."ops"]\nreaders = ["agent/ana"]\n'})
    with Memory.open(vault, embedder="none", writer="agent/kai") as memory:
        for change in (
            lambda: memory.append("ops/a.md", "x", heading="No such heading"),
            lambda: memory.edit("ops/a.md:1", "x"),
            lambda: memory.edit("ops/a.md", "x", if_digest="0" * 64),
            lambda: memory.set("ops/a.md", "a", "b", dry_run=True),
            lambda: memory.move("plan.md", "ideas.md", dry_run=True),
        ):
            with pytest.raises(PolicyError, match="agent/kai may not"):
                change()
        assert not (memory.vault.state / "rejected").exists()

    assert {path: (vault / path).read_bytes().decode() for path in NOTES} == NOTES
