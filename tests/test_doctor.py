from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Ran, age, write_notes
from test_resolve import Repository

from memtool import heartbeat
from memtool.checks.doctor import LOOKS, Diagnosis, State
from memtool.checks.meanings import MEANINGS
from memtool.embedders.fake import FakeEmbedder
from memtool.errors import EmbedderError
from memtool.memory.memory import Memory

PLAIN = "---\ntitle: Quay\ndescription: The quay\n---\n\n# Quay\n\nThe quay is long and made of stone.\n"
NOON = 1_800_000_000.0  # a clock that stands still, far from any file's time unless a test sets that


@pytest.fixture
def repository(tmp_path: Path, run: Callable[..., Ran]) -> Repository:
    """A vault in perfect health."""
    made = Repository(tmp_path / "vault")
    made.write(quay=PLAIN)
    age(made.folder)
    with Memory.open(made.folder, embedder=FakeEmbedder()) as memory:
        memory.refresh()
        memory.embed()
        memory.catalog()
    made.commit(1)
    return made


def diagnosis(repository: Repository, *, now: float | None = None, embedder: object = "fake") -> Diagnosis:
    chosen = FakeEmbedder() if embedder == "fake" else embedder
    with Memory.open(repository.folder, embedder=chosen) as memory:  # type: ignore[arg-type]
        return memory.doctor(now=now)


def found(repository: Repository, code: str, *, now: float | None = None) -> State:
    """Give the first state of this code, which must be there."""
    states = diagnosis(repository, now=now).states
    return next((state for state in states if state.code == code), None) or pytest.fail(
        f"{code} not in {states}"
    )


def test_a_healthy_vault_has_a_green_light(repository: Repository) -> None:
    assert diagnosis(repository) == Diagnosis("green", ())
    assert not diagnosis(repository).person


def test_every_look_says_something_in_its_name_and_every_meaning_is_a_sentence() -> None:
    assert len({look.__name__ for look in LOOKS}) == len(LOOKS)
    assert all(meaning.means and not meaning.means.endswith(".") for meaning in MEANINGS.values())


def test_the_light_is_that_of_the_worst_state(repository: Repository) -> None:
    repository.commit(2, quay=PLAIN + "\nMore.\n")
    lock = repository.folder / ".git" / "index.lock"
    lock.touch()
    os.utime(lock, (NOON - 7200, NOON - 7200))

    told = diagnosis(repository, now=NOON)

    assert (told.light, told.states[0].code, told.person) == ("red", "git-lock", True)


def test_an_old_lock_is_named_with_its_path_and_age_and_left_alone(repository: Repository) -> None:
    lock = repository.folder / ".git" / "index.lock"
    lock.touch()
    os.utime(lock, (NOON - 7200, NOON - 7200))

    state = found(repository, "git-lock", now=NOON)

    assert "2 h" in state.what and f"rm '{lock}'" in state.mend
    assert lock.exists()


def test_a_lock_of_just_now_is_another_command_at_work(repository: Repository) -> None:
    lock = repository.folder / ".git" / "index.lock"
    lock.touch()

    told = found(repository, "git-busy")

    assert (told.light, told.person) == ("green", False)


def conflicting(repository: Repository) -> None:
    """Leave a side branch that cannot be merged by itself."""
    repository.git("switch", "-q", "-c", "side")
    repository.commit(2, quay=PLAIN.replace("long", "short"))
    repository.git("switch", "-q", "main")
    repository.commit(3, quay=PLAIN.replace("long", "wide"))


@pytest.mark.parametrize(
    ("arguments", "code", "way_out"),
    [
        (("merge", "side"), "git-merge", "merge --continue"),
        (("rebase", "side"), "git-rebase", "rebase --continue"),
        (("cherry-pick", "side"), "git-cherry-pick", "cherry-pick --continue"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_what_git_is_in_the_middle_of_is_named_with_the_way_out(
    repository: Repository, arguments: tuple[str, ...], code: str, way_out: str
) -> None:
    conflicting(repository)
    with pytest.raises(subprocess.CalledProcessError):
        repository.git(*arguments)

    codes = {state.code for state in diagnosis(repository).states}

    assert codes >= {code, "git-unmerged", "merge-conflict"}
    assert "git-detached" not in codes
    assert found(repository, code).mend == f"git -C {repository.folder} {way_out}"


def test_a_bisect_is_named(repository: Repository) -> None:
    repository.git("bisect", "start")

    assert found(repository, "git-bisect").mend == f"git -C {repository.folder} bisect reset"


def test_a_detached_head_is_named(repository: Repository) -> None:
    repository.git("switch", "-q", "--detach")

    assert found(repository, "git-detached").person


def test_a_vault_without_a_commit_needs_nobody(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "vault")
    repository.write(quay=PLAIN)

    assert not found(repository, "git-unborn").person


def test_a_vault_without_a_repository_says_how_to_get_one(tmp_path: Path) -> None:
    folder = write_notes(tmp_path / "vault", {"quay.md": PLAIN})
    with Memory.open(folder, embedder=FakeEmbedder()) as memory:
        states = {state.code: state for state in memory.doctor().states}

    assert states["git-none"].mend == f"git -C {folder} init"


def test_a_missing_identity_is_named_with_the_commands_that_set_it(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"):
        monkeypatch.delenv(name)

    assert "git config --global user.name" in found(repository, "git-identity").mend


def test_a_repository_of_another_user_is_named_with_the_command_that_trusts_it(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")

    state = found(repository, "git-ownership")

    assert state.mend == f"git config --global --add safe.directory {repository.folder}"


def test_ignored_notes_are_named(repository: Repository) -> None:
    (repository.folder / ".gitignore").write_text("秘密.md\n")
    repository.commit(2, 秘密=PLAIN)

    state = found(repository, "git-ignored")

    assert (state.path, state.mend) == ("秘密.md", f"git -C {repository.folder} check-ignore -v -- '秘密.md'")


def test_notes_that_wait_for_a_day_are_named_and_newer_ones_are_not(repository: Repository) -> None:
    repository.write(new=PLAIN, quay=PLAIN + "\nMore.\n", fresh=PLAIN)
    for name in ("new.md", "quay.md"):
        os.utime(repository.folder / name, (NOON - 200_000, NOON - 200_000))
    os.utime(repository.folder / "fresh.md", (NOON - 60, NOON - 60))

    states = diagnosis(repository, now=NOON).states

    waiting = {(state.code, state.path) for state in states if state.path.endswith(("w.md", "y.md", "h.md"))}
    assert waiting == {("git-untracked", "new.md"), ("git-uncommitted", "quay.md")}


@pytest.mark.parametrize("flag", ["assume-unchanged", "skip-worktree"])
def test_a_note_that_git_was_told_not_to_look_at_is_named(repository: Repository, flag: str) -> None:
    repository.git("update-index", f"--{flag}", "quay.md")

    mend = found(repository, "git-hidden").mend
    subprocess.run(mend, shell=True, check=True)

    assert diagnosis(repository).states == ()


def test_a_repository_inside_the_vault_is_named(repository: Repository) -> None:
    Repository(repository.folder / "inner").commit(1, own=PLAIN)

    told = found(repository, "git-elsewhere")

    assert (told.path, told.person) == ("inner", False)


def test_conflict_copies_are_named(repository: Repository) -> None:
    repository.write(**{"quay (conflicted copy 2026-01-02)": PLAIN})

    assert found(repository, "conflict-copy").person


def test_a_dead_watcher_is_named_with_the_age_of_its_last_sign(repository: Repository) -> None:
    state = repository.folder / ".memtool" / "state"
    state.mkdir(exist_ok=True)
    heartbeat.save(state, heartbeat.Beat(123, NOON - 9000, NOON - 7200, "native", "1"))

    told = found(repository, "watcher-died", now=NOON)

    assert "120 min" in told.what
    assert told.mend == f"memtool watch --vault {repository.folder}"


def test_an_embedder_that_cannot_be_reached_is_named(repository: Repository) -> None:
    class Away(FakeEmbedder):
        def embed(self, *_: object, **__: object) -> object:  # type: ignore[override]
            raise EmbedderError("no answer from http://127.0.0.1:1", why="refused", fix="start it")

    told = {state.code: state for state in diagnosis(repository, embedder=Away()).states}

    assert (told["embedder-unreachable"].mend, told["embedder-unreachable"].person) == ("start it", True)


def test_what_is_behind_needs_nobody(repository: Repository) -> None:
    repository.commit(2, other=PLAIN.replace("stone", "wood"))

    told = diagnosis(repository)

    assert {state.code for state in told.states} == {"vectors-behind", "catalog-stale"}
    assert (told.light, told.person) == ("yellow", False)


def test_a_setting_that_is_not_obeyed_is_named(repository: Repository) -> None:
    (repository.folder / "memtool.toml").write_text('colour = "red"\n')

    assert found(repository, "config-unknown").means == "the setting is not obeyed"


def test_a_vault_that_cannot_be_checked_is_not_sent_away(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check(self: Memory, *, deep: bool = False) -> list[object]:
        raise EmbedderError("the index cannot be read", fix="mount it")

    monkeypatch.setattr(Memory, "check", check)

    assert found(repository, "look-failed").mend == "mount it"


def test_a_shallow_clone_says_where_its_history_ends(repository: Repository, tmp_path: Path) -> None:
    repository.commit(2, quay=PLAIN + "\nMore.\n")
    clone = Repository.__new__(Repository)
    clone.folder = tmp_path / "clone"
    repository.git("clone", "-q", "--depth", "1", f"file://{repository.folder}", str(clone.folder))

    assert not found(clone, "git-shallow").person


def test_the_command_prints_the_light_first_and_its_exit_code_says_whether_a_person_is_needed(
    repository: Repository, run: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMTOOL_EMBEDDER", "fake")
    vault = ("--vault", str(repository.folder))
    healthy = run("doctor", *vault)
    repository.git("switch", "-q", "--detach")
    detached = run("doctor", *vault)
    document = json.loads(run("doctor", "--json", *vault).out)

    assert (healthy.code, healthy.out) == (0, "green: nothing odd was found\n")
    assert detached.out.split("\n")[:4] == [
        "yellow: 1 finding, 1 of them needs a person",
        ".  yellow git-detached: HEAD is detached: no branch holds what is committed here",
        "    means: commits made now are lost when another revision is checked out",
        f"    mend:  git -C {repository.folder} switch -c NAME",
    ]
    assert (detached.code, document["light"], document["person"]) == (1, "yellow", True)
