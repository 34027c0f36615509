"""The files of units of work: many side by side, whole or not at all, and never trusted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from memtool.errors import UsageError
from memtool.memory.memory import Memory
from memtool.note.anchor import Anchor
from memtool.session import session, sessions
from memtool.session.sessions import Event, Unit
from memtool.vault import Vault

PROJECTION = session.random_basis(48)


def full_unit(name: str, size: str = "32x32") -> Unit:
    state = session.State.empty(session.SHAPES[size], PROJECTION)
    vector = session.unit(np.arange(48.0))
    state = session.opened(session.asked(state, PROJECTION, vector), PROJECTION, -vector)
    events = (Event("2026-03-01T12:00:00Z", "asked", "鍵はどこ？", 0.5),)
    anchors = (Anchor("a b.md", 3, 5), Anchor("病害虫/うどんこ病.md", 0, 0))
    return Unit(name, size, "print", PROJECTION.ident, state, anchors, events, (("鍵", 1.0), ("key", 0.7)))


def keep(vault: Vault, unit: Unit) -> Path:
    sessions.change(vault, unit.name, lambda _: unit)
    return sessions.file_of(vault, unit.name)


@pytest.fixture
def place(tmp_path: Path) -> Vault:
    return Vault.open(tmp_path)


@pytest.mark.parametrize("size", session.SHAPES)
def test_a_unit_comes_back_as_it_was_kept(place: Vault, size: str) -> None:
    unit = full_unit("relaunch", size)
    keep(place, unit)

    kept, finding = sessions.load(place, "relaunch")
    assert finding is None
    assert kept is not None and kept.state is not None and unit.state is not None
    np.testing.assert_allclose(kept.state.matrix, unit.state.matrix, atol=2e-3)
    assert kept.state.fits(PROJECTION)
    assert kept._replace(state=None) == unit._replace(state=None)
    assert kept.state.updates == 2
    assert kept.alpha == 0.5


@pytest.mark.parametrize(
    ("size", "most"), [("8x8", 1_000), ("16x16", 1_800), ("32x32", 4_000), ("multi-head", 40_000)]
)
def test_a_file_is_small(place: Vault, size: str, most: int) -> None:
    projection = session.random_basis(384)
    state = session.State.empty(session.SHAPES[size], projection)
    vector = session.unit(np.arange(384.0))
    state = session.asked(state, projection, vector)

    file = keep(place, Unit("u", size, "print", projection.ident, state))

    assert file.stat().st_size < most


@pytest.mark.parametrize(
    "name", ["relaunch", "城の件 2", "../../outside", "a/b", "CON", ".hidden", "%2e", "x" * 80, "emoji 🌱"]
)
def test_a_unit_may_be_called_anything_and_stays_in_its_folder(place: Vault, name: str) -> None:
    file = keep(place, full_unit(name))

    assert file.parent == place.state / "sessions"
    assert sorted(path.name for path in file.parent.iterdir()) == sorted([file.name, "lock"])
    kept, _ = sessions.load(place, name)
    assert kept is not None and kept.name == name
    assert [one.name for one in sessions.listed(place)[0]] == [name]


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 121, "\ud800", "é\u202e", "鍵" * 81])
def test_what_is_no_name_is_refused(place: Vault, name: str) -> None:
    with pytest.raises(UsageError):
        sessions.load(place, name)


def test_a_size_that_there_is_not_is_refused() -> None:
    with pytest.raises(UsageError, match="64x64"):
        sessions.check_size("64x64")


def edit(file: Path, **changes: object) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


DAMAGE: dict[str, Callable[[Path], object]] = {
    "empty": lambda file: file.write_bytes(b""),
    "cut off": lambda file: file.write_bytes(file.read_bytes()[:200]),
    "not UTF-8": lambda file: file.write_bytes(b"\xff\xfe" + file.read_bytes()),
    "a list": lambda file: file.write_text("[]"),
    "another format": lambda file: edit(file, format="memtool session state 99"),
    "a key is missing": lambda file: file.write_text('{"format": "memtool session state 1"}'),
    "another size": lambda file: edit(file, size="7x7"),
    "a huge matrix": lambda file: edit(file, matrix={"shape": [99_999, 99_999], "float16": "AAAA"}),
    "not a number": lambda file: edit(file, matrix={"shape": [1, 1], "float16": "AH4="}),
    "no base64": lambda file: edit(file, matrix={"shape": [1, 1], "float16": "!!"}),
    "deep": lambda file: file.write_text("[" * 100_000),
    "opened is no list": lambda file: edit(file, opened=7),
    "a folder": lambda file: (file.unlink(), file.mkdir()),
    "a pipe": lambda file: (file.unlink(), os.mkfifo(file)),
    "a link": lambda file: (file.rename(file.with_name("other")), file.symlink_to("other")),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_a_finding_and_starts_empty(place: Vault, damage: str) -> None:
    file = keep(place, full_unit("relaunch"))
    keep(place, full_unit("other work"))
    DAMAGE[damage](file)

    kept, finding = sessions.load(place, "relaunch")

    assert kept is None
    assert finding is not None and finding.code == "session-damaged"
    assert "relaunch" in finding.what and finding.fix
    units, wrong = sessions.listed(place)
    assert [one.name for one in units if one.name != "relaunch"] == ["other work"]
    assert wrong or damage in (
        "another size",
        "a huge matrix",
        "not a number",
        "no base64",
        "opened is no list",
    )


@pytest.mark.parametrize("damage", [name for name in DAMAGE if name != "a folder"])
def test_the_next_update_replaces_a_damaged_file(place: Vault, damage: str) -> None:
    file = keep(place, full_unit("relaunch"))
    DAMAGE[damage](file)

    keep(place, full_unit("relaunch"))

    assert sessions.load(place, "relaunch")[0] is not None
    assert not file.is_symlink()


def test_a_folder_that_leads_out_of_the_vault_is_not_followed(place: Vault, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    keep(place, full_unit("relaunch"))
    sessions.folder(place).rename(outside)
    sessions.folder(place).symlink_to(outside)
    before = (outside / "relaunch.json").read_bytes()

    assert sessions.load(place, "relaunch")[0] is None
    keep(place, full_unit("relaunch", "8x8"))

    assert (outside / "relaunch.json").read_bytes() == before
    kept, _ = sessions.load(place, "relaunch")
    assert kept is not None and kept.size == "8x8"


def test_dropping_one_unit_leaves_the_others(place: Vault) -> None:
    keep(place, full_unit("a"))
    keep(place, full_unit("b"))

    assert sessions.drop(place, "a")
    assert not sessions.drop(place, "a")
    assert [one.name for one in sessions.listed(place)[0]] == ["b"]


def test_what_is_remembered_beside_the_matrix_is_bounded(place: Vault) -> None:
    unit = full_unit("long")
    many = unit._replace(
        opened=tuple(Anchor(f"{n}.md", 1, 2) for n in range(500)),
        events=unit.events * 100,
        words=tuple((f"word{n}", 1.0) for n in range(500)),
    )
    keep(place, many)

    kept, _ = sessions.load(place, "long")
    assert kept is not None
    assert len(kept.opened) == sessions.MOST_OPENED and kept.opened[-1].path == "499.md"
    assert len(kept.events) == sessions.MOST_EVENTS
    assert len(kept.words) == sessions.MOST_WORDS


def test_a_failed_write_leaves_the_old_state_and_no_scraps(place: Vault) -> None:
    keep(place, full_unit("a"))

    def fail(_: Unit | None) -> Unit:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        sessions.change(place, "a", fail)

    assert sessions.load(place, "a")[0] is not None
    assert sorted(path.name for path in sessions.folder(place).iterdir()) == ["a.json", "lock"]


COUNT_UP = """
import sys
from memtool.session import sessions
from memtool.session.sessions import Event, Unit
from memtool.vault import Vault
vault, who = Vault.open(sys.argv[1]), sys.argv[2]
for number in range(20):
    def more(kept):
        kept = kept or Unit("shared", "8x8")
        words = dict(kept.words)
        words[who] = words.get(who, 0.0) + 1.0
        return kept._replace(words=tuple(words.items()), events=(*kept.events, Event("", "said", who)))
    sessions.change(vault, "shared", more, patience_s=9.0)
"""


def test_two_processes_at_once_lose_no_update(place: Vault) -> None:
    command = [sys.executable, "-c", COUNT_UP, str(place.root)]
    both = [subprocess.Popen([*command, who]) for who in ("one", "two")]

    assert [process.wait() for process in both] == [0, 0]
    kept, finding = sessions.load(place, "shared")
    assert finding is None and kept is not None
    assert dict(kept.words) == {"one": 20.0, "two": 20.0}


def test_a_state_is_nobody_elses_business_and_no_part_of_git(
    git_vault: Path, open_memory: Callable[..., Memory]
) -> None:
    with open_memory(git_vault) as memory:
        memory.search("how hot is the heap", session="private")
        file = sessions.file_of(memory.vault, "private")

    seen = subprocess.run(["git", "status", "--porcelain"], cwd=git_vault, capture_output=True, text=True)
    assert file.stat().st_mode & 0o077 == 0
    assert seen.stdout == ""
