from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path

import pytest

from memtool.files import open_folder
from memtool.vault import Vault
from memtool.walk import Walk, walk


def put(file: Path, text: str = "# Note\n") -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def look(folder: Path) -> Walk:
    return walk(os.path.realpath(folder))


def codes(walked: Walk) -> set[tuple[str, str]]:
    return {(finding.code, finding.path) for finding in walked.findings}


def test_a_note_is_listed_with_size_times_and_inode(tmp_path: Path) -> None:
    it = put(tmp_path / "ops" / "設計.md", "abc").stat()

    assert look(tmp_path).stats == {"ops/設計.md": (3, it.st_mtime_ns, it.st_ctime_ns, it.st_ino)}


def test_only_notes_are_listed_in_any_case_of_the_suffix(tmp_path: Path) -> None:
    for name in (
        "a.md",
        "B.MD",
        "c.markdown",
        "D.Markdown",
        "e.txt",
        "f.md~",
        ".#g.md",
        ".h.md",
        "~$i.md",
        "4913",
    ):
        put(tmp_path / name)

    assert sorted(look(tmp_path).stats) == ["B.MD", "D.Markdown", "a.md", "c.markdown"]


@pytest.mark.parametrize(
    "name", [".git", ".obsidian", ".trash", ".memtool", "node_modules", "__pycache__", ".venv"]
)
def test_folders_of_tools_are_skipped_at_any_depth(tmp_path: Path, name: str) -> None:
    put(tmp_path / name / "a.md")
    put(tmp_path / "x" / name / "y" / "a.md")

    assert look(tmp_path).stats == {}


def test_a_virtual_environment_is_skipped_whatever_it_is_called(tmp_path: Path) -> None:
    put(tmp_path / "py" / "pyvenv.cfg")
    put(tmp_path / "py" / "lib" / "README.md")

    assert look(tmp_path).stats == {}


def test_a_bare_repository_below_the_vault_is_skipped(tmp_path: Path) -> None:
    put(tmp_path / "b" / "HEAD")
    put(tmp_path / "b" / "objects" / "a.md")
    put(tmp_path / "b" / "refs" / "heads" / "topic.md")

    assert look(tmp_path).stats == {}


def test_a_folder_may_be_called_like_a_note(tmp_path: Path) -> None:
    put(tmp_path / "topic.md" / "a.md")

    assert set(look(tmp_path).stats) == {"topic.md/a.md"}


def test_a_link_to_a_note_lists_it_once_under_its_real_path(tmp_path: Path) -> None:
    put(tmp_path / "real.md")
    (tmp_path / "alias.md").symlink_to("real.md")

    walked = look(tmp_path)

    assert set(walked.stats) == {"real.md"}
    assert walked.findings == []


def test_a_link_to_a_folder_is_not_walked_twice(tmp_path: Path) -> None:
    put(tmp_path / "real" / "a.md")
    (tmp_path / "alias").symlink_to("real")

    walked = look(tmp_path)

    assert set(walked.stats) == {"real/a.md"}
    assert walked.findings == []


def test_looping_links_are_findings_and_end_the_walk(tmp_path: Path) -> None:
    put(tmp_path / "a" / "one.md")
    put(tmp_path / "b" / "two.md")
    for link, target in (
        ("self", "."),
        ("a/up", ".."),
        ("a/again", "../a"),
        ("x.md", "x.md"),
        ("a/b", "../b"),
        ("b/a", "../a"),
    ):
        (tmp_path / link).symlink_to(target)

    walked = look(tmp_path)

    assert set(walked.stats) == {"a/one.md", "b/two.md"}
    assert codes(walked) == {
        ("link-loop", link) for link in ("self", "a/up", "a/again", "x.md", "a/b", "b/a")
    }


def test_links_to_nothing_and_out_of_the_vault_are_findings(tmp_path: Path) -> None:
    put(tmp_path / "outside" / "secret.md")
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "gone.md").symlink_to("nowhere.md")
    (vault / "out.md").symlink_to("../outside/secret.md")
    (vault / "out").symlink_to("../outside")
    (vault / "out-gone.md").symlink_to("../outside/nowhere.md")
    put(tmp_path / "vault-2" / "a.md")
    (vault / "near").symlink_to("../vault-2")

    walked = look(vault)

    assert walked.stats == {}
    outside = {("link-outside", name) for name in ("out.md", "out", "out-gone.md", "near")}
    assert codes(walked) == outside | {("link-dangling", "gone.md")}


def test_a_link_into_a_hidden_folder_is_not_read(tmp_path: Path) -> None:
    put(tmp_path / ".trash" / "a.md")
    (tmp_path / "a.md").symlink_to(".trash/a.md")

    walked = look(tmp_path)

    assert walked.stats == {}
    assert codes(walked) == {("link-hidden", "a.md")}


def test_pipes_and_sockets_are_findings_and_never_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")

    walked = look(tmp_path)

    assert walked.stats == {}
    assert codes(walked) == {("special-file", "pipe.md")}


def test_an_unreadable_folder_is_not_an_empty_one(tmp_path: Path) -> None:
    put(tmp_path / "a.md")
    put(tmp_path / "shut" / "b.md")

    def opener(root: str, prefix: str) -> int:
        if prefix == "shut/":
            raise PermissionError(errno.EACCES, "Permission denied")
        return open_folder(root, prefix)

    walked = walk(os.path.realpath(tmp_path), opener=opener)

    assert set(walked.stats) == {"a.md"}
    assert walked.unreadable == ["shut/"]
    assert codes(walked) == {("unreadable", "shut/")}
    assert [walked.is_unknown(path) for path in ("shut/b.md", "shutter.md", "a.md")] == [True, False, False]


def test_a_folder_that_goes_away_during_the_walk_is_simply_gone(tmp_path: Path) -> None:
    put(tmp_path / "a.md")
    put(tmp_path / "gone" / "b.md")

    def opener(root: str, prefix: str) -> int:
        if prefix == "gone/":
            raise FileNotFoundError(errno.ENOENT, "No such file or directory")
        return open_folder(root, prefix)

    walked = walk(os.path.realpath(tmp_path), opener=opener)

    assert (set(walked.stats), walked.unreadable, walked.findings) == ({"a.md"}, [], [])


def test_conflict_copies_are_findings_and_still_listed(tmp_path: Path) -> None:
    for name in ("note.md", "note (1).md", "other (1).md", "note.sync-conflict-20260102-101112-ABCDEFG.md"):
        put(tmp_path / name)

    walked = look(tmp_path)

    assert len(walked.stats) == 4
    assert codes(walked) == {
        ("conflict-copy", "note (1).md"),
        ("conflict-copy", "note.sync-conflict-20260102-101112-ABCDEFG.md"),
    }


def test_names_that_collide_on_other_systems_are_findings(tmp_path: Path) -> None:
    for name in ("Config.md", "config.md", "が.md", "か\u3099.md", "Docs/a.md", "docs/b.md"):
        put(tmp_path / name)

    walked = look(tmp_path)

    assert len(walked.stats) == 6
    assert {path for code, path in codes(walked) if code == "name-collision"} == {
        "Config.md",
        "config.md",
        "が.md",
        "か\u3099.md",
        "Docs/",
        "docs/",
    }


def test_a_name_that_is_not_utf_8_is_a_finding_and_not_listed(tmp_path: Path) -> None:
    put(tmp_path / "a.md")
    (tmp_path / os.fsdecode(b"caf\xe9.md")).write_text("x")

    walked = look(tmp_path)

    assert set(walked.stats) == {"a.md"}
    assert codes(walked) == {("name-encoding", "caf\\xe9.md")}


def test_a_name_with_control_characters_is_a_finding_and_still_listed(tmp_path: Path) -> None:
    put(tmp_path / "tab\there.md")
    put(tmp_path / "two\nlines.md")

    walked = look(tmp_path)

    assert set(walked.stats) == {"tab\there.md", "two\nlines.md"}
    assert codes(walked) == {("name-control", "tab\\there.md"), ("name-control", "two\\nlines.md")}
    assert all("\n" not in str(finding) for finding in walked.findings)


def test_every_listed_note_can_be_read(tmp_path: Path) -> None:
    odd = [
        "--all.md",
        "-rf.md",
        "*.md",
        ":(top)x.md",
        'say "hi".md',
        "tab\t.md",
        "a\\b.md",
        "日本 語.md",
        "..a.md",
        "%2e.md",
    ]
    for name in (*odd, "C:x.md", "a:b/c.md", "~x.md", "~/y.md", "C:/z.md", "a\\..\\b.md"):
        put(tmp_path / name)

    vault = Vault.open(tmp_path)

    assert [path for path in vault.walk().stats if vault.read(path) != b"# Note\n"] == []
    assert {"*.md", ":(top)x.md", "a\\b.md", "a:b/c.md", "~x.md"} <= set(vault.walk().stats)


def test_very_deep_folders_and_very_long_paths_are_walked_and_read(tmp_path: Path) -> None:
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(1000):
        os.mkdir("folder", dir_fd=here)
        deeper = os.open("folder", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    os.close(os.open("deep.md", os.O_CREAT, dir_fd=here))
    os.close(here)
    vault = Vault.open(tmp_path)

    try:
        assert set(vault.walk().stats) == {"folder/" * 1000 + "deep.md"}
        assert vault.read("folder/" * 1000 + "deep.md") == b""
    finally:
        # The clean-up of pytest goes down by recursion, and would not come back.
        subprocess.run(["rm", "-rf", tmp_path / "folder"], check=True)


@pytest.mark.parametrize(
    "pattern",
    [
        "drafts",
        "drafts/",
        "drafts/*",
        "/drafts",
        "draft*",
        "b.md",
        "**/b.md",
        "drafts/**",
        "**/drafts/**/b.md",
    ],
)
def test_ignored_patterns_leave_notes_out(tmp_path: Path, pattern: str) -> None:
    put(tmp_path / "a.md")
    put(tmp_path / "drafts" / "b.md")

    assert set(walk(os.path.realpath(tmp_path), ignore=[pattern]).stats) == {"a.md"}


def test_a_vault_that_cannot_be_listed_is_an_error_not_an_empty_vault(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        walk(str(tmp_path / "unmounted"))
