from __future__ import annotations

import pytest

from memtool.links.links import find, rebase, rewrite

OLD, NEW = "ops/plan.md", "archive/計画 (1).md"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("[[plan]] and [[Plan#Keys]]", "[[計画 (1)]] and [[計画 (1)#Keys]]"),
        ("![[plan|see]] [[ops/plan]]", "![[計画 (1)|see]] [[archive/計画 (1)]]"),
        ("[[ops/plan.md#H|x]]", "[[archive/計画 (1).md#H|x]]"),
        (r"a | [[plan\|cell]] |", r"a | [[計画 (1)\|cell]] |"),
        (
            "[p](plan.md) [q](./plan.md#f)",
            "[p](../archive/計画%20%281%29.md) [q](../archive/計画%20%281%29.md#f)",
        ),
        ('[p](<plan.md> "t")', '[p](<../archive/計画 (1).md> "t")'),
        ("[p](../ops/plan.md)", "[p](../archive/計画%20%281%29.md)"),
        ('[r]: plan.md "T"\r\n', '[r]: ../archive/計画%20%281%29.md "T"\r\n'),
        ("---\nup: ops/plan.md\n---\n", "---\nup: archive/計画 (1).md\n---\n"),
        ('---\nsee: [ops/plan.md, "b.md"]\n---\n', '---\nsee: [archive/計画 (1).md, "b.md"]\n---\n'),
        (
            "---\nsee:\n- ops/plan.md:3-5@abcd1234\n---\n",
            "---\nsee:\n- archive/計画 (1).md:3-5@abcd1234\n---\n",
        ),
        ('---\nup: "[[plan]]"\n---\n', '---\nup: "[[計画 (1)]]"\n---\n'),
    ],
)
def test_every_kind_of_link_follows_its_note(text: str, wanted: str) -> None:
    assert rewrite(text, OLD, NEW, path="ops/n.md", paths=[OLD, "ops/n.md"]) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "```\n[[plan]]\n```\n",
        "> ~~~text\n> [p](plan.md)\n> ~~~\n",
        "- ```\n  [[plan]]\n  ```\n",
        "````\n```\n[[plan]]\n````\n",
        "Write `[[plan]]` or ``[a](plan.md)``.",
        "```\n[[plan]] and never closed\n",
        "[[plan b]] [[my plan]] [w](https://x.invalid/plan.md) [m](mailto:plan.md) [h](#plan)",
        "[other](../plan.md) ops/plan.md in prose",
        "---\nnote: see ops/plan.md for more\n---\n",
    ],
)
def test_what_only_looks_like_a_link_stays(text: str) -> None:
    assert rewrite(text, OLD, NEW, path="ops/n.md", paths=[OLD]) == text


def test_of_two_notes_with_one_name_a_wikilink_means_the_nearer() -> None:
    paths = ["a/plan.md", "b/plan.md", "c.md"]

    assert rewrite("[[plan]]", "a/plan.md", "a/x.md", path="a/n.md", paths=paths) == "[[x]]"
    assert rewrite("[[plan]]", "a/plan.md", "a/x.md", path="b/n.md", paths=paths) == "[[plan]]"


def test_a_name_that_another_note_has_is_written_with_its_folder() -> None:
    assert rewrite("[[b]]", "b.md", "d/c.md", path="n.md", paths=["b.md", "c.md"]) == "[[d/c]]"


def test_the_links_of_a_moved_note_lead_where_they_led() -> None:
    text = "[a](b.md#h) ![i](img/x.png) [me](me.md) [no](none.md) [[b]] `[a](b.md)`"
    there = {"ops/b.md", "ops/img/x.png"}

    moved = rebase(text, "ops/me.md", "deep/down/me.md", there.__contains__)

    assert moved == (
        "[a](../../ops/b.md#h) ![i](../../ops/img/x.png) [me](me.md) [no](none.md) [[b]] `[a](b.md)`"
    )


def test_links_are_told_in_the_order_of_the_text() -> None:
    found = find("---\nup: a.md\n---\n[[b#x|y]]\n[c](d%20e.md)\n")

    assert [(link.kind, link.target) for link in found] == [
        ("value", "a.md"),
        ("wiki", "b"),
        ("markdown", "d e.md"),
    ]
