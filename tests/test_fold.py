"""Old episodes are summed up in notes that cite their lines; sums are made from originals only."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from chat_server import ChatServer, serve_chat
from conftest import Ran, snapshot, write_notes

from memtool.errors import UsageError
from memtool.identity import signature
from memtool.lifecycle import folded, topics
from memtool.lifecycle.aged import aged
from memtool.memory.memory import Memory
from memtool.note import note
from memtool.usage.usage import Use

NOW = "2026-03-01"


def episode(day: str, topic: str, text: str) -> str:
    tags = f"tags: [{topic}]\n" if topic else ""
    head = f"---\ntype: episodic\ncreated: {day}\n{tags}---\n\n# {topic} {day}\n\n"
    return f"{head}{text}\n\nThe weather was fine.\n"


def vault_notes() -> dict[str, str | bytes]:
    notes: dict[str, str | bytes] = {}
    for day in range(1, 7):
        text = f"Rolled out build 4{day}0 to host ant-{day}, see [[keys]]."
        notes[f"log/2024-05-0{day}.md"] = episode(f"2024-05-0{day}", "deploy", text)
        text = f"請求書{day}00号を田中さんに送った。[控え](控え.md)"
        notes[f"日誌/2024-05-1{day}.md"] = episode(f"2024-05-1{day}", "会計", text).encode()
    notes["日誌/控え.md"] = "# 控え\n\nここにある。\n".encode()
    notes["log/2026-02-20.md"] = episode("2026-02-20", "deploy", "Rolled out build 900.")
    notes["keys.md"] = "# Keys\n\nFirst used in [May](log/2024-05-01.md), then in [[2024-05-02]].\n"
    return notes


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = write_notes(tmp_path / "vault", vault_notes())
    for arguments in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "Start"]):
        subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)
    monkeypatch.setenv("MEMTOOL_EMBEDDER", "none")
    monkeypatch.setenv("MEMTOOL_VAULT", str(folder))
    return folder


@pytest.fixture
def memory(here: Path, open_memory: Callable[..., Memory]) -> Memory:
    return open_memory(here, embedder="none")


def content(folder: Path) -> dict[str, bytes]:
    return {path: data for path, (data, _) in snapshot(folder).items()}


def fold(memory: Memory, **more: object) -> str:
    """Fold, and give the session it was done in."""
    plan = memory.fold(now=NOW, **more)  # type: ignore[arg-type]
    results = memory.enact(plan.digest, kind="fold", accept=True)
    assert [result.finding for result in results] == [None] * len(results)
    return f"fold-{plan.digest[:12]}"


MAY, JAPANESE = "folded/deploy/2024-05.md", "folded/会計/2024-05.md"


def test_old_episodes_of_one_topic_and_month_become_one_note(memory: Memory, here: Path) -> None:
    fold(memory)

    text = (here / MAY).read_text()
    parsed = note.parse(text.encode())
    assert note.get_text(parsed, "type") == "semantic"
    assert note.get_text(parsed, "folded") == "1"
    for day in range(1, 7):
        assert f"2024-05-0{day}: Rolled out build 4{day}0 to host ant-{day}" in text
    assert "請求書300号を田中さんに送った" in (here / JAPANESE).read_text()
    assert not (here / "log/2024-05-01.md").exists()
    assert (here / "log/2026-02-20.md").exists()


def test_every_cited_anchor_leads_to_its_line_after_the_archive(memory: Memory, here: Path) -> None:
    fold(memory)

    for page in (MAY, JAPANESE):
        anchors = folded.anchors((here / page).read_text())
        assert len(anchors) >= 6
        for anchor in anchors:
            found = memory.resolve(anchor)
            assert found.stands
            assert found.anchor
            assert "".join(text for _, text in memory.show(found.anchor)).strip()


def test_the_anchors_follow_a_source_that_was_restored_or_moved(memory: Memory, here: Path) -> None:
    fold(memory)
    cited = folded.anchors((here / MAY).read_text())

    memory.restore("archive/log/2024-05-01.md", by=signature("agent/a"))
    memory.move("archive/log/2024-05-02.md", "log/other.md", by=signature("agent/a"))

    status = {anchor.partition(":")[0][-5:-3]: memory.resolve(anchor).status for anchor in cited}
    assert status == {
        "01": "moved",
        "02": "moved",
        "03": "exact",
        "04": "exact",
        "05": "exact",
        "06": "exact",
    }
    assert "](../../log/2024-05-01.md)" in (here / MAY).read_text()
    assert "](../../log/other.md)" in (here / MAY).read_text()
    plan = memory.fold(now=NOW)
    assert all(finding.code != "fold-edited" for finding in plan.findings)


def test_links_lead_where_they_led_and_from_the_sum_to_its_sources(memory: Memory, here: Path) -> None:
    fold(memory)

    assert "[May](archive/log/2024-05-01.md)" in (here / "keys.md").read_text()
    page = (here / JAPANESE).read_text()
    targets = re.findall(r"^- \[[^\]]*\]\(([^)]+)\)", page, re.M)
    assert len(targets) == 6
    assert all(((here / JAPANESE).parent / target).is_file() for target in targets)
    inside = re.search(r"\[控え\]\(([^)]+)\)", page)
    assert inside
    assert ((here / JAPANESE).parent / inside[1]).is_file()


def test_undo_of_the_session_brings_every_byte_back(memory: Memory, here: Path) -> None:
    before = content(here)

    memory.undo(session=fold(memory))

    assert content(here) == before


def test_folding_again_does_nothing_and_folds_no_sum(memory: Memory, here: Path) -> None:
    fold(memory)

    assert memory.fold(now=NOW).steps == ()
    for day in (21, 22):
        (here / f"log/2026-02-{day}.md").write_text(episode(f"2026-02-{day}", "deploy", f"Build 9{day}."))
    last = memory.fold(now="2036-03-01").steps[-1]
    assert [source.path for source in last.sources] == [f"log/2026-02-{day}.md" for day in (20, 21, 22)]


def test_a_sum_is_made_again_when_an_original_changes_and_other_text_stays(
    memory: Memory, here: Path
) -> None:
    fold(memory)
    page = here / MAY
    page.write_text(
        page.read_text().replace("# deploy, 2024-05\n", "# deploy, 2024-05\n\nHana: a calm month.\n")
    )
    source = here / "archive/log/2024-05-03.md"
    source.write_text(source.read_text().replace("build 430", "build 431"))

    plan = memory.fold(now=NOW)

    assert [(step.verb, step.path) for step in plan.steps] == [("fold", MAY)]
    assert all(result.revision for result in memory.enact(plan.digest, kind="fold"))
    assert "Hana: a calm month." in page.read_text()
    assert "Rolled out build 431" in page.read_text()
    assert "build 430" not in page.read_text()
    assert memory.fold(now=NOW).steps == ()


def test_words_that_a_person_wrote_into_the_generated_part_are_never_replaced(
    memory: Memory, here: Path
) -> None:
    fold(memory)
    page = here / MAY
    page.write_text(page.read_text().replace("Rolled out build 420", "Rolled BACK build 420"))
    edited = page.read_text()
    source = here / "archive/log/2024-05-03.md"
    source.write_text(source.read_text() + "\nMore.\n")

    plan = memory.fold(now=NOW)

    assert plan.steps == ()
    assert [finding.code for finding in plan.findings] == ["fold-edited"]
    assert page.read_text() == edited


def test_a_sum_whose_source_is_gone_stays_as_it_is_and_says_so(memory: Memory, here: Path) -> None:
    fold(memory)
    (here / "archive/log/2024-05-03.md").unlink()

    plan = memory.fold(now=NOW)

    assert [finding.code for finding in plan.findings] == ["fold-source-gone"]
    assert plan.steps == ()


def test_an_episode_that_turns_up_later_joins_the_sum_of_its_month(memory: Memory, here: Path) -> None:
    fold(memory)
    for day in (21, 22, 23, 24):
        (here / f"log/2024-05-{day}.md").write_text(
            episode(f"2024-05-{day}", "deploy", f"Build {day}7 failed.")
        )

    fold(memory)

    assert "Build 227 failed." in (here / MAY).read_text()
    assert "Rolled out build 410" in (here / MAY).read_text()


def test_a_source_that_changed_since_the_plan_keeps_its_sum_from_being_made(
    memory: Memory, here: Path
) -> None:
    plan = memory.fold(now=NOW)
    (here / "log/2024-05-02.md").write_text("# Changed\n\nSince.\n")

    results = {result.step.path: result for result in memory.enact(plan.digest, kind="fold", accept=True)}

    assert "was changed since" in str(results[MAY].finding)
    assert not (here / MAY).exists()
    assert results[JAPANESE].revision


def test_pinned_and_frozen_sources_are_cited_where_they_are(memory: Memory, here: Path) -> None:
    for day, key in ((1, "pinned"), (2, "frozen")):
        file = here / f"log/2024-05-0{day}.md"
        file.write_text(file.read_text().replace("type:", f"{key}: true\ntype:"))

    fold(memory)

    assert (here / "log/2024-05-01.md").exists()
    assert (here / "log/2024-05-02.md").exists()
    assert "`log/2024-05-01.md:" in (here / MAY).read_text()
    assert not (here / "log/2024-05-03.md").exists()


def test_sources_can_be_left_where_they_are(memory: Memory, here: Path) -> None:
    before = content(here)

    fold(memory, archive=False)

    assert {path: data for path, data in content(here).items() if path in before} == before


def test_a_secret_in_an_episode_is_not_written_down_again(memory: Memory, here: Path) -> None:
    secret = "ghp_" + "q7Zk2mX9vT4bN8cR1wY6" + "pL3sD5fG0hJ2"
    (here / "log/2024-05-01.md").write_text(episode("2024-05-01", "deploy", f"The token was {secret} then."))

    fold(memory)

    assert secret not in (here / MAY).read_text()


def test_a_line_that_looks_like_our_marks_is_text(memory: Memory, here: Path) -> None:
    text = "Wrote <!-- memtool:folded end --> into 7 notes.\n\n<!-- memtool:folded end -->"
    (here / "log/2024-05-01.md").write_text(episode("2024-05-01", "deploy", text))

    fold(memory)

    page = (here / MAY).read_text()
    assert page.count("<!-- memtool:folded end -->") == 1
    assert memory.fold(now=NOW).steps == ()


def test_a_note_of_somebody_that_has_the_name_is_left_alone(memory: Memory, here: Path) -> None:
    write_notes(here, {MAY: "# Mine\n\nMy own summary.\n"})

    fold(memory)

    assert (here / MAY).read_text() == "# Mine\n\nMy own summary.\n"
    assert "Rolled out build 410" in (here / "folded/deploy/2024-05-2.md").read_text()


def test_windows_line_ends_stay_when_a_sum_is_made_again(memory: Memory, here: Path) -> None:
    fold(memory)
    page = here / MAY
    page.write_bytes(page.read_bytes().replace(b"\n", b"\r\n"))
    source = here / "archive/log/2024-05-03.md"
    source.write_text(source.read_text().replace("build 430", "build 431"))

    fold(memory)

    data = page.read_bytes()
    assert b"build 431" in data
    assert data.count(b"\n") == data.count(b"\r\n")


# Topics


def plain(text: str) -> str:
    return f"---\ncreated: 2024-05-05\n---\n\n{text}\n"


def grouped(notes: dict[str, str | bytes]) -> dict[tuple[str, str], list[str]]:
    some = [
        aged(path, text if isinstance(text, bytes) else text.encode(), Use(), date(2026, 1, 1))
        for path, text in notes.items()
    ]
    return {key: [one.path for one in members] for key, members in topics.groups(some).items()}


def test_few_notes_make_a_quarter_or_a_year() -> None:
    monthly = {f"n{m}.md": episode(f"2024-{m:02}-05", "roof", "x") for m in range(1, 13)}
    rare = {f"r{y}.md": episode(f"20{y}-04-05", "roof", "x") for y in range(10, 20)}

    assert {period for _, period in grouped(dict(monthly))} == {"2024-Q1", "2024-Q2", "2024-Q3", "2024-Q4"}
    assert len(grouped(dict(rare))) == 10


def test_a_tag_on_nearly_every_note_is_no_topic_where_there_is_another() -> None:
    notes = {
        f"n{n}.md": episode("2024-05-05", "journal, " + ("roof" if n % 2 else "well"), "x") for n in range(8)
    }

    assert {topic for topic, _ in grouped(dict(notes))} == {"roof", "well"}


def test_notes_without_tags_go_by_what_they_link_to_and_else_by_their_words() -> None:
    linked = {f"l{n}.md": plain("See [[Relay]] again.") for n in range(4)}
    bees = {f"b{n}.md": plain(f"The bees swarmed over hive {n}.") for n in range(4)}
    wells = {f"w{n}.md": plain(f"井戸の水位を測った、{n}メートル。") for n in range(4)}

    found = grouped({**linked, **bees, **wells})

    assert found["Relay", "2024-05"] == sorted(linked)
    assert sorted(map(sorted, found.values())) == sorted(map(sorted, (linked, bees, wells)))


def test_the_order_of_the_notes_makes_no_difference() -> None:
    notes = {path: text for path, text in vault_notes().items() if "2024" in path}

    assert grouped(notes) == grouped(dict(reversed(notes.items())))


# A model


def test_a_model_writes_lines_that_count_only_when_they_cite(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, here: Path, open_memory: Callable[..., Memory]
) -> None:
    def reply(asked: str) -> str:
        return "Six builds went out in May. [1]\nA line out of thin air.\nAnd another. [9999]"

    with serve_chat() as chat:
        chat.reply = reply
        configure(monkeypatch, chat)
        writing = open_memory(here, embedder="none")
        plan = writing.fold(now=NOW, chat=True)
        writing.enact(plan.digest, kind="fold", accept=True)

    page = (here / MAY).read_text()
    assert "Six builds went out in May." in page
    assert "thin air" not in page
    assert "And another" not in page
    assert [memory.resolve(anchor).status for anchor in folded.anchors(page)] == ["exact"]


def test_lines_are_taken_where_the_model_cites_nothing(
    monkeypatch: pytest.MonkeyPatch, here: Path, open_memory: Callable[..., Memory]
) -> None:
    with serve_chat() as chat:
        configure(monkeypatch, chat)
        plan = open_memory(here, embedder="none").fold(now=NOW, chat=True)

    assert {finding.code for finding in plan.findings} == {"fold-chat"}
    assert all(step.more["by"] == "extraction" for step in plan.steps if step.verb == "fold")


def test_without_a_model_asking_for_one_says_how_to_have_it(memory: Memory) -> None:
    with pytest.raises(UsageError, match="there is no chat model"):
        memory.fold(chat=True)


def configure(monkeypatch: pytest.MonkeyPatch, chat: ChatServer) -> None:
    monkeypatch.setenv("MEMTOOL_CHAT_BASE_URL", chat.base_url)
    monkeypatch.setenv("MEMTOOL_CHAT_MODEL", "tiny")


# The command line


def test_the_command_is_dry_unless_it_is_told_to_apply(here: Path, run: Callable[..., Ran]) -> None:
    before = content(here)
    told = run("fold", "--now", NOW, "--limit", "0")

    assert told.code == 0
    assert content(here) == before
    digest = re.search(r"memtool fold --apply ([0-9a-f]{12})", told.err)
    assert digest
    done = run("fold", "--apply", digest[1], "--accept")
    assert done.code == 0, done.err
    assert (here / MAY).exists()
    again = run("fold", "--now", NOW, "--apply")
    assert (again.code, "nothing to do" in again.out) == (1, True)


def test_a_plan_as_json_holds_no_word_of_the_notes(here: Path, run: Callable[..., Ran]) -> None:
    told = run("fold", "--now", NOW, "--json").out

    assert [step["verb"] for step in json.loads(told)["steps"]].count("fold") == 2
    assert "Rolled out" not in told
    assert "請求書" not in told


@pytest.mark.parametrize("odd", ["soon", "-3d", "9999999d", ""])
def test_an_odd_age_is_refused(here: Path, run: Callable[..., Ran], odd: str) -> None:
    assert run("fold", f"--older-than={odd}").code == 2
