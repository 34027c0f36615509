from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import Ran
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from repositories import Repository

from memtool.git import Git
from memtool.history.blame import Blamer, Lines, Provenance
from memtool.history.recall import Recall
from memtool.history.verified import verified_line
from memtool.memory.memory import Memory
from memtool.note.anchor import Anchor
from memtool.vault import Vault, blob

Open = Callable[..., Memory]

KEYS = "# Keys\n\nRotate the key weekly.\n\nRestart both workers.\n"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "vault")


class CountingGit(Git):
    """Git that remembers what it was asked."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.asked: list[str] = []

    def run(self, *arguments: str, **more: object) -> bytes:
        self.asked.append(arguments[0])
        return super().run(*arguments, **more)  # type: ignore[arg-type]


class Asking:
    """A blamer over one vault, and what it asks git."""

    def __init__(self, repository: Repository) -> None:
        self.vault, self.git = Vault.open(repository.folder), CountingGit(repository.folder)
        self.recall = Recall(repository.folder.parent / "kept.sqlite3")
        self.blamer = Blamer(self.git, self.recall, lambda path, commit: self.vault.read(path))

    def tell(self, path: str, start: int, end: int) -> Provenance:
        name = blob(self.vault.read(path))
        told = self.blamer.tell([Lines(path, name, start, end)])[0]
        assert told is not None
        return told

    def commands(self) -> list[str]:
        asked, self.git.asked = self.git.asked, []
        return asked


@pytest.fixture
def asking(repository: Repository) -> Iterator[Callable[[], Asking]]:
    made: list[Asking] = []

    def asking() -> Asking:
        made.append(Asking(repository))
        return made[-1]

    yield asking
    for one in made:
        one.recall.close()


# -- who wrote which line --------------------------------------------------------------------


def test_each_run_of_lines_names_its_revision_and_its_writer(
    repository: Repository, asking: Callable[[], Asking]
) -> None:
    first = repository.commit("2026-01-05", {"a.md": KEYS})
    second = repository.commit("2026-01-06", {"a.md": KEYS.replace("weekly", "daily")}, agent="kai")

    told = asking().tell("a.md", 1, 5)

    runs = [(run.start, run.end, run.revision and run.revision.revision) for run in told.runs]
    assert runs == [(1, 2, first), (3, 3, second), (4, 5, first)]
    assert told.revision and (told.revision.revision, told.revision.writer) == (second, "agent/kai")
    assert told.uncommitted == 0


def test_only_the_lines_asked_for_count(repository: Repository, asking: Callable[[], Asking]) -> None:
    first = repository.commit("2026-01-05", {"a.md": KEYS})
    repository.commit("2026-01-06", {"a.md": KEYS.replace("weekly", "daily")})

    told = asking().tell("a.md", 4, 5)

    assert told.revision and told.revision.revision == first


def test_uncommitted_lines_are_said_to_be_uncommitted(
    repository: Repository, asking: Callable[[], Asking]
) -> None:
    first = repository.commit("2026-01-05", {"a.md": KEYS})
    repository.write({"a.md": KEYS.replace("weekly", "daily"), "new.md": "# New\n"})

    told, new = asking().tell("a.md", 1, 5), asking().tell("new.md", 1, 1)

    assert (told.uncommitted, told.revision and told.revision.revision) == (1, first)
    assert [run.revision is None for run in told.runs] == [False, True, False]
    assert (new.uncommitted, new.revision) == (1, None)


def test_before_the_first_commit_every_line_is_uncommitted(
    repository: Repository, asking: Callable[[], Asking]
) -> None:
    repository.write({"a.md": KEYS})

    assert asking().tell("a.md", 1, 5).uncommitted == 5


def test_odd_names_subfolders_and_renames_are_followed(
    tmp_path: Path, open_memory: Open, repository: Repository
) -> None:
    inner = Repository(repository.folder / "メモ", top=repository.folder)
    first = inner.commit("2026-01-05", {"keys.md": KEYS})
    inner.git("mv", "keys.md", ":(top)鍵.md")
    inner.commit("2026-01-06")

    told, lines = open_memory(inner.folder).past.blame(Anchor.parse(":(top)鍵.md:3"))

    assert told.revision and told.revision.revision == first
    assert lines == ("Rotate the key weekly.",)


def test_a_large_note_is_looked_up_in_part(
    repository: Repository, asking: Callable[[], Asking], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memtool.history.blame.LARGE", 40)
    text = f"---\nverified: true\n---\n{KEYS}"
    first = repository.commit("2026-01-05", {"a.md": text})
    second = repository.commit("2026-01-06", {"a.md": text.replace("weekly", "daily")})
    asked = asking()

    told = [asked.tell("a.md", 6, 6), asked.tell("a.md", 8, 8), asked.tell("a.md", 6, 6)]

    assert [one.revision and one.revision.revision for one in told] == [second, first, second]
    assert [one.verified for one in told] == [False, True, False]
    assert asked.commands().count("blame") == 2


@pytest.mark.parametrize("staged", [False, True])
def test_a_note_renamed_since_the_last_commit_keeps_its_writers(
    repository: Repository, open_memory: Open, staged: bool
) -> None:
    first = repository.commit("2026-01-05", {"a.md": KEYS, "copy.md": KEYS})
    (repository.folder / "a.md").rename(repository.folder / "新しい.md")
    if staged:
        repository.git("add", "-A")
    past = open_memory(repository.folder).past

    told, _ = past.blame(Anchor.parse("新しい.md"))
    events = past.history(Anchor.parse("新しい.md"))

    assert told.revision and (told.revision.revision, told.uncommitted) == (first, 0)
    assert [(event.kind, event.anchor.path) for event in events] == [
        ("appeared", "a.md"),
        ("renamed", "新しい.md"),
    ]


# -- verified --------------------------------------------------------------------------------


def test_a_line_is_verified_until_it_changes_after_the_mark(
    repository: Repository, asking: Callable[[], Asking]
) -> None:
    text = f"---\nverified: 2026-01-06\n---\n{KEYS}"
    repository.commit("2026-01-05", {"a.md": KEYS})
    repository.commit("2026-01-06", {"a.md": text})
    asked = asking()
    before = asked.tell("a.md", 4, 8).verified
    repository.commit("2026-01-07", {"a.md": text.replace("weekly", "daily")})

    after = asked.tell("a.md", 4, 8)

    assert before
    assert not after.verified
    assert [run.verified for run in after.runs] == [True, False, True]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("---\nverified: yes\n---\n", 2),
        ("\ufeff---\r\ntitle: a\r\nverified: 2026-01-01\r\n---\r\n", 3),
        ("---\nverified: false\n---\n", 0),
        ("---\nverified:\n---\n", 0),
        ("---\ntitle: a\n---\nverified: yes\n", 0),
        ("verified: yes\n", 0),
        ("---\nverified: yes\n", 0),
    ],
)
def test_only_the_front_matter_verifies(text: str, line: int) -> None:
    assert verified_line(text.encode()) == line


# -- what is kept ----------------------------------------------------------------------------


def test_a_note_is_blamed_once_while_nothing_changes(
    repository: Repository, asking: Callable[[], Asking]
) -> None:
    repository.commit("2026-01-05", {"a.md": KEYS})
    asked = asking()
    first = asked.tell("a.md", 1, 3)
    asked.commands()

    again = asked.tell("a.md", 1, 3)

    assert again == first
    assert asked.commands() == []


def test_commits_that_leave_a_note_alone_cost_no_blame(
    repository: Repository, asking: Callable[[], Asking]
) -> None:
    repository.commit("2026-01-05", {"a.md": KEYS})
    asked = asking()
    first = asked.tell("a.md", 1, 3)
    repository.commit("2026-01-06", {"b.md": "# B\n"})
    asked.commands()

    assert asked.tell("a.md", 1, 3) == first
    assert "blame" not in asked.commands()


def test_a_note_changed_and_changed_back_names_the_revision_that_changed_it_back(
    repository: Repository, asking: Callable[[], Asking]
) -> None:
    repository.commit("2026-01-05", {"a.md": KEYS})
    asked = asking()
    asked.tell("a.md", 3, 3)
    repository.commit("2026-01-06", {"a.md": KEYS.replace("weekly", "daily")})
    back = repository.commit("2026-01-07", {"a.md": KEYS})

    told = asked.tell("a.md", 3, 3)

    assert told.revision and told.revision.revision == back


def test_a_rewritten_history_is_asked_anew(repository: Repository, asking: Callable[[], Asking]) -> None:
    repository.commit("2026-01-05", {"a.md": KEYS})
    asked = asking()
    asked.tell("a.md", 3, 3)
    repository.git("commit", "-q", "--amend", "-m", "Other words", day="2026-01-06")

    told = asked.tell("a.md", 3, 3)

    assert told.revision and told.revision.subject == "Other words"


def test_a_damaged_or_foreign_file_of_kept_answers_is_only_asked_anew(
    repository: Repository, asking: Callable[[], Asking]
) -> None:
    first = repository.commit("2026-01-05", {"a.md": KEYS})
    asked = asking()
    asked.tell("a.md", 1, 3)
    asked.recall.close()
    with sqlite3.connect(asked.recall.file) as db:
        db.execute("UPDATE kept SET value = replace(value, 'Mio', 'Eve')")
    db.close()
    copy = asked.recall.file.with_name("copy")
    copy.write_bytes(asked.recall.file.read_bytes())
    copy.rename(asked.recall.file)

    foreign = asking().tell("a.md", 1, 3)
    asked.recall.file.write_bytes(b"no database at all" * 100)
    damaged = asking().tell("a.md", 1, 3)

    assert foreign.revision and (foreign.revision.author, foreign.revision.revision) == ("Mio", first)
    assert damaged == foreign


# -- on hits ---------------------------------------------------------------------------------


def test_hits_tell_who_wrote_the_lines_shown_only_when_asked(
    repository: Repository, open_memory: Open
) -> None:
    commit = repository.commit("2026-01-05", {"a.md": KEYS, "b.md": "# Bees\n\nFeed them.\n"}, agent="kai")
    memory = open_memory(repository.folder)

    plain, told = memory.search("rotate the key"), memory.search("rotate the key", blame=True)

    assert plain[0].provenance is None
    assert told[0].provenance and told[0].provenance.revision
    assert told[0].provenance.revision.revision == commit
    assert told[0].provenance.revision.writer == "agent/kai"


def test_json_always_has_provenance_and_text_with_a_flag(
    repository: Repository, run: Callable[..., Ran]
) -> None:
    commit = repository.commit("2026-01-05", {"a.md": KEYS})
    asked = ("search", "--lexical", "rotate the key", "--vault", str(repository.folder))

    hit = json.loads(run(*asked, "--json").out)["hits"][0]

    assert hit["provenance"]["revision"] == commit
    assert hit["provenance"]["writer"] == "human"
    assert hit["provenance"]["when"] == "2026-01-05T10:00:00+00:00"
    assert hit["provenance"]["verified"] is False
    assert f"by: Mio, 2026-01-05, {commit[:7]}; not verified" in run(*asked, "--blame").out
    assert "by:" not in run(*asked).out


@pytest.mark.parametrize("unborn", [False, True])
def test_a_vault_without_history_still_answers_and_says_so(
    tmp_path: Path, run: Callable[..., Ran], unborn: bool
) -> None:
    (tmp_path / "v").mkdir()
    (tmp_path / "v" / "a.md").write_text(KEYS)
    if unborn:
        Repository(tmp_path / "v")

    ran = run("search", "--lexical", "rotate the key", "--json", "--vault", str(tmp_path / "v"))

    answer = json.loads(ran.out)
    provenance, remarks = answer["hits"][0]["provenance"], answer["freshness"]["remarks"]
    assert ran.code == 0
    if unborn:
        assert provenance["revision"] == "" and provenance["uncommitted"] > 0
    else:
        assert provenance is None
        assert any("no provenance" in remark and "git init" in remark for remark in remarks)


def test_an_untrusted_repository_still_answers_with_the_line_to_run(
    repository: Repository, run: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit("2026-01-05", {"a.md": KEYS})
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")

    ran = run("search", "--lexical", "rotate the key", "--json", "--vault", str(repository.folder))

    answer = json.loads(ran.out)
    assert answer["hits"][0]["provenance"] is None
    assert any("safe.directory" in remark for remark in answer["freshness"]["remarks"])


def test_blame_prints_each_run_with_its_age(repository: Repository, run: Callable[..., Ran]) -> None:
    repository.commit("2026-01-05", {"a.md": KEYS})
    repository.write({"a.md": KEYS.replace("weekly", "daily")})

    ran = run("blame", "a.md:3-5", "--vault", str(repository.folder))

    lines = ran.out.split("\n")
    assert lines[0] == "a.md:3-3  not committed yet"
    assert lines[1] == "     3  Rotate the key daily."
    assert lines[2].startswith("a.md:4-5  Mio, 2026-01-05, ")


def test_blame_as_of_then_knows_the_lines_of_then(repository: Repository, open_memory: Open) -> None:
    first = repository.commit("2026-01-05", {"a.md": KEYS})
    repository.commit("2026-01-06", {"a.md": "# Other\n"})

    told, lines = open_memory(repository.folder).past.blame(Anchor.parse("a.md:3"), "2026-01-05")

    assert told.revision and told.revision.revision == first
    assert lines == ("Rotate the key weekly.",)


def test_a_note_in_a_merge_under_way_is_blamed_all_the_same(
    repository: Repository, asking: Callable[[], Asking]
) -> None:
    first = repository.commit("2026-01-05", {"a.md": KEYS})
    repository.git("checkout", "-q", "-b", "side")
    repository.commit("2026-01-06", {"a.md": KEYS.replace("weekly", "daily")})
    repository.git("checkout", "-q", "main")
    repository.commit("2026-01-07", {"a.md": KEYS.replace("weekly", "monthly")})
    with pytest.raises(Exception):  # noqa: B017
        repository.git("merge", "-q", "side")

    told = asking().tell("a.md", 1, 9)

    assert told.uncommitted >= 3  # at least the marks of the conflict
    assert told.runs[0].revision and told.runs[0].revision.revision == first


def test_lines_of_bytes_that_are_gone_have_no_provenance(repository: Repository, open_memory: Open) -> None:
    repository.commit("2026-01-05", {"a.md": KEYS})
    memory = open_memory(repository.folder)
    memory.search("rotate the key")
    repository.write({"a.md": "# Other\n"})

    answer = memory.search("rotate the key", refresh=False, blame=True)
    (repository.folder / "a.md").unlink()
    gone = memory.search("rotate the key", refresh=False, blame=True)

    assert answer[0].provenance is None and gone[0].provenance is None
    assert any("a.md: changed since it was read" in remark for remark in answer.freshness.remarks)


def test_where_a_shallow_clone_begins_lines_may_be_older(
    repository: Repository, tmp_path: Path, run: Callable[..., Ran]
) -> None:
    repository.commit("2026-01-05", {"a.md": KEYS})
    repository.commit("2026-01-06", {"b.md": "# B\n"})
    last = repository.commit("2026-01-07", {"a.md": KEYS.replace("weekly", "daily")})
    clone = tmp_path / "clone"
    repository.git("clone", "-q", "--depth=2", f"file://{repository.folder}", str(clone))
    vault = ("--vault", str(clone))

    answer = json.loads(run("search", "--lexical", "rotate the key", "--json", *vault).out)
    told = run("blame", "a.md", *vault)
    sure = run("blame", "a.md:3", *vault)

    assert any("shallow" in remark for remark in answer["freshness"]["remarks"])
    assert "git fetch --unshallow" in told.err
    assert (last[:7] in sure.out, sure.err) == (True, "")
    assert "shallow" in run("history", "a.md", *vault).err


# -- the shortcut for many notes -------------------------------------------------------------


def test_one_walk_tells_all_plain_notes_whatever_a_repository_sets(
    repository: Repository, asking: Callable[[], Asking]
) -> None:
    for setting, value in {
        "diff.relative": "true",
        "diff.interHunkContext": "9",
        "diff.context": "7",
        "diff.algorithm": "patience",
        "diff.noprefix": "true",
        "color.ui": "always",
        "core.quotepath": "true",
    }.items():
        repository.git("config", setting, value)
    lines = [f"line {number}" for number in range(30)]
    odd = "\x01 +++ \x00 @@ -1 +1 @@\r"
    for day in range(1, 9):
        lines[3 * day] = f"{odd} {day}"
        lines.insert(day, f"diff --git {day}")
        del lines[-day]
        text = "\n".join(lines)
        repository.commit(
            f"2026-01-{day:02}", {"日本.md": text, "b c.md": text.upper() + "\n", "empty.md": ""}
        )
    together, alone = asking(), asking()
    alone.recall.file = together.recall.file.with_name("other.sqlite3")
    names = ["日本.md", "b c.md"]

    told = together.blamer.tell([Lines(n, blob(together.vault.read(n)), 1, 30) for n in names])

    assert told == [alone.tell(name, 1, 30) for name in names]
    assert "blame" not in together.commands()


def test_many_notes_at_once_are_told_what_each_alone_is_told(
    repository: Repository, asking: Callable[[], Asking]
) -> None:
    names = [f"{name}.md" for name in ("a", "日本", "*", "d d", "moved", "untouched", "new")]
    repository.commit("2026-01-01", {"outside.md": "# Outside\n", "old.md": KEYS})
    for day, name in enumerate(names[:6], 2):
        repository.commit(f"2026-01-{day:02}", {name: f"# {name}\n\n{KEYS}"} if name != "moved.md" else {})
    repository.git("mv", "old.md", "moved.md")
    repository.commit("2026-01-10")
    repository.git("checkout", "-q", "-b", "side", "HEAD~2")
    repository.commit("2026-01-11", {"a.md": f"# a\n\n{KEYS}\nFrom the side.\n"})
    repository.git("checkout", "-q", "main")
    repository.commit("2026-01-12", {"d d.md": f"# d d\n\n{KEYS.replace('weekly', 'daily')}"})
    repository.git("merge", "-q", "--no-ff", "-m", "Merge", "side", day="2026-01-13")
    repository.commit("2026-01-14", {"outside.md": "# Changed\n"})
    repository.write({"new.md": "# New\n", "*.md": f"# *\n\n{KEYS}\nNot committed.\n"})
    together, alone = asking(), asking()
    alone.recall.file = together.recall.file.with_name("other.sqlite3")

    told = together.blamer.tell([Lines(name, blob(together.vault.read(name)), 1, 9) for name in names])

    assert told == [alone.tell(name, 1, 9) for name in names]
    assert told[4] and told[4].revision and told[4].revision.when.day == 1
    assert together.commands().count("log") == 2  # the walk, and the names of the revisions


EDITS = st.lists(
    st.tuples(st.sampled_from(["a.md", "b.md", "日本.md"]), st.integers(0, 4), st.sampled_from("wxyz")),
    min_size=3,
    max_size=6,
)


@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(edits=EDITS, dirty=st.booleans())
def test_what_is_told_is_what_git_blame_tells(
    tmp_path_factory: pytest.TempPathFactory, edits: list[tuple[str, int, str]], dirty: bool
) -> None:
    made = Repository(tmp_path_factory.mktemp("random") / "vault")
    texts = {name: [f"{name} {number}" for number in range(5)] for name in ("a.md", "b.md", "日本.md")}
    asked = Asking(made)

    for day, (name, at, word) in enumerate(edits, 1):
        texts[name][at] += f" {word}"
        notes: dict[str, str | bytes] = {path: "\n".join(lines) + "\n" for path, lines in texts.items()}
        if dirty and day == len(edits):
            made.write(notes)
        else:
            made.commit(f"2026-01-{day:02}", notes)
        told = asked.blamer.tell([Lines(path, blob(asked.vault.read(path)), 1, 5) for path in texts])
        for path, one in zip(texts, told, strict=True):
            git = [line.split(" ")[0].lstrip("^") for line in made.git("blame", "-ls", path).split("\n")]
            ours = [
                (run.revision.revision if run.revision else "0" * 40)
                for run in (one.runs if one else ())
                for _ in range(run.start, run.end + 1)
            ]
            assert [name[:39] for name in ours] == [name[:39] for name in git]
    asked.recall.close()


# -- another repository inside the vault -----------------------------------------------------


@pytest.fixture
def clone(repository: Repository) -> Repository:
    """A repository that was put into the vault, with a note of its own."""
    repository.commit("2026-01-05", {"own.md": "# 自分\n\nOur own owl.\n"}, who="Mio")
    clone = Repository(repository.folder / "借り物", top=repository.folder / "借り物")
    clone.commit("2026-01-06", {"鍵.md": KEYS}, who="Ren", message="Write keys down")
    (clone.folder / "鍵.md").rename(clone.folder / "古い鍵.md")
    clone.commit("2026-01-07", who="Ren", message="Call them old")
    return clone


def test_a_note_of_another_repository_inside_the_vault_has_its_writers_and_history_there(
    repository: Repository, clone: Repository, open_memory: Open
) -> None:
    memory = open_memory(repository.folder)
    anchor = Anchor.parse("借り物/古い鍵.md")

    told, lines = memory.past.blame(anchor)
    events = memory.past.history(anchor)

    assert told.revision and (told.revision.author, told.uncommitted) == ("Ren", 0)
    assert lines[0] == "# Keys"
    assert [(event.kind, event.anchor.path) for event in events] == [
        ("appeared", "借り物/鍵.md"),
        ("renamed", "借り物/古い鍵.md"),
    ]
    clone.write({"古い鍵.md": KEYS + "\nNew here.\n"})
    assert memory.past.blame(anchor)[0].uncommitted == 2


def test_hits_of_two_repositories_each_have_their_writers(
    repository: Repository, clone: Repository, open_memory: Open
) -> None:
    memory = open_memory(repository.folder, embedder="none")

    answer = memory.search("rotate key own owl", blame=True, min_score=-1)

    authors = {h.path: h.provenance.revision.author for h in answer if h.provenance and h.provenance.revision}
    assert authors == {"own.md": "Mio", "借り物/古い鍵.md": "Ren"}


@pytest.mark.parametrize(
    "command",
    [
        ["diff", "借り物/古い鍵.md"],
        ["facts", "借り物/古い鍵.md"],
        ["blame", "借り物/古い鍵.md", "--as-of", "HEAD"],
    ],
)
def test_what_only_the_other_repository_can_tell_names_it_and_what_to_run(
    repository: Repository, clone: Repository, run: Callable[..., Ran], command: list[str]
) -> None:
    ran = run(*command, "--vault", str(repository.folder))

    assert ran.code != 0
    assert "belongs to another repository, the one in `借り物`" in ran.err
    assert f"--vault {clone.folder}" in ran.err
