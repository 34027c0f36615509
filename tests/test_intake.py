"""Reading on a second processor: the same rows, and an end in every case."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from conftest import GARDEN, write_notes

from memtool.refresh import intake
from memtool.refresh.intake import Cutting, ReaderError, Same, Unread, Wanted
from memtool.vault import Vault


@pytest.fixture
def many(tmp_path: Path) -> Vault:
    garden = [file.read_bytes() for file in sorted(GARDEN.rglob("*.md"))]
    notes = {f"f{n % 7}/note {n}.md": garden[n % len(garden)] + b"\n%d\n" % n for n in range(400)}
    return Vault.open(write_notes(tmp_path / "v", dict(notes)))


def wanted(vault: Vault) -> list[Wanted]:
    return [Wanted(path, "") for path in vault.walk().stats]


def by_path(outcomes: object) -> dict[str, object]:
    return {outcome.path: outcome for outcome in outcomes}  # type: ignore[attr-defined]


def test_the_child_gives_the_same_rows_as_this_process(many: Vault) -> None:
    alone = {want.path: intake._one(many, want, Cutting()) for want in wanted(many)}

    assert by_path(intake.read(many, wanted(many), Cutting())) == alone


def test_the_child_really_takes_part(many: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    here: list[str] = []
    one = intake._one

    def count(vault: Vault, want: Wanted, cutting: Cutting) -> intake.Outcome:
        here.append(want.path)
        return one(vault, want, cutting)

    monkeypatch.setattr(intake, "_one", count)
    everything = list(intake.read(many, wanted(many), Cutting()))

    assert len(everything) == 400
    assert len(here) < 400


def children() -> set[int]:
    listed = subprocess.run(
        ["ps", "-o", "pid=,stat=,args=", "--ppid", str(os.getpid())],
        capture_output=True,
        text=True,
        check=False,
    )
    return {int(line.split()[0]) for line in listed.stdout.splitlines() if "ps -o" not in line}


def test_no_process_is_left_behind(many: Vault) -> None:
    before = children()
    list(intake.read(many, wanted(many), Cutting()))
    stopped = intake.read(many, wanted(many), Cutting())
    next(stopped)
    stopped.close()  # type: ignore[attr-defined]

    assert children() == before


def test_a_child_that_dies_is_an_error_and_no_hang(many: Vault) -> None:
    before = children()
    outcomes = intake.read(many, wanted(many), Cutting())
    next(outcomes)
    for pid in children() - before:
        os.kill(pid, 9)

    with pytest.raises(ReaderError) as raised:
        list(outcomes)

    assert "-9" in raised.value.why
    assert children() == before


def test_an_interrupt_from_the_terminal_does_not_reach_the_child(many: Vault) -> None:
    before = children()
    outcomes = intake.read(many, wanted(many), Cutting())
    first = next(outcomes)
    groups = {os.getpgid(pid) for pid in children() - before}

    assert groups
    assert os.getpgid(0) not in groups
    assert len([first, *outcomes]) == 400


def test_very_long_paths_do_not_make_both_wait_for_each_other(tmp_path: Path) -> None:
    deep = "/".join(["d" * 200] * 12)
    text = "a word and another\n\n" * 400
    vault = Vault.open(write_notes(tmp_path / "v", {f"{deep}/{n}.md": text for n in range(320)}))

    assert len(list(intake.read(vault, wanted(vault), Cutting()))) == 320


def test_nothing_in_the_current_folder_is_imported(many: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pickle", "signal", "queue", "memtool"):
        (many.root / f"{name}.py").write_text("open('ran.txt', 'w').close()\n", encoding="utf-8")
    monkeypatch.chdir(many.root)

    assert len(list(intake.read(many, wanted(many), Cutting()))) == 400
    assert not (many.root / "ran.txt").exists()


def test_bytes_that_are_as_before_are_not_parsed(many: Vault) -> None:
    path = next(iter(many.walk().stats))
    (first,) = intake.read(many, [Wanted(path, "")], Cutting())
    assert not isinstance(first, (Same, Unread))

    assert list(intake.read(many, [Wanted(path, first.blob)], Cutting())) == [Same(path)]


def test_a_note_that_cannot_be_read_is_an_outcome_like_others(many: Vault) -> None:
    (outcome,) = intake.read(many, [Wanted("not/there.md", "")], Cutting())

    assert isinstance(outcome, Unread)
    assert outcome.path == "not/there.md"


def test_a_program_that_reads_in_a_thread_without_a_main_guard_can_do_it_too(many: Vault) -> None:
    script = many.root.parent / "script.py"
    script.write_text(
        "import sys\nfrom memtool.refresh import intake\nfrom memtool.vault import Vault\n"
        "vault = Vault.open(sys.argv[1])\n"
        "wanted = [intake.Wanted(path, '') for path in vault.walk().stats]\n"
        "print(len(list(intake.read(vault, wanted, intake.Cutting()))))\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, str(script), str(many.root)], capture_output=True, text=True, check=False
    )

    assert (done.stdout, done.stderr) == ("400\n", "")
    assert threading.active_count() < 20
