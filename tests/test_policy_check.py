"""What a shell did past the door is found afterwards: staged, in a range of commits, by the hook itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from repositories import Repository

from memtool import git_hooks
from memtool.cli.main import main
from memtool.errors import UsageError
from memtool.git import Git
from memtool.policy import policy_check
from memtool.vault import Vault

TOKEN = "gh" + "p_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
RULES = '[scope."people"]\nowner = "human"\n[scope."log"]\nappend_only = true\n'
NOTES: dict[str, str | bytes] = {
    "people/sam.md": "# Sam\n\nSam likes tea.\n",
    "log/2026.md": "# Log\n\nFirst of all.\n",
    "ferry.md": "# Ferry\n\nIt leaves at nine.\n",
}


@pytest.fixture
def ruled(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "vault")
    repository.commit("2026-01-01", {**NOTES, ".memtool/policy.toml": RULES})
    repository.git("tag", "start")
    return repository


def told(
    repository: Repository, revisions: str = "start..HEAD", **given: object
) -> list[tuple[str, str, int]]:
    found = policy_check.span(Vault.open(repository.folder), revisions, **given)  # type: ignore[arg-type]
    return [finding[:3] for finding in found]


# -- a range of commits


def test_every_violation_of_a_range_is_told_with_its_line(ruled: Repository) -> None:
    ruled.commit("2026-01-02", {"people/sam.md": "# Sam\n\nSam likes mud.\n"}, agent="a")
    ruled.commit("2026-01-03", {"log/2026.md": "# Log\n\nFirst of all.\nSecond.\n"}, agent="a")
    ruled.commit("2026-01-04", {"log/2026.md": "# Log\n\nAnother first.\nSecond.\n"}, agent="a")
    ruled.commit("2026-01-05", {"people/sam.md": "# Sam\n\nSam likes rain.\n"})
    ruled.commit("2026-01-06", {"ferry.md": f"# Ferry\n\n\nThe token is {TOKEN}.\n"})

    assert told(ruled) == [
        ("policy", "people/sam.md", 3),
        ("policy", "log/2026.md", 3),
        ("secret", "ferry.md", 4),
    ]


def test_a_range_cannot_widen_the_rules_it_is_checked_by(ruled: Repository) -> None:
    ruled.commit("2026-01-02", {".memtool/policy.toml": ""}, agent="a")
    ruled.commit("2026-01-03", {"people/sam.md": "# Sam\n"}, agent="a")

    assert told(ruled) == [("policy", ".memtool/policy.toml", 1), ("policy", "people/sam.md", 1)]
    assert ("policy", "people/sam.md", 1) not in told(ruled, rules="")


def test_an_agent_is_known_by_its_trailers_its_name_or_the_addresses_given(ruled: Repository) -> None:
    change: dict[str, str | bytes] = {"people/sam.md": "# Sam\n"}
    ways = {
        "one": {"message": "Change\n\nMemtool-Writer: human\nMemtool-Writer: agent/b"},
        "two": {"message": "Change\n\nCo-authored-by: Claude <noreply@anthropic.com>"},
        "three": {"who": "some-bot[bot]"},
        "four": {"who": "Mio"},
        "five": {
            "message": "Change\n\nMemtool-Writer: human\nCo-authored-by: Claude <noreply@anthropic.com>"
        },
    }
    found = {}
    for name, given in ways.items():
        ruled.git("checkout", "-q", "-B", name, "start")
        ruled.commit("2026-01-02", change, **given)  # type: ignore[arg-type]
        found[name] = len(told(ruled))

    assert found == {"one": 1, "two": 1, "three": 1, "four": 0, "five": 1}
    assert len(told(ruled, emails=["*@example.invalid"])) == 1


def test_a_merge_is_asked_only_for_what_it_brings_itself(ruled: Repository) -> None:
    ruled.git("checkout", "-q", "-b", "side")
    ruled.commit("2026-01-02", {"people/sam.md": "# Sam\n\nSam likes rain.\n"})
    ruled.git("checkout", "-q", "main")
    ruled.commit("2026-01-03", {"ferry.md": "# Ferry\n"})
    ruled.git("merge", "-q", "--no-ff", "side", "-m", "Merge\n\nMemtool-Writer: agent/a", day="2026-01-04")

    assert told(ruled) == []


def test_a_secret_that_a_person_let_pass_is_no_violation(ruled: Repository) -> None:
    text = f"# Ferry\n\nThe token is {TOKEN}.\n"
    ruled.commit("2026-01-02", {"ferry.md": text}, message="Add\n\nMemtool-Allow-Secret: ferry.md:3")

    assert told(ruled) == []


def test_a_note_with_japanese_names_is_named_as_it_is(ruled: Repository) -> None:
    ruled.commit("2026-01-02", {"手順/鍵 の 場所.md": "# 鍵\n\nパスワードは hunter2 です。\n"})

    assert told(ruled) == [("secret", "手順/鍵 の 場所.md", 3)]


def test_the_command_exits_1_and_names_each_place(
    ruled: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    ruled.commit("2026-01-02", {"people/sam.md": "# Sam\n"}, agent="a")
    code = main(["policy", "check", "start..HEAD", "--vault", str(ruled.folder)])

    assert code == 1
    assert capsys.readouterr().out.startswith("people/sam.md:1: ")


@pytest.mark.parametrize("revisions", ["HEAD", "..", "nothing..HEAD", "--all..HEAD", "a...b"])
def test_what_is_no_range_is_refused(ruled: Repository, revisions: str) -> None:
    with pytest.raises(UsageError):
        told(ruled, revisions)


# -- what is staged


def test_what_is_staged_is_checked_as_whoever_commits(ruled: Repository) -> None:
    ruled.write({"people/sam.md": "# Sam\n", ".memtool/policy.toml": ""})
    ruled.git("add", "-A")
    vault = Vault.open(ruled.folder)

    assert policy_check.staged(vault, {}) == []
    for environment in ({"MEMTOOL_WRITER": "agent/a"}, {"CLAUDECODE": "1"}):
        found = policy_check.staged(vault, environment)
        assert [finding.path for finding in found] == [".memtool/policy.toml", "people/sam.md"]


# -- the hook


@pytest.fixture
def hooked(ruled: Repository) -> Repository:
    git_hooks.install(Git(ruled.folder), sys.executable)
    return ruled


def commit(repository: Repository, **environment: str) -> subprocess.CompletedProcess[str]:
    repository.git("add", "-A")
    return subprocess.run(
        ["git", "commit", "-q", "-m", "Change"],
        cwd=repository.folder,
        env={**os.environ, **environment, "PYTHONPATH": str(Path(__file__).parent.parent)},
        capture_output=True,
        text=True,
    )


@pytest.mark.timeout(60)
def test_the_hook_stops_a_commit_by_shell_and_lets_the_others_pass(hooked: Repository) -> None:
    hooked.write({"people/sam.md": "# Sam\n"})
    stopped = commit(hooked, MEMTOOL_WRITER="agent/a")
    passed = commit(hooked)

    assert (stopped.returncode, passed.returncode) == (1, 0)
    assert "people/sam.md:1: agent/a may not change it" in stopped.stderr


def test_a_hook_that_was_there_is_kept_and_comes_back_byte_for_byte(ruled: Repository) -> None:
    file = ruled.folder / ".git" / "hooks" / "pre-commit"
    file.parent.mkdir(exist_ok=True)
    before = "#!/bin/bash\necho theirs\n"
    file.write_text(before)
    git = Git(ruled.folder)
    first = git_hooks.install(git, sys.executable)
    again = git_hooks.install(git, sys.executable)
    both = file.read_text()
    git_hooks.remove(git)

    assert (first.changed, again.changed) == (("hooks/pre-commit",), ())
    assert both.startswith("#!/bin/bash\n") and "echo theirs" in both and "policy check" in both
    assert os.access(file, os.X_OK)
    assert file.read_text() == before


def test_a_hook_of_ours_alone_goes_without_a_trace(hooked: Repository) -> None:
    git_hooks.remove(Git(hooked.folder))

    assert not (hooked.folder / ".git" / "hooks" / "pre-commit").exists()


@pytest.mark.parametrize("kind", ["python", "elsewhere"])
def test_where_no_line_can_be_put_in_it_is_said_what_to_add(ruled: Repository, kind: str) -> None:
    file = ruled.folder / ".git" / "hooks" / "pre-commit"
    file.parent.mkdir(exist_ok=True)
    file.write_text("#!/usr/bin/env python3\n")
    if kind == "elsewhere":
        ruled.git("config", "core.hooksPath", ".husky")
    change = git_hooks.install(Git(ruled.folder), sys.executable)

    assert change.changed == ()
    assert "policy check --staged" in change.remark
    assert file.read_text() == "#!/usr/bin/env python3\n"
    assert not (ruled.folder / ".husky").exists()
