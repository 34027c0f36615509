"""An endpoint that answers well, badly, late or not at all -> vectors, or an error that says what to do."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest
from embeddings_server import TRIGGER, Server, serve

from memtool.embedders import open_embedder
from memtool.embedders.endpoint import Refusal, mask, read_retry_after
from memtool.embedders.openai import PROBE, OpenAIEmbedder, get_wait
from memtool.errors import ConfigError, EmbedderError

KEY = "dummy-key-9876543210"
TEXTS = ["the ferry leaves at noon", "鍵を交換する", "rotate the staging key"]


def connect(server: Server, *, slept: list[float] | None = None, **settings: object) -> OpenAIEmbedder:
    """Give an embedder that talks to *server* and never really waits."""
    sleep: Callable[[float], object] = (slept if slept is not None else []).append
    return OpenAIEmbedder(
        base_url=server.base_url,
        model="stand-in",
        environment={"OPENAI_API_KEY": KEY},
        sleep=sleep,  # type: ignore[arg-type]
        **settings,  # type: ignore[arg-type]
    )


def sent(server: Server) -> list[str]:
    return [text for texts in server.requests for text in texts if text != PROBE]


def test_rows_come_in_the_order_of_the_texts() -> None:
    with serve() as server:
        matrix = connect(server).embed(TEXTS, kind="passage")

        np.testing.assert_allclose(matrix, [server.embed(text) for text in TEXTS], atol=1e-6)
        assert matrix.dtype == np.float32


@pytest.mark.parametrize("mode", ["reversed", "unnumbered", "base64", "list-only"])
def test_every_shape_of_a_right_answer_is_read(mode: str) -> None:
    with serve(mode) as server:
        matrix = connect(server).embed(TEXTS, kind="query")

        np.testing.assert_allclose(matrix, [server.embed(text) for text in TEXTS], atol=1e-6)
        assert set(server.formats) == {"float"}


@pytest.mark.parametrize("mode", ["one-short", "twice-numbered", "not-vectors", "not-json"])
def test_an_answer_of_the_wrong_shape_is_an_error(mode: str) -> None:
    with serve(mode) as server, pytest.raises(EmbedderError) as caught:
        connect(server).embed(TEXTS, kind="passage")

    assert caught.value.fix


def test_vectors_of_two_lengths_are_an_error() -> None:
    with serve("uneven") as server:
        embedder = connect(server)
        embedder.embed(TEXTS, kind="passage")

        with pytest.raises(EmbedderError, match="length"):
            embedder.embed([TRIGGER], kind="passage")


def test_vectors_that_cannot_be_read_are_an_error() -> None:
    with serve("words") as server, pytest.raises(EmbedderError, match="cannot be read"):
        connect(server).embed([TRIGGER, *TEXTS], kind="passage")


def test_a_length_that_was_not_asked_for_is_an_error() -> None:
    with serve() as server, pytest.raises(EmbedderError, match="wrong length"):
        connect(server, dimensions=8).embed(TEXTS, kind="passage")


def test_vectors_that_are_not_unit_are_refused_unless_the_user_wants_them_normalised() -> None:
    with serve("long") as server:
        with pytest.raises(EmbedderError) as caught:
            connect(server).embed(TEXTS, kind="passage")
        matrix = connect(server, normalise=True).embed(TEXTS, kind="passage")

    assert "normalise = true" in caught.value.fix
    np.testing.assert_allclose(np.linalg.norm(matrix, axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("mode", ["zero", "nan", "infinite", "null"])
def test_a_vector_without_direction_is_a_row_of_nan_and_costs_no_other(mode: str) -> None:
    with serve(mode) as server:
        matrix = connect(server).embed([TEXTS[0], TRIGGER, TEXTS[1]], kind="passage")

    assert np.isnan(matrix[1]).all()
    assert np.isfinite(matrix[[0, 2]]).all()


def test_blank_texts_are_never_sent() -> None:
    blank = ["", " \n\t", "\u200b\u200d", "\u3000", "\ufeff"]
    with serve("refuse") as server:
        matrix = connect(server).embed([*blank, "鍵"], kind="passage")

        assert sent(server) == ["鍵"]
    assert np.isnan(matrix[:-1]).all() and np.isfinite(matrix[-1]).all()


def test_only_blank_texts_send_nothing() -> None:
    with serve() as server:
        matrix = connect(server).embed(["", " "], kind="passage")

        assert server.requests == []
    assert len(matrix) == 2


def test_a_batch_that_is_too_large_is_made_smaller_and_never_repeated_unchanged() -> None:
    texts = [f"note {number} " + "word " * 40 for number in range(60)]
    with serve("small") as server:
        matrix = connect(server).embed(texts, kind="passage")

        assert np.isfinite(matrix).all()
        assert len({tuple(batch) for batch in server.requests}) == len(server.requests)
        # What was learned is kept: hardly any batch is refused twice.
        assert len(server.requests) < 30


def test_one_long_input_does_not_make_all_later_batches_small() -> None:
    texts = [f"note {number}" for number in range(64)]
    texts[5] = "long " * 1000
    with serve("small") as server:
        matrix = connect(server).embed(texts, kind="passage")

        assert np.isfinite(matrix).all()
        assert len(server.requests) < 30


def test_an_input_that_is_too_long_is_shortened_until_it_fits() -> None:
    with serve("small") as server:
        matrix = connect(server).embed(["long " * 1000], kind="passage")

        np.testing.assert_allclose(matrix[0], server.embed(server.requests[-1][0]), atol=1e-6)


def test_one_refused_input_costs_no_other() -> None:
    texts = [f"note {number}" for number in range(40)]
    texts[17] = f"{TRIGGER} " + "word " * 200
    with serve("refuse") as server:
        matrix = connect(server).embed(texts, kind="passage")

        assert np.isnan(matrix).all(axis=1).nonzero()[0].tolist() == [17] or np.isfinite(matrix).all()
        assert len({tuple(batch) for batch in server.requests}) == len(server.requests)


def test_a_short_refused_input_is_a_row_of_nan() -> None:
    with serve("refuse") as server:
        matrix = connect(server).embed([*TEXTS, TRIGGER], kind="passage")

    assert np.isnan(matrix).all(axis=1).tolist() == [False, False, False, True]


def test_an_endpoint_that_refuses_everything_is_an_error_soon() -> None:
    with serve("no-model") as server:
        with pytest.raises(EmbedderError, match="no model stand-in"):
            connect(server).embed([f"note {n}" for n in range(200)], kind="passage")

        assert len(server.requests) < 12


def test_a_rate_limit_waits_as_long_as_it_is_told() -> None:
    slept: list[float] = []
    with serve("rate", times=6) as server:
        matrix = connect(server, slept=slept).embed(TEXTS, kind="passage")

    assert np.isfinite(matrix).all()
    assert slept == [7.0] * 6


@pytest.mark.parametrize("mode", ["rate-for-ever", "rate-tomorrow", "down"])
def test_a_server_that_is_no_use_is_an_error_in_bounded_time(mode: str) -> None:
    slept: list[float] = []
    with serve(mode) as server:
        with pytest.raises(EmbedderError):
            connect(server, slept=slept).embed(TEXTS, kind="passage")

        assert len(server.requests) <= 20
    assert sum(slept) <= 60


def test_a_passing_fault_is_asked_again() -> None:
    with serve("flaky", times=2) as server:
        assert np.isfinite(connect(server).embed(TEXTS, kind="passage")).all()


def test_no_server_at_all_is_an_error() -> None:
    with serve() as server:
        pass

    with pytest.raises(EmbedderError, match="no vectors"):
        connect(server).embed(TEXTS, kind="passage")


def test_an_input_that_hangs_costs_no_other() -> None:
    with serve("hang") as server:
        embedder = connect(server, timeout_s=0.3)
        matrix = embedder.embed([*TEXTS, TRIGGER], kind="passage")

    assert np.isnan(matrix).all(axis=1).tolist() == [False, False, False, True]


@pytest.mark.parametrize("mode", ["drip"])
def test_a_server_that_never_ends_its_answer_is_given_up(mode: str) -> None:
    started = time.monotonic()
    with serve(mode) as server, pytest.raises(EmbedderError, match="no answer within"):
        connect(server, timeout_s=0.3).embed(TEXTS, kind="passage")

    assert time.monotonic() - started < 8


def test_a_redirect_is_not_followed() -> None:
    with serve("redirect") as server, pytest.raises(EmbedderError, match="307"):
        connect(server).embed(TEXTS, kind="passage")


def test_the_key_is_sent_and_is_in_no_message() -> None:
    with serve("echo-key") as server:
        with pytest.raises(EmbedderError) as caught:
            connect(server).embed(TEXTS, kind="passage")

        assert server.keys == [f"Bearer {KEY}"]
    shown = str(caught.value) + repr(caught.value) + repr(caught.value.__dict__)
    assert KEY not in shown and KEY[:8] not in shown
    assert "\x1b" not in shown
    assert caught.value.__cause__ is None


def test_our_own_key_comes_before_the_common_one() -> None:
    environment = {"OPENAI_API_KEY": "common", "MEMTOOL_API_KEY": "our-own"}
    with serve() as server:
        OpenAIEmbedder(base_url=server.base_url, model="m", environment=environment).embed(
            ["a"], kind="query"
        )

        assert server.keys == ["Bearer our-own"]


def test_a_local_server_needs_no_key() -> None:
    with serve() as server:
        matrix = OpenAIEmbedder(base_url=server.base_url, model="m", environment={}).embed(
            ["a"], kind="query"
        )

    assert np.isfinite(matrix).all()


def test_prefixes_are_set_before_the_texts() -> None:
    with serve() as server:
        embedder = connect(server, query_prefix="query: ", passage_prefix="passage: ")
        embedder.embed(["鍵"], kind="query")
        embedder.embed(["鍵"], kind="passage")

        assert sent(server) == ["query: 鍵", "passage: 鍵"]


def test_the_probe_is_sent_once_and_tells_models_apart() -> None:
    with serve() as server:
        one, other = connect(server), connect(server)
        one.embed(["a"], kind="query")
        one.embed(["b"], kind="query")
        server.salt = "another model"
        other.embed(["a"], kind="query")

        assert sum(PROBE in batch for batch in server.requests) == 2
    assert one.probe is not None and other.probe is not None
    assert one.fingerprint == other.fingerprint
    assert one.probe @ other.probe < 0.9


def test_fingerprints_follow_the_model_not_the_address() -> None:
    def get(**settings: object) -> str:
        embedder = open_embedder("openai", **{"model": "m", **settings})
        assert embedder is not None
        return embedder.fingerprint

    assert get() == get(base_url="http://127.0.0.1:1/v1")
    assert len({get(), get(model="n"), get(dimensions=8), get(passage_prefix="p: ")}) == 4


def test_a_model_has_to_be_named() -> None:
    with pytest.raises(ConfigError, match="needs a model"):
        open_embedder("openai")


def test_a_sender_may_be_handed_in() -> None:
    def send(texts: object, timeout_s: float) -> object:
        assert isinstance(texts, list)
        return {"data": [{"embedding": [1.0, 0.0]} for _ in texts]}

    assert OpenAIEmbedder(model="m", send=send).embed(["a"], kind="query").tolist() == [[1.0, 0.0]]


def test_a_used_up_account_is_not_waited_for() -> None:
    assert get_wait(Refusal(429, "insufficient_quota: pay first"), 0) is None


def test_a_date_to_retry_after_is_understood() -> None:
    assert read_retry_after({"retry-after": "Fri, 01 Jan 2100 00:00:00 GMT"}) > 1e9  # type: ignore[operator]
    assert read_retry_after({"retry-after": "Sat, 01 Jan 2000 00:00:00 GMT"}) == 0


@pytest.mark.parametrize(
    ("key", "text"), [("k", "k is k"), ("鍵鍵鍵", "bad 鍵鍵鍵!"), ("abcdefghij", "ABCDEFGHIJ")]
)
def test_short_and_wide_keys_are_masked_too(key: str, text: str) -> None:
    assert key not in mask(text, key).lower()


def test_without_a_key_nothing_is_masked() -> None:
    assert mask("plain text", "") == "plain text"
