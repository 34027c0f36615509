from __future__ import annotations

import subprocess
from pathlib import Path

from memtool.repository import Head, find_work_tree, is_bare, read_head


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


def start(folder: Path) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    (folder / "a.md").write_text("# A\n")
    git(folder, "add", "a.md")
    git(folder, "commit", "-q", "-m", "one")
    return git(folder, "rev-parse", "HEAD")


def test_a_branch_is_read_loose_and_packed(tmp_path: Path) -> None:
    revision = start(tmp_path)

    assert read_head(tmp_path / ".git") == Head(revision, "main")

    git(tmp_path, "pack-refs", "--all")

    assert read_head(tmp_path / ".git") == Head(revision, "main")


def test_a_detached_head_has_no_branch_and_an_unborn_one_no_revision(tmp_path: Path) -> None:
    revision = start(tmp_path / "detached")
    git(tmp_path / "detached", "switch", "-q", "--detach")
    (tmp_path / "unborn").mkdir()
    git(tmp_path / "unborn", "init", "-q", "-b", "日本")

    assert read_head(tmp_path / "detached" / ".git") == Head(revision, None)
    assert read_head(tmp_path / "unborn" / ".git") == Head(None, "日本")


def test_a_linked_work_tree_has_its_own_head(tmp_path: Path) -> None:
    revision = start(tmp_path / "main")
    git(tmp_path / "main", "worktree", "add", "-q", "-b", "topic/x", "../linked")
    (tmp_path / "linked" / "ops").mkdir()

    assert find_work_tree(tmp_path / "linked" / "ops") == tmp_path / "linked"
    assert read_head(tmp_path / "linked" / ".git") == Head(revision, "topic/x")


def test_an_empty_git_folder_is_no_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()

    assert find_work_tree(tmp_path) is None or find_work_tree(tmp_path) != tmp_path


def test_a_bare_repository_is_told(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "bare.git")

    assert is_bare(tmp_path / "bare.git")
    assert not is_bare(tmp_path)
