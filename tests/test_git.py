from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from memtool.errors import GitError, VaultError
from memtool.git import LOCATING, Git
from memtool.repository import Head


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


def start(folder: Path, *names: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("# Note\n")
    if names:
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", "one")
    return folder


def test_init_makes_a_repository_once(tmp_path: Path) -> None:
    Git(tmp_path).init()
    Git(tmp_path).init()

    assert Git(tmp_path).problem() is None
    assert Git(tmp_path).head().revision is None
    assert Git(tmp_path).work_tree() == tmp_path


def test_changed_notes_are_listed_by_their_real_names(tmp_path: Path) -> None:
    odd = [
        "日本語 メモ.md",
        "café.md",
        "🍣 sushi.md",
        'say "hi".md',
        "tab\there.md",
        "-rf.md",
        "*.md",
        ":(top)x.md",
    ]
    vault = start(tmp_path / "repo", "other.md", *(f"notes/{name}" for name in odd)) / "notes"
    for name in (*(f"notes/{name}" for name in odd), "other.md"):
        (tmp_path / "repo" / name).write_text("# Changed\n")
    (vault / "new.md").write_text("# New\n")

    assert Git(vault).changed() == sorted([*odd, "new.md"])


def test_a_command_that_fails_says_what_git_said(tmp_path: Path) -> None:
    with pytest.raises(VaultError, match="bad revision"):
        Git(start(tmp_path, "a.md")).run("log", "no-such-thing", "--")


def test_a_folder_without_a_repository_says_how_to_get_one(tmp_path: Path) -> None:
    problem = Git(tmp_path).problem()

    assert problem is not None
    assert (problem.code, "memtool init" in problem.fix) == ("git-none", True)
    assert Git(tmp_path).head() == Head(None, None)


def test_a_bare_repository_is_told_from_a_work_tree(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "bare.git")

    problem = Git(tmp_path / "bare.git").problem()

    assert problem is not None
    assert problem.code == "git-bare"


def test_another_owner_is_named_with_the_line_to_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vault = start(tmp_path / "my vault", "a.md")
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")

    problem = Git(vault).problem()

    assert problem is not None
    assert problem.code == "git-ownership"
    assert problem.fix == f"git config --global --add safe.directory '{vault}'"
    assert Git(vault).head().branch == "main"


def test_without_git_on_path_everything_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vault = start(tmp_path / "v", "a.md")
    monkeypatch.setenv("PATH", str(tmp_path))

    problem = Git(vault).problem()

    assert problem is not None
    assert problem.code == "git-missing"
    assert Git(vault).head().branch == "main"
    with pytest.raises(VaultError, match="not installed"):
        Git(vault).changed()


def test_gitpython_loads_where_git_is_missing_or_confused(tmp_path: Path) -> None:
    code = (
        "import os, pathlib; from memtool.git import _command; _command(pathlib.Path('.'));"
        "print(os.environ.get('GIT_PYTHON_REFRESH'), os.environ['GIT_INTERNAL_SUPER_PREFIX'])"
    )
    # The second variable makes even `git version` fail: hooks of a submodule have it.
    common = {
        "PYTHONPATH": os.pathsep.join(sys.path),
        "GIT_INTERNAL_SUPER_PREFIX": "x/",
        "HOME": str(tmp_path),
    }
    for path in (str(tmp_path), os.environ["PATH"]):
        environment = {**common, "PATH": path}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)

        assert (done.stdout, done.stderr) == ("None x/\n", "")


def test_variables_of_another_repository_are_not_obeyed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(tmp_path / "other", "x.md")
    vault = start(tmp_path / "vault", "a.md")
    (vault / "a.md").write_text("# Changed\n")
    for name in LOCATING:
        monkeypatch.setenv(name, str(tmp_path / "other" / ".git"))

    assert Git(vault).changed() == ["a.md"]
    assert os.environ["GIT_DIR"] == str(tmp_path / "other" / ".git")


def test_reading_runs_no_command_the_repository_names(tmp_path: Path) -> None:
    vault = start(tmp_path / "v", "a.md")
    mark = tmp_path / "ran"
    script = tmp_path / "monitor"
    script.write_text(f"#!/bin/sh\ntouch {mark}\n")
    script.chmod(0o755)
    git(vault, "config", "core.fsmonitor", str(script))

    assert Git(vault).changed() == []
    assert not mark.exists()


def test_importing_the_room_does_not_import_gitpython() -> None:
    code = (
        "import sys, memtool.vault, memtool.git, memtool.config;"
        "print([room for room in ('git', 'yaml', 'numpy', 'tomllib') if room in sys.modules])"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}

    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )

    assert done.stdout == "[]\n"


def test_a_folder_knows_where_it_lies_in_its_work_tree(tmp_path: Path) -> None:
    repo = start(tmp_path / "r", "a b/ü/x.md")

    assert (Git(repo).prefix(), Git(repo / "a b" / "ü").prefix()) == ("", "a b/ü/")


def test_states_tell_what_is_staged_and_what_is_not(tmp_path: Path) -> None:
    vault = start(tmp_path / "v", "staged.md", "both.md", "edited.md", "gone.md", "unstaged.md")
    for name in ("staged.md", "both.md"):
        (vault / name).write_text("# Staged\n")
    git(vault, "add", "-A")
    for name in ("both.md", "edited.md", "new.md"):
        (vault / name).write_text("# Edited\n")
    (vault / "gone.md").unlink()
    git(vault, "rm", "-q", "--cached", "unstaged.md")

    assert Git(vault).states() == {
        "staged.md": "M ",
        "both.md": "MM",
        "edited.md": " M",
        "gone.md": " D",
        "unstaged.md": "D ",
        "new.md": "??",
    }


def test_a_command_is_given_bytes_and_variables(tmp_path: Path) -> None:
    vault = start(tmp_path, "a.md")
    data = b"x" * 1_000_000

    assert len(Git(vault).run("hash-object", "--stdin", stdin=data).strip()) == 40
    env = {"GIT_AUTHOR_NAME": "Noor", "GIT_AUTHOR_EMAIL": "noor@example.invalid"}
    assert Git(vault).run("var", "GIT_AUTHOR_IDENT", env=env).startswith(b"Noor <noor@example.invalid>")


def test_acting_keeps_the_users_environment_and_says_what_git_said(tmp_path: Path) -> None:
    vault = start(tmp_path, "a.md", "b.md")

    status, said = Git(vault).act("rm", "-q", "--cached", "--", "*.md")
    assert (status, said, Git(vault).states()["a.md"]) == (0, "", "D ")
    status, said = Git(vault).act("switch", "no-such-branch")
    assert (status, "invalid reference" in said) == (128, True)


def test_a_failure_of_git_is_a_git_error(tmp_path: Path) -> None:
    with pytest.raises(GitError) as caught:
        Git(start(tmp_path, "a.md")).run("rev-parse", "--verify", "no-such-thing")

    assert caught.value.code == "git"
