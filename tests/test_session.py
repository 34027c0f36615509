"""The matrix: bounded, fading, and never holding two values under one key."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memtool.session import session
from memtool.session.session import SHAPES, Array, Projection, State

WIDTH = 64


def cloud(count: int, seed: int = 7) -> Array:
    numbers = np.random.default_rng(seed).standard_normal((count, WIDTH))
    # Texts of one vault are alike: they share a mean, and spread more in some directions than in others.
    return session.unit(numbers * np.linspace(1.5, 0.2, WIDTH) + 0.3)


CLOUD = cloud(400)
PROJECTION = session.fit(CLOUD, source="test")


@pytest.fixture(params=SHAPES)
def empty(request: pytest.FixtureRequest) -> State:
    return State.empty(SHAPES[request.param], PROJECTION)


def recalled_in_full(state: State, question: Array) -> Array:
    return session.whole(state, PROJECTION, session.recall(state, PROJECTION, question))


def test_a_state_has_the_size_it_is_named_for() -> None:
    sizes = {name: State.empty(shape, PROJECTION).matrix.shape for name, shape in SHAPES.items()}

    assert sizes == {
        "8x8": (8, 9),
        "16x16": (16, 17),
        "32x32": (32, 33),
        "multi-head": (WIDTH, 33),
        "multi-head+words": (WIDTH, 33),
    }


def test_an_empty_state_recalls_nothing(empty: State) -> None:
    assert not recalled_in_full(empty, CLOUD[0]).any()


def test_what_was_opened_after_a_question_is_recalled_by_it(empty: State) -> None:
    state = session.opened(session.asked(empty, PROJECTION, CLOUD[0]), PROJECTION, CLOUD[5])

    recalled = session.recalled_key(state, PROJECTION, session.recall(state, PROJECTION, CLOUD[0]))
    likeness = session.whitened(state, PROJECTION, CLOUD) @ recalled
    assert likeness.argmax() in (0, 5)
    assert likeness[5] > np.quantile(likeness, 0.95)


def test_the_same_pair_written_again_and_again_is_recalled_as_it_is(empty: State) -> None:
    at, value = session.key(PROJECTION, CLOUD[0], empty.shape.keys), np.linspace(-1, 1, len(empty.matrix))
    for _ in range(100):
        empty = session.write(empty, at, value, 0.7)

    np.testing.assert_allclose(empty.matrix @ at, value, atol=0.03)


def test_a_new_value_takes_the_place_of_the_old_one_under_the_same_key(empty: State) -> None:
    at = session.key(PROJECTION, CLOUD[0], empty.shape.keys)
    old, new = np.ones(len(empty.matrix)), -np.ones(len(empty.matrix))
    for value in (old, old, old, new, new, new):
        empty = session.write(empty, at, value, 0.7)

    held = empty.matrix @ at
    np.testing.assert_allclose(held, new, atol=0.1)


def test_what_is_not_written_again_fades(empty: State) -> None:
    at = session.key(PROJECTION, CLOUD[0], empty.shape.keys)
    state = session.write(empty, at, np.ones(len(empty.matrix)), 0.7)
    before = np.linalg.norm(state.matrix)
    for _ in range(10):
        state = session.write(state, at, state.matrix @ at, 0.7)

    assert np.linalg.norm(state.matrix) == pytest.approx(before * session.DECAY**10)


@settings(deadline=None, max_examples=30)
@given(
    size=st.sampled_from(list(SHAPES)),
    steps=st.lists(st.tuples(st.integers(0, 399), st.integers(0, 399), st.booleans()), max_size=60),
)
def test_whatever_is_taken_in_the_state_stays_bounded(size: str, steps: list[tuple[int, int, bool]]) -> None:
    state = State.empty(SHAPES[size], PROJECTION)
    for question, hit, opens in steps:
        state = session.asked(state, PROJECTION, CLOUD[question], CLOUD[hit])
        state = session.opened(state, PROJECTION, CLOUD[hit]) if opens else state

    # A write moves what a unit key recalls towards a value of bounded length, and the rest only fades.
    most = max(np.linalg.norm(CLOUD - PROJECTION.mean, axis=1)) / (1 - session.DECAY)
    assert np.isfinite(state.matrix).all()
    assert np.linalg.norm(state.matrix) <= most
    assert np.linalg.norm(recalled_in_full(state, CLOUD[0])) <= 1 + 1e-9


def test_lines_opened_before_any_question_are_their_own_key(empty: State) -> None:
    state = session.opened(empty, PROJECTION, CLOUD[3])

    assert state.updates == 1
    assert recalled_in_full(state, CLOUD[3]) @ (CLOUD[3] - PROJECTION.mean) > 0


def test_two_matters_in_one_unit_are_told_apart_by_their_questions() -> None:
    state = State.empty(SHAPES["multi-head"], PROJECTION)
    for _ in range(4):
        for question, answer in ((0, 5), (1, 6)):
            state = session.opened(
                session.asked(state, PROJECTION, CLOUD[question]), PROJECTION, CLOUD[answer]
            )

    for question, answer, other in ((0, 5, 6), (1, 6, 5)):
        held = recalled_in_full(state, CLOUD[question])
        assert held @ CLOUD[answer] > held @ CLOUD[other]


def test_the_basis_is_orthonormal_and_goes_by_spread() -> None:
    np.testing.assert_allclose(PROJECTION.basis @ PROJECTION.basis.T, np.eye(32), atol=1e-9)
    assert (np.diff(PROJECTION.spread) <= 1e-9).all()


def test_equal_vectors_give_an_equal_projection_and_others_another_name() -> None:
    again, other = session.fit(CLOUD, source="test"), session.fit(cloud(400, 8), source="other")

    assert again.ident == PROJECTION.ident != other.ident
    np.testing.assert_array_equal(again.basis, PROJECTION.basis)


@pytest.mark.parametrize("width", [2, 16, WIDTH])
def test_few_vectors_get_a_fixed_basis_as_wide_as_they_allow(width: int) -> None:
    few = session.fit(cloud(40)[:, :width])

    assert few.ident == f"random-{width}"
    assert few.basis.shape == (min(32, width), width)
    assert State.empty(SHAPES["32x32"], few).fits(few)


def test_a_matrix_of_another_size_or_with_holes_does_not_fit(empty: State) -> None:
    assert empty.fits(PROJECTION)
    assert not empty._replace(matrix=empty.matrix[:, :-1]).fits(PROJECTION)
    assert not empty._replace(matrix=empty.matrix * np.nan).fits(PROJECTION)
    assert not empty._replace(last_key=np.zeros(3)).fits(PROJECTION)


def test_a_gate_never_leans_further_than_its_most() -> None:
    for shape in SHAPES.values():
        assert 0 <= shape.gate.alpha(9, False, 0.9, 0.5) < 0.05
        assert shape.gate.alpha(-1e9, True, -1e9, 0.0) <= shape.gate.most


def test_a_projection_is_a_plain_value() -> None:
    assert isinstance(PROJECTION, Projection)
    assert session.random_basis(WIDTH).ident == session.random_basis(WIDTH).ident
