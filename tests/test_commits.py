from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Ran, write_notes

from memtool.commits import commit_ledger, commits
from memtool.commits.commit_message import Edit, Signature, message, renames, signature, subject
from memtool.commits.commit_report import CommitReport
from memtool.commits.commits import Ask
from memtool.door import accounts, amending, door
from memtool.errors import UsageError
from memtool.gathering import due
from memtool.memory.memory import Memory
from memtool.staging import Patience
from memtool.vault import Vault, blob

AGENT = Signature("agent/scribe", "s1", "asked to")


def git(folder: Path, *arguments: str, check: bool = True) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, check=check, capture_output=True, text=True)
    return done.stdout.rstrip("\n")


def start(folder: Path, notes: dict[str, str | bytes] | None = None) -> Path:
    write_notes(folder, notes if notes is not None else {"a.md": "# A\n\nOne.\n", "b.md": "# B\n\nTwo.\n"})
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", "one")
    return folder


def hook(folder: Path, body: str, name: str = "pre-commit") -> None:
    file = folder / ".git" / "hooks" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)


def patience(seconds: float = 0.0, sleep: Callable[[float], None] = lambda seconds: None) -> Patience:
    return Patience(seconds, sleep, time.time)


EVERY = Ask()


def keep(folder: Path, ask: Ask = EVERY, wait: Patience | None = None) -> CommitReport:
    return commits.keep(Vault.open(folder), ask, patience=wait or patience())


def codes(report: CommitReport) -> list[tuple[str, str]]:
    return [(finding.code, finding.path) for finding in report.findings]


def shown(folder: Path, revision: str = "HEAD") -> list[str]:
    """Name what a commit touched."""
    return sorted(
        filter(
            None, git(folder, "show", "-z", "--name-only", "--no-renames", "--format=", revision).split("\0")
        )
    )


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return start(tmp_path / "v")


# -- when ----------------------------------------------------------------------------------


def test_edits_wait_until_all_of_them_are_quiet() -> None:
    changes = {"a.md": 100.0, "b.md": 130.0}

    assert due(changes, 189.0, 60.0) == []
    assert due(changes, 190.0, 60.0) == ["a.md", "b.md"]
    assert due({}, 190.0, 60.0) == []


def test_someone_who_never_stops_writing_does_not_keep_the_rest_waiting() -> None:
    assert due({"a.md": 0.0, "busy.md": 599.0}, 599.0, 60.0) == []
    assert due({"a.md": 0.0, "busy.md": 600.0}, 600.0, 60.0) == ["a.md"]


def test_a_note_in_the_middle_of_a_sentence_waits(vault: Path) -> None:
    write_notes(vault, {"a.md": "# Changed\n"})
    (vault / "b.md").unlink()

    now = time.time()
    report = keep(vault, Ask(quiet_time_s=60.0))
    assert (report.commits, report.waiting, 50 < report.again_s <= 60) == ((), ("a.md", "b.md"), True)
    later = Patience(0.0, lambda seconds: None, lambda: now + 61.0)
    assert [commit.paths for commit in keep(vault, Ask(quiet_time_s=60.0), later).commits] == [
        ("a.md", "b.md")
    ]


def test_the_catalog_is_committed_with_the_notes_it_follows(vault: Path) -> None:
    write_notes(vault, {"a.md": "# Changed\n", "MEMORY.md": "# Memory\n"})
    past = time.time() + 61.0
    later = Patience(0.0, lambda seconds: None, lambda: past)
    os.utime(vault / "MEMORY.md", (past, past))

    report = keep(vault, Ask(quiet_time_s=60.0), later)

    assert [(commit.subject, commit.paths) for commit in report.commits] == [
        ("Change a.md: Changed", ("MEMORY.md", "a.md"))
    ]


def test_a_time_from_the_future_keeps_no_note_waiting(vault: Path) -> None:
    write_notes(vault, {"a.md": "# Changed\n"})
    os.utime(vault / "a.md", (time.time() + 9_999,) * 2)

    assert len(keep(vault, Ask(quiet_time_s=60.0)).commits) == 1


# -- what ----------------------------------------------------------------------------------


def test_a_persons_edits_become_one_commit_that_says_what_changed(vault: Path) -> None:
    write_notes(
        vault, {"a.md": "# A\n\nOne.\n\n## 鍵\n\nTwo.\n", "ops/new.md": "---\ntitle: Staging\n---\n\nText.\n"}
    )
    (vault / "b.md").unlink()

    report = keep(vault)

    assert report.complete
    assert [commit.paths for commit in report.commits] == [("a.md", "b.md", "ops/new.md")]
    assert git(vault, "log", "-1", "--format=%B").split("\n") == [
        "Add ops/new.md, change a.md, delete b.md",
        "",
        "- Changed a.md: 鍵 (+4 -0 lines)",
        '- Deleted b.md: "B"',
        '- Added ops/new.md: "Staging"',
        "",
        "Memtool-Writer: human",
    ]
    assert git(vault, "status", "--porcelain") == ""


def test_nothing_changed_is_no_commit(vault: Path) -> None:
    assert keep(vault) == CommitReport()
    assert git(vault, "rev-list", "--count", "HEAD") == "1"


def test_only_notes_are_committed(vault: Path) -> None:
    write_notes(
        vault, {"photo.jpg": b"x", ".obsidian/workspace.md": "x", "ignored/x.md": "x", "c.md": "# C\n"}
    )

    report = keep(vault, Ask(ignore=("ignored/",)))

    assert [commit.paths for commit in report.commits] == [("c.md",)]


def test_one_section_of_one_note_is_named_in_the_subject() -> None:
    before = b"---\ntags: [a]\n---\n\n# Top\n\n## Keys\n\nOne.\n\n## Rest\n\nTwo.\n"

    assert subject([Edit("a.md", before, before.replace(b"One", b"Three"))]) == "Change a.md: Keys"
    assert (
        subject([Edit("a.md", before, before.replace(b"[a]", b"[b]"))]) == "Change a.md: front matter (tags)"
    )
    assert subject([Edit("a.md", before, before.replace(b"\n## Rest\n\nTwo.\n", b""))]) == "Change a.md: Rest"


def test_a_note_renamed_and_edited_is_told_as_such() -> None:
    text = b"".join(b"Line %d.\n" % number for number in range(20))
    edits = [
        Edit("new.md", None, text + b"More.\n"),
        Edit("old.md", text, None),
        Edit("c.md", None, b"Else.\n"),
    ]

    assert [(edit.kind, edit.old_path, edit.path) for edit in renames(edits)] == [
        ("renamed", "old.md", "new.md"),
        ("added", "", "c.md"),
    ]
    assert subject(renames(edits)) == "Add c.md, rename old.md to new.md"


def test_what_a_note_or_a_caller_says_never_becomes_a_trailer() -> None:
    evil = "x\n\nMemtool-Writer: human\u2028y"
    text = message([Edit(f"{evil}.md", None, f"# {evil}\n".encode())], signature("agent/a", evil, evil))

    assert [line for line in text.split("\n") if line.startswith("Memtool-Writer")] == [
        "Memtool-Writer: agent/a"
    ]
    assert text.rstrip("\n").split("\n\n")[-1].count("\n") == 2


@pytest.mark.parametrize(
    "writer", ["me", "agent/", "agent/a b", "agent/a\nb", "Human", "agent//x", "agent/\u202e"]
)
def test_a_writer_is_human_or_an_agent_with_a_name(writer: str) -> None:
    with pytest.raises(UsageError, match="is no writer"):
        signature(writer)


def test_a_commit_of_very_many_notes_names_no_end_of_them(tmp_path: Path) -> None:
    vault = start(tmp_path / "v", {"z.md": "# Z\n"})
    write_notes(vault, {f"n/{number}.md": f"# N{number}\n" for number in range(300)})

    report = keep(vault)

    assert report.commits[0].subject == "Add 300 notes"
    assert "- and 100 more" in git(vault, "log", "-1", "--format=%B")


# -- what a person has staged --------------------------------------------------------------


def test_what_a_person_has_staged_is_left_as_it_is(vault: Path) -> None:
    write_notes(vault, {"a.md": "# A\n\nStaged.\n", "draft.md": "# Draft\n", "image.png": b"1"})
    git(vault, "add", "a.md", "draft.md", "image.png")
    write_notes(
        vault, {"a.md": "# A\n\nStaged, and then more.\n", "c.md": "# C\n", "b.md": "# B\n\nThree.\n"}
    )
    staged = git(vault, "diff", "--cached")

    report = keep(vault)

    assert [commit.paths for commit in report.commits] == [("b.md", "c.md")]
    assert codes(report) == [("git-staged", "a.md"), ("git-staged", "draft.md")]
    assert git(vault, "diff", "--cached") == staged
    assert shown(vault) == ["b.md", "c.md"]


def test_a_note_taken_out_of_the_index_alone_is_left_out(vault: Path) -> None:
    git(vault, "rm", "-q", "--cached", "a.md")

    report = keep(vault)

    assert (report.commits, codes(report)) == ((), [("git-staged", "a.md")])
    assert git(vault, "status", "--porcelain") == "D  a.md\n?? a.md"


def test_a_refused_new_note_is_as_unknown_to_git_as_before(vault: Path) -> None:
    hook(vault, "exit 1")
    write_notes(vault, {"new.md": "# New\n"})

    keep(vault)

    assert git(vault, "status", "--porcelain") == "?? new.md"


# -- names ---------------------------------------------------------------------------------

ODD = ["--all.md", "-rf.md", "--upload-pack=x.md", ":(top)x.md", "*.md", "[a].md", "#x.md", "!x.md"]
ODD += [
    "日本語 メモ.md",
    "か\u3099.md",
    'say "hi".md',
    "tab\there.md",
    "a\nb.md",
    "back\\slash.md",
    " lead.md",
    "🍣.md",
]


@pytest.mark.parametrize("name", ODD)
def test_every_name_is_committed_as_itself(tmp_path: Path, name: str) -> None:
    vault = start(tmp_path / "v", {"unrelated.md": "# U\n"})
    write_notes(vault, {"unrelated.md": "# Changed\n", name: "# Odd\n"})

    report = keep(vault, Ask(paths=[name]))

    assert (report.findings, [commit.paths for commit in report.commits]) == ((), [(name,)])
    assert shown(vault) == [name]
    assert git(vault, "status", "--porcelain") == " M unrelated.md"

    write_notes(vault, {name: "# Odd\n\nAgain.\n"})
    assert [commit.paths for commit in keep(vault, Ask(paths=[name])).commits] == [(name,)]
    (vault / name).unlink()
    assert [commit.paths for commit in keep(vault, Ask(paths=[name])).commits] == [(name,)]


def test_a_change_that_no_stat_tells_of_is_committed(vault: Path) -> None:
    git(vault, "config", "core.trustctime", "false")
    git(vault, "config", "core.checkStat", "minimal")
    old = time.time() - 1000
    for name in ("a.md", 'a "b".md'):
        write_notes(vault, {name: "# A\n\nOne.\n"})
        os.utime(vault / name, (old, old))
    git(vault, "add", "-A")
    git(vault, "commit", "-q", "-m", "two")
    for name in ("a.md", 'a "b".md'):
        write_notes(vault, {name: "# A\n\nTwo.\n"})
        os.utime(vault / name, (old, old))
    assert git(vault, "status", "--porcelain") == ""
    known = {file.name: blob(file.read_bytes()) for file in vault.glob("*.md")}

    report = keep(vault, Ask(known=known))

    assert [commit.paths for commit in report.commits] == [('a "b".md', "a.md")]
    assert git(vault, "show", "HEAD:a.md") == "# A\n\nTwo."


def test_a_note_that_git_is_told_to_take_for_unchanged_is_left_so(vault: Path) -> None:
    git(vault, "update-index", "--assume-unchanged", "a.md")
    write_notes(vault, {"a.md": "# Changed\n"})
    known = {"a.md": blob((vault / "a.md").read_bytes())}

    assert keep(vault, Ask(known=known)) == CommitReport()
    assert git(vault, "ls-files", "-v", "a.md") == "h a.md"


def test_messages_are_utf_8_whatever_git_is_set_to(vault: Path) -> None:
    git(vault, "config", "i18n.commitEncoding", "Shift_JIS")
    write_notes(vault, {"鍵.md": "# 鍵\n"})

    keep(vault)

    assert b"Add \xe9\x8d\xb5.md" in subprocess.check_output(["git", "cat-file", "commit", "HEAD"], cwd=vault)


def test_line_ends_that_git_converts_are_no_change(tmp_path: Path) -> None:
    vault = start(
        tmp_path / "v", {".gitattributes": "*.md text eol=crlf\n", "sub/a.md": "# A\r\n\r\nOne.\r\n"}
    )
    known = {"sub/a.md": blob((vault / "sub/a.md").read_bytes())}

    assert keep(vault, Ask(known=known)) == CommitReport()
    write_notes(vault, {"sub/a.md": "# A\r\n\r\nTwo.\r\n"})
    assert [commit.paths for commit in keep(vault, Ask(known=known)).commits] == [("sub/a.md",)]
    assert subprocess.check_output(["git", "show", "HEAD:sub/a.md"], cwd=vault) == b"# A\n\nTwo.\n"
    assert (vault / "sub/a.md").read_bytes() == b"# A\r\n\r\nTwo.\r\n"


# -- where ---------------------------------------------------------------------------------


def test_a_vault_in_a_subfolder_commits_nothing_outside(tmp_path: Path) -> None:
    repo = start(tmp_path / "r", {"a.md": "# Out\n", "my notes/a.md": "# In\n"})
    write_notes(
        repo, {"a.md": "# Out, changed\n", "my notes/a.md": "# In, changed\n", "my notes/新.md": "# New\n"}
    )

    report = keep(repo / "my notes", Ask(known={"a.md": "0" * 40}))

    assert [commit.paths for commit in report.commits] == [("a.md", "新.md")]
    assert shown(repo) == ["my notes/a.md", "my notes/新.md"]
    assert git(repo, "status", "--porcelain") == " M a.md"


def test_a_linked_work_tree_commits_on_its_own_branch(vault: Path, tmp_path: Path) -> None:
    git(vault, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    write_notes(tmp_path / "side", {"c.md": "# C\n"})

    assert keep(tmp_path / "side").complete
    assert (git(vault, "log", "--format=%s", "side"), git(vault, "log", "--format=%s", "main")) == (
        "Add c.md\none",
        "one",
    )


def test_a_vault_that_is_a_submodule_commits_there(tmp_path: Path, vault: Path) -> None:
    outer = start(tmp_path / "outer", {"x.md": "# X\n"})
    git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(vault), "notes")
    git(outer, "commit", "-q", "-m", "sub")
    write_notes(outer, {"notes/a.md": "# Changed\n", "x.md": "# Changed\n"})

    assert [commit.paths for commit in keep(outer / "notes").commits] == [("a.md",)]
    assert [commit.paths for commit in keep(outer).commits] == [("x.md",)]
    assert shown(outer) == ["x.md"]
    write_notes(outer, {"notes/a.md": "# Again\n"})
    assert codes(keep(outer, Ask(paths=["notes/a.md"]))) == [("git-elsewhere", "notes/a.md")]


def test_the_first_commit_of_a_repository_is_made(tmp_path: Path) -> None:
    git(write_notes(tmp_path, {"a.md": "# A\n"}), "init", "-q", "-b", "main")

    assert keep(tmp_path).complete
    assert git(tmp_path, "log", "--format=%s") == "Add a.md"


def test_a_detached_head_is_committed_to_with_a_warning(vault: Path) -> None:
    git(vault, "switch", "-q", "--detach")
    write_notes(vault, {"a.md": "# Changed\n"})

    report = keep(vault)

    assert (len(report.commits), codes(report), report.complete) == (1, [("git-detached", ".")], True)
    assert "git switch -c" in report.findings[0].fix


def test_without_a_repository_nothing_is_committed_and_it_is_said(tmp_path: Path) -> None:
    assert codes(keep(write_notes(tmp_path / "v", {"a.md": "# A\n"}))) == [("git-none", ".")]


def test_another_owners_repository_is_named_with_the_line_to_run(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")

    report = keep(vault)

    assert codes(report) == [("git-ownership", ".")]
    assert "safe.directory" in report.findings[0].fix


def test_without_git_it_is_said(vault: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))

    assert codes(keep(vault)) == [("git-missing", ".")]


def test_ignored_notes_are_kept_and_said_to_be_ignored(vault: Path) -> None:
    write_notes(vault, {".gitignore": "private/\n", "private/x.md": "# X\n"})

    assert codes(keep(vault, Ask(paths=["private/x.md"]))) == [("git-ignored", "private/x.md")]
    assert keep(vault) == CommitReport()


def test_a_vault_that_its_repository_ignores_is_told_of(tmp_path: Path) -> None:
    repo = start(tmp_path / "r", {".gitignore": "notes/\n", "notes/a.md": "# A\n"})

    assert codes(keep(repo / "notes")) == [("git-ignored", ".")]


@pytest.mark.parametrize("path", ["no-such.md", "../a.md", "a.txt", "/etc/x.md"])
def test_a_path_that_names_no_note_is_told_of(vault: Path, run: Callable[..., Ran], path: str) -> None:
    write_notes(vault, {"a.txt": "x"})

    assert codes(keep(vault, Ask(paths=[path]))) == [("path", path)]
    assert run("commit", "--vault", str(vault), path).code != 0


# -- git is busy ---------------------------------------------------------------------------


def conflict(vault: Path, *command: str) -> None:
    git(vault, "switch", "-q", "-c", "side")
    write_notes(vault, {"a.md": "# A\n\nSide.\n"})
    git(vault, "commit", "-qam", "side")
    git(vault, "switch", "-q", "main")
    write_notes(vault, {"a.md": "# A\n\nMain.\n"})
    git(vault, "commit", "-qam", "main")
    git(vault, *command, check=False)


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["merge", "side"], "git-merge"),
        (["rebase", "side"], "git-rebase"),
        (["rebase", "--apply", "side"], "git-rebase"),
        (["cherry-pick", "side"], "git-cherry-pick"),
        (["revert", "--no-edit", "HEAD~1"], "git-revert"),
        (["bisect", "start"], "git-bisect"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_while_git_is_in_the_middle_of_something_nothing_is_committed(
    vault: Path, command: list[str], code: str
) -> None:
    conflict(vault, *(["revert", "--no-edit", "side"] if code == "git-revert" else command))
    write_notes(vault, {"new.md": "# New\n"})
    before = git(vault, "rev-parse", "HEAD"), git(vault, "status", "--porcelain")

    report = keep(vault)

    assert (codes(report), report.commits) == ([(code, ".")], ())
    assert "`git " in report.findings[0].fix
    assert (git(vault, "rev-parse", "HEAD"), git(vault, "status", "--porcelain")) == before


def test_a_stash_that_did_not_fit_stops_commits(vault: Path) -> None:
    write_notes(vault, {"a.md": "# A\n\nMine.\n"})
    git(vault, "stash", "-q")
    write_notes(vault, {"a.md": "# A\n\nTheirs.\n"})
    git(vault, "commit", "-qam", "two")
    git(vault, "stash", "pop", "-q", check=False)

    assert codes(keep(vault)) == [("git-unmerged", "a.md")]


def test_a_note_with_conflict_marks_waits_and_the_others_do_not(vault: Path) -> None:
    marks = "# A\n\n<<<<<<< HEAD\nOne.\n=======\nTwo.\n>>>>>>> side\n"
    write_notes(vault, {"a.md": marks, "b.sync-conflict-20260101-101010-ABC.md": "# B\n", "c.md": "# C\n"})

    report = keep(vault)

    assert [commit.paths for commit in report.commits] == [("c.md",)]
    assert {code for code, _ in codes(report)} == {"commit-conflict"}
    assert len(report.left) == 2


def test_a_live_lock_is_waited_for(vault: Path) -> None:
    lock = vault / ".git" / "index.lock"
    lock.touch()
    write_notes(vault, {"a.md": "# Changed\n"})
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 4:
            lock.unlink()

    report = keep(vault, wait=patience(10.0, sleep))

    assert (len(report.commits), report.findings) == (1, ())
    assert slept == [0.05, 0.1, 0.2, 0.4]


def test_a_lock_that_stays_is_named_with_its_age_and_never_removed(vault: Path) -> None:
    lock = vault / ".git" / "index.lock"
    lock.touch()
    write_notes(vault, {"a.md": "# Changed\n", "new.md": "# New\n"})
    slept: list[float] = []

    report = keep(vault, wait=patience(3.0, slept.append))

    assert (codes(report), report.left) == ([("git-lock", ".")], ("a.md", "new.md"))
    assert 3.0 <= sum(slept) < 5.0
    os.utime(lock, (time.time() - 90_000,) * 2)
    slept.clear()
    found = keep(vault, wait=patience(3.0, slept.append)).findings[0]
    assert (f"`{lock}` is 25 h old" in found.what, f"rm '{lock}'" in found.fix, slept) == (True, True, [])
    assert lock.exists()
    assert (vault / "new.md").exists()


def test_most_notes_gone_at_once_is_not_committed(tmp_path: Path) -> None:
    vault = start(tmp_path / "v", {f"{number}.md": f"# {number}\n" for number in range(20)})
    for number in range(15):
        (vault / f"{number}.md").unlink()

    report = keep(vault)

    assert (codes(report), report.commits, len(report.left)) == ([("loss-paused", ".")], (), 15)
    assert len(keep(vault, Ask(accept_loss=True)).commits[0].paths) == 15


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_folder_that_cannot_be_seen_is_not_deleted(tmp_path: Path) -> None:
    vault = start(tmp_path / "v", {"sub/a.md": "# A\n", "b.md": "# B\n"})
    (vault / "sub").chmod(0)
    try:
        report = keep(vault)
    finally:
        (vault / "sub").chmod(0o755)

    assert (report.commits, codes(report)) == ((), [("unreadable", "sub/a.md")])


# -- who -----------------------------------------------------------------------------------


def test_without_an_identity_the_note_is_kept_and_the_lines_to_run_are_given(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"):
        monkeypatch.delenv(name)
    write_notes(vault, {"a.md": "# Changed\n", "new.md": "# New\n"})

    report = keep(vault)

    assert codes(report) == [("git-identity", ".")]
    assert 'git config --global user.name "' in report.findings[0].fix
    assert 'git config --global user.email "' in report.findings[0].fix
    assert git(vault, "rev-list", "--count", "HEAD") == "1"
    assert git(vault, "status", "--porcelain") == " M a.md\n?? new.md"
    git(vault, "config", "user.name", "Mio")
    git(vault, "config", "user.email", "mio@example.invalid")
    assert keep(vault).complete


def test_a_commit_that_cannot_be_signed_is_not_made_without(vault: Path) -> None:
    git(vault, "config", "commit.gpgsign", "true")
    git(vault, "config", "gpg.program", "false")
    write_notes(vault, {"a.md": "# Changed\n"})

    report = keep(vault)

    assert (report.commits, codes(report)) == ((), [("git-signing", ".")])


def test_an_agents_change_is_committed_at_once_in_its_name(
    vault: Path, open_memory: Callable[..., Memory]
) -> None:
    memory = open_memory(vault, embedder="none")
    write_notes(vault, {"a.md": "# A\n\nBy hand.\n", "b.md": "# B\n\nBy hand.\n"})

    memory.add("The spare key hangs there.", folder="ops", by=AGENT)
    memory.set("a.md", "status", "done", by=AGENT)

    log = git(
        vault, "log", "--reverse", "--format=%s|%(trailers:key=Memtool-Writer,valueonly,separator=,)"
    ).split("\n")
    assert log[1:] == [
        "Add ops/the-spare-key-hangs-there.md|agent/scribe",
        "Change a.md: A|human",
        "Change a.md: front matter (status)|agent/scribe",
    ]
    assert git(vault, "status", "--porcelain") == " M b.md"
    assert git(vault, "log", "-1", "--format=%(trailers)").split("\n")[:3] == [
        "Memtool-Writer: agent/scribe",
        "Memtool-Session: s1",
        "Memtool-Reason: asked to",
    ]


def test_a_signature_that_is_none_changes_nothing(vault: Path, open_memory: Callable[..., Memory]) -> None:
    memory = open_memory(vault, embedder="none")
    for call in (
        lambda: memory.add("The key.", by=Signature("human\nMemtool-Writer: x")),
        lambda: memory.set("a.md", "x", "1", by=Signature("root")),
        lambda: memory.commit(by=Signature("root")),
    ):
        with pytest.raises(UsageError):
            call()

    assert git(vault, "status", "--porcelain") == ""


def test_a_change_without_a_name_is_gathered_like_any_edit(
    vault: Path, open_memory: Callable[..., Memory]
) -> None:
    memory = open_memory(vault, embedder="none")

    memory.set("a.md", "status", "done")

    assert (memory.committed, git(vault, "status", "--porcelain")) == (None, " M a.md")


@pytest.mark.parametrize("why", ["switched off", "locked"])
def test_who_wrote_is_remembered_until_it_can_be_committed(
    vault: Path, open_memory: Callable[..., Memory], why: str
) -> None:
    lock = vault / ".git" / "index.lock"
    if why == "locked":
        lock.touch()
        os.utime(lock, (0, 0))
    else:
        write_notes(vault, {"memtool.toml": "commit = false\n"})
    memory = open_memory(vault, embedder="none")
    memory.add("The spare key.", by=AGENT)
    memory.add("The other key.", by=AGENT)
    assert git(vault, "rev-list", "--count", "HEAD") == "1"
    write_notes(vault, {"the-other-key.md": "# By hand\n"})
    lock.unlink(missing_ok=True)

    report = memory.commit()

    assert {(commit.writer, commit.paths) for commit in report.commits} == {
        ("agent/scribe", ("the-spare-key.md",)),
        ("human", ("the-other-key.md",)),
    }
    assert not (memory.vault.state / commit_ledger.NAME).exists()


def test_a_broken_ledger_stops_no_commit(vault: Path) -> None:
    opened = Vault.open(vault)
    for text in ("", "[]", '{"signed": {"a.md": 1}, "held": {}}', "{"):
        (opened.prepare(opened.state) / commit_ledger.NAME).write_text(text)
        write_notes(vault, {"a.md": f"# {text!r}\n"})
        assert len(keep(vault).commits) == 1


# -- hooks ---------------------------------------------------------------------------------

REFUSE = """echo run >> "$HOME/runs"
if git diff --cached | grep -q FORBIDDEN; then echo "hook: FORBIDDEN found" >&2; exit 1; fi"""
REWRITE = """for f in $(git diff --cached --name-only -- "*.md"); do
    printf "\\nchecked\\n" >> "$f"; git add -- "$f"
done"""


def runs() -> int:
    file = Path(os.environ["HOME"]) / "runs"
    return file.read_text().count("run") if file.exists() else 0


def test_a_hook_that_refuses_is_heard_once_and_the_next_good_change_is_committed(vault: Path) -> None:
    hook(vault, REFUSE)
    write_notes(vault, {"bad.md": "# FORBIDDEN\n"})

    report = keep(vault)

    assert codes(report) == [("git-hook", "bad.md")]
    assert "hook: FORBIDDEN found" in report.findings[0].what
    for _ in range(3):
        assert keep(vault) == CommitReport(left=("bad.md",))
    assert runs() == 1
    write_notes(vault, {"good.md": "# Good\n"})
    assert [commit.paths for commit in keep(vault).commits] == [("good.md",)]
    write_notes(vault, {"bad.md": "# Mended\n"})
    assert [commit.paths for commit in keep(vault).commits] == [("bad.md",)]
    assert runs() == 3


def test_one_bad_note_stops_no_good_one_of_the_same_round(vault: Path) -> None:
    hook(vault, REFUSE)
    write_notes(vault, {"a.md": "# Good\n", "bad.md": "# FORBIDDEN\n", "c.md": "# Good\n"})

    report = keep(vault)

    assert [commit.paths for commit in report.commits] == [("a.md",), ("c.md",)]
    assert (codes(report), report.left) == ([("git-hook", "bad.md")], ("bad.md",))
    assert keep(vault, Ask(again=True)).left == ("bad.md",)
    assert runs() == 6


def test_a_hook_that_refuses_everything_is_not_asked_for_ever(vault: Path) -> None:
    hook(vault, 'echo run >> "$HOME/runs"; exit 1')
    write_notes(vault, {f"n/{number}.md": f"# {number}\n" for number in range(60)})

    report = keep(vault)

    assert (report.commits, len(report.left)) == ((), 60)
    assert runs() < 40
    before = runs()
    assert (keep(vault).findings, runs()) == ((), before)


def test_a_hook_that_rewrites_commits_what_is_on_disk(vault: Path) -> None:
    hook(vault, REWRITE)
    write_notes(vault, {"a.md": "# Changed\n", "new.md": "# New\n"})

    report = keep(vault)

    assert report.complete
    assert (
        git(vault, "show", "HEAD:a.md") == "# Changed\n\nchecked" == (vault / "a.md").read_text().rstrip("\n")
    )
    assert git(vault, "status", "--porcelain") == ""


def test_a_hook_that_rewrites_without_adding_causes_no_storm(vault: Path) -> None:
    hook(vault, REFUSE + '\nprintf "checked\\n" >> a.md')
    write_notes(vault, {"a.md": "# Changed\n"})

    report = keep(vault)

    assert (len(report.commits), codes(report)) == (1, [("git-hook-rewrote", "a.md")])
    for _ in range(3):
        assert keep(vault).commits == ()
    assert runs() == 1


@pytest.mark.parametrize(
    "said", ["error: no signing off here", "fatal: index.lock", "Please tell me who you are"]
)
def test_the_words_of_a_hook_are_not_taken_for_those_of_git(tmp_path: Path, said: str) -> None:
    repo = start(tmp_path / "r", {"notes/a.md": "# A\n"})
    hook(repo, f'echo "{said}" >&2; exit 1')
    (repo / "hooks").mkdir()
    (repo / ".git/hooks/pre-commit").rename(repo / "hooks/pre-commit")
    git(repo, "config", "core.hooksPath", "hooks")
    write_notes(repo, {"notes/a.md": "# Changed\n"})

    report = keep(repo / "notes")

    assert codes(report) == [("git-hook", "a.md")]
    assert said in report.findings[0].what


def test_hooks_see_patterns_and_the_language_they_know(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANG", "C.UTF-8")
    hook(vault, 'env > "$HOME/environment"; git diff --cached --name-only -- "*.md" > "$HOME/names"')
    write_notes(vault, {"a.md": "# Changed\n"})

    keep(vault)

    environment = (Path(os.environ["HOME"]) / "environment").read_text()
    assert (Path(os.environ["HOME"]) / "names").read_text() == "a.md\n"
    assert "GIT_LITERAL_PATHSPECS" not in environment
    assert "LC_ALL=C\n" not in environment


def test_a_template_or_an_editor_of_the_user_changes_nothing(vault: Path) -> None:
    (vault / "template").write_text("TEMPLATE\n")
    git(vault, "config", "commit.template", str(vault / "template"))
    git(vault, "config", "core.editor", "false")
    git(vault, "config", "commit.cleanup", "strip")
    write_notes(vault, {"#x.md": "# X\n"})

    assert keep(vault).complete
    assert git(vault, "log", "-1", "--format=%s") == "Add #x.md"


# -- many ----------------------------------------------------------------------------------


def test_many_writers_at_once_lose_no_note_and_make_no_empty_commit(vault: Path) -> None:
    code = (
        "import sys; from memtool import Memory, Signature\n"
        "with Memory.open(sys.argv[1], embedder='none') as memory:\n"
        "    for number in range(4):\n"
        "        memory.add(f'Note {sys.argv[2]} {number}.', by=Signature(f'agent/w{sys.argv[2]}'))\n"
        "        assert memory.committed.complete, memory.committed"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(vault), str(n)], env=environment, stderr=subprocess.PIPE
        )
        for n in range(3)
    ]
    said = [worker.communicate()[1].decode() for worker in workers]

    assert said == ["", "", ""]
    changes = git(
        vault, "log", "--format=%x00%(trailers:key=Memtool-Writer,valueonly)", "--name-only", "-12"
    ).split("\0")
    assert sorted(len(list(filter(None, change.split("\n")))) for change in changes[1:]) == [2] * 12
    assert git(vault, "status", "--porcelain") == ""
    assert git(vault, "fsck", "--no-dangling") == ""


def test_many_commits_leave_no_git_and_no_open_file_behind(vault: Path) -> None:
    def count() -> tuple[int, int]:
        children = Path(f"/proc/self/task/{os.getpid()}/children")
        return len(children.read_text().split()), len(os.listdir("/proc/self/fd"))

    if not Path("/proc/self/fd").exists():
        pytest.skip("needs /proc")
    gc.collect()  # what other tests left is closed now, not in the middle
    counts = set()
    for number in range(12):
        write_notes(vault, {"a.md": f"# {number}\n"})
        assert keep(vault, Ask(paths=["a.md"])).complete
        counts.add(count())

    assert len(counts) == 1


def test_a_git_that_was_killed_late_leaves_nothing_staged(vault: Path) -> None:
    index = vault / ".git" / "index"
    before, old = index.read_bytes(), git(vault, "rev-parse", "HEAD")
    write_notes(vault, {"a.md": "# Changed\n", "new.md": "# New\n", "b.md": "# Changed\n"})
    assert keep(vault).complete
    index.write_bytes(before)  # as when git dies between the commit and its index
    git(vault, "add", "b.md")
    write_notes(vault, {"b.md": "# Staged since\n"})
    git(vault, "add", "b.md")
    opened = Vault.open(vault)
    begun = (old, ("a.md", "b.md", "new.md"))
    commit_ledger.save(opened, commit_ledger.Ledger({}, {}, begun))

    report = keep(vault)

    assert (report.commits, codes(report)) == ((), [("git-staged", "b.md")])
    assert git(vault, "status", "--porcelain") == "M  b.md"
    assert commit_ledger.load(opened) == commit_ledger.Ledger({}, {})


# -- the door ------------------------------------------------------------------------------


def test_the_command_tells_what_was_committed_and_what_was_not(vault: Path, run: Callable[..., Ran]) -> None:
    write_notes(vault, {"a.md": "# Changed\n", "b.md": "# Staged\n"})
    git(vault, "add", "b.md")

    done = run("commit", "--vault", str(vault), "--reason", "tidy up")

    assert done.code == 1
    assert done.out.endswith("  Change a.md: Changed\n")
    assert "b.md: you have staged changes of it" in done.err
    assert git(vault, "log", "-1", "--format=%(trailers:key=Memtool-Reason,valueonly)").strip() == "tidy up"
    git(vault, "commit", "-qm", "mine")
    done = run("commit", "--vault", str(vault))
    assert (done.code, done.out, done.err) == (0, "", "nothing to commit\n")


def test_the_command_speaks_json(vault: Path, run: Callable[..., Ran]) -> None:
    write_notes(vault, {"a.md": "# Changed\n", "b.md": "# Changed\n"})

    told = json.loads(run("commit", "--vault", str(vault), "--json", "a.md").out)

    assert [commit["paths"] for commit in told["commits"]] == [["a.md"]]
    assert (told["left"], told["findings"]) == ([], [])
    added = json.loads(run("add", "--vault", str(vault), "--json", "--writer", "agent/x", "The key.").out)
    assert added["commit"]["commits"][0]["subject"] == "Add the-key.md"


def test_the_commands_of_an_agent_say_when_history_is_off(
    vault: Path, run: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")

    done = run("add", "--vault", str(vault), "--writer", "agent/x", "The key.")

    assert (done.code, "git config --global --add safe.directory" in done.err) == (0, True)
    assert (vault / "the-key.md").exists()


def test_a_wrong_writer_writes_nothing(vault: Path, run: Callable[..., Ran]) -> None:
    done = run("add", "--vault", str(vault), "--writer", "me", "The key.")

    assert (done.code, (vault / "the-key.md").exists()) == (2, False)
    assert "agent/" in done.err


def test_an_account_without_a_name_commits_nothing(vault: Path) -> None:
    opened, account = Vault.open(vault), accounts.Account(None, True, patience())
    wanted = amending.set_key("a.md", "x", "1", "")

    done = door.carry_out(opened, lambda by: [door.amend(opened, wanted, by)], account)

    assert (b"x:" in opened.read("a.md"), done.report) == (True, None)


# -- what would be committed -----------------------------------------------------------------


def state_of(folder: Path) -> tuple[str, str, str]:
    """Everything that committing changes: the branch, the index, what waits."""
    kept = folder / ".memtool" / "state" / commit_ledger.NAME
    staged = git(folder, "ls-files", "--stage")
    return git(folder, "rev-parse", "HEAD"), staged, kept.read_text() if kept.exists() else ""


def test_a_rehearsal_tells_the_commit_that_follows_and_makes_none(
    vault: Path, run: Callable[..., Ran]
) -> None:
    (vault / "a.md").write_text("# A\n\nOne and 一.\n", "utf-8")
    (vault / "鍵.md").write_text("# 鍵\n\n毎月交換する。\n", "utf-8")
    signed = ["--writer", "agent/kai", "--reason", "鍵が古い"]
    before = state_of(vault)

    told = run("commit", "--dry-run", *signed, "--vault", str(vault))
    after = state_of(vault)
    run("commit", *signed, "--vault", str(vault))

    message = git(vault, "log", "-1", "--format=%B").strip()
    assert told.code == 0 and after == before
    assert "would commit a.md, 鍵.md" in told.out
    assert [line.strip() for line in message.split("\n")] == [
        line.strip() for line in told.out.strip().split("\n")[2:]
    ]
    assert "Memtool-Writer: agent/kai" in told.out
    assert git(vault, "rev-list", "--count", "HEAD").strip() == "2"


def test_a_rehearsal_says_what_would_stay_behind_and_asks_no_hook(
    vault: Path, run: Callable[..., Ran]
) -> None:
    hook(vault, "touch asked; exit 1")
    (vault / "a.md").write_text("<<<<<<< ours\nOne\n=======\nTwo\n>>>>>>> theirs\n")
    (vault / "b.md").write_text("# B\n\nThree.\n")
    before = state_of(vault)

    told = run("commit", "--dry-run", "--json", "--vault", str(vault))

    value = json.loads(told.out)
    assert told.code == 1 and value["left"] == ["a.md"]
    assert [(one["paths"], one["revision"]) for one in value["commits"]] == [(["b.md"], "")]
    assert value["commits"][0]["message"].startswith(value["commits"][0]["subject"])
    assert not (vault / "asked").exists() and state_of(vault) == before


def test_a_rehearsal_with_nothing_to_commit_says_so(vault: Path, run: Callable[..., Ran]) -> None:
    told = run("commit", "--dry-run", "--vault", str(vault))

    assert (told.code, told.out) == (0, "") and "nothing to commit" in told.err
