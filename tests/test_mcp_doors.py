"""How clients reach an MCP server: over standard input, over HTTP past its guard, by pasted settings."""

from __future__ import annotations

import http.client
import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import httpx2
import pytest
from conftest import Ran, write_notes
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import Implementation

from memtool.embedders.fake import FakeEmbedder
from memtool.errors import MemtoolError
from memtool.mcp_server import http as door
from memtool.mcp_server import snippets, token
from memtool.mcp_server.desk import Desk
from memtool.mcp_server.protocol import Reception
from memtool.vault import Vault

pytestmark = pytest.mark.timeout(120)

TOKEN = "a-token-of-the-tests-0123456789"
PYTHON = [sys.executable, "-m", "memtool", "mcp"]


def message(number: int | None, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params} | ({"id": number} if number else {})


HELLO = message(
    1,
    "initialize",
    protocolVersion="2025-06-18",
    capabilities={},
    clientInfo={"name": "raw", "version": "1"},
)


# -- standard input ------------------------------------------------------------------------------


def by_words(folder: Path) -> Path:
    """Let words alone answer: what a process of its own would need the model for is tested elsewhere."""
    (folder / ".memtool").mkdir(exist_ok=True)
    (folder / ".memtool" / "config.toml").write_text("", encoding="utf-8")
    config = Path(os.environ["HOME"]) / ".config" / "memtool" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text('embedder = "none"\n', encoding="utf-8")
    return folder


def piped(folder: Path, messages: Sequence[dict[str, Any] | str]) -> subprocess.CompletedProcess[str]:
    lines = [one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in messages]
    return subprocess.run(
        [*PYTHON, "--vault", str(folder)],
        input="".join(f"{line}\n" for line in lines),
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=100,
    )


def test_standard_output_holds_nothing_but_the_protocol_and_the_end_of_input_ends_it(git_vault: Path) -> None:
    note = {
        "text": "蜂の防護服は納屋の右奥にある。",
        "title": "防護服",
        "asks": ["where is the bee suit"],
        "reason": "told",
    }
    done = piped(
        by_words(git_vault),
        [
            HELLO,
            message(None, "notifications/initialized"),
            message(2, "tools/call", name="search", arguments={"question": "turn the hot heap"}),
            message(3, "tools/call", name="remember", arguments=note),
            "this is no message",
            message(4, "tools/call", name="search", arguments={"question": "防護服はどこ"}),
            message(5, "resources/read", uri="memtool://catalog"),
        ],
    )

    answers = [json.loads(line) for line in done.stdout.splitlines()]
    by_id = {answer["id"]: answer for answer in answers if answer.get("id")}
    assert done.returncode == 0, done.stderr
    assert all(answer["jsonrpc"] == "2.0" for answer in answers)
    assert sorted(by_id) == [1, 2, 3, 4, 5]
    assert by_id[3]["result"]["structuredContent"]["revision"]
    assert "納屋の右奥" in by_id[4]["result"]["content"][0]["text"]
    assert "Traceback" not in done.stderr


def test_the_official_client_starts_a_server_and_asks_it(git_vault: Path) -> None:
    arguments = [*PYTHON[1:], "--vault", str(by_words(git_vault)), "--writer", "agent/planner"]
    started = StdioServerParameters(command=PYTHON[0], args=arguments, env=dict(os.environ))

    async def ask() -> Any:
        async with Client(stdio_client(started)) as session:
            tools = await session.list_tools()
            status = await session.call_tool("status", {})
            return len(tools.tools), status.structured_content

    tools, status = anyio.run(ask)

    assert tools == 9
    assert (status["notes"], status["writer"]) == (30, "agent/planner")


def test_names_and_texts_that_are_no_unicode_reach_a_client_as_escapes(git_vault: Path) -> None:
    (git_vault / os.fsdecode(b"caf\xe9.md")).write_text("# Caf\n\nThe oddname kettle.\n", encoding="utf-8")
    (git_vault / "odd.md").write_bytes("# 古い\n\nやかんは oddbyte \x1b[2J 棚。\n".encode("cp932"))
    uri = "memtool://note/caf%E9.md"
    done = piped(
        by_words(git_vault),
        [
            HELLO,
            message(None, "notifications/initialized"),
            message(2, "tools/call", name="status", arguments={}),
            message(3, "tools/call", name="read", arguments={"anchor": "odd.md"}),
            message(4, "resources/list"),
            message(5, "resources/read", uri=uri),
        ],
    )

    by_id = {answer["id"]: answer for answer in map(json.loads, done.stdout.splitlines())}
    assert "Traceback" not in done.stderr
    assert "caf\\xe9.md" in by_id[2]["result"]["content"][0]["text"]
    assert "\\x1b[2J" in by_id[3]["result"]["content"][0]["text"]
    assert "\x1b" not in by_id[3]["result"]["structuredContent"]["lines"][2]["text"]
    assert len(by_id[4]["result"]["resources"]) == 32
    assert by_id[5]["error"]["data"]["code"] == "path"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_server_whose_client_still_talks(git_vault: Path, number: int) -> None:
    command = [*PYTHON, "--vault", str(by_words(git_vault))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin and server.stdout
        server.stdin.write(json.dumps(HELLO) + "\n")
        server.stdin.flush()
        assert json.loads(server.stdout.readline())["id"] == 1
        server.send_signal(number)

        assert server.wait(60) == 0


def test_two_servers_and_the_command_line_write_at_once_and_lose_nothing(git_vault: Path) -> None:
    folder = by_words(git_vault)

    def calls(who: str) -> list[dict[str, Any]]:
        note = {"asks": [f"who is {who}"], "reason": "the race"}
        made = [{**note, "title": f"{who} {n}", "text": f"Word racestone{who}{n}."} for n in range(6)]
        asked = [message(20 + n, "tools/call", name="remember", arguments=one) for n, one in enumerate(made)]
        return [HELLO, message(None, "notifications/initialized"), *asked]

    done: dict[str, Any] = {}
    servers = [
        threading.Thread(target=lambda who=who: done.update({who: piped(folder, calls(who))}))
        for who in ("anna", "ben")
    ]
    for server in servers:
        server.start()
    for n in range(4):
        command = [
            *PYTHON[:3],
            "add",
            f"Word racestonecli{n}.",
            "--title",
            f"cli {n}",
            "--vault",
            str(folder),
        ]
        signed = ["--writer", "agent/cli", "--reason", "the race"]
        subprocess.run([*command, *signed], check=True, capture_output=True)
    for server in servers:
        server.join()

    for ran in done.values():
        answers = [json.loads(line) for line in ran.stdout.splitlines()]
        assert [one["result"].get("isError", False) for one in answers] == [False] * 7, ran.stdout
        assert "Traceback" not in ran.stderr
    log = subprocess.run(
        ["git", "log", "--format=%H", "--name-only"], cwd=folder, check=True, capture_output=True, text=True
    ).stdout
    assert (
        sum(
            line.endswith(".md") and ("anna" in line or "ben" in line or "cli" in line)
            for line in log.split()
        )
        == 16
    )
    assert subprocess.run(["git", "fsck"], cwd=folder, check=False).returncode == 0
    dirty = subprocess.run(
        ["git", "status", "--porcelain"], cwd=folder, check=True, capture_output=True, text=True
    )
    assert dirty.stdout == ""


# -- HTTP ----------------------------------------------------------------------------------------


class Running(NamedTuple):
    """A server of this process that listens."""

    port: int
    folder: Path

    def ask(self, body: dict[str, Any], headers: Sequence[tuple[str, str]]) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        data = json.dumps(body).encode()
        connection.putrequest("POST", "/mcp", skip_host=True)
        always = [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")]
        for name, value in [*always, ("Content-Length", str(len(data))), *headers]:
            connection.putheader(name, value)
        connection.endheaders(data)
        answer = connection.getresponse()
        answer.read()
        connection.close()
        return answer

    def status(self, host: str, origin: str | None = None, shown: str | None = TOKEN) -> int:
        headers = [("Host", host.replace("PORT", str(self.port)))]
        headers += [("Origin", origin.replace("PORT", str(self.port)))] if origin is not None else []
        headers += [("Authorization", f"Bearer {shown}")] if shown is not None else []
        return self.ask(HELLO, headers).status


@pytest.fixture
def running(git_vault: Path) -> Iterator[Running]:
    plan = door.Plan(token=TOKEN)
    sockets = door.listen(plan)
    port = sockets[0].getsockname()[1]
    reception = Reception(Desk(git_vault, embedder=FakeEmbedder(), environment={}))
    server = door.make(reception, plan, port)
    thread = threading.Thread(target=server.run, kwargs={"sockets": sockets})
    thread.start()
    deadline = time.monotonic() + 30
    while not server.started and time.monotonic() < deadline:
        time.sleep(0.01)
    yield Running(port, git_vault)
    server.should_exit = True
    thread.join()
    reception.close()
    for one in sockets:
        one.close()


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        ("127.0.0.1:PORT", None, 200),
        ("localhost:PORT", None, 200),
        ("LOCALHOST:PORT", None, 200),
        ("[::1]:PORT", None, 200),
        ("127.0.0.1:PORT", "http://127.0.0.1:PORT", 200),
        ("127.0.0.1:PORT", "http://localhost:PORT", 200),
        ("evil.example:PORT", None, 403),
        ("127.0.0.1.evil.example:PORT", None, 403),
        ("localhost.evil.example:PORT", None, 403),
        ("127.0.0.1:PORT@evil.example", None, 403),
        ("evil.example", "http://127.0.0.1:PORT", 403),
        ("127.0.0.1", None, 403),
        ("127.0.0.1:1", None, 403),
        ("0.0.0.0:PORT", None, 403),
        ("", None, 403),
        ("127.0.0.1:PORT", "http://evil.example", 403),
        ("127.0.0.1:PORT", "http://127.0.0.1.evil.example:PORT", 403),
        ("127.0.0.1:PORT", "https://127.0.0.1:PORT", 403),
        ("127.0.0.1:PORT", "http://127.0.0.1:1", 403),
        ("127.0.0.1:PORT", "http://127.0.0.1:PORT/", 403),
        ("127.0.0.1:PORT", "null", 403),
        ("127.0.0.1:PORT", "", 403),
    ],
)
def test_only_who_calls_us_by_a_loopback_name_is_let_in(
    running: Running, host: str, origin: str | None, status: int
) -> None:
    assert running.status(host, origin) == status


def test_two_hosts_or_two_origins_are_refused(running: Running) -> None:
    host, shown = ("Host", f"127.0.0.1:{running.port}"), ("Authorization", f"Bearer {TOKEN}")
    own, foreign = ("Origin", f"http://127.0.0.1:{running.port}"), ("Origin", "http://evil.example")

    assert running.ask(HELLO, [host, shown, own, foreign]).status == 403
    assert running.ask(HELLO, [host, ("Host", "evil.example"), shown]).status in (400, 403)
    assert running.ask(HELLO, [shown]).status in (400, 403)


@pytest.mark.parametrize("shown", [None, "", "wrong", TOKEN[:-1], TOKEN + "a", "ключ"])
def test_who_does_not_know_the_token_is_refused(running: Running, shown: str | None) -> None:
    headers = [("Host", f"127.0.0.1:{running.port}")]
    headers += [("Authorization", f"Bearer {shown}".encode().decode("latin-1"))] if shown is not None else []
    answer = running.ask(HELLO, headers)

    assert answer.status == 401
    assert answer.headers["www-authenticate"] == "Bearer"


def test_a_refused_call_runs_no_tool(running: Running) -> None:
    note = {"text": "planted", "asks": ["planted"], "reason": "planted", "title": "planted"}
    call = message(2, "tools/call", name="remember", arguments=note)

    assert running.ask(call, [("Host", "evil.example"), ("Authorization", f"Bearer {TOKEN}")]).status == 403
    assert not (running.folder / "planted.md").exists()


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_official_client_asks_over_http(running: Running, mode: str) -> None:
    async def ask() -> Any:
        url, headers = f"http://127.0.0.1:{running.port}/mcp", {"Authorization": f"Bearer {TOKEN}"}
        async with (
            httpx2.AsyncClient(headers=headers) as sender,
            Client(streamable_http_client(url, http_client=sender), mode=mode) as session,
        ):
            found = await session.call_tool("search", {"question": "turn the hot heap"})
            catalog = await session.read_resource("memtool://catalog")
            return found.structured_content, catalog.contents[0].text

    found, catalog = anyio.run(ask)

    assert found["hits"][0]["anchor"].startswith("compost/hot")
    assert "巣箱の世話" in catalog


def test_clients_that_ask_at_once_are_each_themselves(running: Running) -> None:
    said: dict[str, set[tuple[str, str]]] = {}

    async def ask(name: str) -> None:
        url, headers = f"http://127.0.0.1:{running.port}/mcp", {"Authorization": f"Bearer {TOKEN}"}
        info = Implementation(name=name, version="1")
        async with (
            httpx2.AsyncClient(headers=headers) as sender,
            Client(
                streamable_http_client(url, http_client=sender), mode="legacy", client_info=info
            ) as session,
        ):
            for _ in range(5):
                status = (await session.call_tool("status", {})).structured_content
                said.setdefault(name, set()).add((status["writer"], status["session"]))

    async def all_at_once() -> None:
        async with anyio.create_task_group() as group:
            for name in ("anna", "ben", "蜂"):
                group.start_soon(ask, name)

    anyio.run(all_at_once)

    assert {name: {writer for writer, _ in both} for name, both in said.items()} == {
        name: {f"agent/{name}"} for name in said
    }
    assert len({session for both in said.values() for _, session in both}) == 3


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "memo.example"])
def test_listening_to_others_without_a_token_is_refused_at_start(
    git_vault: Path, run: Callable[..., Ran], host: str
) -> None:
    for more in ([], ["--no-token"]):
        ran = run("mcp", "--http", "0", "--host", host, *more, "--vault", str(git_vault))

        assert ran.code == 2
        assert "without a token" in ran.err and "MEMTOOL_MCP_TOKEN" in ran.err


def test_a_token_that_can_be_guessed_is_refused(
    git_vault: Path, run: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(token.VARIABLE, "short")
    ran = run("mcp", "--http", "0", "--host", "0.0.0.0", "--vault", str(git_vault))

    assert ran.code == 2 and "short" not in ran.err


def test_a_port_that_is_taken_is_an_error_with_a_way_out() -> None:
    sockets = door.listen(door.Plan())
    try:
        sockets[0].listen()
        with pytest.raises(MemtoolError, match="cannot listen"):
            taken = door.listen(door.Plan(port=sockets[0].getsockname()[1]))
            taken[0].listen()  # where an address may be shared until somebody listens
    finally:
        for one in sockets:
            one.close()


def test_further_names_are_let_in_only_when_they_are_named() -> None:
    plan = door.Plan(host="0.0.0.0", token=TOKEN, names=("Memo.Example",))

    assert "memo.example:8000" in door.hosts(plan, 8000)
    assert "0.0.0.0:8000" not in door.hosts(plan, 8000)
    assert "192.0.2.7:8000" in door.hosts(door.Plan(host="192.0.2.7"), 8000)


# -- the token -------------------------------------------------------------------------------------


def test_a_token_is_made_once_and_kept_from_others(vault: Path) -> None:
    opened = Vault.open(vault)

    made = token.kept(opened)

    assert token.kept(opened) == made and len(made) >= 32
    assert stat.S_IMODE(token.place(opened).stat().st_mode) == 0o600


@pytest.mark.parametrize("spoil", ["cloned", "open", "link", "empty"])
def test_a_token_that_somebody_else_may_know_is_made_anew(vault: Path, spoil: str, tmp_path: Path) -> None:
    opened = Vault.open(vault)
    made, file = token.kept(opened), token.place(opened)
    copy = tmp_path / "copy"
    copy.write_bytes(file.read_bytes())
    copy.chmod(0o600)
    if spoil == "cloned":
        os.replace(copy, file)
    elif spoil == "open":
        file.chmod(0o644)
    elif spoil == "link":
        file.unlink()
        file.symlink_to(copy)
    else:
        file.write_text("")

    again = token.kept(opened)

    assert again != made and token.kept(opened) == again
    assert copy.read_text().startswith(made) if spoil == "link" else True


def test_a_token_can_be_printed_for_pasting(git_vault: Path, run: Callable[..., Ran]) -> None:
    first, second = (run("mcp", "--print-token", "--vault", str(git_vault)) for _ in range(2))

    assert first.code == 0 and first.out == second.out and len(first.out.strip()) >= 32


# -- settings of clients -------------------------------------------------------------------------


@pytest.mark.parametrize("client", snippets.CLIENTS)
@pytest.mark.parametrize("http", [False, True])
def test_what_a_client_is_to_paste_is_its_own_format(
    tmp_path: Path, run: Callable[..., Ran], client: str, http: bool
) -> None:
    folder = write_notes(tmp_path / 'わたしの "notes"', {"a.md": "# A\n"})
    more = ["--http", "8400"] if http else []

    ran = run("mcp", "--print-config", client, "--vault", str(folder), "--writer", "agent/a", *more)

    read = tomllib.loads if client == "codex" else json.loads
    servers = next(value for key, value in read(ran.out).items() if "ervers" in key)
    if http:
        assert servers["memtool"]["url"] == "http://127.0.0.1:8400/mcp"
        assert "oken" in ran.out.lower()
    else:
        expected = ["mcp", "--vault", str(folder), "--writer", "agent/a"]
        assert servers["memtool"]["args"][-5:] == expected
    assert ran.err.startswith("paste this into")


def test_a_client_is_nobodys_hand(git_vault: Path, run: Callable[..., Ran]) -> None:
    ran = run("mcp", "--writer", "human", "--vault", str(git_vault))

    assert ran.code == 2 and "as an agent" in ran.err


def test_where_there_is_no_vault_it_says_so_at_start(tmp_path: Path, run: Callable[..., Ran]) -> None:
    ran = run("mcp", "--vault", str(tmp_path / "none"))

    assert ran.code == 2 and "memtool init" in ran.err


def test_without_the_package_the_install_line_is_told(
    git_vault: Path, run: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith(("memtool.mcp_server.protocol", "mcp"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp_types", None)
    monkeypatch.setitem(sys.modules, "mcp", None)

    ran = run("mcp", "--vault", str(git_vault))

    assert ran.code == 2 and "pip install 'memtool[mcp]'" in ran.err
