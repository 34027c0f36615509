"""The index: rows in, rows out, and files that are not what they should be."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import write_notes

from memtool import lexical
from memtool.errors import LockError, VaultError
from memtool.index import index_file
from memtool.index.index import Index
from memtool.index.index_check import contents, problems
from memtool.index.index_file import DamagedError
from memtool.memory.memory import Memory
from memtool.refresh import reading

STAT = (1, 2, 3, 4)


def note(path: str, text: str) -> reading.NoteRows:
    return reading.parse(path, text.encode(), blob=f"blob of {text!r}")


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    index = Index.open(tmp_path / "index.sqlite3")
    yield index
    index.close()


def add(index: Index, *notes: reading.NoteRows) -> None:
    with index.change() as change:
        for one in notes:
            change.remove([one.path])
            change.add(one, STAT, "2026-03-01")


def test_a_note_put_in_can_be_read_back(index: Index) -> None:
    add(index, note("a.md", "# Owls\n\nThey hunt at night."))

    (found,) = index.files().values()
    rows = index.rows(index.rows_of(found.id))
    assert [(row.path, row.start, row.end, row.text) for row in rows.values()] == [
        ("a.md", 1, 3, "# Owls\n\nThey hunt at night.")
    ]
    assert index.stats() == {"a.md": STAT}
    assert found.day == "2026-03-01"


def test_words_find_their_chunk_in_both_languages(index: Index) -> None:
    add(index, note("owl.md", "The owl hunts."), note("梟.md", "梟は夜に狩りをする。"))

    assert [index.rows([row])[row].path for row, _ in index.words('"owl"', limit=5)] == ["owl.md"]
    token = max(lexical.tokens("狩り"), key=len)
    assert [index.rows([row])[row].path for row, _ in index.words(f'"{token}"', limit=5)] == ["梟.md"]


def test_a_note_taken_out_leaves_no_word_behind(index: Index) -> None:
    before = problems(index), index.terms_like("")
    add(index, note("a.md", "The owl hunts."))
    with index.change() as change:
        change.remove(["a.md"])

    assert (problems(index), index.terms_like("")) == before == ([], [])


def test_counts_follow_what_is_added_and_removed(index: Index) -> None:
    add(index, note("a.md", "one two"), note("b.md", "three"))
    add(index, note("a.md", "one two three four"))

    assert (index.count("notes"), index.chunk_count()) == (2, 2)
    assert problems(index) == []


def test_a_change_that_fails_changes_nothing(index: Index) -> None:
    add(index, note("a.md", "The owl hunts."))

    with pytest.raises(RuntimeError), index.change() as change:
        change.remove(["a.md"])
        raise RuntimeError

    assert list(index.stats()) == ["a.md"]
    assert problems(index) == []


def test_a_stat_is_only_moved_for_the_bytes_it_belongs_to(index: Index) -> None:
    add(index, note("a.md", "new"))
    with index.change() as change:
        change.touch({("a.md", "blob of other bytes"): (9, 9, 9, 9)})

    assert index.stats() == {"a.md": STAT}


def test_several_questions_can_be_asked_of_one_state(index: Index, tmp_path: Path) -> None:
    add(index, note("a.md", "The owl hunts."))
    other = Index.open(tmp_path / "index.sqlite3")

    with index.still():
        before = index.stats()
        add(other, note("b.md", "The bat too."))
        during = index.stats()
    other.close()

    assert before == during
    assert sorted(index.stats()) == ["a.md", "b.md"]


def test_whoever_has_to_wait_too_long_is_told_that_another_writes(index: Index, tmp_path: Path) -> None:
    other = Index.open(tmp_path / "index.sqlite3", timeout_s=0.05)

    with index.change(), pytest.raises(LockError, match="another process"), other.change():
        pass
    other.close()


def test_threads_that_open_a_new_index_at_once_all_get_it(tmp_path: Path) -> None:
    failures: list[Exception] = []
    barrier = threading.Barrier(6)

    def open_one() -> None:
        barrier.wait()
        try:
            Index.open(tmp_path / "new.sqlite3").close()
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=open_one) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []


def test_clearing_leaves_an_index_like_a_new_one(index: Index) -> None:
    add(index, note("a.md", "The owl hunts."))
    with index.change() as change:
        change.remember(looked="yes")
        change.clear()

    assert (index.stats(), index.count("chunks"), index.fact("looked"), index.terms_like("")) == (
        {},
        0,
        "",
        [],
    )
    assert problems(index) == []


# -- files that are not what they should be ----------------------------------------------


def damage_text(file: Path) -> None:
    file.write_text("this is no index\n" * 400, encoding="utf-8")


def damage_zeros(file: Path) -> None:
    file.write_bytes(bytes(file.stat().st_size))


def damage_half(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2 // 4096 * 4096)


def damage_tail(file: Path) -> None:
    os.truncate(file, file.stat().st_size - 10)


def damage_middle(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[4096 : len(data)] = b"\xa5" * (len(data) - 4096)
    file.write_bytes(bytes(data))


def damage_foreign(file: Path) -> None:
    file.unlink()
    with sqlite3.connect(file) as db:
        db.execute("CREATE TABLE recipes(name TEXT)")
    db.close()


def damage_version(file: Path) -> None:
    with sqlite3.connect(file) as db:
        db.execute("UPDATE facts SET value = '0/another' WHERE key = 'version'")
    db.close()


def damage_tables(file: Path) -> None:
    with sqlite3.connect(file) as db:
        db.execute("DROP TABLE chunks")
    db.close()


def damage_copy(file: Path) -> None:
    """As it comes with a clone: every byte is right, but it was made elsewhere."""
    copy = file.with_suffix(".copy")
    shutil.copy2(file, copy)
    with sqlite3.connect(copy) as db:
        db.execute("UPDATE chunks SET text = 'a lie'")
    db.close()
    copy.replace(file)


def damage_empty(file: Path) -> None:
    file.write_bytes(b"")


DAMAGES = [
    damage_text,
    damage_zeros,
    damage_half,
    damage_tail,
    damage_middle,
    damage_foreign,
    damage_version,
    damage_tables,
    damage_copy,
]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__.removeprefix("damage_"))
def test_a_damaged_index_is_made_anew_and_that_is_said(
    vault: Path, open_memory: Callable[..., Memory], damage: Callable[[Path], None]
) -> None:
    memory = open_memory(vault)
    before = [str(hit.anchor) for hit in memory.search("spare keys", mode="lexical")]
    file = memory.derived.index_file
    memory.close()
    for ending in ("-wal", "-shm"):
        Path(f"{file}{ending}").unlink(missing_ok=True)

    damage(file)

    memory = open_memory(vault)
    answer = memory.search("spare keys", mode="lexical")
    assert [str(hit.anchor) for hit in answer] == before != []
    assert any("made anew" in remark for remark in answer.freshness.remarks)
    assert memory.search("spare keys", mode="lexical").freshness.remarks == ()
    assert [f for f in memory.check(deep=True) if f.code.startswith("index")] == []


def test_an_empty_file_in_its_place_is_simply_filled(vault: Path, open_memory: Callable[..., Memory]) -> None:
    memory = open_memory(vault)
    memory.vault.prepare(memory.vault.cache)
    damage_empty(memory.derived.index_file)

    assert memory.search("spare keys")


@pytest.mark.parametrize("ending", ["", "-wal", "-shm", "-journal"])
@pytest.mark.parametrize("kind", ["link to nothing", "link to a file", "pipe", "folder"])
def test_what_is_no_plain_file_is_put_aside_and_no_link_is_followed(
    vault: Path, tmp_path: Path, open_memory: Callable[..., Memory], kind: str, ending: str
) -> None:
    memory = open_memory(vault)
    memory.vault.prepare(memory.vault.cache)
    place, outside = Path(f"{memory.derived.index_file}{ending}"), tmp_path / "outside"
    if kind == "link to a file":
        outside.write_bytes(b"")
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    else:
        place.symlink_to(outside)

    answer = memory.search("spare keys", mode="lexical")

    assert answer
    assert any("made anew" in remark for remark in answer.freshness.remarks)
    assert not outside.exists() or outside.read_bytes() == b""
    assert outside.exists() == (kind == "link to a file")


def test_a_pickle_in_the_index_is_never_run(vault: Path, open_memory: Callable[..., Memory]) -> None:
    memory = open_memory(vault)
    memory.vault.prepare(memory.vault.cache)
    marker = vault / "ran.txt"
    memory.derived.index_file.write_bytes(b"cposix\nsystem\n(S'touch " + os.fsencode(marker) + b"'\ntR.")

    assert memory.search("spare keys", mode="lexical")
    assert not marker.exists()


def test_what_a_disk_refuses_is_no_damage() -> None:
    full = sqlite3.OperationalError("database or disk is full")
    full.sqlite_errorcode = sqlite3.SQLITE_FULL
    torn = sqlite3.DatabaseError("malformed")
    torn.sqlite_errorcode = sqlite3.SQLITE_CORRUPT

    assert isinstance(index_file.explain(full), VaultError)
    assert isinstance(index_file.explain(torn), DamagedError)


# -- several processes --------------------------------------------------------------------

CHILD = (
    "import sys\n"
    "from memtool.memory.memory import Memory\n"
    "with Memory.open(sys.argv[1], embedder='none') as memory:\n"
    "    report = memory.refresh()\n"
    "    assert len(memory.index.stats()) == int(sys.argv[2]), report\n"
)


def test_two_processes_that_index_at_once_both_end_well(
    tmp_path: Path, open_memory: Callable[..., Memory]
) -> None:
    vault = write_notes(tmp_path / "v", {f"{n}.md": f"# Note {n}\n\nnumber {n}\n" for n in range(150)})
    children = [
        subprocess.Popen([sys.executable, "-c", CHILD, str(vault), "150"], stderr=subprocess.PIPE)
        for _ in "ab"
    ]

    assert [child.communicate(timeout=9)[1] for child in children] == [b"", b""]
    assert not list(vault.rglob("*.bad"))
    assert open_memory(vault, embedder="none").check(deep=True) == []


def test_both_indexes_of_the_same_notes_have_the_same_contents(tmp_path: Path) -> None:
    indexes = [Index.open(tmp_path / name) for name in ("one", "two")]
    for one in indexes:
        add(one, note("a.md", "---\ntags: [x]\n---\n# A\n\ntext"), note("b.md", "日本語の文"))

    assert contents(indexes[0]) == contents(indexes[1])
    for one in indexes:
        one.close()


def test_a_journal_that_goes_while_the_index_is_opened_is_no_failure(tmp_path: Path) -> None:
    file, stop = tmp_path / "index.sqlite3", threading.Event()
    Index.open(file).close()

    def flicker() -> None:
        journal = tmp_path / "index.sqlite3-journal"
        while not stop.is_set():
            journal.write_bytes(b"")
            journal.unlink(missing_ok=True)

    thread = threading.Thread(target=flicker)
    thread.start()
    try:
        for _ in range(60):
            Index.open(file).close()
    finally:
        stop.set()
        thread.join()
