"""Vectors kept, found, damaged, shared between processes and thrown away."""

from __future__ import annotations

import io
import os
import pickle
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtool.chunks.passages import digest
from memtool.errors import VaultError
from memtool.vectors import npz, packing
from memtool.vectors.lookup import Lookup, halves, scan
from memtool.vectors.vectors import Matrix, Vectors

WIDTH = 8


def make_matrix(count: int, width: int = WIDTH, seed: int = 0) -> Matrix:
    matrix = np.random.default_rng(seed).standard_normal((count, width)).astype(np.float32)
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def make_digests(count: int, start: int = 0) -> list[bytes]:
    return [digest(f"文 {number}") for number in range(start, start + count)]


def fill(folder: Path, count: int = 20) -> tuple[list[bytes], Matrix]:
    """Keep *count* vectors under the fingerprint "f"."""
    digests, matrix = make_digests(count), make_matrix(count)
    Vectors.open(folder, "f").add(digests, matrix)
    return digests, matrix


def segments(vectors: Vectors) -> list[Path]:
    return sorted(vectors.folder.glob("seg-*.npz"))


def names(found: object) -> list[bytes]:
    return [key for key, _ in found.nearest]  # type: ignore[attr-defined]


def test_a_folder_that_does_not_exist_holds_nothing_and_is_not_made(tmp_path: Path) -> None:
    vectors = Vectors.open(tmp_path / "cache", "f")

    assert vectors.count == vectors.size == 0
    assert vectors.search(make_matrix(1)[0], 5).nearest == []
    assert vectors.missing(make_digests(2)) == make_digests(2)
    assert not (tmp_path / "cache").exists()


def test_the_nearest_come_first_with_their_cosines(tmp_path: Path) -> None:
    digests, matrix = fill(tmp_path)
    query = make_matrix(1, seed=9)[0]

    found = Vectors.open(tmp_path, "f").search(query, 5)

    cosines = matrix @ query
    best = np.argsort(-cosines)[:5]
    assert names(found) == [digests[place] for place in best]
    np.testing.assert_allclose([cosine for _, cosine in found.nearest], cosines[best], atol=1e-6)
    assert found.stats.count == 20
    assert found.stats.mean == pytest.approx(cosines.mean(), abs=1e-6)
    assert found.stats.std == pytest.approx(cosines.std(), abs=1e-6)


def test_a_search_may_be_kept_to_some_digests(tmp_path: Path) -> None:
    digests, matrix = fill(tmp_path)

    found = Vectors.open(tmp_path, "f").search(matrix[3], 5, only=[digests[3], digests[7], digest("unknown")])

    assert names(found) == [digests[3], digests[7]]
    assert found.stats.count == 2


def test_missing_keeps_the_order_and_drops_doubles(tmp_path: Path) -> None:
    digests, _ = fill(tmp_path)
    new = make_digests(3, start=100)

    missing = Vectors.open(tmp_path, "f").missing([new[2], digests[0], new[0], new[2]])

    assert missing == [new[2], new[0]]


def test_get_gives_rows_in_the_order_asked_for_and_nan_for_strangers(tmp_path: Path) -> None:
    digests, matrix = fill(tmp_path)
    vectors = Vectors.open(tmp_path, "f")
    vectors.add(make_digests(1, start=50), make_matrix(1, seed=5))

    rows = vectors.get([digests[4], digest("stranger"), make_digests(1, start=50)[0], digests[4]])

    np.testing.assert_allclose(rows[[0, 3]], matrix[[4, 4]], atol=1e-6)
    np.testing.assert_allclose(rows[2], make_matrix(1, seed=5)[0], atol=1e-6)
    assert np.isnan(rows[1]).all()


def test_a_digest_in_two_segments_is_one_answer(tmp_path: Path) -> None:
    digests, matrix = fill(tmp_path)
    vectors = Vectors.open(tmp_path, "f")
    vectors.add(digests[:10], matrix[:10])

    found = vectors.search(matrix[0], 15)

    assert vectors.count == 30
    assert len(names(found)) == len(set(names(found))) == 15


def test_rows_without_direction_are_remembered_and_asked_for_again(tmp_path: Path) -> None:
    digests, matrix = make_digests(4), make_matrix(4)
    matrix[1], matrix[2] = np.nan, 0
    vectors = Vectors.open(tmp_path, "f")

    vectors.add(digests, matrix)

    assert vectors.missing(digests) == digests[1:3]
    assert vectors.unusable() == set(digests[1:3])
    assert Vectors.open(tmp_path, "f").unusable() == set(digests[1:3])
    vectors.add(digests[1:3], make_matrix(2, seed=3))
    assert vectors.unusable() == set()
    assert vectors.missing(digests) == []


def test_rows_are_made_unit_length(tmp_path: Path) -> None:
    vectors = Vectors.open(tmp_path, "f")
    vectors.add(make_digests(3), make_matrix(3) * 5)

    np.testing.assert_allclose(vectors.get(make_digests(3)), make_matrix(3), atol=1e-6)


def test_adding_nothing_writes_nothing(tmp_path: Path) -> None:
    vectors = Vectors.open(tmp_path, "f")
    vectors.add([], np.empty((0, WIDTH), np.float32))

    assert list(tmp_path.rglob("*")) == []


def test_a_matrix_must_fit_its_digests(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="do not fit"):
        Vectors.open(tmp_path, "f").add(make_digests(2), make_matrix(3))


def test_two_fingerprints_never_meet(tmp_path: Path) -> None:
    digests, _ = fill(tmp_path)
    other = Vectors.open(tmp_path, "g")

    assert other.missing(digests) == digests
    # Not even when a file is carried over.
    other.add(make_digests(1, start=30), make_matrix(1))
    source = segments(Vectors.open(tmp_path, "f"))[0]
    (other.folder / "seg-7-0123abcd.npz").write_bytes(source.read_bytes())
    other.refresh()
    assert other.missing(digests) == digests
    assert [finding.code for finding in other.findings] == ["vectors-damaged"]


@pytest.mark.parametrize("fingerprint", ["../up", "a/b", "", "鍵", "." * 3, "x" * 300])
def test_a_fingerprint_never_leaves_the_folder(tmp_path: Path, fingerprint: str) -> None:
    folder = tmp_path / "cache"
    vectors = Vectors.open(folder, fingerprint)
    vectors.add(make_digests(2), make_matrix(2))

    assert vectors.folder.parent == folder
    assert Vectors.open(folder, fingerprint).missing(make_digests(2)) == []


@pytest.mark.parametrize("how", ["search", "add", "open"])
def test_vectors_of_another_length_take_the_place_of_the_old(tmp_path: Path, how: str) -> None:
    digests, _ = fill(tmp_path)
    vectors = Vectors.open(tmp_path, "f")

    if how == "search":
        assert vectors.search(make_matrix(1, width=12)[0], 5).nearest == []
    elif how == "add":
        vectors.add(make_digests(1, start=70), make_matrix(1, width=12))
    else:
        vectors = Vectors.open(tmp_path, "f", dimensions=12)

    assert vectors.missing(digests) == digests
    assert [finding.code for finding in vectors.findings] == ["vectors-other-model"]
    assert Vectors.open(tmp_path, "f").findings == []


def test_another_answer_to_the_probe_drops_the_vectors(tmp_path: Path) -> None:
    digests, _ = fill(tmp_path)
    probe, other = make_matrix(2, seed=4)
    vectors = Vectors.open(tmp_path, "f")

    assert vectors.accept_probe(None)
    assert vectors.accept_probe(probe)
    assert vectors.accept_probe(probe + np.float32(1e-4))
    assert vectors.missing(digests) == []
    assert not vectors.accept_probe(other)
    assert vectors.missing(digests) == digests
    assert vectors.accept_probe(other)


def test_a_query_without_direction_finds_nothing(tmp_path: Path) -> None:
    fill(tmp_path)

    assert Vectors.open(tmp_path, "f").search(np.full(WIDTH, np.nan, np.float32), 5).nearest == []


def test_compacting_drops_the_dead_and_keeps_the_living(tmp_path: Path) -> None:
    digests, matrix = fill(tmp_path)
    vectors = Vectors.open(tmp_path, "f")

    assert not vectors.compact(set(digests[:10]))
    assert vectors.compact(set(digests[:9]))

    assert vectors.count == 9
    np.testing.assert_allclose(vectors.get(digests[:9]), matrix[:9], atol=1e-6)
    assert len(segments(vectors)) == 1


def test_compacting_joins_many_segments(tmp_path: Path) -> None:
    digests, matrix = make_digests(40), make_matrix(40)
    vectors = Vectors.open(tmp_path, "f")
    for place in range(40):
        vectors.add(digests[place : place + 1], matrix[place : place + 1])

    assert vectors.compact(set(digests))

    assert len(segments(vectors)) == 1
    np.testing.assert_allclose(vectors.get(digests), matrix, atol=1e-6)


def test_joining_leaves_a_large_segment_as_it_is(tmp_path: Path) -> None:
    digests, matrix = make_digests(540), make_matrix(540)
    vectors = Vectors.open(tmp_path, "f")
    vectors.add(digests[:500], matrix[:500])
    large = segments(vectors)
    for place in range(500, 540):
        vectors.add(digests[place : place + 1], matrix[place : place + 1])

    assert vectors.join()
    assert not vectors.join()

    assert len(segments(vectors)) == 2 and set(large) < set(segments(vectors))
    assert vectors.count == 540
    np.testing.assert_allclose(vectors.get(digests), matrix, atol=1e-6)


def test_joining_again_and_again_keeps_few_segments(tmp_path: Path) -> None:
    digests, matrix = make_digests(300), make_matrix(300)
    vectors = Vectors.open(tmp_path, "f")
    for place in range(300):
        vectors.add(digests[place : place + 1], matrix[place : place + 1])
        vectors.join()

    assert len(segments(vectors)) <= packing.MOST_SEGMENTS
    np.testing.assert_allclose(vectors.get(digests), matrix, atol=1e-6)


def test_more_rows_than_one_block_are_found_checked_and_rewritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(npz, "BLOCK", 3 * WIDTH * 4)
    monkeypatch.setattr(packing, "_ROWS", 7)
    digests, matrix = fill(tmp_path, 40)
    vectors = Vectors.open(tmp_path, "f")

    assert names(vectors.search(matrix[17], 1)) == [digests[17]]
    assert vectors.compact(set(digests[:19]))

    assert len(segments(vectors)) == 3  # six or seven rows each
    np.testing.assert_allclose(vectors.get(digests[:19]), matrix[:19], atol=1e-6)
    (vectors.folder / "verified.json").unlink()
    assert names(Vectors.open(tmp_path, "f").search(matrix[17], 1)) == [digests[17]]


def test_compacting_with_nothing_alive_leaves_nothing(tmp_path: Path) -> None:
    fill(tmp_path)
    vectors = Vectors.open(tmp_path, "f")

    assert vectors.compact(())
    assert vectors.count == 0 and segments(vectors) == []


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def zero(data: bytes) -> bytes:
    return bytes(len(data))


def flip(data: bytes, place: int | None = None) -> bytes:
    changed = bytearray(data)
    changed[len(data) // 3 if place is None else place] ^= 0xFF
    return bytes(changed)


def text(data: bytes) -> bytes:
    return b"not a cache\n"


def tail(data: bytes) -> bytes:
    return data[:-10]


def grown(data: bytes) -> bytes:
    return data + bytes(1000)


def empty(data: bytes) -> bytes:
    return b""


def deflated(data: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    return out.getvalue()


def rewrite(**arrays: np.ndarray) -> Callable[[bytes], bytes]:
    """Damage that keeps the zip sound: other arrays under the same names."""

    def damage(data: bytes) -> bytes:
        out = io.BytesIO()
        with np.load(io.BytesIO(data)) as before:
            np.savez(out, **{**dict(before), **arrays})
        return out.getvalue()

    return damage


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "cut": cut,
    "empty": empty,
    "zeros": zero,
    "flip": flip,
    "text": text,
    "tail": tail,
    "deflated": deflated,
    "more keys": rewrite(keys=np.zeros((99, 16), np.uint8)),
    "wide keys": rewrite(keys=np.zeros((20, 32), np.uint8)),
    "float64": rewrite(vectors=np.zeros((20, WIDTH))),
    "big end first": rewrite(vectors=make_matrix(20).astype(">f4")),
    "by column": rewrite(vectors=np.asfortranarray(make_matrix(20))),
    "flat": rewrite(vectors=np.zeros(20, np.float32)),
    "nan": rewrite(vectors=np.full((20, WIDTH), np.nan, np.float32)),
    "too long": rewrite(vectors=make_matrix(20) * 3),
    "no rows": rewrite(keys=np.zeros((0, 16), np.uint8), vectors=np.zeros((0, WIDTH), np.float32)),
    "no description": rewrite(meta=np.zeros(3, np.uint8)),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_file_is_refused_told_of_and_made_again(tmp_path: Path, name: str) -> None:
    digests, matrix = fill(tmp_path)
    file = segments(Vectors.open(tmp_path, "f"))[0]
    file.write_bytes(DAMAGES[name](file.read_bytes()))

    vectors = Vectors.open(tmp_path, "f")

    assert [finding.code for finding in vectors.findings] == ["vectors-damaged"]
    assert vectors.missing(digests) == digests
    assert vectors.search(matrix[0], 5).nearest == []
    vectors.add(digests, matrix)
    assert names(vectors.search(matrix[0], 1)) == [digests[0]]
    again = Vectors.open(tmp_path, "f")
    assert again.findings == [] and again.missing(digests) == []


@given(place=st.integers(0, 3000), value=st.integers(1, 255))
def test_no_changed_byte_goes_unnoticed_or_does_harm(
    tmp_path_factory: pytest.TempPathFactory, place: int, value: int
) -> None:
    folder = tmp_path_factory.mktemp("flip")
    digests, matrix = fill(folder)
    file = segments(Vectors.open(folder, "f"))[0]
    data = bytearray(file.read_bytes())
    data[place % len(data)] ^= value
    file.write_bytes(data)

    vectors = Vectors.open(folder, "f")

    # A byte that nobody reads may change; a vector may not.
    if vectors.missing(digests) != digests:
        np.testing.assert_allclose(vectors.get(digests), matrix, atol=1e-6)
    else:
        assert len(vectors.findings) == 1


def test_one_damaged_file_costs_no_other(tmp_path: Path) -> None:
    digests, _ = fill(tmp_path)
    vectors = Vectors.open(tmp_path, "f")
    vectors.add(make_digests(5, start=40), make_matrix(5, seed=2))
    first = segments(vectors)[0]
    first.write_bytes(b"")

    again = Vectors.open(tmp_path, "f")

    assert again.missing([*digests, *make_digests(5, start=40)]) == digests


class Trap:
    """Makes a file when it is unpickled."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[object, ...]:
        return (open, (str(self.file), "w"))


@pytest.mark.parametrize("name", ["seg-1-0123abcd.npz", "unusable.npz", "probe.npz", "verified.json"])
@pytest.mark.parametrize("kind", ["npz", "bare"])
def test_nothing_is_ever_unpickled(tmp_path: Path, name: str, kind: str) -> None:
    folder = Vectors.open(tmp_path, "f").folder
    folder.mkdir()
    trap = np.empty(1, object)
    trap[0] = Trap(tmp_path / "ran.txt")
    if kind == "npz":
        with (folder / name).open("wb") as stream:
            np.savez(stream, meta=trap, keys=trap, vectors=trap, probe=trap, allow_pickle=True)
    else:
        (folder / name).write_bytes(pickle.dumps(Trap(tmp_path / "ran.txt")))

    vectors = Vectors.open(tmp_path, "f")
    vectors.unusable()
    vectors.accept_probe(make_matrix(1)[0])
    vectors.add(make_digests(2), make_matrix(2))

    assert not (tmp_path / "ran.txt").exists()
    assert vectors.missing(make_digests(2)) == []


def test_a_header_that_lies_about_its_size_is_refused(tmp_path: Path) -> None:
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        out, {"descr": "<f4", "fortran_order": False, "shape": (2**40, 2**40)}
    )
    file = tmp_path / "lie.npz"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("vectors.npy", out.getvalue())

    with pytest.raises(npz.DamagedError):
        npz.load(file)


@pytest.mark.parametrize("kind", ["folder", "pipe", "link", "stranger"])
def test_what_is_no_plain_segment_is_left_alone(tmp_path: Path, kind: str) -> None:
    digests, _ = fill(tmp_path)
    vectors = Vectors.open(tmp_path, "f")
    odd = vectors.folder / "seg-9-0123abcd.npz"
    if kind == "folder":
        odd.mkdir()
    elif kind == "pipe":
        os.mkfifo(odd)
    elif kind == "link":
        odd.symlink_to(tmp_path / "nowhere")
    else:
        (vectors.folder / "seg-x.npz").write_bytes(b"mine")

    again = Vectors.open(tmp_path, "f")

    assert again.findings == [] and again.missing(digests) == []


def test_a_file_that_was_verified_is_not_read_whole_again(tmp_path: Path) -> None:
    fill(tmp_path)
    vectors = Vectors.open(tmp_path, "f")
    before = (vectors.folder / "verified.json").stat()

    Vectors.open(tmp_path, "f")

    assert (vectors.folder / "verified.json").stat() == before


def test_a_folder_that_cannot_be_written_is_an_error_with_a_way_out(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where a folder should be")

    with pytest.raises(VaultError) as caught:
        Vectors.open(tmp_path / "cache", "f").add(make_digests(1), make_matrix(1))

    assert caught.value.why and caught.value.fix


def test_what_another_process_added_is_found(tmp_path: Path) -> None:
    reader = Vectors.open(tmp_path, "f")
    digests, matrix = fill(tmp_path)

    assert names(reader.search(matrix[2], 1)) == [digests[2]]


def test_the_cache_may_be_deleted_while_it_is_open(tmp_path: Path) -> None:
    digests, matrix = fill(tmp_path)
    vectors = Vectors.open(tmp_path, "f")
    for file in vectors.folder.iterdir():
        file.unlink()
    vectors.folder.rmdir()

    assert vectors.search(matrix[0], 3).nearest == []
    assert vectors.missing(digests) == digests
    vectors.add(digests, matrix)
    assert names(vectors.search(matrix[0], 1)) == [digests[0]]


def test_searches_during_rewrites_always_see_a_whole_state(tmp_path: Path) -> None:
    digests, matrix = fill(tmp_path, count=40)
    wrong: list[object] = []
    done = threading.Event()

    def read() -> None:
        vectors = Vectors.open(tmp_path, "f")
        try:
            while not done.is_set():
                found = names(vectors.search(matrix[0], 10, only=digests[:10]))
                if sorted(found) != sorted(digests[:10]) or found[0] != digests[0]:
                    wrong.append(found)
        except Exception as error:
            wrong.append(error)
        wrong.extend(vectors.findings)

    readers = [threading.Thread(target=read, daemon=True) for _ in range(3)]
    for reader in readers:
        reader.start()
    writer = Vectors.open(tmp_path, "f")
    try:
        for turn in range(50):
            writer.add(make_digests(60, start=100), make_matrix(60, seed=turn))
            assert writer.compact(set(digests))
    finally:
        done.set()
    for reader in readers:
        reader.join()

    assert wrong == []
    assert len(segments(writer)) == 1


def test_no_handle_stays_open_on_a_file_that_is_gone(tmp_path: Path) -> None:
    digests, matrix = fill(tmp_path)
    reader, writer = Vectors.open(tmp_path, "f"), Vectors.open(tmp_path, "f")
    for turn in range(5):
        writer.add(make_digests(40, start=100), make_matrix(40, seed=turn))
        writer.compact(set(digests))
        reader.search(matrix[0], 3)

    links = [os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if _is_link(fd)]
    assert not [link for link in links if str(tmp_path) in link and "(deleted)" in link]


def _is_link(fd: str) -> bool:
    return os.path.lexists(f"/proc/self/fd/{fd}")


@given(st.lists(st.tuples(st.booleans(), st.sets(st.integers(0, 30), max_size=12)), max_size=8))
def test_any_series_of_changes_keeps_what_is_alive(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[bool, set[int]]]
) -> None:
    vectors = Vectors.open(tmp_path_factory.mktemp("series"), "f")
    digests, matrix = make_digests(31), make_matrix(31)
    kept: set[int] = set()
    for adding, places in steps:
        chosen = sorted(places)
        if adding:
            vectors.add([digests[place] for place in chosen], matrix[chosen])
            kept |= places
        else:
            vectors.compact({digests[place] for place in kept & places})
            kept = {place for place in kept if digests[place] not in vectors.missing(digests)}
            assert kept >= kept & places

    rest = sorted(kept)
    if rest:
        np.testing.assert_allclose(vectors.get([digests[place] for place in rest]), matrix[rest], atol=1e-6)
    assert set(vectors.missing(digests)) == {digests[place] for place in set(range(31)) - kept}


ONE = st.binary(min_size=1, max_size=1)


@given(st.lists(ONE, min_size=1, max_size=40), st.sets(ONE, min_size=1))
def test_a_key_is_found_in_the_same_row_however_often_it_is_looked_for(
    kept: list[bytes], asked: set[bytes]
) -> None:
    keys = np.frombuffer(b"".join(key * 16 for key in kept), np.uint8).reshape(-1, 16)
    wanted = halves(np.frombuffer(b"".join(key * 16 for key in asked), np.uint8).reshape(-1, 16))
    wanted = wanted[np.argsort(wanted[:, 0])]
    lookup = Lookup(keys)
    first = {
        int(place): int(row) for place, row in zip(*map(reversed, scan(wanted, halves(keys))), strict=True)
    }

    for _ in range(8):
        here, there = lookup.match(wanted)
        assert dict(zip(here[::-1].tolist(), there[::-1].tolist(), strict=True)) == first
