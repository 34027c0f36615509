"""A change of a settings file changes what it says and no other byte."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtool.errors import ConfigError
from memtool.hooks import json_edit, toml_switch

KEYS = st.text(max_size=5)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=4)


@given(OBJECTS, st.sampled_from([None, 0, 2, 4, "\t"]))
def test_every_json_is_read_as_json_reads_it(told: dict[str, Any], indent: Any) -> None:
    text = json.dumps(told, indent=indent)

    assert json_edit.load(text, json_edit.parse(text)) == told


@given(OBJECTS, st.sampled_from([None, 2, "\t"]), VALUES)
def test_what_was_added_is_there_and_can_be_taken_out_again(
    told: dict[str, Any], indent: Any, value: Any
) -> None:
    text = json.dumps(told, indent=indent)
    added = json_edit.add(text, ["memtool new"], json.dumps(value, indent=2))

    assert json.loads(added) == {**told, "memtool new": value}
    assert list(json.loads(added)) == [*told, "memtool new"]

    taken = json_edit.remove(added, lambda place, _: tuple(place) == ("memtool new",))

    assert json.loads(taken) == told
    if told:
        assert taken == text


def test_comments_order_and_line_ends_stay() -> None:
    text = '{\r\n\t// mine\r\n\t"b": 1, /* why */\r\n\t"a": [ 1,2 ],\r\n}\r\n'
    added = json_edit.add(text, ["c"], '{\n  "d": 1\n}')

    assert added.startswith(text[: text.index("}")].rstrip())
    assert '"c": {\r\n\t  "d": 1\r\n\t}' in added
    assert json_edit.load(added, json_edit.parse(added)) == {"b": 1, "a": [1, 2], "c": {"d": 1}}


@pytest.mark.parametrize(
    "text",
    ["", "{", "{]", '{"a" 1}', '{"a": }', '{"a": 1 "b": 2}', "{} {}", '{"a": 1, "a": 2}', "nope", "[" * 200],
)
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="line 1"):
        json_edit.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        'model = "x"',
        'model = "x"\r\n\r\n[tools]\r\nweb = true\r\n',
        "[features] # mine\nweb = true\n\n[other]\nx = 1\n",
        "[features]",
    ],
)
def test_a_switch_in_toml_is_one_line_and_goes_again(text: str) -> None:
    import tomllib

    on = toml_switch.turn(text, on=True)

    assert tomllib.loads(on)["features"]["hooks"] is True
    assert toml_switch.turn(on, on=True) == on
    off = toml_switch.turn(on, on=False)
    assert off.strip() == text.strip()


@pytest.mark.parametrize(
    "text", ["x = ", "[features]\nhooks = false\n", "features = 1\n", "features.web = true\n[a]\n"]
)
def test_a_toml_that_says_no_or_is_broken_is_left_alone(text: str) -> None:
    with pytest.raises(ConfigError):
        toml_switch.turn(text, on=True)
