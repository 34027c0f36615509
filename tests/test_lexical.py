"""Tokens: words, identifiers, scripts without spaces; what FTS5 is given agrees with what measures."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtool import lexical

TEXTS = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs",))
    | st.sampled_from("aA1_-./:@鍵かカｶ々一結é　 \n"),
    max_size=60,
)


def finds(text: str, token: str, *, prefix: bool = False) -> bool:
    """Tell whether FTS5 finds *text*, as it is written for it, by *token*."""
    db = sqlite3.connect(":memory:")
    db.execute(f"CREATE VIRTUAL TABLE words USING fts5(body, tokenize='{lexical.TOKENIZER}')")
    db.execute("INSERT INTO words VALUES(?)", (lexical.index_text(text),))
    match = lexical.quote(token, prefix=prefix)
    found = db.execute("SELECT count(*) FROM words WHERE words MATCH ?", (match,)).fetchone()[0]
    db.close()
    return bool(found)


@pytest.mark.parametrize(
    ("text", "token"),
    [
        ("set API_KEY first", "api_key"),
        ("set API_KEY first", "key"),
        ("kazami-4.13.2 is out", "4.13.2"),
        ("see src/keys.py:12", "keys.py"),
        ("ERR-0x51 again", "err-0x51"),
        ("call parseFrontMatter()", "front"),
        ("an HTTPServer", "server"),
        ("ＡＰＩ＿ＫＥＹ", "key"),
        ("Köln and Ärger", "koln"),
        ("ｶﾞｽの元栓", "がす"),
        ("合鍵を返す", "合鍵"),
        ("TGM-598が原因", "tgm-598"),
        ("설계를 마쳤다", "설계"),
    ],
)
def test_a_text_is_found_by_each_of_its_tokens(text: str, token: str) -> None:
    assert token in lexical.tokens(text)
    assert finds(text, token)


def test_every_character_of_a_run_begins_a_token() -> None:
    assert all(finds("元栓の鍵", character, prefix=True) for character in "元栓の鍵")


def test_an_identifier_is_not_found_where_only_its_parts_stand() -> None:
    assert not finds("the key of the api", "api_key")


@given(TEXTS)
def test_what_measures_a_text_is_what_finds_it(text: str) -> None:
    for token in lexical.tokens(text):
        if token.isalnum() and lexical.forms(token) == [token]:
            assert finds(text, token), token


@given(TEXTS)
def test_reading_a_text_is_stable_and_quotes_are_safe(text: str) -> None:
    assert lexical.index_text(text) == lexical.index_text(text)
    finds("x", text or "y")


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("What is the staging key?", ["stag", "key"]),
        ("鍵はどこですか", ["鍵は", "はど", "こで"]),
        ("what is it", ["what", "is", "it"]),
        ("鍵", ["鍵"]),
        ("", []),
    ],
)
def test_a_question_asks_for_words_that_say_something(question: str, asked: list[str]) -> None:
    assert lexical.question_tokens(question) == asked


@given(st.text("abcdefghijklmnopqrstuvwxyz", min_size=3, max_size=12))
def test_the_forms_of_a_stem_have_that_stem(word: str) -> None:
    stem = lexical.stem(word)

    assert all(lexical.stem(form) == stem for form in lexical.forms(stem)[1:])


@pytest.mark.parametrize("word", ["keys", "rotated", "running", "policies", "quickly", "boxes", "makes"])
def test_a_common_form_is_among_the_forms_of_its_stem(word: str) -> None:
    assert word in lexical.forms(lexical.stem(word))


def test_length_and_cost_do_not_depend_on_the_script() -> None:
    assert lexical.length("abc") == 3
    assert lexical.length("鍵") == 3
    assert lexical.wide_count("鍵 key、") == 2
