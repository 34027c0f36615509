"""An address, a model and a key -> a function that sends one batch and gives the parsed answer.

The only place that touches the network, and only that address: no redirect is followed and no proxy is
taken from the environment. Knows the `openai` package; does not know what to do about a refusal.
"""

from __future__ import annotations

import json
import threading
import weakref
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from memtool.errors import EmbedderError, MemtoolError

# One batch and the seconds it may take -> the parsed JSON; raises Refusal.
Send = Callable[[Sequence[Any], float], object]

_MOST_TEXT = 300
_FAULT_TRIES = 4  # a server that is down is asked again for a few seconds only
_FAULTS = (0, 408, 409, 425, 500, 502, 503, 504)


class Refusal(Exception):
    """The server did not answer with vectors: an HTTP status, or 0 for no answer at all."""

    def __init__(
        self, status: int, text: str, *, retry_after_s: float | None = None, late: bool = False
    ) -> None:
        super().__init__(text)
        self.status, self.text, self.retry_after_s, self.late = status, text, retry_after_s, late


class Endpoint:
    """One embeddings endpoint. The key is in the requests and in no message."""

    error: type[MemtoolError] = EmbedderError

    def __init__(self, *, base_url: str | None, model: str, dimensions: int | None, key: str) -> None:
        self._base_url, self._model, self._dimensions, self._key = base_url, model, dimensions, key
        self._client: Any = None

    def send(self, texts: Sequence[Any], timeout_s: float) -> object:
        """Send one batch; every answer comes, or is given up, within *timeout_s*."""
        client = self._client = self._client or self._open()
        answers: list[object] = []
        # A thread, for the deadline: name look-up and a server that sends a byte a second know none.
        thread = threading.Thread(target=self._send, args=(client, texts, timeout_s, answers), daemon=True)
        thread.start()
        thread.join(timeout_s + 0.5)
        if not answers:
            self._client = None
            client.close()  # ends the thread too, which waits for a connection that is no more
            raise Refusal(0, f"no answer within {timeout_s:g} s", late=True)
        if isinstance(answers[0], Exception):
            raise answers[0]
        return answers[0]

    def _send(self, client: Any, texts: Sequence[Any], timeout_s: float, answers: list[object]) -> None:
        import openai

        try:
            answers.append(self._request(client, texts, timeout_s))
        except openai.APITimeoutError:
            answers.append(Refusal(0, f"no answer within {timeout_s:g} s", late=True))
        except openai.APIStatusError as error:
            headers, text = error.response.headers, self.clean(get_message(error.response.text))
            answers.append(Refusal(error.status_code, text, retry_after_s=read_retry_after(headers)))
        except openai.OpenAIError as error:
            answers.append(Refusal(0, self.clean(str(error.__cause__ or error))))
        except ValueError as error:
            answers.append(Refusal(0, f"the answer is not JSON ({self.clean(str(error))})"))
        # Whatever it is, it is the caller's to see, not the thread's to print.
        except Exception as error:
            answers.append(error)

    def _request(self, client: Any, texts: Sequence[Any], timeout_s: float) -> object:
        # Lists of numbers are asked for: the package would ask for base64, which many servers refuse.
        # The raw answer is read: the package's own reading takes longer than most servers.
        extra = {} if self._dimensions is None else {"dimensions": self._dimensions}
        answer = client.embeddings.with_raw_response.create(
            model=self._model, input=list(texts), encoding_format="float", timeout=timeout_s, **extra
        )
        return json.loads(answer.http_response.content)

    def _open(self) -> Any:
        try:
            import openai
        except ImportError as error:
            raise self.error(
                "the package `openai` is not installed", why=str(error), fix="pip install openai"
            ) from None
        # Our own loop tries again: it knows which inputs are to blame.
        http = openai.DefaultHttpxClient(trust_env=False, follow_redirects=False)
        client = openai.OpenAI(api_key=self._key, base_url=self._base_url, max_retries=0, http_client=http)
        weakref.finalize(self, client.close)
        return client

    def clean(self, text: str) -> str:
        """Make a server's text fit for a message: one line, printable, short, and without the key."""
        line = " ".join("".join(c if c.isprintable() else " " for c in text[:10_000]).split())
        return mask(line, self._key)[:_MOST_TEXT] or "no reason given"


def get_message(text: str) -> str:
    """Find the message in a server's refusal; most wrap it in JSON.

    >>> get_message('{"error": {"message": "slow down"}}'), get_message("<h1>No</h1>")
    ('slow down', '<h1>No</h1>')
    """
    try:
        told = json.loads(text)["error"]
        return " ".join(str(told[name]) for name in ("code", "message") if told.get(name))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return text


def mask(text: str, key: str, *, least: int = 8) -> str:
    """Put *** for every part of *key* in *text*, of *least* characters or more, in any case.

    >>> mask("bad key: Bearer sk-0123456789, or 'sk-012345...'", "sk-0123456789")
    "bad key: Bearer ***, or '***...'"
    """
    size = min(least, len(key))
    low_text, low_key = text.lower(), key.lower()
    parts = {low_key[start : start + size] for start in range(len(key) - size + 1)} - {""}
    hidden = [False] * len(text)
    for start in range(len(text) - size + 1):
        if low_text[start : start + size] in parts:
            hidden[start : start + size] = [True] * size
    shown = [c if not hide else "\0" for c, hide in zip(text, hidden, strict=True)]
    return "***".join(part for part in _split_runs("".join(shown)))


def _split_runs(text: str) -> list[str]:
    parts = [text]
    while "\0" in parts[-1]:
        head, _, tail = parts.pop().partition("\0")
        parts += [head, tail.lstrip("\0")]
    return parts


def read_retry_after(headers: Any, *, now: datetime | None = None) -> float | None:
    """Read how many seconds to wait: a number, or a date; None when the server does not say.

    >>> read_retry_after({"retry-after": "1.5"}), read_retry_after({"retry-after": "soon"})
    (1.5, None)
    """
    if (told := headers.get("retry-after")) is None:
        return None
    try:
        seconds = float(told)
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(told) - (now or datetime.now(UTC))).total_seconds()
        except (ValueError, TypeError):
            return None
    return max(seconds, 0.0) if seconds == seconds else None


def get_wait(refusal: Refusal, attempt: int) -> float | None:
    """Say how many seconds to wait before another try; None when there is no hope in one.

    >>> get_wait(Refusal(429, "slow down", retry_after_s=7), 0), get_wait(Refusal(401, "bad key"), 0)
    (7, None)
    """
    if refusal.status == 429 and "insufficient_quota" not in refusal.text:
        told = refusal.retry_after_s
        return max(told, 0.1) if told is not None else min(2.0**attempt, 20.0)
    if refusal.status in _FAULTS and attempt + 1 < _FAULT_TRIES:
        told = refusal.retry_after_s
        return max(told, 0.1) if told is not None else 0.5 * 2**attempt
    return None
