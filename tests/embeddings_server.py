"""A loopback stand-in for an embeddings endpoint, with chosen misbehaviour.

Vectors are hashed character pairs, so the same text always gives the same vector. Inputs that hold the word
TRIGGER set off what a mode does to single inputs.
"""

from __future__ import annotations

import base64
import json
import math
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

TRIGGER = "TRIGGER"


@dataclass
class Server:
    """What the stand-in does, and what it was asked. Change a field at any time."""

    mode: str = "ok"
    dimensions: int = 16
    salt: str = ""
    times: int = 3  # how often a passing fault strikes
    requests: list[list[str]] = field(default_factory=list)
    formats: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    base_url: str = ""
    released: threading.Event = field(default_factory=threading.Event)

    def embed(self, text: str) -> list[float]:
        vector = [0.0] * self.dimensions
        for start in range(max(1, len(text) - 1)):
            number = zlib.crc32((self.salt + text[start : start + 2]).encode("utf-8", "replace"))
            vector[(number >> 1) % self.dimensions] += 1.0 if number & 1 else -1.0
        norm = math.sqrt(sum(x * x for x in vector)) or 1.0
        return [x / norm for x in vector]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    told: Server

    def log_message(self, *_: object) -> None:
        return

    def do_POST(self) -> None:
        told = self.told
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        texts = body["input"]
        told.requests.append(texts)
        told.formats.append(body.get("encoding_format", "none"))
        told.keys.append(self.headers.get("authorization", ""))
        triggered = any(TRIGGER in text for text in texts)
        number = len(told.requests)
        match told.mode:
            case "down":
                return self._fail(503, "unavailable")
            case "flaky" if number <= told.times:
                return self._fail(500, "a passing fault")
            case "rate" if number <= told.times:
                return self._fail(429, "slow down", {"retry-after": "7"})
            case "rate-for-ever":
                return self._fail(429, "slow down", {"retry-after": "0"})
            case "rate-tomorrow":
                return self._fail(429, "slow down", {"retry-after": "86400"})
            case "echo-key":
                return self._fail(401, "bad key: " + self.headers["authorization"] + " \x1b[31m")
            case "no-model":
                return self._fail(400, f"no model {body['model']}")
            case "redirect":
                return self._fail(307, "elsewhere", {"location": "http://127.0.0.1:9/v1/embeddings"})
            case "list-only" if body.get("encoding_format") != "float":
                return self._fail(400, "only float is supported")
            case "small" if len(texts) > 8 or sum(map(len, texts)) > 2000 or max(map(len, texts)) > 1000:
                return self._fail(413 if number % 2 else 400, "input is too large")
            case "refuse" if triggered or not all(text.strip() for text in texts):
                return self._fail(422, "input is invalid")
            case "hang" if triggered:
                told.released.wait(30)
                return self._fail(503, "unavailable")
            case "drip":
                self.send_response(200)
                self.send_header("content-length", "100000")
                self.end_headers()
                while not told.released.wait(0.05):
                    self.wfile.write(b" ")
                    self.wfile.flush()
                return None
            case "not-json":
                return self._reply(200, b"<html>hello</html>")
            case "not-vectors":
                return self._reply(200, b'{"data": {"a": 1}}')
        return self._answer(texts)

    def _answer(self, texts: list[str]) -> None:
        mode, data = self.told.mode, []
        for index, text in enumerate(texts):
            vector: object = self.told.embed(text)
            assert isinstance(vector, list)
            hit = TRIGGER in text
            if mode == "long":
                vector = [37 * x for x in vector]
            elif hit and mode in ("zero", "nan", "infinite", "null"):
                value = {"zero": 0.0, "nan": math.nan, "infinite": math.inf, "null": None}[mode]
                vector = [value] * len(vector)
            elif hit and mode == "uneven":
                vector = vector[:-1]
            elif mode == "base64":
                vector = base64.b64encode(np.array(vector, "<f4").tobytes()).decode()
            elif hit and mode == "words":
                vector = ["one", "two"]
            item = {"object": "embedding", "index": index, "embedding": vector}
            data.append({k: v for k, v in item.items() if k != "index" or mode != "unnumbered"})
        if mode == "reversed":
            data.reverse()
        if mode == "one-short":
            data = data[:-1]
        if mode == "twice-numbered":
            data[-1]["index"] = 0
        self._reply(200, json.dumps({"object": "list", "data": data}).encode())

    def _fail(self, status: int, text: str, headers: dict[str, str] | None = None) -> None:
        self._reply(status, json.dumps({"error": {"message": text}}).encode(), headers)

    def _reply(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"content-type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class _Threads(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        return  # a client that hung up is what some tests are about


@contextmanager
def serve(mode: str = "ok", **told: object) -> Iterator[Server]:
    """Answer on a free port of the loopback interface until the block is left."""
    server = Server(mode=mode, **told)  # type: ignore[arg-type]
    handler = type("Handler", (_Handler,), {"told": server})
    with _Threads(("127.0.0.1", 0), handler) as http:
        server.base_url = f"http://127.0.0.1:{http.server_port}/v1"
        threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield server
        finally:
            server.released.set()
            http.shutdown()
