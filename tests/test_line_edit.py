from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtool.door import line_edit, three_way
from memtool.door.line_edit import append, replace
from memtool.errors import NoteError, UsageError


@pytest.mark.parametrize(
    ("before", "text", "after"),
    [
        (b"", "x", b"x\n"),
        (b"a\n", "x\ny\n", b"a\nx\ny\n"),
        (b"a", "x\n", b"a\nx"),
        (b"a\r\n", "x\ny", b"a\r\nx\r\ny\r\n"),
        (b"a\r\nb", "x", b"a\r\nb\r\nx"),
        (b"\xef\xbb\xbfa\n", "日本", b"\xef\xbb\xbfa\n\xe6\x97\xa5\xe6\x9c\xac\n"),
        ("漢字かな\n".encode("cp932"), "追記", "漢字かな\n追記\n".encode("cp932")),
        ("日本語の文\n".encode("utf-16"), "追記", "日本語の文\n追記\n".encode("utf-16")),
    ],
)
def test_lines_are_appended_as_the_note_is_written(before: bytes, text: str, after: bytes) -> None:
    assert append(before, text).data == after


@pytest.mark.parametrize(
    ("note", "heading", "wanted"),
    [
        ("# T\n\n## A\n\nq\n\n## B\n", "A", "# T\n\n## A\n\nq\nx\n\n## B\n"),
        ("# T\n\n## A\n## B\n", "a", "# T\n\n## A\n\nx\n## B\n"),
        ("## A\n\ntext\n\n### Deep\n\nz\n", "A", "## A\n\ntext\nx\n\n### Deep\n\nz\n"),
        ("T\n=\n\nA\n-\n\nB\n-\n", "T > A", "T\n=\n\nA\n-\n\nx\n\nB\n-\n"),
        ("# 手順\n\n## 鍵\n\n本文\n", "## 鍵", "# 手順\n\n## 鍵\n\n本文\nx\n"),
        ("## A\n\n```\n## B\n```\n\n## B\n", "B", "## A\n\n```\n## B\n```\n\n## B\n\nx\n"),
        (
            "# A\n\n## Keys\n\n1\n\n# B\n\n## Keys\n\n2\n",
            "B > Keys",
            "# A\n\n## Keys\n\n1\n\n# B\n\n## Keys\n\n2\nx\n",
        ),
    ],
)
def test_lines_are_appended_below_what_stands_directly_under_a_heading(
    note: str, heading: str, wanted: str
) -> None:
    assert append(note.encode(), "x", heading=heading).data.decode() == wanted


@pytest.mark.parametrize("heading", ["C", "Keys"])
def test_a_heading_that_is_not_there_once_is_refused_with_a_way_out(heading: str) -> None:
    with pytest.raises(UsageError) as told:
        append(b"# A\n## Keys\n# B\n## Keys\n", "x", heading=heading)
    assert "`A`" in told.value.why or "2, 4" in told.value.why


def test_exactly_these_lines_are_replaced() -> None:
    assert replace(b"a\nb\nc\n", 2, 2, "").data == b"a\nc\n"
    assert replace(b"a\nb\nc", 3, 3, "x\ny\n").data == b"a\nb\nx\ny"
    assert replace(b"a\r\nb\r\nc\r\n", 2, 3, "x").data == b"a\r\nx\r\n"
    assert replace(b"\xef\xbb\xbfa\r\nb\r\n", 0, 0, "x\ny\n").data == b"\xef\xbb\xbfx\r\ny\r\n"


def test_a_line_that_is_not_there_and_a_letter_that_cannot_be_written_are_refused() -> None:
    with pytest.raises(UsageError):
        replace(b"a\n", 2, 2, "x")
    with pytest.raises(NoteError):
        append("漢字かなとカナ\n".encode("cp932"), "🎉")


lines = st.lists(st.text("ab日\r\x0c\u2028 #", max_size=3), max_size=6)


@given(lines, st.booleans(), lines.filter(bool), st.data())
def test_all_other_bytes_stay(old: list[str], ended: bool, new: list[str], data: st.DataObject) -> None:
    before = ("\n".join(old) + ("\n" if ended else "")).encode()
    rows = before.split(b"\n")
    count = len(rows) - (rows[-1] == b"")
    if not count:
        return
    start = data.draw(st.integers(1, count))
    end = data.draw(st.integers(start, count))

    edited = replace(before, start, end, "\n".join(new))

    assert edited.data.split(b"\n")[: start - 1] == rows[: start - 1]
    tail = rows[end:]
    assert not tail or edited.data.split(b"\n")[-len(tail) :] == tail


@given(lines, st.booleans(), lines)
def test_appending_keeps_every_line_there_was(old: list[str], ended: bool, new: list[str]) -> None:
    before = ("\n".join(old) + ("\n" if ended else "")).encode()
    after = line_edit.append(before, "x\n" + "\n".join(new)).data

    assert after.replace(b"\r", b"").startswith(before.replace(b"\r", b""))
    assert before.endswith(b"\n") <= after.endswith(b"\n")


rows = st.lists(st.sampled_from([b"a", b"b", b"c", b""]), max_size=6).map(b"\n".join)


@given(rows, rows)
def test_a_merge_with_an_unchanged_side_is_the_other_side(base: bytes, side: bytes) -> None:
    assert three_way.merge(base, side, base) == side
    assert three_way.merge(base, base, side) == side
    assert three_way.merge(base, side, side) == side


@given(rows, rows, rows)
def test_a_merge_does_not_mind_who_is_who(base: bytes, one: bytes, two: bytes) -> None:
    assert three_way.merge(base, one, two) == three_way.merge(base, two, one)


def test_a_line_below_lines_that_went_away_is_no_conflict() -> None:
    assert three_way.merge(b"log\none\n", b"log\none\ntwo\n", b"log\n") == b"log\ntwo\n"
    assert three_way.merge(b"a\nb\n", b"a\nx\nb\n", b"a\ny\nb\n") is None
