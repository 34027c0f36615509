"""Installing hooks adds what memtool needs to an agent's settings; uninstalling takes exactly that out."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Ran

SETTINGS = """\
{
  "model": "opus",
  "hooks": {
    "Stop": [{"hooks": [{"type": "command", "command": "echo 完了"}]}],
    "PostToolUse": [
      {
        "matcher": "Edit",
        "hooks": [{"type": "command", "command": "fmt"}]
      }
    ]
  },
  "zeta": [1,2],
  "alpha": true
}
"""


@pytest.fixture
def project(tmp_path: Path, vault: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a space and worse in its name; the vault is elsewhere."""
    (vault / ".memtool").mkdir()
    monkeypatch.setenv("MEMTOOL_VAULT", str(vault))
    folder = tmp_path / "my $(touch evil) 'project'"
    (folder / ".claude").mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


def settings(project: Path) -> Path:
    return project / ".claude/settings.json"


@pytest.mark.parametrize("agent", ["claude", "codex", "opencode"])
@pytest.mark.parametrize("scope", ["project", "user"])
def test_what_was_installed_is_told_and_can_be_taken_out(
    agent: str, scope: str, project: Path, run: Callable[..., Ran]
) -> None:
    assert run("hooks", "install", agent, "--scope", scope, "--yes").code == 0
    before = {row["agent"]: row["events"] for row in _rows(run) if row["scope"] == scope}

    assert before[agent]
    assert [events for other, events in before.items() if other != agent] == [[], []]

    again = run("hooks", "install", agent, "--scope", scope, "--yes")
    assert "nothing to do" in again.out
    assert run("hooks", "uninstall", agent, "--scope", scope, "--yes").code == 0
    assert all(row["events"] == [] for row in _rows(run))
    assert [file for file in project.rglob("*") if file.is_file()] == []


def _rows(run: Callable[..., Ran]) -> list[dict[str, object]]:
    return list(json.loads(run("hooks", "status", "--json").out)["hooks"])


def test_every_other_byte_of_the_settings_stays(project: Path, run: Callable[..., Ran]) -> None:
    settings(project).write_text(SETTINGS, encoding="utf-8")
    settings(project).chmod(0o600)
    ran = run("hooks", "install", "claude", "--yes")
    after = settings(project).read_text("utf-8")

    assert ran.err.startswith(f"--- {settings(project)}".replace("\n", ""))
    assert [line for line in SETTINGS.split("\n") if line not in after.split("\n")] == []
    assert list(json.loads(after)) == ["model", "hooks", "zeta", "alpha"]
    assert settings(project).stat().st_mode & 0o777 == 0o600
    assert (project / ".claude/settings.json.before-memtool").read_text("utf-8") == SETTINGS

    run("hooks", "uninstall", "claude", "--yes")
    assert settings(project).read_text("utf-8") == SETTINGS


def test_a_command_survives_every_path_and_is_no_more_than_a_command(
    project: Path, run: Callable[..., Ran], vault: Path, tmp_path: Path
) -> None:
    odd = tmp_path / "va ult; touch evil `touch evil` $(touch evil) \"'"
    vault.rename(odd)
    run("hooks", "install", "claude", "--yes", "--resident", "--vault", str(odd))
    hooks = json.loads(settings(project).read_text("utf-8"))["hooks"]
    commands = [group["hooks"][0]["command"] for groups in hooks.values() for group in groups]
    shown = subprocess.run(
        ["/bin/sh", "-c", f"printf '%s\\n' {commands[0]}"], capture_output=True, text=True, check=True
    )

    assert str(odd) in shown.stdout.split("\n")
    assert os.path.isabs(shlex.split(commands[0])[0])
    assert not list(tmp_path.rglob("evil"))
    assert [command.split()[-1] for command in commands].count("--resident") == 1


def test_nobody_is_there_to_be_asked(project: Path, run: Callable[..., Ran]) -> None:
    settings(project).write_text(SETTINGS, encoding="utf-8")
    ran = run("hooks", "install", "claude")

    assert ran.code == 2
    assert "--yes" in ran.err
    assert run("hooks", "install", "claude", "--dry-run").code == 0
    assert settings(project).read_text("utf-8") == SETTINGS


@pytest.mark.parametrize("broken", ["{", "[]", '{"hooks": []}', '{"hooks": {"Stop": 1}}', "\xff", '{"a":1}x'])
def test_a_broken_file_is_left_alone(broken: str, project: Path, run: Callable[..., Ran]) -> None:
    settings(project).write_bytes(broken.encode("latin-1"))
    ran = run("hooks", "install", "claude", "--yes")

    assert ran.code == 2
    assert "settings.json" in ran.err
    assert settings(project).read_bytes() == broken.encode("latin-1")
    assert list(settings(project).parent.iterdir()) == [settings(project)]


def test_a_link_is_followed_and_stays_one(project: Path, run: Callable[..., Ran], tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text(SETTINGS, encoding="utf-8")
    settings(project).symlink_to(real)
    run("hooks", "install", "claude", "--yes")

    assert settings(project).is_symlink()
    assert "memtool" in real.read_text("utf-8")
    assert list(tmp_path.glob("dotfiles*")) == [real]


def test_hooks_that_were_installed_from_elsewhere_are_replaced(
    project: Path, run: Callable[..., Ran]
) -> None:
    old = {"type": "command", "command": "'/old place/bin/memtool' hook claude prompt --vault /gone"}
    theirs = {"type": "command", "command": "other hook claude"}
    told = {"hooks": {"UserPromptSubmit": [{"hooks": [old, theirs]}]}}
    settings(project).write_text(json.dumps(told), encoding="utf-8")
    run("hooks", "install", "claude", "--yes")
    groups = json.loads(settings(project).read_text("utf-8"))["hooks"]["UserPromptSubmit"]

    assert groups[0]["hooks"] == [theirs]
    assert len(groups) == 2


def test_a_plugin_of_the_same_name_that_is_not_ours_stays(project: Path, run: Callable[..., Ran]) -> None:
    file = project / ".opencode/plugin/memtool.js"
    file.parent.mkdir(parents=True)
    file.write_text("export const Mine = 1\n", encoding="utf-8")
    run("hooks", "uninstall", "opencode", "--yes")

    assert file.read_text("utf-8") == "export const Mine = 1\n"
