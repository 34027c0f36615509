"""A file put in place is there whole or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from memtool import atomic


@pytest.mark.parametrize("sync", [False, True])
def test_a_file_takes_the_place_of_another(tmp_path: Path, sync: bool) -> None:
    file = tmp_path / "記録.json"
    atomic.put(file, b"old", sync=sync)

    atomic.put(file, b"new", sync=sync)

    assert file.read_bytes() == b"new"
    assert os.listdir(tmp_path) == [file.name]


def test_what_is_private_is_for_its_owner_alone(tmp_path: Path) -> None:
    atomic.put(tmp_path / "key", b"1", mode=atomic.PRIVATE)

    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600


def test_where_nothing_can_be_put_nothing_is_left(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.mkdir()

    with pytest.raises(OSError):
        atomic.put(taken, b"new")

    assert os.listdir(tmp_path) == ["taken"]


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"theirs")
    (tmp_path / "link").symlink_to(other)

    atomic.put(tmp_path / "link", b"ours")

    assert other.read_bytes() == b"theirs"
    assert not (tmp_path / "link").is_symlink()


def test_only_what_was_left_long_ago_is_tidied(tmp_path: Path) -> None:
    old, fresh, other = tmp_path / ".1-ab.tmp", tmp_path / ".2-cd.tmp", tmp_path / "note.md"
    for file in (old, fresh, other):
        file.write_bytes(b"")
    for file in (old, other):
        os.utime(file, (0, 0))

    atomic.tidy(tmp_path, older_than_s=60)

    assert sorted(tmp_path.iterdir()) == [fresh, other]


def test_a_line_is_added_and_the_size_told(tmp_path: Path) -> None:
    log = tmp_path / "log"

    assert [atomic.append(log, b"one"), atomic.append(log, b"two")] == [4, 8]
    assert log.read_bytes() == b"one\ntwo\n"
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_a_torn_line_is_ended_before_the_next(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"one\ntor")

    atomic.append(log, b"two")

    assert log.read_bytes() == b"one\ntor\ntwo\n"


def test_no_line_is_added_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / "log").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(OSError):
        atomic.append(tmp_path / "log", b"one")

    assert not (tmp_path / "elsewhere").exists()
