"""A note is cut into whole lines where its text has seams, and every chunk is what its anchor names."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memtool.chunks.blocks import ask_markdown, read_blocks
from memtool.chunks.chunks import Cut, cut
from memtool.note.note import parse

settings.register_profile("untimed", deadline=None)  # a busy machine is no failure
settings.load_profile("untimed")

NOTES = Path(__file__).parent / "notes"


def cut_text(text: str, limit: int = 800) -> Cut:
    return cut(parse(text.encode()), limit=limit, wide_limit=limit * 7 // 16)


def headings(text: str) -> list[tuple[int, str, int]]:
    return [(heading.level, heading.text, heading.line) for heading in cut_text(text).headings]


def lines_of(text: str, limit: int = 800) -> list[tuple[int, int]]:
    return [(chunk.start, chunk.end) for chunk in cut_text(text, limit).chunks]


# ------------------------------------------------------------------ tables of notes


@pytest.mark.parametrize("file", sorted(NOTES.glob("*.md")), ids=lambda file: file.stem)
def test_a_note_parses_and_cuts_as_written_beside_it(file: Path, request: pytest.FixtureRequest) -> None:
    note = parse(file.read_bytes())
    parts = cut(note)
    found = {
        "meta": dict(note.meta),
        "body_start": note.body_start,
        "headings": [
            f"{'#' * heading.level} {heading.text} :{heading.line}-{heading.end}"
            for heading in parts.headings
        ],
        "chunks": [
            f":{chunk.start}-{chunk.end} {' > '.join(chunk.headings)} ({chunk.kind})"
            for chunk in parts.chunks
        ],
        "findings": [f"{finding.code} :{finding.line}" for finding in (*note.findings, *parts.findings)],
    }
    expected = file.with_suffix(".json")
    if request.config.getoption("--update", default=False):
        expected.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")

    assert json.loads(expected.read_text(encoding="utf-8")) == found


# ------------------------------------------------------------------ headings


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A\n\n## B ##\n\n### C #\n", [(1, "A", 1), (2, "B", 3), (3, "C", 5)]),
        ("#tag\n\n####### seven\n\n\\# no\n", []),
        ("#\n\ntext\n", [(1, "", 1)]),
        ("Quay plan\n=========\n\nCosts\n-----\n", [(1, "Quay plan", 1), (2, "Costs", 4)]),
        ("two\nlines\n---\n", [(2, "two lines", 1)]),
        ("- item\n---\n\n> quote\n---\n\n***\n---\n", []),
        ("## Tail\n---\n", [(2, "Tail", 1)]),
        ("```\n# in\n```\n# out\n", [(1, "out", 4)]),
        ("````md\n```\n# in\n```\n````\n# out\n", [(1, "out", 6)]),
        ("~~~\n```\n# in\n~~~\n# out\n", [(1, "out", 5)]),
        ("- x\n\n  ```\n  # in\n  ```\n\n# out\n", [(1, "out", 7)]),
        ("- # in a list\n\n> # in a quote\n\n    # in code\n\n\t# in code\n", []),
        ("<!-- # in -->\n\n<!--\n# in\n\n## in\n-->\n\n# out\n", [(1, "out", 9)]),
        ("<div>\n# in\n</div>\n\n# out\n", [(1, "out", 5)]),
        ("%%\n# in\n\n## in\n%%\n\n# out\n", [(1, "out", 7)]),
        ("%% not closed\n\n# out\n", [(1, "out", 3)]),
        ("$$\n# in\n\n## in\n$$\n\n# out\n", [(1, "out", 7)]),
        ("> [!note] Callout\n> ## in\n\n# out\n", [(1, "out", 4)]),
        ("[^1]: note\n\n[a]: /u\n# out\n", [(1, "out", 4)]),
        ("# one\r\n\r\n## two\r\n", [(1, "one", 1), (2, "two", 3)]),
        ("lone\r# in\n# out\n", [(1, "out", 2)]),
        ("a\f\n# out\v\n# 題\u2028名\n", [(1, "out", 2), (1, "題\u2028名", 3)]),
        ("   ## indented\n", [(2, "indented", 1)]),
    ],
)
def test_headings_are_what_markdown_says(text: str, expected: list[tuple[int, str, int]]) -> None:
    assert headings(text) == expected


def test_a_section_ends_where_the_next_of_its_level_begins() -> None:
    found = cut_text("# A\n\n## B\n\n### C\n\n## D\n\n# E\n").headings

    assert [(heading.text, heading.end) for heading in found] == [
        ("A", 8),
        ("B", 6),
        ("C", 6),
        ("D", 8),
        ("E", 9),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A\n\n```\nx\n\n# B\n", [("unclosed-fence", 3)]),
        ("~~~~\nx\n~~~\n", [("unclosed-fence", 1)]),
        ("- a\n\n  ```\n  x\n\nb\n", [("unclosed-fence", 3)]),
        ("---\nt: x\n---\n```\nx", [("unclosed-fence", 4)]),
        ("```\nx\n  ```\n", []),
        ("> ```\n> x\n> ```\n", []),
        ("# A\n\n<!-- x\n\n# B\n", [("unclosed-comment", 3)]),
        ("<!-- x -->\n\n<div>\n", []),
    ],
)
def test_a_fence_or_comment_that_nothing_closes_is_a_finding(
    text: str, expected: list[tuple[str, int]]
) -> None:
    assert [(finding.code, finding.line) for finding in cut_text(text).findings] == expected


# ------------------------------------------------------------------ chunks


def test_small_sections_are_one_chunk_and_each_keeps_its_headings() -> None:
    (chunk,) = cut_text("Before.\n\n# A\n\nOne.\n\n## B\n\nTwo.\n\n# C\n\nThree.\n").chunks

    assert (chunk.start, chunk.end, chunk.headings) == (1, 13, ())
    assert chunk.sections == ((1, ()), (3, ("A",)), (7, ("A", "B")), (11, ("C",)))


def test_a_chunk_of_several_sections_stands_under_the_headings_they_share() -> None:
    (chunk,) = cut_text("# A\n\n## B\n\nOne.\n\n## C\n\nTwo.\n").chunks

    assert chunk.headings == ("A",)


def test_sections_that_do_not_fit_together_are_chunks_of_their_own() -> None:
    chunks = cut_text(f"# A\n\n{'one ' * 150}\n\n# B\n\n{'two ' * 150}\n").chunks

    assert [(chunk.start, chunk.end, chunk.headings) for chunk in chunks] == [(1, 3, ("A",)), (5, 7, ("B",))]


def test_a_heading_with_nothing_under_it_goes_with_the_smaller_one_below() -> None:
    (chunk,) = cut_text("# A\n\n## B\n\nText.\n\n## C\n\n## D\n\nMore.\n\n# E\n").chunks

    assert [line for line, _ in chunk.sections] == [1, 7, 9, 13]


def test_front_matter_is_a_chunk_of_its_own_unless_it_is_empty() -> None:
    chunks = cut_text("---\ntitle: x\n---\n\nText.\n").chunks

    assert [(chunk.start, chunk.end, chunk.kind) for chunk in chunks] == [
        (1, 3, "front matter"),
        (5, 5, "body"),
    ]
    assert lines_of("---\n---\n\nText.\n") == [(4, 4)]


@pytest.mark.parametrize(
    "text",
    ["", "\n", " \n\t\n\n   \n", "\u200b\n\ufeff\n", "\u3000\n\u00a0\n", "\u200d\u2060\n", "---\n---\n"],
)
def test_a_note_that_shows_nothing_gives_no_chunk(text: str) -> None:
    assert cut_text(text).chunks == []


def test_a_fenced_block_is_never_parted_when_it_fits() -> None:
    fence = "```\n" + "line of code\n" * 8 + "\n# not a heading\n```\n"
    words = "A line of prose in front of it.\n" * 3

    chunks = cut_text(f"# Head\n\n{words}\n{fence}\n{words}", limit=200).chunks

    assert any(fence.strip() in chunk.text for chunk in chunks)


def test_a_large_list_is_parted_between_its_items() -> None:
    items = [f"- item {number}\n  and its second line" for number in range(30)]

    chunks = cut_text("\n".join(items), limit=150).chunks

    assert len(chunks) > 1
    assert all(chunk.text.startswith("- item") for chunk in chunks)


def test_a_large_table_is_parted_between_its_rows() -> None:
    rows = [f"| {number} | {'cell ' * 5}|" for number in range(30)]

    chunks = cut_text("\n".join(["| n | text |", "| --- | --- |", *rows]), limit=150).chunks

    assert chunks[0].text.startswith("| n | text |\n| --- | --- |\n| 0 |")
    assert sum(chunk.text.count("\n") + 1 for chunk in chunks) == 32


def test_a_heading_is_never_parted_from_the_text_below_it() -> None:
    chunks = cut_text("# Head\n\n" + "\n".join(["word " * 15] * 4), limit=100).chunks

    assert chunks[0].text.startswith("# Head\n\nword")


def test_pieces_of_a_long_line_carry_its_number_and_give_it_back() -> None:
    line = "A sentence of some length. " * 400 + "needlestone."

    chunks = [chunk for chunk in cut_text(f"# Export\n\n{line}\n").chunks if chunk.start == 3]

    assert "".join(chunk.text for chunk in chunks) == line
    assert {chunk.end for chunk in chunks} == {3}
    assert all(chunk.text.rstrip().endswith(".") for chunk in chunks)


def test_a_long_japanese_line_is_parted_after_a_sentence() -> None:
    line = "作業者は待ち行列を読み、結果を表に書く。「以上です！」" * 60

    chunks = cut_text(line).chunks

    assert "".join(chunk.text for chunk in chunks) == line
    assert all(len(chunk.text) <= 350 and chunk.text.endswith(("。", "」")) for chunk in chunks)


def test_a_mark_stays_with_its_letter() -> None:
    line = "\u304b\u3099" * 999

    assert all(not chunk.text.startswith("\u3099") for chunk in cut_text(line).chunks)


def test_wide_characters_count_for_more() -> None:
    ascii_text, wide_text = "\n\n".join(["word " * 20] * 20), "\n\n".join(["かな" * 50] * 20)

    assert max(len(chunk.text) for chunk in cut_text(ascii_text).chunks) > 600
    assert max(len(chunk.text) for chunk in cut_text(wide_text).chunks) <= 350


def nested_stairs(mark: str) -> Callable[[], str]:
    return lambda: "".join("  " * depth + f"{mark} x\n" for depth in range(500))


@pytest.mark.parametrize(
    "make",
    [
        lambda: "flat export of a long talk " * 40000,
        lambda: "漢" * 300_000,
        lambda: " " * 300_000 + "x",
        lambda: "| a | b |\n| - | - |\n" + "| cell | cell |\n" * 10_000,
        lambda: "a | b\n- | -\n" + "cell | cell\n" * 10_000,
        lambda: ">" * 10_000 + " deep",
        lambda: "- " * 10_000 + "deep",
        lambda: "> - " * 5_000 + "deep",
        nested_stairs("-"),
        nested_stairs("1."),
        lambda: "```\n" + "code\n" * 20_000,
        lambda: "<!--\n" * 10_000,
        lambda: "[" * 20_000,
        lambda: "%% a\n\n" * 2_001,
        lambda: "---\nk: " + "[" * 20_000 + "\n---\n",
        lambda: "---\n" + "long: value\n" * 1 + "".join(f"key{n}: value\n" for n in range(5_000)) + "---\n",
        lambda: "# h\n" * 5_000,
    ],
)
def test_huge_and_deep_notes_are_cut_within_the_limits(make: Callable[[], str]) -> None:
    chunks = cut_text(make()).chunks

    assert chunks
    assert max(len(chunk.text) for chunk in chunks) <= 800
    assert max(chunk.end - chunk.start for chunk in chunks) < 40


# ------------------------------------------------------------------ invariants


PIECES = [
    "", "", "text", "more text", "# H", "## H2 ##", "#tag", "#", "- item", "- [ ] task", "* a", "+ b",
    "-", "*", "1. one", "2. two", "1) p", "  - nested", "  text", "   three", "    code", "\tcode",
    "- \t x", "```", "```py", "````", "~~~", "  ```", "`code` x", "> q", "> # h", ">", "---", "***",
    "- - -", "===", "--", "| a | b |", "| - | - |", "|---|---|", ":-:|--", "a | b", "--- | ---",
    "<div>", "<!-- c", "-->", "<b>x</b>", "[a]: /u", "[^1]: foot", "[a", "b]: /u", ": x", "$$", "%%",
    "%% a", "**b**", "\u3000", "\u00a0", " ", "\t", "- ```", "- # h", "- > q", "-     code",
    "     deep", "\x0c", "1. ", "2024. year", "# a # b #", "#\tx", "a\rb", "> ```", "|", "|a|b|",
    "`` ` ", "<pre>", "</pre>", "桟橋の計画。", "word " * 40, "長い文です。" * 30,
]  # fmt: skip
BODIES = st.lists(st.sampled_from(PIECES), max_size=12)


@given(BODIES)
@settings(max_examples=400)
def test_the_scanner_and_the_parser_together_see_what_markdown_it_sees(lines: list[str]) -> None:
    assert read_blocks(lines) == ask_markdown(lines)


@given(BODIES)
def test_blocks_are_in_order_and_hold_every_line_that_is_not_blank(lines: list[str]) -> None:
    blocks = read_blocks(lines).blocks

    covered = [number for block in blocks for number in range(block.start, block.end)]
    assert covered == sorted(set(covered))
    assert {number for number, line in enumerate(lines) if line.strip(" \t")} <= set(covered)


@given(BODIES, st.sampled_from([40, 120, 800]), st.booleans(), st.sampled_from(["\n", "\r\n"]))
@settings(max_examples=300)
def test_every_chunk_is_exactly_the_lines_its_anchor_names(
    body: list[str], limit: int, has_head: bool, newline: str
) -> None:
    head = ["---", "title: 計画", "---"] if has_head else []
    note = parse(newline.join([*head, *body]).encode())
    chunks = cut(note, limit=limit, wide_limit=limit // 2).chunks

    for chunk in chunks:
        assert len(chunk.text) <= limit
        assert chunk.text.strip()
        whole = "\n".join(note.lines[chunk.start - 1 : chunk.end])
        assert chunk.text == whole or (chunk.start == chunk.end and chunk.text in whole)
    for one, two in itertools.pairwise(chunks):
        assert one.end < two.start or (one.start == one.end == two.start == two.end)
    covered = {line for chunk in chunks for line in range(chunk.start, chunk.end + 1)}
    body_lines = enumerate(note.lines[note.body_start - 1 :], note.body_start)
    assert {number for number, line in body_lines if line.strip()} <= covered
