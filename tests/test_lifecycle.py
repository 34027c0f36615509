"""Notes fade without use, are offered for merging, come back by use; nothing is ever lost by it."""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from conftest import Ran, snapshot, write_notes
from hypothesis import given
from hypothesis import strategies as st

from memtool import kinds
from memtool.conflicts import likeness
from memtool.errors import GitError, PathError, UsageError
from memtool.identity import signature
from memtool.lifecycle import merged
from memtool.lifecycle.strength import importance, is_lasting, strength
from memtool.links.surroundings import Surroundings
from memtool.memory.memory import Memory
from memtool.usage import usage
from memtool.usage.usage import Use
from memtool.vault import Vault

NOW = "2026-03-01"
TODAY = date(2026, 3, 1)
THEN = datetime(2026, 3, 1, tzinfo=UTC).timestamp()

OLD = "---\ntype: episodic\ncreated: 2019-05-0{0}\n---\n\n# Day {0}\n\nHana mended pump {0}{0}7.\n"


def old(number: int, key: str = "") -> str:
    return OLD.format(number).replace("---\n", f"---\n{key}: true\n" if key else "---\n", 1)


def dated(day: str, body: str, head: str = "") -> str:
    return f"---\n{head}created: {day}\n---\n\n{body}"


NOTES: dict[str, str | bytes] = {
    "journal/day-1.md": old(1),
    "journal/day-2.md": old(2, "pinned"),
    "journal/day-3.md": old(3, "frozen"),
    "journal/記録.md": dated("2018-01-01", "# 記録\n\n井戸のポンプを直した。\n", "type: episodic\n").encode(),
    "core.md": dated(
        "2010-01-01", "# Restore\n\nRun the restore script.\n", "type: procedural\ncore: true\n"
    ),
    "important.md": dated("2010-01-01", "# Law\n\nKeep it ten years.\n", "type: semantic\nimportance: 0.9\n"),
    "draft.md": "---\ntype: working\ncreated: 2026-01-01\n---\n\n# Draft\n\nHalf a thought about hoses.\n",
    "links.md": "# Links\n\nSee [day one](journal/day-1.md) and [[記録]].\n",
}


def commit_all(folder: Path) -> None:
    for arguments in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "Start"]):
        subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


def commits(folder: Path) -> list[str]:
    out = subprocess.run(
        ["git", "log", "--format=%B%x00"], cwd=folder, check=True, capture_output=True, text=True
    )
    return [text.strip() for text in out.stdout.split("\0") if text.strip()]


def content(folder: Path) -> dict[str, bytes]:
    return {path: data for path, (data, _) in snapshot(folder).items()}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = write_notes(tmp_path / "vault", NOTES)
    commit_all(folder)
    monkeypatch.setenv("MEMTOOL_EMBEDDER", "none")
    monkeypatch.setenv("MEMTOOL_VAULT", str(folder))
    return folder


@pytest.fixture
def memory(here: Path, open_memory: Callable[..., Memory]) -> Memory:
    return open_memory(here, embedder="none")


# Strength

KINDS = st.sampled_from(["", "nonsense", *kinds.KINDS])
USES = st.builds(
    Use,
    shown=st.integers(0, 50),
    opened=st.integers(0, 50),
    cited=st.integers(0, 50),
    good=st.integers(0, 20),
    bad=st.integers(0, 20),
    last=st.floats(0, THEN),
)
DAYS = st.dates(date(2000, 1, 1), date(2030, 1, 1))


@given(use=USES, kind=KINDS, born=DAYS, today=DAYS, lasting=st.booleans())
def test_strength_lies_between_none_and_full(
    use: Use, kind: str, born: date, today: date, lasting: bool
) -> None:
    value = strength(use, today, kind=kind, born=born.isoformat(), lasting=lasting).value

    assert 0 <= value <= 1


@given(use=USES, kind=KINDS, born=DAYS, one=DAYS, other=DAYS, lasting=st.booleans())
def test_strength_never_rises_with_time_alone(
    use: Use, kind: str, born: date, one: date, other: date, lasting: bool
) -> None:
    early, late = (
        strength(use, day, kind=kind, born=born.isoformat(), lasting=lasting).value
        for day in sorted((one, other))
    )

    assert late <= early
    assert late == early or not lasting


@given(use=USES, kind=KINDS, event=st.sampled_from(["opened", "cited", "good"]))
def test_use_and_good_feedback_raise_strength(use: Use, kind: str, event: str) -> None:
    more = use._replace(**{event: getattr(use, event) + 1}, last=THEN)

    assert strength(more, TODAY, kind=kind, born="2015-01-01").value >= (
        strength(use, TODAY, kind=kind, born="2015-01-01").value
    )


def test_an_episode_fades_by_a_hundredth_a_day() -> None:
    fresh = strength(Use(), TODAY, kind="episodic", born="2026-03-01").value
    old = strength(Use(), TODAY, kind="episodic", born="2025-11-21").value

    assert old == pytest.approx(fresh * math.exp(-0.01 * 100), rel=0.02)


def test_bad_feedback_makes_weaker() -> None:
    use = Use(opened=2, last=THEN)

    assert strength(use._replace(bad=3), TODAY).value < strength(use, TODAY).value


@pytest.mark.parametrize(
    ("said", "kind", "lasting"),
    [
        ({"pinned": "true"}, "episodic", True),
        ({"core": "yes"}, "semantic", True),
        ({"importance": "9"}, "procedural", True),
        ({"importance": "高"}, "semantic", True),
        ({"core": "true"}, "episodic", False),
        ({"importance": "0.9"}, "", False),
        ({"pinned": "false"}, "semantic", False),
    ],
)
def test_what_is_pinned_or_core_does_not_fade(said: dict[str, str], kind: str, lasting: bool) -> None:
    assert is_lasting(said, kind) is lasting


@pytest.mark.parametrize("odd", ["", "very", "nan", "inf", "-3", "1e400", "99", None, ["1"]])
def test_an_odd_importance_is_still_between_none_and_full(odd: object) -> None:
    assert 0 <= importance(odd) <= 1


# The plan


def test_a_plan_changes_nothing_and_names_every_step_with_its_reason(memory: Memory, here: Path) -> None:
    before = content(here)

    plan = memory.lifecycle(now=NOW)

    assert {step.path: step.verb for step in plan.steps} == {
        "draft.md": "archive",
        "journal/day-1.md": "archive",
        "journal/記録.md": "archive",
    }
    assert all(
        "faded: strength 0.0" in step.reason or "expire after 14" in step.reason for step in plan.steps
    )
    assert content(here) == before
    assert {finding.what for finding in plan.findings} >= {
        "1 note left alone: pinned",
        "1 note left alone: frozen",
    }


def test_the_same_vault_gives_the_same_plan(memory: Memory) -> None:
    assert memory.lifecycle(now=NOW).digest == memory.lifecycle(now=NOW).digest


def test_every_step_is_a_commit_of_its_own_and_links_follow(memory: Memory, here: Path) -> None:
    plan = memory.lifecycle(now=NOW)

    results = memory.enact(plan.digest)

    assert [result.finding for result in results] == [None] * 3
    assert len({result.revision for result in results}) == 3
    assert (here / "archive/journal/day-1.md").read_bytes() == str(NOTES["journal/day-1.md"]).encode()
    assert "[day one](archive/journal/day-1.md)" in (here / "links.md").read_text()
    assert all(
        "Memtool-Writer: agent/memtool" in text and "Memtool-Reason: archive: " in text
        for text in commits(here)[:3]
    )


def test_undo_of_the_session_brings_every_byte_back(memory: Memory, here: Path) -> None:
    before = content(here)
    plan = memory.lifecycle(now=NOW)
    memory.enact(plan.digest, session="spring")

    memory.undo(session="spring")

    assert content(here) == before


def test_one_step_can_be_undone_alone(memory: Memory, here: Path) -> None:
    plan = memory.lifecycle(now=NOW)
    results = memory.enact(plan.digest)

    memory.undo(results[1].revision)

    assert (here / results[1].step.path).exists()
    assert (here / results[0].step.to).exists()


def test_a_note_that_changed_since_the_plan_is_left_out(memory: Memory, here: Path) -> None:
    plan = memory.lifecycle(now=NOW)
    (here / "draft.md").write_text("# Draft\n\nA whole thought by now.\n")

    results = {result.step.path: result for result in memory.enact(plan.digest)}

    assert results["draft.md"].finding
    assert "was changed since the plan was made" in results["draft.md"].finding.what
    assert (here / "draft.md").read_text() == "# Draft\n\nA whole thought by now.\n"
    assert results["journal/day-1.md"].revision


def test_a_note_that_was_opened_since_the_plan_stays(memory: Memory, here: Path) -> None:
    plan = memory.lifecycle(now=NOW)
    usage.record(memory.vault, "opened", ["journal/day-1.md"], now=plan.made + 60)

    results = {result.step.path: result for result in memory.enact(plan.digest)}

    assert "was used since" in str(results["journal/day-1.md"].finding)
    assert (here / "journal/day-1.md").exists()


def test_a_person_s_edits_that_are_not_committed_stay_theirs(memory: Memory, here: Path) -> None:
    (here / "journal/day-1.md").write_text(old(1) + "\nAnd the valve.\n")
    before = content(here)
    plan = memory.lifecycle(now=NOW)

    assert all(result.revision for result in memory.enact(plan.digest))

    theirs = [text for text in commits(here) if "Memtool-Writer: human" in text]
    assert any("day-1" in text for text in theirs)
    memory.undo(session=f"lifecycle-{plan.digest[:12]}")
    assert content(here) == before


def test_a_note_with_staged_changes_is_left_to_its_person(memory: Memory, here: Path) -> None:
    (here / "draft.md").write_text("---\ntype: working\ncreated: 2026-01-01\n---\n\nStaged.\n")
    subprocess.run(["git", "add", "draft.md"], cwd=here, check=True)
    plan = memory.lifecycle(now=NOW)

    results = {result.step.path: result for result in memory.enact(plan.digest)}

    assert "you have staged changes" in str(results["draft.md"].finding)
    assert (here / "draft.md").exists()
    assert results["journal/day-1.md"].revision


def test_two_versions_of_one_note_are_left_alone(memory: Memory, here: Path) -> None:
    marks = "<<<<<<< ours\none\n=======\ntwo\n>>>>>>> theirs\n"
    (here / "journal/day-1.md").write_text(old(1) + marks)

    plan = memory.lifecycle(now=NOW)

    assert "journal/day-1.md" not in {step.path for step in plan.steps}
    assert "journal/day-1.md" not in {
        source.path for step in memory.fold(now=NOW).steps for source in step.sources
    }


def test_a_plan_nobody_made_is_not_carried_out(memory: Memory) -> None:
    for digest in ("0" * 64, "../../x", "", "12345678"):
        with pytest.raises(UsageError):
            memory.enact(digest)


def test_a_tampered_plan_is_no_plan(memory: Memory, here: Path) -> None:
    digest = memory.lifecycle(now=NOW).digest
    file = here / ".memtool/state/plans" / f"{digest}.json"
    file.write_text(file.read_text().replace("draft.md", "core.md"))

    with pytest.raises(UsageError, match="there is no plan"):
        memory.enact(digest)


def test_most_of_a_vault_is_archived_only_when_somebody_accepts_it(
    tmp_path: Path, open_memory: Callable[..., Memory]
) -> None:
    folder = write_notes(
        tmp_path / "v", {f"n{n}.md": OLD.format(n % 9).replace("Day", f"Day {n}") for n in range(30)}
    )
    commit_all(folder)
    memory = open_memory(folder, embedder="none")
    plan = memory.lifecycle(now=NOW)

    with pytest.raises(UsageError, match="would be archived at once"):
        memory.enact(plan.digest)

    assert not (folder / "archive").exists()
    assert all(result.revision for result in memory.enact(plan.digest, accept=True))


def test_without_git_nothing_is_done_because_nothing_could_be_undone(
    tmp_path: Path, open_memory: Callable[..., Memory]
) -> None:
    memory = open_memory(write_notes(tmp_path / "v", NOTES), embedder="none")
    plan = memory.lifecycle(now=NOW)

    with pytest.raises(GitError, match="nothing was done"):
        memory.enact(plan.digest)


def test_hooks_and_signatures_get_their_turn_at_every_step(memory: Memory, here: Path) -> None:
    hook = here / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho x >> .git/ran\n")
    hook.chmod(0o755)
    before = content(here)
    plan = memory.lifecycle(now=NOW)

    results = memory.enact(plan.digest)

    assert all(result.revision for result in results)
    assert (here / ".git/ran").read_text().count("x") == len(results)
    memory.undo(session=f"lifecycle-{plan.digest[:12]}")
    assert content(here) == before


def test_what_the_policy_keeps_for_people_is_left_alone(memory: Memory, here: Path) -> None:
    (here / ".memtool").mkdir(exist_ok=True)
    (here / ".memtool/policy.toml").write_text('[scope."journal"]\nowner = "human"\n')

    plan = memory.lifecycle(now=NOW)

    assert [step.path for step in plan.steps] == ["draft.md"]
    assert any("journal belongs to human" in finding.what for finding in plan.findings)


def test_what_not_everybody_may_read_never_goes_where_all_may(memory: Memory, here: Path) -> None:
    rules = '[scope."journal"]\nreaders = ["agent/memtool", "agent/nurse"]\n'
    (here / ".memtool").mkdir(exist_ok=True)
    (here / ".memtool/policy.toml").write_text(rules)

    assert [step.path for step in memory.lifecycle(now=NOW).steps] == ["draft.md"]


def test_a_note_without_a_day_never_fades(memory: Memory, here: Path) -> None:
    (here / "undated.md").write_text("---\ntype: episodic\n---\n\n# When\n\nNobody knows.\n")

    assert "undated.md" not in {step.path for step in memory.lifecycle(now=NOW).steps}


# The archive


def test_an_archived_note_is_found_only_where_the_archive_is_searched(memory: Memory, here: Path) -> None:
    assert [hit.path for hit in memory.search("mended pump 117", mode="lexical", limit=1)] == [
        "journal/day-1.md"
    ]
    memory.enact(memory.lifecycle(now=NOW).digest)

    plain = memory.search("mended pump 117", mode="lexical")
    both = memory.search("mended pump 117", mode="lexical", archived=True)
    japanese = memory.search("井戸のポンプ", mode="lexical", archived=True)

    assert "archive/journal/day-1.md" not in [hit.path for hit in plain]
    assert both[0].path == "archive/journal/day-1.md"
    assert japanese[0].path == "archive/journal/記録.md"
    assert memory.search("mended pump 117", mode="lexical", path="archive/*")[0].path == both[0].path


def test_a_vault_without_an_archive_is_searched_as_ever(memory: Memory) -> None:
    from memtool.search import search
    from memtool.search.query import Query

    memory.refresh()

    assert search._allowed(memory.index, Query("pump")) is None


def test_the_catalog_lists_no_archived_note(memory: Memory, here: Path) -> None:
    memory.enact(memory.lifecycle(now=NOW).digest)

    memory.catalog()

    text = (here / "MEMORY.md").read_text()
    assert "day-1" not in text
    assert "day-2" in text


def test_an_archived_note_that_is_opened_twice_is_offered_back(memory: Memory, here: Path) -> None:
    memory.enact(memory.lifecycle(now=NOW).digest)
    for _ in range(2):
        usage.record(memory.vault, "opened", ["archive/journal/記録.md"], now=THEN)

    plan = memory.lifecycle(now=NOW)

    assert [(step.verb, step.path, step.to) for step in plan.steps] == [
        ("restore", "archive/journal/記録.md", "journal/記録.md")
    ]
    memory.enact(plan.digest)
    assert (here / "journal/記録.md").read_bytes() == NOTES["journal/記録.md"]
    assert "restore" not in {step.verb for step in memory.lifecycle(now=NOW).steps}


def test_a_restored_note_is_where_it_was_and_links_follow(memory: Memory, here: Path) -> None:
    before = content(here)
    memory.archive("journal/day-1.md")

    assert memory.restore("archive/journal/day-1.md") == "journal/day-1.md"

    assert content(here) == before
    with pytest.raises(UsageError, match="is not archived"):
        memory.restore("journal/day-1.md")


def test_a_note_is_restored_by_the_path_it_had_before_too(memory: Memory, here: Path) -> None:
    memory.archive("journal/記録.md")

    assert memory.restore("journal/記録.md") == "journal/記録.md"

    assert (here / "journal/記録.md").read_bytes() == NOTES["journal/記録.md"]
    with pytest.raises(PathError, match=r"no note `nothing\.md`"):
        memory.restore("nothing.md")


def test_the_use_of_a_note_counts_under_both_its_names(memory: Memory) -> None:
    usage.record(memory.vault, "opened", ["archive/journal/day-1.md"], now=THEN)

    assert "journal/day-1.md" not in {step.path for step in memory.lifecycle(now=NOW).steps}


# Said twice

DOOR = "# Door\n\nThe spare key hangs by the east door.\nHana keeps the list of who has one.\n"
KEY = "# 鍵\n\n予備の鍵は東の扉の横にある。\n名簿は花が持っている。\n"
HOSE = (
    "# Hose\n\nThe hose in the old shed by the west wall is {0} metres long, green, and was bought by Omar.\n"
)
TWICE: dict[str, str | bytes] = {
    "a.md": dated("2025-10-01", DOOR),
    "b.md": dated("2025-11-02", f"{DOOR}\nAsk.\n"),
    "鍵1.md": dated("2025-01-01", KEY).encode(),
    "鍵2.md": dated("2025-02-01", f"{KEY}以上。\n").encode(),
    "c.md": dated("2025-10-01", HOSE.format(30)),
    "d.md": dated("2025-11-01", HOSE.format(40)),
    "who.md": "# Who\n\nSee [[b]].\n",
}


@pytest.fixture
def twice(tmp_path: Path, open_memory: Callable[..., Memory]) -> Memory:
    folder = write_notes(tmp_path / "twice", TWICE)
    commit_all(folder)
    return open_memory(folder, embedder="none")


def test_notes_that_say_the_same_are_merged_and_no_line_is_lost(twice: Memory) -> None:
    root = twice.vault.root
    before = content(root)
    plan = twice.lifecycle(now="2025-12-01")

    assert [(step.verb, step.path, step.sources[1].path) for step in plan.steps] == [
        ("merge", "b.md", "a.md"),
        ("merge", "鍵2.md", "鍵1.md"),
    ]
    assert all(result.revision for result in twice.enact(plan.digest))

    kept = (root / "b.md").read_text()
    assert kept.startswith(str(TWICE["b.md"]).rstrip("\n"))
    assert "## Merged from [[archive/a]] (2025-10-01)" in kept
    gone = (root / "archive/a.md").read_text()
    assert gone.replace('superseded_by: "[[b]]"\n', "") == TWICE["a.md"]
    assert "superseded_by" in gone
    for path in ("a.md", "b.md"):
        lines = [line for line in str(TWICE[path]).split("---\n")[2].split("\n") if line]
        assert all(line in kept for line in lines)
    twice.undo(session=f"lifecycle-{plan.digest[:12]}")
    assert content(root) == before


def test_notes_that_differ_in_a_number_are_told_apart_and_not_merged(twice: Memory) -> None:
    plan = twice.lifecycle(now="2025-12-01")

    assert not {"c.md", "d.md"} & {source.path for step in plan.steps for source in step.sources}
    assert [finding.path for finding in plan.findings if finding.code == "lifecycle-differs"] == ["c.md"]


def test_notes_are_compared_by_meaning_where_they_have_vectors(
    tmp_path: Path, open_memory: Callable[..., Memory]
) -> None:
    import numpy as np

    def embed(texts: Sequence[str]) -> object:
        return np.array([[1.0, 0.1 if "lorry" in text or "truck" in text else 9.0] for text in texts])

    notes = {
        "x.md": "# T\n\nThe lorry is red.\n",
        "y.md": "# T\n\nOur truck has red paint.\n",
        "z.md": "# Z\n\nBees.\n",
    }
    folder = write_notes(tmp_path / "v", dict(notes))
    commit_all(folder)
    memory = open_memory(folder, embedder=embed)
    memory.refresh()
    memory.embed()

    plan = memory.lifecycle(now=NOW)

    assert [(step.path, step.sources[1].path, step.more["by"]) for step in plan.steps] == [
        ("x.md", "y.md", "meaning")
    ]
    memory.enact(plan.digest)
    assert "Our truck has red paint." in (folder / "x.md").read_text()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The door is locked at night.", "The door is not locked at night."),
        ("扉は夜に閉める。", "扉は夜に閉めない。"),
        ("Version 1.2 is in use.", "Version 1.3 is in use."),
    ],
)
def test_a_number_or_a_not_makes_two_lines_contradict(one: str, other: str) -> None:
    assert likeness.contradicts([one], [other]) == (one, other)


def test_lines_with_code_or_tables_are_kept_whole() -> None:
    lines = ["```", "run", "```", "Same.", "| a | b |"]

    assert merged.news(["Same.", "run"], lines) == lines


def test_notes_that_say_how_they_stand_to_each_other_are_not_merged(
    tmp_path: Path, open_memory: Callable[..., Memory]
) -> None:
    body = "# Hours\n\nWe are open on every weekday.\n"
    notes = {
        "old.md": f"---\ncreated: 2025-01-01\n---\n{body}",
        "new.md": f"---\nsupersedes: old.md\n---\n{body}",
    }
    folder = write_notes(tmp_path / "v", dict(notes))
    commit_all(folder)

    assert open_memory(folder, embedder="none").lifecycle(now="2025-06-01").steps == ()


# Moving many


def test_the_surroundings_know_who_links_to_a_note_after_moves(here: Path) -> None:
    around = Surroundings(Vault.open(here))

    assert around.linking("journal/day-1.md") == ["links.md"]
    assert around.linking("archive/記録.md") == ["links.md"]
    (here / "links.md").rename(here / "other.md")
    around.changed([("links.md", "other.md")])
    assert around.linking("journal/day-1.md") == ["other.md"]
    assert "links.md" not in around.paths


# The recall score


def test_by_recall_an_important_fresh_note_comes_before_an_old_one(
    tmp_path: Path, open_memory: Callable[..., Memory]
) -> None:
    text = "# Pump\n\nThe pump in the well was mended by Hana{0}.\n"
    notes = {
        "old.md": f"---\ntype: episodic\ncreated: 2024-01-01\n---\n{text.format('')}",
        "new.md": f"---\ntype: episodic\ncreated: 2026-02-01\nimportance: 0.9\n---\n{text.format(' again')}",
    }
    memory = open_memory(write_notes(tmp_path / "v", dict(notes)), embedder="none")

    plain = memory.search("pump in the well mended by Hana", mode="lexical", now=NOW)
    recall = memory.search("pump in the well mended by Hana", mode="lexical", now=NOW, score="recall")

    assert {hit.path for hit in recall} == {hit.path for hit in plain} == {"old.md", "new.md"}
    assert recall[0].path == "new.md"
    assert {"relevance", "recency", "importance", "weight"} <= recall[0].evidence.keys()
    assert "weight" not in plain[0].evidence
    old = recall[1].evidence
    assert old["relevance"] * 0.5 <= recall[1].score <= old["relevance"]


def test_an_old_note_that_fits_exactly_is_still_found_by_recall(memory: Memory) -> None:
    found = memory.search("Hana mended pump 117", mode="lexical", score="recall", limit=2)

    assert "journal/day-1.md" in [hit.path for hit in found]


def test_the_configured_score_is_taken(here: Path, open_memory: Callable[..., Memory]) -> None:
    (here / "memtool.toml").write_text('score = "recall"\n')
    memory = open_memory(here, embedder="none")

    assert "weight" in memory.search("mended pump", mode="lexical")[0].evidence
    with pytest.raises(UsageError, match="score is"):
        memory.search("pump", score="luck")  # type: ignore[arg-type]


# The command line


def test_the_commands_plan_apply_and_undo(here: Path, run: Callable[..., Ran]) -> None:
    before = content(here)
    told = json.loads(run("lifecycle", "plan", "--json", "--now", NOW).out)

    assert [step["verb"] for step in told["steps"]] == ["archive"] * 3
    assert all(step["reason"] and step["sources"] for step in told["steps"])
    done = run("lifecycle", "apply", told["digest"][:12])
    assert done.code == 0, done.err
    assert "3 of 3 steps done, each a commit of its own" in done.out
    assert run("search", "--lexical", "--archived", "pump 117").out.startswith("archive/journal/day-1.md")
    assert run("undo", "--session", f"lifecycle-{told['digest'][:12]}").code == 0
    assert content(here) == before


def test_a_search_in_vain_says_that_there_is_an_archive(here: Path, run: Callable[..., Ran]) -> None:
    assert run("archive", "journal/記録.md").code == 0

    ran = run("search", "--lexical", "井戸のポンプ")

    assert ran.code == 1
    assert "1 archived note not searched; --archived looks into them" in ran.err


def test_apply_without_a_plan_says_what_to_do(here: Path, run: Callable[..., Ran]) -> None:
    ran = run("lifecycle", "apply")

    assert ran.code == 2
    assert "memtool lifecycle plan" in ran.err


def test_a_vault_in_which_nothing_is_to_be_done_says_so(here: Path, run: Callable[..., Ran]) -> None:
    ran = run("lifecycle", "plan", "--now", "2019-05-04", "--below", "0")

    assert ran.code == 1
    assert "nothing to do" in ran.out


def test_opening_an_archived_note_twice_brings_it_back(here: Path, run: Callable[..., Ran]) -> None:
    with Memory.open(here) as memory:
        memory.archive("core.md", by=signature("agent/a"))
    for _ in range(2):
        assert "memtool restore" in run("show", "archive/core.md").err

    told = json.loads(run("lifecycle", "plan", "--json").out)

    assert ("restore", "archive/core.md", "core.md") in [
        (s["verb"], s["path"], s["to"]) for s in told["steps"]
    ]
    assert run("restore", "archive/core.md").out == "core.md\n"
