"""A person looks at what agents wrote: keep, fix, verify, revert, skip; interrupted and gone on with."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Ran
from repositories import Repository

from memtool.cli import terminal
from memtool.errors import PolicyError
from memtool.identity import Signature
from memtool.memory.memory import Memory
from memtool.review import review_log, reviews
from memtool.vault import Vault

Run = Callable[..., Ran]


@pytest.fixture(autouse=True)
def no_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMTOOL_EMBEDDER", "none")


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """A vault in which agents wrote five changes, in both languages."""
    repository = Repository(tmp_path / "vault")
    monkeypatch.setenv("MEMTOOL_VAULT", str(repository.folder))
    repository.git("config", "user.name", "Mio")
    repository.git("config", "user.email", "mio@example.invalid")
    repository.commit("2026-01-01", {".memtool/.gitignore": "cache/\nstate/\n", "README.md": "# Garden\n"})
    repository.commit("2026-01-02", {"ops/keys.md": "# Keys\n\nSam has the keys.\n"}, agent="scribe")
    repository.commit(
        "2026-01-03", {"ops/keys.md": "# Keys\n\nSam has the keys.\nKim has spares.\n"}, agent="planner"
    )
    repository.commit(
        "2026-01-04", {"庭/水やり.md": "# 水やり\n\n水やりは朝六時。\n"}, agent="scribe", reason="頼まれた"
    )
    repository.commit("2026-01-05", {"庭/水やり.md": "# 水やり\n\n水やりは夕方。\n"}, agent="scribe")
    repository.commit("2026-01-06", {"how.md": "---\ntype: procedural\n---\nDig.\n"}, agent="scribe")
    return repository


def waiting(repository: Repository, **more: str) -> list[str]:
    with Memory.open(repository.folder) as memory:
        return [one.path for one in memory.to_review(**more).changes]


def test_changes_are_grouped_by_folder_and_note_oldest_first(written: Repository) -> None:
    with Memory.open(written.folder) as memory:
        changes = memory.to_review().changes

    assert [one.path for one in changes] == [
        "how.md",
        "ops/keys.md",
        "ops/keys.md",
        "庭/水やり.md",
        "庭/水やり.md",
    ]
    assert [one.writer for one in changes[1:3]] == ["agent/scribe", "agent/planner"]


def test_a_later_change_by_the_same_agent_is_not_called_uncommitted(written: Repository, run: Run) -> None:
    written.commit(
        "2026-01-07", {"庭/水やり.md": "# 水やり\n\n水やりは夕方。\nホースは青。\n"}, agent="scribe"
    )

    told = run("review", "--list").out

    assert "the note was changed since, by agent/scribe on 2026-01-07; its lines are all there" in told
    assert "not committed yet" not in told


def test_what_people_write_is_not_listed(written: Repository) -> None:
    written.commit("2026-01-07", {"own.md": "# Mine\n"})

    assert "own.md" not in waiting(written)


def test_one_look_at_all_makes_one_commit_that_changes_nothing(written: Repository, run: Run) -> None:
    before = written.git("rev-parse", "HEAD")

    ran = run("review", cwd=written.folder, stdin="k\nk\nk\nk\nkeep\n")

    assert ran.code == 0
    assert written.git("rev-parse", "HEAD^") == before
    assert written.git("rev-parse", "HEAD^{tree}") == written.git("rev-parse", "HEAD^^{tree}")
    assert f"Memtool-Reviewed: all {before}" in written.git("log", "-1", "--format=%B")
    assert waiting(written) == []


def test_the_mark_travels_with_a_clone(written: Repository, run: Run, tmp_path: Path) -> None:
    run("review", cwd=written.folder, stdin="k\nk\nk\nk\nk\n")
    written.git("clone", "-q", str(written.folder), str(tmp_path / "clone"))

    assert waiting(Repository(tmp_path / "clone")) == []


def test_what_is_written_after_a_look_waits_again(written: Repository, run: Run) -> None:
    run("review", cwd=written.folder, stdin="k\nk\nk\nk\nk\n")
    written.commit("2026-01-08", {"new.md": "# New\n"}, agent="scribe")

    assert waiting(written) == ["new.md"]


def test_the_end_of_the_input_quits_and_keeps_what_was_decided(written: Repository, run: Run) -> None:
    ran = run("review", cwd=written.folder, stdin="k\n")

    assert ran.code == 1
    assert "4 changes left to review" in ran.err
    assert waiting(written) == ["ops/keys.md", "ops/keys.md", "庭/水やり.md", "庭/水やり.md"]


def test_skipped_changes_wait_for_the_next_time(written: Repository, run: Run) -> None:
    run("review", cwd=written.folder, stdin="s\nk\nk\nk\nk\n")

    assert waiting(written) == ["how.md"]


def test_the_rest_of_a_topic_is_kept_at_once(written: Repository, run: Run) -> None:
    run("review", cwd=written.folder, stdin="s\nK\nq\n")

    assert waiting(written) == ["how.md", "庭/水やり.md", "庭/水やり.md"]


def test_a_change_is_taken_back_in_the_same_commit(written: Repository, run: Run) -> None:
    before = written.git("rev-parse", "HEAD")

    ran = run("review", cwd=written.folder, stdin="k\nk\nr\nk\nk\n")

    assert ran.code == 0, ran.out + ran.err
    assert (written.folder / "ops/keys.md").read_text() == "# Keys\n\nSam has the keys.\n"
    assert written.git("rev-list", "--count", f"{before}..HEAD") == "1"
    assert "1 reverted" in written.git("log", "-1", "--format=%B")
    assert written.git("status", "--porcelain") == ""


def test_what_others_built_on_cannot_be_taken_back_and_is_asked_again(written: Repository, run: Run) -> None:
    ran = run("review", cwd=written.folder, stdin="k\nk\nk\nr\nq\n")

    assert "cannot be undone" in ran.out
    assert "水やりは夕方" in (written.folder / "庭/水やり.md").read_text()


def test_a_change_that_a_person_wrote_over_is_told_as_such(written: Repository, run: Run) -> None:
    written.commit("2026-01-07", {"庭/水やり.md": "# 水やり\n\n雨の日は休み。\n"})
    told = run("review", "--list", "--json", cwd=written.folder).out
    last = json.loads(told)["changes"][-1]

    assert last[
        "now"
    ] == "it was partly overwritten since, by Mio on 2026-01-07: 0 of its 1 lines are left" or (
        "overwritten since, by Mio on 2026-01-07: none of its lines is left" in last["now"]
    )


def test_fixing_opens_the_editor_at_the_line_and_keeps_what_it_leaves(
    written: Repository, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = tmp_path / "nano"
    editor.write_text('#!/bin/sh\necho "$1" > "$LOG"\nsed -i s/Kim/Noor/ "$2"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("LOG", str(tmp_path / "log"))
    monkeypatch.setenv("VISUAL", str(editor))

    ran = run("review", cwd=written.folder, stdin="k\nk\nf\nq\n")

    assert (tmp_path / "log").read_text() == "+4\n", ran.out
    assert "Noor has spares." in (written.folder / "ops/keys.md").read_text()
    assert "1 fixed" in written.git("log", "-1", "--format=%B")
    assert written.git("status", "--porcelain") == ""


def test_an_editor_that_changes_nothing_decides_nothing(
    written: Repository, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VISUAL", "true")
    run("review", cwd=written.folder, stdin="f\nq\n")

    assert "how.md" in waiting(written)


def test_an_editor_that_is_not_there_is_told_of(
    written: Repository, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VISUAL", "no-such-editor")
    ran = run("review", cwd=written.folder, stdin="f\nq\n")

    assert "the editor cannot be started" in ran.out


def test_verifying_stamps_the_lines_of_the_change(written: Repository, run: Run) -> None:
    run("review", cwd=written.folder, stdin="k\nk\nv\nasked Kim\nq\n")

    text = (written.folder / "ops/keys.md").read_text()
    assert "verified:" in text and "asked Kim" in text
    assert "1 verified" in written.git("log", "-1", "--format=%B")


def test_agents_may_list_and_not_decide(
    written: Repository, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = written.git("rev-parse", "HEAD")[:10]
    monkeypatch.setenv("MEMTOOL_WRITER", "agent/scribe")

    assert name in run("review", cwd=written.folder).out
    assert run("review", "--keep", name, cwd=written.folder).code == 1
    assert len(waiting(written)) == 5


def test_a_mark_that_an_agent_wrote_counts_for_nothing(written: Repository) -> None:
    head = written.git("rev-parse", "HEAD")
    message = f"Trust me\n\nMemtool-Writer: agent/scribe\nMemtool-Reviewed: all {head}"
    written.git("commit", "-q", "--allow-empty", "-m", message)

    assert len(waiting(written)) == 5


def test_changes_are_kept_and_taken_back_by_name(written: Repository, run: Run) -> None:
    kept, back = written.git("rev-parse", "HEAD"), written.git("rev-parse", "HEAD~3")

    ran = run("review", "--keep", kept[:10], "--revert", back[:10], cwd=written.folder)

    assert ran.code == 0, ran.err
    assert waiting(written) == ["ops/keys.md", "庭/水やり.md", "庭/水やり.md"]
    assert run("review", "--keep", "abcdef12", cwd=written.folder).code == 2


def test_since_and_writer_narrow_what_is_listed(written: Repository, run: Run) -> None:
    run("review", cwd=written.folder, stdin="k\nk\nk\nk\nk\n")
    since = written.git("rev-parse", "HEAD~3")

    assert waiting(written, since=since) == ["how.md", "庭/水やり.md"]
    assert waiting(written, since="HEAD~6", writer="agent/planner") == ["ops/keys.md"]
    assert run("review", "--since", "nowhere", cwd=written.folder).code == 2


def test_a_procedural_note_without_a_reason_is_told_in_the_review(written: Repository, run: Run) -> None:
    out = run("review", "--list", cwd=written.folder).out

    assert "a procedural note was written without a reason" in out
    assert "reason: 頼まれた" in out


def test_what_was_decided_outlives_a_crash(written: Repository) -> None:
    with Memory.open(written.folder) as memory:
        first = memory.to_review().changes[0]
        memory.keep_change(first)  # and never closed

    assert "how.md" not in waiting(written)
    with Memory.open(written.folder) as memory:
        report = memory.close_review(memory.to_review())
    assert len(report.commits) == 1
    assert review_log.load(Vault.open(written.folder)).decided == {}
    assert "how.md" not in waiting(written)


def test_a_merge_under_way_keeps_the_decisions_for_later(written: Repository, run: Run) -> None:
    (written.folder / ".git/MERGE_HEAD").write_text(written.git("rev-parse", "HEAD") + "\n")
    ran = run("review", cwd=written.folder, stdin="k\nq\n")
    (written.folder / ".git/MERGE_HEAD").unlink()

    assert "what was decided is kept" in ran.err
    assert "how.md" not in waiting(written)


def test_what_a_person_has_staged_stays_staged(written: Repository, run: Run) -> None:
    written.write({"mine.md": "# Mine\n"})
    written.git("add", "mine.md")
    run("review", cwd=written.folder, stdin="k\nk\nk\nk\nk\n")

    assert written.git("status", "--porcelain") == "A  mine.md"


def test_a_mark_whose_revision_was_rebased_away_counts_up_to_itself(written: Repository, run: Run) -> None:
    run("review", cwd=written.folder, stdin="k\nk\nk\nk\nk\n")
    words = written.git("log", "-1", "--format=%B").replace(written.git("rev-parse", "HEAD^"), "1" * 40)
    written.git("commit", "-q", "--allow-empty", "--amend", "-m", words)

    assert waiting(written) == []


def test_what_lacks_a_reason_is_a_finding_of_check_until_it_is_reviewed(
    written: Repository, run: Run
) -> None:
    before = run("check", cwd=written.folder).out
    run("review", "--keep", written.git("rev-parse", "HEAD")[:10], cwd=written.folder)

    assert "how.md: a procedural note was written without a reason" in before
    assert "without a reason" not in run("check", cwd=written.folder).out


# -- a terminal ------------------------------------------------------------------------------


class Terminal:
    """`memtool review` on a pseudo terminal."""

    def __init__(self, folder: Path, **more: str) -> None:
        environment = {**os.environ, "TERM": "dumb", "COLUMNS": "80", "PYTHONUTF8": "1", **more}
        self.main, other = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "memtool", "review"],
            cwd=folder,
            stdin=other,
            stdout=other,
            stderr=other,
            env=environment,
            start_new_session=True,
        )
        os.close(other)
        self.seen = ""

    def until(self, words: str, *, patience_s: float = 20.0) -> str:
        end, new = time.monotonic() + patience_s, b""
        while words not in new.decode(errors="replace") and time.monotonic() < end:
            if select.select([self.main], [], [], 0.2)[0]:
                try:
                    new += os.read(self.main, 65536)
                except OSError:  # the other side is closed
                    break
        text = new.decode(errors="replace")
        self.seen += text
        if words not in text:
            self.process.kill()
            self.end()
        assert words in text, text
        return text

    def type(self, keys: str) -> None:
        os.write(self.main, keys.encode())

    def end(self) -> int:
        code = self.process.wait(20)
        os.close(self.main)
        return code


def test_a_review_in_a_plain_terminal(written: Repository) -> None:
    talk = Terminal(written.folder)
    talk.until("?]")
    talk.type("k\n")
    talk.until("?]")
    talk.type("q\n")
    talk.until("left to review")

    assert talk.end() == 1
    assert "\x1b" not in talk.seen
    assert len(waiting(written)) == 4


def test_ctrl_c_keeps_what_was_decided(written: Repository) -> None:
    talk = Terminal(written.folder)
    talk.until("?]")
    talk.type("k\n")
    talk.until("?]")
    os.killpg(talk.process.pid, signal.SIGINT)
    talk.until("left to review")

    assert talk.end() == 130
    assert len(waiting(written)) == 4
    assert "Memtool-Reviewed: kept" in written.git("log", "-1", "--format=%B")


def test_ctrl_d_quits(written: Repository) -> None:
    talk = Terminal(written.folder)
    talk.until("?]")
    talk.type("\x04")
    talk.until("left to review")

    assert talk.end() == 1
    assert len(waiting(written)) == 5


def test_colours_are_shown_where_a_terminal_has_them(written: Repository) -> None:
    talk = Terminal(written.folder, TERM="xterm", NO_COLOR="")
    text = talk.until("?]")
    talk.type("q\n")
    talk.until("left to review")
    talk.end()

    assert "\x1b[32m+" in text


def test_lines_are_folded_by_the_width_of_their_characters() -> None:
    lines = list(terminal.folded("+" + "畑の水やりは朝六時。" * 20, 80))

    assert all(terminal.width(line) <= 80 for line in lines)
    assert "".join(line.removeprefix("    ") for line in lines) == "+" + "畑の水やりは朝六時。" * 20


def test_no_note_can_drive_the_terminal(written: Repository, run: Run) -> None:
    written.commit("2026-01-08", {"a.md": "# A\n\n\x1b[2Jgone\x07\n"}, agent="scribe", reason="\x1b]0;x\x07")
    ran = run("review", cwd=written.folder, stdin="q\n")

    assert "\x1b" not in ran.out and "\x07" not in ran.out


# -- frozen and pinned -----------------------------------------------------------------------


def test_a_frozen_note_takes_nothing_from_agents(written: Repository, run: Run) -> None:
    assert run("freeze", "ops/keys.md", cwd=written.folder).out == "ops/keys.md  frozen\n"

    with Memory.open(written.folder, writer="agent/scribe") as memory:
        for write in (
            lambda: memory.append("ops/keys.md", "More."),
            lambda: memory.set("ops/keys.md", "frozen", None),
            lambda: memory.move("ops/keys.md", "keys.md"),
            lambda: memory.archive("ops/keys.md"),
        ):
            with pytest.raises(PolicyError):
                write()
    assert run("freeze", "ops/keys.md", "--undo", cwd=written.folder).code == 0
    with Memory.open(written.folder, writer="agent/scribe") as memory:
        memory.append("ops/keys.md", "More.")


def test_a_frozen_note_that_was_changed_past_the_door_is_not_committed(written: Repository, run: Run) -> None:
    written.commit("2026-01-08", {"庭/凍結.md": "---\nfrozen: true\n---\n# 凍結\n"})
    written.write({"庭/凍結.md": "---\nfrozen: true\n---\n# 書き換え\n"})

    ran = run("commit", "--writer", "agent/scribe", cwd=written.folder)

    assert ran.code == 1
    assert "a person froze it" in ran.err


def test_agents_may_not_freeze(written: Repository) -> None:
    with Memory.open(written.folder, writer="agent/scribe") as memory, pytest.raises(PolicyError):
        memory.freeze("ops/keys.md")


def test_a_pinned_note_leads_the_catalog(written: Repository, run: Run) -> None:
    written.write({f"庭/{number}.md": f"# {number}\n\nNew.\n" for number in range(3)})
    run("pin", "庭/水やり.md", cwd=written.folder)
    run("catalog", cwd=written.folder)

    lines = [line for line in (written.folder / "MEMORY.md").read_text().split("\n") if "庭/" in line]
    assert "水やり.md" in next(line for line in lines if ".md" in line)
    assert run("pin", "庭/水やり.md", "--undo", cwd=written.folder).code == 0
    assert run("pin", "庭/水やり.md", "--undo", cwd=written.folder).code == 2


# -- the policy ------------------------------------------------------------------------------


def test_a_scope_that_asks_for_reviews_is_marked_and_one_look_ends_it(written: Repository, run: Run) -> None:
    written.commit("2026-01-07", {".memtool/policy.toml": '[scope."ops"]\nreview = true\n'})
    with Memory.open(written.folder) as memory:
        memory.append("ops/keys.md", "Rex too.", by=Signature("agent/scribe"))

    assert "the policy asks for a review of it" in run("review", "--list", cwd=written.folder).out
    assert [one.path for one in reviews.waiting(Vault.open(written.folder))] == ["ops/keys.md"]
    run("review", cwd=written.folder, stdin="k\n" * 6)
    assert reviews.waiting(Vault.open(written.folder)) == []


def test_a_semantic_write_without_a_reason_is_noticed_at_the_write(written: Repository) -> None:
    with Memory.open(written.folder, writer="agent/scribe") as memory:
        memory.add("猫は魚が好き。", title="猫", meta={"type": "semantic"})
        lacking = [finding.code for finding in memory.noticed]
        memory.add(
            "Dig deep.", title="Digging", meta={"type": "procedural"}, by=Signature("agent/a", "", "asked")
        )
        given = [finding.code for finding in memory.noticed]

    assert "reason-missing" in lacking
    assert "reason-missing" not in given


# -- odd histories ---------------------------------------------------------------------------


def test_an_edit_with_a_secret_is_refused_and_may_be_mended_in_the_editor(
    written: Repository, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = tmp_path / "editor"
    editor.write_text(
        '#!/bin/sh\nif grep -q hunter2 "$1"; then sed -i s/hunter2/gone/ "$1"; '
        'else echo "The password is hunter2." >> "$1"; fi\n'
    )
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))

    ran = run("review", cwd=written.folder, stdin="f\ny\nq\n")

    text = (written.folder / "how.md").read_text()
    assert "looks like a password" in ran.out
    assert "hunter2" not in text and "The password is gone." in text


def test_what_an_agent_wrote_while_the_editor_was_open_stays(
    written: Repository, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = tmp_path / "editor"
    note = written.folder / "庭/水やり.md"
    editor.write_text(
        f'#!/bin/sh\nprintf "\\nホースは物置。\\n" >> "{note}"\nsed -i "1s/水やり/散水/" "$1"\n'
    )
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))

    run("review", cwd=written.folder, stdin="k\nk\nk\nk\nf\n")

    assert note.read_text() == "# 散水\n\n水やりは夕方。\n\nホースは物置。\n"


def test_an_agents_first_commit_of_all_can_be_looked_at(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = Repository(tmp_path / "new")
    monkeypatch.setenv("MEMTOOL_VAULT", str(repository.folder))
    repository.commit("2026-01-01", {".memtool/.gitignore": "state/\n", "a.md": "# A\n"}, agent="scribe")

    assert waiting(repository) == ["a.md"]
    assert run("review", cwd=repository.folder, stdin="k\n").code == 0
    assert waiting(repository) == []


def test_a_vault_without_history_has_nothing_to_review(
    vault: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMTOOL_VAULT", str(vault))
    ran = run("review", cwd=vault)

    assert ran.code == 0
    assert "nothing to review" in ran.out


def test_a_vault_in_a_folder_of_a_repository_sees_its_own_notes_only(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = Repository(tmp_path / "top")
    top.commit("2026-01-01", {"code.md": "# Code\n", "notes/.memtool/.gitignore": "state/\n"})
    top.commit("2026-01-02", {"code.md": "# Code 2\n", "notes/庭.md": "# 庭\n"}, agent="scribe")
    top.commit("2026-01-03", {"code.md": "# Code 3\n"}, agent="scribe")
    vault = Repository(top.folder / "notes", top=top.folder)
    monkeypatch.setenv("MEMTOOL_VAULT", str(vault.folder))

    assert waiting(vault) == ["庭.md"]
    assert run("review", cwd=vault.folder, stdin="k\n").code == 0
    assert waiting(vault) == []


def test_changes_of_a_merged_branch_wait_too(written: Repository, run: Run) -> None:
    written.git("checkout", "-q", "-b", "side", "HEAD~1")
    written.commit("2026-01-07", {"side.md": "# Side\n"}, agent="scribe")
    written.git("checkout", "-q", "main")
    run("review", cwd=written.folder, stdin="k\nk\nk\nk\nk\n")
    written.git("merge", "-q", "--no-edit", "side")

    assert waiting(written) == ["side.md"]


def test_a_note_that_an_agent_renamed_is_one_change(written: Repository, run: Run) -> None:
    with Memory.open(written.folder) as memory:
        memory.move("ops/keys.md", "ops/鍵.md", by=Signature("agent/scribe"))
    out = run("review", "--list", cwd=written.folder).out

    assert "ops/keys.md -> ops/鍵.md (renamed)" in out
