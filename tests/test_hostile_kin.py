"""Neighbours of the odd notes in `test_hostile`: the same kinds, in the forms one meets next."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import snapshot, write_notes
from repositories import Repository
from test_hostile import changed_lines, findings, make, places, titles

from memtool.commits.commit_message import Signature
from memtool.index.index_check import contents
from memtool.memory.memory import Memory
from memtool.note import note

__all__ = ["make"]  # the fixture

Make = Callable[..., Memory]


# -- front matter --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        'title: "open',
        "title: 'it's'",
        "x: !!python/object/apply:os.system ['touch ran']",
        "x: !mine {a: 1}",
        "x: *nobody",
        "? [a, b]\n: c",
        "x: [1, 2",
        "x: {a: 1",
        "\tx: 1",
        "x: 1\n  y: 2",
        "- a\n- b",
        "just words",
        "%YAML 9.9",
        "x: \x07bell",
    ],
)
def test_no_front_matter_hides_its_note_or_runs_anything(make: Make, line: str) -> None:
    memory = make(
        {"odd.md": f"---\n{line}\n---\n\n# カワウソ\n\nThe otter swims. 獺が泳ぐ。\n", "b.md": "The ibex.\n"}
    )
    before = snapshot(memory.vault.root)

    assert len(places(memory, "otter swims")) == len(places(memory, "獺が泳ぐ")) == 1
    assert places(memory, "ibex") == ["b.md:1"]
    assert all(1 <= number <= 5 for _, number, _ in findings(memory))
    assert snapshot(memory.vault.root) == before


@pytest.mark.parametrize(
    "value", ["2024-02-30", "2023-02-29", "2024-00-10", "2024-13-01", "2024-04-31", "9999-99-99"]
)
@pytest.mark.parametrize("key", ["date", "created", "updated", "valid_from", "review_by"])
def test_a_day_that_never_was_is_named_whichever_key_has_it(make: Make, key: str, value: str) -> None:
    memory = make({"a.md": f"---\ntitle: 日付\n{key}: {value}\n---\n\nThe otter swims.\n"})

    assert ("a.md", 3, "bad-date") in findings(memory)
    assert places(memory, "otter") == ["a.md:6"]


@pytest.mark.parametrize(
    "typed",
    [
        "yes",
        "off",
        "~",
        "null",
        "0o17",
        "0x1F",
        "1:30:00",
        ".inf",
        ".NaN",
        "+12",
        "1e3",
        "2024-01-01",
        "007",
        "1__0",
        "=",
        "１２",
    ],
)
def test_a_value_stays_what_was_typed_when_another_is_set(make: Make, typed: str) -> None:
    before = f"---\nvalue: {typed}\nstatus: open\n---\n\nThe otter.\n".encode()
    memory = make({"a.md": before})
    memory.set("a.md", "status", "closed")
    after = (memory.vault.root / "a.md").read_bytes()

    assert changed_lines(before, after) == [3]
    assert f"value: {typed}\n".encode() in after


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_mark_before_a_note_counts_for_no_line(make: Make, end: bytes) -> None:
    plain = end.join([b"\xef\xbb\xbf# Otters", b"", b"The otter swims.", b""])
    headed = end.join([b"\xef\xbb\xbf---", b"title: Marked", b"---", b"", b"The stoat runs.", b""])
    memory = make({"plain.md": plain, "headed.md": headed})

    assert (places(memory, "otter swims"), places(memory, "stoat")) == (["plain.md:3"], ["headed.md:5"])
    assert titles(memory) == {"plain.md": "Otters", "headed.md": "Marked"}
    memory.set("headed.md", "status", "done")
    data = (memory.vault.root / "headed.md").read_bytes()
    assert data.startswith(b"\xef\xbb\xbf---" + end) and data.count(b"\xef\xbb\xbf") == 1
    assert data.count(b"\n") == data.count(end)


def test_comments_quotes_and_blocks_around_a_key_that_is_set_stay(make: Make) -> None:
    before = (
        b"---\n# top\nlist:   # why\n  - 'a'\n  # between\n  - \"b\"\n\n"
        b"text: >-\n  two\n  lines # no remark\nstatus: open   # now\n"
        b"map: {x: 1,   y: 2}\n# last\n---\nBody   \n"
    )
    memory = make({"a.md": before})
    memory.set("a.md", "status", "closed")

    assert changed_lines(before, (memory.vault.root / "a.md").read_bytes()) == [11]


# -- Markdown, chunks ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "block",
    [
        "~~~\n# no\n```\n# no\n~~~",
        "````\n```\n# no\n```\n````",
        "- item\n\n  ```sh\n  # no\n  ```",
        "> ```\n> # no\n> ```",
        "    # no",
        "<!--\n# no\n-->",
        "<pre>\n# no\n</pre>",
    ],
)
def test_what_looks_like_a_heading_and_is_none_opens_no_section(make: Make, block: str) -> None:
    memory = make({"a.md": f"# Setup\n\nIntro.\n\n{block}\n\nThe otter swims.\n"})
    hit = memory.search("otter swims", mode="lexical", min_score=-1)[0]

    assert "no" not in hit.headings.split()
    assert hit.headings.endswith("Setup")


@pytest.mark.parametrize("piece", ["長い文が続く", "a", "\u0301", "👩‍👩‍👧", "| x "])
def test_a_long_line_of_anything_is_cut_within_bounds_and_its_end_found(make: Make, piece: str) -> None:
    memory = make({"a.md": "# 記録\n\n" + piece * (200_000 // len(piece)) + " needlefish ends.\n"})
    memory.refresh()
    longest = max(len(chunk[3]) for _, chunks in contents(memory.index).values() for chunk in chunks)

    assert longest <= max(memory.config.chunk_characters, 800) * 1.5
    assert places(memory, "needlefish") == ["a.md:3"]


# -- many rounds -----------------------------------------------------------------------------


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are counted in /proc")
def test_many_writes_and_looks_back_leave_no_git_and_no_open_file(
    tmp_path: Path, open_memory: Callable[..., Memory]
) -> None:
    repository = Repository(tmp_path / "v")
    repository.commit("2026-01-05", {"a.md": "# A\n\nOne.\n"})
    memory, counts = open_memory(repository.folder, embedder="none"), []
    for number in range(24):
        memory.append("a.md", f"Line {number}. {number}行目。", by=Signature("agent/kai"))
        memory.past.history("a.md")
        memory.past.blame("a.md")
        if number >= 8:
            children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
            counts.append((len(children), len(os.listdir("/proc/self/fd"))))

    assert len(memory.past.history("a.md")) == 25
    assert max(counts) <= counts[0]


def test_notes_of_other_encodings_beside_good_ones_are_named_and_never_touched(tmp_path: Path) -> None:
    text = "# Otters\n\nThe otter swims. 獺が泳ぐ。\n"
    encoded = {
        f"{name}.md": text.encode(name) for name in ("utf-16", "utf-16-le", "utf-32", "euc_jp", "iso2022_jp")
    }
    folder = write_notes(tmp_path / "v", {**encoded, "good.md": "The ibex climbs.\n"})
    before = snapshot(folder)
    with Memory.open(folder, embedder="none") as memory:
        found = memory.check()
        hits = [hit.path for hit in memory.search("ibex", mode="lexical")]
    told = {finding.path for finding in found}

    assert {"utf-16.md", "utf-16-le.md", "utf-32.md", "euc_jp.md"} <= told
    assert "good.md" in hits
    assert {path: data for path, data in snapshot(folder).items() if path in encoded} == {
        path: data for path, data in before.items() if path in encoded
    }
    assert note.parse(encoded["utf-16.md"]).lines
