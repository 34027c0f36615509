"""A loopback stand-in for a chat endpoint, with chosen misbehaviour.

It answers with what ``reply`` makes of the last message, so that a test decides what the model says.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class ChatServer:
    """What the stand-in does, and what it was asked. Change a field at any time."""

    mode: str = "ok"
    reply: Callable[[str], str] = lambda asked: "It is so."
    times: int = 2  # how often a passing fault strikes
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    base_url: str = ""
    released: threading.Event = field(default_factory=threading.Event)

    @property
    def asked(self) -> str:
        """The last message of the last request."""
        return str(self.requests[-1]["messages"][-1]["content"])


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    told: ChatServer

    def log_message(self, *_: object) -> None:
        return

    def do_POST(self) -> None:
        told, body = self.told, json.loads(self.rfile.read(int(self.headers["content-length"])))
        told.requests.append(body)
        told.keys.append(self.headers.get("authorization", ""))
        asked, key = body["messages"][-1]["content"], told.keys[-1]
        match told.mode:
            case "flaky" if len(told.requests) <= told.times:
                return self._send(500, {"error": {"message": "a passing fault"}})
            case "rate":
                return self._send(429, {"error": {"message": "slow down"}}, {"retry-after": "1"})
            case "echo-key":
                return self._send(401, {"error": {"message": f"bad key: {key} \x1b[31m"}})
            case "answer-key":
                return self._say(f"Your key is {key.removeprefix('Bearer ')}.")
            case "echo-text":
                return self._send(400, {"error": {"message": f"refused: {asked}"}})
            case "redirect":
                return self._send(307, {}, {"location": "http://127.0.0.1:9/v1/chat/completions"})
            case "hang":
                told.released.wait(30)
                return self._send(503, {})
            case "garbage":
                return self._raw(200, b"<html>hello</html>")
            case "nothing":
                return self._raw(200, b"")
            case "shape":
                return self._send(200, {"choices": {"a": 1}})
            case "list":
                return self._raw(200, b"[]")
            case "empty":
                return self._send(200, {"choices": []})
            case "null":
                return self._send(200, {"choices": [{"message": {"role": "assistant", "content": None}}]})
            case "parts":
                parts = [{"type": "text", "text": "It "}, {"type": "text", "text": "is so."}]
                return self._send(200, {"choices": [{"message": {"content": parts}}]})
            case "thinking":
                return self._say("<think>\nhm [a.md:1-1]\n</think>\n\nIt is so.")
        return self._say(told.reply(asked))

    def _say(self, text: str) -> None:
        message = {"role": "assistant", "content": text}
        self._send(200, {"object": "chat.completion", "choices": [{"index": 0, "message": message}]})

    def _send(self, status: int, value: object, headers: dict[str, str] | None = None) -> None:
        self._raw(status, json.dumps(value).encode(), headers)

    def _raw(self, status: int, data: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def serve_chat(mode: str = "ok", **settings: Any) -> Iterator[ChatServer]:
    """Run the stand-in on a free port until the block ends."""
    told = ChatServer(mode, **settings)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"told": told}))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    told.base_url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield told
    finally:
        told.released.set()
        server.shutdown()
        server.server_close()
        thread.join()
