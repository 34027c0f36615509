"""Nothing forbidden and no secret gets in, by any door, and what a reader may not see it never hears of."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import write_notes
from repositories import Repository

from memtool.embedders.fake import FakeEmbedder
from memtool.errors import MemtoolError, PolicyError, SecretError
from memtool.identity import HUMAN, Signature
from memtool.memory.memory import Memory
from memtool.policy import gate
from memtool.vault import Vault, digest
from memtool.writer import Change

AGENT = Signature("agent/scribe")
TOKEN = "gh" + "p_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
RULES = """
[scope."people"]
owner = "human"
[scope."log"]
append_only = true
[scope."runbooks"]
review = true
[scope."agents/planner"]
readers = ["agent/planner"]
"""
NOTES = {
    "people/sam.md": "# Sam\n\nSam likes tea.\n",
    "log/2026.md": "# Log\n\nFirst of all.\n",
    "runbooks/deploy.md": "# Deploy\n\nRun it by hand.\n",
    "agents/planner/plan.md": "# Plan\n\nThe ferry leaves at nine.\n",
    "travel/ferry.md": "# Ferry\n\nThe ferry costs nine coins.\n",
}


@pytest.fixture
def ruled(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "vault")
    repository.commit("2026-01-01", {**NOTES, ".memtool/policy.toml": RULES})
    return repository


def opened(repository: Repository, writer: str = "") -> Memory:
    return Memory.open(repository.folder, embedder=FakeEmbedder(), writer=writer)


# -- rules


@pytest.mark.parametrize(
    ("verb", "path", "after"),
    [
        ("edit", "people/sam.md", "# Sam\n\nSam likes coffee.\n"),
        ("edit", "log/2026.md", "# Log\n\nChanged.\n"),
        ("append", "log/2026.md", "# Log\n\nChanged.\n"),  # only says that it appends
        ("edit", "agents/planner/plan.md", "# Plan\n"),
        ("add", "memtool.toml", "commit = false\n"),
    ],
)
def test_an_agent_is_refused_with_the_rule(ruled: Repository, verb: str, path: str, after: str) -> None:
    vault = Vault.open(ruled.folder)
    base = digest(NOTES[path].encode()) if path in NOTES else None

    with pytest.raises(PolicyError) as refused:
        gate.admit(vault, Change(path, after.encode(), base), AGENT, verb)
    gate.admit(vault, Change(path, after.encode(), base), HUMAN, verb)

    assert path in refused.value.what
    assert refused.value.why


def test_lines_may_be_added_where_none_may_be_changed(ruled: Repository) -> None:
    with opened(ruled, "agent/scribe") as memory:
        memory.append("log/2026.md", "Second of all.")

        with pytest.raises(PolicyError):
            memory.set("log/2026.md", "type", "episodic")


def test_an_agents_change_waits_for_review_until_a_person_commits_that_note(ruled: Repository) -> None:
    from memtool.review import reviews

    with opened(ruled, "agent/scribe") as memory:
        memory.append("runbooks/deploy.md", "Then look at it.")
        waiting = [one.path for one in reviews.waiting(memory.vault)]
    message = ruled.git("log", "-1", "--format=%B")
    ruled.commit("2026-01-03", {"runbooks/deploy.md": "# Deploy\n\nReviewed.\n"})

    assert "Memtool-Review: needed" in message
    assert waiting == ["runbooks/deploy.md"]
    assert reviews.waiting(Vault.open(ruled.folder)) == []


def test_what_an_agent_wrote_past_the_door_is_not_committed_in_its_name(ruled: Repository) -> None:
    ruled.write({"people/sam.md": "# Sam\n\nSam likes mud.\n"})
    with opened(ruled) as memory:
        report = memory.commit(by=AGENT)

    assert [finding.code for finding in report.findings] == ["policy"]
    assert report.left == ("people/sam.md",)


# -- reading


def test_an_agent_finds_only_what_it_may_read(ruled: Repository) -> None:
    with opened(ruled, "agent/scribe") as memory:
        answer = memory.search("ferry nine", mode="lexical", min_score=-1)
    with opened(ruled, "agent/planner") as other:
        own = other.search("ferry nine", mode="lexical", min_score=-1)

    paths = {hit.path for hit in [*answer, *answer.misses]}
    assert paths == {"travel/ferry.md"}
    assert answer.freshness.notes == len(NOTES) - 1
    assert "agents/planner/plan.md" in {hit.path for hit in own}


@pytest.mark.parametrize("path", ["agents/planner/plan.md", "agents/planner/nothing.md"])
def test_a_note_that_may_not_be_read_is_refused_in_every_way_whether_or_not_it_is_there(
    ruled: Repository, path: str
) -> None:
    with opened(ruled, "agent/scribe") as memory:
        ways = {
            "show": lambda: memory.show(path),
            "as of": lambda: memory.show(path, as_of="HEAD"),
            "history": lambda: memory.past.history(path),
            "blame": lambda: memory.past.blame(path),
            "diff": lambda: memory.past.diff(path),
            "cite": lambda: memory.cite(path),
            "resolve": lambda: memory.resolve(f"{path}:1-1@0123456789ab"),
            "facts": lambda: memory.facts(path),
        }
        said = set()
        for name, way in ways.items():
            with pytest.raises(PolicyError) as refused:
                way()
                pytest.fail(f"{name} told of it")
            said.add(str(refused.value))

    assert len(said) == 1


def test_a_link_into_a_closed_folder_opens_nothing(ruled: Repository) -> None:
    (ruled.folder / "travel" / "door.md").symlink_to("../agents/planner/plan.md")
    with opened(ruled, "agent/scribe") as memory, pytest.raises(PolicyError):
        memory.show("travel/door.md")


def test_the_past_of_a_closed_folder_stays_closed_under_another_name(ruled: Repository) -> None:
    ruled.git("mv", "agents/planner/plan.md", "travel/plan.md")
    ruled.commit("2026-01-02")
    ruled.commit("2026-01-03", {"travel/plan.md": "# Plan\n\nThe ferry leaves at ten.\n"})
    with opened(ruled, "agent/scribe") as memory:
        events = memory.past.history("travel/plan.md")
        past = memory.search("ferry nine", mode="lexical", min_score=-1, as_of="2026-01-01")

    assert "agents/planner" not in repr(events)
    assert {hit.path for hit in past} == {"travel/ferry.md"}


def test_findings_speak_of_no_note_that_may_not_be_read(ruled: Repository) -> None:
    ruled.write({"agents/planner/odd.md": "---\ntitle: [\n---\n\nOdd.\n"})
    with opened(ruled, "agent/scribe") as memory:
        hidden = [finding for finding in memory.check() if "planner" in finding.path]
    with opened(ruled) as memory:
        shown = [finding for finding in memory.check() if "planner" in finding.path]

    assert (hidden, len(shown)) == ([], 1)


def test_the_catalog_lists_for_all_what_all_may_read_and_for_each_what_it_may(ruled: Repository) -> None:
    with opened(ruled) as memory:
        memory.catalog()
    with opened(ruled, "agent/planner") as memory:
        own = "\n".join(text for _, text in memory.show("MEMORY.md"))
    with opened(ruled, "agent/scribe") as memory:
        others = "\n".join(text for _, text in memory.show("MEMORY.md"))
    on_disk = (ruled.folder / "MEMORY.md").read_text()

    assert "agents/planner/plan.md" in own
    assert "agents/planner" not in others + on_disk
    assert "travel/ferry.md" in others


# -- secrets


@pytest.mark.parametrize("writer", ["human", "agent/scribe"])
def test_a_secret_is_refused_by_line_and_kind_and_never_told(ruled: Repository, writer: str) -> None:
    with opened(ruled, writer) as memory, pytest.raises(SecretError) as refused:
        memory.append("travel/ferry.md", f"The token is {TOKEN}.")

    assert "line 4 looks like a GitHub token" in refused.value.what
    assert TOKEN not in str(refused.value)
    assert TOKEN not in (ruled.folder / "travel" / "ferry.md").read_text()
    assert all(TOKEN.encode() not in file.read_bytes() for file in ruled.folder.rglob("*") if file.is_file())


def test_the_reason_of_a_change_holds_no_secret_either(ruled: Repository) -> None:
    with opened(ruled) as memory, pytest.raises(SecretError):
        memory.append("travel/ferry.md", "More.", by=Signature("human", "", f"because of {TOKEN}"))


def test_a_person_may_let_a_secret_pass_with_a_reason_and_an_agent_may_not(ruled: Repository) -> None:
    reason = Signature("human", "", "an example of the vendor's")
    with opened(ruled) as memory:
        memory.allow_secrets = (4,)
        with pytest.raises(MemtoolError):
            memory.append("travel/ferry.md", "パスワードは hunter2 です。", by=HUMAN)
        with pytest.raises(SecretError):
            memory.append("travel/ferry.md", "パスワードは hunter2 です。", by=AGENT)
        memory.append("travel/ferry.md", "パスワードは hunter2 です。", by=reason)

    assert "Memtool-Allow-Secret: travel/ferry.md:4" in ruled.git("log", "-1", "--format=%B")


def test_a_mark_on_the_line_counts_where_a_person_wrote_it() -> None:
    text = b"The password is hunter2. <!-- memtool: allow-secret from the manual -->\n"

    assert gate.unmarked(b"", text, HUMAN) == []
    assert len(gate.unmarked(b"", text, AGENT)) == 1
    assert len(gate.unmarked(b"", text.replace(b"from the manual ", b""), HUMAN)) == 1


def test_a_secret_that_stands_there_already_stops_no_change(ruled: Repository) -> None:
    ruled.commit("2026-01-02", {"travel/ferry.md": f"# Ferry\n\nThe token is {TOKEN}.\n"})
    with opened(ruled, "agent/scribe") as memory:
        memory.append("travel/ferry.md", "It leaves at nine.")

    assert ruled.git("status", "--porcelain", "travel") == ""


def test_a_persons_own_edit_is_warned_about_held_back_and_never_rewritten(ruled: Repository) -> None:
    text = f"# Ferry\n\nThe token is {TOKEN}.\n"
    ruled.write({"travel/ferry.md": text, "travel/boat.md": "# Boat\n"})
    with opened(ruled) as memory:
        report, found = memory.commit(), memory.check()
        held = ruled.git("status", "--porcelain")
        memory.allow_secret("travel/ferry.md:3", Signature("human", "", "rotated already"))
        again = memory.commit()

    assert [commit.paths for commit in report.commits] == [("travel/boat.md",)]
    assert [finding.code for finding in report.findings] == ["secret"]
    assert ("secret", "travel/ferry.md", 3) in {finding[:3] for finding in found}
    assert held == "M travel/ferry.md"
    assert TOKEN not in repr(report) + repr(found)
    assert [commit.paths for commit in again.commits] == [("travel/ferry.md",)]
    assert (ruled.folder / "travel" / "ferry.md").read_text() == text
    assert TOKEN not in (ruled.folder / ".memtool" / "state" / "allowed.json").read_text()


def test_an_agents_change_does_not_carry_a_persons_secret_into_history(ruled: Repository) -> None:
    ruled.write({"travel/ferry.md": f"{NOTES['travel/ferry.md']}The token is {TOKEN}.\n"})
    with opened(ruled, "agent/scribe") as memory:
        memory.append("travel/ferry.md", "It leaves at nine.")

    assert TOKEN not in ruled.git("log", "-p", "--all")
    assert "It leaves at nine." in (ruled.folder / "travel" / "ferry.md").read_text()


def test_no_secret_of_a_note_goes_to_an_endpoint_or_into_the_catalog(tmp_path: Path) -> None:
    import json

    from embeddings_server import serve

    notes = {"a.md": f"---\ntitle: Deploy\ndescription: token {TOKEN}\n---\n\nUse {TOKEN} to deploy.\n"}
    write_notes(tmp_path, notes)
    with serve() as server:
        from memtool.embedders.openai import OpenAIEmbedder

        embedder = OpenAIEmbedder(
            base_url=server.base_url, model="any", environment={"OPENAI_API_KEY": "none"}
        )
        with Memory.open(tmp_path, embedder=embedder) as memory:
            memory.refresh()
            memory.embed()
            memory.search(f"what is {TOKEN}")
            memory.catalog()
        sent = json.dumps(server.requests, default=repr)

    assert "Deploy" in sent
    assert TOKEN not in sent
    assert TOKEN not in (tmp_path / "MEMORY.md").read_text()
    assert TOKEN in (tmp_path / "a.md").read_text()


def test_made_up_secrets_of_every_kind_are_stopped_and_never_repeated(ruled: Repository) -> None:
    import planted

    vault, passed = Vault.open(ruled.folder), []
    for one in planted.planted(100, seed=7, fresh=True):
        try:
            gate.admit(vault, Change("travel/new.md", one.text.encode()), AGENT, "add")
            passed.append(one.text)
        except SecretError as refused:
            said = str(refused)
            assert not any(line in said for line in one.value.split("\n"))

    assert len(passed) <= 2


@pytest.mark.parametrize(
    "path",
    ["../outside.md", "a/../../outside.md", "..%2foutside.md", "....//outside.md", "..", "．．/outside.md"],
)
def test_a_path_that_leads_out_is_refused_before_any_rule_is_asked(ruled: Repository, path: str) -> None:
    outside = ruled.folder.parent / "outside.md"
    outside.write_text("# Outside\n")
    with opened(ruled, "agent/scribe") as memory:
        for way in (
            lambda: memory.show(path),
            lambda: memory.append(path, "More."),
            lambda: memory.move(path, "x.md"),
        ):
            with pytest.raises(MemtoolError):
                way()

    assert outside.read_text() == "# Outside\n"


def test_a_note_in_another_encoding_is_read_for_secrets_too(ruled: Repository) -> None:
    data = "# 鍵\n\nパスワードは hunter2 です。\n".encode("cp932")

    with pytest.raises(SecretError) as refused:
        gate.admit(Vault.open(ruled.folder), Change("travel/key.md", data), HUMAN, "add")

    assert "line 3" in refused.value.what
