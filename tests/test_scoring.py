"""Scoring: one order from two rankers, a line below which nothing is relevant."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtool.index.index import Row
from memtool.search import scoring
from memtool.search.question import Words
from memtool.search.scoring import Measured, Nearness


def chunk(
    number: int,
    share: float = 0.0,
    near: float | None = None,
    *,
    kind: str = "body",
    file: int | None = None,
    lead: float | None = None,
    opening: float | None = None,
) -> Measured:
    row = Row(number, file or number, f"{file or number}.md", 1, 2, kind, "", f"text {number}", "", "", None)
    nearness = None if near is lead is opening is None else Nearness(near, None, opening, lead)
    return Measured(row, Words(share, share), nearness)


def order(measured: list[Measured], mode: str = "hybrid", **more: object) -> list[int]:
    return [scored.measured.row.row for scored in scoring.rank(measured, mode, **more).scored]  # type: ignore[arg-type]


CHUNKS = [chunk(1, 0.9, 0.1), chunk(2, 0.1, 0.9), chunk(3, 0.5, 0.6)]


def test_each_mode_listens_to_its_ranker() -> None:
    assert order(CHUNKS, "lexical")[0] == 1
    assert order(CHUNKS, "semantic")[0] == 2
    assert order(CHUNKS, "hybrid")[0] == 3


def test_reciprocal_ranks_can_be_chosen() -> None:
    assert order([chunk(1, 0.9, 0.8), chunk(2, 0.8, 0.9), chunk(3, 0.1, 0.1)], fusion="rrf")[-1] == 3


measures = st.lists(st.tuples(st.floats(0, 1), st.floats(-1, 1.2)), min_size=1, max_size=8)


@given(measures, st.sampled_from(["hybrid", "lexical", "semantic"]), st.sampled_from(["weighted", "rrf"]))
def test_scores_lie_between_minus_1_and_1_and_fall(
    values: list[tuple[float, float]], mode: str, fusion: str
) -> None:
    measured = [chunk(n, share, near) for n, (share, near) in enumerate(values, 1)]
    ranked = scoring.rank(measured, mode, fusion=fusion)  # type: ignore[arg-type]
    scores = [scored.score for scored in ranked.scored]

    assert all(-1 <= score <= 1 for score in scores)
    assert scores == sorted(scores, reverse=True)
    assert mode != "hybrid" or 0 <= ranked.confidence <= 1


@given(measures, st.randoms())
def test_the_order_of_the_proposals_does_not_matter(
    values: list[tuple[float, float]], chance: object
) -> None:
    measured = [chunk(n, share, near) for n, (share, near) in enumerate(values, 1)]
    shuffled = measured[:]
    chance.shuffle(shuffled)  # type: ignore[attr-defined]

    assert order(measured) == order(shuffled)


@given(measures, st.integers(0, 7), st.floats(0, 0.5))
def test_more_of_either_measure_never_lowers_a_chunk(
    values: list[tuple[float, float]], which: int, more: float
) -> None:
    which %= len(values)
    before = [chunk(n, share, near) for n, (share, near) in enumerate(values, 1)]
    share, near = values[which]
    after = before[:]
    after[which] = chunk(which + 1, min(1.0, share + more), near + more)

    assert order(after).index(which + 1) <= order(before).index(which + 1)


def test_front_matter_is_found_by_words_although_it_has_no_vector() -> None:
    assert order([chunk(1, 0.9, kind="front matter"), chunk(2, 0.0, 0.2)])[0] == 1


def test_what_leads_to_a_note_lifts_its_nearest_chunk_only() -> None:
    measured = [
        chunk(1, near=0.2, file=1, lead=0.9),
        chunk(2, near=0.3, file=1, lead=0.9),
        chunk(3, near=0.5),
    ]

    assert order(measured) == [2, 3, 1]


def test_until_a_chunk_has_vectors_its_words_or_its_opening_speak_for_it() -> None:
    waiting, opened, nothing = chunk(1, 0.8), chunk(2, 0.0, opening=0.9), chunk(3, 0.0, 0.05)

    assert order([nothing, waiting, opened])[-1] == 3


def test_nothing_is_relevant_where_neither_ranker_sees_anything() -> None:
    ranked = scoring.rank([chunk(1, 0.05, 0.1), chunk(2, 0.0, 0.15)], "hybrid")

    assert ranked.confidence < scoring.LEAST_CHANCE
    assert all(scored.score < ranked.threshold for scored in ranked.scored)


@pytest.mark.parametrize(("share", "near"), [(0.9, 0.7), (0.0, 0.8), (0.8, 0.3)])
def test_what_either_ranker_is_sure_of_is_relevant(share: float, near: float) -> None:
    ranked = scoring.rank([chunk(1, share, near)], "hybrid")

    assert ranked.scored[0].score >= ranked.threshold
    assert ranked.confidence > scoring.LEAST_CHANCE


def test_the_chance_and_the_line_agree() -> None:
    for near in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6):
        ranked = scoring.rank([chunk(1, 0.3, near)], "hybrid")
        above = ranked.scored[0].score >= ranked.threshold

        assert above == (ranked.confidence >= scoring.LEAST_CHANCE)


def test_nothing_proposed_is_no_error() -> None:
    assert scoring.rank([], "hybrid") == scoring.Ranked([], 0.0, 0.0)
