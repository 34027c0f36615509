from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from memtool.errors import VaultError
from memtool.vault import Vault


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


def find(start: Path, **environment: str) -> Path:
    return Vault.find(start=start, environment=environment).root


def make(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def test_the_folder_asked_for_wins_then_the_environment(tmp_path: Path) -> None:
    asked, named, here = (
        make(tmp_path / "asked"),
        make(tmp_path / "named"),
        make(tmp_path / "here" / ".memtool"),
    )
    environment = {"MEMTOOL_VAULT": str(named)}

    assert Vault.find(asked, start=here.parent, environment=environment).root == asked
    assert Vault.find(start=here.parent, environment=environment).root == named
    assert Vault.find(start=here.parent, environment={"MEMTOOL_VAULT": ""}).root == here.parent


def test_the_nearest_private_folder_wins_over_a_nearer_catalog(tmp_path: Path) -> None:
    deep = make(tmp_path / "outer" / "inner" / "deep")
    make(tmp_path / "outer" / ".memtool")
    (tmp_path / "outer" / "inner" / "MEMORY.md").write_text("")

    assert find(deep) == tmp_path / "outer"

    make(tmp_path / "outer" / "inner" / ".memtool")

    assert find(deep) == tmp_path / "outer" / "inner"


def test_a_catalog_marks_a_vault_and_so_does_a_work_tree(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    deep = make(tmp_path / "notes" / "deep")

    assert find(deep) == tmp_path

    (tmp_path / "notes" / "MEMORY.md").write_text("")

    assert find(deep) == tmp_path / "notes"


def test_linked_work_trees_are_found_even_inside_a_bare_repository(tmp_path: Path) -> None:
    make(tmp_path / "first")
    git(tmp_path / "first", "init", "-q")
    git(tmp_path / "first", "commit", "-q", "--allow-empty", "-m", "one")
    git(tmp_path / "first", "worktree", "add", "-q", "../second")
    git(tmp_path, "clone", "-q", "--bare", "first", "bare.git")
    git(tmp_path / "bare.git", "worktree", "add", "-q", "third")

    assert find(make(tmp_path / "second" / "ops")) == tmp_path / "second"
    assert find(tmp_path / "bare.git" / "third") == tmp_path / "bare.git" / "third"


def test_a_folder_without_any_mark_says_how_to_begin(tmp_path: Path) -> None:
    with pytest.raises(VaultError) as caught:
        find(tmp_path)

    assert "memtool init" in caught.value.fix


@pytest.mark.parametrize(
    "inside", ["bare.git", "bare.git/objects", "tree/.git", "tree/.git/hooks", "tree/.memtool/cache"]
)
def test_folders_of_git_and_of_memtool_itself_are_no_vault(tmp_path: Path, inside: str) -> None:
    git(tmp_path, "init", "-q", "--bare", "bare.git")
    git(make(tmp_path / "tree"), "init", "-q")
    folder = make(tmp_path / inside)

    with pytest.raises(VaultError, match="cannot be a vault"):
        Vault.open(folder)
    with pytest.raises(VaultError, match="cannot be a vault"):
        find(folder)


@pytest.mark.parametrize("name", ["nowhere", "file.md", "nul\0", "file.md/x"])
def test_a_vault_that_is_not_there_is_an_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "file.md").write_text("")

    with pytest.raises(VaultError, match="no vault"):
        Vault.open(f"{tmp_path}/{name}")


def test_opening_and_walking_a_vault_leaves_no_trace(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("x")
    vault = Vault.open(tmp_path)
    vault.walk()
    vault.read("a.md")

    assert os.listdir(tmp_path) == ["a.md"]


def test_the_private_folder_ignores_itself(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    vault = Vault.open(tmp_path)
    vault.prepare(vault.cache)

    status = subprocess.run(["git", "status", "--porcelain"], cwd=tmp_path, capture_output=True, check=True)

    assert vault.cache == tmp_path / ".memtool" / "cache"
    assert status.stdout == b""


@pytest.mark.parametrize("link", [".memtool", ".memtool/cache", ".memtool/state"])
def test_a_private_folder_that_is_a_link_is_not_followed(tmp_path: Path, link: str) -> None:
    outside = make(tmp_path / "outside")
    root = make(tmp_path / "vault")
    make((root / link).parent)
    (root / link).symlink_to(outside)
    vault = Vault.open(root, environment={"XDG_CACHE_HOME": str(tmp_path / "xdg")})

    vault.prepare(vault.cache)
    vault.prepare(vault.state)

    assert os.listdir(outside) == []
    assert vault.cache.is_relative_to(tmp_path / "xdg" / "memtool")
    assert [finding.code for finding in vault.findings] == ["cache-elsewhere"]


def test_two_vaults_that_cannot_hold_caches_do_not_share_one(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (make(tmp_path / name) / ".memtool").write_text("in the way")
    environment = {"XDG_CACHE_HOME": "relative/is/ignored", "HOME": str(tmp_path / "home")}

    one, two = (Vault.open(tmp_path / name, environment=environment) for name in ("one", "two"))

    assert one.cache != two.cache
    assert one.cache.is_relative_to(tmp_path / "home" / ".cache" / "memtool")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_vault_keeps_its_caches_elsewhere(tmp_path: Path) -> None:
    make(tmp_path / "vault").chmod(0o555)
    vault = Vault.open(tmp_path / "vault", environment={"XDG_CACHE_HOME": str(tmp_path)})

    assert vault.cache.is_relative_to(tmp_path / "memtool")
