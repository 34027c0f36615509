"""A question leant by what the work is about: only where it says little, never without being told."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from conftest import Ran, write_notes

from memtool.embedders.base import Matrix
from memtool.embedders.fake import FakeEmbedder
from memtool.errors import PathError, PolicyError, UsageError
from memtool.memory.memory import Memory
from memtool.note.anchor import Anchor
from memtool.session import leaning, projections, sessions, vagueness
from memtool.session.session import SHAPES

PLACES = ("harbour", "castle", "orchard", "library", "station", "brewery", "theatre", "quarry")
THINGS = ("gates", "bells", "lamps", "stairs", "carts", "maps", "ropes", "doors", "tiles", "clocks")
CHAPEL = "Colonel Threlfall ordered forty beeswax candles from Marseilles for the chapel vestry."
JAPANESE = {
    "湯楽木": "湯楽木の旅館は露天風呂が三つある。女将は花が好きで、白い花を避ける。誕生日は四月九日。",
    "灯座": "灯座の劇場は平土間が六千円。幕見は当日だけ売る。誕生日の客には団扇を贈る。",
}


def notes() -> dict[str, str]:
    found = {
        f"{place}/{thing}.md": (
            f"# {place.title()} {thing}\n\nThe {thing} of the {place} were counted by the {place} warden.\n\n"
            f"They are cleaned in week {3 * at + where} of the year.\n"
        )
        for at, thing in enumerate(THINGS)
        for where, place in enumerate(PLACES)
    }
    found["chapel.md"] = f"# Candles\n\n{CHAPEL}\n"
    return found | {f"顧客/{name}.md": f"# {name}\n\n{text}\n" for name, text in JAPANESE.items()}


@pytest.fixture
def memory(tmp_path: Path, open_memory: Callable[..., Memory]) -> Iterator[Memory]:
    with open_memory(write_notes(tmp_path / "notes", notes())) as memory:
        memory.refresh()
        memory.embed()
        yield memory


def paths(memory: Memory, question: str, **options: object) -> list[str]:
    return [hit.path for hit in memory.search(question, min_score=-1, **options)]  # type: ignore[arg-type]


def file(memory: Memory, unit: str = "work") -> Path:
    return sessions.file_of(memory.vault, unit)


@pytest.mark.parametrize("size", SHAPES)
def test_a_follow_up_goes_where_the_work_is(memory: Memory, size: str) -> None:
    memory.reset_state("work", size=size)
    for thing in ("gates", "bells", "carts"):
        memory.search(f"who counted the {thing} of the quarry?", session="work")
        memory.opened("work", f"quarry/{thing}.md")

    plain = paths(memory, "and when are they cleaned?", limit=10)
    answer = memory.search("and when are they cleaned?", limit=10, min_score=-1, session="work")

    leant = sum(hit.path.startswith("quarry/") for hit in answer)
    assert answer.leant is not None and answer.leant.alpha > 0.2
    assert leant > sum(path.startswith("quarry/") for path in plain)


def test_a_japanese_follow_up_goes_where_the_work_is(memory: Memory) -> None:
    memory.search("湯楽木の女将に贈る花の注意は？", session="宿")
    memory.opened("宿", "顧客/湯楽木.md")
    memory.search("灯座の平土間はいくら？", session="劇場")
    memory.opened("劇場", "顧客/灯座.md")

    for unit, wanted in (("宿", "顧客/湯楽木.md"), ("劇場", "顧客/灯座.md")):
        answer = memory.search("で、その誕生日はいつ？", min_score=-1, session=unit, opened="keep")
        assert answer[0].path == wanted
        assert answer.leant is not None and answer.leant.alpha > 0.3


def test_a_question_asked_in_full_is_left_alone(memory: Memory) -> None:
    for thing in THINGS:
        memory.search(f"{thing} of the quarry", session="work")
        memory.opened("work", f"quarry/{thing}.md")
    asked = "how many beeswax candles did Colonel Threlfall order from Marseilles for the chapel vestry"

    plain, leant = memory.search(asked, min_score=-1), memory.search(asked, min_score=-1, session="work")

    assert leant.leant is not None and leant.leant.alpha == 0
    assert [(hit.anchor, hit.score) for hit in leant] == [(hit.anchor, hit.score) for hit in plain]
    assert leant.confidence == plain.confidence


def test_a_unit_in_which_nothing_was_asked_yet_leans_nothing(memory: Memory) -> None:
    plain, first = paths(memory, "and it?"), paths(memory, "and it?", session="work")

    assert first == plain


def test_without_a_session_nothing_is_kept_and_nothing_is_told(memory: Memory) -> None:
    answer = memory.search("the gates of the quarry")

    assert answer.leant is None
    assert not sessions.folder(memory.vault).exists()


def test_small_talk_is_not_leant(memory: Memory) -> None:
    memory.search("gates of the quarry", session="work")

    answer = memory.search("?? !!", session="work")
    assert not answer and answer.leant is None
    thanks = memory.search("would you", session="work")
    assert thanks.leant is not None and thanks.leant.alpha == 0


def test_units_side_by_side_do_not_mix(memory: Memory) -> None:
    for place in ("quarry", "library"):
        for thing in ("gates", "bells", "carts"):
            memory.search(f"who counted the {thing} of the {place}?", session=place)
            memory.opened(place, f"{place}/{thing}.md")

    for place in ("quarry", "library"):
        found = paths(memory, "and when are they cleaned?", session=place, opened="keep")
        assert found[0].startswith(f"{place}/")


def test_the_best_plain_hit_keeps_a_place(memory: Memory) -> None:
    for thing in THINGS:
        memory.search(f"{thing} of the quarry", session="work")
        memory.opened("work", f"quarry/{thing}.md")
    asked = "and the orchard?"
    best = paths(memory, asked, limit=1)[0]

    answer = memory.search(asked, session="work", limit=3, min_score=-1)
    assert answer.leant is not None and answer.leant.alpha > 0
    assert best in [hit.path for hit in answer]
    assert [hit.score for hit in answer] == sorted((hit.score for hit in answer), reverse=True)


def test_what_was_opened_in_full_is_lowered_kept_or_left_out(memory: Memory) -> None:
    for thing in ("gates", "bells", "carts"):
        memory.search(f"who counted the {thing} of the quarry?", session="work")
        memory.opened("work", f"quarry/{thing}.md")
    asked, seen = (
        "and when are they cleaned?",
        {f"quarry/{thing}.md" for thing in ("gates", "bells", "carts")},
    )
    before = file(memory).read_bytes()

    found = {}
    for how in ("keep", "lower", "omit"):
        file(memory).write_bytes(before)
        found[how] = memory.search(asked, session="work", opened=how, limit=10, min_score=-1)  # type: ignore[arg-type]

    score = {how: {hit.path: hit.score for hit in answer} for how, answer in found.items()}
    assert all(score["lower"].get(path, -1) < score["keep"][path] for path in seen & score["keep"].keys())
    assert not seen & score["omit"].keys()
    assert found["omit"].leant is not None and found["omit"].leant.lowered >= 3


def test_a_chunk_that_was_opened_in_part_may_still_hold_the_answer(memory: Memory) -> None:
    memory.search("the gates of the quarry", session="work")
    memory.opened("work", "quarry/gates.md:3")

    assert "quarry/gates.md" in paths(memory, "the gates of the quarry", session="work", opened="omit")


def test_opened_is_one_of_three_things(memory: Memory) -> None:
    with pytest.raises(UsageError, match="opened"):
        memory.search("gates", session="work", opened="burn")  # type: ignore[arg-type]


def test_a_note_that_is_not_there_cannot_be_opened(memory: Memory) -> None:
    with pytest.raises(PathError):
        memory.opened("work", "../outside.md")
    assert not file(memory).exists()


def test_opened_front_matter_speaks_for_its_note(memory: Memory) -> None:
    write_notes(
        memory.vault.root, {"vow.md": "---\ntitle: A vow\n---\n\nThe gates of the quarry.\n", "empty.md": ""}
    )
    memory.refresh()
    memory.embed()

    memory.opened("work", "vow.md:1-2")
    memory.opened("work", "empty.md")

    assert [event.what for event in memory.state("work").events] == ["vow.md:1-2"]


def test_what_was_said_counts_like_what_was_opened(memory: Memory) -> None:
    memory.search("what about the quarry?", session="work")
    memory.said("work", "The gates of the quarry were counted by the quarry warden.")
    memory.said("work", "   ")

    view = memory.state("work")
    assert [event.kind for event in view.events] == ["asked", "said"]
    assert memory.direction("work")[0].anchor.path.startswith("quarry/")


def test_a_state_is_shown_in_readable_form(memory: Memory) -> None:
    memory.search("the gates of the quarry", session="work")
    memory.opened("work", "quarry/gates.md:1-5")
    memory.search("and the bells there?", session="work")

    view = memory.state("work")
    assert (view.unit, view.size, view.opened) == (
        "work",
        sessions.DEFAULT,
        (Anchor("quarry/gates.md", 1, 5),),
    )
    assert [event.kind for event in view.events] == ["asked", "opened", "asked"]
    assert view.alpha == view.events[-1].alpha > 0
    assert view.direction[0].anchor.path.startswith("quarry/")
    assert [one.weight for one in view.direction] == sorted(
        (one.weight for one in view.direction), reverse=True
    )
    assert {"quarri", "gate", "bell"} & {word for word, _ in view.words}
    assert view.bytes == file(memory).stat().st_size


def test_no_secret_is_kept_in_a_state(memory: Memory) -> None:
    secret = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    memory.search(f"is {secret} the token of the quarry?", session="work")
    memory.said("work", f"Yes: token = {secret}")

    assert secret not in file(memory).read_text()
    assert secret.lower() not in file(memory).read_text().lower()


def test_a_reset_empties_and_keeps_or_sets_the_size(memory: Memory) -> None:
    memory.reset_state("work", size="16x16")
    memory.search("the gates of the quarry", session="work")
    assert memory.state("work").updates > 0

    memory.reset_state("work")

    view = memory.state("work")
    assert (view.updates, view.size, view.direction, view.events, view.words) == (0, "16x16", [], (), ())


def test_only_the_form_with_words_keeps_words(memory: Memory) -> None:
    memory.reset_state("work", size="multi-head")
    memory.search("the gates of the quarry", session="work")

    assert memory.state("work").words == ()


def test_words_of_earlier_turns_fade_and_go(memory: Memory) -> None:
    memory.search("the gates of the quarry", session="work")
    for _ in range(8):
        memory.search("bells of the library", session="work")

    words = dict(memory.state("work").words)
    assert "quarri" not in words and words["bell"] == 1.0


def test_the_state_of_another_embedder_starts_empty_and_says_so(
    memory: Memory, open_memory: Callable[..., Memory]
) -> None:
    memory.search("the gates of the quarry", session="work")
    with open_memory(memory.vault.root, embedder=FakeEmbedder(dimensions=48)) as other:
        other.refresh()
        other.embed()
        answer = other.search("and it?", session="work")

    assert answer.leant is not None and answer.leant.updates == 0 and answer.leant.alpha == 0
    assert any("of another embedder and starts empty" in remark for remark in answer.freshness.remarks)
    kept, _ = sessions.load(memory.vault, "work")
    assert kept is not None and kept.embedder == other.embedder.fingerprint  # type: ignore[union-attr]


def test_a_damaged_state_is_told_and_does_not_stop_the_search(memory: Memory) -> None:
    memory.search("the gates of the quarry", session="work")
    file(memory).write_text("{")

    answer = memory.search("the gates of the quarry", session="work")

    assert answer[0].path == "quarry/gates.md"
    assert any("cannot be used and starts empty" in remark for remark in answer.freshness.remarks)
    assert memory.state("work").findings == ()  # the search replaced it


def test_a_state_goes_on_when_the_cache_was_deleted(memory: Memory) -> None:
    import shutil

    memory.search("the gates of the quarry", session="work")
    shutil.rmtree(memory.vault.cache)

    memory.embed() if memory.refresh() else None
    answer = memory.search("and the bells there?", session="work")
    assert answer.leant is not None and answer.leant.updates > 0


def test_words_alone_take_no_session_and_say_so(memory: Memory) -> None:
    answer = memory.search("gates", mode="lexical", session="work")

    assert answer.leant is None
    assert any("took no part" in remark for remark in answer.freshness.remarks)


class Mute:
    """An embedder that is down."""

    name, fingerprint, probe = "mute", "mute", None
    calibration = FakeEmbedder.calibration

    def embed(self, texts: list[str], *, kind: str) -> Matrix:
        return np.full((len(texts), 8), np.nan, np.float32)


def test_without_vectors_the_search_answers_as_ever(
    memory: Memory, open_memory: Callable[..., Memory]
) -> None:
    with open_memory(memory.vault.root, embedder=Mute()) as mute:
        answer = mute.search("gates of the quarry", session="work")

    assert answer[0].path == "quarry/gates.md"
    assert answer.leant is not None and answer.leant.alpha == 0


# -- who may read what ------------------------------------------------------------------------

POLICY = """[scope."quarry/**"]
readers = ["agent/planner"]
"""


def test_who_may_not_read_a_note_learns_nothing_of_it_by_a_unit(
    memory: Memory, open_memory: Callable[..., Memory]
) -> None:
    memory.search("gates of the quarry", session="work")
    memory.opened("work", "quarry/gates.md")
    (memory.vault.root / ".memtool/policy.toml").write_text(POLICY)

    with Memory.open(memory.vault.root, embedder=FakeEmbedder(), writer="agent/scribe") as scribe:
        view = scribe.state("work", limit=50)
        answer = scribe.search("and when are they cleaned?", session="work", limit=50, min_score=-1)
        with pytest.raises(PolicyError):
            scribe.opened("work", "quarry/gates.md")
        listed = scribe.states()[0]

    assert view.updates == 0 and not view.words and not view.direction
    assert not any(hit.path.startswith("quarry/") for hit in answer)
    assert [one.name for one in listed] == ["agent/scribe: work"]
    assert memory.state("work").opened


# -- the projection --------------------------------------------------------------------------


def test_a_projection_is_made_once_and_kept(memory: Memory) -> None:
    memory.search("gates", session="work")
    kept = sorted(memory.vault.cache.glob("projections/*/*.npz"))
    assert memory.vectors.count >= 128 and len(kept) == 1
    before = kept[0].stat().st_mtime_ns

    memory.search("bells", session="other")

    assert sorted(memory.vault.cache.glob("projections/*/*.npz")) == kept
    assert kept[0].stat().st_mtime_ns == before


def test_a_damaged_projection_is_made_again(memory: Memory) -> None:
    memory.search("gates", session="work")
    kept = next(iter(memory.vault.cache.glob("projections/*/*.npz")))
    kept.write_bytes(b"PK no more")

    answer = memory.search("and the bells there?", session="work")

    assert answer.leant is not None and answer.leant.updates > 0


def test_a_small_vault_uses_a_fixed_basis(tmp_path: Path, open_memory: Callable[..., Memory]) -> None:
    with open_memory(write_notes(tmp_path / "few", {"a.md": "# A\n\nGates.\n"})) as memory:
        memory.search("gates", session="work")
        kept, _ = sessions.load(memory.vault, "work")

    assert kept is not None and kept.projection == "random-64"
    assert not list(memory.vault.cache.glob("projections/*/*"))


@pytest.mark.parametrize("ident", ["", "../../x", "random-0", "random-999999999", "random-x", "0" * 16])
def test_a_projection_that_is_not_there_is_not_found(memory: Memory, ident: str) -> None:
    assert projections.find(memory.vault, "print", ident) is None


# -- how much a question says ----------------------------------------------------------------


@pytest.mark.parametrize(
    "question",
    [
        "and her brother?",
        "What about the other one?",
        "the usual format",
        "does it still apply",
        "それはいつ？",
        "あの件はどうなった？",
        "いつもの形式で",
        "前の設定に戻して",
        "同じ人に頼む？",
        "じゃあ、値段は？",
    ],
)
def test_what_points_at_something_said_before(question: str) -> None:
    assert vagueness.points_back(question)


@pytest.mark.parametrize(
    "question",
    [
        "rotate the staging key",
        "who counted the gates of the quarry",
        "取消料はいつからかかる？",
        "鍵の場所",
        "",
    ],
)
def test_what_points_at_nothing(question: str) -> None:
    assert not vagueness.points_back(question)


def test_a_question_in_full_says_more_than_its_follow_up(memory: Memory) -> None:
    def mass(question: str) -> float:
        return vagueness.measure(question, memory.index).mass

    assert mass("when are they cleaned?") < mass("when are the bells of the quarry cleaned?")
    assert mass("いつ？") < mass("いくら？と女将が聞いた") < mass("湯楽木旅館の女将の誕生日はいつ？")
    assert mass("") == 0


# -- the command line ------------------------------------------------------------------------


@pytest.fixture
def typed(memory: Memory, run: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    monkeypatch.setattr("memtool.embedders.open_embedder", lambda name, **_: FakeEmbedder())
    monkeypatch.setenv("MEMTOOL_VAULT", str(memory.vault.root))
    return run


def test_search_and_show_take_part_in_a_unit(typed: Callable[..., Ran], memory: Memory) -> None:
    typed("search", "gates of the quarry", "--session", "work")
    typed("show", "quarry/gates.md:1-5", "--session", "work")
    ran = typed("search", "and when are they cleaned?", "--session", "work")

    assert re.search(r"# session `work` \(multi-head\+words\): leant by \d\.\d, it points at", ran.err)
    assert [event.kind for event in memory.state("work").events] == ["asked", "opened", "asked"]
    told = typed("search", "and it?", "--session", "work", "--json").out
    assert '"leant": {"unit": "work"' in told and '"alpha": ' in told


def test_the_environment_names_a_unit_and_a_flag_names_none(
    typed: Callable[..., Ran], memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMTOOL_SESSION_STATE", "work")

    assert "# session `work`" in typed("search", "gates").err
    assert "# session" not in typed("search", "gates", "--session", "").err
    assert typed("state").out.startswith("work  ")


def test_states_are_listed_shown_reset_and_dropped(typed: Callable[..., Ran]) -> None:
    assert "there is no session state yet" in typed("state").err
    typed("search", "gates", "--session", "城の件")
    assert "城の件  multi-head+words, 2 updates" in typed("state", "--list").out
    assert typed("state", "城の件").out.startswith("城の件  multi-head+words, 2 updates")
    assert typed("state", "reset", "城の件", "--size", "8x8").out == "emptied 城の件 (8x8)\n"
    assert typed("state", "drop", "城の件").code == 0
    assert typed("state", "drop", "城の件").code == 1
    assert typed("state", "a", "b").code == 2
    assert typed("state", "a\nb").code == 2


def test_a_session_that_is_no_name_is_refused(typed: Callable[..., Ran]) -> None:
    assert typed("search", "gates", "--session", "a\nb").code == 2


def test_a_show_that_cannot_be_remembered_still_shows(typed: Callable[..., Ran], memory: Memory) -> None:
    sessions.folder(memory.vault).mkdir(parents=True)
    (sessions.folder(memory.vault) / "work.json").mkdir()

    ran = typed("show", "quarry/gates.md", "--session", "work")

    assert ran.code == 0 and "# Quarry gates" in ran.out
    assert "was not updated" in ran.err


def test_the_least_alpha_is_what_a_gate_gives_to_a_full_question() -> None:
    assert 0 < leaning.LEAST < min(shape.gate.most for shape in SHAPES.values())
