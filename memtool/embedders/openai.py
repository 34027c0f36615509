"""Texts -> vectors from any OpenAI-compatible endpoint: batches that shrink when refused, waits that end.

The address comes from the user's settings and the key from the environment, never from a vault.
Knows which refusals are worth another try, and that one bad input must not cost the others.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from memtool import secrets
from memtool.embedders.answers import check_length, check_unit, read_matrix
from memtool.embedders.base import Calibration, Kind, Matrix, get_fingerprint, is_blank, prepare, unit_rows
from memtool.embedders.endpoint import Endpoint, Refusal, Send, get_wait
from memtool.errors import ConfigError, EmbedderError

# Sent along with the first batch: its vector shows which model it is that answers to a name.
PROBE = "memtool: the key to the harbour office / 港湾事務所の鍵"

_MOST_INPUTS = 64
_MOST_TOKENS = 16_000
_SHORTEST = 250  # characters; a shorter input that is refused is refused for what it says
_MOST_WAIT_S = 60.0  # in all, for one batch that makes no headway
_MOST_TRIES = 20
_LEAST_TIMEOUT_S = 2.0
_MOST_HUNG = 8
_TOO_MUCH = (400, 413, 422)

_FIXES = {
    401: "put a valid key into the environment variable OPENAI_API_KEY or MEMTOOL_API_KEY",
    403: "use a key that may call this model, or set another `model`",
    404: "check `base_url` (it usually ends in /v1) and `model` in the user's settings",
    429: "wait, or use an account with a higher limit",
}


class OpenAIEmbedder:
    """One model at one endpoint, asked in batches."""

    name = "openai"
    calibration = Calibration()

    def __init__(
        self,
        *,
        model: str | None = None,
        base_url: str | None = None,
        dimensions: int | None = None,
        normalise: bool = False,
        query_prefix: str | None = None,
        passage_prefix: str | None = None,
        timeout_s: float = 30.0,
        api_key_variable: str = "OPENAI_API_KEY",
        environment: Mapping[str, str] = os.environ,
        send: Send | None = None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not model:
            raise ConfigError(
                "the embedder `openai` needs a model",
                why="the setting `model` is empty",
                fix='set `model` in the user\'s settings, for example to "text-embedding-3-small"',
            )
        self._prefixes = {"query": query_prefix or "", "passage": passage_prefix or ""}
        self._asked, self._normalise, self._timeout_s = dimensions, normalise, timeout_s
        # Not the address: one model may move. `probe` shows when another one answers to its name.
        self.fingerprint = get_fingerprint(
            embedder="openai", model=model, dimensions=dimensions, prefix=self._prefixes["passage"]
        )
        key = environment.get("MEMTOOL_API_KEY") or environment.get(api_key_variable) or "none"
        endpoint = Endpoint(base_url=base_url, model=model, dimensions=dimensions, key=key)
        self._send, self._sleep, self._clock = send or endpoint.send, sleep, clock
        self._length: int | None = dimensions
        self._most_inputs, self._most_tokens = _MOST_INPUTS, _MOST_TOKENS
        self._pace: float | None = None  # seconds an input took at most; None before the first answer
        self._refused = self._hung = 0
        self.probe: Matrix | None = None

    def embed(self, texts: Sequence[str], *, kind: Kind) -> Matrix:
        """Give one unit row for each text; NaN for one that is blank, that the endpoint refuses, or that
        it gives no direction. Raises EmbedderError, in bounded time, when the endpoint is of no use.
        """
        full = [place for place, text in enumerate(texts) if not is_blank(text)]
        # What a person wrote into a note stays there; a secret in it goes to no endpoint.
        inputs = [self._prefixes[kind] + prepare(secrets.mask(texts[place])) for place in full]
        first = [PROBE] if inputs and self.probe is None else []
        rows = self._embed([*first, *inputs])
        if first:
            self.probe = rows.pop(0)
        matrix = np.full((len(texts), self._length or 0), np.nan, np.float32)
        for place, row in zip(full, rows, strict=True):
            if row is not None:
                matrix[place] = row
        return matrix

    def _embed(self, inputs: Sequence[str]) -> list[Matrix | None]:
        rows: list[Matrix | None] = []
        while len(rows) < len(inputs):
            rows += self._embed_batch(self._take_batch(inputs, len(rows)))
        return rows

    def _take_batch(self, inputs: Sequence[str], start: int) -> list[str]:
        """Take the next inputs, at least one, as many as the endpoint is known to accept."""
        batch = [inputs[start]]
        tokens = estimate_tokens(batch[0])
        for text in inputs[start + 1 : start + self._most_inputs]:
            tokens += estimate_tokens(text)
            if tokens > self._most_tokens:
                break
            batch.append(text)
        return batch

    def _embed_batch(self, batch: list[str], *, halved: bool = False) -> list[Matrix | None]:
        """Embed a batch; when it is refused or hangs, its halves, until what is to blame is alone."""
        try:
            return list(self._ask(batch, self._get_timeout(len(batch)) if halved else self._timeout_s))
        except Refusal as refusal:
            self._refused += 1
            if self._pace is None and batch != [PROBE] and (refusal.late or len(batch) == 1):
                self._embed_batch([PROBE])  # raises when the endpoint takes nothing at all
            if len(batch) == 1:
                return [self._embed_alone(batch[0], refusal)]
            middle = len(batch) // 2
            halves = batch[:middle], batch[middle:]
            refused = self._refused
            rows = [row for half in halves for row in self._embed_batch(half, halved=True)]
            # Both halves went through, so nothing was wrong with the batch but its size.
            if not refusal.late and self._refused == refused:
                self._most_inputs = min(self._most_inputs, len(halves[1]))
                self._most_tokens = min(self._most_tokens, max(sum(map(estimate_tokens, h)) for h in halves))
            return rows

    def _embed_alone(self, text: str, refusal: Refusal) -> Matrix | None:
        """Try a refused input again, each time with half the text; None when it is refused to the end."""
        if text == PROBE:
            raise _give_up(refusal)
        if refusal.late:
            self._hung += 1
            if self._hung > _MOST_HUNG:
                raise _give_up(refusal)
            return None
        while len(text) >= 2 * _SHORTEST:
            text = text[: len(text) // 2]
            try:
                row: Matrix = self._ask([text], self._timeout_s)[0]
                return row
            except Refusal:
                continue
        return None

    def _ask(self, batch: list[str], timeout_s: float) -> Matrix:
        """Send one batch, again after a wait if that helps; raises Refusal when the inputs are to blame."""
        waited = 0.0
        for attempt in range(_MOST_TRIES):
            started = self._clock()
            try:
                rows = self._check(self._send(batch, timeout_s), len(batch))
                self._pace = max(self._pace or 0.0, (self._clock() - started) / len(batch))
                return rows
            except Refusal as refusal:
                if refusal.status in _TOO_MUCH or refusal.late:
                    raise
                wait = get_wait(refusal, attempt)
                if wait is None or waited + wait > _MOST_WAIT_S:
                    raise _give_up(refusal) from None
            self._sleep(wait)
            waited += wait
        raise _give_up(Refusal(429, f"asked {_MOST_TRIES} times"))

    def _check(self, payload: object, count: int) -> Matrix:
        matrix = read_matrix(payload, count)
        self._length = self._length or matrix.shape[1]
        check_length(matrix.shape[1], self._length, asked=self._asked is not None)
        if not self._normalise:
            check_unit(matrix)
        return unit_rows(matrix)

    def _get_timeout(self, inputs: int) -> float:
        """How long a part of a batch that hung may take: what it should, ten times over."""
        if self._pace is None:
            return self._timeout_s
        return min(self._timeout_s, max(_LEAST_TIMEOUT_S, 10 * self._pace * inputs))


def estimate_tokens(text: str) -> int:
    """Guess high: a token is seldom under three bytes, in English or Japanese.

    >>> estimate_tokens("rotate the key"), estimate_tokens("鍵を交換する")
    (5, 7)
    """
    return len(text.encode()) // 3 + 1


def _give_up(refusal: Refusal) -> EmbedderError:
    what = f"HTTP {refusal.status}: {refusal.text}" if refusal.status else refusal.text
    fix = _FIXES.get(refusal.status, "check that the server runs and `base_url` is right, then run it again")
    return EmbedderError("the embeddings endpoint gives no vectors", why=what, fix=fix)
