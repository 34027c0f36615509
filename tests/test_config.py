from __future__ import annotations

import os
from pathlib import Path

import pytest

from memtool.config import SETTINGS, Config, load
from memtool.errors import ConfigError


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "vault").mkdir()
    (tmp_path / "home" / "memtool").mkdir(parents=True)
    return {"XDG_CONFIG_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)}


def user_says(tmp_path: Path, text: str) -> None:
    (tmp_path / "home" / "memtool" / "config.toml").write_text(text, encoding="utf-8")


def vault_says(tmp_path: Path, text: str) -> None:
    (tmp_path / "vault" / "memtool.toml").write_text(text, encoding="utf-8")


def plain(config: Config) -> Config:
    return config._replace(findings=())


def codes(config: Config) -> list[tuple[str, str]]:
    return [(finding.code, finding.what.split("`")[1]) for finding in config.findings]


def test_without_any_file_the_defaults_hold(tmp_path: Path, home: dict[str, str]) -> None:
    config = load(tmp_path / "vault", environment=home)

    assert config == Config()
    assert (config.embedder, config.limit, config.min_score, config.findings) == ("e5", 5, None, ())


def test_a_flag_wins_over_environment_user_vault_and_default(tmp_path: Path, home: dict[str, str]) -> None:
    vault_says(tmp_path, "limit = 6\ncatalog_lines = 60\nmin_score = 0.6\nignore = ['v']")
    user_says(tmp_path, "limit = 7\ncatalog_lines = 70\nmin_score = 0.7")
    environment = {**home, "MEMTOOL_LIMIT": "8", "MEMTOOL_CATALOG_LINES": "80"}

    config = load(tmp_path / "vault", flags={"limit": 9, "min_score": None}, environment=environment)

    assert (config.limit, config.catalog_lines, config.min_score, config.ignore) == (9, 80, 0.7, ("v",))


def test_the_environment_is_read_by_the_type_of_each_setting(home: dict[str, str]) -> None:
    texts = {
        "NORMALISE": "false",
        "IGNORE": "drafts/*, *.tmp.md",
        "TIMEOUT_S": "2.5",
        "MODEL": "123",
        "DIMENSIONS": "64",
        "LIMIT": "",
    }
    config = load(environment={**home, **{f"MEMTOOL_{name}": text for name, text in texts.items()}})

    assert (config.normalise, config.ignore, config.timeout_s) == (False, ("drafts/*", "*.tmp.md"), 2.5)
    assert (config.model, config.dimensions, config.limit) == ("123", 64, 5)


@pytest.mark.parametrize(
    "line",
    [
        "base_url = 'https://elsewhere.example.invalid/v1'",
        "model = 'x'",
        "embedder = 'openai'",
        "embedder = 'function'",
        "api_key_variable = 'HOME'",
        "query_prefix = 'x'",
        "dimensions = 3",
        "timeout_s = 1",
    ],
)
def test_a_vault_may_not_set_what_reaches_outside(tmp_path: Path, home: dict[str, str], line: str) -> None:
    vault_says(tmp_path, f"{line}\nlimit = 6")
    config = load(tmp_path / "vault", environment=home)

    assert plain(config) == Config(limit=6)
    assert codes(config) == [("config-not-allowed", line.split(" ")[0])]

    user_says(tmp_path, line)

    assert load(None, environment=home) != Config()


@pytest.mark.parametrize("name", ["e5", "none"])
def test_a_vault_may_choose_an_embedder_that_stays_at_home(
    tmp_path: Path, home: dict[str, str], name: str
) -> None:
    vault_says(tmp_path, f"embedder = '{name}'")

    assert load(tmp_path / "vault", environment=home).embedder == name


def test_an_unknown_key_is_a_finding_with_the_nearest_name(tmp_path: Path, home: dict[str, str]) -> None:
    vault_says(tmp_path, "limt = 6\nexecute = 'rm'")
    config = load(tmp_path / "vault", environment={**home, "MEMTOOL_MIN_SCOR": "1"})

    assert codes(config) == [
        ("config-unknown", "limt"),
        ("config-unknown", "execute"),
        ("config-unknown", "MEMTOOL_MIN_SCOR"),
    ]
    assert [finding.fix for finding in config.findings] == [
        "write `limit`",
        "take it out",
        "write `MEMTOOL_MIN_SCORE`",
    ]


@pytest.mark.parametrize(
    "line",
    [
        "api_key = '{}'",
        "openai_api_key = '{}'",
        "token = '{}'",
        "[openai]\napi_key = '{}'",
        "password = ['{}']",
    ],
)
def test_a_secret_in_any_file_is_refused_and_never_shown(
    tmp_path: Path, home: dict[str, str], line: str
) -> None:
    secret = "not-" + "a-real-one"
    user_says(tmp_path, line.format(secret))
    vault_says(tmp_path, line.format(secret))
    config = load(tmp_path / "vault", environment=home)

    assert [finding.code for finding in config.findings].count("config-secret") == 2
    assert secret not in repr(config)


def test_a_secret_in_the_wrong_place_is_not_repeated(tmp_path: Path, home: dict[str, str]) -> None:
    secret = "sk" + "-proj-0000"
    for line in (
        f"api_key_variable = '{secret}'",
        f"base_url = 'https://me:{secret}@host'",
        f"limit = {{a = '{secret}'}}",
    ):
        user_says(tmp_path, line)
        with pytest.raises(ConfigError) as caught:
            load(environment=home)
        assert secret not in str(caught.value)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("limit = '5'", "'5'"),
        ("limit = true", "True"),
        ("limit = 0", "0"),
        ("limit = 5.0", "5.0"),
        ("min_score = nan", "nan"),
        ("min_score = 'high'", "'high'"),
        ("ignore = 'drafts'", "'drafts'"),
        ("catalog_lines = -1", "-1"),
        ("embedder = 1", "1"),
    ],
)
def test_a_value_that_cannot_be_used_names_file_key_and_value(
    tmp_path: Path, home: dict[str, str], line: str, shown: str
) -> None:
    vault_says(tmp_path, line)
    with pytest.raises(ConfigError) as caught:
        load(tmp_path / "vault", environment=home)

    assert caught.value.what == f"memtool.toml: `{line.split(' ')[0]}` = {shown} cannot be used"
    assert "takes" in caught.value.why


def test_a_value_in_the_environment_names_its_variable(home: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=r"MEMTOOL_LIMIT.*'many'"):
        load(environment={**home, "MEMTOOL_LIMIT": "many"})


@pytest.mark.parametrize("data", [b"limit = ", b"\xff\xfe", b"a = 1\na = 2", b"a=" + b"[" * 5000])
def test_a_file_that_is_no_toml_is_named(tmp_path: Path, home: dict[str, str], data: bytes) -> None:
    (tmp_path / "vault" / "memtool.toml").write_bytes(data)

    with pytest.raises(ConfigError, match=r"memtool\.toml cannot be read as TOML"):
        load(tmp_path / "vault", environment=home)


def test_a_byte_order_mark_and_windows_line_ends_are_read(tmp_path: Path, home: dict[str, str]) -> None:
    (tmp_path / "vault" / "memtool.toml").write_bytes(b"\xef\xbb\xbflimit = 6\r\n")

    assert load(tmp_path / "vault", environment=home).limit == 6


def test_a_vault_file_that_is_a_link_or_a_pipe_is_not_read(tmp_path: Path, home: dict[str, str]) -> None:
    (tmp_path / "elsewhere").write_text("limit = 6")
    file = tmp_path / "vault" / "memtool.toml"
    file.symlink_to("../elsewhere")
    linked = load(tmp_path / "vault", environment=home)
    file.unlink()
    os.mkfifo(file)
    piped = load(tmp_path / "vault", environment=home)

    assert plain(linked) == plain(piped) == Config()
    assert [finding.code for finding in (*linked.findings, *piped.findings)] == [
        "config-link",
        "config-unreadable",
    ]


def test_the_private_folder_of_a_vault_holds_no_settings(tmp_path: Path, home: dict[str, str]) -> None:
    (tmp_path / "vault" / ".memtool").mkdir()
    (tmp_path / "vault" / ".memtool" / "config.toml").write_text("limit = 6")

    assert load(tmp_path / "vault", environment=home) == Config()


def test_every_setting_has_its_rule_and_every_rule_its_setting() -> None:
    assert {*SETTINGS, "findings"} == set(Config._fields)
