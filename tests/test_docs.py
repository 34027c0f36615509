"""The README is true: its generated parts are current, its commands and examples run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from memtool import kinds
from memtool.cli.commands import COMMANDS
from memtool.config import SETTINGS, Config

README = Path(__file__).parent.parent / "README.md"
QUICK_START = (
    "memtool init notes",
    'memtool search --vault notes --lexical "rotate the staging key" --limit 1',
    'memtool search --vault notes "取消料はいつからかかる？" --limit 1',
    'memtool add --vault notes --folder ops "The spare key of Kawabata hangs behind the amplifier."',
    'memtool search --vault notes "where is the spare key" --limit 1',
)


def commands() -> str:
    rows = [f"| `memtool {name}` | {words} |" for name, (_, words) in COMMANDS.items()]
    return "\n".join(["| command | what it does |", "|---|---|", *rows])


def settings() -> str:
    rows = []
    for key, setting in SETTINGS.items():
        default = getattr(Config(), key)
        shown = (
            "" if default in (None, ()) else f"`{default}`".replace("True", "true").replace("False", "false")
        )
        rows.append(f"| `{key}` | {shown} | {setting.wanted} | {'yes' if setting.vault else ''} |")
    return "\n".join(["| key | default | takes | vault's file |", "|---|---|---|---|", *rows])


@pytest.fixture
def quick_start(run: Callable[..., object], tmp_path: Path) -> Callable[[], str]:
    def play() -> str:
        blocks = []
        for command in QUICK_START:
            done = run(*shlex.split(command)[1:], cwd=tmp_path)
            shown = done.out.replace(str(tmp_path) + "/", "")  # type: ignore[attr-defined]
            blocks.append(f"$ {command}\n{shown}".rstrip())
        return "```\n" + "\n\n".join(blocks) + "\n```"

    return play


def parts(text: str) -> dict[str, str]:
    return dict(re.findall(r"<!-- generated: ([\w-]+) -->\n(.*?)<!-- end -->", text, re.S))


def without_scores(text: str) -> str:
    # The model's last digits differ between processors; the lines it finds do not.
    return re.sub(r"  [01]\.\d\d  ", "  -  ", text)


@pytest.mark.timeout(60)
def test_the_generated_parts_are_current(
    quick_start: Callable[[], str], request: pytest.FixtureRequest
) -> None:
    made = {
        "quick-start": quick_start(),
        "commands": commands(),
        "settings": settings(),
        "types": "\n".join(kinds.table()),
    }
    text = README.read_text(encoding="utf-8")
    if request.config.getoption("--update"):
        for name, part in made.items():
            text = re.sub(
                rf"(<!-- generated: {name} -->\n).*?(<!-- end -->)",
                lambda m, part=part: f"{m[1]}{part}\n{m[2]}",
                text,
                flags=re.S,
            )
        README.write_text(text, encoding="utf-8")

    assert {name: without_scores(part) for name, part in parts(text).items()} == {
        name: without_scores(part) + "\n" for name, part in made.items()
    }


def test_the_python_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes").mkdir()
    monkeypatch.chdir(tmp_path)
    example = re.search(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.S)
    assert example
    exec(compile(example[1], "README.md", "exec"), {})

    assert "staging-key.md:6-6" in capsys.readouterr().out


def test_every_command_and_setting_stands_in_the_readme() -> None:
    text = README.read_text(encoding="utf-8")

    assert [name for name in COMMANDS if f"`memtool {name}`" not in text] == []
    assert [key for key in SETTINGS if f"`{key}`" not in text] == []
