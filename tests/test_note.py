"""Notes are read whatever their bytes are, and one key can be set without touching another byte."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from memtool.errors import NoteError, UsageError
from memtool.note.front_matter import read_plain
from memtool.note.note import Anchor, Note, get_date, get_list, get_text, parse, set_key
from memtool.note.yaml_block import read_yaml

settings.register_profile("untimed", deadline=None)  # a busy machine is no failure
settings.load_profile("untimed")


def note(text: str) -> Note:
    return parse(text.encode())


def problems(read: Note) -> list[tuple[str, int]]:
    return [(finding.code, finding.line) for finding in read.findings]


# ------------------------------------------------------------------ anchors


@pytest.mark.parametrize(
    ("text", "anchor"),
    [
        ("ops/staging.md:14-19", Anchor("ops/staging.md", 14, 19)),
        ("ops/staging.md:7", Anchor("ops/staging.md", 7, 7)),
        ("ops/staging.md", Anchor("ops/staging.md", 0, 0)),
        ("a b: c.md:3-4@3f9a1c2", Anchor("a b: c.md", 3, 4, "3f9a1c2")),
        ("10:30 standup.md:2", Anchor("10:30 standup.md", 2, 2)),
        ("計画:七月.md:5-6", Anchor("計画:七月.md", 5, 6)),
        ("mail@example.md", Anchor("mail@example.md", 0, 0)),
    ],
)
def test_an_anchor_is_read_from_its_text(text: str, anchor: Anchor) -> None:
    assert Anchor.parse(text) == anchor


@pytest.mark.parametrize("text", ["", "  ", "a.md:0", "a.md:9-7", "a.md:0-4"])
def test_an_anchor_that_names_no_lines_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        Anchor.parse(text)


@given(
    st.text(min_size=1).filter(str.strip),
    st.integers(1, 99999),
    st.integers(0, 99),
    st.sampled_from(["", "3f9a1c2"]),
)
def test_an_anchor_reads_back_as_it_was_written(path: str, start: int, more: int, digest: str) -> None:
    anchor = Anchor(path, start, start + more, digest)

    assert Anchor.parse(str(anchor)) == anchor


# ------------------------------------------------------------------ lines and encodings


def test_lines_end_at_line_feeds_and_nowhere_else() -> None:
    read = note("# Pages\none\ftwo\ncol\vumn\nsoft\u2028bre\u0085ak\nlone\rreturn\r\nlast")

    assert read.lines == ("# Pages", "one\ftwo", "col\vumn", "soft\u2028bre\u0085ak", "lone\rreturn", "last")


def test_nothing_after_the_last_line_feed_is_no_line() -> None:
    assert [note(text).lines for text in ("", "\n", "a\n", "a", "a\n\n")] == [
        (),
        ("",),
        ("a",),
        ("a",),
        ("a", ""),
    ]


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    read = parse(b"\xef\xbb\xbf---\r\ntitle: Marked\r\n---\r\nGarnet.\r\n")

    assert (read.meta, read.encoding, read.body_start, read.lines[3]) == (
        {"title": "Marked"}, "utf-8-sig", 4, "Garnet.",
    )  # fmt: skip


@pytest.mark.parametrize(
    "encoding", ["cp932", "euc_jp", "iso2022_jp", "utf-16", "utf-16-le", "utf-16-be", "utf-32"]
)
def test_japanese_in_another_encoding_is_read_and_named(encoding: str) -> None:
    text = "---\ntitle: 設計メモ\n---\n\n水場は七月まで。つぎの小屋で補給する。\n"

    read = parse(text.encode(encoding))

    assert read.text == text
    assert read.meta == {"title": "設計メモ"}
    assert read.encoding == encoding
    assert problems(read)[0][0] == "not-utf-8"
    assert encoding in read.findings[0].what


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_wide_ascii_without_a_mark_is_read(encoding: str) -> None:
    assert parse("# Plain\n\nJust words.\n".encode(encoding)).lines == ("# Plain", "", "Just words.")


def test_western_text_is_read_and_named() -> None:
    read = parse("---\ntitle: Café\n---\n\nKraków naïve trip.\n".encode("latin-1"))

    assert (read.meta["title"], read.lines[4], read.encoding) == ("Café", "Kraków naïve trip.", "cp1252")


@pytest.mark.parametrize("broken", [b"\xed\xa0\xbd", b"\xe6\x97", b"\xf0\x9f\x98", b"\xff"])
def test_a_broken_character_costs_only_itself(broken: bytes) -> None:
    read = parse("# 題\n\n前".encode() + broken + "後。\n".encode())

    assert read.lines[2].startswith("前\ufffd") and read.lines[2].endswith("後。")
    assert problems(read) == [("not-utf-8", 3)]


def test_a_nul_is_shown_as_a_placeholder_and_kept() -> None:
    data = b"---\ntitle: N\x00l\n---\n\nbefore\x00after\n"
    read = parse(data)

    assert (read.meta["title"], read.lines[4], read.data) == ("N␀l", "before␀after", data)
    assert problems(read) == [("nul-bytes", 2)]


@given(st.binary(max_size=300))
def test_any_bytes_make_a_note(data: bytes) -> None:
    read = parse(data)

    read.text.encode()
    assert "\n".join(read.lines).replace("\r", "") == read.text.replace("\r", "").removesuffix("\n")


# ------------------------------------------------------------------ where front matter ends


@pytest.mark.parametrize(
    ("text", "body_start"),
    [
        ("---\ntitle: x\n---\nbody", 4),
        ("---\ntitle: x\n...\nbody", 4),
        ("--- \ntitle: x\n---\t\nbody", 4),
        ("---\n---\nbody", 3),
        ("\ufeff---\ntitle: x\n---\nbody", 4),
        (" ---\ntitle: x\n---\nbody", 1),
        ("---\n\n---\nbody", 4),
        ("---\n# only a comment\n---\nbody", 4),
        ("---\nnotes: |\n  first\n  ---\n  ...\n---\nbody", 7),
        ("---\na: 1\n---\nb: 2\n---\nbody", 4),
        ("no front matter", 1),
        ("\n---\ntitle: x\n---\n", 1),
        ("+++\ntitle = 'x'\n+++\n", 1),
        ("----\ntitle: x\n----\n", 1),
        ("```yaml\n---\ntitle: x\n---\n```", 1),
        ("---\n\nA rule opens this note.\n\n---\n\nMore.", 1),
        ("---\nOne.\n\nTwo: three: four.\n\n---\n", 1),
        ("---\n\nNo other rule.", 1),
        ("---", 1),
        ("", 1),
    ],
)
def test_the_body_begins_below_the_front_matter(text: str, body_start: int) -> None:
    assert note(text).body_start == body_start
    assert note(text.replace("\n", "\r\n")).body_start == body_start
    assert note("\ufeff" + text).body_start == body_start


def test_front_matter_that_nothing_closes_is_body_and_a_finding() -> None:
    for text in (
        "---\ntitle: Open\n\n# Heading\n\nText.\n",
        "---\ntitle: Open\n\nText above a rule.\n\n---\n\nMore.\n",
    ):
        read = note(text)

        assert (read.meta, read.body_start, problems(read)) == ({}, 1, [("front-matter-open", 1)])


# ------------------------------------------------------------------ what front matter says


def test_values_are_what_was_typed() -> None:
    typed = {
        "id": "0123", "phase": "02", "start": "14:30", "version": "1.10", "build": "1_000", "commit": "1e5",
        "country": "no", "empty": "", "nothing": "~", "hex": "0x1F", "octal": "0o17", "day": "2024-02-29",
        "on": "yes", "1": "one", "null": "true", "2026-05-01": "a day", "題": "桟橋", "ratio": "190:20:30",
    }  # fmt: skip

    read = note("---\n" + "".join(f"{key}: {value}\n" for key, value in typed.items()) + "---\n")

    assert read.meta == typed
    assert read.findings == ()


def test_each_key_knows_its_lines() -> None:
    read = note(
        "---\n# remark\na: 1\nb:\n- x\n\n- y\n# more\n"
        'c: |\n  t\n\n  u\n\nd: "q\n  r"\ne: [1,\n  2]\nf:\n---\n'
    )

    assert read.spans == {"a": (3, 3), "b": (4, 7), "c": (9, 12), "d": (14, 15), "e": (16, 17), "f": (18, 18)}


def test_a_plain_alias_and_a_merge_are_followed() -> None:
    read = note("---\nbase: &b {x: 1}\ncopy: *b\nmore:\n  <<: *b\n  y: 2\n<<: {z: 3}\n---\n")

    assert read.meta == {"base": {"x": "1"}, "copy": {"x": "1"}, "more": {"x": "1", "y": "2"}, "z": "3"}


def test_a_tag_runs_nothing() -> None:
    assert note("---\na: !!python/object/apply:os.system [echo]\nb: !x y\n---\n").meta == {
        "a": ["echo"],
        "b": "y",
    }


@pytest.mark.parametrize(
    ("block", "line"),
    [
        ("title: {{title}}", 2),
        ("layout: {% raw %}", 2),
        ("tags:\n\t- one", 3),
        ("title: Harbour: north side", 2),
        ("ok: 1\ndone: %50", 3),
        ("cmd: `make all`", 2),
        ("owner: @aiko", 2),
        ("a: 1\nb: 'never closed", 3),
        ("a: 1\nb: [x, y", 3),
        ("- a\n- list", 2),
        ("only words", 2),
        ("? [a, b]\n: c", 2),
        ("a: *nothing", 2),
        ("a: " + "[" * 500, 2),
        ("a:\n  " + "- " * 500 + "x", 3),
        ("<<: text", 2),
    ],
)
def test_front_matter_that_cannot_be_read_is_a_finding_with_its_line(block: str, line: int) -> None:
    read = note(f"---\n{block}\n---\n\n# Heading\n")

    assert (read.meta, problems(read), read.lines[-1]) == ({}, [("front-matter-yaml", line)], "# Heading")
    assert read.body_start == read.lines.index("# Heading")


def test_a_key_given_twice_is_a_finding_with_both_lines() -> None:
    read = note("---\ntitle: First\nstatus: open\ntitle: Second\nmore: {a: 1, a: 2}\n---\n")

    assert problems(read) == [("duplicate-key", 4), ("duplicate-key", 5)]
    assert "'title' on lines 2 and 4" in read.findings[0].what


def test_aliases_that_grow_without_end_are_refused() -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]

    for block in (
        "\n".join(levels),
        "\n".join(levels).replace("[", "{<<: [").replace("]", "]}").replace("x, ", ""),
    ):
        read = note(f"---\n{block}\n---\nZircon.\n")

        assert (read.meta, len(read.findings), read.lines[-1]) == ({}, 1, "Zircon.")
    assert problems(note("---\n" + "\n".join(levels) + "\n---\n"))[0][0] == "alias-bomb"


@pytest.mark.parametrize("block", ["self: &s [*s]", "a: &a {b: *a}", "a: &a\n  - b: [*a]", "a: &a {<<: *a}"])
def test_a_value_that_holds_itself_is_refused(block: str) -> None:
    assert [code for code, _ in problems(note(f"---\n{block}\n---\n"))] == ["recursive-value"]


@pytest.mark.parametrize(
    "line", ["tags: #project", "title: Fix #3", "tags: one #two #three", "tags:\n  - #a"]
)
def test_a_comment_that_swallows_a_value_is_a_finding(line: str) -> None:
    assert [code for code, _ in problems(note(f"---\n{line}\n---\n"))] == ["comment-in-value"]


@pytest.mark.parametrize(
    "line", ["a: b # why", 'a: "b" #why', "a: b#c", "a: 'x #y'", "tags: # these\n  - b", "#a: b"]
)
def test_an_ordinary_comment_is_no_finding(line: str) -> None:
    assert note(f"---\n{line}\n---\n").findings == ()


@pytest.mark.parametrize(
    "value", ["2024-02-30", "0000-00-00", "2024-13-01", "2023-02-29", "soon", "2024-01-01T25:00"]
)
def test_a_day_that_does_not_exist_is_a_finding_and_stays_as_text(value: str) -> None:
    read = note(f"---\ntitle: x\ncreated: {value}\n---\n")

    assert (read.meta["created"], problems(read)) == (value, [("bad-date", 3)])
    assert value in read.findings[0].what


def test_a_date_left_open_is_no_finding() -> None:
    assert note('---\ndate:\nupdated: ~\ncreated: "{{date}}"\nvalid_to: 2024-02-29\n---\n').findings == ()


def test_an_unresolved_merge_is_a_finding_and_the_note_is_still_read() -> None:
    read = note("# Dock\n\n<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> other\n")

    assert problems(read) == [("merge-conflict", 3)]
    assert read.lines[3] == "ours"


def test_a_heading_underlined_with_seven_signs_is_no_merge() -> None:
    assert note("Heading\n=======\n\ntext\n").findings == ()


# ------------------------------------------------------------------ forgiving readers


@pytest.mark.parametrize(
    ("typed", "tags"),
    [
        ("[a, b]", ["a", "b"]),
        ("a, b", ["a", "b"]),
        ("港、船", ["港", "船"]),
        ("alone", ["alone"]),
        ('"[a, b]"', ["a", "b"]),
        ('["#a", b]', ["a", "b"]),
        ("", []),
        ("null", []),
        ("\n  - a\n  - [b, c]\n  - k: v", ["a", "b", "c", "k: v"]),
    ],
)
def test_a_list_is_read_from_whatever_was_typed(typed: str, tags: list[str]) -> None:
    assert get_list(note(f"---\ntags: {typed}\n---\n"), "tags") == tags


def test_text_is_read_from_whatever_was_typed() -> None:
    read = note("---\na: ' x '\nb: [x, y]\nc: {d: e}\nf: ~\n---\n")

    assert [get_text(read, key) for key in ("a", "b", "c", "f", "missing")] == ["x", "x, y", "", "", ""]


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-04-01", (2026, 4, 1)),
        ("2026/04/01", (2026, 4, 1)),
        ("2026-4-1", (2026, 4, 1)),
        ("20260401", (2026, 4, 1)),
        ("2026年4月1日", (2026, 4, 1)),
        ("2026-04", (2026, 4, 1)),
        ("2026", (2026, 1, 1)),
        ("2026-04-01T10:00+09:00", (2026, 4, 1, 1, 0)),
        ("2026-04-01 10:00:30Z", (2026, 4, 1, 10, 0, 30)),
        ("2026-04-01T10:00:30.25", (2026, 4, 1, 10, 0, 30, 250000)),
        ("2026-04-01 10:00 -5", (2026, 4, 1, 15, 0)),
        ("2026-02-30", None),
        ("0000-00-00", None),
        ("0001-01-01T00:00+09:00", None),
        ("2026-04-01T10:00+99:00", None),
        ("2026-04/01", None),
        ("tomorrow", None),
        ("２０２６-04-01", None),
        ("", None),
    ],
)
def test_a_date_is_read_as_people_type_it(text: str, moment: tuple[int, ...] | None) -> None:
    assert get_date(text) == (datetime(*moment, tzinfo=UTC) if moment else None)  # type: ignore[misc, arg-type]


# ------------------------------------------------------------------ the quick way and YAML


SCALARS = [
    "a", "x y", "0123", "no", "14:30", "1.10", "~", "null", "http://a.b/c#d", "a:b", "a: b", "a #b",
    "a#b", "#a", "- a", "--", "'q'", '"q"', '"q\\n"', "'it''s'", "'", '"', "[a, b]", "[]", "[a,]",
    "[a b, -c]", "[a: b]", "{a: b}", "{", "|", ">", "|-", "&x a", "*x", "!t a", "%a", "@a", "`a`", "?",
    "? a", "=", "<<", ":", ":a", "a:", "漢字", "、", "\u3000", "é", "😀", "\u00a0", "\u2028", "\x85",
    "\x0c", "\t", "a\tb", "...", "---", "(x)", "/a", "+1", "<a>", "a,b", "a]", "a[", "x\\", "a'b",
    'a"b', "$", "_", "\ufeff", "2024-01-01", "",
]  # fmt: skip
KEYS = ["a", "b", "c", "title", "k-1", "0", "題", "on", "'q'", "a b", "? a", "-a", "k.k", "<<"]
VALUES = st.sampled_from(SCALARS)
PAIRS = st.tuples(
    st.sampled_from(KEYS), st.sampled_from([":", ": ", ":  "]), VALUES, st.sampled_from(["", "", " ", " # c"])
)
ITEMS = st.tuples(
    st.sampled_from(["", "  ", "    "]), st.just("- "), VALUES, st.sampled_from(["", " ", " # c"])
)
OTHERS = st.tuples(st.sampled_from(["", "# c", "  # c", "  ", "  text", "}", "]"]))
LINES = st.one_of(PAIRS, PAIRS, ITEMS, OTHERS).map("".join)
BLOCKS = st.lists(LINES, max_size=5)


@given(BLOCKS)
@settings(max_examples=400)
def test_the_quick_way_reads_what_yaml_reads(lines: list[str]) -> None:
    quick = read_plain(lines)

    if quick is not None:
        full = read_yaml(lines)
        assert (quick.meta, quick.spans, quick.findings) == (full.meta, full.spans, full.findings)


@given(st.lists(st.tuples(st.sampled_from(KEYS[:8]), st.text(max_size=12)), max_size=4))
def test_the_quick_way_reads_what_yaml_reads_in_any_script(pairs: list[tuple[str, str]]) -> None:
    lines = [line for key, value in pairs for line in f"{key}: {value}".split("\n")]
    quick = read_plain(lines)

    if quick is not None:
        assert quick.meta == read_yaml(lines).meta


def test_plain_front_matter_needs_no_yaml() -> None:
    lines = [
        'title: "Quay: plan"',
        "tags: [a, b-c, 港]",
        "aliases:",
        "  - one",
        "  - 'two'",
        "# remark",
        "",
        "url: http://x/y#z",
    ]

    quick = read_plain(lines)

    assert quick is not None
    assert quick.meta["aliases"] == ["one", "two"]


# ------------------------------------------------------------------ setting one key


HEAD = """---
# keep this remark
title: "Ordered"   # and this
tags: [zeta, "al", 'b c']  # tagged
created: 2024-05-01T10:00:00+09:00
a: 2
quote: 'single'
text: |  # header
  one
  two

list:  # listed
  - one  # first
  # between
  - "two"
bare:
- x
- y
map: # mapped
  k: v
empty:
swallowed: #foo
long: some text
  that goes on # end
---

# Body\x20\x20

Word.


"""


@pytest.mark.parametrize(
    ("key", "value", "old", "new"),
    [
        ("title", "no", 'title: "Ordered"   # and this', 'title: "no"   # and this'),
        ("title", 'say "x"', 'title: "Ordered"   # and this', 'title: "say \\"x\\""   # and this'),
        ("a", "3", "a: 2", "a: 3"),
        ("a", "true", "a: 2", "a: true"),
        ("a", "b: c", "a: 2", 'a: "b: c"'),
        ("a", "x #y", "a: 2", 'a: "x #y"'),
        ("a", "", "a: 2", 'a: ""'),
        ("a", "one\ntwo", "a: 2", 'a: "one\\ntwo"'),
        ("a", ["p", "q, r"], "a: 2", 'a: [p, "q, r"]'),
        ("quote", "it's", "quote: 'single'", "quote: 'it''s'"),
        ("created", "2026-01-01", "created: 2024-05-01T10:00:00+09:00", "created: 2026-01-01"),
        ("tags", ["zeta", "b c", "new"], "tags: [zeta, \"al\", 'b c']", "tags: [zeta, 'b c', new]"),
        ("text", "short", "text: |  # header\n  one\n  two", "text: short  # header"),
        ("text", "x\ny\n", "  one\n  two", "  x\n  y"),
        ("list", ["one", "two", "three"], '  - "two"', '  - "two"\n  - three'),
        ("list", ["zero", "one", "two"], "  - one  # first", "  - zero\n  - one  # first"),
        ("list", ["one"], '\n  # between\n  - "two"', "\n  # between"),
        ("list", [], 'list:  # listed\n  - one  # first\n  # between\n  - "two"', "list: []  # listed"),
        ("bare", ["x", "no"], "- y", '- "no"'),
        ("bare", "z", "bare:\n- x\n- y", "bare: z"),
        ("map", "flat", "map: # mapped\n  k: v", "map: flat # mapped"),
        ("empty", "full", "empty:", "empty: full"),
        ("swallowed", "#foo", "swallowed: #foo", 'swallowed: "#foo" #foo'),
        ("long", "short", "long: some text\n  that goes on # end", "long: short # end"),
        ("new", "港: 桟橋", "that goes on # end\n", 'that goes on # end\nnew: "港: 桟橋"\n'),
    ],
)
def test_setting_a_key_changes_its_own_bytes_only(
    key: str, value: str | list[str], old: str, new: str
) -> None:
    assert HEAD.count(old) == 1
    for mark in ("", "\ufeff"):
        data = (mark + HEAD).encode()
        assert set_key(data, key, value).decode() == mark + HEAD.replace(old, new)

    if "\n" not in str(value):
        windows = HEAD.replace("\n", "\r\n").encode()
        assert set_key(windows, key, value).decode() == HEAD.replace(old, new).replace("\n", "\r\n")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "---\nk: v\n---\n"),
        ("# Head\n", "---\nk: v\n---\n# Head\n"),
        ("# Head\r\n", "---\r\nk: v\r\n---\r\n# Head\r\n"),
        ("\ufeff# Head", "\ufeff---\nk: v\n---\n# Head"),
        ("---\n---\n", "---\nk: v\n---\n"),
        ("---\n\nAfter a rule.\n", "---\nk: v\n---\n---\n\nAfter a rule.\n"),
        ("---\n  a: b\n...\nbody", "---\n  a: b\n  k: v\n...\nbody"),
    ],
)
def test_a_missing_key_is_added_with_a_block_when_there_is_none(before: str, after: str) -> None:
    assert set_key(before.encode(), "k", "v") == after.encode()


def test_setting_the_same_value_changes_nothing() -> None:
    assert set_key(HEAD.encode(), "title", "Ordered") == HEAD.encode()


def test_another_encoding_stays_as_it_is() -> None:
    text = "---\ntitle: 漢字かな\nstatus: 開\n---\n本文です。\n"

    for encoding in ("cp932", "euc_jp", "utf-16"):
        assert set_key(text.encode(encoding), "status", "閉") == text.replace("開", "閉").encode(encoding)


def test_broken_bytes_elsewhere_stay_as_they_are() -> None:
    data = b"---\nstatus: open\n---\n\xe5\x89\x8d\xed\xa0\xbd\x00\n"

    assert set_key(data, "status", "done") == data.replace(b"open", b"done")


@pytest.mark.parametrize(
    ("data", "key", "why"),
    [
        (b"---\ntitle: a: b\n---\n", "status", "line 2"),
        (b"---\ntitle: x\n\n# Never closed\n", "title", "not closed"),
        (b"---\na: 1\nb: 2\na: 3\n---\n", "a", "lines 2 and 4"),
        (b"---\na: &s [*s]\n---\n", "b", "recursive"),
        (b"---\na: &x 1\nb: *x\n---\n", "a", "no way"),
        (b"---\n{a: 1}\n---\n", "b", "no way"),
        ("---\ntitle: 漢字かな\n---\n".encode("cp932"), "title", "cp932"),
    ],
)
def test_an_edit_that_is_not_safe_is_refused_with_its_reason(data: bytes, key: str, why: str) -> None:
    with pytest.raises(NoteError, match=r"(?s)why:.*" + why):
        set_key(data, key, "😀")


def test_a_key_beside_one_given_twice_can_be_set() -> None:
    data = b"---\ntitle: First\nstatus: open\ntitle: Second\n---\n"

    assert set_key(data, "status", "closed") == data.replace(b"open", b"closed")


@given(
    BLOCKS,
    st.sampled_from(KEYS[:8]),
    st.one_of(VALUES, st.text(max_size=9), st.lists(VALUES, max_size=3)),
    st.booleans(),
)
@settings(max_examples=300)
def test_a_key_that_is_set_reads_back_and_the_rest_stays(
    lines: list[str], key: str, value: str | Sequence[str], windows: bool
) -> None:
    newline = "\r\n" if windows else "\n"
    data = newline.join(["---", *lines, "---", "", "body", ""]).encode()
    before = parse(data)

    try:
        changed = set_key(data, key, value)
    except NoteError:
        return
    after = parse(changed)

    assert after.meta == {**before.meta, key: value}
    if before.body_start > 1:
        start, end = before.spans.get(key, (before.body_start - 1, before.body_start - 2))
        old, new = data.split(b"\n"), changed.split(b"\n")
        assert new[: start - 1] == old[: start - 1]
        assert new[len(new) - len(old[end:]) :] == old[end:]


@given(st.text(max_size=12), st.sampled_from(["'old'", '"old"']))
def test_what_was_quoted_stays_text_to_every_reader(value: str, old: str) -> None:
    try:
        changed = set_key(f"---\nk: {old}\n---\n".encode(), "k", value)
    except NoteError:
        assert any(not char.isprintable() for char in value)
        return

    assert next(iter(yaml.safe_load_all(changed.decode()))) == {"k": value}
