"""The vaults that come with the code: the template that `memtool init` lays out, and the garden."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from memtool.catalog.catalog import Listing, check, is_generated, render

HERE = Path(__file__).parent
TEMPLATE = HERE.parent / "vault_template"
GARDEN = HERE / "vaults" / "garden"
CASES = [
    pytest.param(HERE / "cases" / "template.jsonl", TEMPLATE, 12, 5, id="template"),
    pytest.param(HERE / "vaults" / "garden.jsonl", GARDEN, 30, 8, id="garden"),
]
TYPES = {"episodic", "semantic", "procedural", "working", "reference", "tool"}
JAPANESE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")


def template_notes() -> dict[str, dict[str, Any]]:
    """Read the front matter of the template's notes, values as they are typed."""
    found = {}
    for file in sorted(TEMPLATE.rglob("*.md")):
        path = file.relative_to(TEMPLATE).as_posix()
        if not is_generated(path):
            block = file.read_text(encoding="utf-8").split("---\n")[1]
            found[path] = yaml.load(block, Loader=yaml.BaseLoader)
    return found


def listings() -> list[Listing]:
    return [
        Listing(
            path,
            meta["title"],
            meta["description"],
            meta.get("read_if", ""),
            meta["type"],
            tuple(meta["tags"]),
            meta.get("pinned") == "true",
            "verified" in meta,
            meta.get("updated") or meta["created"],
        )
        for path, meta in template_notes().items()
    ]


def cases(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line]


def test_the_catalog_of_the_template_is_up_to_date() -> None:
    text = (TEMPLATE / "MEMORY.md").read_text(encoding="utf-8")

    assert render(listings(), {"MEMORY.md": text}) == {"MEMORY.md": text}
    assert check({"MEMORY.md": text}) == []
    assert text.startswith("# ")


def test_the_template_has_every_type_and_both_languages() -> None:
    notes = template_notes()

    assert {meta["type"] for meta in notes.values()} == TYPES
    japanese = [path for path, meta in notes.items() if JAPANESE.search(meta["title"])]
    assert 0.4 <= len(japanese) / len(notes) <= 0.6
    assert sum(bool(JAPANESE.search(path)) for path in notes) >= 5


def test_every_note_of_the_template_practises_what_its_readme_says() -> None:
    for path, meta in template_notes().items():
        assert meta.keys() >= {"title", "type", "tags", "description"}, path
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", meta.get("updated") or meta["created"]), path
        assert set(meta.get("verified", {})) in (set(), {"by", "at", "against", "lines", "digest"}), path
        assert 8 <= (TEMPLATE / path).read_text(encoding="utf-8").count("\n") <= 60, path


def test_the_template_holds_nothing_that_looks_like_a_secret() -> None:
    for file in TEMPLATE.rglob("*.md"):
        text = file.read_text(encoding="utf-8")
        assert not re.search(r"(?i)(password|token|secret|api[_-]?key)\s*[:=]\s*\S", text), file
        assert not re.search(r"[A-Za-z0-9+/]{32,}", text), file


def test_links_between_notes_of_the_template_lead_somewhere() -> None:
    for file in TEMPLATE.rglob("*.md"):
        for target in re.findall(r"\]\(([^)#]+\.md)\)", file.read_text(encoding="utf-8")):
            assert (file.parent / target).exists(), f"{file}: {target}"


@pytest.mark.parametrize(("file", "vault", "answerable", "unanswerable"), CASES)
def test_every_case_names_lines_that_exist(
    file: Path, vault: Path, answerable: int, unanswerable: int
) -> None:
    found = cases(file)

    assert sum(case["answerable"] for case in found) >= answerable
    assert sum(not case["answerable"] for case in found) >= unanswerable
    assert len({case["id"] for case in found}) == len(found)
    for case in found:
        assert bool(case["gold"]) == case["answerable"]
        for gold in [*case["gold"], *case.get("stale", [])]:
            lines = (vault / gold["path"]).read_bytes().decode("utf-8").split("\n")
            named = lines[gold["start_line"] - 1 : gold["end_line"]]
            assert len(named) == gold["end_line"] - gold["start_line"] + 1, case["id"]
            assert any(line.strip() for line in named), case["id"]


@pytest.mark.parametrize(("file", "vault", "answerable", "unanswerable"), CASES)
def test_the_cases_ask_in_both_languages_and_in_many_ways(
    file: Path, vault: Path, answerable: int, unanswerable: int
) -> None:
    found = cases(file)

    assert {case["lang"] for case in found} == {"en", "ja"}
    assert {"cross", "paraphrase", "identifier", "short-ja"} <= {case["category"] for case in found}


def test_the_garden_keeps_its_odd_bytes() -> None:
    pump = (GARDEN / "water" / "pump.md").read_bytes()

    assert pump.count(b"\n") == pump.count(b"\r\n") > 0
    assert (GARDEN / "water" / "水道の元栓.md").read_bytes().startswith(b"\xef\xbb\xbf---\n")
    assert (GARDEN / "notice-board.md").read_bytes().startswith(b"# ")
    assert (GARDEN / "seeds" / "order-1188.md").read_bytes().endswith(b"---\n")
    assert "* -text" in (HERE / "vaults" / ".gitattributes").read_text()
