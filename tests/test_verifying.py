"""Verified, or only verifiable: what was checked stays so until it moves; what is watched is told at once."""

from __future__ import annotations

import http.server
import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from conftest import write_notes
from repositories import Repository

from memtool import standing
from memtool.cli.main import main
from memtool.config import Config
from memtool.embedders.fake import FakeEmbedder
from memtool.errors import ConfigError, PolicyError, UsageError
from memtool.memory.memory import Memory
from memtool.note import note
from memtool.note.anchor import Anchor
from memtool.tense.stated import Stated, Verified
from memtool.vault import Vault
from memtool.watches.reviewing import Review
from memtool.watches.watched import Looker
from memtool.watches.watches import RefusedError, Watch, parse

PUMP = (
    "---\ntitle: Pump # ours\ntags: [水]\n---\n\n# Pump\n\n"
    "Prime it by hand.\nIt runs at 12 bar.\n\n夜は止める。\n"
)
AT = datetime(2026, 4, 1, tzinfo=UTC)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    root = write_notes(tmp_path / "v", {"pump.md": PUMP, "mill.md": "The mill runs at dawn.\n"})
    with Memory.open(root, embedder=None) as opened:
        opened.derived._embedder = FakeEmbedder()
        yield opened


def stamp(memory: Memory, path: str = "pump.md") -> Verified:
    found = standing.of(note.parse(memory.vault.read(path)), path).verified
    assert found is not None
    return found


def marks(memory: Memory, question: str) -> dict[str, list[str]]:
    """Give what is said of the standing of each note that is found."""
    answer = memory.search(question, mode="lexical", min_score=-1, limit=50)
    return {hit.path: hit.standing.marks if hit.standing else [] for hit in reversed(answer)}


def write(memory: Memory, path: str, text: str) -> None:
    (memory.vault.root / path).write_text(text, encoding="utf-8")


# -- what was verified ---------------------------------------------------------------------------


def test_a_verification_says_who_when_and_against_what(memory: Memory) -> None:
    covered = memory.verify("pump.md:8-9", against="the plate: 12 bar, 三相", now=AT)

    text = memory.vault.read("pump.md").decode()
    assert text == PUMP.replace(
        "tags: [水]\n",
        'tags: [水]\nverified: {by: human, at: 2026-04-01, against: "the plate: 12 bar, 三相", '
        f"lines: 9-10, digest: {stamp_digest('Prime it by hand.', 'It runs at 12 bar.')}}}\n",
    )
    assert str(covered) == "pump.md:9-10"
    assert stamp(memory).stands


def stamp_digest(*lines: str) -> str:
    from memtool import pin

    return pin.digest(lines)[:16]


def test_a_hit_on_verified_lines_says_so_and_one_beside_them_does_not(memory: Memory) -> None:
    write(
        memory,
        "long.md",
        "# One\n\n" + "The oak gate is shut. " * 60 + "\n\n# Two\n\nThe elm gate is open.\n",
    )
    memory.verify("long.md:7", against="a walk", now=AT)

    answer = memory.search("elm gate open", mode="lexical", min_score=-1)
    other = memory.search("oak gate shut", mode="lexical", min_score=-1)

    assert answer[0].standing is not None
    assert answer[0].standing.marks == ["verified 2026-04-01 by human against a walk"]
    assert other[0].standing is None


@pytest.mark.parametrize(
    ("old", "new", "stands"),
    [
        ("Prime it by hand.", "Prime it by motor.", False),
        ("It runs at 12 bar.", "It runs at 13 bar.", False),
        ("夜は止める。", "夜も動かす。", True),
        ("# Pump", "# The pump\n\nBuilt in 1990.", True),
        ("title: Pump", "title: The pump", True),
        ("Prime it by hand.\nIt runs at 12 bar.\n", "It runs at 12 bar.\n", False),
    ],
)
def test_only_an_edit_of_the_verified_lines_ends_it(memory: Memory, old: str, new: str, stands: bool) -> None:
    memory.verify("pump.md:8-9", against="the plate", now=AT)
    text = memory.vault.read("pump.md").decode()

    write(memory, "pump.md", text.replace(old, new))

    assert stamp(memory).stands is stands
    assert stamp(memory).at == "2026-04-01"


def test_reading_and_other_keys_refresh_nothing(memory: Memory) -> None:
    memory.verify("pump.md", against="the plate", now=AT)
    before = memory.vault.read("pump.md")
    memory.search("pump", mode="lexical")
    memory.show("pump.md")
    assert memory.vault.read("pump.md") == before

    memory.set("pump.md", "pinned", "true")

    assert stamp(memory).stands and stamp(memory).at == "2026-04-01"


def test_a_whole_note_is_verified_without_its_front_matter_and_again(memory: Memory) -> None:
    memory.verify("pump.md", against="the plate", review_by="2026-10", now=AT)
    first = stamp(memory)
    memory.verify("pump.md", against="the book", now=datetime(2026, 5, 1, tzinfo=UTC))

    again = stamp(memory)
    assert (first.against, again.against, again.at) == ("the plate", "the book", "2026-05-01")
    assert (
        again.stands and note.get_text(note.parse(memory.vault.read("pump.md")), "review_by") == "2026-10-01"
    )
    assert memory.vault.read("pump.md").decode().count("verified:") == 1


@pytest.mark.parametrize(
    "text",
    [
        PUMP.replace("\n", "\r\n"),
        "No front matter.\n",
        "---\nverified: true\n---\nA line.\n",
        "\ufeff" + PUMP,
    ],
)
def test_a_note_of_any_kind_can_be_verified_byte_for_byte(memory: Memory, text: str) -> None:
    (memory.vault.root / "any.md").write_bytes(text.encode())
    body = note.parse(text.encode()).lines[note.parse(text.encode()).body_start - 1 :]

    memory.verify("any.md", against="見本", now=AT)

    after = note.parse(memory.vault.read("any.md"))
    assert after.lines[after.body_start - 1 :] == body
    assert stamp(memory, "any.md").stands and stamp(memory, "any.md").against == "見本"


@pytest.mark.parametrize("anchor", ["pump.md:2", "pump.md:9-99", "pump.md:8-9@0123456789ab"])
def test_lines_that_are_no_text_of_the_note_cannot_be_verified(memory: Memory, anchor: str) -> None:
    with pytest.raises(UsageError):
        memory.verify(anchor, against="the plate")
    assert memory.vault.read("pump.md").decode() == PUMP


@pytest.mark.parametrize("against", ["", "  ", "two\nlines"])
def test_a_verification_names_its_source(memory: Memory, against: str) -> None:
    with pytest.raises(UsageError, match="source"):
        memory.verify("pump.md", against=against)


def test_a_frozen_note_is_not_verified_by_an_agent(memory: Memory) -> None:
    from memtool.identity import signature

    write(memory, "pump.md", PUMP.replace("---\n\n", "frozen: true\n---\n\n", 1))

    with pytest.raises(PolicyError):
        memory.verify("pump.md", against="the plate", by=signature("agent/x"))


def test_an_agent_verifies_in_its_own_name_only(memory: Memory) -> None:
    from memtool.identity import signature

    agent = signature("agent/x")
    memory.verify("pump.md:8-9", against="the plate", now=AT, by=agent)
    assert stamp(memory).by == "agent/x" and stamp(memory).stands

    line = next(n for n, text in memory.show("pump.md") if text.startswith("verified"))
    forged = dict(memory.show("pump.md"))[line].replace("by: agent/x", "by: human")
    version = memory.digest("pump.md")
    with pytest.raises(PolicyError, match="human verified it"):
        memory.edit(f"pump.md:{line}", forged, if_digest=version, by=agent)
    memory.edit(f"pump.md:{line}", forged, if_digest=version)
    memory.set("pump.md", "pinned", "true", by=agent)

    assert stamp(memory).by == "human"


def test_a_stamp_by_hand_is_a_finding_and_no_mark(memory: Memory) -> None:
    write(memory, "pump.md", PUMP.replace("tags: [水]", "verified: {by: me, at: 2026-04-01, against: luck}"))

    assert marks(memory, "prime by hand")["pump.md"] == []
    assert "verified-by-hand" in {finding.code for finding in memory.check()}


# -- what is watched -----------------------------------------------------------------------------


def watching(text: str, *entries: str) -> str:
    return f"---\nwatches: {json.dumps(entries, ensure_ascii=False)}\n---\n\n{text}\n"


def test_every_note_that_watches_a_file_says_so_in_the_next_search_and_nothing_else_does(
    memory: Memory,
) -> None:
    for n in range(40):
        globs = ["conf/*.toml"] if n % 4 == 0 else [f"src/part{n}.py"] if n % 4 == 1 else []
        text = f"Valve {n} is opened by the controller."
        write(memory, f"valve-{n}.md", watching(text, *globs) if globs else text)
    (memory.vault.root / "conf").mkdir()
    (memory.vault.root / "src").mkdir()
    write(memory, "conf/main.toml", "a = 1\n")
    for n in range(40):
        write(memory, f"src/part{n}.py", "x = 1\n")
    assert not any(marks(memory, "valve controller").values())

    write(memory, "conf/main.toml", "a = 2\n")
    write(memory, "src/part5.py", "x = 2\n")

    told = {path for path, said in marks(memory, "valve opened by the controller").items() if said}
    assert told == {f"valve-{n}.md" for n in range(0, 40, 4)} | {"valve-5.md"}


def test_a_note_that_needs_review_sinks_and_stays(memory: Memory) -> None:
    write(memory, "a.md", watching("The sluice opens at noon.", "plan.txt"))
    write(memory, "b.md", "The sluice opens at noon, they say.\n")
    write(memory, "plan.txt", "1")
    before = memory.search("When does the sluice open?", mode="lexical")

    write(memory, "plan.txt", "2")
    after = memory.search("When does the sluice open?", mode="lexical")

    bodies = [hit.path for hit in after if "sluice" in hit.text]
    assert before[0].path == "a.md" and bodies == ["b.md", "a.md"]
    assert next(hit for hit in after if hit.path == "a.md").standing.marks == [
        "needs review: plan.txt changed"
    ]  # type: ignore[union-attr]


@pytest.mark.parametrize("change", ["touch", "same bytes", "other file"])
def test_what_leaves_the_watched_bytes_alone_is_no_move(memory: Memory, change: str) -> None:
    write(memory, "a.md", watching("The sluice opens at noon.", "計画/*.txt"))
    (memory.vault.root / "計画").mkdir()
    write(memory, "計画/春.txt", "1")
    marks(memory, "sluice")

    if change == "touch":
        time.sleep(0.02)
        (memory.vault.root / "計画/春.txt").touch()
    else:
        write(memory, "計画/春.txt" if change == "same bytes" else "計画.txt", "1")

    assert marks(memory, "sluice")["a.md"] == []


@pytest.mark.parametrize("how", ["new file", "gone", "renamed"])
def test_files_that_come_and_go_are_moves(memory: Memory, how: str) -> None:
    write(memory, "a.md", watching("The sluice opens at noon.", "plans/**/*.txt"))
    (memory.vault.root / "plans" / "deep").mkdir(parents=True)
    write(memory, "plans/deep/spring.txt", "1")
    marks(memory, "sluice")

    place = memory.vault.root / "plans" / "deep" / "spring.txt"
    if how == "new file":
        write(memory, "plans/autumn.txt", "1")
    elif how == "gone":
        place.unlink()
    else:
        place.rename(place.with_name("summer.txt"))

    said = "is gone" if how == "gone" else "changed"
    assert marks(memory, "sluice")["a.md"] == [f"needs review: plans/**/*.txt {said}"]


def test_only_a_verification_ends_a_need_for_review(memory: Memory) -> None:
    write(memory, "a.md", watching("The sluice opens at noon.", "plan.txt"))
    write(memory, "plan.txt", "1")
    marks(memory, "sluice")
    write(memory, "plan.txt", "2")

    write(memory, "a.md", watching("The sluice opens at noon, always.", "plan.txt"))
    assert marks(memory, "sluice")["a.md"] == ["needs review: plan.txt changed"]

    memory.verify("a.md", against="plan.txt", now=AT)
    assert marks(memory, "sluice")["a.md"] == ["verified 2026-04-01 by human against plan.txt"]

    write(memory, "plan.txt", "3")
    assert (
        marks(memory, "sluice")["a.md"][0]
        == "needs review: plan.txt changed since it was verified on 2026-04-01"
    )


def test_a_verified_state_travels_with_the_note(memory: Memory) -> None:
    write(memory, "a.md", watching("The sluice opens at noon.", "plan.txt"))
    write(memory, "plan.txt", "1")
    memory.verify("a.md", against="plan.txt", now=AT)
    (memory.vault.state / "watches.json").unlink(missing_ok=True)

    write(memory, "plan.txt", "2")

    assert "needs review" in marks(memory, "sluice")["a.md"][0]


def test_stale_names_them_and_says_by_its_exit_code(memory: Memory, run: Callable[..., object]) -> None:
    write(memory, "a.md", watching("The sluice opens at noon.", "plan.txt"))
    write(memory, "plan.txt", "1")
    root = str(memory.vault.root)
    first = run("stale", "--vault", root)

    write(memory, "plan.txt", "2")
    second = run("stale", "--vault", root)

    assert first.code == 0  # type: ignore[attr-defined]
    assert (second.code, second.out) == (1, "a.md  needs review: plan.txt changed\n")  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "entry",
    [
        "../secret.txt",
        "/etc/hosts",
        "a/../../b",
        "file:../x",
        "app:src/*.py",
        "app:../x",
        "a\\b",
        "file:/etc/*",
    ],
)
def test_what_leaves_the_vault_and_named_checkouts_is_refused(memory: Memory, entry: str) -> None:
    write(memory, "a.md", watching("The sluice opens at noon.", entry))

    due, review = memory.stale()

    assert due == [] and [finding.code for finding in review.findings] == ["watch-refused"]
    assert "watch-refused" in {finding.code for finding in memory.check()}


def test_a_link_out_of_the_vault_is_not_followed(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "outside.txt").write_text("1")
    (memory.vault.root / "in.txt").symlink_to(tmp_path / "outside.txt")
    write(memory, "a.md", watching("The sluice opens at noon.", "in.txt"))
    marks(memory, "sluice")

    (tmp_path / "outside.txt").write_text("2")

    assert marks(memory, "sluice")["a.md"] == []


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


def test_files_and_references_of_a_named_checkout_are_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = tmp_path / "app"
    app.mkdir()
    git(app, "init", "-q", "-b", "main")
    (app / "api.py").write_text("v = 1\n")
    git(app, "add", ".")
    git(app, "commit", "-q", "-m", "one")
    root = write_notes(
        tmp_path / "v",
        {
            "a.md": watching("The api has one version.", "app:*.py"),
            "b.md": watching("The api is released from main.", "git:app@main"),
            "c.md": watching("The api is old.", "git:app@v1"),
        },
    )
    monkeypatch.setenv("MEMTOOL_CHECKOUTS", f"app={app}")
    with Memory.open(root, embedder="none") as memory:
        assert not any(marks(memory, "api").values())

        (app / "api.py").write_text("v = 2\n")
        assert [path for path, said in marks(memory, "api").items() if said] == ["a.md"]

        git(app, "commit", "-q", "-a", "-m", "two")
        told = marks(memory, "api")

    assert told["a.md"] == ["needs review: app:*.py changed"]
    assert told["b.md"][0].startswith("needs review: git app:main moved to ")
    assert told["c.md"] == []


def test_a_vault_cannot_name_checkouts_or_allow_commands(tmp_path: Path) -> None:
    root = write_notes(tmp_path / "v", {"a.md": watching("Text.", "app:*.txt", "command:echo hello")})
    (tmp_path / "secret.txt").write_text("1")
    (root / "memtool.toml").write_text(f'watch_kinds = ["command"]\n[checkouts]\napp = "{tmp_path}"\n')

    with Memory.open(root, embedder="none") as memory:
        review = memory.stale()[1]
        codes = [finding.code for finding in memory.config.findings]

    assert codes == ["config-not-allowed"] * 2
    assert [finding.code for finding in review.findings] == ["watch-refused"] * 2


@pytest.mark.parametrize("value", ['["rm"]', '"command"', "3"])
def test_only_known_kinds_can_be_allowed(tmp_path: Path, value: str) -> None:
    from memtool import config

    home = tmp_path / "memtool"
    home.mkdir()
    (home / "config.toml").write_text(f"watch_kinds = {value}\n")

    with pytest.raises(ConfigError):
        config.load(environment={"XDG_CONFIG_HOME": str(tmp_path)})


def looker(root: Path, *allowed: str) -> Looker:
    return Looker(root, {}, allowed)


def test_a_package_is_watched_by_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import metadata

    version = "2.0"
    monkeypatch.setattr(metadata, "version", lambda name: version)
    vault, said = Vault.open(tmp_path), Stated(watches=("package:numpy",))
    pinned = Stated(watches=("package:numpy==2.0",))
    assert Review(vault, Config())("a.md", said) == ()
    review = Review(vault, Config())
    review("a.md", said)
    review.keep()

    version = "2.1"

    assert Review(vault, Config())("a.md", said) == ("package numpy is 2.1, was 2.0",)
    assert Review(vault, Config())("b.md", pinned) == ("package numpy is 2.1, was 2.0",)


def test_a_package_that_is_not_installed_has_that_state(tmp_path: Path) -> None:
    assert looker(tmp_path).state(parse("package:no-such-package-at-all")) == "not-installed"


def test_days_come(tmp_path: Path) -> None:
    vault, said = Vault.open(tmp_path), Stated(watches=("date:2026-06-01",), review_by="2026-07-01")

    def review(today: date) -> tuple[str, ...]:
        return Review(vault, Config(), today)("a.md", said)

    assert review(date(2026, 5, 31)) == ()
    assert review(date(2026, 6, 1)) == ("2026-06-01 has come",)
    assert review(date(2026, 7, 2)) == ("2026-06-01 has come", "was to be reviewed by 2026-07-01")


@pytest.mark.parametrize("when", ["date:2026-02-30", "date:", "date:いつか", "date:0000-00-00"])
def test_a_day_that_is_none_never_comes(tmp_path: Path, when: str) -> None:
    assert Review(Vault.open(tmp_path), Config(), date(2030, 1, 1))("a.md", Stated(watches=(when,))) == ()


def test_a_command_runs_only_where_the_user_allows_it_and_without_a_shell(tmp_path: Path) -> None:
    (tmp_path / "version.txt").write_text("1")
    watch = parse("command:cat version.txt ; touch broken")
    with pytest.raises(RefusedError, match="not looked at"):
        looker(tmp_path).state(watch)

    looker(tmp_path, "command").state(watch)
    one = looker(tmp_path, "command").state(parse("command:cat version.txt"))
    (tmp_path / "version.txt").write_text("2")

    assert not (tmp_path / "broken").exists()
    assert looker(tmp_path, "command").state(parse("command:cat version.txt")) != one
    assert looker(tmp_path, "command").state(parse("command:no-such-command")) == "not-there"
    assert looker(tmp_path, "command").state(parse('command:"')) == "not-there"


class _Head(http.server.BaseHTTPRequestHandler):
    tag, asked = "one", []  # type: ignore[var-annotated]

    def do_HEAD(self) -> None:
        self.asked.append(self.command)
        self.send_response(200)
        self.send_header("ETag", type(self).tag)
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        pass


def test_an_address_is_asked_for_its_head_only_where_the_user_allows_it(tmp_path: Path) -> None:
    server = http.server.HTTPServer(("127.0.0.1", 0), _Head)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    watch = parse(f"http://127.0.0.1:{server.server_port}/api")
    try:
        with pytest.raises(RefusedError):
            looker(tmp_path).state(watch)
        assert _Head.asked == []
        one = looker(tmp_path, "url").state(watch)
        _Head.tag = "two"
        two = looker(tmp_path, "url").state(watch)
    finally:
        server.shutdown()
        server.server_close()

    assert one != two and set(_Head.asked) == {"HEAD"}


def test_a_note_never_moves_by_itself(memory: Memory) -> None:
    write(memory, "a.md", watching("The sluice opens at noon.", "*.md"))
    marks(memory, "sluice")

    write(memory, "a.md", watching("The sluice opens at one.", "*.md"))
    assert marks(memory, "sluice")["a.md"] == []

    write(memory, "mill.md", "The mill stands still.\n")
    assert marks(memory, "sluice")["a.md"] == ["needs review: *.md changed"]


@pytest.mark.parametrize(
    "value",
    [
        "[]",
        "~",
        "5",
        "{file: 3}",
        "[[a]]",
        "[~, '']",
        "{package: {a: b}}",
        "- " * 3,
        "[git:@]",
        "[git:]",
        "['**']",
        "['[']",
        "['\\0']",
    ],
)
def test_a_hostile_list_of_watches_breaks_no_search(memory: Memory, value: str) -> None:
    write(memory, "a.md", f"---\nwatches: {value}\n---\n\nThe sluice opens at noon.\n")

    assert "a.md" in marks(memory, "sluice")


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"a.md": 3}', b'{"a.md": [1, [2]]}', b"\xff"])
def test_a_damaged_state_is_made_again(memory: Memory, damage: bytes) -> None:
    write(memory, "a.md", watching("The sluice opens at noon.", "plan.txt"))
    write(memory, "plan.txt", "1")
    marks(memory, "sluice")
    (memory.vault.state / "watches.json").write_bytes(damage)

    assert marks(memory, "sluice")["a.md"] == []
    write(memory, "plan.txt", "2")
    assert marks(memory, "sluice")["a.md"] == ["needs review: plan.txt changed"]


@pytest.mark.parametrize(
    ("text", "watch"),
    [
        ("src/*.py", Watch("file", "", "src/*.py")),
        ("app:src/*.py", Watch("file", "app", "src/*.py")),
        ("file:app:src/*.py", Watch("file", "app", "src/*.py")),
        ("git:app@release/1", Watch("git", "app", "release/1")),
        ("git:main", Watch("git", "", "main")),
        ("Package: numpy", Watch("package", "", "numpy")),
        ("date:2026-12-01", Watch("date", "", "2026-12-01")),
        ("https://example.invalid/a:b", Watch("url", "", "https://example.invalid/a:b")),
    ],
)
def test_an_entry_is_read(text: str, watch: Watch) -> None:
    assert parse(text) == watch


def test_verify_from_the_command_line(memory: Memory, capsys: pytest.CaptureFixture[str]) -> None:
    root = str(memory.vault.root)

    code = main(["verify", "pump.md:8", "--against", "the plate", "--vault", root, "--json"])

    told = json.loads(capsys.readouterr().out)
    assert (code, told["anchor"]) == (0, "pump.md:9-9")


def test_blame_calls_only_the_verified_lines_verified(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "vault")
    text = "---\ntitle: 鍵\n---\n\n鍵は棚にある。\n合鍵は金庫にある。\n予備は本部にある。\n"
    repository.commit("2026-01-05", {"keys.md": text})
    with Memory.open(repository.folder, embedder="none", writer="human") as memory:
        memory.verify("keys.md:6-6", against="金庫の台帳")
        lines = [text for _, text in memory.show("keys.md")]
        told = memory.past.blame(Anchor("keys.md", 1, len(lines)))[0]

    sound = [lines[n - 1] for run in told.runs if run.verified for n in range(run.start, run.end + 1)]
    assert sound == ["合鍵は金庫にある。"]
    assert not told.verified
