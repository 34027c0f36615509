"""Which of several notes on one subject is found: the one that holds at the time that is asked about."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from conftest import write_notes
from hypothesis import given
from hypothesis import strategies as st

from memtool.beliefs import holding, subject
from memtool.beliefs.rivals import Member
from memtool.memory.memory import Memory
from memtool.tense.stated import Stated, keys, marks, named, pack, unpack
from memtool.tense.tense import BEGIN, END, Asked

OpenMemory = Callable[..., Memory]
NOW = "2024-01-15"


@pytest.fixture
def notes(tmp_path: Path, open_memory: OpenMemory) -> Callable[[dict[str, str]], Memory]:
    return lambda given: open_memory(write_notes(tmp_path / "v", given))


def note(text: str, **keys: str) -> str:
    """Write a note with front matter."""
    lines = "".join(f"{key}: {value}\n" for key, value in keys.items())
    return f"---\n{lines}---\n\n{text}\n"


def found(memory: Memory, question: str, now: str = NOW, **more: Any) -> list[str]:
    """Give the paths of the hits for a question, by words alone."""
    answer = memory.search(question, mode="lexical", min_score=-1, now=now, **more)
    return list(dict.fromkeys(hit.path for hit in answer))


# -- what notes say of each other -------------------------------------------------------------

PHONE = {
    "phone-2021.md": note("The duty phone is extension 4411.", title="Duty phone", created="2021-03-01"),
    "phone-new.md": note(
        "The duty phone is extension 7020.",
        title="The new phone",
        created="2023-05-01",
        supersedes="phone-2021.md",
    ),
}


@pytest.mark.parametrize("question", ["Which extension is the duty phone?", "duty phone extension now"])
def test_a_superseded_note_is_folded_under_its_successor(notes: Callable[..., Memory], question: str) -> None:
    answer = notes(PHONE).search(question, mode="lexical", min_score=-1, now=NOW)

    bodies = [hit for hit in answer if hit.path != "phone-new.md"]
    assert bodies == []
    assert answer[0].standing is not None
    assert answer[0].standing.folded == ("phone-2021.md:6-6",)
    assert answer[0].standing.marks == ["supersedes phone-2021.md:6-6"]


@pytest.mark.parametrize(
    "question",
    [
        "Which extension was the duty phone in mid-2022?",
        "As of 2022, which extension is the duty phone?",
        "Back in 2021, which extension was the duty phone?",
        "Which extension did the duty phone have two years ago?",
        "Which extension was formerly the duty phone?",
    ],
)
def test_a_question_with_a_time_in_it_finds_what_held_then(
    notes: Callable[..., Memory], question: str
) -> None:
    answer = notes(PHONE).search(question, mode="lexical", min_score=-1, now=NOW)

    assert answer[0].path == "phone-2021.md"
    assert answer[0].standing is not None and answer[0].standing.superseded_by == "phone-new.md"
    assert "phone-new.md" in {hit.path for hit in answer}


def test_a_note_that_is_not_valid_yet_takes_no_place(notes: Callable[..., Memory]) -> None:
    memory = notes(PHONE)

    assert found(memory, "Which extension is the duty phone?", "2022-06-01")[0] == "phone-2021.md"
    assert "phone-2021.md" not in found(memory, "Which extension is the duty phone?", "2023-06-01")


def test_what_the_successor_says_nothing_of_is_still_found(notes: Callable[..., Memory]) -> None:
    old = note(
        "The duty phone is extension 4411.\nIts charger hangs behind the boiler.",
        title="Phone",
        created="2021-03-01",
    )
    memory = notes({**PHONE, "phone-2021.md": old})

    answer = memory.search("Where is the charger behind the boiler?", mode="lexical", min_score=-1, now=NOW)

    assert answer[0].path == "phone-2021.md"
    assert answer[0].standing is not None and answer[0].standing.superseded_by == "phone-new.md"


@pytest.mark.parametrize(
    "name",
    [
        "old.md",
        "old",
        "./old.md",
        "/ops/old.md",
        "ops/old.md",
        '"[[old]]"',
        "[[ops/old|before]]",
        "Old pump rule",
        "[old.md]",
    ],
)
def test_a_superseded_note_may_be_named_in_many_ways(notes: Callable[..., Memory], name: str) -> None:
    memory = notes(
        {
            "ops/old.md": note("Prime the pump by hand.", title="Old pump rule", created="2020-01-01"),
            "ops/new.md": note(
                "Prime the pump by motor.", title="Pump", created="2022-01-01", supersedes=name
            ),
        }
    )

    assert found(memory, "How to prime the pump?") == ["ops/new.md"]


def test_the_old_note_may_name_its_successor(notes: Callable[..., Memory]) -> None:
    memory = notes(
        {
            "a.md": note("Prime the pump by hand.", created="2020-01-01", superseded_by="b.md"),
            "b.md": note("Prime the pump by motor.", created="2022-01-01"),
        }
    )

    assert found(memory, "How to prime the pump?") == ["b.md"]


def test_a_chain_is_folded_under_its_end_and_each_state_is_found_at_its_time(
    notes: Callable[..., Memory],
) -> None:
    memory = notes(
        {
            "a.md": note("The pump runs at 10 bar.", created="2019-01-01"),
            "b.md": note("The pump runs at 12 bar.", created="2021-01-01", supersedes="a.md"),
            "c.md": note("The pump runs at 14 bar.", created="2023-01-01", supersedes="b.md"),
        }
    )

    assert found(memory, "At how many bar does the pump run?") == ["c.md"]
    assert found(memory, "At how many bar did the pump run in 2022?")[0] == "b.md"
    assert found(memory, "At how many bar did the pump run in 2020?")[0] == "a.md"
    assert found(memory, "At how many bar did the pump run originally?")[0] == "a.md"
    assert found(memory, "At how many bar did the pump run previously?")[0] == "b.md"


@pytest.mark.parametrize("other", ["a.md", "b.md"])
def test_notes_that_took_each_others_place_fold_nothing(notes: Callable[..., Memory], other: str) -> None:
    memory = notes(
        {
            "a.md": note("The pump runs at 10 bar.", created="2019-01-01", supersedes="b.md"),
            "b.md": note("The pump runs at 12 bar.", created="2021-01-01", supersedes=other),
        }
    )

    assert set(found(memory, "pump bar")) >= {"a.md"}


def test_a_note_that_may_not_be_read_is_never_named(notes: Callable[..., Memory]) -> None:
    from memtool.beliefs import beliefs
    from memtool.search.query import Query
    from memtool.search.search import search

    memory = notes(PHONE)
    memory.refresh()
    query = Query(
        "duty phone extension",
        mode="lexical",
        min_score=-1,
        now=NOW,
        may_read=lambda path: path != "phone-new.md",
    )

    hits = search(memory.index, query, None, leanings=beliefs.leanings(query)).hits

    assert {hit.path for hit in hits} == {"phone-2021.md"}
    assert all(hit.standing is None or not hit.standing.superseded_by for hit in hits)


# -- what nothing but dates tells ---------------------------------------------------------------


def editions(first: str, second: str, **more: str) -> dict[str, str]:
    """Give two editions of one note, each with several sections."""
    rest = "\n\n## Mill\n\nThe mill is led by Odo.\n\n## Forge\n\nThe forge is led by Runa.\n"
    return {
        "2021-12-30-leaders.md": note(f"# Leaders\n\n## Harbour\n\n{first}{rest}", title="Leaders", **more),
        "2023-12-30-leaders.md": note(f"# Leaders\n\n## Harbour\n\n{second}{rest}", title="Leaders", **more),
    }


ENGLISH = editions("The harbour is led by Ketil.", "At the harbour, Asta is in charge these days.")
JAPANESE = {
    "名簿-2021年12月.md": note(
        "# 責任者\n\n## 港\n\n港の責任者は小田切さん。\n\n## 工場\n\n工場の責任者は林さん。", title="責任者"
    ),
    "名簿-2023年12月.md": note(
        "# 責任者\n\n## 港\n\n港を率いるのは三輪さん。\n\n## 工場\n\n工場の責任者は林さん。", title="責任者"
    ),
}


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("Who leads the harbour?", "2023-12-30-leaders.md"),
        ("Who leads the harbour at the moment?", "2023-12-30-leaders.md"),
        ("Who led the harbour in the middle of 2022?", "2021-12-30-leaders.md"),
        ("Harbour leader as of March 2023", "2021-12-30-leaders.md"),
        ("Who led the harbour before 2023?", "2021-12-30-leaders.md"),
    ],
)
def test_of_two_editions_the_one_that_holds_comes_first(
    notes: Callable[..., Memory], question: str, first: str
) -> None:
    order = found(notes(ENGLISH), question)

    assert order[0] == first
    assert len(order) == 2  # nothing says that one took the other's place, so both are hits


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("港の責任者は誰？", "名簿-2023年12月.md"),
        ("現在の港の責任者", "名簿-2023年12月.md"),
        ("2022年当時の港の責任者は？", "名簿-2021年12月.md"),
        ("2022年半ばに港の責任者だったのは誰？", "名簿-2021年12月.md"),
        ("令和4年の港の責任者は？", "名簿-2021年12月.md"),
        ("一昨年の港の責任者は？", "名簿-2021年12月.md"),
    ],
)
def test_of_two_editions_in_japanese_as_well(notes: Callable[..., Memory], question: str, first: str) -> None:
    assert found(notes(JAPANESE), question)[0] == first


def test_the_older_edition_says_which_one_is_newer(notes: Callable[..., Memory]) -> None:
    answer = notes(ENGLISH).search("Who leads the harbour?", mode="lexical", min_score=-1, now=NOW)

    old = next(hit for hit in answer if hit.path.startswith("2021"))
    assert old.standing is not None and old.standing.marks == ["newer: 2023-12-30-leaders.md"]


def test_a_past_that_is_not_named_stays_with_relevance(notes: Callable[..., Memory]) -> None:
    memory = notes(editions("The harbour was led by Ketil, harbour master.", "Asta is at the harbour."))
    plain = memory.search("Who was harbour master?", mode="lexical", min_score=-1, now=NOW)

    assert plain[0].path == "2021-12-30-leaders.md"


def test_an_edition_of_the_future_does_not_hold(notes: Callable[..., Memory]) -> None:
    assert found(notes(ENGLISH), "Who leads the harbour?", "2022-06-01")[0] == "2021-12-30-leaders.md"


def test_an_event_that_a_note_dates_is_a_time(notes: Callable[..., Memory]) -> None:
    memory = notes(
        {
            "a.md": note(
                "The wifi password lies in the blue box.", title="Wifi password", created="2019-01-01"
            ),
            "b.md": note(
                "The wifi password lies in the red box.", title="Wifi password", created="2020-06-01"
            ),
            "c.md": note("The wifi password lies in the safe.", title="Wifi password", created="2023-01-01"),
            "move.md": note("We packed for a week.", title="The move to the quay", created="2022-04-01"),
        }
    )

    before = found(memory, "Where was the wifi password before the move?")

    assert next(path for path in before if path != "move.md") == "b.md"
    assert found(memory, "Where is the wifi password?")[0] == "c.md"


def test_diaries_of_one_title_are_no_editions(notes: Callable[..., Memory]) -> None:
    memory = notes(
        {
            "2023-01-02.md": note(
                "## Done\n\nMended the weir with oak and tar. The weir holds.", title="Diary"
            ),
            "2023-02-02.md": note("## Done\n\nSowed beans, saw the weir from afar.", title="Diary"),
        }
    )

    assert found(memory, "What was done to mend the weir?")[0] == "2023-01-02.md"
    assert found(memory, "How do we mend the weir?")[0] == "2023-01-02.md"


def test_notes_without_a_day_or_of_the_same_day_keep_their_order(notes: Callable[..., Memory]) -> None:
    memory = notes(
        {
            "a.md": note("The pump runs at 10 bar bar.", title="Pump"),
            "b.md": note("The pump runs at 12 bar.", title="Pump"),
        }
    )
    before = found(memory, "pump bar")

    assert found(memory, "pump bar in 2020") == before


# -- what a note says of itself -----------------------------------------------------------------


def test_what_is_not_valid_any_more_sinks_and_says_so(notes: Callable[..., Memory]) -> None:
    memory = notes(
        {
            "summer.md": note(
                "Water the beans at six in the evening.", valid_from="2023-05-01", valid_to="2023-09-30"
            ),
            "always.md": note("Water the leeks at six in the evening."),
        }
    )

    answer = memory.search("water at six in the evening", mode="lexical", min_score=-1, now=NOW)
    then = memory.search("water at six in the evening in July 2023", mode="lexical", min_score=-1, now=NOW)

    assert [hit.path for hit in answer if "beans" in hit.text or "leeks" in hit.text] == [
        "always.md",
        "summer.md",
    ]
    assert next(hit for hit in answer if hit.path == "summer.md").standing.marks == ["valid until 2023-09-30"]  # type: ignore[union-attr]
    assert {hit.path for hit in then} == {"always.md", "summer.md"}


@pytest.mark.parametrize(
    "when",
    [
        "2026-02-30",
        "0000-00-00",
        "year 0",
        "9999-99-99",
        "令和99年",
        "-1",
        "[]",
        "{a: b}",
        "12345678901234567890",
        "~",
        "2024-01-01T99:99",
    ],
)
def test_a_hostile_date_keeps_nothing_from_being_found(notes: Callable[..., Memory], when: str) -> None:
    memory = notes(
        {
            "a.md": note("The pump runs at 10 bar.", title="Pump", created=when, valid_to=when),
            "b.md": note("The pump runs at 12 bar.", title="Pump", created="2021-01-01", valid_from=when),
        }
    )

    assert set(found(memory, "At how many bar does the pump run?")) == {"a.md", "b.md"}


def test_days_of_other_zones_and_eras_are_days(notes: Callable[..., Memory]) -> None:
    memory = notes(
        {
            "a.md": note("The pump runs at 10 bar.", title="Pump", created="2024-01-15T23:30+09:00"),
            "b.md": note("The pump runs at 12 bar.", title="Pump", created="2024-01-16T01:00+14:00"),
            "c.md": note("The pump runs at 14 bar.", title="Pump", created="2031-01-01"),
        }
    )

    assert found(memory, "At how many bar does the pump run?")[0] in ("a.md", "b.md")


@pytest.mark.parametrize(
    ("written", "day"),
    [
        ("令和6年4月1日", "2024-04-01"),
        ("平成元年", "1989-01-01"),
        ("令和6年", "2024-01-01"),
        ("2024年4月1日", "2024-04-01"),
    ],
)
def test_a_day_of_an_era_is_a_day(written: str, day: str) -> None:
    from memtool.tense.dates import get_date

    when = get_date(written)
    assert when is not None and when.date().isoformat() == day


@pytest.mark.parametrize("written", ["令和6年13月1日", "令和年", "令和6", "令和99年2月30日", "未来"])
def test_a_day_of_an_era_that_is_none_is_none(written: str) -> None:
    from memtool.tense.dates import get_date

    assert get_date(written) is None


# -- the rules by themselves --------------------------------------------------------------------

days = st.dates(date(1990, 1, 1), date(2060, 12, 31)).map(date.isoformat)
members = st.lists(st.tuples(days, days | st.just("")), min_size=1, max_size=6).map(
    lambda pairs: [Member(n, n, f"{n}.md", start, end, start) for n, (start, end) in enumerate(pairs)]
)
asked = st.one_of(
    st.sampled_from([Asked("now"), Asked("none"), Asked("earlier"), Asked("first")]),
    st.tuples(st.integers(BEGIN, END), st.integers(0, 4000)).map(
        lambda p: Asked("then", p[0], min(END, p[0] + p[1]))
    ),
)


@given(members, asked, st.dates(date(1990, 1, 1), date(2060, 1, 1)))
def test_an_order_loses_and_doubles_nobody(group: list[Member], time: Asked, today: date) -> None:
    assert sorted(holding.order(group, time, today)) == sorted(group)


@given(members, st.dates(date(1990, 1, 1), date(2060, 1, 1)))
def test_what_holds_now_has_begun_where_anything_has(group: list[Member], today: date) -> None:
    first = holding.now(group, today)

    if any(member.start <= today.isoformat() for member in group):
        assert first.start <= date.fromordinal(today.toordinal() + holding.SLACK).isoformat()


@given(st.lists(days, min_size=2, max_size=6, unique=True), st.integers(0, 5), st.integers(0, 400))
def test_every_state_is_found_on_every_day_it_held(starts: list[str], which: int, later: int) -> None:
    starts.sort()
    which %= len(starts)
    group = [Member(n, n, f"{n}.md", start, "", start) for n, start in enumerate(starts)]
    begin = date.fromisoformat(starts[which]).toordinal()
    end = date.fromisoformat(starts[which + 1]).toordinal() - 1 if which + 1 < len(starts) else begin + 400
    day = min(begin + later, end)

    assert holding.order(group, Asked("then", day, day), date(2061, 1, 1))[0].start == starts[which]


@given(
    st.builds(
        Stated,
        start=days,
        end=days,
        bound=st.booleans(),
        supersedes=st.lists(st.text(max_size=9)).map(tuple),
        watches=st.lists(st.text(max_size=9)).map(tuple),
    )
)
def test_what_a_note_says_is_kept_as_it_is(said: Stated) -> None:
    assert unpack(pack(said)) == said._replace(seen=said.seen or said.start)


@given(st.text(max_size=40), st.text(max_size=20))
def test_any_name_gives_keys_and_none_marks_a_review(target: str, folder: str) -> None:
    assert all(isinstance(key, str) for key in named(target, folder))
    assert "!review" not in marks(Stated(supersedes=("!review",)), "")[1:]


def test_a_note_is_known_by_path_file_and_title() -> None:
    assert set(named("Old.md", "ops")) & set(keys("ops/old.md", "Something"))
    assert not set(named("other.md", "ops")) & set(keys("ops/old.md", "Something"))


@pytest.mark.parametrize(
    ("mine", "other"),
    [
        ("2021-12-30-coaches", "2023-12-30-coaches"),
        ("Coaches 2021", "Coaches 2023"),
        ("Coaches (2021)", "Coaches (updated)"),
        ("coaches_v1", "coaches_v2"),
        ("Travel rules FY2024", "Travel rules FY2025"),
        ("旅費規程（令和6年度）", "旅費規程（令和7年度）"),
        ("旅費規程 2024年4月", "旅費規程 2025年4月1日"),
        ("料金表（旧）", "料金表（新）"),
        ("旧料金表", "料金表"),
    ],
)
def test_names_of_editions_are_one_name(mine: str, other: str) -> None:
    assert subject.name(mine) == subject.name(other) != ""


@pytest.mark.parametrize(
    ("mine", "other"),
    [("Session 19", "Session 20"), ("2021-12-30", "2023-12-30"), ("監督一覧 (7)", "監督一覧 (8)")],
)
def test_other_names_are_other_names(mine: str, other: str) -> None:
    assert not subject.same_name(mine, mine, other, other)
