"""What an agent may write over MCP, in whose name, and what happens when the ground moves."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from test_mcp import called, error, git, talk, value

from memtool.index import index_file
from memtool.mcp_server import desk
from memtool.memory.memory import Memory

pytestmark = pytest.mark.timeout(60)

NOTE = {
    "text": "Rotate the staging key with `make rotate`.",
    "title": "Staging key",
    "asks": ["how do I change the test server's key", "検証環境の鍵を替えるには"],
    "reason": "the user told me",
}


def digest(folder: Path, path: str) -> str:
    with Memory.open(folder, embedder=None) as memory:
        return memory.digest(path)


# -- writing ---------------------------------------------------------------------------------------


def test_a_note_is_remembered_signed_and_found_in_both_languages(git_vault: Path) -> None:
    made = value(git_vault, "remember", NOTE, client="Scribe Pro")

    assert made["anchor"].startswith("staging-key.md:1-")
    log = git(git_vault, "log", "-1", "--format=%B")
    assert "agent/Scribe-Pro" in log and "the user told me" in log and "mcp-" in log
    found = value(git_vault, "search", {"question": "検証環境の鍵を替えるには"})
    assert "staging-key.md" in found["hits"][0]["anchor"]


def test_what_would_be_written_can_be_seen_first(git_vault: Path) -> None:
    made = value(git_vault, "remember", {**NOTE, "dry_run": True})

    assert any("make rotate" in line for line in made["diff"])
    assert not (git_vault / "staging-key.md").exists()


def test_lines_are_replaced_appended_and_keys_are_set(git_vault: Path) -> None:
    path = "compost/hot-heap.md"
    new = {"mode": "replace", "anchor": f"{path}:12", "text": "70度で切り返す。", "reason": "measured"}
    replaced = value(git_vault, "edit", {**new, "if_digest": digest(git_vault, path)})
    appended = value(
        git_vault, "edit", {"mode": "append", "anchor": path, "text": "Keep it covered.", "reason": "rain"}
    )
    value(
        git_vault,
        "edit",
        {"mode": "set", "anchor": path, "key": "tags", "value": ["heap", "熱"], "reason": "sorted"},
    )

    text = (git_vault / path).read_text(encoding="utf-8")
    assert replaced["anchor"] == f"{path}:12-12" and "\n70度で切り返す。\n" in text
    assert appended["digest"] != replaced["digest"] and "Keep it covered." in text
    assert "熱" in text.split("---")[1]
    assert git(git_vault, "rev-list", "--count", "HEAD").strip() == "4"
    assert git(git_vault, "status", "--porcelain") == ""


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ({"mode": "replace", "anchor": "compost/hot-heap.md:12", "text": "x"}, "needs `if_digest`"),
        ({"mode": "replace", "anchor": "compost/hot-heap.md", "text": "x"}, "needs the lines"),
        ({"mode": "append", "anchor": "compost/hot-heap.md"}, "needs `text`"),
        ({"mode": "set", "anchor": "compost/hot-heap.md", "key": "tags"}, "needs `value`"),
        ({"mode": "append", "anchor": "../outside.md", "text": "x"}, "no note"),
    ],
)
def test_an_edit_that_lacks_something_says_what(
    git_vault: Path, arguments: dict[str, Any], what: str
) -> None:
    told = error(git_vault, "edit", {**arguments, "reason": "to see"})

    assert what in told["what"] and told["fix"]


def test_a_conflict_carries_the_lines_and_the_digest_of_now(git_vault: Path) -> None:
    path = "compost/hot-heap.md"
    old = digest(git_vault, path)
    note = git_vault / path
    note.write_text(note.read_text(encoding="utf-8").replace("65 degrees", "68 degrees"), encoding="utf-8")
    change = {"mode": "replace", "anchor": f"{path}:12", "text": "Turn it at 60.", "reason": "guess"}

    result = called(git_vault, "edit", {**change, "if_digest": old})

    told = result.structured_content
    assert result.is_error and told["error"]["code"] == "conflict"
    assert told["error"]["digest"] == digest(git_vault, path)
    assert Path(told["error"]["kept"].replace("~", str(git_vault))).name
    assert any("68 degrees" in line["text"] for line in told["lines"])
    assert "68 degrees" in result.content[0].text
    again = value(git_vault, "edit", {**change, "if_digest": told["error"]["digest"]})
    assert again["anchor"] == f"{path}:12-12"


def test_a_secret_is_refused_and_never_repeated(git_vault: Path) -> None:
    secret = "ghp_" + "q7Fz0LwXv3RkT9bNc2HdYs5Mj8Pa1Ue4Gi6o"

    result = called(git_vault, "remember", {**NOTE, "text": f"The token is {secret}."})

    assert result.is_error and result.structured_content["error"]["code"] == "secret"
    assert secret not in result.model_dump_json()


def test_an_argument_that_is_wrong_does_not_come_back_with_its_secret(git_vault: Path) -> None:
    secret = "ghp_" + "q7Fz0LwXv3RkT9bNc2HdYs5Mj8Pa1Ue4Gi6o"

    assert secret not in called(git_vault, "read", {"anchor": f"{secret}.md"}).model_dump_json()


def test_whether_lines_helped_is_kept(git_vault: Path) -> None:
    told = value(
        git_vault, "feedback", {"anchor": "compost/hot-heap.md:12", "helpful": True, "reason": "right"}
    )

    assert told == {"kept": True}
    with Memory.open(git_vault, embedder=None) as memory:
        assert memory.usage("compost/hot-heap.md")["compost/hot-heap.md"].good == 1


# -- who may ---------------------------------------------------------------------------------------

RULES = """
[scope."bees"]
readers = ["agent/keeper"]
writers = ["agent/keeper"]
"""


def isolate(folder: Path) -> None:
    (folder / ".memtool").mkdir(exist_ok=True)
    (folder / ".memtool" / "policy.toml").write_text(RULES, encoding="utf-8")


def test_an_agent_sees_only_what_it_may_read(git_vault: Path) -> None:
    isolate(git_vault)

    async def ask(session: Client) -> dict[str, Any]:
        return {
            "search": await session.call_tool("search", {"question": "巣箱の見回り"}),
            "context": await session.call_tool("context", {"question": "巣箱の見回り"}),
            "list": await session.list_resources(),
            "catalog": await session.read_resource("memtool://catalog"),
            "read": await session.call_tool("read", {"anchor": "bees/巣箱.md"}),
            "history": await session.call_tool("history", {"anchor": "bees/巣箱.md"}),
        }

    others, keeper = talk(git_vault, ask, writer="agent/planner"), talk(git_vault, ask, writer="agent/keeper")

    assert [name for name, got in others.items() if "二つの巣箱" in got.model_dump_json()] == []
    assert "bees/" not in others["list"].model_dump_json() + others["catalog"].model_dump_json()
    assert others["read"].structured_content["error"]["code"] == "policy"
    assert others["history"].structured_content["error"]["code"] == "policy"
    assert not keeper["read"].is_error and "bees/" in keeper["list"].model_dump_json()
    with pytest.raises(Exception, match="may not read"):
        talk(git_vault, lambda session: session.read_resource("memtool://note/bees/%E5%B7%A3%E7%AE%B1.md"))


def test_an_agent_writes_only_where_it_may(git_vault: Path) -> None:
    isolate(git_vault)

    told = error(git_vault, "remember", {**NOTE, "folder": "bees"}, writer="agent/planner")

    assert told["code"] == "policy"
    assert value(git_vault, "remember", {**NOTE, "folder": "bees"}, writer="agent/keeper")["revision"]


def test_each_connection_is_a_session_of_its_own(git_vault: Path) -> None:
    first, second = (value(git_vault, "status")["session"] for _ in range(2))

    assert first != second and first.startswith("mcp-")


# -- when the ground moves ---------------------------------------------------------------------------


def test_a_vault_that_vanishes_is_an_error_and_comes_back_without_a_restart(git_vault: Path) -> None:
    away = git_vault.with_name("away")

    async def ask(session: Client) -> list[Any]:
        told = [await session.call_tool("search", {"question": "hot heap"})]
        git_vault.rename(away)
        told.append(await session.call_tool("search", {"question": "hot heap"}))
        told.append(await session.call_tool("remember", {**NOTE}))
        shutil.copytree(away, git_vault, symlinks=True)
        told.append(await session.call_tool("search", {"question": "hot heap"}))
        return told

    before, gone, unwritten, after = talk(git_vault, ask)

    assert not before.is_error and not after.is_error
    assert after.structured_content["hits"] == before.structured_content["hits"]
    assert gone.structured_content["error"]["code"] == "vault" and "gone" in gone.content[0].text
    assert unwritten.is_error


def test_a_server_lives_through_a_checkout_a_deleted_cache_and_new_settings(git_vault: Path) -> None:
    async def ask(session: Client) -> list[Any]:
        question = {"question": "turn the hot heap", "limit": 3}
        found = [(await session.call_tool("search", question)).structured_content]
        git(git_vault, "checkout", "-q", "-b", "other")
        git(git_vault, "rm", "-q", "-r", "compost")
        git(git_vault, "commit", "-qm", "Drop the compost")
        found.append((await session.call_tool("search", question)).structured_content)
        git(git_vault, "checkout", "-q", "main")
        shutil.rmtree(git_vault / ".memtool" / "cache")
        (git_vault / ".memtool" / "config.toml").write_text("limit = 7\n", encoding="utf-8")
        found.append((await session.call_tool("search", question)).structured_content)
        return found

    main, other, again = talk(git_vault, ask)

    assert not any("compost/" in hit["anchor"] for hit in other["hits"])
    assert [hit["anchor"] for hit in again["hits"]] == [hit["anchor"] for hit in main["hits"]]


def test_a_server_says_that_memtool_was_replaced_beneath_it(
    git_vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "__init__.py"
    installed.write_text('__version__ = "0.1.0"\n', encoding="utf-8")
    monkeypatch.setattr(desk, "_PACKAGE", installed)

    async def ask(session: Client) -> list[Any]:
        told = [await session.call_tool("status", {})]
        installed.write_text('__version__ = "9.9.9"  # newer\n', encoding="utf-8")
        told.append(await session.call_tool("status", {}))
        told.append(await session.call_tool("read", {"anchor": "compost/hot-heap.md"}))
        return told

    before, after, read = talk(git_vault, ask)

    assert before.structured_content["remarks"] == []
    assert "9.9.9" in after.structured_content["remarks"][0]
    assert not read.is_error and "restart" in read.content[0].text


def test_a_failure_of_parts_that_do_not_fit_together_asks_for_a_restart(
    git_vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unfit(*arguments: object, **named: object) -> None:
        raise AttributeError("a part of another version")

    installed = tmp_path / "installed" / "__init__.py"
    installed.parent.mkdir()
    installed.write_text("", encoding="utf-8")
    monkeypatch.setattr(desk, "_PACKAGE", installed)
    monkeypatch.setattr(Memory, "search", unfit)

    async def ask(session: Client) -> Any:
        (installed.parent / "answer.py").write_text("# newer\n", encoding="utf-8")
        return await session.call_tool("search", {"question": "hot heap"})

    told = talk(git_vault, ask).structured_content["error"]

    assert told["code"] == "upgraded" and "restart" in told["fix"]


def test_an_index_of_a_newer_memtool_is_left_alone(git_vault: Path) -> None:
    import sqlite3

    index = git_vault / ".memtool" / "cache" / "index.sqlite3"

    async def ask(session: Client) -> Any:
        await session.call_tool("search", {"question": "hot heap"})
        newer = index.with_name("new")
        with sqlite3.connect(newer) as db:
            db.execute("CREATE TABLE facts(key TEXT PRIMARY KEY, value TEXT)")
            db.execute("INSERT INTO facts VALUES('version', 'newer')")
        db.close()
        index_file.discard(index)
        os.replace(newer, index)
        return await session.call_tool("search", {"question": "hot heap"})

    told = talk(git_vault, ask)

    assert told.structured_content["error"]["code"] == "upgraded"
    with sqlite3.connect(index) as db:
        assert db.execute("SELECT value FROM facts").fetchone() == ("newer",)
    db.close()


def test_a_bug_of_ours_is_told_without_its_inside(
    git_vault: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*arguments: object, **named: object) -> None:
        raise RuntimeError("inside ghp_" + "q7Fz0LwXv3RkT9bNc2HdYs5Mj8Pa1Ue4Gi6o")

    monkeypatch.setattr(Memory, "search", broken)
    monkeypatch.setattr(desk, "_changed_since", lambda moment: False)

    result = called(git_vault, "search", {"question": "hot heap"})

    assert result.structured_content["error"]["code"] == "bug"
    assert "inside" not in result.model_dump_json()
    log = capsys.readouterr().err
    assert "RuntimeError" in log and "q7Fz0LwXv3" not in log


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are counted in /proc")
def test_a_server_that_runs_for_long_opens_no_more_and_more_files(git_vault: Path) -> None:
    async def ask(session: Client) -> list[int]:
        opened = []
        for n in range(18):
            change = {
                "mode": "append",
                "anchor": "compost/hot-heap.md",
                "text": f"Line {n}.",
                "reason": "count",
            }
            for tool, arguments in (
                ("edit", change),
                ("history", {"anchor": "compost/hot-heap.md"}),
                ("read", {"anchor": "compost/hot-heap.md"}),
            ):
                assert not (await session.call_tool(tool, arguments)).is_error
            opened.append(len(os.listdir("/proc/self/fd")))
        return opened

    opened = talk(git_vault, ask)

    assert opened[-1] <= opened[3] + 2
