"""Real git repositories with given dates: the one way in which tests of the past make them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from conftest import write_notes


class Repository:
    """A vault in a repository whose commits have the days and the writers that a test gives them."""

    def __init__(self, folder: Path, *, top: Path | None = None) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        if not (top or folder).joinpath(".git").exists():
            self.git("init", "-q", "-b", "main", str(top or folder))

    def git(self, *arguments: str, day: str = "2026-01-01", who: str = "Mio") -> str:
        date = f"{day}T10:00:00+0000"
        environment = {"GIT_AUTHOR_NAME": who, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.folder,
            env=os.environ | environment,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()

    def write(self, notes: dict[str, str | bytes]) -> None:
        write_notes(self.folder, notes)

    def commit(
        self,
        day: str,
        notes: dict[str, str | bytes] | None = None,
        *,
        who: str = "Mio",
        message: str = "Change",
        agent: str = "",
        reason: str = "",
    ) -> str:
        """Write *notes* and commit everything as of 10:00 UTC of *day*; give the revision."""
        self.write(notes or {})
        self.git("add", "-A")
        trailers = [f"Memtool-Writer: agent/{agent}"] * bool(agent) + [f"Memtool-Reason: {reason}"] * bool(
            reason
        )
        text = "\n\n".join(filter(None, (message, "\n".join(trailers))))
        self.git("commit", "-q", "--allow-empty", "-m", text, day=day, who=who)
        return self.git("rev-parse", "HEAD")
