"""What was shown, opened, cited, helpful: counted once, never lost, and never in the way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Ran, write_notes

from memtool.memory.memory import Memory
from memtool.note.anchor import Anchor
from memtool.usage import ledger, unopened, usage
from memtool.usage.ledger import Ledger
from memtool.usage.usage import Use
from memtool.vault import Vault

HEAP = "compost/hot-heap.md"


@pytest.fixture
def here(vault: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MEMTOOL_EMBEDDER", "none")
    monkeypatch.setenv("MEMTOOL_VAULT", str(vault))
    return vault


def counts(folder: Path) -> dict[str, Use]:
    return usage.counts(Vault.open(folder))


def test_each_event_is_counted_once_for_each_note(tmp_path: Path) -> None:
    vault = Vault.open(tmp_path)
    usage.record(vault, "shown", ["a.md:1-2", "b.md:3-4", "a.md:9-9"], question="鍵はどこ？", now=100)
    usage.record(vault, "opened", ["b.md"], now=200)
    usage.record(vault, "cited", [Anchor("b.md", 3, 4)], now=300)

    assert usage.counts(vault) == {
        "a.md": Use(shown=1, last=100, best=1),
        "b.md": Use(shown=1, opened=1, cited=1, last=300, best=2),
    }
    assert usage.questions(vault) == 1


def test_commands_count_what_they_show(here: Path, run: Callable[..., Ran]) -> None:
    run("search", "--lexical", "compost heap")
    run("show", f"{HEAP}:8-10")
    run("cite", f"{HEAP}:8-10")
    run("feedback", f"{HEAP}:8", "good")
    run("feedback", HEAP, "bad", "--reason", "it is out of date")

    use = counts(here)[HEAP]
    assert (use.shown, use.opened, use.cited, use.good, use.bad) == (1, 1, 1, 1, 1)
    assert use.reasons == ("it is out of date",)


def test_nothing_is_counted_where_nobody_wants_it(
    here: Path, run: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    run("search", "--lexical", "--no-log", "compost heap")
    run("show", "--no-log", HEAP)
    run("cite", "--no-log", HEAP)
    monkeypatch.setenv("MEMTOOL_USAGE", "0")
    ran = run("search", "--lexical", "compost heap")

    assert counts(here) == {}
    assert "not a setting" not in ran.err


def test_python_asks_without_a_trace(here: Path) -> None:
    with Memory.open(here) as memory:
        memory.search("compost")
        memory.show(HEAP)

    assert counts(here) == {}


def test_the_ledger_holds_no_text_of_a_note_and_no_question(here: Path, run: Callable[..., Ran]) -> None:
    run("search", "--lexical", "nettle feed bucket", "--limit", "1")
    run("show", "規則/会費 2026年.md")
    text = (here / ".memtool/state/usage.jsonl").read_text(encoding="utf-8")

    assert "bucket" not in text and "ten litres" not in text and "年会費" not in text
    assert {tuple(sorted(json.loads(line))) for line in text.splitlines()} == {
        ("e", "n", "q", "w"),
        ("e", "n", "w"),
    }


def test_session_and_writer_are_kept(
    here: Path, run: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMTOOL_WRITER", "agent/scribe")
    monkeypatch.setenv("MEMTOOL_SESSION", "s1")
    run("show", HEAP)
    event = next(usage.events(Vault.open(here), session="s1"))

    assert (event.event, event.anchors, event.writer) == ("opened", (Anchor(HEAP, 0, 0),), "agent/scribe")
    assert list(usage.events(Vault.open(here), session="s2")) == []


def test_a_reason_is_kept_without_its_secrets(here: Path) -> None:
    with Memory.open(here) as memory:
        memory.feedback(HEAP, good=True, reason="it works, the password is hunter2xyzzy")

    assert "hunter2xyzzy" not in (here / ".memtool/state/usage.jsonl").read_text()


@pytest.mark.parametrize("anchor", ["nowhere.md", f"{HEAP}:900", "../x.md", ""])
def test_only_lines_that_are_there_can_be_judged(here: Path, run: Callable[..., Ran], anchor: str) -> None:
    assert run("feedback", anchor, "good").code == 2
    assert counts(here) == {}


# -- never in the way ------------------------------------------------------------------------


@pytest.mark.parametrize("obstacle", ["folder", "pipe", "link", "full"])
def test_a_ledger_that_cannot_be_written_fails_no_search(
    here: Path, run: Callable[..., Ran], obstacle: str
) -> None:
    before = run("search", "--lexical", "--no-log", "compost heap")
    log = here / ".memtool/state/usage.jsonl"
    log.parent.mkdir(exist_ok=True)
    if obstacle == "folder":
        log.mkdir()
    elif obstacle == "pipe":
        os.mkfifo(log)
    else:
        log.symlink_to("/dev/full" if obstacle == "full" else here / "outside")
    ran = run("search", "--lexical", "compost heap")

    assert (ran.code, ran.out) == (0, before.out)
    assert "usage was not recorded" in ran.err
    assert not (here / "outside").exists()


def test_a_torn_record_costs_only_itself(tmp_path: Path) -> None:
    vault = Vault.open(tmp_path)
    usage.record(vault, "opened", ["a.md"])
    log = vault.state / "usage.jsonl"
    with log.open("ab") as stream:
        stream.write(b'{"e":"opened","n":[["b.md",')
    usage.record(vault, "opened", ["c.md"])
    with log.open("ab") as stream:
        stream.write(b'{"e":"opened"}\nnull\n[1]\n{"e":"opened","n":[1],"w":"x"}\n\xff\xfe\n{"e":"op')

    assert {path: use.opened for path, use in usage.counts(vault).items()} == {"a.md": 1, "c.md": 1}


def test_the_log_stays_small_and_no_count_is_lost(tmp_path: Path) -> None:
    vault = Vault.open(tmp_path)
    place = usage._ledger(vault)._replace(most=2_000)
    vault.prepare(vault.state)
    for number in range(500):
        ledger.append(place, {"e": "opened", "w": number, "n": [[f"n{number % 7}.md", 0, 0]]})
        assert place.log.stat().st_size <= 2_100
    counted = usage.counts(vault)

    assert sum(use.opened for use in counted.values()) == 500
    assert counted["n0.md"] == Use(opened=72, last=497)


def test_dying_between_folding_and_emptying_counts_nothing_twice(tmp_path: Path) -> None:
    vault = Vault.open(tmp_path)
    for _ in range(10):
        usage.record(vault, "opened", ["a.md"])
    place = usage._ledger(vault)
    log = place.log.read_bytes()
    ledger.fold(place)
    place.log.write_bytes(log)
    usage.record(vault, "opened", ["a.md"])

    assert usage.counts(vault)["a.md"].opened == 11
    ledger.fold(place)
    assert usage.counts(vault)["a.md"].opened == 11


def test_more_notes_than_are_kept_become_one_sum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage, "_MOST_NOTES", 10)
    vault = Vault.open(tmp_path)
    for number in range(30):
        usage.record(vault, "opened", [f"n{number}.md"], now=number)
    ledger.fold(usage._ledger(vault))
    sums = ledger.tally(usage._ledger(vault))["notes"]

    assert sum(row[1] for row in sums.values()) == 30
    assert set(usage.counts(vault)) == {f"n{number}.md" for number in range(20, 30)}


def test_processes_that_record_at_once_lose_nothing(tmp_path: Path) -> None:
    code = """
import sys
from memtool.usage import ledger
from memtool.usage import usage
from memtool.vault import Vault
vault = Vault.open(sys.argv[1])
vault.prepare(vault.state)
place = usage._ledger(vault)._replace(most=20_000)
for number in range(200):
    ledger.append(place, {"e": "opened", "w": number, "n": [[f"{sys.argv[2]}.md", 0, 0]]}, patience_s=30)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), name], env=environment)
        for name in "abcdefgh"
    ]

    assert [process.wait() for process in running] == [0] * 8
    assert {path: use.opened for path, use in counts(tmp_path).items()} == {
        f"{name}.md": 200 for name in "abcdefgh"
    }


def test_damaged_sums_are_kept_aside(tmp_path: Path) -> None:
    place = Ledger(tmp_path, "x", lambda sums, record: None)
    place.sums.write_bytes(b"{half")

    assert ledger.tally(place) == {}
    assert place.sums.with_suffix(".damaged").read_bytes() == b"{half"


# -- renames ---------------------------------------------------------------------------------


def test_counts_follow_a_moved_note(git_vault: Path) -> None:
    with Memory.open(git_vault, embedder="none") as memory:
        memory.feedback(HEAP, good=True)
        moved = memory.move(HEAP, "compost/堆肥.md")
        assert memory.usage(moved)[moved].good == 1
        assert HEAP not in memory.usage()


def test_counts_follow_a_rename_that_only_git_knows(git_vault: Path) -> None:
    with Memory.open(git_vault, embedder="none") as memory:
        memory.feedback(HEAP, good=True)
        for command in (
            ["mv", HEAP, "heap.md"],
            ["commit", "-qm", "x"],
            ["mv", "heap.md", "h.md"],
            ["commit", "-qm", "y"],
        ):
            subprocess.run(["git", *command], cwd=git_vault, check=True)

        assert memory.usage("h.md")["h.md"].good == 1


# -- unopened --------------------------------------------------------------------------------


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return write_notes(
        tmp_path / "small",
        {
            "ops/keys.md": "---\ntitle: Keys\ndescription: where keys are\n---\n\nThe spare key is here.\n",
            "ops/doors.md": "---\ntitle: Doors\ndescription: doors\n---\n\nThe key of the door is blue.\n",
            "old.md": "---\ntitle: Old fees\n---\n\nTen.\n",
            "new.md": "---\ntitle: New fees\nsupersedes: old.md\ndescription: x\n---\n\nTwelve.\n",
            "無題.md": "---\ntitle: 無題\n---\n\n会費は五月に集める。\n",
            "archive/gone.md": "---\ntitle: Gone\n---\n\nLong ago.\n",
        },
    )


def causes(found: list[unopened.Unopened]) -> dict[str, list[str]]:
    return {one.path: [cause.code for cause in one.causes] for one in found}


def test_every_note_that_nobody_opened_is_named_with_its_reasons(small: Path) -> None:
    with Memory.open(small, embedder="none") as memory:
        memory.catalog()
        memory.add("Late.", title="Late", folder="ops", meta={"description": "late"})
        usage.record(memory.vault, "shown", ["ops/doors.md:6-6", "ops/keys.md:6-6"], question="key")
        usage.record(memory.vault, "opened", ["ops/doors.md"])
        found = memory.unopened()

    assert causes(found) == {
        "old.md": ["superseded"],
        "archive/gone.md": ["archived"],
        "ops/late.md": ["unlisted", "far"],
        "無題.md": ["unnamed", "undescribed", "far"],
        "ops/keys.md": ["low"],
        "new.md": ["far"],
    }
    assert all(
        cause.what and (cause.fix or cause.code == "archived") for one in found for cause in one.causes
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_note_that_cannot_be_read_comes_first(small: Path) -> None:
    (small / "new.md").chmod(0)
    with Memory.open(small, embedder="none") as memory:
        found = memory.unopened()

    assert (found[0].path, found[0].causes[0].code) == ("new.md", "unreadable")


def test_the_catalog_of_another_folder_lists_its_notes(small: Path) -> None:
    for number in range(300):
        write_notes(
            small, {f"many/n {number}.md": f"---\ntitle: Number {number}\ndescription: d\n---\n\nx\n"}
        )
    with Memory.open(small, embedder="none") as memory:
        memory.catalog()

        assert "unlisted" not in {cause.code for one in memory.unopened() for cause in one.causes}


def test_nobody_is_told_of_notes_they_may_not_read(small: Path) -> None:
    (small / ".memtool").mkdir()
    (small / ".memtool/policy.toml").write_text('[scope."ops"]\nreaders = ["human"]\n', encoding="utf-8")
    with Memory.open(small, embedder="none", writer="agent/a") as memory:
        usage.record(memory.vault, "shown", ["ops/keys.md", "new.md"])

        assert set(memory.usage()) == {"new.md"}
        assert not [one for one in memory.unopened() if one.path.startswith("ops/")]


def test_unopened_says_no_when_there_is_something_to_do(small: Path, run: Callable[..., Ran]) -> None:
    ran = run("unopened", "--vault", str(small), "--json")
    told = json.loads(ran.out)

    assert (ran.code, told["count"]) == (1, 6)
    assert set(told["notes"][0]) == {"path", "title", "use", "causes"}
