"""How searches came about is kept, asked again, and explained; and why lines did not come."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Ran, write_notes

from memtool.embedders.fake import FakeEmbedder
from memtool.errors import PolicyError, UsageError
from memtool.memory.memory import Memory
from memtool.traces import traces

Run = Callable[..., Ran]
NOTES: dict[str, str | bytes] = {
    ".memtool/.gitignore": "state/\n",
    "ops/keys.md": "---\ntype: semantic\ntags: [house]\ncreated: 2026-01-02\n---\n"
    "# Keys\n\nSam has the spare keys.\n",
    "ops/doors.md": "# Doors\n\nThe green door sticks in winter.\n",
    "庭/水やり.md": "# 水やり\n\n水やりは朝六時に始める。\n",
    "庭/堆肥.md": "# 堆肥\n\n堆肥は月に一度混ぜる。\n",
    "archive/old.md": "# Old\n\nThe spare keys were under the mat.\n",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MEMTOOL_EMBEDDER", "none")
    monkeypatch.setenv("MEMTOOL_VAULT", str(tmp_path / "vault"))
    return write_notes(tmp_path / "vault", NOTES)


def opened(folder: Path, writer: str = "", *, fake: bool = False) -> Memory:
    return Memory.open(folder, writer=writer, embedder=FakeEmbedder() if fake else None)


# -- traces ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "path"), [("spare keys", "ops/keys.md"), ("水やりは何時", "庭/水やり.md")]
)
def test_a_search_leaves_a_trace_of_every_ranker(folder: Path, question: str, path: str) -> None:
    with opened(folder, fake=True) as memory:
        memory.refresh()
        memory.embed()
        answer = memory.search(question, min_score=-1, limit=2, types=())
        trace = memory.traces(1)[0]

    assert trace.question == question
    assert trace.settings == {"limit": 2, "min_score": -1}
    assert [one.anchor for one in trace.shown] == [str(hit.anchor) for hit in answer]
    best = next(one for one in trace.candidates if one.path == path)
    assert best.words > 0 and best.meaning is not None and best.final is not None
    assert trace.rankers == ("words", "vectors")


def test_traces_hold_no_text_of_a_note_and_are_nobody_elses(folder: Path) -> None:
    with opened(folder) as memory:
        memory.search("spare keys")
    file = folder / ".memtool/state" / traces.NAME

    assert "Sam" not in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("question", "secret"),
    [("is the password hunter2x right?", "hunter2x"), ("パスワードは hunter2x で合っている？", "hunter2x")],
)
def test_a_secret_in_a_question_is_masked_and_cannot_be_asked_again(
    folder: Path, question: str, secret: str
) -> None:
    with opened(folder) as memory:
        memory.search(question)
        text = (folder / ".memtool/state" / traces.NAME).read_text()

        assert secret not in text
        assert memory.traces()[0].masked
        with pytest.raises(UsageError, match="cannot be asked again"):
            memory.replay("last")


def test_a_bare_token_in_a_question_is_masked(folder: Path) -> None:
    token = "gh" + "p_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    with opened(folder) as memory:
        memory.search(f"where is {token} used")

    assert token not in (folder / ".memtool/state" / traces.NAME).read_text()


def test_an_ordinary_question_is_not_looked_through_for_secrets() -> None:
    plain = (
        "where do we meet in winter",
        "水やりはいつ始めますか？",
        "what was decided in 2025",
        "who is Sam's boss?",
    )

    assert [one for one in plain if traces._MAY_HOLD_SECRET.search(one)] == []


def test_traces_are_bounded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traces, "MOST", 3_000)
    with opened(folder) as memory:
        for number in range(60):
            memory.search(f"spare keys of door {number}")
        kept = memory.traces()

    state = folder / ".memtool/state"
    assert sorted(file.name for file in state.glob("traces*")) == [traces.BEFORE, traces.NAME]
    assert sum(file.stat().st_size for file in state.glob("traces*")) < 8_000
    assert kept[-1].question == "spare keys of door 59"


@pytest.mark.parametrize("off", ["environment", "vault"])
def test_traces_can_be_switched_off(folder: Path, off: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if off == "environment":
        monkeypatch.setenv("MEMTOOL_TRACE", "0")
    else:
        (folder / "memtool.toml").write_text("trace = false\n")
    with opened(folder) as memory:
        memory.search("spare keys")

        assert memory.traces() == []


def test_a_trace_that_cannot_be_kept_fails_no_search(folder: Path) -> None:
    (folder / ".memtool/state").mkdir(parents=True)
    (folder / ".memtool/state" / traces.NAME).mkdir()
    with opened(folder) as memory:
        assert memory.search("spare keys")


def test_a_torn_line_is_left_out(folder: Path) -> None:
    with opened(folder) as memory:
        memory.search("spare keys")
        with open(folder / ".memtool/state" / traces.NAME, "a") as stream:
            stream.write('{"id": "ab\n[]\nnull\n')

        assert len(memory.traces()) == 1


def test_an_agent_sees_its_own_searches_only(folder: Path) -> None:
    with opened(folder) as memory:
        memory.search("green door")
    with opened(folder, "agent/scribe") as memory:
        memory.search("spare keys")

        assert [one.question for one in memory.traces()] == ["spare keys"]


# -- asking again ----------------------------------------------------------------------------


def test_a_search_that_is_asked_again_gives_the_same(folder: Path) -> None:
    with opened(folder) as memory:
        memory.search("spare keys", types=["semantic"], limit=3)

        assert memory.replay("last").same


def test_asking_again_says_what_differs_and_which_notes_changed(folder: Path, run: Run) -> None:
    run("search", "水やり", "堆肥", cwd=folder)
    (folder / "庭/水やり.md").write_text("# 散水\n\n散水は夕方に。\n")
    (folder / "庭/堆肥.md").unlink()
    ran = run("trace", "replay", cwd=folder)

    assert ran.code == 1
    assert "changed since: 庭/水やり.md" in ran.out
    assert "gone from the hits: 庭/堆肥.md" in ran.out
    assert "no note any more: 庭/堆肥.md" in ran.out
    told = json.loads(run("trace", "replay", "last", "--json", cwd=folder).out)
    assert told["changed"] == ["庭/水やり.md"] and not told["same"]


def test_the_last_traces_are_shown(folder: Path, run: Run) -> None:
    assert run("trace", "last", cwd=folder).code == 1
    run("search", "spare", "keys", cwd=folder)
    run("search", "水やり", cwd=folder)
    ran = run("trace", "last", "2", cwd=folder)

    assert '"spare keys"' in ran.out and '"水やり"' in ran.out
    assert "shown  ops/keys.md" in ran.out
    told = json.loads(run("trace", "last", "2", "--json", cwd=folder).out)["traces"]
    assert [one["question"] for one in told] == ["spare keys", "水やり"]


# -- why -------------------------------------------------------------------------------------


def code(folder: Path, anchor: str, question: str, *, fake: bool = False, **settings: object) -> str:
    with opened(folder, fake=fake) as memory:
        return memory.why(anchor, question, **settings).code


def test_what_came_is_told_with_its_place(folder: Path) -> None:
    with opened(folder) as memory:
        found = memory.why("ops/keys.md:7-8", "spare keys")

    assert found.came
    assert "hit 1" in found.says


def test_what_is_not_there_is_told_apart_from_what_is_not_indexed(folder: Path) -> None:
    (folder / "ops/notes.txt").write_text("no note")

    assert code(folder, "ops/none.md", "spare keys") == "no-note"
    assert code(folder, "ops/notes.txt", "spare keys") == "not-indexed"


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"types": ["tool"]}, "its type is semantic, and --type tool"),
        ({"tags": ["garden"]}, "it has no tag garden"),
        ({"path": "庭/*"}, "its path does not match"),
        ({"since": "2026-02-01"}, "before --since"),
        ({"until": "2025-01-01"}, "after --until"),
    ],
)
def test_a_filter_that_left_it_out_is_named(folder: Path, settings: dict[str, object], reason: str) -> None:
    with opened(folder) as memory:
        found = memory.why("ops/keys.md", "spare keys", **settings)

    assert found.code == "filtered"
    assert reason in found.says


def test_the_archive_is_a_filter(folder: Path) -> None:
    assert code(folder, "archive/old.md", "spare keys") == "filtered"
    assert code(folder, "archive/old.md", "spare keys", archived=True) == "shown"


def test_what_the_policy_hides_is_not_explained(folder: Path) -> None:
    (folder / ".memtool/policy.toml").write_text('[scope."ops"]\nreaders = ["agent/planner"]\n')
    with opened(folder, "agent/scribe") as memory, pytest.raises(PolicyError):
        memory.why("ops/keys.md", "spare keys")


@pytest.mark.parametrize(
    ("anchor", "question", "close"),
    [("ops/doors.md:3-3", "grren wintry", "wint"), ("庭/堆肥.md", "spare keys", "")],
)
def test_no_word_in_common_names_the_closest(folder: Path, anchor: str, question: str, close: str) -> None:
    with opened(folder) as memory:
        found = memory.why(anchor, question)

    if found.code == "not-proposed":
        assert "no word in common" in found.says
        assert close in " ".join(found.numbers.get("closest words", [close]))
    else:
        assert found.code == "shown"  # a misspelling was taken for the word it is near


def test_what_is_below_the_line_is_told_by_how_much(folder: Path) -> None:
    with opened(folder) as memory:
        found = memory.why("ops/doors.md", "green keys", min_score=0.9)

    assert found.code == "below"
    assert found.numbers["below by"] == pytest.approx(0.9 - found.numbers["final"], abs=0.001)


def test_what_was_outranked_is_told_by_whom_and_in_which_ranker(folder: Path) -> None:
    with opened(folder) as memory:
        found = memory.why("庭/堆肥.md", "水やりは朝六時、堆肥は", limit=1)

    assert found.code == "outranked"
    assert found.numbers["place"] > 1
    assert found.numbers["before it"][0]["anchor"].startswith("庭/水やり.md")
    assert "ahead in words" in found.says


def test_the_same_text_is_shown_once(folder: Path) -> None:
    write_notes(folder, {"z/copy.md": "# Doors\n\nThe green door sticks in winter.\n"})
    codes = {code(folder, path, "green door sticks") for path in ("z/copy.md", "ops/doors.md")}

    assert codes == {"shown", "duplicate"}


def test_what_was_superseded_is_told_under_which_note(folder: Path) -> None:
    notes: dict[str, str | bytes] = {
        "b/phone-old.md": "---\ncreated: 2024-01-01\n---\n# Phone\n\nThe office phone number is 1234.\n",
        "b/phone.md": "---\ncreated: 2026-01-01\nsupersedes: b/phone-old.md\n---\n"
        "# Phone\n\nThe office phone number is 9876.\n",
    }
    write_notes(folder, notes)
    with opened(folder) as memory:
        found = memory.why("b/phone-old.md:6-6", "what is the office phone number now")

    assert found.code == "folded", found
    assert "folded under b/phone.md" in found.says


def test_the_vector_of_what_was_not_proposed_is_measured(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memtool.search import search

    monkeypatch.setattr(search, "PROPOSALS", 1)
    monkeypatch.setattr(search, "NOTES", 0)
    with opened(folder, fake=True) as memory:
        memory.refresh()
        memory.embed()
        found = memory.why("庭/堆肥.md", "spare keys of Sam", min_score=0.5)

    assert found.code == "not-proposed"
    assert "vector" in found.numbers and "would have scored" in found.numbers
    assert "below the line" in found.says


def test_why_on_the_command_line(folder: Path, run: Run) -> None:
    ran = run("why", "庭/堆肥.md", "水やり", "堆肥は", "--limit", "1", cwd=folder)
    told = json.loads(run("why", "庭/堆肥.md", "水やり", "堆肥は", "--limit", "1", "--json", cwd=folder).out)

    assert ran.code == (told["code"] != "shown")
    assert ran.out.startswith(told["says"])
