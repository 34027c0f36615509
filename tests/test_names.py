from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtool import names
from memtool.writer import new_path

OUT = [
    "../x.md",
    "a/../../x.md",
    "./../x.md",
    "..",
    "a/..",
    "../",
    "....//x.md",
    "..%2fx.md",
    "%2e%2e/x.md",
    "‥/x.md",
    "．．/x.md",
    "/etc/x.md",
    "//server/x.md",
    "~/x.md",
    "C:/x.md",
    "..\\x.md",
    "a\\..\\..\\x.md",
    "x.md\0",
    "x\0.md",
    ".git/x.md",
    "a/.git/x.md",
    ".memtool/cache/x.md",
    "a/.hidden.md",
    "x.txt",
    "x",
    "",
    "../.ssh/config",
]


@pytest.mark.parametrize("path", OUT)
def test_no_new_note_gets_a_name_that_leads_out_or_names_no_note(path: str) -> None:
    assert names.objection(path)


@pytest.mark.parametrize(
    "path",
    [
        "a:b.md",
        "a?.md",
        'say "hi".md',
        "tab\there.md",
        "a.md:s.md",
        "con.md",
        "x/LPT1.md",
        " a.md",
        "a /b.md",
    ],
)
def test_no_new_note_gets_a_name_that_other_systems_refuse(path: str) -> None:
    assert names.objection(path)


@pytest.mark.parametrize(
    "path", ["--all.md", "-rf.md", "日本語 メモ.md", "🍣 sushi.md", "café.md", "100%.md", "a/b/c.MD"]
)
def test_unusual_but_sound_names_are_taken(path: str) -> None:
    assert names.objection(path) == ""


@pytest.mark.parametrize(
    "name",
    [
        "note (conflicted copy 2026-01-02).md",
        "note (Sam's conflicted copy 2026-01-02).md",
        "note (Mio の競合コピー 2026-01-02).md",
        "note.sync-conflict-20260102-101112-ABCDEFG.md",
        "note_conflict-20260102-101112.md",
        "note (SFConflict mio@example.invalid 2026-01-02-10-11-12).md",
        "note (Case Conflict).md",
        "note_LOCAL_1234.md",
    ],
)
def test_conflict_copies_of_common_services_are_told(name: str) -> None:
    assert names.is_conflict_copy(f"folder/{name}", ())


@pytest.mark.parametrize(
    "name", ["merge conflicts.md", "conflict.md", "chapter (2).md", "競合.md", "local_1.md"]
)
def test_notes_about_conflicts_are_no_conflict_copies(name: str) -> None:
    assert not names.is_conflict_copy(name, ())


@pytest.mark.parametrize(
    "name", ["a.md~", "#a.md#", ".#a.md", ".a.md.swp", "4913", "a.md.tmp", ".a.md.tmp", "~$a.md", "a.md.bak"]
)
def test_what_editors_leave_beside_a_note_is_no_note(name: str) -> None:
    assert not names.is_note(name)


def test_every_title_gives_its_own_visible_name() -> None:
    titles = "手順書|作業手順|개발 환경|Мои заметки|🍵🍵|!!!|"
    titles += "Éclair|ECLAIR|eclair|F#|F++|F|x/y|x\\y|2026-07-09|规范|規範"
    taken: list[str] = []
    for title in titles.split("|") * 2:
        taken.append(new_path(title, "", taken))

    assert len({names.key(path) for path in taken}) == len(taken)
    assert not [path for path in taken if names.objection(path)]


@pytest.mark.parametrize(
    "title", ["", " ", "...", "///", "---", "\u200b", "\u3164", "\u2800", "\u0301", "\ud800", "\n"]
)
def test_a_title_with_nothing_to_see_is_called_note(title: str) -> None:
    assert names.stem(title) == "note"


@pytest.mark.parametrize("title", ["CON", "con.txt", "Aux", "nul", "COM1", "lpt¹", "MEMORY"])
def test_reserved_names_are_led_by_a_word(title: str) -> None:
    assert names.stem(title).startswith("note-")


def test_a_long_title_is_cut_between_characters() -> None:
    stem = names.stem("設計の記録" * 100)

    assert len(f"{stem}-123.md".encode()) <= 200
    assert set(stem) <= set("設計の記録")


@given(st.text(max_size=300))
def test_any_title_gives_a_name_that_every_system_takes(title: str) -> None:
    path = new_path(title, "", ())

    assert names.objection(path) == ""
    assert len(path.encode()) <= 200
    assert unicodedata.is_normalized("NFC", path) or unicodedata.is_normalized("NFC", title.lower()) is False


@given(st.lists(st.sampled_from(["A", "a", "á", "a\u0301", "Á", "?", "con", "ガ", "カ\u3099"]), max_size=12))
def test_no_two_titles_share_a_file_on_any_system(titles: list[str]) -> None:
    taken: list[str] = []
    for title in titles:
        taken.append(new_path(title, "ops", taken))

    assert len({names.key(path) for path in taken}) == len(titles)
