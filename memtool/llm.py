"""Messages -> text from any OpenAI-compatible chat endpoint: asked again when that helps, given up in time.

The address and the model come from the user's settings, the key from the environment, never from a vault.
Knows what an answer looks like, and what to tell when there is none; knows nothing of what is asked.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memtool.config import Config
from memtool.embedders.endpoint import Endpoint, Refusal, Send, get_wait, mask
from memtool.errors import ChatError

Message = Mapping[str, str]  # {"role": "system" | "user" | "assistant", "content": text}

#: How to have one, told where there is none.
HOW_TO = (
    "set `chat_model`, and `chat_base_url` unless it is OpenAI's, in your own settings file or as "
    "MEMTOOL_CHAT_MODEL and MEMTOOL_CHAT_BASE_URL; the key is read from OPENAI_API_KEY, or from the variable "
    "that `chat_api_key_variable` names"
)

_LONGEST = 200_000  # characters of an answer; a model that talks on is cut short
_MOST_WAIT_S = 30.0  # in all, between tries
_MOST_TRIES = 5
_THOUGHT = re.compile(r"\A\s*<think>.*?</think>\s*", re.DOTALL)

_FIXES = {
    401: "put a valid key into the environment variable that `chat_api_key_variable` names",
    403: "use a key that may call this model, or set another `chat_model`",
    404: "check `chat_base_url` (it usually ends in /v1) and `chat_model` in your settings",
    429: "wait, or use an account with a higher limit",
}


class Chat:
    """One chat model at one endpoint."""

    def __init__(
        self,
        *,
        model: str,
        base_url: str | None,
        key: str,
        timeout_s: float = 60.0,
        send: Send | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.model, self._key, self._timeout_s, self._sleep = model, key, timeout_s, sleep
        self._send = send or _ChatEndpoint(base_url=base_url, model=model, dimensions=None, key=key).send

    def complete(self, messages: Sequence[Message]) -> str:
        """Give the model's answer. Raises ChatError, in bounded time, when there is none to be had."""
        waited = 0.0
        for attempt in range(_MOST_TRIES):
            try:
                return self._read(self._send([dict(message) for message in messages], self._timeout_s))
            except Refusal as refusal:
                wait = None if refusal.late else get_wait(refusal, attempt)
                if wait is None or waited + wait > _MOST_WAIT_S or attempt + 1 == _MOST_TRIES:
                    raise _give_up(refusal, messages) from None
            self._sleep(wait)
            waited += wait
        raise AssertionError("the last try returns or raises")

    def _read(self, payload: object) -> str:
        text = _THOUGHT.sub("", _content(payload)).strip()
        if not text:
            raise ChatError(
                "the chat model gave no text",
                why="its answer is empty" if isinstance(payload, Mapping) else "its answer has another shape",
                fix="ask again, or check `chat_model` and `chat_base_url` in your settings",
            )
        return text[:_LONGEST] if self._key == "none" else mask(text[:_LONGEST], self._key)


class _ChatEndpoint(Endpoint):
    """One chat endpoint, guarded like one for vectors."""

    error = ChatError

    def _request(self, client: Any, texts: Sequence[Any], timeout_s: float) -> object:
        answer = client.chat.completions.with_raw_response.create(
            model=self._model, messages=list(texts), timeout=timeout_s
        )
        return json.loads(answer.http_response.content)


def open_chat(config: Config, environment: Mapping[str, str] = os.environ) -> Chat | None:
    """Open the configured chat model; None where none is configured. Costs nothing until it is asked."""
    if not config.chat_model:
        return None
    return Chat(
        model=config.chat_model,
        base_url=config.chat_base_url,
        key=environment.get(config.chat_api_key_variable) or "none",
        timeout_s=config.chat_timeout_s,
    )


def _content(payload: object) -> str:
    """Find the text in an answer; "" where there is none. Some servers give it in parts."""
    try:
        content: Any = payload["choices"][0]["message"]["content"]  # type: ignore[index]
        if isinstance(content, list):
            content = "".join(str(part.get("text") or "") for part in content)
        return content if isinstance(content, str) else ""
    except (KeyError, IndexError, TypeError, AttributeError):
        return ""


def _give_up(refusal: Refusal, messages: Sequence[Message]) -> ChatError:
    """Say why there is no answer; what a server repeats of the messages is not repeated again."""
    told = mask(refusal.text, "\n".join(message["content"] for message in messages), least=16)
    why = f"HTTP {refusal.status}: {told}" if refusal.status else told
    fix = "check that the server runs and `chat_base_url` is right, then ask again"
    return ChatError("the chat model gives no answer", why=why, fix=_FIXES.get(refusal.status, fix))
