"""The plan of the house is a test: imports run down, start-up stays light, sizes stay small."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import GARDEN

from memtool.refresh.refresh import RACY_NS

PACKAGE = Path(__file__).parent.parent / "memtool"

#: Lowest first; a room imports only from floors below its own.
FLOORS = [
    {
        "atomic",
        "errors",
        "files",
        "gathering",
        "kinds",
        "lexical",
        "names",
        "quoting",
        "repository",
        "runs",
        "secrets",
        "settings",
    },
    {
        "claim",
        "config",
        "git",
        "heartbeat",
        "hook_log",
        "identity",
        "index",
        "places",
        "tense",
        "vectors",
        "walk",
    },
    {
        "calibration",
        "embedders",
        "evaluate",
        "git_hooks",
        "git_state",
        "hook_client",
        "note",
        "vault",
    },
    {
        "chunks",
        "client",
        "llm",
        "pin",
        "staging",
        "template",
        "thrift",
        "watches",
        "writer",
    },
    {
        "catalog",
        "folding",
        "history",
        "policy",
        "standing",
    },
    {
        "carrying",
        "facts",
        "merging",
        "resolve",
        "search",
        "usage",
    },
    {
        "beliefs",
        "derived",
        "generated",
        "links",
        "tools",
    },
    {
        "conflicts",
        "refresh",
        "session",
    },
    {
        "answer",
        "commits",
    },
    {
        "checks",
        "context",
        "door",
        "past",
        "review",
        "traces",
    },
    {
        "lifecycle",
    },
    {
        "memory",
    },
    {
        "archivist",
        "hooks",
        "mcp_server",
        "unchanged",
        "watch",
    },
    {
        "__init__",
        "resident",
    },
    {
        "cli",
    },
    {
        "__main__",
    },
]
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
FILES = sorted(PACKAGE.rglob("*.py"))

HEAVY = {
    "numpy",
    "onnxruntime",
    "tokenizers",
    "openai",
    "yaml",
    "frontmatter",
    "markdown_it",
    "git",
    "detect_secrets",
    "mcp",
    "mcp_types",
    "pydantic",
    "anyio",
    "starlette",
    "requests",
    "tqdm",
    "charset_normalizer",
}


def room_of(file: Path) -> str:
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_rooms(file: Path) -> set[str]:
    """Name the rooms that *file* imports, late imports inside functions included."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=names):
                found.update(alias.name for alias in names)
            case ast.ImportFrom(module=str(module), names=names):
                found.update(f"{module}.{alias.name}" for alias in names)
    return {name.split(".")[1] for name in found if name.startswith("memtool.")} & FLOOR.keys()


def test_every_room_has_a_floor() -> None:
    assert {room_of(file) for file in FILES} == FLOOR.keys()


def room_map() -> list[list[str]]:
    """Read the plan in the package's docstring: the rooms of each part of the house, as they stand there."""
    plan = ast.get_docstring(ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))) or ""
    parts = re.split(r"^(?=\S.*::$)", plan.split("hits\n", 1)[1], flags=re.MULTILINE)
    return [re.findall(r"^    (\w+) +\S", part, re.MULTILINE) for part in parts]


def test_the_plan_names_every_room_once() -> None:
    named = [room for part in room_map() for room in part]

    assert sorted(named) == sorted(FLOOR.keys() - {"__init__", "__main__"})


def test_the_plan_goes_up_floor_by_floor() -> None:
    floors = [[FLOOR[room] for room in part] for part in room_map()]

    assert floors == [sorted(part) for part in floors]


def test_imports_only_run_down() -> None:
    wrong = [
        f"{file.name} imports {target}"
        for file in FILES
        for target in imported_rooms(file) - {room_of(file)}
        if FLOOR[target] >= FLOOR[room_of(file)]
    ]

    assert wrong == []


def test_no_import_is_relative() -> None:
    wrong = [
        file.name
        for file in FILES
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.level
    ]

    assert wrong == []


def test_no_file_is_longer_than_300_lines() -> None:
    lengths = {str(file.relative_to(PACKAGE)): file.read_text(encoding="utf-8").count("\n") for file in FILES}

    assert {name: length for name, length in lengths.items() if length > 300} == {}


def functions(file: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef) and node.end_lineno:
            yield f"{file.name}:{node.name}", node.end_lineno - node.lineno + 1


def test_no_function_is_much_longer_than_45_lines() -> None:
    assert {name: length for file in FILES for name, length in functions(file) if length > 50} == {}


def test_every_module_says_what_comes_in_and_what_goes_out() -> None:
    quiet = [
        str(file.relative_to(PACKAGE))
        for file in FILES
        if file.name not in ("__init__.py", "__main__.py")
        and not (ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or "").strip()
    ]

    assert quiet == []


def test_product_text_speaks_of_memtool_alone() -> None:
    foreign = re.compile(r"/(?:home|root|Users)/\w|\bTODO\b|\bFIXME\b|\bXXX\b")
    wrong = [
        f"{file.relative_to(PACKAGE)}:{number}"
        for file in FILES
        for number, line in enumerate(file.read_text(encoding="utf-8").split("\n"), 1)
        if foreign.search(line)
    ]

    assert wrong == []


def loaded(vault: Path, *arguments: str) -> set[str]:
    """Run a command in a process of its own and name the heavy modules it imported."""
    code = (
        "import io, json, sys, contextlib\n"
        "from memtool.cli.main import main\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):\n"
        "    code = main(sys.argv[1:])\n"
        "print(json.dumps([code, sorted({name.split('.')[0] for name in sys.modules})]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=vault,
        env={**os.environ, "MEMTOOL_VAULT": str(vault)},
        capture_output=True,
        text=True,
        check=True,
    )
    exit_code, names = json.loads(done.stdout)
    assert exit_code == 0, done.stderr
    return HEAVY & set(names)


@pytest.fixture(scope="module")
def quiet_vault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An indexed vault in which nothing was written for a while, so that no note is read twice."""
    from memtool.embedders.fake import FakeEmbedder
    from memtool.memory.memory import Memory

    folder = tmp_path_factory.mktemp("quiet") / "garden"
    shutil.copytree(GARDEN, folder)
    time.sleep(RACY_NS / 1e9 + 0.05)
    with Memory.open(folder, embedder=FakeEmbedder()) as memory:
        memory.refresh()
    return folder


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["search", "--help"],
        ["status"],
        ["show", "compost/hot-heap.md"],
        ["search", "--lexical", "spare keys"],
        ["search", "--lexical", "--no-refresh", "畑"],
    ],
    ids=" ".join,
)
def test_a_light_command_imports_nothing_heavy(quiet_vault: Path, arguments: list[str]) -> None:
    assert loaded(quiet_vault, *arguments) == set()
