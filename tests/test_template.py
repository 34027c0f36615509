"""`memtool init`: a new vault is laid out, and nothing that is there is touched."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Ran, snapshot, write_notes

from memtool import template
from memtool.errors import MemtoolError, VaultError
from memtool.memory.memory import Memory

Run = Callable[..., Ran]


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


def test_init_lays_out_every_file_of_the_template(tmp_path: Path, run: Run) -> None:
    ran = run("init", str(tmp_path / "v"))
    expected = {path: data for path, (data, _) in snapshot(template.source()).items()}

    assert ran.code == 0
    assert {path: data for path, (data, _) in snapshot(tmp_path / "v").items()} == expected
    assert (tmp_path / "v" / ".git").is_dir()
    assert git(tmp_path / "v", "status", "--porcelain", "--ignored").count(".memtool") == 1


def test_a_new_vault_has_nothing_odd(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMTOOL_EMBEDDER", "none")
    run("init", str(tmp_path / "v"))
    ran = run("check", "--deep", "--vault", str(tmp_path / "v"))
    catalog = run("catalog", "--dry-run", "--vault", str(tmp_path / "v"))

    assert (ran.code, ran.out) == (0, "")
    assert (catalog.code, catalog.err) == (0, "MEMORY.md: up to date (1 page)\n")


def test_init_twice_changes_nothing(tmp_path: Path, run: Run) -> None:
    run("init", str(tmp_path / "v"))
    before = snapshot(tmp_path / "v")
    ran = run("init", str(tmp_path / "v"))

    assert ran.code == 0
    assert snapshot(tmp_path / "v") == before


def test_init_never_overwrites(tmp_path: Path, run: Run) -> None:
    write_notes(tmp_path, {"README.md": "mine", "ops/staging.md": "mine too"})
    ran = run("init", str(tmp_path), "--yes")

    assert ran.code == 0
    assert (tmp_path / "README.md").read_text() == "mine"
    assert (tmp_path / "ops" / "staging.md").read_text() == "mine too"
    assert (tmp_path / "MEMORY.md").exists()


def test_init_asks_before_it_joins_files_that_are_there(tmp_path: Path, run: Run) -> None:
    write_notes(tmp_path, {"mine.md": "mine"})
    ran = run("init", str(tmp_path))

    assert ran.code == 2
    assert "--yes" in ran.err
    assert list(snapshot(tmp_path)) == ["mine.md"]


@pytest.mark.parametrize(("said", "code"), [("y\n", 0), ("yes\n", 0), ("n\n", 2), ("\n", 2), ("", 2)])
def test_a_person_is_asked_and_only_yes_is_yes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    import io

    from memtool.cli.main import main

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    write_notes(tmp_path, {"mine.md": "mine"})
    monkeypatch.setattr("sys.stdin", Terminal(said))

    assert main(["init", str(tmp_path)]) == code
    assert "[y/N]" in capsys.readouterr().err
    assert (tmp_path / "MEMORY.md").exists() == (code == 0)


def test_an_empty_init_makes_a_vault_of_what_is_there(tmp_path: Path, run: Run) -> None:
    write_notes(tmp_path, {"mine.md": "The badger sleeps."})
    before = snapshot(tmp_path)
    ran = run("init", str(tmp_path), "--empty", "--no-git")

    assert ran.code == 0
    assert snapshot(tmp_path) == before
    assert (tmp_path / ".memtool" / ".gitignore").read_text() == "*\n!policy.toml\n"
    assert not (tmp_path / ".git").exists()


def test_no_repository_is_made_within_another(git_vault: Path, run: Run) -> None:
    ran = run("init", str(git_vault / "inner"))

    assert ran.code == 0
    assert not (git_vault / "inner" / ".git").exists()
    assert "new git repository" not in ran.out


def test_a_linked_work_tree_stays_what_it_is(git_vault: Path, tmp_path: Path, run: Run) -> None:
    git(git_vault, "worktree", "add", "-q", str(tmp_path / "linked"), "-b", "other")
    before = (tmp_path / "linked" / ".git").read_bytes()
    ran = run("init", str(tmp_path / "linked"), "--empty")

    assert ran.code == 0
    assert (tmp_path / "linked" / ".git").read_bytes() == before
    assert git(tmp_path / "linked", "status", "--porcelain") == ""


@pytest.mark.parametrize("place", [".git/hooks", ".git"])
def test_gits_own_folder_is_no_place_for_a_vault(git_vault: Path, run: Run, place: str) -> None:
    ran = run("init", str(git_vault / place), "--yes")

    assert ran.code == 2
    assert not (git_vault / place / "MEMORY.md").exists()


def test_a_link_in_the_folder_is_not_followed_out(tmp_path: Path, run: Run) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "v").mkdir()
    (tmp_path / "v" / "ops").symlink_to(outside)
    ran = run("init", str(tmp_path / "v"), "--yes")

    assert ran.code == 2
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("place", ["file", "file/inside"])
def test_a_file_is_no_place_for_a_vault(tmp_path: Path, run: Run, place: str) -> None:
    (tmp_path / "file").write_text("x")
    ran = run("init", str(tmp_path / place))

    assert ran.code == 2
    assert "Traceback" not in ran.err


def test_a_name_with_blanks_is_quoted_in_the_next_step(tmp_path: Path, run: Run) -> None:
    ran = run("init", str(tmp_path / "my notes"))

    assert f"--vault '{tmp_path}/my notes'" in ran.err


def test_the_plan_tells_all_and_does_nothing(tmp_path: Path) -> None:
    planned = template.plan(tmp_path / "v")

    assert planned.new
    assert (planned.occupied, planned.git) == (False, True)
    assert not (tmp_path / "v").exists()


def test_a_vault_from_the_template_answers_in_both_languages(
    tmp_path: Path, run: Run, open_memory: Callable[..., Memory]
) -> None:
    run("init", str(tmp_path / "v"))
    memory = open_memory(tmp_path / "v")

    assert memory.search("rotate the staging key", mode="lexical")[0].path == "ops/staging.md"
    assert memory.search("写真の縮小", mode="lexical")[0].path == "tools/写真の縮小.md"


def test_every_refusal_is_one_of_ours() -> None:
    assert issubclass(VaultError, MemtoolError)
