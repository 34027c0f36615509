from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Ran, snapshot, write_notes

from memtool.git import Git
from memtool.memory.memory import Memory
from memtool.merging.drivers import install, remove
from memtool.merging.merging import merge_catalog, merge_note

HEAD = "---\ntitle: Staging\ntags: [a, b]\nupdated: 2026-01-01\n---\n"
BODY = "\n# Staging\n\nOne.\n\nTwo.\n\nThree.\n"


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the memtool that git calls be this one."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))


def git(folder: Path, *arguments: str, check: bool = True) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, check=check, capture_output=True, text=True)
    return done.stdout.rstrip("\n")


def merged(base: str, ours: str, theirs: str) -> tuple[str, bool]:
    result = merge_note(base.encode(), ours.encode(), theirs.encode())
    return result.data.decode(), result.clean


def two_sides(vault: Path, ours: dict[str, str], theirs: dict[str, str]) -> None:
    """Commit *theirs* on the branch `side` and *ours* on `main`."""
    git(vault, "switch", "-q", "-c", "side")
    write_notes(vault, dict(theirs))
    git(vault, "add", "-A")
    git(vault, "commit", "-qm", "theirs")
    git(vault, "switch", "-q", "main")
    write_notes(vault, dict(ours))
    git(vault, "add", "-A")
    git(vault, "commit", "-qm", "ours")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    vault = write_notes(tmp_path / "v", {"a.md": HEAD + BODY})
    git(vault, "init", "-q", "-b", "main")
    git(vault, "add", "-A")
    git(vault, "commit", "-qm", "one")
    return vault


# -- a note --------------------------------------------------------------------------------


def test_tags_of_both_sides_come_together_and_the_newest_date_holds() -> None:
    ours = HEAD.replace("[a, b]", "[a, b, 鍵]").replace("01-01", "02-01") + BODY.replace("One", "Eins")
    theirs = HEAD.replace("[a, b]", "[b, x]").replace("01-01", "03-01") + BODY.replace("Three", "Drei")

    text, clean = merged(HEAD + BODY, ours, theirs)

    assert clean
    assert text == (
        "---\ntitle: Staging\ntags: [b, 鍵, x]\nupdated: 2026-03-01\n---\n"
        "\n# Staging\n\nEins.\n\nTwo.\n\nDrei.\n"
    )


def test_keys_side_by_side_are_no_conflict() -> None:
    ours = HEAD.replace("title: Staging", "title: The staging host") + BODY
    theirs = (
        HEAD.replace("[a, b]", "[a]").replace("---\n\n", "---\n").replace("01-01\n", "01-01\nstatus: done\n")
        + BODY
    )

    assert merged(HEAD + BODY, ours, theirs) == (
        "---\ntitle: The staging host\ntags: [a]\nupdated: 2026-01-01\nstatus: done\n---\n" + BODY,
        True,
    )


def test_what_both_sides_say_differently_is_an_ordinary_conflict() -> None:
    ours = HEAD.replace("title: Staging", "title: Ours").replace("[a, b]", "[a, b, c]") + BODY
    theirs = HEAD.replace("title: Staging", "title: Theirs").replace("[a, b]", "[a, b, d]") + BODY

    text, clean = merged(HEAD + BODY, ours, theirs)

    assert not clean
    assert text == (
        "---\n<<<<<<< ours\ntitle: Ours\n=======\ntitle: Theirs\n>>>>>>> theirs\n"
        "tags: [a, b, c, d]\nupdated: 2026-01-01\n---\n" + BODY
    )


def test_a_conflict_in_the_body_does_not_spoil_the_front_matter() -> None:
    ours = HEAD.replace("[a, b]", "[a, b, c]") + BODY.replace("Two", "Zwei")
    theirs = HEAD.replace("[a, b]", "[a, b, d]") + BODY.replace("Two", "Deux")

    text, clean = merged(HEAD + BODY, ours, theirs)

    assert (clean, text.count("<<<<<<<"), "tags: [a, b, c, d]\n" in text) == (False, 1, True)
    assert "<<<<<<< ours\nZwei.\n=======\nDeux.\n>>>>>>> theirs\n" in text


def test_a_key_that_one_side_takes_out_and_the_other_changes_is_a_conflict() -> None:
    ours = HEAD.replace("updated: 2026-01-01\n", "") + BODY
    theirs = HEAD.replace("01-01", "02-01") + BODY

    text, clean = merged(HEAD + BODY, ours, theirs)

    assert (clean, "updated: 2026-02-01" in text) == (False, True)


def test_dates_that_are_facts_are_not_decided_by_age() -> None:
    base = HEAD.replace("updated", "valid_to") + BODY

    assert not merged(base, base.replace("01-01", "02-01"), base.replace("01-01", "03-01"))[1]


def test_a_key_that_both_sides_add_stands_there_once() -> None:
    ours = HEAD.replace("title", "status: [done]\ntitle") + BODY
    theirs = HEAD.replace("01-01\n", "01-01\nstatus: [open]\n") + BODY

    text, clean = merged(HEAD + BODY, ours, theirs)

    assert (clean, text.count("status:"), "status: [done, open]\n" in text) == (True, 1, True)


def test_a_note_that_both_sides_write_is_merged_without_a_base() -> None:
    ours, theirs = HEAD.replace("[a, b]", "[a]") + BODY, HEAD.replace("[a, b]", "[b]") + BODY

    assert merged("", ours, theirs) == (HEAD + BODY, True)


def test_line_ends_and_byte_order_marks_stay() -> None:
    def crlf(text: str) -> bytes:
        return b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()

    result = merge_note(
        crlf(HEAD + BODY),
        crlf(HEAD.replace("[a, b]", "[a, b, c]") + BODY),
        crlf(HEAD.replace("[a, b]", "[a, b, d]") + BODY),
    )

    assert result == (crlf(HEAD.replace("[a, b]", "[a, b, c, d]") + BODY), True)


@pytest.mark.parametrize(
    ("old", "ours", "theirs"),
    [
        ("title: Staging", "title: {{ x", "title: Other"),
        ("title: Staging", "title: One\ntitle: Two", "title: Other"),
        ("tags", "# ours\ntags", "# theirs\ntags"),
        ("---\ntitle", "title", "---\ntitle: x\nother"),
    ],
    ids=["no YAML", "a key twice", "comments", "no front matter"],
)
def test_where_it_is_not_clear_what_is_meant_git_merges_as_always(old: str, ours: str, theirs: str) -> None:
    text, clean = merged(
        HEAD + BODY, (HEAD + BODY).replace(old, ours, 1), (HEAD + BODY).replace(old, theirs, 1)
    )

    assert (clean, "<<<<<<< ours" in text) == (False, True)


def test_bytes_that_are_no_text_stay_ours_and_unmerged() -> None:
    assert merge_note(b"\0a", b"\0b", b"\0c") == (b"\0b", False)


# -- the catalog ---------------------------------------------------------------------------


def page(*entries: str, before: str = "# Memory\n\n") -> str:
    lines = "\n".join(f"- [{entry}]({entry.lower()}.md) — about {entry}" for entry in entries)
    count = f"{len(entries)} notes, all listed here. `memtool search` finds every note."
    return (
        f"{before}<!-- memtool:begin: the lines down to memtool:end are generated -->\n"
        f"{count}\n\n{lines}\n<!-- memtool:end -->\n"
    )


def catalog(base: str, ours: str, theirs: str) -> tuple[str, bool]:
    result = merge_catalog(base.encode(), ours.encode(), theirs.encode())
    return result.data.decode(), result.clean


def test_the_catalog_keeps_what_both_sides_list_and_loses_what_either_took_out() -> None:
    base, ours, theirs = page("A", "C", "E", "G"), page("A", "B", "C", "G"), page("C", "D", "E", "F", "G")

    assert catalog(base, ours, theirs) == (page("B", "C", "D", "F", "G"), True)


def test_an_entry_that_both_sides_changed_is_listed_once() -> None:
    base = page("A", "B")

    text, clean = catalog(base, base.replace("about A", "ours"), base.replace("about A", "theirs"))

    assert (clean, text) == (True, base.replace("about A", "ours"))


def test_a_persons_own_lines_around_the_catalog_are_merged_as_text() -> None:
    base = page("A", "B")
    ours, theirs = page("A", "B", "C"), page("A", "B", before="# Our memory\n\n")

    assert catalog(base, ours, theirs) == (page("A", "B", "C", before="# Our memory\n\n"), True)
    text, clean = catalog(base, page("A", "B", before="# One\n\n"), theirs)
    assert (clean, text.count("<<<<<<<"), text.count("memtool:begin")) == (False, 1, 1)


# -- through git ---------------------------------------------------------------------------


def test_git_merges_notes_and_catalog_once_the_drivers_are_set_up(
    repo: Path, run: Callable[..., Ran], open_memory: Callable[..., Memory]
) -> None:
    assert run("init", str(repo), "--git-hooks").code == 0
    with open_memory(repo, embedder="none") as memory:
        memory.catalog()
        git(repo, "add", "-A")
        git(repo, "commit", "-qm", "catalog")
        git(repo, "switch", "-q", "-c", "side")
        memory.set("a.md", "tags", ["a", "b", "side"])
        memory.add("From the side.", title="Side")
        memory.catalog()
        git(repo, "add", "-A")
        git(repo, "commit", "-qm", "side")
        git(repo, "switch", "-q", "main")
        memory.set("a.md", "tags", ["a", "b", "main"])
        memory.add("From main.", title="Main")
        memory.catalog()
        git(repo, "add", "-A")
        git(repo, "commit", "-qm", "main")

        git(repo, "merge", "-q", "--no-edit", "side")

        assert git(repo, "status", "--porcelain") == ""
        assert "tags: [a, b, main, side]\n" in (repo / "a.md").read_text()
        assert memory.catalog(write=False).changed == ()


def test_the_drivers_are_found_in_a_rebase_and_below_a_subfolder(tmp_path: Path) -> None:
    name = 'my [notes] "x"'
    repo = write_notes(tmp_path / "r", {f"{name}/ops/a.md": HEAD + BODY, "out.md": HEAD + BODY})
    git(repo, "init", "-q", "-b", "main")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "one")
    install(Git(repo / name), sys.executable)
    changed = [HEAD.replace("[a, b]", f"[a, b, {tag}]") + BODY for tag in "cd"]
    two_sides(repo, {f"{name}/ops/a.md": changed[0]}, {f"{name}/ops/a.md": changed[1]})

    git(repo, "rebase", "-q", "side")

    assert "tags: [a, b, d, c]\n" in (repo / name / "ops/a.md").read_text()
    assert "memtool" in git(repo, "check-attr", "merge", f"{name}/MEMORY.md")
    assert "memtool" not in git(repo, "check-attr", "merge", "out.md")


def test_where_memtool_cannot_be_run_git_merges_as_always(repo: Path) -> None:
    install(Git(repo), "/no/such/python")
    two_sides(
        repo, {"a.md": HEAD + BODY.replace("One", "Eins")}, {"a.md": HEAD + BODY.replace("Three", "Drei")}
    )

    git(repo, "merge", "-q", "--no-edit", "side")

    assert (repo / "a.md").read_text() == HEAD + BODY.replace("One", "Eins").replace("Three", "Drei")


def test_a_module_in_the_vault_is_never_run(repo: Path) -> None:
    install(Git(repo), sys.executable)
    write_notes(repo, {"memtool/__main__.py": "open('ran', 'w')\n", "argparse.py": "open('ran', 'w')\n"})
    two_sides(repo, {"a.md": HEAD + BODY.replace("One", "A")}, {"a.md": HEAD + BODY.replace("Three", "C")})

    git(repo, "merge", "-q", "--no-edit", "side")

    assert not (repo / "ran").exists()


def test_the_undo_leaves_the_repository_as_it_was(repo: Path, run: Callable[..., Ran]) -> None:
    attributes, config = repo / ".git" / "info" / "attributes", repo / ".git" / "config"
    attributes.parent.mkdir(exist_ok=True)
    attributes.write_text("*.png binary")
    before = config.read_text(), snapshot(repo)

    first = run("init", str(repo), "--git-hooks")
    again = run("init", str(repo), "--git-hooks")
    assert (first.code, again.code, "as before" in again.out) == (0, 0, True)
    assert attributes.read_text().count("# memtool: begin") == 1
    gone = run("init", str(repo), "--no-git-hooks")

    assert (gone.code, attributes.read_text().rstrip("\n")) == (0, "*.png binary")
    assert (config.read_text(), snapshot(repo)) == before
    assert run("init", str(repo), "--no-git-hooks").out.endswith("as before\n")


def test_the_undo_of_one_vault_leaves_the_other(tmp_path: Path) -> None:
    repo = write_notes(tmp_path / "r", {"one/a.md": "# A\n", "two/a.md": "# A\n"})
    git(repo, "init", "-q")
    for name in ("one", "two"):
        install(Git(repo / name), sys.executable)

    remove(Git(repo / "one"))

    assert "unspecified" in git(repo, "check-attr", "merge", "one/a.md")
    assert "memtool-note" in git(repo, "check-attr", "merge", "two/a.md")
    assert git(repo, "config", "merge.memtool-note.driver")


def test_without_a_repository_it_says_how_to_get_one(tmp_path: Path, run: Callable[..., Ran]) -> None:
    done = run("init", str(write_notes(tmp_path / "v", {"a.md": "# A\n"})), "--git-hooks")

    assert (done.code, "git init" in done.err) == (2, True)


def test_a_new_vault_can_have_the_drivers_from_the_start(tmp_path: Path, run: Callable[..., Ran]) -> None:
    done = run("init", str(tmp_path / "v"), "--git-hooks")

    assert (done.code, ": merge drivers" in done.out) == (0, False)
    assert "memtool-note" in git(tmp_path / "v", "check-attr", "merge", "ops/staging.md")
    assert "memtool-catalog" in git(tmp_path / "v", "check-attr", "merge", "MEMORY/ops.md")


def test_the_driver_called_by_hand_says_what_it_needs(tmp_path: Path, run: Callable[..., Ran]) -> None:
    done = run("merge-driver", "note", str(tmp_path / "a"), str(tmp_path / "b"), str(tmp_path / "c"))

    assert (done.code, "let git call this command" in done.err) == (2, True)
