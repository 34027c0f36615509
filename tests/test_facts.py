from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Ran, write_notes
from hypothesis import given, settings
from hypothesis import strategies as st
from test_resolve import Repository

from memtool.errors import PathError, UsageError
from memtool.facts.facts import Fact, facts
from memtool.facts.fields import fields
from memtool.note import note
from memtool.vault import Vault


def text(status: str = "draft", *, more: str = "", body: str = "") -> str:
    head = f"---\ntitle: Quay plan\nstatus: {status}\n{more}---\n"
    return f"{head}\n# Quay\n\nThe quay is long and made of stone.\n{body}"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "vault")


def told(
    repository: Repository, key: str, *, path: str = "quay.md", as_of: str = ""
) -> list[tuple[object, ...]]:
    """Give value, day it began and day it ended of each fact; None for what is not committed or not over."""
    found = facts(Vault.open(repository.folder), path, key=key, as_of=as_of).facts
    return [
        (
            "GAP" if fact.gap else fact.value,
            fact.since and fact.since.when.day,
            "disk" if fact.ended else fact.until and fact.until.when.day,
        )
        for fact in found
    ]


def values(body: str) -> dict[str, object]:
    return {key: field.value for key, field in fields(note.parse(body.encode())).items()}


# -- fields ----------------------------------------------------------------------------------


def test_fields_are_read_from_front_matter_lines_and_brackets() -> None:
    body = (
        "---\ntitle: T\ntags: [a, b]\n---\nowner:: Mio\n- due:: 2026-04-01\n> **level**:: 3\n\n"
        "At [depth:: [[two]] m], (担当:: 蓮).\n"
    )

    assert values(body) == {
        "title": "T",
        "tags": ["a", "b"],
        "owner": "Mio",
        "due": "2026-04-01",
        "level": "3",
        "depth": "[[two]] m",
        "担当": "蓮",
    }


def test_code_holds_no_fields() -> None:
    body = (
        "```\na:: 1\n```\n\n- list\n\n  ~~~\n  b:: 2\n  ~~~\n\n    c:: 3\n\n"
        "In `[d:: 4]` code.\n\n    e:: 5\n\nstd::vector is no field\n"
    )

    assert set(values(body)) <= {"c"}  # four columns below a list item are text of it


def test_a_key_that_occurs_more_than_once_has_a_list() -> None:
    assert values("who:: Mio\n\nwho:: Ren\n") == {"who": ["Mio", "Ren"]}


def test_a_field_knows_its_lines() -> None:
    found = fields(note.parse(b"---\ntags:\n  - a\n  - b\n---\n\nowner:: Mio\n"))

    assert {key: (field.line, field.end) for key, field in found.items()} == {"tags": (2, 4), "owner": (7, 7)}


# -- facts -----------------------------------------------------------------------------------


def test_a_value_that_changed_and_changed_back_has_three_intervals(repository: Repository) -> None:
    repository.commit(1, quay=text("draft"))
    repository.commit(3, "Ren", quay=text("final"))
    repository.commit(5, quay=text("final", body="More.\n"))
    repository.commit(7, quay=text("draft"))

    assert told(repository, "status") == [("draft", 1, 3), ("final", 3, 7), ("draft", 7, None)]
    assert told(repository, "title") == [("Quay plan", 1, None)]


def test_a_fact_says_who_set_it(repository: Repository) -> None:
    repository.commit(1, "Ren", quay=text("draft"))
    last = repository.commit(2, message="Finish\n\nMemtool-Writer: agent/planner", quay=text("final"))

    first, second = facts(Vault.open(repository.folder), "quay.md", key="status").facts

    assert first.since is not None and second.since is not None
    assert (first.since.author, second.since.writer, second.since.revision) == ("Ren", "agent/planner", last)
    assert (second.path, second.line) == ("quay.md", 3)


def test_a_key_that_is_taken_out_ends(repository: Repository) -> None:
    repository.commit(1, quay=text(more="owner: Mio\n"))
    repository.commit(2, quay=text())
    repository.commit(3, quay=text(more="owner: Mio\n"))

    assert told(repository, "owner") == [("Mio", 1, 2), ("Mio", 3, None)]


def test_fields_in_the_text_have_intervals_too(repository: Repository) -> None:
    repository.commit(1, quay=text(body="\n水深:: 三メートル\n"))
    repository.commit(2, quay=text(body="\n水深:: 四メートル\n"))

    assert told(repository, "水深") == [("三メートル", 1, 2), ("四メートル", 2, None)]


def test_lists_compare_as_lists(repository: Repository) -> None:
    repository.commit(1, quay=text(more="tags: [a, b]\n"))
    repository.commit(2, quay=text(more="tags:\n  - a\n  - b\n"))
    repository.commit(3, quay=text(more="tags: [a, b, c]\n"))

    assert told(repository, "tags") == [(["a", "b"], 1, 3), (["a", "b", "c"], 3, None)]


def test_renames_are_followed(repository: Repository) -> None:
    repository.commit(1, quay=text("draft"))
    repository.git("mv", "quay.md", "港.md")
    repository.commit(2)
    repository.commit(3, 港=text("final"))

    expected = [("draft", 1, 3), ("final", 3, None)]
    assert told(repository, "status", path="港.md") == expected
    assert told(repository, "status", path="quay.md") == expected


def test_a_rename_that_is_not_committed_keeps_the_history(repository: Repository) -> None:
    repository.commit(1, quay=text("draft"))
    (repository.folder / "quay.md").rename(repository.folder / "pier.md")

    assert told(repository, "status", path="pier.md") == [("draft", 1, None)]


def test_front_matter_that_cannot_be_read_is_a_gap(repository: Repository) -> None:
    repository.commit(1, quay=text("draft", body="\nowner:: Mio\n"))
    repository.commit(2, quay=text("[draft", body="\nowner:: Mio\n"))
    repository.commit(3, quay=text("draft", body="\nowner:: Mio\n"))

    assert told(repository, "status") == [("draft", 1, 2), ("GAP", 2, 3), ("draft", 3, None)]
    assert told(repository, "owner") == [("Mio", 1, None)]


def test_values_that_are_not_committed_are_told_as_such(repository: Repository) -> None:
    repository.commit(1, quay=text("draft", more="owner: Mio\n"))
    repository.write(quay=text("final"))

    assert told(repository, "status") == [("draft", 1, "disk"), ("final", None, None)]
    assert told(repository, "owner") == [("Mio", 1, "disk")]


def test_a_deleted_note_has_facts_that_ended(repository: Repository) -> None:
    repository.commit(1, quay=text("draft"))
    repository.git("rm", "-q", "quay.md")
    repository.commit(2)

    assert told(repository, "status") == [("draft", 1, 2)]


@pytest.mark.parametrize(
    ("when", "value"), [("2026-01-02", "draft"), ("2026-01-04", "final"), ("v1", "draft")]
)
def test_as_of_tells_what_stood_then(repository: Repository, when: str, value: str) -> None:
    repository.commit(1, quay=text("draft"))
    repository.git("tag", "v1")
    repository.commit(3, quay=text("final"))
    repository.commit(5, quay=text("draft"))

    found = facts(Vault.open(repository.folder), "quay.md", key="status", as_of=when).facts

    assert [fact.value for fact in found] == [value]


def test_as_of_before_there_was_anything_is_refused(repository: Repository) -> None:
    repository.commit(2, quay=text())

    with pytest.raises(UsageError, match="no commit until"):
        told(repository, "status", as_of="2025-01-01")


def test_as_of_another_branch_is_read_from_that_branch(repository: Repository) -> None:
    repository.commit(1, quay=text("draft"))
    repository.git("switch", "-q", "-c", "side")
    repository.commit(2, quay=text("final"))
    repository.git("switch", "-q", "main")

    assert told(repository, "status", as_of="side") == [("final", 2, None)]
    assert told(repository, "status") == [("draft", 1, None)]


def test_a_merge_keeps_the_author_of_the_side_it_took(repository: Repository) -> None:
    repository.commit(1, quay=text("draft", body="\n" * 9))
    repository.git("switch", "-q", "-c", "side")
    repository.commit(2, "Ren", quay=text("final", body="\n" * 9))
    repository.git("switch", "-q", "main")
    repository.commit(3, quay=text("draft", body="\n" * 9 + "Below.\n"))
    repository.git("merge", "-q", "side", "-m", "Merge", day=4)

    assert told(repository, "status") == [("draft", 1, 2), ("final", 2, None)]


def test_a_rename_on_the_main_branch_and_an_edit_aside_come_together(repository: Repository) -> None:
    repository.commit(1, quay=text("draft", body="\n" * 9))
    repository.git("switch", "-q", "-c", "side")
    repository.commit(2, "Ren", quay=text("final", body="\n" * 9))
    repository.git("switch", "-q", "main")
    repository.git("mv", "quay.md", "pier.md")
    repository.commit(3, pier=text("draft", body="\n" * 9 + "Below.\n"))
    repository.git("merge", "-q", "side", "-m", "Merge", day=4)

    assert told(repository, "status", path="pier.md") == [("draft", 1, 2), ("final", 2, None)]


def test_a_vault_in_a_subfolder_has_facts(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "work" / "vault", top=tmp_path / "work")
    repository.commit(1, quay=text("draft"))

    assert told(repository, "status") == [("draft", 1, None)]


def test_without_history_values_are_told_and_their_time_is_not_known(tmp_path: Path) -> None:
    vault = Vault.open(write_notes(tmp_path, {"quay.md": text()}))

    found = facts(vault, "quay.md", key="status")

    assert found.facts == (Fact("status", "draft", "quay.md", 3, None, None),)
    assert "no history" in found.remark


def test_a_note_that_never_was_is_refused(repository: Repository) -> None:
    repository.commit(1, quay=text())

    with pytest.raises(PathError):
        told(repository, "status", path="pier.md")


VALUES = st.lists(st.sampled_from(["draft", "final", "[x, y]", "", None, "broken"]), min_size=1, max_size=6)


@settings(max_examples=10, deadline=None)
@given(values=VALUES)
def test_the_intervals_tell_every_revision_what_it_said(
    tmp_path_factory: pytest.TempPathFactory, values: list[str | None]
) -> None:
    repository = Repository(tmp_path_factory.mktemp("any") / "vault")
    for day, value in enumerate(values, 1):
        made = text("x") if value is None else text("[" if value == "broken" else value)
        repository.commit(day, quay=made.replace("status: x\n", ""))

    assert told(repository, "status") == expected(values)


def expected(values: list[str | None]) -> list[tuple[object, ...]]:
    """Join equal neighbours; of a gap is told where a value was known before or after it."""
    said = [{"[x, y]": ["x", "y"], "broken": "GAP"}.get(str(value), value) for value in values]
    runs: list[tuple[object, int, int | None]] = []
    for day, value in enumerate(said, 1):
        if runs and runs[-1][0] == value:
            continue
        runs[-1:] = [(*runs[-1][:2], day)] if runs else []
        runs.append((value, day, None))
    known = [value not in ("GAP", None) for value, _, _ in runs]
    return [run for at, run in enumerate(runs) if run[0] is not None and any(known[max(at - 1, 0) : at + 2])]


def test_the_command_prints_a_line_for_each_interval(repository: Repository, run: Callable[..., Ran]) -> None:
    first = repository.commit(1, quay=text("draft"))
    repository.write(quay=text("final"))
    ran = run("facts", "quay.md", "status", "--vault", str(repository.folder))
    none = run("facts", "quay.md", "colour", "--vault", str(repository.folder))
    document = json.loads(run("facts", "quay.md", "--json", "--vault", str(repository.folder)).out)

    assert ran.out.split("\n")[:2] == [
        f"quay.md:3  status: draft  2026-01-01 {first[:7]} Mio -> (not committed)",
        "quay.md:3  status: final  (not committed) -> now",
    ]
    assert (ran.code, none.code, none.out) == (0, 1, "")
    assert [fact["stands"] for fact in document["facts"]] == [True, False, True]
