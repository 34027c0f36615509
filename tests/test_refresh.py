"""A refresh: only what changed is read, nothing is lost by mistake, and nobody sees half of it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import write_notes

from memtool.index.index import Index
from memtool.memory.memory import Memory
from memtool.refresh import intake, refresh
from memtool.refresh.refresh import RefreshReport
from memtool.vault import Vault

LATER = 4_000_000_000 * 10**9


class Bench:
    """A vault with an index, and a clock by which every file was written long ago."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.vault = folder, Vault.open(folder)
        self.index = Index.open(folder.parent / "index.sqlite3")
        self.read: list[str] = []

    def refresh(self, *, late: bool = True, **more: Any) -> RefreshReport:
        clock = (lambda: LATER) if late else time.time_ns
        reading = Reading(self.vault)
        reading.root, self.read = self.vault.root, reading.paths
        return refresh.refresh(reading, self.index, clock=clock, **more)

    def texts(self) -> dict[str, str]:
        rows = self.index.db.execute(
            "SELECT f.path, group_concat(c.text, '|') FROM files f "
            "LEFT JOIN chunks c ON c.file = f.id GROUP BY f.id"
        )
        return dict(rows)


class Reading(Vault):
    """A vault that remembers which notes were read."""

    def __init__(self, vault: Vault) -> None:
        super().__init__(vault.root, environment=os.environ)
        self.paths: list[str] = []

    def read(self, path: str) -> bytes:
        self.paths.append(path)
        return super().read(path)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    folder = write_notes(
        tmp_path / "v", {"a.md": "alpha", "b.md": "beta", "sub/c.md": "gamma", "日本.md": "梟"}
    )
    bench = Bench(folder)
    yield bench
    bench.index.close()


def test_the_first_refresh_reads_every_note(bench: Bench) -> None:
    report = bench.refresh()

    assert (report.added, report.changed, report.removed, report.unchanged) == (4, 0, 0, 0)
    assert bench.texts() == {"a.md": "alpha", "b.md": "beta", "sub/c.md": "gamma", "日本.md": "梟"}


def test_the_second_refresh_reads_nothing(bench: Bench) -> None:
    bench.refresh()
    report = bench.refresh()

    assert bench.read == []
    assert (report.touched, report.unchanged) == (0, 4)


def test_one_edit_reads_one_note(bench: Bench) -> None:
    bench.refresh()
    (bench.folder / "a.md").write_text("delta", encoding="utf-8")
    report = bench.refresh()

    assert bench.read == ["a.md"]
    assert (report.changed, report.unchanged, bench.texts()["a.md"]) == (1, 3, "delta")


def test_a_note_that_was_only_touched_is_not_parsed_again(bench: Bench) -> None:
    bench.refresh()
    os.utime(bench.folder / "a.md")
    report = bench.refresh()
    again = bench.refresh()

    assert (report.touched, again.touched, bench.read) == (0, 0, [])


def test_a_deleted_note_is_gone(bench: Bench) -> None:
    bench.refresh()
    (bench.folder / "b.md").unlink()

    assert bench.refresh().removed == 1
    assert "b.md" not in bench.texts()


def test_a_renamed_note_stands_under_its_new_name_only(bench: Bench) -> None:
    bench.refresh()
    (bench.folder / "b.md").rename(bench.folder / "sub" / "bee.md")
    bench.refresh()

    assert sorted(bench.texts()) == ["a.md", "sub/bee.md", "sub/c.md", "日本.md"]


def test_an_edit_of_the_same_size_in_the_same_tick_is_seen(bench: Bench) -> None:
    bench.refresh(late=False)
    file = bench.folder / "a.md"
    before = file.stat()
    file.write_text("ALPHA", encoding="utf-8")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    bench.refresh(late=False)

    assert bench.texts()["a.md"] == "ALPHA"


def test_a_young_note_is_read_again_until_its_stat_can_be_trusted(bench: Bench) -> None:
    bench.refresh(late=False)
    bench.refresh(late=False)
    young = sorted(bench.read)
    bench.refresh()
    bench.refresh()

    assert young == ["a.md", "b.md", "sub/c.md", "日本.md"]
    assert bench.read == []


def test_looking_ahead_does_not_count_young_notes_that_are_as_they_were(bench: Bench) -> None:
    bench.refresh(late=False)
    (bench.folder / "a.md").write_text("changed", encoding="utf-8")
    (bench.folder / "b.md").unlink()
    ahead, _ = refresh.look(bench.vault, bench.index)

    assert ahead == refresh.Ahead(read=1, gone=1, unread=0)


def test_a_note_that_changes_while_it_is_read_is_read_again(bench: Bench) -> None:
    bench.refresh()
    file = bench.folder / "a.md"
    file.write_text("first", encoding="utf-8")

    def meddle(outcomes: Any, total: int) -> Any:
        for outcome in outcomes:
            file.write_text("second", encoding="utf-8")
            yield outcome

    bench.refresh(progress=meddle)
    bench.refresh()

    assert bench.texts()["a.md"] == "second"


def test_a_note_that_goes_away_before_it_is_read_is_told_of_and_then_gone(bench: Bench) -> None:
    (bench.folder / "a.md").write_text("first", encoding="utf-8")

    class Vanishing(Reading):
        def read(self, path: str) -> bytes:
            if path == "a.md":
                (bench.folder / "a.md").unlink(missing_ok=True)
            return super().read(path)

    report = refresh.refresh(Vanishing(bench.vault), bench.index)

    assert report.unread == ("a.md",)
    assert "went away" in report.findings[0].what
    assert bench.refresh().unread == ()


def test_a_file_from_the_far_future_is_a_note_like_others(bench: Bench) -> None:
    os.utime(bench.folder / "a.md", (13_569_465_600, 13_569_465_600))  # the year 2400
    os.utime(bench.folder / "b.md", (-2_000_000_000, -2_000_000_000))  # before 1970
    bench.refresh(late=False)
    ahead, _ = refresh.look(bench.vault, bench.index)

    assert len(bench.texts()) == 4
    assert ahead.read == 0


def test_inodes_of_any_size_can_be_kept(bench: Bench) -> None:
    class Wide(Reading):
        def walk(self, **more: Any) -> Any:
            walk = super().walk(**more)
            stats = {path: (*stat[:3], stat[3] | 1 << 63) for path, stat in walk.stats.items()}
            return walk._replace(stats=stats)

    first = refresh.refresh(Wide(bench.vault), bench.index, clock=lambda: LATER)
    again = Wide(bench.vault)
    second = refresh.refresh(again, bench.index, clock=lambda: LATER)

    assert (first.added, second.touched, again.paths) == (4, 0, [])


def unlistable(*folders: str) -> Callable[[str, str], int]:
    from memtool.files import open_folder

    def opener(root: str, prefix: str) -> int:
        if prefix in folders:
            raise PermissionError(13, "Permission denied", prefix)
        return open_folder(root, prefix)

    return opener


def test_an_unreadable_folder_removes_nothing(bench: Bench) -> None:
    bench.refresh()

    class Closed(Vault):
        def walk(self, **more: Any) -> Any:
            return super().walk(**more, opener=unlistable("sub/"))

    report = refresh.refresh(Closed(bench.folder, environment={}), bench.index, clock=lambda: LATER)

    assert (report.removed, report.unread) == (0, ("sub/c.md",))
    assert [finding.code for finding in report.findings] == ["unreadable"]
    assert bench.texts()["sub/c.md"] == "gamma"


def test_an_unreadable_note_keeps_its_rows_and_says_why(bench: Bench) -> None:
    bench.refresh()
    (bench.folder / "a.md").write_text("unseen", encoding="utf-8")

    class Refusing(Reading):
        def read(self, path: str) -> bytes:
            raise PermissionError(13, "Permission denied")

    report = refresh.refresh(Refusing(bench.vault), bench.index, clock=lambda: LATER)

    assert (report.unread, report.findings[0].what) == (("a.md",), "cannot be read: permission denied")
    assert bench.texts()["a.md"] == "alpha"


# -- losses --------------------------------------------------------------------------------


@pytest.fixture
def large(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(write_notes(tmp_path / "v", {f"n{n}.md": f"note {n}" for n in range(20)}))
    bench.refresh()
    yield bench
    bench.index.close()


def test_a_great_loss_is_paused_and_not_recorded(large: Bench) -> None:
    for n in range(19):
        (large.folder / f"n{n}.md").unlink()
    report = large.refresh()

    assert report.paused
    assert [finding.code for finding in report.findings] == ["loss-paused"]
    assert "--accept-loss" in report.findings[0].fix
    assert len(large.index.stats()) == 20


def test_a_paused_loss_can_be_accepted(large: Bench) -> None:
    for n in range(19):
        (large.folder / f"n{n}.md").unlink()
    large.refresh()
    report = large.refresh(accept_loss=True)

    assert (report.paused, report.removed, list(large.index.stats())) == (False, 19, ["n19.md"])


def test_what_comes_back_after_a_loss_is_not_read_again(large: Bench, tmp_path: Path) -> None:
    away = tmp_path / "away"
    away.mkdir()
    for file in large.folder.glob("*.md"):
        file.rename(away / file.name)
    large.refresh()
    for file in away.glob("*.md"):
        file.rename(large.folder / file.name)
    report = large.refresh()

    # A rename moves the ctime, so each is looked at; their bytes are as they were.
    assert (report.paused, report.touched) == (False, 0)


def test_a_renamed_folder_is_no_loss(large: Bench) -> None:
    (large.folder / "new").mkdir()
    for file in large.folder.glob("*.md"):
        file.rename(large.folder / "new" / file.name)
    report = large.refresh()

    assert (report.paused, report.added, report.removed) == (False, 20, 20)


def test_a_few_notes_less_are_no_loss(large: Bench) -> None:
    for n in range(9):
        (large.folder / f"n{n}.md").unlink()

    assert large.refresh().removed == 9


# -- git, killed runs, company ---------------------------------------------------------------


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


def test_switching_branches_and_back_embeds_nothing_twice(
    git_vault: Path, open_memory: Callable[..., Memory]
) -> None:
    embedder = Counting()
    git(git_vault, "switch", "-q", "-c", "other")
    for file in git_vault.glob("tools/*.md"):
        file.write_text(file.read_text(encoding="utf-8") + "\nAn addition.\n", encoding="utf-8")
    git(git_vault, "commit", "-q", "-a", "-m", "Add")
    git(git_vault, "switch", "-q", "main")
    memory = open_memory(git_vault, embedder=embedder)
    memory.refresh()
    memory.embed()

    counts = []
    for branch in ("other", "main", "other"):
        git(git_vault, "switch", "-q", branch)
        memory.refresh()
        before = embedder.count
        memory.embed()
        counts.append(embedder.count - before)

    assert counts[0] > 0
    assert counts[1:] == [0, 0]
    assert memory.check(deep=True) == memory.check()


class Counting:
    """The fake embedder, and how many texts it was given."""

    def __init__(self) -> None:
        from memtool.embedders.fake import FakeEmbedder

        self.inner = FakeEmbedder()
        self.count = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def embed(self, texts: Any, *, kind: Any) -> Any:
        if kind == "passage":
            self.count += len(texts)
        return self.inner.embed(texts, kind=kind)


def test_a_renamed_note_and_a_second_refresh_embed_nothing(
    vault: Path, open_memory: Callable[..., Memory]
) -> None:
    embedder = Counting()
    memory = open_memory(vault, embedder=embedder)
    memory.search("spare keys")
    first = embedder.count
    memory.search("spare keys")
    (vault / "plots" / "plot-07.md").rename(vault / "plots" / "seven.md")
    memory.search("spare keys")

    assert first > 0
    assert embedder.count == first
    assert "plots/seven.md" in memory.index.stats()


SLOWLY = (
    "import sys, time\n"
    "from memtool.refresh import refresh\n"
    "from memtool.memory.memory import Memory\n"
    "refresh.BATCH = 10\n"
    "def slowly(outcomes, total):\n"
    "    for number, outcome in enumerate(outcomes):\n"
    "        if number == 25:\n"
    "            print('half way', flush=True)\n"
    "            time.sleep(60)\n"
    "        yield outcome\n"
    "with Memory.open(sys.argv[1], embedder='none') as memory:\n"
    "    memory.refresh(progress=slowly)\n"
)


def test_a_killed_run_is_taken_up_where_it_stopped(
    tmp_path: Path, open_memory: Callable[..., Memory]
) -> None:
    vault = write_notes(tmp_path / "v", {f"{n}.md": f"# N{n}\n\nnumber {n}" for n in range(60)})
    child = subprocess.Popen([sys.executable, "-c", SLOWLY, str(vault)], stdout=subprocess.PIPE)
    assert child.stdout and child.stdout.readline() == b"half way\n"
    child.send_signal(signal.SIGKILL)
    child.communicate()

    memory = open_memory(vault, embedder="none")
    kept = len(memory.index.stats())
    memory.refresh()

    assert kept == 20
    assert memory.check(deep=True) == []
    assert len(memory.index.stats()) == 60


def test_searches_while_notes_are_rewritten_never_fail_and_never_mix(
    tmp_path: Path, open_memory: Callable[..., Memory]
) -> None:
    vault = write_notes(tmp_path / "v", {f"{n}.md": f"owl {n}\n" * 5 for n in range(5)})
    stop = threading.Event()
    wrong: list[str] = []

    def rewrite() -> None:
        version = 0
        while not stop.is_set():
            version += 1
            for n in range(5):
                new = vault / f".{n}.tmp"
                new.write_text(f"owl {n} version{version}\n" * (3 + version % 4), encoding="utf-8")
                new.replace(vault / f"{n}.md")

    def search(memory: Memory) -> None:
        try:
            for _ in range(50):
                for hit in memory.search("owl", limit=5):
                    lines = set(hit.text.split("\n"))
                    if len(lines) != 1 or not hit.text.startswith(f"owl {hit.path[0]}"):
                        wrong.append(f"{hit.anchor}: {lines}")
        except Exception as error:
            wrong.append(repr(error))

    shared = open_memory(vault)
    searchers = [shared, shared, open_memory(vault), open_memory(vault)]
    threads = [threading.Thread(target=search, args=(memory,)) for memory in searchers]
    writer = threading.Thread(target=rewrite)
    writer.start()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stop.set()
    writer.join()

    assert wrong == []
    assert shared.check(deep=True) == []


SEARCHING = (
    "import sys\n"
    "from memtool.embedders.fake import FakeEmbedder\n"
    "from memtool.memory.memory import Memory\n"
    "with Memory.open(sys.argv[1], embedder=FakeEmbedder()) as memory:\n"
    "    for _ in range(40):\n"
    "        for hit in memory.search('owl', limit=5):\n"
    "            assert hit.text.startswith('owl ' + hit.path[0]), hit\n"
    "            assert len(set(hit.text.split('\\n'))) == 1, hit\n"
)


def test_processes_that_search_while_notes_are_rewritten_never_fail(
    tmp_path: Path, open_memory: Callable[..., Memory]
) -> None:
    vault = write_notes(tmp_path / "v", {f"{n}.md": f"owl {n}\n" * 5 for n in range(5)})
    children = [
        subprocess.Popen([sys.executable, "-c", SEARCHING, str(vault)], stderr=subprocess.PIPE) for _ in "abc"
    ]
    version = 0
    while any(child.poll() is None for child in children):
        version += 1
        new = vault / ".new.tmp"
        new.write_text(f"owl {version % 5} version{version}\n" * (3 + version % 4), encoding="utf-8")
        new.replace(vault / f"{version % 5}.md")

    assert [child.communicate()[1].decode() for child in children] == ["", "", ""]
    assert open_memory(vault).check(deep=True) == []


def test_a_refresh_gives_what_the_child_and_this_process_read_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_notes(
        tmp_path / "v", {f"{n}.md": f"# N{n}\n\n本文 {n}" for n in range(intake.PARALLEL_FROM)}
    )
    bench = Bench(folder)
    bench.refresh()
    shutil.rmtree(folder / "none", ignore_errors=True)

    assert len(bench.texts()) == intake.PARALLEL_FROM
    assert bench.refresh().touched == 0
    bench.index.close()
