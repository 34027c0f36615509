"""The loop is fed lists of what happened and a clock; a few live ones wait for a deadline."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest
from conftest import age, snapshot, until, write_notes

from memtool import heartbeat
from memtool.claim import Claim
from memtool.embedders.fake import FakeEmbedder
from memtool.errors import EmbedderError, GitError, LockError
from memtool.memory.memory import Memory
from memtool.resident.resident import Answer
from memtool.resident.service import Service, Wish
from memtool.watch import observing
from memtool.watch.observing import Blind, Source, count_watches, remote_mount
from memtool.watch.settling import Event, Pending, sort
from memtool.watch.watch import SLICE, Ended, Superseded, Watch, taker

DOUBT = Event("", "doubt")

#: Live ones wait for other threads, which may take long on a busy machine.
pytestmark = pytest.mark.timeout(40)


# -- when to look --------------------------------------------------------------------------


def test_a_burst_is_one_batch() -> None:
    pending = Pending(quiet_s=0.1, most_s=2.0)
    for number in range(5):
        pending.note(Event(f"{number}.md", "changed"), 10 + number * 0.05)

    assert pending.due_in(10.2) == pytest.approx(0.1)
    assert pending.due_in(10.3) == 0
    assert pending.take(10.3).paths == {"0.md", "1.md", "2.md", "3.md", "4.md"}
    assert pending.due_in(10.3) is None


def test_a_storm_does_not_put_the_look_off_for_ever() -> None:
    pending = Pending(quiet_s=0.1, most_s=2.0)
    for number in range(100):
        pending.note(Event("a.md", "changed"), number * 0.05)

    assert pending.due_in(4.96) == 0


def test_a_half_written_file_waits_until_it_is_closed() -> None:
    pending = Pending(quiet_s=0.1, patience_s=5)
    pending.note(Event("slow.md", "written"), 0)
    pending.note(Event("other.md", "changed"), 0.5)

    first = pending.take(0.6)
    pending.note(Event("slow.md", "written"), 1.0)
    waiting = pending.due_in(1.0)
    pending.note(Event("slow.md", "changed"), 1.2)

    assert (first.paths, first.held) == ({"other.md"}, {"slow.md"})
    assert waiting == 5
    assert pending.take(1.3).paths == {"slow.md"}


def test_a_file_that_is_never_closed_is_taken_in_the_end() -> None:
    pending = Pending(patience_s=5)
    pending.note(Event("log.md", "written"), 0)

    assert pending.due_in(4) == 1
    batch = pending.take(5)
    assert (batch.paths, batch.held) == ({"log.md"}, frozenset())


def test_a_new_file_that_is_still_empty_waits() -> None:
    pending = Pending(quiet_s=0.1)
    pending.note(Event("linked.md", "created"), 0)
    pending.note(Event("begun.md", "created"), 0)

    batch = pending.take(0.1, lambda path: path == "begun.md")

    assert (batch.paths, batch.held) == ({"linked.md"}, {"begun.md"})


def test_git_at_work_is_one_change() -> None:
    at_work = [True]
    pending = Pending(quiet_s=0.1, most_s=2, busy=lambda: at_work[0], busy_s=10)
    pending.note(DOUBT, 0)

    assert pending.due_in(5.0) != 0
    assert pending.due_in(10.0) == 0  # a lock that somebody left behind
    at_work.clear()
    at_work.append(False)
    assert pending.due_in(5.0) == 0


@pytest.mark.parametrize(
    ("happened", "path", "folder"),
    [
        ("opened", "a.md", False),
        ("closed_no_write", "a.md", False),
        ("modified", "ops", True),
        ("created", ".git/objects/ab", True),
        ("closed", ".git/index", False),
        ("created", ".git/refs/heads/main.lock", False),
        ("closed", "sub/.obsidian/x.md", False),
        ("created", ".a.md.swp", False),
        ("moved", "a.md~", False),
        ("created", "4913", False),
        ("created", "node_modules/x", True),
        ("closed", "picture.png", False),
    ],
)
def test_what_means_nothing_for_notes_is_not_told(happened: str, path: str, folder: bool) -> None:
    assert sort(happened, path, folder=folder) is None


@pytest.mark.parametrize(
    ("happened", "path", "folder", "kind"),
    [
        ("modified", "ops/a.md", False, "written"),
        ("closed", "計画.md", False, "changed"),
        ("moved", "b.MD", False, "changed"),
        ("deleted", "a.md", False, "changed"),
        ("created", "ops", True, "doubt"),
        ("moved", ".git/HEAD", False, "doubt"),
        ("created", ".git/refs/heads/main", False, "doubt"),
        ("closed", "memtool.toml", False, "doubt"),
    ],
)
def test_what_matters_is_told(happened: str, path: str, folder: bool, kind: str) -> None:
    event = sort(happened, path, folder=folder)

    assert event and event.kind == kind


# -- the loop ------------------------------------------------------------------------------


class Clock:
    """A clock that only the test moves."""

    def __init__(self) -> None:
        self.time = 1000.0

    def __call__(self) -> float:
        return self.time


class Told:
    """A source that says what the test wants."""

    alive, marks = True, True

    def is_alive(self) -> bool:
        return self.alive

    def recount(self) -> None:
        pass

    def mark(self, timeout_s: float = 0.05) -> tuple[int, int] | None:
        return (0, 0) if self.marks else None


class Loop:
    """A watch over a small vault, driven by hand."""

    def __init__(self, memory: Memory, **settings: Any) -> None:
        self.memory, self.clock, self.said = memory, Clock(), list[str]()
        self.commits: list[datetime] = []
        settings = {"source": Told(), "commit": self.commits.append, "beat": False} | settings
        self.watch = Watch(memory, clock=self.clock, now=self.clock, say=self.said.append, **settings)
        self.watch.run(lambda timeout_s: None)  # the first doubt
        self.settle(5)
        self.said.clear()

    def settle(self, seconds: float) -> None:
        """Let time pass, and all happen that is due in it."""
        until = self.clock.time + seconds
        while (wait := self.watch.due_in()) is not None and self.clock.time + wait <= until:
            self.clock.time += wait + 1e-6
            self.watch.step()
        self.clock.time = until

    def feed(self, *told: Event, seconds: float = 5) -> None:
        for event in told:
            self.watch.pending.note(event, self.clock.time)
        self.settle(seconds)

    def find(self, word: str) -> list[str]:
        return [hit.path for hit in self.memory.search(word, mode="lexical", refresh=False)]


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = write_notes(
        tmp_path / "notes",
        {f"n{n}.md": f"# Note {n}\n\nThe word is stone{n}.\n" for n in range(5)},
    )
    age(folder)
    return folder


@pytest.fixture
def loop(notes: Path, open_memory: Callable[..., Memory]) -> Loop:
    return Loop(open_memory(notes))


def changed(path: str) -> Event:
    return Event(path, "changed")


def test_a_saved_note_is_found_and_has_its_vectors(loop: Loop, notes: Path) -> None:
    (notes / "n1.md").write_text("# Note 1\n\nNow it is onyx.\n")
    loop.feed(changed("n1.md"), seconds=0.2)

    assert loop.find("onyx") == ["n1.md"]
    loop.settle(1)
    assert loop.memory.coverage().missing == 0
    assert loop.said[0] == "0 new, 1 changed, 0 gone"


def test_what_happened_while_nobody_watched_is_taken_in_at_the_start(
    notes: Path, open_memory: Callable[..., Memory]
) -> None:
    with Memory.open(notes, embedder=FakeEmbedder()) as before:
        before.refresh()
    (notes / "n0.md").unlink()
    (notes / "n1.md").rename(notes / "renamed.md")
    (notes / "n2.md").write_text("# Note 2\n\nChanged to beryl.\n")

    loop = Loop(open_memory(notes))

    assert loop.find("stone0") == []
    assert loop.find("stone1") == ["renamed.md"]
    assert loop.find("beryl") == ["n2.md"]
    assert "n0.md" not in (notes / "MEMORY.md").read_text()


def test_our_own_catalog_never_loops(loop: Loop, notes: Path) -> None:
    before = snapshot(notes)
    cache = (notes / ".memtool/cache/index.sqlite3").stat().st_mtime_ns

    loop.feed(Event("MEMORY.md", "created"), changed("MEMORY.md"), seconds=30)
    loop.feed(Event("MEMORY.md", "written"), changed("MEMORY.md"), seconds=30)

    assert snapshot(notes) == before
    assert (notes / ".memtool/cache/index.sqlite3").stat().st_mtime_ns == cache
    assert loop.said == []


def test_a_new_note_is_listed_and_the_rest_of_the_page_stays(loop: Loop, notes: Path) -> None:
    page = notes / "MEMORY.md"
    page.write_text("My own words.\n\n" + page.read_text())
    (notes / "new.md").write_text("# Something new\n\nAbout jade.\n")

    loop.feed(changed("MEMORY.md"), changed("new.md"))

    assert page.read_text().startswith("My own words.\n")
    assert "Something new" in page.read_text()


def test_after_one_edit_only_its_own_texts_are_embedded(notes: Path) -> None:
    seen: list[str] = []

    class Counting(FakeEmbedder):
        def embed(self, texts: Any, *, kind: Any) -> Any:
            seen.extend(texts)
            return super().embed(texts, kind=kind)

    with Memory.open(notes, embedder=Counting()) as memory:
        loop = Loop(memory, catalog=False)
        seen.clear()
        (notes / "n3.md").write_text("# Note 3\n\nIt became garnet.\n")
        loop.feed(changed("n3.md"))

        assert seen and all("3" in text or "garnet" in text for text in seen)
        seen.clear()
        loop.settle(500)
        assert seen == []


def test_many_new_texts_are_embedded_in_slices(loop: Loop, notes: Path) -> None:
    write_notes(notes, {f"many/m{n}.md": f"# Many {n}\n\nText of {n}.\n" for n in range(3 * SLICE)})

    loop.feed(DOUBT)

    assert loop.memory.coverage().missing == 0


def test_a_half_written_note_keeps_its_old_row(loop: Loop, notes: Path) -> None:
    (notes / "n1.md").write_bytes(b"")
    (notes / "n2.md").write_text("# Note 2\n\nDone: opal.\n")
    loop.feed(Event("n1.md", "written"), changed("n2.md"), seconds=1)

    assert loop.find("opal") == ["n2.md"]
    assert loop.find("stone1") == ["n1.md"]

    (notes / "n1.md").write_text("# Note 1\n\nWhole again: tektite.\n")
    loop.feed(Event("n1.md", "written"), changed("n1.md"), seconds=0.5)
    assert loop.find("tektite") == ["n1.md"]


def test_without_news_a_young_file_waits_for_the_next_look(
    notes: Path, open_memory: Callable[..., Memory]
) -> None:
    loop = Loop(open_memory(notes), source=None)
    (notes / "n1.md").write_text("half")
    os.utime(notes / "n1.md", (loop.clock.time + 1.0, loop.clock.time + 1.0))

    loop.settle(1.1)
    before = loop.find("stone1")
    loop.settle(3)

    assert before == ["n1.md"]
    assert loop.find("half") == ["n1.md"]


def test_a_branch_switch_is_one_batch_and_unchanged_texts_are_not_embedded_again(
    git_vault: Path, open_memory: Callable[..., Memory]
) -> None:
    def git(*arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=git_vault, check=True, capture_output=True)

    git("switch", "-q", "-c", "other")
    for file in sorted(git_vault.glob("*/*.md"))[:10]:
        file.write_bytes(file.read_bytes() + b"\nOn the other branch.\n")
    git("commit", "-q", "-am", "other")
    git("switch", "-q", "main")
    memory = open_memory(git_vault)
    loop = Loop(memory, catalog=False)

    git("switch", "-q", "other")
    loop.feed(DOUBT, *[changed(f"a{n}.md") for n in range(10)])
    git("switch", "-q", "main")
    embedded: list[int] = []
    memory.embed = lambda **how: embedded.append(Memory.embed(memory, **how)) or embedded[-1]  # type: ignore
    loop.feed(DOUBT)

    assert loop.said == ["0 new, 10 changed, 0 gone"] * 2
    assert sum(embedded) == 0


def test_hundreds_of_new_nested_folders_are_all_found(loop: Loop, notes: Path) -> None:
    write_notes(notes, {f"p{n}/x/y/n.md": f"# Nest\n\nneststone{n}\n" for n in range(300)})
    loop.feed(DOUBT)

    assert loop.said[0] == "300 new, 0 changed, 0 gone"
    assert loop.find("neststone299") == ["p299/x/y/n.md"]


def test_edits_are_committed_once_after_the_quiet_time(loop: Loop, notes: Path) -> None:
    loop.settle(100)
    loop.commits.clear()
    for word in ("one", "two"):
        (notes / "n1.md").write_text(f"# Note 1\n\n{word}\n")
        loop.feed(changed("n1.md"), seconds=20)

    assert loop.commits == []
    loop.settle(30)
    assert len(loop.commits) == 1
    loop.settle(1000)
    assert len(loop.commits) == 1


def test_a_commit_that_is_not_done_says_when_to_come_again(
    notes: Path, open_memory: Callable[..., Memory]
) -> None:
    times: list[float] = []

    def commit(now: datetime) -> float:
        times.append(now.timestamp())
        return 7.0 if len(times) < 3 else 0.0

    loop = Loop(open_memory(notes), commit=commit, quiet_s=10, catalog=False)
    loop.settle(200)

    assert [round(later - times[0]) for later in times] == [0, 7, 14]


def test_nothing_is_committed_while_a_note_is_half_written(loop: Loop, notes: Path) -> None:
    loop.settle(100)
    loop.commits.clear()
    (notes / "n2.md").write_text("# Note 2\n\nwhole\n")
    loop.feed(changed("n2.md"), seconds=58)
    for _ in range(5):
        loop.feed(Event("n1.md", "written"), seconds=2)
    before = list(loop.commits)
    loop.feed(changed("n1.md"), seconds=2)

    assert (before, len(loop.commits)) == ([], 1)


def test_a_failed_commit_is_said_once_and_tried_again(
    notes: Path, open_memory: Callable[..., Memory]
) -> None:
    tries = []

    def commit(now: datetime) -> None:
        tries.append(now)
        raise GitError("git is not there", fix="install it")

    loop = Loop(open_memory(notes), commit=commit, quiet_s=10)
    loop.settle(200)

    assert len(tries) >= 3
    assert loop.said == ["git is not there\n  fix: install it"]


def test_an_embedder_that_is_down_stops_nothing_else(notes: Path) -> None:
    class Down(FakeEmbedder):
        def embed(self, texts: Any, *, kind: Any) -> Any:
            raise EmbedderError("the endpoint is down")

    with Memory.open(notes, embedder=Down()) as memory:
        loop = Loop(memory)
        (notes / "n1.md").write_text("# Note 1\n\nzircon\n")
        loop.feed(changed("n1.md"))

        assert loop.find("zircon") == ["n1.md"]


def test_a_busy_index_is_tried_again(loop: Loop, notes: Path) -> None:
    refresh, failures = loop.memory.refresh, [1, 2, 3]

    def busy(**how: Any) -> Any:
        if failures:
            failures.pop()
            raise LockError("the index is being written by another process")
        return refresh(**how)

    loop.memory.refresh = busy  # type: ignore[method-assign]
    (notes / "n1.md").write_text("# Note 1\n\nagate\n")
    loop.feed(changed("n1.md"), seconds=10)

    assert loop.find("agate") == ["n1.md"]


def test_a_vault_that_is_gone_ends_the_loop_and_is_not_made_again(loop: Loop, notes: Path) -> None:
    shutil.rmtree(notes)

    with pytest.raises(Ended, match="gone"):
        loop.feed(DOUBT)
    assert not notes.exists()


def test_most_notes_gone_at_once_change_neither_rows_nor_catalog(
    tmp_path: Path, open_memory: Callable[..., Memory]
) -> None:
    folder = write_notes(tmp_path / "big", {f"n{n}.md": f"# Note {n}\n\nstone{n}\n" for n in range(30)})
    loop = Loop(open_memory(folder))
    page = (folder / "MEMORY.md").read_bytes()
    for file in folder.glob("n*.md"):
        file.unlink()
    loop.feed(DOUBT, seconds=30)

    assert loop.find("stone7") == ["n7.md"]
    assert (folder / "MEMORY.md").read_bytes() == page
    assert "are gone from" in loop.said[0]


def test_an_index_of_another_version_ends_the_loop(loop: Loop, notes: Path) -> None:
    import sqlite3

    place = notes / ".memtool/cache/index.sqlite3"
    place.rename(place.with_suffix(".old"))
    with sqlite3.connect(place) as db:
        db.execute("CREATE TABLE facts(key TEXT PRIMARY KEY, value TEXT)")
        db.execute("INSERT INTO facts VALUES('version', 'another')")
    db.close()

    with pytest.raises(Superseded):
        loop.feed(DOUBT)
    assert place.exists()


def test_a_cache_that_was_deleted_comes_back(loop: Loop, notes: Path) -> None:
    shutil.rmtree(notes / ".memtool/cache")
    loop.feed(DOUBT)

    assert loop.find("stone4") == ["n4.md"]


def test_a_queue_is_taken_whole_and_none_ends_it() -> None:
    news: SimpleQueue[Event | None] = SimpleQueue()
    take = taker(news)
    news.put(changed("a.md"))
    news.put(changed("b.md"))

    assert take(None) == [changed("a.md"), changed("b.md")]
    assert take(0.0) == []
    news.put(changed("a.md"))
    news.put(None)
    assert take(None) is None


def test_after_the_work_memory_is_given_back_and_the_model_wakes_again(notes: Path) -> None:
    done: list[str] = []

    class Local(FakeEmbedder):
        def rest(self) -> None:
            done.append("rest")

        def embed(self, texts: Any, *, kind: Any) -> Any:
            done.extend(text for text in texts if kind == "query")
            return super().embed(texts, kind=kind)

    with Memory.open(notes, embedder=Local()) as memory:
        loop = Loop(memory)
        loop.settle(60)
        assert done == ["rest", "ready"]

        loop.settle(3600)
        assert done == ["rest", "ready"]
        assert loop.find("stone1") == ["n1.md"]


# -- the sign of life ----------------------------------------------------------------------


def beat(when: float) -> heartbeat.Beat:
    return heartbeat.Beat(os.getpid(), when - 60, when, "native", "1")


def test_a_sign_of_life_says_alive_silent_or_died(tmp_path: Path) -> None:
    assert heartbeat.load(tmp_path, 1000.0) is None
    heartbeat.save(tmp_path, beat(1000.0))
    died = heartbeat.load(tmp_path, 1000.0 + 180)
    claim = Claim(tmp_path / heartbeat.LOCK, "watches this vault")
    alive, silent = heartbeat.load(tmp_path, 1010.0), heartbeat.load(tmp_path, 1600.0)
    claim.close()

    assert died and (died.state, died.minutes) == ("died", 3)
    assert alive and str(alive) == "watched (last sign of life under a minute ago)"
    assert silent and (silent.state, silent.minutes) == ("silent", 10)
    heartbeat.clear(tmp_path)
    assert heartbeat.load(tmp_path, 1000.0) is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"pid": "x"}', "null", "\x00"])
def test_a_sign_of_life_that_makes_no_sense_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / heartbeat.NAME).write_text(text)

    assert heartbeat.load(tmp_path, 1000.0) is None


def test_every_answer_tells_that_the_watcher_died(notes: Path, run: Callable[..., Any]) -> None:
    (notes / ".memtool/state").mkdir(parents=True)
    heartbeat.save(notes / ".memtool/state", beat(time.time() - 600))

    told = run("search", "--vault", str(notes), "--lexical", "stone1", "--json")
    status = run("status", "--vault", str(notes))
    plain = run("search", "--vault", str(notes), "--lexical", "stone1")

    watcher = json.loads(told.out)["freshness"]["watcher"]
    assert watcher == {"state": "died", "minutes": 10, "mode": "native", "pid": os.getpid()}
    assert "the watcher died (last sign of life 10 min ago)" in plain.err
    assert "watcher   the watcher died" in status.out


def test_the_loop_gives_signs_of_life(notes: Path, open_memory: Callable[..., Memory]) -> None:
    loop = Loop(open_memory(notes), beat=True)
    state = loop.memory.vault.state
    first = json.loads((state / heartbeat.NAME).read_text())["beat"]
    loop.settle(60)

    assert json.loads((state / heartbeat.NAME).read_text())["beat"] >= first + 60 - heartbeat.EVERY_S


def test_news_that_stopped_coming_is_noticed(notes: Path, open_memory: Callable[..., Memory]) -> None:
    told = Told()
    loop = Loop(open_memory(notes), source=told, beat=True)
    told.marks = False

    with pytest.raises(Ended, match="stopped coming"):
        loop.settle(60)


def test_a_source_that_died_with_its_folder_is_noticed_at_once(loop: Loop) -> None:
    loop.watch.source.alive = False  # type: ignore[union-attr]

    with pytest.raises(Ended, match="stopped coming"):
        loop.feed(DOUBT)


# -- what the system tells -----------------------------------------------------------------


def test_file_events_that_cannot_be_had_say_why_and_what_to_raise(
    notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: object, *args: object) -> None:
        raise OSError(errno.ENOSPC, "inotify watch limit reached")

    monkeypatch.setattr("watchdog.observers.api.BaseObserver.on_thread_start", full)

    with pytest.raises(Blind) as caught:
        Source(notes, SimpleQueue(), mark_in=notes)
    assert "inotify watch limit reached" in caught.value.why
    assert "sysctl fs.inotify.max_user_watches" in caught.value.fix


def test_folders_that_the_system_left_out_are_noticed(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observing, "count_watches", lambda: 0)

    with pytest.raises(Blind, match="only 0 of 1 folders"):
        Source(notes, SimpleQueue(), mark_in=notes)


def test_a_vault_on_a_network_share_is_not_trusted_to_tell(tmp_path: Path) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
        "2 1 0:1 / /mnt/share rw shared:1 - nfs4 host:/x rw\n"
        "3 1 0:2 / /home/mio/notes/far\\040away rw - cifs //host/x rw\n"
    )

    assert remote_mount("/mnt/share/notes", str(mounts)) == "nfs4"
    assert remote_mount("/home/mio/notes", str(mounts)) == "cifs"
    assert remote_mount("/home/mio/other", str(mounts)) == ""
    assert remote_mount("/home/mio", str(tmp_path / "none")) == ""


native = pytest.mark.skipif(not Source.closes, reason="needs inotify")


@pytest.fixture
def source(notes: Path) -> Iterator[Source]:
    (notes / ".memtool/state").mkdir(parents=True)
    source = Source(notes, SimpleQueue(), mark_in=notes / ".memtool/state")
    yield source
    source.close()


@native
def test_a_mark_changes_with_every_save_and_with_no_read(notes: Path, source: Source) -> None:
    first = source.mark(5)
    for file in notes.glob("*.md"):
        file.read_bytes()
    after_reading = source.mark(5)
    (notes / "n1.md").write_text("new")
    after_writing = source.mark(5)
    (notes / ".n1.md.swp").write_text("x")
    (notes / ".n1.md.swp").unlink()

    assert first is not None and first == after_reading
    assert after_writing is not None and after_writing != first
    assert source.mark(5) == after_writing
    assert [*notes.glob(".memtool/state/.seen*")] == []


@native
def test_a_new_folder_is_watched_before_its_news_is_told(notes: Path, source: Source) -> None:
    for number in range(20):
        write_notes(notes, {f"d{number}/x/n.md": "text"})
        first = source.mark(5)
        (notes / f"d{number}/x/n.md").write_text("other")

        assert source.mark(5) != first


@native
def test_a_source_with_a_dead_thread_is_not_alive(notes: Path, source: Source) -> None:
    assert source.is_alive()
    assert (count_watches() or 0) >= 3
    for emitter in source._observer.emitters:
        emitter.stop()
        emitter.join(5)

    assert source._observer.is_alive()
    assert not source.is_alive()


# -- live ----------------------------------------------------------------------------------


def nobody(memory: Memory) -> Answer:
    return lambda request: None


class Live:
    """A service in a thread of its own."""

    def __init__(self, folder: Path, **wish: Any) -> None:
        self.folder, self.said = folder, list[str]()
        self.error: BaseException | None = None
        wish = {"commit": False, "answer": False} | wish
        self.service = Service(
            str(folder),
            Wish(**wish),
            answers=nobody,
            say=self.said.append,
            environment={**os.environ, "MEMTOOL_EMBEDDER": "none"},
        )
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()
        self.until(lambda: self.indexed("stone0") or not self.thread.is_alive())

    def _run(self) -> None:
        try:
            self.service.run()
        except BaseException as error:
            self.error = error

    def until(self, there: Callable[[], object]) -> None:
        until(there, self.said)

    def indexed(self, word: str) -> list[str]:
        """Find a word in what is indexed, without looking at the notes."""
        try:
            with Memory.open(self.folder, embedder="none") as memory:
                return [hit.path for hit in memory.search(word, mode="lexical", refresh=False)]
        except Exception:
            return []

    def stop(self) -> None:
        self.service.stop()
        self.thread.join(5)
        assert not self.thread.is_alive()


@pytest.fixture
def live(notes: Path) -> Iterator[Callable[..., Live]]:
    started: list[Live] = []

    def start(**wish: Any) -> Live:
        started.append(Live(notes, **wish))
        return started[-1]

    yield start
    for one in started:
        one.stop()


@pytest.mark.parametrize("poll", [False, True], ids=["native", "polling"])
def test_saves_as_editors_make_them_are_found(notes: Path, live: Callable[..., Live], poll: bool) -> None:
    watching = live(poll=poll)
    note, spare = notes / "n1.md", notes / ".n1.md.tmp"

    spare.write_text("# Note 1\n\nonyxone\n")
    spare.replace(note)
    watching.until(lambda: watching.indexed("onyxone") == ["n1.md"])

    note.rename(notes / "n1.md~")
    note.write_text("# Note 1\n\nonyxtwo\n")
    (notes / "n1.md~").unlink()
    watching.until(lambda: watching.indexed("onyxtwo") == ["n1.md"])

    outside = notes.parent / "outside.tmp"
    outside.write_text("# Note 1\n\nonyxthree\n")
    outside.replace(note)
    watching.until(lambda: watching.indexed("onyxthree") == ["n1.md"])
    assert watching.indexed("onyxtwo") == []


def test_new_nested_folders_are_found_live(notes: Path, live: Callable[..., Live]) -> None:
    watching = live()
    write_notes(notes, {f"p{n}/x/y/n.md": f"# Nest\n\nneststone{n}\n" for n in range(40)})

    watching.until(lambda: all(watching.indexed(f"neststone{n}") for n in (0, 20, 39)))


def test_a_slow_save_is_never_indexed_by_halves(notes: Path, live: Callable[..., Live]) -> None:
    watching = live()
    with (notes / "n1.md").open("w") as stream:
        for part in ("# No", "te 1\n", "\nWord: tek"):
            stream.write(part)
            stream.flush()
            time.sleep(0.2)
            if watching.service.wish.poll or "live watching is off" in "".join(watching.said):
                break
            assert watching.indexed("stone1") == ["n1.md"]
        stream.write("tite.\n")

    watching.until(lambda: watching.indexed("tektite") == ["n1.md"])


def test_a_vault_that_is_deleted_and_made_again_is_followed(notes: Path, live: Callable[..., Live]) -> None:
    watching = live()
    shutil.rmtree(notes)
    watching.until(lambda: any("beginning anew" in words for words in watching.said))
    write_notes(notes, {"again.md": "# Again\n\nphoenix\n"})

    watching.until(lambda: watching.indexed("phoenix") == ["again.md"])


def test_one_watcher_is_enough(notes: Path, live: Callable[..., Live]) -> None:
    watching = live()
    watching.until(lambda: (notes / ".memtool/state/watch.json").exists())
    second = live()
    second.until(lambda: second.error)

    assert isinstance(second.error, LockError)
    assert f"process {os.getpid()} watches this vault already" in str(second.error)
    watching.stop()
    assert not (notes / ".memtool/state/watch.json").exists()


def test_settings_that_change_are_taken_up(notes: Path, live: Callable[..., Live]) -> None:
    watching = live()
    (notes / "memtool.toml").write_text('ignore = ["n1.md"]\n')

    watching.until(lambda: any("settings changed" in words for words in watching.said))
    watching.until(lambda: watching.indexed("stone0") and not watching.indexed("stone1"))


def test_without_file_events_it_says_so_in_one_line_and_looks_by_itself(
    notes: Path, live: Callable[..., Live], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: object, *args: object) -> None:
        raise OSError(errno.ENOSPC, "inotify watch limit reached")

    monkeypatch.setattr("watchdog.observers.api.BaseObserver.on_thread_start", full)
    watching = live()
    (notes / "new.md").write_text("# New\n\namber\n")

    watching.until(lambda: watching.indexed("amber"))
    assert "live watching is off" in watching.said[0] and "sysctl" in watching.said[0]
    assert "\n" not in watching.said[0]
