from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from memtool.errors import ConflictError, PathError, UsageError
from memtool.vault import Vault, digest
from memtool.writer import Change, add, apply, render

TITLES = [
    "手順書",
    "F#",
    "F++",
    "F",
    "x/y",
    "x\\y",
    "ECLAIR",
    "eclair",
    "???",
    "2026-05-01",
    "yes",
    "1.10",
    "-",
    "a: b",
    "#x",
    " x ",
]


def front_matter(text: str) -> dict[str, object]:
    return yaml.load(text.split("---\n")[1], yaml.SafeLoader)  # type: ignore[no-any-return]


def test_a_change_gives_the_digest_to_base_the_next_one_on(tmp_path: Path) -> None:
    vault = Vault.open(tmp_path)
    first = apply(vault, Change("a.md", b"one"))
    second = apply(vault, Change("a.md", b"two", first))

    assert (second, vault.read("a.md")) == (digest(b"two"), b"two")


def test_whoever_lost_the_race_gets_a_conflict_and_loses_nothing(tmp_path: Path) -> None:
    vault = Vault.open(tmp_path)
    seed = apply(vault, Change("plan.md", b"seed\n"))
    apply(vault, Change("plan.md", b"seed\nfrom A\n", seed))

    with pytest.raises(ConflictError):
        apply(vault, Change("plan.md", b"seed\nfrom B\n", seed))
    with pytest.raises(ConflictError):
        apply(vault, Change("plan.md", b"from B, without having read\n"))
    assert vault.read("plan.md") == b"seed\nfrom A\n"


def test_processes_that_append_at_once_lose_no_line(tmp_path: Path) -> None:
    vault = Vault.open(tmp_path)
    apply(vault, Change("log.md", b""))
    code = """
import sys
from memtool.errors import ConflictError
from memtool.vault import Vault, digest
from memtool.writer import Change, apply
vault, done = Vault.open(sys.argv[1]), 0
while done < 10:
    old = vault.read("log.md")
    try:
        apply(vault, Change("log.md", old + f"{sys.argv[2]} {done}\\n".encode(), digest(old)))
        done += 1
    except ConflictError:
        pass
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), name], env=environment) for name in "abc"
    ]

    assert [process.wait() for process in running] == [0, 0, 0]
    lines = vault.read("log.md").decode().split()
    assert sorted(zip(lines[::2], lines[1::2], strict=True)) == [
        (name, str(n)) for name in "abc" for n in range(10)
    ]


def test_titles_get_their_own_notes_and_read_back_exactly(tmp_path: Path) -> None:
    vault = Vault.open(tmp_path)
    paths = [add(vault, title, f"Body {n}.", created="2026-03-01") for n, title in enumerate(TITLES * 2)]

    assert len(set(paths)) == len(TITLES) * 2
    for n, (path, title) in enumerate(zip(paths, TITLES * 2, strict=True)):
        text = vault.read(path).decode()
        assert (front_matter(text)["title"], text.split("\n\n")[-1]) == (title, f"Body {n}.\n")


@given(st.text(), st.text(max_size=20))
def test_any_title_and_value_read_back_exactly_from_plain_yaml(title: str, value: str) -> None:
    meta = front_matter(render(title, "", {"source": value, "tags": [value, "x"]}))

    assert meta == {"title": title, "source": value, "tags": [value, "x"]}


def test_an_added_note_goes_into_the_folder_as_it_is_spelt_on_disk(tmp_path: Path) -> None:
    (tmp_path / "Ops").mkdir()

    assert add(Vault.open(tmp_path), "Keys", "Text.", folder="ops") == "Ops/keys.md"
    assert os.listdir(tmp_path / "Ops") == ["keys.md"]


def test_a_title_that_another_note_has_in_other_letters_gets_a_number(tmp_path: Path) -> None:
    (tmp_path / "Config.md").write_text("# Config\n")

    assert add(Vault.open(tmp_path), "CONFIG", "Text.") == "config-2.md"
    assert (tmp_path / "Config.md").read_text() == "# Config\n"


@pytest.mark.parametrize("folder", ["..", "../x", ".git", "/tmp", "a/../..", "~", "a\\..\\..", "con"])
def test_no_note_is_added_outside_of_the_vault(tmp_path: Path, folder: str) -> None:
    root = tmp_path / "vault"
    root.mkdir()

    with pytest.raises(PathError):
        add(Vault.open(root), "Title", "Text.", folder=folder)
    assert os.listdir(tmp_path) == ["vault"]
    assert [name for name in os.listdir(root) if name != ".memtool"] == []


@pytest.mark.parametrize("key", ["title", "a b", "a: b\nc", "", "-", "created"])
def test_a_front_matter_key_is_a_plain_word(tmp_path: Path, key: str) -> None:
    with pytest.raises(UsageError):
        add(Vault.open(tmp_path), "Title", "Text.", {key: "x"})


def test_text_that_is_no_utf_8_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        add(Vault.open(tmp_path), "Title", "half \ud800")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["--all.md", "-rf.md", "--upload-pack=x.md"])
def test_a_name_like_an_option_is_just_a_name(tmp_path: Path, name: str) -> None:
    vault = Vault.open(tmp_path)
    apply(vault, Change(name, b"x"))

    assert vault.read(name) == b"x"
