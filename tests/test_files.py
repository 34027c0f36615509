from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from memtool import files


def test_a_link_put_in_place_of_a_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "folder").symlink_to("../outside")

    with pytest.raises(OSError), files.parent(str(tmp_path / "root"), "folder/a.md"):
        pass


def test_a_pipe_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")

    with files.parent(str(tmp_path), "pipe.md") as (folder, name), pytest.raises(FileNotFoundError):
        files.read(folder, name, largest=10)


def test_a_file_over_the_limit_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"12345")

    with files.parent(str(tmp_path), "a.md") as (folder, name):
        assert files.read(folder, name, largest=5)[0] == b"12345"
        with pytest.raises(OSError) as caught:
            files.read(folder, name, largest=4)
    assert caught.value.errno == errno.EFBIG


def test_a_large_file_is_read_whole(tmp_path: Path) -> None:
    data = os.urandom(3_000_000)
    (tmp_path / "a.md").write_bytes(data)

    with files.parent(str(tmp_path), "a.md") as (folder, name):
        assert files.read(folder, name, largest=4_000_000)[0] == data


def test_where_hard_links_are_missing_nothing_is_overwritten_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    with files.parent(str(tmp_path), "a.md") as (folder, name):
        files.create(folder, name, b"first", scratch=str(tmp_path))
        with pytest.raises(FileExistsError):
            files.create(folder, name, b"second", scratch=str(tmp_path))

    assert os.listdir(tmp_path) == ["a.md"]
    assert (tmp_path / "a.md").read_bytes() == b"first"


def test_where_scratch_is_another_file_system_the_temporary_lies_hidden_beside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace, seen = os.replace, []

    def across(source: str, target: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        if not os.path.samestat(os.fstat(src_dir_fd), os.fstat(dst_dir_fd)):
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        seen.append(source)
        replace(source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    monkeypatch.setattr(os, "replace", across)
    (tmp_path / "scratch").mkdir()
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_bytes(b"old")
    (tmp_path / "notes" / ".memtool-1-1.tmp").write_bytes(b"left by a killed writer")
    with files.parent(str(tmp_path), "notes/a.md") as (folder, name):
        it = files.read(folder, name, largest=10)[1]
        files.replace(folder, name, b"new", scratch=str(tmp_path / "scratch"), like=it)

    assert (tmp_path / "notes" / "a.md").read_bytes() == b"new"
    assert os.listdir(tmp_path / "notes") == ["a.md"]
    assert os.listdir(tmp_path / "scratch") == []
    assert seen[0].startswith(".")


def test_a_write_that_fails_leaves_the_old_bytes_and_no_temporary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.md").write_bytes(b"old")

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with files.parent(str(tmp_path), "a.md") as (folder, name):
        it = files.read(folder, name, largest=10)[1]
        monkeypatch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space"):
            files.replace(folder, name, b"new", scratch=str(tmp_path), like=it)

    assert os.listdir(tmp_path) == ["a.md"]
    assert (tmp_path / "a.md").read_bytes() == b"old"


def test_an_edit_that_slips_in_before_the_rename_is_kept(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"old")
    with files.parent(str(tmp_path), "a.md") as (folder, name):
        it = files.read(folder, name, largest=10)[1]
        (tmp_path / "a.md").write_bytes(b"by an editor")
        with pytest.raises(FileExistsError):
            files.replace(folder, name, b"new", scratch=str(tmp_path), like=it)

    assert (tmp_path / "a.md").read_bytes() == b"by an editor"


def test_the_mode_of_a_replaced_file_stays(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"old")
    (tmp_path / "a.md").chmod(0o640)
    with files.parent(str(tmp_path), "a.md") as (folder, name):
        it = files.read(folder, name, largest=10)[1]
        files.replace(folder, name, b"new", scratch=str(tmp_path), like=it)

    assert (tmp_path / "a.md").stat().st_mode & 0o777 == 0o640


def test_a_lock_on_a_removed_file_is_taken_anew(tmp_path: Path) -> None:
    file = str(tmp_path / "lock")
    first = files.lock(file, 0)
    os.unlink(file)
    second = files.lock(file, 0)
    with pytest.raises(BlockingIOError):
        files.lock(file, 0)
    os.close(first)
    os.close(second)
    os.close(files.lock(file, 0))
