"""The contract with scripts: exit codes, streams, JSON, and what may reach a terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Ran, write_notes

from memtool.cli.commands import COMMANDS

Run = Callable[..., Ran]
LEXICAL = ["--lexical"]


@pytest.fixture(autouse=True)
def by_words(monkeypatch: pytest.MonkeyPatch, vault: Path) -> None:
    monkeypatch.setenv("MEMTOOL_EMBEDDER", "none")
    monkeypatch.setenv("MEMTOOL_VAULT", str(vault))


def spawn(*arguments: str, **more: Any) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "memtool", *arguments], capture_output=True, check=False, **more
    )


# -- exit codes --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--help"], 0),
        (["--version"], 0),
        (["search", "spare keys"], 0),
        (["search", "zyzzyva"], 1),
        (["search", "zyzzyva", "--json"], 1),
        (["search"], 2),
        (["search", "keys", "--limit", "0"], 2),
        (["search", "keys", "--limit", "many"], 2),
        (["search", "keys", "--lexical", "--semantic"], 2),
        (["search", "keys", "--semantic"], 2),
        (["search", "keys", "--no-such-flag"], 2),
        (["search", "keys", "--lex"], 2),
        (["show", "compost/hot-heap.md:1-3"], 0),
        (["show", "nothing.md"], 2),
        (["status"], 0),
        (["index"], 0),
        (["catalog", "--dry-run"], 0),
        (["conjure"], 2),
        ([], 2),
        (["search", "keys", "--vault", "/no/such/place"], 2),
        (["eval", "/no/such/cases.jsonl"], 2),
        (["set", "compost/hot-heap.md", "nonsense"], 2),
        (["set", "nothing.md", "a=b"], 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_the_exit_code_says_how_it_went(run: Run, arguments: list[str], code: int) -> None:
    ran = run(*arguments)

    assert ran.code == code
    assert "Traceback" not in ran.err
    if code == 2:
        assert ran.out == ""
        assert ran.err.startswith("memtool: ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["serach", "keys"], ["no command `serach`", "the nearest is `memtool search`"]),
        (["鍵"], ["no command `鍵`", "there are init, index,", "run `memtool --help`"]),
        (["search", "keys", "--no-such-flag"], ["--no-such-flag", "run `memtool search --help`"]),
        (["add", "x", "--folder", "../out"], ["`../out` can be no folder of this vault"]),
    ],
)
def test_what_is_mistyped_is_named_with_what_helps(run: Run, arguments: list[str], said: list[str]) -> None:
    told = run(*arguments).err

    assert [words for words in said if words not in told] == []
    assert "choose from" not in told


def test_check_says_no_when_something_is_odd(run: Run, vault: Path) -> None:
    (vault / "odd.md").write_text("```\nnot closed\n", encoding="utf-8")
    ran = run("check")

    assert ran.code == 1
    assert any(line.startswith("odd.md:1: ") for line in ran.out.split("\n"))


def test_a_paused_loss_is_a_no(run: Run, vault: Path) -> None:
    run("index")
    for file in vault.rglob("*.md"):
        file.unlink()

    assert run("index").code == 1
    assert run("index", "--accept-loss").code == 0
    assert run("index").code == 0


def test_a_bug_shows_its_traceback(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from memtool.memory.memory import Memory

    def burst(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(Memory, "open", burst)
    ran = run("status")

    assert ran.code == 3
    assert "ZeroDivisionError: a bug" in ran.err


def test_an_interrupt_is_130(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from memtool.memory.memory import Memory

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Memory, "open", interrupt)

    assert run("status")[::2] == (130, "interrupted\n")


def test_an_unknown_command_names_the_known_ones(run: Run) -> None:
    assert "search" in run("conjure").err


# -- JSON --------------------------------------------------------------------------------


def keys(value: Any) -> set[str]:
    return set(value)


def test_a_search_as_json_is_one_document_with_the_documented_keys(run: Run) -> None:
    document = json.loads(run("search", "spare keys", "--json", "--explain").out)

    assert keys(document) == {
        "question",
        "hits",
        "confidence",
        "sure",
        "threshold",
        "freshness",
        "leant",
        "notice",
        "misses",
    }
    hit = document["hits"][0]
    expected = "anchor path start end score title headings day focus lines evidence"
    assert set(expected.split()) <= keys(hit)
    assert hit["anchor"] == f"{hit['path']}:{hit['start']}-{hit['end']}"
    expected = "notes looked added changed removed unread covered rankers revision remarks current text"
    assert set(expected.split()) <= keys(document["freshness"])


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["show", "compost/hot-heap.md:1-2", "--json"], "anchor lines notice"),
        (
            ["--json", "status"],
            "root revision branch notes chunks ahead embedder coverage index_bytes vector_bytes findings",
        ),
        (["index", "--json"], "added changed removed unchanged unread paused coverage findings"),
        (["check", "--json"], "findings"),
        (["catalog", "--dry-run", "--json"], "pages changed stale findings"),
        (["add", "A new thing.", "--json"], "anchor path"),
        (["set", "compost/hot-heap.md", "status=done", "--json"], "anchor path"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_every_command_prints_one_document_with_these_keys(
    run: Run, arguments: list[str], expected: str
) -> None:
    assert set(expected.split()) <= keys(json.loads(run(*arguments).out))


def test_init_as_json_is_one_document(run: Run, tmp_path: Path) -> None:
    document = json.loads(run("init", str(tmp_path / "new"), "--json").out)

    assert keys(document) == {"vault", "files", "git"}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["show", "nothing.md"], "path"),
        (["search", "keys", "--limit", "0"], "usage"),
        (["conjure"], "usage"),
        (["search", "keys", "--vault", "/no/such/place"], "vault"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_an_error_as_json_is_one_document_on_standard_error(
    run: Run, arguments: list[str], code: str
) -> None:
    ran = run(*arguments, "--json")
    told = json.loads(ran.err)

    assert (ran.code, ran.out) == (2, "")
    assert keys(told) == {"error"}
    assert keys(told["error"]) == {"code", "what", "why", "fix"}
    assert told["error"]["code"] == code


# -- streams -----------------------------------------------------------------------------


def test_what_is_no_result_goes_to_standard_error(run: Run) -> None:
    ran = run("search", "zyzzyva")

    assert ran.out == ""
    assert ran.err.split("\n")[0] == 'no hits for "zyzzyva"'


def test_every_line_about_a_finding_begins_with_its_place(run: Run, vault: Path) -> None:
    write_notes(vault, {"one.md": "```\nopen", "two.md": "---\ntitle: [x\n---\ntext"})
    lines = run("check").out.rstrip("\n").split("\n")

    assert all(line.split(":")[0].endswith((".md", ".markdown", ".")) for line in lines)


def test_a_reader_that_goes_away_is_no_error(vault: Path) -> None:
    (vault / "long.md").write_text(
        "\n\n".join(f"needle {n} " + "x" * 700 for n in range(800)), encoding="utf-8"
    )
    command = f"{sys.executable} -m memtool search needle --limit 900 --min-score=-1 | head -c 10"
    done = subprocess.run(command, shell=True, capture_output=True, check=False)

    assert len(done.stdout) == 10
    assert done.stderr == b""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_disk_is_named_and_no_bug() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "memtool", "search", "spare keys"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )

    assert done.returncode == 2
    assert b"cannot be written" in done.stderr


def test_a_terminal_without_japanese_still_shows_something() -> None:
    done = spawn("search", "草刈り機", env={**os.environ, "PYTHONIOENCODING": "ascii"})

    assert done.returncode == 0
    assert b"\\u8349" in done.stdout


def test_the_question_may_come_in_several_words_and_hold_a_command_name(run: Run) -> None:
    assert run("search", "spare", "keys").out == run("search", "spare keys").out
    assert run("search", "index").code in (0, 1)
    assert run("search", "status", "add", "--limit", "2").code in (0, 1)


def test_a_vault_may_bear_the_name_of_a_command(run: Run, tmp_path: Path) -> None:
    write_notes(tmp_path / "search", {"a.md": "The badger sleeps."})
    ran = run("--vault", "search", "index", "--no-embed", cwd=tmp_path)

    assert ran.code == 0
    assert "words: 1 note in" in ran.err


@pytest.mark.parametrize(
    "name", [b"a b", b"q?x=1#f%20", b"\xff\xfe", b"-dash", b"quote'", "日本".encode(), b"new\nline"]
)
def test_a_vault_may_have_any_name(tmp_path: Path, name: bytes) -> None:
    folder = os.fsencode(tmp_path) + b"/" + name
    codes = []
    for arguments in (
        ["init", folder, "--no-git"],
        ["search", "staging", "--vault", folder],
        ["check", "--vault", folder],
    ):
        done = spawn(*arguments, env={**os.environ, "MEMTOOL_VAULT": ""})  # type: ignore[arg-type]
        codes.append((done.returncode, b"Traceback" in done.stderr))

    assert codes == [(0, False)] * 3


# -- what may reach a terminal -------------------------------------------------------------

HOSTILE = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202eevil\r\x00\x7f"


def harmless(text: str) -> bool:
    return all(
        character in "\n\t" or (character.isprintable() or character == "\u3000") for character in text
    )


def test_control_characters_never_reach_the_terminal(run: Run, vault: Path) -> None:
    name = "od\x1bd\u202e.md"
    write_notes(
        vault,
        {
            name: f"# Hea{HOSTILE}ding\n\nneedle {HOSTILE} text\n",
            "b.md": '---\ntitle: "needle \\e[31m red"\ntags: ["\\e[0m"]\n---\nneedle b\n',
            "odd\nline.md": "needle three\n",
        },
    )
    for arguments in (
        ["search", "needle", "--explain", "--limit", "20", "--min-score=-1"],
        ["search", "needle", "--json", "--min-score=-1"],
        ["show", name],
        ["show", name, "--json"],
        ["check"],
        ["status"],
        ["status", "--json"],
        ["search", HOSTILE.replace("\0", "")],
        ["show", HOSTILE],
        ["show", HOSTILE, "--json"],
        ["conjure" + HOSTILE],
    ):
        ran = run(*arguments)
        assert ran.code in (0, 1, 2), ran.err
        assert harmless(ran.out), ascii(ran.out)
        assert harmless(ran.err), ascii(ran.err)


def test_a_line_break_in_a_name_makes_no_second_line(run: Run, vault: Path) -> None:
    write_notes(vault, {"a\nfake.md:1-1  0.99.md": "needle\n"})
    first = run("search", "needle", "--min-score=-1").out.split("\n")[0]

    assert first.startswith("a\\x0afake.md")


def test_a_question_in_broken_bytes_is_answered(vault: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "memtool", "search", b"spare keys \xff\xfe"], capture_output=True, check=False
    )

    assert done.returncode in (0, 1)
    assert b"Traceback" not in done.stderr


# -- writing -----------------------------------------------------------------------------


def test_add_takes_the_text_from_standard_input(run: Run, vault: Path) -> None:
    ran = run("add", "--title", "穴熊", "--tag", "animal", stdin="The badger sleeps.\n")
    path = ran.out.split(":")[0]

    assert ran.code == 0
    assert "The badger sleeps." in (vault / path).read_text(encoding="utf-8")
    assert run("add", stdin=" \n").code == 2


def test_set_changes_one_line(run: Run, vault: Path) -> None:
    before = (vault / "compost" / "hot-heap.md").read_bytes().split(b"\n")
    ran = run("set", "compost/hot-heap.md", "reviewer=Ida = the second")
    after = (vault / "compost" / "hot-heap.md").read_bytes().split(b"\n")

    assert ran.code == 0
    assert [line for line in after if line not in before] == [b"reviewer: Ida = the second"]


def test_index_tells_of_an_index_made_anew(run: Run, vault: Path) -> None:
    run("index")
    file = vault / ".memtool" / "cache" / "index.sqlite3"
    for ending in ("-wal", "-shm"):
        Path(f"{file}{ending}").unlink(missing_ok=True)
    file.write_bytes(b"not an index")

    assert "made anew" in run("index").err


def test_catalog_writes_and_then_has_nothing_to_do(run: Run, vault: Path) -> None:
    assert run("catalog").code == 0
    written = (vault / "MEMORY.md").read_bytes()
    second = run("catalog")

    assert "up to date" in second.err
    assert (vault / "MEMORY.md").read_bytes() == written


def test_every_command_has_help_that_says_what_it_does(run: Run) -> None:
    for name, (_, words) in COMMANDS.items():
        ran = run(name, "--help")
        assert ran.code == 0
        assert " ".join(words.split()[:3]).casefold() in " ".join(ran.out.split()).casefold()


# -- hard surroundings -----------------------------------------------------------------------


def installed(*arguments: str, **more: Any) -> subprocess.CompletedProcess[bytes]:
    """Run the console script's own entry in a process of its own."""
    command = [sys.executable, "-c", "from memtool.cli.main import run; run()", *arguments]
    return subprocess.run(command, capture_output=True, check=False, **more)


def test_a_name_is_read_as_it_is_in_a_locale_that_knows_only_ascii(tmp_path: Path) -> None:
    write_notes(tmp_path / "v", {"梟.md": "# 梟\n\n夜に鳴く。\n", "a.md": "# Owl\n"})
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "MEMTOOL_EMBEDDER": "none"}
    environment["PYTHONPATH"] = str(Path(__file__).parent.parent)
    found = installed("search", "梟", "--json", "--vault", str(tmp_path / "v"), env=environment)

    assert [hit["path"] for hit in json.loads(found.stdout)["hits"]] == ["梟.md"]


@pytest.mark.parametrize(("closing", "command"), [(">&-", "search owl"), ("<&-", "add")])
def test_a_closed_stream_is_told_of_and_no_bug(tmp_path: Path, closing: str, command: str) -> None:
    write_notes(tmp_path / "v", {"a.md": "# Owl\n"})
    script = f"{sys.executable} -c 'from memtool.cli.main import run; run()' {command} {closing}"
    environment = {**os.environ, "MEMTOOL_VAULT": str(tmp_path / "v"), "MEMTOOL_EMBEDDER": "none"}
    environment["PYTHONPATH"] = str(Path(__file__).parent.parent)
    done = subprocess.run(script, shell=True, capture_output=True, check=False, env=environment)

    assert done.returncode == 2, done.stderr


def test_a_list_is_set_as_a_list(vault: Path, run: Run) -> None:
    (vault / "n.md").write_text("---\ntags: [a]\n---\nx\n", encoding="utf-8")
    run("set", "n.md", "tags=[runbook, 鍵]", "--vault", str(vault))

    assert (vault / "n.md").read_text(encoding="utf-8") == "---\ntags: [runbook, 鍵]\n---\nx\n"


def test_keys_set_at_the_same_time_are_all_there(tmp_path: Path) -> None:
    write_notes(tmp_path / "v", {"a.md": "---\ntitle: T\n---\nx\n"})
    environment = {**os.environ, "MEMTOOL_EMBEDDER": "none"}
    environment["PYTHONPATH"] = str(Path(__file__).parent.parent)
    script = "from memtool.cli.main import run; run()"
    command = [sys.executable, "-c", script, "set", "--vault", str(tmp_path / "v"), "a.md"]
    running = [subprocess.Popen([*command, f"k{n}={n}"], env=environment) for n in range(5)]

    assert [process.wait() for process in running] == [0] * 5
    text = (tmp_path / "v" / "a.md").read_text(encoding="utf-8")
    assert all(f"k{n}:" in text for n in range(5))


@pytest.mark.parametrize("question", ["!!!", "(((", "😀", "…"])
def test_a_question_without_a_letter_asks_for_nothing(vault: Path, run: Run, question: str) -> None:
    assert run("search", question, "--vault", str(vault)).code == 1
