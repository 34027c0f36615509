"""A chat endpoint that answers well, badly, late or not at all -> text, or an error that says what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from chat_server import ChatServer, serve_chat

from memtool import config
from memtool.errors import ChatError, ConfigError
from memtool.llm import Chat, open_chat

KEY = "dummy-key-" + "9876543210"
ASK = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "The vault says: 合鍵は青い缶の中に入れてある。 Is it so?"},
]


def connect(server: ChatServer, *, slept: list[float] | None = None, timeout_s: float = 5.0) -> Chat:
    waits = slept if slept is not None else []
    return Chat(model="stand-in", base_url=server.base_url, key=KEY, timeout_s=timeout_s, sleep=waits.append)


@pytest.mark.parametrize("mode", ["ok", "parts", "thinking", "flaky"])
def test_every_shape_of_a_right_answer_is_read(mode: str) -> None:
    with serve_chat(mode) as server:
        assert connect(server).complete(ASK) == "It is so."
        assert server.requests[-1]["messages"] == ASK
        assert server.requests[-1]["model"] == "stand-in"
        assert server.keys[-1] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    "mode", ["nothing", "garbage", "shape", "list", "empty", "null", "echo-key", "echo-text", "redirect"]
)
def test_an_answer_that_is_none_is_an_error_without_key_or_text(mode: str) -> None:
    with serve_chat(mode) as server, pytest.raises(ChatError) as caught:
        connect(server).complete(ASK)

    told = str(caught.value)
    assert caught.value.fix
    assert KEY not in told
    assert "合鍵は青い缶" not in told
    assert "\x1b" not in told


def test_a_redirect_is_not_followed() -> None:
    with serve_chat("redirect") as server, pytest.raises(ChatError, match="no answer"):
        connect(server).complete(ASK)


def test_an_endpoint_that_hangs_is_given_up() -> None:
    with serve_chat("hang") as server:
        with pytest.raises(ChatError) as caught:
            connect(server, timeout_s=0.2).complete(ASK)
        assert len(server.requests) == 1

    assert "0.2 s" in caught.value.why


def test_an_endpoint_that_is_busy_is_asked_again_and_then_given_up() -> None:
    slept: list[float] = []
    with serve_chat("rate") as server:
        with pytest.raises(ChatError) as caught:
            connect(server, slept=slept).complete(ASK)
        assert len(server.requests) == 5

    assert slept == [1.0] * 4
    assert "429" in caught.value.why


def test_an_endpoint_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ChatError) as caught:
        Chat(
            model="m", base_url="http://127.0.0.1:9/v1", key=KEY, timeout_s=2, sleep=lambda _: None
        ).complete(ASK)

    assert "chat_base_url" in caught.value.fix


def test_a_key_in_an_answer_is_masked() -> None:
    with serve_chat("answer-key") as server:
        assert connect(server).complete(ASK) == "Your key is ***."


# -- who may configure it ------------------------------------------------------------------------


def test_without_a_model_there_is_no_chat() -> None:
    assert open_chat(config.Config(), {}) is None


def test_model_address_and_key_come_from_the_environment(tmp_path: Path) -> None:
    with serve_chat() as server:
        environment = {
            "MEMTOOL_CHAT_MODEL": "deepseek-chat",
            "MEMTOOL_CHAT_BASE_URL": server.base_url,
            "MEMTOOL_CHAT_API_KEY_VARIABLE": "DEEPSEEK_API_KEY",
            "DEEPSEEK_API_KEY": KEY,
            "OPENAI_API_KEY": "another-key-for-another-place",
            "HOME": str(tmp_path),
        }
        chat = open_chat(config.load(tmp_path, environment=environment), environment)
        assert chat is not None
        chat.complete(ASK)

        assert server.requests[-1]["model"] == "deepseek-chat"
        assert server.keys == [f"Bearer {KEY}"]


@pytest.mark.parametrize(
    "line",
    [
        'chat_model = "evil"',
        'chat_base_url = "https://evil.invalid/v1"',
        'chat_api_key_variable = "AWS_SECRET_ACCESS_KEY"',
        "chat_timeout_s = 5",
    ],
)
def test_a_vault_cannot_say_where_questions_are_sent(tmp_path: Path, line: str) -> None:
    (tmp_path / "memtool.toml").write_text(line + "\n", encoding="utf-8")

    loaded = config.load(tmp_path, environment={"HOME": str(tmp_path)})

    assert open_chat(loaded, {}) is None
    assert loaded.chat_base_url is None
    assert loaded.chat_api_key_variable == "OPENAI_API_KEY"
    assert [finding.code for finding in loaded.findings] == ["config-not-allowed"]


def test_a_password_in_the_address_is_refused_and_not_shown(tmp_path: Path) -> None:
    environment = {"MEMTOOL_CHAT_BASE_URL": "https://mio:geheim@host.invalid/v1", "HOME": str(tmp_path)}

    with pytest.raises(ConfigError) as caught:
        config.load(tmp_path, environment=environment)

    assert "geheim" not in str(caught.value)
