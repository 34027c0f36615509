"""Questions: rare words weigh more, misspellings meet the vault's words, lines that matter come first."""

from __future__ import annotations

from collections import Counter

import pytest

from memtool import lexical
from memtool.index.index import Row
from memtool.search import question

TEXTS = [
    "Rotate the staging key every week.",
    "The key of the shed hangs by the door.",
    "Backups run at night.",
    "検証環境の鍵は毎週替える。",
]


class Vault:
    """A vocabulary over a few texts, as an index gives it."""

    def __init__(self, texts: list[str]) -> None:
        words = [
            lexical.index_text(text).lower().replace(".", " ").replace("。", " ").split() for text in texts
        ]
        self.counts = Counter(word for text in words for word in set(text))
        self.texts = texts

    def chunk_count(self) -> int:
        return len(self.texts)

    def frequencies(self, terms: list[str]) -> dict[str, int]:
        return {term: self.counts[term] for term in terms if term in self.counts}

    def match_count(self, match: str) -> int:
        wanted = match.strip('"*').strip('"')
        return sum(any(token.startswith(wanted) for token in lexical.tokens(text)) for text in self.texts)

    def terms_like(self, start: str) -> list[tuple[str, int]]:
        return [(word, count) for word, count in self.counts.items() if word.startswith(start)]


def row(text: str, *, number: int = 1, headings: str = "", start: int = 1) -> Row:
    end = start + text.count("\n")
    return Row(number, number, f"{number}.md", start, end, "body", headings, text, "", "", None)


def measure(asked: str, *texts: str, names: dict[int, str] | None = None) -> list[question.Words]:
    rows = {number: row(text, number=number) for number, text in enumerate(texts, 1)}
    found = question.measure(question.terms(asked, Vault(TEXTS)), rows, names or {}, average=40)
    return [found[number] for number in rows]


def test_a_rare_word_weighs_more_than_a_common_one() -> None:
    asked = question.terms("staging key", Vault(TEXTS))
    weight = {term.text: term.idf for term in asked.terms}

    assert weight["stag"] > weight["key"] > 0


def test_any_form_of_a_word_is_asked_for() -> None:
    (term,) = question.terms("rotating", Vault(TEXTS)).terms

    assert term.matches == ['"rotate"']


@pytest.mark.parametrize("wrong", ["stagign", "stging", "stagingg"])
def test_a_misspelt_word_is_taken_for_the_nearest_the_vault_has(wrong: str) -> None:
    (term,) = question.terms(wrong, Vault(TEXTS)).terms

    assert list(term.variants) == ["stag"]
    assert term.matches == ['"staging"']
    assert max(term.variants.values()) < 1


def test_a_word_that_is_like_no_other_is_missing_and_counts_against_every_chunk() -> None:
    alone, with_stranger = measure("staging", TEXTS[0]), measure("staging zyzzyva", TEXTS[0])

    assert question.terms("zyzzyva", Vault(TEXTS)).terms == []
    assert with_stranger[0].share < alone[0].share


def test_a_missing_identifier_is_asked_for_by_its_parts_only() -> None:
    asked = question.terms("staging-key", Vault(TEXTS))

    assert [term.text for term in asked.terms] == ["stag", "key"]
    assert asked.missing == 0


def test_one_wide_character_matches_by_prefix() -> None:
    asked = question.terms("鍵", Vault(TEXTS))

    assert asked.expression() == '"鍵"*'
    assert measure("鍵", TEXTS[3])[0].share > 0


def test_more_words_met_never_measure_less() -> None:
    one, two = measure("staging key", "The key.", "The staging key.")

    assert two.share > one.share
    assert two.covered > one.covered


def test_what_a_note_is_called_counts_for_its_chunks() -> None:
    plain, named = measure("staging", "Text.", "Text.", names={2: "ops/staging.md"})

    assert plain.share == 0 < named.share


def test_measures_lie_between_0_and_1() -> None:
    for text in [*TEXTS, "", "key " * 500]:
        for words in measure("rotate the staging key 鍵", text):
            assert all(0 <= value <= 1 for value in words)


def test_a_question_of_thousands_of_words_is_bounded() -> None:
    asked = question.terms(" ".join(f"word{n}x" for n in range(5000)), Vault(TEXTS))

    assert len(asked.terms) <= question.MOST_TERMS


def test_the_focus_is_on_the_lines_that_meet_the_question() -> None:
    text = "\n".join(["nothing"] * 20 + ["rotate the staging key"] + ["nothing"] * 9)
    asked = question.terms("staging key", Vault(TEXTS))

    assert question.focus(asked, row(text, start=5), None)[0] == 25


def test_without_words_the_focus_is_on_the_nearest_piece() -> None:
    asked = question.terms("", Vault(TEXTS))

    assert question.focus(asked, row("\n".join(["x"] * 30)), (12, 14))[0] == 12
    assert question.focus(asked, row("\n".join(["x"] * 30)), None) == (1, 30)


def test_a_short_chunk_is_shown_whole() -> None:
    assert question.focus(question.terms("key", Vault(TEXTS)), row("a\nkey\nb", start=3), None) == (3, 5)
