"""A vault under hardship: thousands of edits with a watcher that dies, or processes killed at any moment.

    python tests/bench/hardship.py missed [--edits 2000] [--seed 1]
    python tests/bench/hardship.py kills [--kills 200] [--seed 1]

Counts what must be nothing: rows that differ afterwards, bytes changed in files that people wrote,
repositories that `git fsck` complains of, searches that fail.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WORDS = "pump valve 鍵 水やり staging booking 予約 backup rotate 会議 door code 夜間 light".split()
ENVIRONMENT = {
    **os.environ,
    "MEMTOOL_EMBEDDER": "fake",
    "MEMTOOL_RESIDENT": "0",
    "MEMTOOL_QUIET_TIME_S": "0.3",
}


class Hardship:
    """A repository of notes, what each file should hold, and a watcher that may be dead."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.folder = Path(tempfile.mkdtemp(prefix="memtool-hardship-")) / "vault"
        self.folder.mkdir()
        self.notes: dict[str, bytes] = {}
        self.number = 0
        self.watcher: subprocess.Popen[bytes] | None = None
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "Mio")
        self.git("config", "user.email", "mio@example.invalid")
        for _ in range(150):
            self.add()
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "Start")

    def git(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        for _ in range(40):
            done = subprocess.run(["git", *arguments], cwd=self.folder, capture_output=True, check=False)
            if b"index.lock" not in done.stderr:
                return done
            time.sleep(0.05)
        return done

    def memtool(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-m", "memtool", *arguments, "--vault", str(self.folder)]
        return subprocess.run(command, capture_output=True, env=ENVIRONMENT, check=False)

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "memtool", *arguments, "--vault", str(self.folder)]
        quiet = subprocess.DEVNULL
        return subprocess.Popen(command, stdout=quiet, stderr=quiet, env=ENVIRONMENT, process_group=0)

    def text(self) -> bytes:
        self.number += 1
        words = " ".join(self.random.choice(WORDS) for _ in range(self.random.randint(3, 60)))
        return f"# Note {self.number}\n\n{words} zyx{self.number:05d}\n".encode()

    def add(self) -> None:
        path = f"part{self.random.randint(0, 9)}/note{self.number}.md"
        self.put(path, self.text())

    def put(self, path: str, data: bytes) -> None:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if self.random.random() < 0.5:
            file.write_bytes(data)
        else:
            temporary = file.with_name(f".{file.name}.swp")
            temporary.write_bytes(data)
            os.replace(temporary, file)
        self.notes[path] = data

    def edit(self) -> None:
        """Do one thing that a person does."""
        path = self.random.choice(sorted(self.notes))
        kind = self.random.random()
        if kind < 0.6:
            self.put(path, self.notes[path] + self.text())
        elif kind < 0.75:
            self.add()
        elif kind < 0.85 and len(self.notes) > 50:
            (self.folder / path).unlink()
            del self.notes[path]
        else:
            new = f"part{self.random.randint(0, 9)}/moved{self.number}-{self.random.randint(0, 10**6)}.md"
            (self.folder / new).parent.mkdir(parents=True, exist_ok=True)
            os.replace(self.folder / path, self.folder / new)
            self.notes[new] = self.notes.pop(path)

    def switch(self) -> None:
        """Commit all, go to a new branch with fewer notes, and come back."""
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "By hand")
        self.git("checkout", "-q", "-b", f"other{self.number}")
        for path in self.random.sample(sorted(self.notes), 5):
            self.git("rm", "-q", "--", path)
        self.git("commit", "-q", "-m", "Fewer")
        self.git("checkout", "-q", "main")

    def toggle(self) -> None:
        if self.watcher and self.watcher.poll() is None:
            os.killpg(self.watcher.pid, signal.SIGKILL)
            self.watcher.wait()
            self.watcher = None
            self.unlock()
        else:
            self.watcher = self.start("watch")

    def unlock(self) -> None:
        """Do what the message for a lock left by a killed git tells a person to do."""
        (self.folder / ".git" / "index.lock").unlink(missing_ok=True)

    def changed(self) -> list[str]:
        """Name the files whose bytes are not what was written."""
        now = {
            file.relative_to(self.folder).as_posix(): file.read_bytes()
            for file in self.folder.rglob("*.md")
            if ".memtool" not in file.parts and "MEMORY" not in file.relative_to(self.folder).as_posix()
        }
        return sorted(
            path for path in now.keys() | self.notes.keys() if now.get(path) != self.notes.get(path)
        )

    def end(self) -> None:
        if self.watcher and self.watcher.poll() is None:
            os.killpg(self.watcher.pid, signal.SIGKILL)
            self.watcher.wait()
        shutil.rmtree(self.folder.parent, ignore_errors=True)


def missed(edits: int, seed: int) -> None:
    hard = Hardship(seed)
    for count in range(edits):
        hard.edit()
        if count % 80 == 40:
            hard.toggle()
        if count % 250 == 200:
            hard.switch()
        time.sleep(hard.random.choice((0, 0, 0, 0.01, 0.05)))
    hard.toggle() if hard.watcher is None else None
    time.sleep(3)
    changed = hard.changed()
    deep = hard.memtool("check", "--deep")
    told = [line for line in deep.stdout.decode().split("\n") if "index" in line]
    print(f"{edits} edits, {len(hard.notes)} notes left")
    print(
        f"files whose bytes changed: {len(changed)}; rows that differ: {len(told)}", *changed[:3], *told[:3]
    )
    hard.end()


def kills(count: int, seed: int) -> None:
    hard = Hardship(seed)
    broken, failed, fsck = 0, 0, 0
    for _ in range(count):
        for _ in range(hard.random.randint(1, 6)):
            hard.edit()
        process = hard.start(*hard.random.choice((["index"], ["index", "--rebuild"], ["watch"], ["commit"])))
        time.sleep(hard.random.uniform(0.02, 1.2))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        hard.unlock()
        broken += bool(hard.changed())
        answer = hard.memtool("search", "pump valve", "--json")
        failed += answer.returncode != 0
        checked = hard.git("fsck", "--no-dangling")
        fsck += checked.returncode != 0
    deep = hard.memtool("check", "--deep")
    told = [line for line in deep.stdout.decode().split("\n") if "index" in line]
    print(f"{count} kills: vaults with changed bytes {broken}, searches that failed {failed}, fsck {fsck}")
    print(f"rows that differ at the end: {len(told)}", *told[:3])
    hard.end()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("missed", "kills"))
    parser.add_argument("--edits", type=int, default=2000)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.what == "missed":
        missed(options.edits, options.seed)
    else:
        kills(options.kills, options.seed)


if __name__ == "__main__":
    main()
