"""What was said is kept: numbered, masked, whole, whoever writes at once, however much it grows."""

from __future__ import annotations

import json
import multiprocessing
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from conftest import NOW, Ran

from memtool.errors import UsageError
from memtool.folding import turns
from memtool.vault import Vault


def say(vault: Vault, text: str, session: str = "s1", role: str = "user") -> turns.Turn:
    return turns.append(vault, session, role, text, NOW)


@pytest.fixture
def home(vault: Path) -> Vault:
    return Vault.open(vault)


def test_turns_come_back_in_order_with_number_digest_and_time(home: Vault) -> None:
    say(home, "Where is the key?")
    say(home, "鍵は青い缶の中です。", role="assistant")

    found = turns.load(home, "s1")

    assert [(turn.number, turn.role, turn.text) for turn in found] == [
        (1, "user", "Where is the key?"),
        (2, "assistant", "鍵は青い缶の中です。"),
    ]
    assert found[0].when == "2026-03-01T12:00:00Z"
    assert len({turn.digest for turn in found}) == 2


def test_a_secret_is_masked_before_it_is_kept(home: Vault) -> None:
    secret = "hunter2" + "Secret9"

    say(home, f"the password is {secret}")

    kept = b"".join(file.read_bytes() for file in home.state.rglob("*") if file.is_file())
    assert secret.encode() not in kept
    assert "the password is" in turns.load(home, "s1")[0].text


@pytest.mark.parametrize("session", ["../../etc/passwd", "", "大和", "S1", "a" * 300, "a\0b", "x.y/z", "-rf"])
def test_any_name_of_a_session_stays_in_its_folder(home: Vault, session: str) -> None:
    say(home, "one", session=session)
    say(home, "other", session="s1")

    assert [turn.text for turn in turns.load(home, session)] == ["one"]
    assert all(file.is_relative_to(home.state) for file in home.private.rglob("*.jsonl"))


def test_two_sessions_never_share_a_file(home: Vault) -> None:
    for session in ("a/b", "a-b", "A/B", "a b"):
        say(home, session, session=session)

    assert [turns.load(home, session)[0].text for session in ("a/b", "a-b", "A/B", "a b")] == [
        "a/b", "a-b", "A/B", "a b",
    ]  # fmt: skip


def test_a_role_or_a_text_that_is_none_is_refused(home: Vault) -> None:
    with pytest.raises(UsageError, match="no role"):
        say(home, "hello", role="root")
    with pytest.raises(UsageError, match="no text"):
        say(home, " \n")


def test_a_torn_line_costs_only_itself(home: Vault) -> None:
    say(home, "one")
    file = next(home.state.rglob("*.jsonl"))
    file.write_bytes(file.read_bytes() + b'{"number": 2, "role": "user", "te')

    say(home, "three")

    assert [(turn.number, turn.text) for turn in turns.load(home, "s1")] == [(1, "one"), (2, "three")]


@pytest.mark.parametrize(
    "line",
    [
        "[]",
        "null",
        "3",
        '{"number": 9}',
        '{"number": 9, "role": "user", "text": "x", "digest": "0", "when": ""}',
    ],
)
def test_a_line_that_is_no_turn_is_none(home: Vault, line: str) -> None:
    say(home, "one")
    file = next(home.state.rglob("*.jsonl"))
    file.write_text(file.read_text(encoding="utf-8") + line + "\n", encoding="utf-8")

    assert [turn.text for turn in turns.load(home, "s1")] == ["one"]


def test_a_link_in_the_place_of_turns_is_not_followed(home: Vault, tmp_path: Path) -> None:
    outside = tmp_path / "outside.jsonl"
    outside.write_text("mine\n", encoding="utf-8")
    (home.state / "turns").mkdir(parents=True)
    (home.state / "turns" / "s1.jsonl").symlink_to(outside)

    assert turns.load(home, "s1") == []
    with pytest.raises(OSError, match="symbolic"):
        say(home, "leak")
    assert outside.read_text(encoding="utf-8") == "mine\n"


def test_a_pipe_in_the_place_of_turns_holds_nobody_up(home: Vault) -> None:
    (home.state / "turns").mkdir(parents=True)
    os.mkfifo(home.state / "turns" / "s1.jsonl")

    assert turns.load(home, "s1") == []


def test_full_files_are_put_aside_and_every_turn_is_still_found(
    home: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "FULL", 400)

    for number in range(1, 31):
        assert say(home, f"turn of number {number}").number == number

    assert [turn.number for turn in turns.load(home, "s1")] == list(range(1, 31))
    assert [turn.number for turn in turns.load(home, "s1", last=3)] == [28, 29, 30]
    assert turns.find(home, "s1", "turn 2").text == "turn of number 2"


def test_the_oldest_turns_go_first_and_cited_ones_never(home: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "FULL", 400)
    monkeypatch.setattr(turns, "MOST", 1500)
    cited = say(home, "the first word")
    turns.hold(home, "s1", [cited.number])

    for number in range(60):
        say(home, f"small talk {number}")

    kept = [turn.number for turn in turns.load(home, "s1")]
    assert kept[0] == cited.number
    assert 2 not in kept
    assert kept[-1] == 61
    assert len(kept) < 40
    assert turns.find(home, "s1", f"[{cited.citation}]") == cited


def test_a_citation_of_another_text_is_refused(home: Vault) -> None:
    turn = say(home, "one")

    assert turns.find(home, "s1", f"turn {turn.number}@{turn.digest[:7]}") == turn
    for wrong in ("turn 1@0000000", "turn 9", "word", "turn -1", "1@"):
        with pytest.raises(UsageError):
            turns.find(home, "s1", wrong)


def test_a_huge_turn_is_kept_at_both_ends(home: Vault) -> None:
    text = say(home, "aaa " * 40_000 + "bbb " * 40_000).text

    assert len(text) < turns.LONGEST + 100
    assert text.startswith("aaa")
    assert text.endswith("bbb ")
    assert "characters left out" in text


def test_a_blob_is_told_of_and_not_kept(home: Vault) -> None:
    assert (
        say(home, f"see data:{'QUJD' * 50_000} there").text
        == "see [200005 characters without a space left out] there"
    )


def test_text_of_any_characters_comes_back(home: Vault) -> None:
    for text in ("a\u2028b\x0cc", "\ud800 lone", "line\r\nline", "\x1b[31mred", "🐙"):
        say(home, text)

    found = [turn.text for turn in turns.load(home, "s1")]
    assert found == ["a\u2028b\x0cc", "? lone", "line\r\nline", "\x1b[31mred", "🐙"]


def _say_many(root: Path, name: str) -> None:
    vault = Vault.open(root)
    for number in range(20):
        turns.append(
            vault, "s1", "user", f"{name} {number}", datetime(2026, 3, 1, tzinfo=UTC) + timedelta(number)
        )


def test_processes_that_write_at_once_lose_nothing(vault: Path) -> None:
    context = multiprocessing.get_context("spawn")
    crowd = [context.Process(target=_say_many, args=(vault, f"process {n}")) for n in range(3)]
    for one in crowd:
        one.start()
    for one in crowd:
        one.join()

    found = turns.load(Vault.open(vault), "s1")
    assert [turn.number for turn in found] == list(range(1, 61))
    assert len({turn.text for turn in found}) == 60


def test_the_command_keeps_lists_and_shows(vault: Path, run) -> None:  # type: ignore[no-untyped-def]
    def turn(*arguments: str, stdin: str = "") -> Ran:
        return run("turn", "--vault", str(vault), *arguments, "--session", "s1", stdin=stdin)  # type: ignore[no-any-return]

    assert turn("--list").code == 1
    assert turn("user", "Where is the key?").code == 0
    assert turn("assistant", stdin="In the\nblue \x1b[31mtin.").code == 0
    listed = json.loads(turn("--list", "--json").out)["turns"]
    assert [one["role"] for one in listed] == ["user", "assistant"]
    assert "\x1b" not in turn("show", "2").out
    assert "blue" in turn("show", "turn", f"2@{listed[1]['digest'][:7]}").out
    assert turn("show", "7").code == 2
    assert turn("boss", "hello").code == 2
    assert turn().code == 2
