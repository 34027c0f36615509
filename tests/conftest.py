"""Guards that are on for every test, and the few things that most tests share."""

from __future__ import annotations

import io
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest

HERE = Path(__file__).parent
GARDEN = HERE / "vaults" / "garden"
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite the expected text of transcripts")


@pytest.fixture(autouse=True)
def guards(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Cut a test off from the network, the home folder and the machine's git configuration."""
    connect = socket.socket.connect

    def loopback_only(self: socket.socket, address: object) -> None:
        if isinstance(address, tuple) and address[0] not in ("127.0.0.1", "::1"):
            raise AssertionError(f"a test reached for the network: {address}")
        connect(self, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", loopback_only)
    home = tmp_path_factory.mktemp("home")
    for name in [name for name in os.environ if name.startswith(("GIT_", "MEMTOOL_", "OPENAI_", "XDG_"))]:
        monkeypatch.delenv(name)
    fixed = "2026-03-01T12:00:00+0000"
    for name, value in {
        "HOME": str(home),
        "MEMTOOL_VAULT": str(home / "no-vault-was-chosen"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TEMPLATE_DIR": str(home),
        "GIT_AUTHOR_NAME": "Mio",
        "GIT_AUTHOR_EMAIL": "mio@example.invalid",
        "GIT_COMMITTER_NAME": "Mio",
        "GIT_COMMITTER_EMAIL": "mio@example.invalid",
        "GIT_AUTHOR_DATE": fixed,
        "GIT_COMMITTER_DATE": fixed,
        "NO_COLOR": "1",
        "COLUMNS": "100",
    }.items():
        monkeypatch.setenv(name, value)


def age(folder: Path, *, seconds: int = 3600) -> None:
    """Make every file look as if it was written a while ago, so that its stat can be trusted."""
    then = datetime.now().timestamp() - seconds
    for file in folder.rglob("*"):
        if file.is_file() and not file.is_symlink() and ".git" not in file.parts:
            os.utime(file, (then, then))


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """A copy of the garden: a folder of notes in no repository."""
    folder = tmp_path / "garden"
    shutil.copytree(GARDEN, folder)
    return folder


@pytest.fixture
def git_vault(vault: Path) -> Path:
    """The garden in a git work tree with one commit."""
    for arguments in (
        ["init", "-q", "-b", "main"],
        ["add", "-A"],
        ["commit", "-q", "-m", "Start the garden"],
    ):
        subprocess.run(["git", *arguments], cwd=vault, check=True, capture_output=True)
    return vault


@pytest.fixture
def clock() -> Callable[[], datetime]:
    """A clock that stands still."""
    return lambda: NOW


class Ran(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Ran]]:
    """Run the command line in this process."""
    from memtool.cli.main import main

    def run(*arguments: str, cwd: Path | None = None, stdin: str = "") -> Ran:
        if cwd:
            monkeypatch.chdir(cwd)
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = main(list(arguments))
        return Ran(code, out.getvalue(), err.getvalue())

    yield run


@pytest.fixture
def open_memory() -> Iterator[Callable[..., object]]:
    """Open vaults with the fake embedder, and close them at the end."""
    from memtool.embedders.fake import FakeEmbedder
    from memtool.memory.memory import Memory

    opened: list[Memory] = []

    def open_memory(folder: Path, *, embedder: object = "fake") -> Memory:
        chosen = FakeEmbedder() if embedder == "fake" else embedder
        opened.append(Memory.open(folder, embedder=chosen))  # type: ignore[arg-type]
        return opened[-1]

    yield open_memory
    for memory in opened:
        memory.close()


def write_notes(folder: Path, notes: dict[str, str | bytes]) -> Path:
    """Lay notes out below *folder*."""
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in notes.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Give the bytes and the modification time of every file that is not memtool's or git's own."""
    return {
        file.relative_to(folder).as_posix(): (file.read_bytes(), file.stat().st_mtime_ns)
        for file in sorted(folder.rglob("*"))
        if file.is_file() and not {".memtool", ".git"} & set(file.relative_to(folder).parts)
    }


def until(there: Callable[[], object], told: object = "") -> None:
    """Wait until something is there, for at most 25 s; *told* is shown when it never comes."""
    deadline = time.monotonic() + 25
    while not there():
        assert time.monotonic() < deadline, told
        time.sleep(0.02)
