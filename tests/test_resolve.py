from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import repositories
from conftest import Ran, write_notes
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from memtool import pin
from memtool.errors import NoteError, PathError, UsageError
from memtool.note.anchor import Anchor
from memtool.resolve.resolve import Resolution, cite, resolve
from memtool.vault import Vault

KEYS = """# Staging

Machines live in rack four.

Rotate the staging key weekly,
then restart both workers.

Ask Mio about the rest.
"""


class Repository(repositories.Repository):
    """A vault whose notes are named by keyword, and whose commits by a day of one month."""

    def write(self, notes: dict[str, str | bytes] | None = None, **named: str) -> None:
        super().write({**(notes or {}), **{f"{name}.md": text for name, text in named.items()}})

    def commit(self, day: int, who: str = "Mio", message: str = "Change", **notes: str) -> str:  # type: ignore[override]
        self.write(**notes)
        return super().commit(f"2026-01-{day:02}", who=who, message=message)

    def git(self, *arguments: str, day: int | str = 1, who: str = "Mio") -> str:
        date = f"2026-01-{day:02}" if isinstance(day, int) else day
        return super().git(*arguments, day=date, who=who)

    def cite(self, anchor: str) -> Anchor:
        return cite(Vault.open(self.folder), Anchor.parse(anchor))

    def resolve(self, pinned: Anchor) -> Resolution:
        return resolve(Vault.open(self.folder), pinned)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "vault")
    made.commit(1, keys=KEYS)
    return made


def where(found: Resolution) -> str:
    return str(found.anchor).partition("@")[0]


def test_a_citation_names_the_lines_and_what_they_say(repository: Repository) -> None:
    cited = repository.cite("keys.md:5-6")

    expected = pin.digest(["Rotate the staging key weekly,", "then restart both workers."])[:12]
    assert str(cited) == f"keys.md:5-6@{expected}"
    assert Anchor.parse(str(cited)) == cited


def test_a_citation_of_a_whole_note_is_pinned_without_lines(repository: Repository) -> None:
    cited = repository.cite("keys.md")

    assert str(cited) == f"keys.md@{pin.digest(KEYS.splitlines())[:12]}"
    assert Anchor.parse(str(cited)) == cited
    assert repository.resolve(cited).status == "exact"


def test_lines_that_are_not_there_cannot_be_cited(repository: Repository) -> None:
    with pytest.raises(UsageError, match="has no line 50"):
        repository.cite("keys.md:50-51")
    with pytest.raises(PathError):
        repository.cite("../keys.md:1-2")
    with pytest.raises(NoteError, match="does not say what it said"):
        repository.cite("keys.md:5-6@000000000000")


def test_what_is_not_pinned_cannot_be_resolved(repository: Repository) -> None:
    with pytest.raises(UsageError, match="memtool cite"):
        repository.resolve(Anchor("keys.md", 5, 6))
    with pytest.raises(PathError):
        repository.resolve(Anchor("../keys.md", 5, 6, "00000000"))


def test_line_ends_do_not_break_a_pin(repository: Repository) -> None:
    cited = repository.cite("keys.md:5-6")
    (repository.folder / "keys.md").write_bytes(KEYS.replace("\n", "\r\n").encode())

    found = repository.resolve(cited)

    assert (found.status, found.uncommitted) == ("exact", False)


def test_lines_that_stand_where_they_were_are_exact(repository: Repository) -> None:
    found = repository.resolve(repository.cite("keys.md:5-6"))

    assert (found.status, where(found), found.uncommitted) == ("exact", "keys.md:5-6", False)


def test_lines_below_an_insertion_have_moved(repository: Repository) -> None:
    cited = repository.cite("keys.md:5-6")
    repository.commit(2, keys="New first line.\n" + KEYS)

    found = repository.resolve(cited)

    assert (found.status, where(found), found.anchor and found.anchor.digest) == (
        "moved",
        "keys.md:6-7",
        cited.digest,
    )


def test_of_several_places_the_nearest_wins_and_the_others_are_named(repository: Repository) -> None:
    cited = repository.cite("keys.md:5-6")
    repository.commit(2, keys="\n\n" + KEYS + "\n" * 20 + KEYS)

    found = repository.resolve(cited)

    assert (found.status, where(found)) == ("moved", "keys.md:7-8")
    assert [place.start for place in found.others] == [35]


def test_a_renamed_note_takes_its_lines_along(repository: Repository) -> None:
    cited = repository.cite("keys.md:5-6")
    (repository.folder / "手順").mkdir()
    repository.git("mv", "keys.md", "手順/合鍵.md")
    repository.commit(2)
    repository.git("mv", "手順/合鍵.md", "final.md")
    repository.commit(3)

    assert where(repository.resolve(cited)) == "final.md:5-6"
    assert repository.resolve(cited).status == "moved"


def test_a_rename_that_is_not_committed_is_seen(repository: Repository) -> None:
    cited = repository.cite("keys.md:1-1")
    (repository.folder / "keys.md").rename(repository.folder / "other.md")

    found = repository.resolve(cited)

    assert (found.status, where(found), found.uncommitted) == ("moved", "other.md:1-1", True)


def test_an_edit_is_told_with_its_revision_its_author_and_what_is_left(repository: Repository) -> None:
    cited = repository.cite("keys.md:5-6")
    repository.commit(2, keys="Above.\n" + KEYS)
    edit = repository.commit(3, "Ren", keys="Above.\n" + KEYS.replace("weekly", "daily"))
    repository.commit(4, keys="Above.\n\n" + KEYS.replace("weekly", "daily"))

    found = repository.resolve(cited)

    assert found.by is not None
    assert (found.status, found.by.revision, found.by.author) == ("edited", edit, "Ren")
    assert (where(found), found.uncommitted) == ("keys.md:7-8", False)
    assert str(found) == f"edited in {edit[:7]} by Ren, 2026-01-03 10:00 UTC"


def test_an_edit_by_an_agent_names_the_agent(repository: Repository) -> None:
    cited = repository.cite("keys.md:5-5")
    repository.commit(
        2, message="Shorter\n\nMemtool-Writer: agent/gardener", keys=KEYS.replace("weekly", "daily")
    )

    assert "by agent/gardener" in str(repository.resolve(cited))


def test_an_edit_after_a_rename_is_found(repository: Repository) -> None:
    cited = repository.cite("keys.md:5-5")
    repository.git("mv", "keys.md", "later.md")
    repository.commit(2)
    edit = repository.commit(3, later=KEYS.replace("weekly", "daily"))

    found = repository.resolve(cited)

    assert found.by is not None
    assert (found.status, where(found), found.by.revision) == ("edited", "later.md:5-5", edit)


def test_lines_taken_out_are_gone(repository: Repository) -> None:
    cited = repository.cite("keys.md:5-6")
    repository.commit(2, keys=KEYS.replace("weekly", "daily"))
    took = repository.commit(
        3, "Ren", keys="# Staging\n\nMachines live in rack four.\n\nAsk Mio about the rest.\n"
    )

    found = repository.resolve(cited)

    assert found.by is not None
    assert (found.status, found.anchor, found.by.revision) == ("gone", None, took)


def test_a_deleted_note_is_gone(repository: Repository) -> None:
    cited = repository.cite("keys.md")
    repository.git("rm", "-q", "keys.md")
    took = repository.commit(2, "Ren")

    found = repository.resolve(cited)

    assert found.by is not None
    assert (found.status, found.by.revision, found.uncommitted) == ("gone", took, False)


def test_edits_that_are_not_committed_are_told(repository: Repository) -> None:
    line, note = repository.cite("keys.md:5-5"), repository.cite("keys.md:3-3")
    repository.write(keys="Above.\n" + KEYS.replace("weekly", "daily"))

    edited, moved = repository.resolve(line), repository.resolve(note)

    assert (edited.status, edited.by, edited.uncommitted, where(edited)) == (
        "edited",
        None,
        True,
        "keys.md:6-6",
    )
    assert (moved.status, moved.uncommitted) == ("moved", True)


def test_a_note_taken_away_without_a_commit_is_gone(repository: Repository) -> None:
    cited = repository.cite("keys.md:5-6")
    (repository.folder / "keys.md").unlink()

    found = repository.resolve(cited)

    assert (found.status, found.by, found.uncommitted) == ("gone", None, True)


def test_lines_cut_and_pasted_into_another_note_have_moved(repository: Repository) -> None:
    cited = repository.cite("keys.md:5-6")
    repository.commit(2, keys="# Staging\n", other="# Other\n\n" + "\n".join(KEYS.split("\n")[4:6]) + "\n")

    found = repository.resolve(cited)

    assert (found.status, where(found)) == ("moved", "other.md:3-4")


def test_a_copy_that_stood_there_all_the_time_is_not_where_lines_went(repository: Repository) -> None:
    repository.commit(2, copy=KEYS)
    cited = repository.cite("keys.md:5-6")
    repository.git("rm", "-q", "keys.md")
    repository.commit(3)

    assert repository.resolve(cited).status == "gone"


def test_another_note_under_the_old_name_is_not_mistaken_for_the_old_one(repository: Repository) -> None:
    cited = repository.cite("keys.md:5-6")
    repository.git("mv", "keys.md", "old-keys.md")
    repository.commit(2)
    repository.commit(3, keys="# Piano\n\nThe keys are made of ivory.\n")
    edit = repository.commit(4, **{"old-keys": KEYS.replace("weekly", "daily")})

    found = repository.resolve(cited)

    assert found.by is not None
    assert (found.status, where(found), found.by.revision) == ("edited", "old-keys.md:5-6", edit)


def test_an_edit_on_a_merged_branch_is_told_of_its_author_not_of_the_merge(repository: Repository) -> None:
    cited = repository.cite("keys.md:5-5")
    repository.git("switch", "-q", "-c", "side")
    edit = repository.commit(2, "Ren", keys=KEYS.replace("weekly", "daily"))
    repository.git("switch", "-q", "main")
    repository.commit(3, keys=KEYS.replace("about the rest", "about all the rest"))
    repository.git("merge", "-q", "side", "-m", "Merge", day=4)

    found = repository.resolve(cited)

    assert found.by is not None
    assert (found.status, found.by.revision, found.by.author) == ("edited", edit, "Ren")


def test_a_vault_in_a_subfolder_keeps_its_own_paths(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "work" / "メモ", top=tmp_path / "work")
    repository.commit(1, 合鍵="# 合鍵\n\n合鍵は毎週交換する。\n" + KEYS)
    cited = repository.cite("合鍵.md:3-3")
    repository.git("mv", "合鍵.md", "鍵.md")
    edit = repository.commit(2, 鍵="# 合鍵\n\n前の行。\n合鍵は毎月交換する。\n" + KEYS)

    found = repository.resolve(cited)

    assert found.by is not None
    assert (found.status, where(found), found.by.revision) == ("edited", "鍵.md:4-4", edit)


@pytest.mark.parametrize(
    "name",
    ["日本語 メモ", "café", 'say "hi"', "tab\there", "--all", "-rf", "*", ":(top)x", "a:b", "line\nfeed"],
)
def test_odd_names_are_followed_like_any_other(tmp_path: Path, name: str) -> None:
    repository = Repository(tmp_path / "vault")
    repository.commit(1, **{name: KEYS, "unrelated": "# Unrelated\n"})
    cited = Anchor.parse(str(repository.cite(f"{name}.md:5-5")))
    edit = repository.commit(2, **{name: KEYS.replace("weekly", "daily")})

    found = repository.resolve(cited)

    assert found.by is not None
    assert (found.status, found.anchor and found.anchor.path, found.by.revision) == (
        "edited",
        f"{name}.md",
        edit,
    )


def test_without_git_lines_are_found_and_what_cannot_be_known_is_said(tmp_path: Path) -> None:
    vault = Vault.open(write_notes(tmp_path, {"keys.md": KEYS}))
    cited = cite(vault, Anchor.parse("keys.md:5-6"))
    exact = resolve(vault, cited)
    write_notes(tmp_path, {"keys.md": "Above.\n" + KEYS})
    moved = resolve(vault, cited)
    (tmp_path / "keys.md").rename(tmp_path / "other.md")
    elsewhere = resolve(vault, cited)
    write_notes(tmp_path, {"keys.md": "# Empty\n", "other.md": "# Empty\n"})
    edited = resolve(vault, cited)
    (tmp_path / "keys.md").unlink()
    gone = resolve(vault, cited)

    assert [found.status for found in (exact, moved, elsewhere, edited, gone)] == [
        "exact",
        "moved",
        "moved",
        "edited",
        "gone",
    ]
    assert where(elsewhere) == "other.md:6-7"
    assert all("no history" in found.remark for found in (exact, edited, gone))


def test_lines_that_were_never_committed_are_said_to_be_so(repository: Repository) -> None:
    repository.write(keys=KEYS.replace("weekly", "on Mondays"))
    cited = repository.cite("keys.md:5-5")
    repository.write(keys=KEYS)

    found = repository.resolve(cited)

    assert found.status == "edited"
    assert "never committed" in found.remark


def test_lines_of_another_branch_are_told_with_where_they_stand(repository: Repository) -> None:
    repository.git("switch", "-q", "-c", "side")
    revision = repository.commit(2, "Ren", keys=KEYS.replace("weekly", "on Mondays"))
    cited = repository.cite("keys.md:5-5")
    repository.git("switch", "-q", "main")

    found = repository.resolve(cited)

    assert (found.status, where(found), found.by, found.uncommitted) == ("edited", "keys.md:5-5", None, False)
    assert f"{revision[:7]} by Ren" in found.remark


def test_a_note_that_git_ignores_is_followed_as_if_there_were_no_git(repository: Repository) -> None:
    (repository.folder / ".gitignore").write_text("own.md\n")
    repository.commit(2, own="# Own\n\nA line that stands in no other note.\n")
    cited = repository.cite("own.md:3-3")
    repository.write(own="Above.\n\n\nA line that stands in no other note.\n")
    moved = repository.resolve(cited)
    repository.write(own="# Empty\n")
    edited = repository.resolve(cited)

    assert (moved.status, edited.status, edited.sure) == ("moved", "edited", False)


def test_a_vault_before_its_first_commit_is_followed_as_if_there_were_no_git(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "vault")
    repository.write(keys=KEYS)
    cited = repository.cite("keys.md:5-6")
    repository.write(keys="Above.\n" + KEYS)

    assert repository.resolve(cited).status == "moved"


def test_while_a_merge_is_under_way_lines_are_found_in_the_half_merged_note(repository: Repository) -> None:
    cited = repository.cite("keys.md:8-8")
    repository.git("switch", "-q", "-c", "side")
    repository.commit(2, keys=KEYS.replace("weekly", "daily"))
    repository.git("switch", "-q", "main")
    repository.commit(3, keys=KEYS.replace("weekly", "monthly"))
    with pytest.raises(subprocess.CalledProcessError):
        repository.git("merge", "side")

    found = repository.resolve(cited)

    assert (found.status, found.uncommitted) == ("moved", True)


def test_the_exit_code_tells_whether_the_lines_stand(repository: Repository, run: Callable[..., Ran]) -> None:
    vault = ("--vault", str(repository.folder))
    cited = run("cite", "keys.md:5-6", *vault).out.strip()
    exact = run("resolve", cited, *vault)
    repository.write(keys=KEYS.replace("weekly", "daily"))
    edited = run("resolve", cited, "--json", *vault)

    assert (exact.code, exact.out) == (0, f"{cited}  exact\n")
    assert (edited.code, json.loads(edited.out)["status"]) == (1, "edited")
    assert json.loads(edited.out)["uncommitted"] is True


EDIT = st.tuples(
    st.sampled_from(["insert", "delete", "replace", "rename", "remove", "copy", "commit", "crlf"]),
    st.integers(0, 12),
    st.sampled_from(["", "one", "two two", "三つ目", "then restart both workers."]),
)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(edits=[("crlf", 0, ""), ("delete", 8, "")], span=(5, 3))  # the last line ends with a lone CR
@given(
    edits=st.lists(EDIT, max_size=6),
    span=st.tuples(st.integers(1, 8), st.integers(0, 3)),
)
def test_a_pin_resolves_after_any_edits_and_where_it_moved_the_lines_are_the_pinned_ones(
    tmp_path_factory: pytest.TempPathFactory, edits: list[tuple[str, int, str]], span: tuple[int, int]
) -> None:
    repository = Repository(tmp_path_factory.mktemp("any") / "vault")
    repository.commit(1, keys=KEYS)
    cited = repository.cite(f"keys.md:{span[0]}-{span[0] + span[1]}")
    text = pin.cut(KEYS.split("\n")[:-1], cited)
    name = "keys.md"
    for day, (kind, place, words) in enumerate(edits, 2):
        name = edited(repository, name, kind, place, words, day)

    found = repository.resolve(cited)

    assert found.status in ("exact", "moved", "edited", "gone")
    if found.stands:
        assert found.anchor is not None
        there = (repository.folder / found.anchor.path).read_bytes().decode()
        lines = [line.removesuffix("\r") for line in there.split("\n")]
        assert pin.cut(lines, found.anchor) == text
        assert (found.status == "exact") == (found.anchor == cited)
    else:
        assert (found.anchor is None) == (found.status == "gone")
        assert found.by or found.uncommitted


def edited(repository: Repository, name: str, kind: str, place: int, words: str, day: int) -> str:
    """Do to the vault what people do."""
    file = repository.folder / name
    lines = file.read_bytes().decode().split("\n") if file.exists() else []
    place = min(place, max(len(lines) - 1, 0))
    if kind == "commit":
        repository.commit(day)
    elif kind == "remove":
        file.unlink(missing_ok=True)
    elif kind == "rename" and file.exists():
        name = f"name-{day}.md"
        file.rename(repository.folder / name)
    elif kind == "copy" and file.exists():
        (repository.folder / f"copy-{day}.md").write_bytes(file.read_bytes())
    elif kind == "crlf" and file.exists():
        file.write_bytes(file.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    elif kind in ("insert", "delete", "replace"):
        new = {"insert": [words, *lines[place : place + 1]], "delete": [], "replace": [words]}[kind]
        file.write_bytes("\n".join([*lines[:place], *new, *lines[place + 1 :]]).encode())
    return name


def test_a_rename_on_one_branch_and_an_edit_on_another_come_together(repository: Repository) -> None:
    edited_line, moved_line = repository.cite("keys.md:5-5"), repository.cite("keys.md:8-8")
    repository.git("switch", "-q", "-c", "side")
    repository.git("mv", "keys.md", "later.md")
    repository.commit(2)
    repository.git("switch", "-q", "main")
    edit = repository.commit(3, "Ren", keys=KEYS.replace("weekly", "daily"))
    repository.git("merge", "-q", "side", "-m", "Merge", day=4)

    found, moved = repository.resolve(edited_line), repository.resolve(moved_line)

    assert found.by is not None
    assert (found.status, where(found), found.by.revision) == ("edited", "later.md:5-5", edit)
    assert (moved.status, where(moved)) == ("moved", "later.md:8-8")


def test_lines_saved_in_another_encoding_say_the_same(repository: Repository) -> None:
    text = "# 合鍵\n\n合鍵は毎週交換する。予備はアンプの裏にある。\n"
    (repository.folder / "kagi.md").write_bytes(text.encode("cp932"))
    repository.commit(2)
    cited = repository.cite("kagi.md:3-3")
    (repository.folder / "kagi.md").write_bytes(text.encode("utf-8-sig"))

    assert repository.resolve(cited).status == "exact"


def test_a_note_restored_after_it_was_deleted_is_exact_again(repository: Repository) -> None:
    cited = repository.cite("keys.md:5-6")
    repository.git("rm", "-q", "keys.md")
    repository.commit(2)
    repository.commit(3, keys=KEYS)

    assert repository.resolve(cited).status == "exact"


def test_lines_taken_out_a_second_time_are_told_by_the_last_who_did(repository: Repository) -> None:
    cited = repository.cite("keys.md:5-6")
    without = KEYS.replace("Rotate the staging key weekly,\nthen restart both workers.\n\n", "")
    repository.commit(2, keys=without)
    repository.commit(3, keys=KEYS)
    took = repository.commit(4, "Ren", keys=without)
    repository.commit(5, keys=without + "\nMore.\n")

    found = repository.resolve(cited)

    assert found.by is not None
    assert (found.status, found.by.revision) == ("gone", took)


def test_a_note_taken_apart_names_each_of_its_parts(repository: Repository) -> None:
    first, last = repository.cite("keys.md:3-3"), repository.cite("keys.md:5-6")
    lines = KEYS.split("\n")
    (repository.folder / "keys.md").unlink()
    repository.commit(
        2, machines="\n".join(lines[:3]) + "\n", rotation="\n".join(["# Rotation", "", *lines[4:]])
    )

    assert where(repository.resolve(first)) == "machines.md:3-3"
    assert where(repository.resolve(last)) == "rotation.md:3-4"
