"""A resident gives the bytes that the command line would print, to its own user alone, and hurts nobody."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Ran, age, until, write_notes

import memtool
from memtool import client, hook_client
from memtool.cli.serving import answering
from memtool.client import GREETING
from memtool.errors import LockError, VaultError
from memtool.memory.memory import Memory
from memtool.resident import resident
from memtool.resident.resident import Reply, Request, Resident
from memtool.resident.service import Service, Wish
from memtool.unchanged import Unchanged
from memtool.vault import Vault

pytestmark = [
    pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="needs Unix sockets"),
    pytest.mark.timeout(40),  # some wait for other threads, which may take long on a busy machine
]


@pytest.fixture(autouse=True)
def words_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMTOOL_EMBEDDER", "none")
    monkeypatch.setenv("MEMTOOL_VAULT", "")


@pytest.fixture
def home(vault: Path) -> Path:
    age(vault)
    (vault / ".memtool").mkdir()
    return vault


class Open:
    """Residents opened for a test."""

    def __init__(self) -> None:
        self.closing: list[Callable[[], None]] = []

    def __call__(self, folder: Path, **settings: Any) -> Resident:
        memory = Memory.open(folder)
        self.closing.append(memory.close)
        self.memory = memory
        answer = settings.pop("answer", None) or answering(memory)
        opened = Resident(memory.vault, answer, **settings)
        self.closing.append(opened.close)
        return opened


@pytest.fixture
def opened() -> Iterator[Open]:
    every = Open()
    yield every
    for close in reversed(every.closing):
        close()


class Asked:
    """Ask through the client; what it prints is caught where it goes."""

    def __init__(self, capfd: pytest.CaptureFixture[str]) -> None:
        self.capfd = capfd

    def __call__(self, *argv: str) -> Ran | None:
        self.capfd.readouterr()
        code = client.ask(argv, os.environ)
        out, err = self.capfd.readouterr()
        if code is None:
            assert (out, err) == ("", "")
            return None
        return Ran(code, out, err)


@pytest.fixture
def ask(capfd: pytest.CaptureFixture[str]) -> Asked:
    return Asked(capfd)


@pytest.mark.parametrize(
    "argv",
    [
        ["search", "spare keys"],
        ["search", "--json", "spare keys", "--limit", "2"],
        ["--json", "search", "鍵はどこ", "--explain"],
        ["search", "zebra crossing in Lima"],
        ["search", "--no-refresh", "pump"],
        ["search", "--fresh", "--lexical", "pump", "--path", "water/*"],
        ["show", "compost/hot-heap.md:8-14"],
        ["show", "--json", "compost/hot-heap.md"],
        ["history", "compost/hot-heap.md"],
        ["history", "--json", "compost/hot-heap.md:8-14"],
        ["blame", "compost/hot-heap.md:8-14"],
        ["--json", "blame", "compost/hot-heap.md"],
        ["context", "鍵はどこ", "--budget", "500"],
        ["context", "--json", "where do the spare keys hang?"],
    ],
    ids=" ".join,
)
def test_the_bytes_are_the_same_with_and_without_it(
    argv: list[str],
    home: Path,
    opened: Open,
    ask: Asked,
    run: Callable[..., Ran],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    subprocess.run(["git", "init", "-q"], cwd=home, check=True)
    subprocess.run(["git", "add", "-A"], cwd=home, check=True)
    subprocess.run(["git", "commit", "-q", "-m", "Start"], cwd=home, check=True)
    run("index", "--vault", str(home))
    monkeypatch.chdir(home / "compost")
    without = run(*argv)
    served = opened(home)
    answered = ask(*argv)

    assert answered is not None
    assert answered._replace(out=same(answered.out)) == without._replace(out=same(without.out))
    assert served.served == 1
    assert without.code in (0, 1)


def same(text: str) -> str:
    """Leave out the fence around quotes, which is another one each time."""
    return re.sub("memtool [0-9a-f]{12}", "memtool", text)


@pytest.mark.parametrize("agent", ["claude", "codex", "opencode"])
@pytest.mark.parametrize(
    ("event", "told"),
    [
        ("UserPromptSubmit", '{"prompt": "where do the spare keys of the shed hang?", "session_id": "s"}'),
        ("prompt", '{"prompt": "鍵はどこ？"}'),
        ("prompt", '{"prompt": "zebra crossing in Lima"}'),
        ("prompt", "no json"),
        ("start", '{"session_id": "s"}'),
        ("tool", '{"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_response": "a\\u0000b"}'),
    ],
)
def test_a_hook_is_answered_from_its_standard_input(
    agent: str,
    event: str,
    told: str,
    home: Path,
    opened: Open,
    ask: Asked,
    run: Callable[..., Ran],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MEMTOOL_VAULT", str(home))
    run("index")
    without = run("hook", agent, event, stdin=told)
    served = opened(home)
    monkeypatch.setattr(hook_client, "_input", [told.encode()])
    answered = ask("hook", agent, event)
    assert answered

    assert (answered.code, same(answered.out), answered.err) == (0, same(without.out), without.err)
    assert served.served == 1


@pytest.mark.parametrize("event", ["PreCompact", "SessionEnd", "Stop", "Notification"])
def test_what_takes_long_is_no_work_for_it(event: str, home: Path, opened: Open, ask: Asked) -> None:
    opened(home)

    assert ask("hook", "claude", event, "--vault", str(home)) is None


@pytest.mark.parametrize(
    "argv",
    [
        ["search"],
        ["search", "--limit", "x", "key"],
        ["search", "--help"],
        ["show", "no/such.md"],
        ["show", "../outside.md"],
        ["search", "--no-resident", "key"],
        ["status"],
        ["add", "text"],
        [],
    ],
    ids=" ".join,
)
def test_errors_and_other_commands_are_left_to_the_command_line(
    argv: list[str], home: Path, opened: Open, ask: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    opened(home)

    assert ask(*argv) is None


def test_it_is_found_by_flag_variable_and_folder(
    home: Path, opened: Open, ask: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(home)
    monkeypatch.chdir(home.parent)

    assert ask("search", "pump") is None
    assert ask("search", "pump", "--vault", "garden")
    assert ask("--vault=garden", "search", "pump")
    monkeypatch.setenv("MEMTOOL_VAULT", str(home))
    assert ask("search", "pump")
    monkeypatch.setenv("MEMTOOL_RESIDENT", "0")
    assert ask("search", "pump") is None


def test_it_sees_every_save(home: Path, opened: Open, ask: Asked) -> None:
    opened(home)
    before = ask("search", "--vault", str(home), "tourmaline")
    (home / "new.md").write_text("# New\n\nAbout tourmaline.\n")
    after = ask("search", "--vault", str(home), "tourmaline")
    (home / "new.md").unlink()
    gone = ask("search", "--vault", str(home), "tourmaline")

    assert before and "new.md" not in before.out
    assert after and after.out.startswith("new.md:1-3")
    assert gone and "new.md" not in gone.out


def test_only_its_owner_reaches_the_socket(home: Path, opened: Open) -> None:
    opened(home)
    mode = (home / ".memtool/state" / client.SOCKET).stat().st_mode

    assert mode & 0o777 == 0o600


def test_another_user_is_refused(
    home: Path, opened: Open, ask: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = opened(home)
    monkeypatch.setattr(client, "peer_of", lambda line: os.getuid() + 1)

    assert ask("search", "--vault", str(home), "pump") is None
    assert served.served == 0


def test_one_is_enough(home: Path, opened: Open, ask: Asked) -> None:
    first = opened(home)

    with pytest.raises(LockError, match="answers for this vault already"):
        opened(home)
    assert first.is_there()
    assert ask("search", "--vault", str(home), "pump")


def test_a_stale_socket_is_replaced(home: Path, opened: Open, ask: Asked) -> None:
    place = home / ".memtool/state" / client.SOCKET
    place.parent.mkdir()
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(place))

    assert ask("search", "--vault", str(home), "pump") is None
    opened(home)
    assert ask("search", "--vault", str(home), "pump")


def test_closing_leaves_nothing(home: Path, opened: Open, ask: Asked) -> None:
    served = opened(home)
    served.close()

    assert not (home / ".memtool/state" / client.SOCKET).exists()
    assert ask("search", "--vault", str(home), "pump") is None
    assert opened(home).is_there()


def payload(*fields: str) -> bytes:
    body = "\0".join(fields).encode()
    return b"%s %d 0\n%s" % (GREETING, len(body), body)


PACKAGE = os.path.dirname(memtool.__file__)
ODD = {
    "nothing": b"",
    "garbage": b"\xff\x00\n\x80" * 50,
    "http": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "oversized": b"%s %d 0\n" % (GREETING, 1 << 40),
    "too much input": b"%s 5 %d\nabc" % (GREETING, 1 << 40),
    "negative": b"%s -5 0\nabc" % GREETING,
    "negative input": b"%s 5 -3\nabcde" % GREETING,
    "no number": b"%s x 0\nabc" % GREETING,
    "one number": b"%s 3\nabc" % GREETING,
    "too short": b"%s 100 0\nabc" % GREETING,
    "no fields": payload("a"),
    "another version": payload("", "0.0.0", PACKAGE, "/", "utf-8", "utf-8", "2", "search", "x"),
    "another place": payload("", memtool.__version__, "/x", "/", "utf-8", "utf-8", "2", "search", "x"),
    "too few words": payload("", memtool.__version__, PACKAGE, "/", "utf-8", "utf-8", "9", "search", "x"),
    "no encoding": payload("", memtool.__version__, PACKAGE, "/", "nope", "utf-8", "2", "search", "x"),
    "no folder": payload("", memtool.__version__, PACKAGE, "/no/such", "utf-8", "utf-8", "2", "search", "x"),
}


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_request_is_refused_and_hurts_nobody(
    odd: str, home: Path, opened: Open, ask: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resident, "PATIENCE_S", 0.5)
    opened(home)
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(5)
        line.connect(str(home / ".memtool/state" / client.SOCKET))
        line.sendall(ODD[odd])
        line.shutdown(socket.SHUT_WR)
        heard = b"".join(iter(lambda: line.recv(4096), b""))

    assert heard.removeprefix(GREETING + b" yes\n") == b""
    assert ask("search", "--vault", str(home), "pump")


def test_a_client_that_says_nothing_does_not_hold_up_others(home: Path, opened: Open, ask: Asked) -> None:
    opened(home)
    place = str(home / ".memtool/state" / client.SOCKET)
    idle = [socket.socket(socket.AF_UNIX) for _ in range(5)]
    for line in idle:
        line.connect(place)

    assert ask("search", "--vault", str(home), "pump")
    for line in idle:
        line.close()


def test_an_answer_that_fails_is_left_to_the_command_line(home: Path, opened: Open, ask: Asked) -> None:
    def fail(request: Request) -> Reply | None:
        raise RuntimeError("a fault")

    opened(home, answer=fail)

    assert ask("search", "--vault", str(home), "pump") is None
    assert ask("search", "--vault", str(home), "pump") is None


def test_concurrent_clients_each_get_their_own_answer(home: Path, opened: Open) -> None:
    opened(home)
    words = ["pump", "compost", "spare keys", "鍵", "script"] * 4
    answers: dict[int, Any] = {}

    def one(number: int) -> None:
        argv = ["search", "--json", "--vault", str(home), words[number]]
        line, token = client._reach(str(home / ".memtool/state"))
        answers[number] = client._talk(line, client.request(argv, os.environ, token))
        line.close()

    threads = [threading.Thread(target=one, args=(number,)) for number in range(len(words))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [json.loads(answers[n][1])["question"] for n in range(len(words))] == words


def test_other_settings_are_left_to_the_command_line(
    home: Path, opened: Open, ask: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(home)
    monkeypatch.setenv("MEMTOOL_LIMIT", "1")
    assert ask("search", "--vault", str(home), "pump") is None
    monkeypatch.delenv("MEMTOOL_LIMIT")
    assert ask("search", "--vault", str(home), "pump")

    (home / "memtool.toml").write_text("limit = 1\n")
    assert ask("search", "--vault", str(home), "pump") is None


def test_a_vault_inside_the_vault_is_another_one(home: Path, opened: Open, ask: Asked) -> None:
    inner = write_notes(home / "inner", {"a.md": "# Inner pump\n"})
    opened(home)
    link = home.parent / "link"
    link.symlink_to(home)

    assert ask("search", "--vault", str(inner), "pump") is None
    assert ask("search", "--vault", str(link), "pump")


def test_a_secret_is_not_sent() -> None:
    told = client.request(["search", "x"], {"MEMTOOL_API_KEY": "hush", "PATH": "/bin", "MEMTOOL_LIMIT": "3"})

    assert b"hush" not in told and b"/bin" not in told
    assert b"MEMTOOL_LIMIT=3" in told


def test_a_deep_vault_answers_from_a_short_place(
    tmp_path: Path, opened: Open, ask: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = write_notes(tmp_path / ("d" * 60) / ("e" * 60), {"a.md": "# Pump\n\nA pump.\n"})
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (deep / ".memtool").mkdir()
    served = opened(deep)

    assert len(os.fsencode(served._place)) < 108
    assert served._place.stat().st_mode & 0o777 == 0o600
    assert ask("search", "--vault", str(deep), "pump")
    served.close()
    assert not served._place.exists()


def test_without_unix_sockets_it_answers_on_loopback_for_who_knows_the_token(
    home: Path, opened: Open, ask: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    import _socket

    served = opened(home, unix=False)
    address = home / ".memtool/state" / client.ADDRESS
    monkeypatch.delattr(_socket, "AF_UNIX")

    assert address.stat().st_mode & 0o777 == 0o600
    assert ask("search", "--vault", str(home), "pump")
    monkeypatch.setattr(served, "_token", "another")
    assert ask("search", "--vault", str(home), "pump") is None


def test_an_address_that_came_with_a_clone_is_not_believed(home: Path, opened: Open) -> None:
    opened(home, unix=False)
    address = home / ".memtool/state" / client.ADDRESS
    told = address.read_text()
    shutil.copy(address, home / "copy")
    (home / "kept").hardlink_to(address)
    address.unlink()
    (home / "copy").rename(address)

    assert client.read_address(str(home / "kept"))[1] == int(told.split("\t")[2])
    with pytest.raises(ValueError):
        client.read_address(str(address))


def test_an_index_of_another_version_ends_the_answers(home: Path, opened: Open, ask: Asked) -> None:
    import sqlite3

    opened(home)
    assert ask("search", "--vault", str(home), "pump")
    place = home / ".memtool/cache/index.sqlite3"
    place.rename(home / "old")
    db = sqlite3.connect(place)
    db.execute("CREATE TABLE facts(key TEXT PRIMARY KEY, value TEXT)")
    db.execute("INSERT INTO facts VALUES('version', 'another')")
    db.commit()
    db.close()

    assert ask("search", "--vault", str(home), "pump") is None
    assert opened.memory.derived.is_superseded()


# -- looks saved ---------------------------------------------------------------------------


class Told:
    """Who says whether something changed."""

    number: int | None = 0

    def is_alive(self) -> bool:
        return True

    def mark(self, timeout_s: float = 0.05) -> tuple[int, int] | None:
        return None if self.number is None else (self.number, 0)


@pytest.fixture
def looks(home: Path, open_memory: Callable[..., Memory]) -> Any:
    class Looks:
        def __init__(self) -> None:
            self.memory, self.told, self.count = open_memory(home, embedder=None), Told(), 0
            refresh = self.memory.refresh

            def counted() -> Any:
                self.count += 1
                return refresh()

            self.memory.refresh = counted  # type: ignore
            Unchanged(self.memory, self.told)
            self.search("pump")

        def search(self, question: str, **how: Any) -> int:
            before = self.count
            self.answer = self.memory.search(question, **how)
            return self.count - before

    return Looks()


def test_nothing_told_is_nothing_to_look_for(looks: Any) -> None:
    assert [looks.search("pump") for _ in range(3)] == [0, 0, 0]
    assert looks.answer.freshness.current
    assert str(looks.answer.freshness).startswith(f"{looks.answer.freshness.notes} notes as they are now")


def test_news_and_doubt_are_looked_into(looks: Any) -> None:
    looks.told.number = 1
    assert [looks.search("pump"), looks.search("pump")] == [1, 0]
    looks.told.number = None
    assert [looks.search("pump"), looks.search("pump")] == [1, 1]


def test_who_wants_fresh_bytes_gets_a_look(looks: Any) -> None:
    assert looks.search("pump", fresh=True) == 1


def test_another_writer_of_the_index_is_noticed(looks: Any, home: Path) -> None:
    with Memory.open(home) as other:
        other.rebuild()

    assert looks.search("pump") == 1
    assert looks.answer


def test_a_cache_deleted_between_two_answers_is_noticed(looks: Any, home: Path) -> None:
    shutil.rmtree(home / ".memtool/cache")

    assert looks.search("pump") == 1
    assert looks.answer


def test_a_note_that_cannot_be_read_is_looked_for_each_time(home: Path, open_memory: Any) -> None:
    memory = open_memory(home, embedder=None)
    Unchanged(memory, Told())
    real = memory.vault.walk

    def partly(**how: Any) -> Any:
        walk = real(**how)
        walk.stats.pop("water/pump.md")
        walk.unreadable.append("water/")
        return walk

    memory.search("pump")
    memory.vault.walk = partly
    (home / "other.md").write_text("x")
    memory.look.__self__.source.number = 1

    assert memory.search("pump").freshness.unread
    assert memory.search("pump").freshness.unread


# -- a process of its own ------------------------------------------------------------------


class Served:
    """`memtool serve` or `watch` in a thread."""

    def __init__(self, folder: Path, wish: Wish) -> None:
        self.said: list[str] = []
        self.error: BaseException | None = None
        self.service = Service(
            str(folder), wish, answers=answering, say=self.said.append, environment=os.environ
        )
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self) -> None:
        try:
            self.service.run()
        except BaseException as error:
            self.error = error

    def until(self, there: Callable[[], object]) -> None:
        until(there, self.said)


@pytest.fixture
def serve() -> Iterator[Callable[..., Served]]:
    started: list[Served] = []

    def start(folder: Path, **wish: Any) -> Served:
        started.append(Served(folder, Wish(**wish)))
        return started[-1]

    yield start
    for one in started:
        one.service.stop()
        one.thread.join(5)
        assert not one.thread.is_alive()


@pytest.mark.parametrize("watch", [True, False], ids=["watch", "serve"])
def test_the_service_answers(home: Path, serve: Callable[..., Served], ask: Asked, watch: bool) -> None:
    served = serve(home, watch=watch, commit=False)
    served.until(lambda: ask("search", "--vault", str(home), "pump"))
    (home / "new.md").write_text("# New\n\nAbout tourmaline.\n")

    found = ask("search", "--vault", str(home), "tourmaline")
    assert found and found.out.startswith("new.md:1-3")


def test_it_ends_when_idle(home: Path, serve: Callable[..., Served]) -> None:
    served = serve(home, watch=False, idle_s=0.3)
    served.until(lambda: not served.thread.is_alive())

    assert served.said[-1] == "idle for 0.3 s"
    assert not (home / ".memtool/state" / client.SOCKET).exists()


def test_it_never_outlives_its_vault(
    home: Path, serve: Callable[..., Served], ask: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memtool.resident.service.TICK_S", 0.1)
    served = serve(home, watch=False)
    served.until(lambda: ask("search", "--vault", str(home), "pump"))
    served.until(lambda: shutil.rmtree(home, ignore_errors=True) or not home.exists())
    served.until(lambda: not served.thread.is_alive())

    assert isinstance(served.error, VaultError)
    assert not home.exists()


def test_a_watcher_beside_a_server_says_that_another_one_answers(
    home: Path, serve: Callable[..., Served], ask: Asked
) -> None:
    served = serve(home, watch=False)
    served.until(lambda: ask("search", "--vault", str(home), "pump"))
    second = serve(home, watch=True, commit=False)
    second.until(lambda: len(second.said) > 1)

    assert f"process {os.getpid()} answers for this vault already" in second.said[0]
    third = serve(home, watch=False)
    third.until(lambda: third.error)
    assert isinstance(third.error, LockError)


def test_a_removed_socket_is_made_again(
    home: Path, serve: Callable[..., Served], ask: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memtool.resident.service.TICK_S", 0.1)
    served = serve(home, watch=False)
    served.until(lambda: ask("search", "--vault", str(home), "pump"))
    shutil.rmtree(home / ".memtool")
    (home / ".memtool").mkdir()

    served.until(lambda: ask("search", "--vault", str(home), "pump"))


def test_an_answered_search_loads_nothing_but_the_client(home: Path, opened: Open) -> None:
    opened(home)
    code = (
        "import sys\n"
        "before = set(sys.modules)\n"
        "from memtool.cli.main import run\n"
        "sys.argv = ['memtool', *sys.argv[1:]]\n"
        "try: run()\n"
        "except SystemExit as end: print(end.code, sorted(set(sys.modules) - before), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "search", "pump", "--vault", str(home)], capture_output=True, text=True
    )

    last = done.stderr.split("\n")[-2]
    ours = ["memtool", "memtool.cli", "memtool.cli.main", "memtool.client"]
    assert last == f"0 {['__future__', '_socket', 'errno', *ours]}"
    assert "water/pump.md" in done.stdout


def test_the_vault_is_known_by_its_real_place(home: Path) -> None:
    assert Vault.open(home).state == home / ".memtool/state"
