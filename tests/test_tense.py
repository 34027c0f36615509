"""Times in questions: which are read, in both languages, and which words only look like one."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtool.tense.tense import BEGIN, END, Asked, read

TODAY = date(2024, 1, 15)


def span(question: str, today: date = TODAY) -> str:
    """Write the days that a question asks about, or how it leans."""
    asked = read(question, today)
    if asked.lean != "then":
        return asked.lean
    if asked.event:
        return f"{asked.side} {asked.event}"
    first = "" if asked.start == BEGIN else str(date.fromordinal(asked.start))
    last = "" if asked.end == END else str(date.fromordinal(asked.end))
    return f"{first}..{last}"


@pytest.mark.parametrize(
    ("question", "days"),
    [
        ("Who was the head coach in the middle of 2022?", "2022-06-01..2022-07-31"),
        ("Who coached Twente in mid-2022?", "2022-06-01..2022-07-31"),
        ("who led it in mid 2022", "2022-06-01..2022-07-31"),
        ("As of 2021, who leads it?", "2021-01-01..2021-12-31"),
        ("Back in May 2021, what was the limit?", "2021-05-01..2021-05-31"),
        ("the limit on June 15, 2022", "2022-06-15..2022-06-15"),
        ("15 June 2022, who was on call?", "2022-06-15..2022-06-15"),
        ("2022-06-15 on call", "2022-06-15..2022-06-15"),
        ("Which version ran at the end of 2021?", "2021-12-01..2021-12-31"),
        ("in early 2021, who led?", "2021-01-01..2021-03-31"),
        ("the second half of 2021", "2021-07-01..2021-12-31"),
        ("Who sent our texts in autumn 2021?", "2021-09-01..2021-11-30"),
        ("the vendor in Q3 2022", "2022-07-01..2022-09-30"),
        ("from 2012 to 2013, which team?", "2012-01-01..2013-12-31"),
        ("Between March 2020 and May 2021, who led?", "2020-03-01..2021-05-31"),
        ("who led before 1990", "..1989-12-31"),
        ("in the 1990s, who led?", "1990-01-01..1999-12-31"),
        ("coach twente 2022", "2022-01-01..2022-12-31"),
        ("Who was it two years ago?", "2021-10-16..2022-04-16"),
        ("Who was the coach last year?", "2023-01-01..2023-12-31"),
        ("who led last summer", "2023-06-01..2023-08-31"),
        ("yesterday's build", "2024-01-14..2024-01-14"),
        ("2022年当時の監督は？", "2022-01-01..2022-12-31"),
        ("2022年半ばの監督", "2022-06-01..2022-07-31"),
        ("2022年の半ばに監督だったのは誰ですか。", "2022-06-01..2022-07-31"),
        ("２０２２年６月の監督は？", "2022-06-01..2022-06-30"),
        ("2022年6月15日に誰が当番だった？", "2022-06-15..2022-06-15"),
        ("二〇二二年の監督", "2022-01-01..2022-12-31"),
        ("令和4年の監督は", "2022-01-01..2022-12-31"),
        ("平成元年の本社", "1989-01-01..1989-12-31"),
        ("2022年度の予算", "2022-04-01..2023-03-31"),
        ("2021年の秋、窓口は誰だった？", "2021-09-01..2021-11-30"),
        ("2021年末の上限", "2021-12-01..2021-12-31"),
        ("2021年上半期の担当", "2021-01-01..2021-06-30"),
        ("1990年より前の本社", "..1989-12-31"),
        ("2012年から2013年まではどのチーム？", "2012-01-01..2013-12-31"),
        ("去年の監督は誰？", "2023-01-01..2023-12-31"),
        ("昨年6月の監督は誰？", "2023-06-01..2023-06-30"),
        ("おととしの上限", "2022-01-01..2022-12-31"),
        ("3年前の上限", "2020-10-15..2021-04-15"),
        ("先月の当番", "2023-12-01..2023-12-31"),
        ("昨日の会議", "2024-01-14..2024-01-14"),
        ("What was the password before the move?", "before move"),
        ("wifi password before the move", "before move"),
        ("移転前の住所は？", "before 移転"),
        ("移転後はどこだった？", "after 移転"),
    ],
)
def test_a_time_is_read(question: str, days: str) -> None:
    assert span(question) == days


@pytest.mark.parametrize(
    ("question", "lean"),
    [
        ("Who is the coach of Twente?", "now"),
        ("Name of the coach at Bologna FC 1909", "now"),
        ("Who is the coach these days?", "now"),
        ("監督は誰ですか。", "now"),
        ("いま率いている監督は？", "now"),
        ("首長の名前は？", "now"),
        ("What did we decide about backups?", "now"),
        ("What is RFC 2119?", "now"),
        ("Which service listens on port 2022?", "now"),
        ("Which Windows Server 2019 licence do we have?", "now"),
        ("Is the limit 2000 yen?", "now"),
        ("What must I check before the deploy?", "now"),
        ("デプロイ前に何を確認する？", "now"),
        ("In 2024, who leads?", "now"),
        ("今年の上限", "now"),
        ("0000年の監督", "now"),
        ("2022年13月の監督", "now"),
        ("", "now"),
        ("Who was the coach?", "none"),
        ("Which team did he play for?", "none"),
        ("監督だったのは誰ですか", "none"),
        ("Who used to coach it?", "earlier"),
        ("the former vendor", "earlier"),
        ("以前の担当者は？", "earlier"),
        ("旧住所は？", "earlier"),
        ("What was it originally called?", "first"),
        ("当初の予定は？", "first"),
    ],
)
def test_a_question_without_a_time_leans_to_now_or_nowhere(question: str, lean: str) -> None:
    assert read(question, TODAY).lean == lean


def test_what_a_relative_time_means_depends_on_today() -> None:
    assert span("去年の監督は？", date(2020, 5, 1)) == "2019-01-01..2019-12-31"
    assert span("in 2022, who leads?", date(2022, 6, 30)) == "now"


@given(st.text(max_size=80), st.dates(date(1, 1, 1), date(9999, 12, 31)))
def test_any_text_has_some_time_within_the_calendar(question: str, today: date) -> None:
    asked = read(question, today)

    assert isinstance(asked, Asked)
    assert BEGIN - 1 <= asked.end <= END and BEGIN <= asked.start <= END + 1


@given(st.dates(date(1990, 1, 1), date(2090, 1, 1)), st.integers(32, 9000))
def test_a_written_day_is_that_day_in_every_spelling(day: date, later: int) -> None:
    today = day + timedelta(days=later)
    spelled = [
        f"who led on {day}",
        f"{day.year}年{day.month}月{day.day}日の担当は誰だった",
        f"who led on {day:%B} {day.day}, {day.year}",
    ]

    assert {span(question, today) for question in spelled} == {f"{day}..{day}"}


@given(st.integers(1000, 2190), st.sampled_from(["in {}, who led?", "{}年の担当は？", "as of {} who leads?"]))
def test_a_year_never_raises_and_never_leaves_the_calendar(year: int, form: str) -> None:
    asked = read(form.format(year), TODAY)

    assert asked.start <= asked.end
