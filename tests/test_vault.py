from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from memtool import vault as room
from memtool.errors import ConflictError, LockError, NoteError, PathError, VaultError
from memtool.vault import Vault, blob, digest

UNSAFE = [
    "../outside.md",
    "../../outside.md",
    "notes/../../outside.md",
    "./../outside.md",
    "a/b/../../../outside.md",
    "..%2foutside.md",
    "%2e%2e/outside.md",
    "....//outside.md",
    "../outside",
    "..",
    "../",
    "a/..",
    "‥/outside.md",
    "．．/outside.md",
    "..\\outside.md",
    "notes\\..\\..\\outside.md",
    "~/outside.md",
    "C:\\outside.md",
    "C:/outside.md",
    "//host/share/outside.md",
    "outside.md\0",
    "outside.md\0.md",
    "link/outside.md",
    "link.md",
    ".git/config.md",
    ".memtool/state/x.md",
    "pipe.md",
    "folder.md",
    "\udcff.md",
    "a.md/b.md",
    "x" * 300 + ".md",
    "x/" * 3000 + "a.md",
    "",
    ".",
]


@pytest.fixture
def box(tmp_path: Path) -> Vault:
    root = tmp_path / "vault"
    (root / "folder.md").mkdir(parents=True)
    (root / ".git").mkdir()
    (root / ".git" / "config.md").write_text("private")
    (root / "a.md").write_bytes(b"# A\n")
    os.mkfifo(root / "pipe.md")
    (root / "link").symlink_to("..")
    (root / "link.md").symlink_to("../outside.md")
    return Vault.open(root)


def said(box: Vault, path: str) -> str:
    with pytest.raises(PathError) as caught:
        box.read(path)
    return str(caught.value)


@pytest.mark.parametrize("path", UNSAFE)
def test_an_unsafe_path_gets_the_same_answer_whether_or_not_something_is_there(box: Vault, path: str) -> None:
    before = said(box, path)
    for name in ("outside.md", "outside"):
        (box.root.parent / name).write_text("secret")

    assert said(box, path) == before
    assert before.splitlines()[0].startswith("there is no note `")
    assert before == said(box, "plainly-missing.md").replace("plainly-missing.md", before.split("`")[1])


@pytest.mark.parametrize("path", [path for path in UNSAFE if path != "folder.md"])
def test_an_unsafe_path_is_not_written_either(box: Vault, path: str) -> None:
    (box.root.parent / "outside.md").write_text("secret")
    for base in (None, digest(b"secret")):
        with pytest.raises((PathError, ConflictError, VaultError)), box.lock():
            box.replace(path, b"overwritten", base=base)

    assert (box.root.parent / "outside.md").read_text() == "secret"
    assert sorted(os.listdir(box.root.parent)) == ["outside.md", "vault"]


def test_an_absolute_path_is_refused_even_into_the_vault(box: Vault) -> None:
    assert said(box, f"{box.root}/a.md")


def test_a_note_is_read_through_links_inside_the_vault(box: Vault) -> None:
    (box.root / "alias.md").symlink_to("a.md")
    (box.root / "same").symlink_to(".")

    assert box.read("alias.md") == box.read("same/a.md") == b"# A\n"
    assert box.resolve("same/alias.md") == "a.md"


def test_a_note_comes_with_the_stat_the_walk_gives(box: Vault) -> None:
    assert box.read_with_stat("a.md") == (b"# A\n", box.walk().stats["a.md"])


def test_a_note_of_absurd_size_is_an_error_and_not_read(box: Vault) -> None:
    with open(box.root / "huge.md", "wb") as file:
        file.truncate(room.LARGEST + 1)

    with pytest.raises(NoteError, match="67,108,865 bytes"):
        box.read("huge.md")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read anything")
def test_an_unreadable_note_is_an_error_of_that_note(box: Vault) -> None:
    (box.root / "a.md").chmod(0)

    with pytest.raises(NoteError, match="cannot be read"):
        box.read("a.md")


def test_a_vault_that_went_away_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    gone = Vault.open(tmp_path / "vault")
    (tmp_path / "vault").rmdir()

    with pytest.raises(VaultError, match="cannot be listed"):
        gone.walk()


def test_a_blob_has_the_name_git_gives_it(tmp_path: Path) -> None:
    data = "設計\n".encode()
    done = subprocess.run(["git", "hash-object", "--stdin"], input=data, capture_output=True, check=True)

    assert blob(data) == done.stdout.decode().strip()


# Replacing


def test_a_change_based_on_the_current_bytes_is_made(box: Vault) -> None:
    with box.lock():
        box.replace("a.md", b"# B\n", base=digest(b"# A\n"))

    assert box.read("a.md") == b"# B\n"


def test_a_change_based_on_older_bytes_is_refused_and_says_which(box: Vault) -> None:
    with box.lock(), pytest.raises(ConflictError) as caught:
        box.replace("a.md", b"# B\n", base=digest(b"older"))

    assert box.read("a.md") == b"# A\n"
    assert caught.value.what == "a.md changed while it was being edited"
    assert (
        caught.value.why
        == f"it was {digest(b'older')[:7]} at your read and is {digest(b'# A' + bytes([10]))[:7]} now"
    )
    assert caught.value.fix == "run `memtool show a.md`, then repeat the edit on that text"


def test_a_change_of_a_note_that_is_gone_is_a_conflict(box: Vault) -> None:
    with box.lock(), pytest.raises(ConflictError, match="is gone now"):
        box.replace("gone.md", b"x", base=digest(b"y"))

    assert not (box.root / "gone.md").exists()


def test_a_new_note_is_made_with_its_folders_and_never_over_another(box: Vault) -> None:
    with box.lock():
        box.replace("ops/鍵/new.md", b"x", base=None)
        with pytest.raises(ConflictError):
            box.replace("ops/鍵/new.md", b"y", base=None)

    assert box.read("ops/鍵/new.md") == b"x"


@pytest.mark.parametrize("path", ["A.MD", "Ops/b.md", "ops/カ\u3099.md"])
def test_a_new_note_never_differs_from_another_only_in_case_or_composition(box: Vault, path: str) -> None:
    with box.lock():
        box.replace("ops/ガ.md", b"x", base=None)
        with pytest.raises(ConflictError):
            box.replace(path, b"y", base=None)


def test_a_change_through_a_link_changes_its_target_and_keeps_the_link(box: Vault) -> None:
    (box.root / "alias.md").symlink_to("a.md")

    with box.lock():
        written = box.replace("alias.md", b"# B\n", base=digest(b"# A\n"))

    assert (written, box.read("a.md")) == ("a.md", b"# B\n")
    assert (box.root / "alias.md").is_symlink()


def test_a_change_that_changes_nothing_touches_nothing(box: Vault) -> None:
    before = box.walk().stats
    with box.lock():
        box.replace("a.md", b"# A\n", base=digest(b"# A\n"))

    assert box.walk().stats == before


def test_a_note_marked_read_only_is_left_alone(box: Vault) -> None:
    (box.root / "a.md").chmod(0o444)

    with box.lock(), pytest.raises(NoteError, match="read-only"):
        box.replace("a.md", b"# B\n", base=digest(b"# A\n"))


def test_nothing_is_left_beside_a_written_note(box: Vault) -> None:
    with box.lock():
        box.replace("new/b.md", b"x", base=None)
        box.replace("a.md", b"# B\n", base=digest(b"# A\n"))

    assert os.listdir(box.root / "new") == ["b.md"]
    assert [name for name in os.listdir(box.state) if name != "lock"] == []


def test_what_a_killed_writer_left_is_removed_by_the_next(box: Vault) -> None:
    left = box.prepare(box.state) / ".memtool-1-0.tmp"
    left.write_bytes(b"half a no")

    with box.lock():
        pass

    assert not left.exists()


# The lock


def test_a_held_lock_names_the_process_that_holds_it(box: Vault) -> None:
    with box.lock(), pytest.raises(LockError, match=f"process {os.getpid()}"), box.lock(0.01):
        pass

    with box.lock(0.01):
        pass


def test_the_lock_of_a_killed_process_is_free(box: Vault) -> None:
    code = (
        "import os, sys; from memtool.vault import Vault\n"
        "with Vault.open(sys.argv[1]).lock(): print('held', flush=True); os.kill(os.getpid(), 9)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code, box.root], env=environment, capture_output=True)

    with box.lock(0.5):
        pass


def test_a_lock_that_is_a_link_is_not_followed(box: Vault) -> None:
    outside = box.root.parent / "outside"
    (box.prepare(box.state) / "lock").symlink_to(outside)

    with pytest.raises(LockError), box.lock(0.01):
        pass
    assert not outside.exists()
