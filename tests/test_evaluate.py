"""Figures of a search: cases worked by hand, and a plain re-computation of the same."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Ran

from memtool import evaluate
from memtool.errors import UsageError
from memtool.evaluate import Case, Span

HERE = Path(__file__).parent


def case(*gold: Span, any: bool = False, stale: tuple[Span, ...] = (), answerable: bool = True) -> Case:
    return Case("c", "question", "kind", ".", gold, stale, any, answerable)


def judge(one: Case, hits: list[Span], *, budget: float = 1500, price: float = 10) -> dict[str, float | None]:
    return evaluate.judge(one, hits, cost=lambda path, line: price, budget=budget)


A, B = Span("a.md", 1, 5), Span("b.md", 10, 12)


def test_a_hit_that_overlaps_by_one_line_counts() -> None:
    assert judge(case(A), [Span("a.md", 5, 9)])["R@1"] == 1
    assert judge(case(A), [Span("a.md", 6, 9)])["R@1"] == 0
    assert judge(case(A), [Span("b.md", 1, 5)])["R@1"] == 0


def test_the_second_place_is_worth_half_a_reciprocal_rank() -> None:
    figures = judge(case(A), [B, A])

    assert (figures["R@1"], figures["R@3"], figures["MRR@10"]) == (0, 1, 0.5)
    assert figures["nDCG@10"] == pytest.approx(1 / math.log2(3))


def test_two_runs_are_both_wanted_unless_one_is_enough() -> None:
    assert judge(case(A, B), [A])["R@5"] == 0.5
    assert judge(case(A, B, any=True), [A])["R@5"] == 1
    assert judge(case(A, B), [A, B])["nDCG@10"] == 1


def test_what_stands_below_ten_does_not_count() -> None:
    other = [Span("z.md", n, n) for n in range(1, 11)]

    assert judge(case(A), [*other, A])["MRR@10"] == 0
    assert judge(case(A), [*other, A])["R@10"] == 0


def test_a_very_long_hit_is_never_strict() -> None:
    long = Span("a.md", 1, 41)

    assert judge(case(A), [long])["R@5"] == 1
    assert judge(case(A), [long])["strict R@5"] == 0
    assert judge(case(A), [Span("a.md", 1, 40)])["strict R@5"] == 1


def test_evidence_must_lie_within_the_budget() -> None:
    hits = [Span("z.md", 1, 10), A]

    assert judge(case(A), hits, budget=110)["budget"] == 1
    assert judge(case(A), hits, budget=100)["budget"] == 0


def test_a_line_read_twice_is_paid_once() -> None:
    assert judge(case(A), [Span("z.md", 1, 10), Span("z.md", 1, 10), A], budget=110)["budget"] == 1


def test_what_holds_must_stand_before_what_no_longer_holds() -> None:
    old = Span("old.md", 1, 3)

    assert judge(case(A, stale=(old,)), [A, old])["fresh"] == 1
    assert judge(case(A, stale=(old,)), [old, A])["fresh"] == 0
    assert judge(case(A, stale=(old,)), [A])["fresh"] == 1
    assert judge(case(A, stale=(old,)), [B])["fresh"] == 0
    assert judge(case(A), [A])["fresh"] is None


def test_nothing_found_is_worth_nothing() -> None:
    figures = judge(case(A), [])

    assert {figures[name] for name in ("R@1", "R@10", "MRR@10", "nDCG@10", "budget", "strict R@5")} == {0}


def test_unanswerable_questions_stand_apart() -> None:
    cases = [case(A), case(answerable=False)]
    judged = evaluate.evaluate(cases, lambda c: ([A], 0.9 if c.gold else 0.1), cost=lambda c, p, n: 1.0)
    table = evaluate.table(judged)

    assert table.rows[0][:2] == ("ALL", 1)
    assert table.rows[0][2]["R@1"] == 1
    assert table.abstention == 1


def test_without_unanswerable_questions_there_is_no_abstention() -> None:
    judged = evaluate.evaluate([case(A)], lambda c: ([A], 0.9), cost=lambda c, p, n: 1.0)

    assert evaluate.table(judged).abstention is None


def plain_figures(gold: list[Span], hits: list[Span], k: int) -> tuple[float, float, float]:
    """Recall, reciprocal rank and nDCG, written down as in a textbook."""
    touched = [[g for g in gold if h.path == g.path and h.start <= g.end and g.start <= h.end] for h in hits]
    recall = len({g for some in touched[:k] for g in some}) / len(gold)
    first = next((1 / rank for rank, some in enumerate(touched[:10], 1) if some), 0.0)
    seen: set[Span] = set()
    gain = 0.0
    for rank, some in enumerate(touched[:10], 1):
        for g in some:
            if g not in seen:
                seen.add(g)
                gain += 1 / math.log2(rank + 1)
    best = sum(1 / math.log2(rank + 1) for rank in range(1, min(len(gold), 10) + 1))
    return recall, first, min(1.0, gain / best)


@pytest.mark.parametrize("seed", range(30))
def test_figures_equal_a_plain_recomputation(seed: int) -> None:
    chance = random.Random(seed)

    def span() -> Span:
        start = chance.randint(1, 30)
        return Span(chance.choice("abc") + ".md", start, start + chance.randint(0, 6))

    gold = list(dict.fromkeys(span() for _ in range(chance.randint(1, 4))))
    hits = [span() for _ in range(chance.randint(0, 15))]
    figures = judge(case(*gold), hits)

    recall, first, ndcg = plain_figures(gold, hits, 5)
    assert figures["R@5"] == pytest.approx(recall)
    assert figures["MRR@10"] == pytest.approx(first)
    assert figures["nDCG@10"] == pytest.approx(ndcg)


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "5",
        '{"id": "x"}',
        '{"id": "x", "query": "q", "gold": [{"path": "a.md"}]}',
        '{"id": "x", "query": "q", "gold": [{"path": "a.md", "start_line": 3, "end_line": 2}]}',
        '{"id": "x", "query": "q", "gold": [{"path": "a.md", "start_line": 0, "end_line": 2}]}',
        '{"id": "x", "query": "q", "gold": 7}',
    ],
)
def test_a_line_that_is_no_case_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_text('{"id": "ok", "query": "q", "gold": []}\n\n' + line + "\n", encoding="utf-8")

    with pytest.raises(UsageError, match=r"cases\.jsonl:3 is no case"):
        evaluate.load(file)


def test_what_a_case_lacks_is_said_in_words(tmp_path: Path) -> None:
    file = tmp_path / "cases.jsonl"
    told = []
    for line in ('{"id": "x"}', "5"):
        file.write_text(line, encoding="utf-8")
        with pytest.raises(UsageError) as refused:
            evaluate.load(file)
        told.append(refused.value.why)
    with pytest.raises(UsageError) as missing:
        evaluate.load(tmp_path / "none.jsonl")

    assert [*told, missing.value.why] == [
        "it has no `query`",
        "it has another form",
        "No such file or directory",
    ]


def test_a_file_of_cases_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "latin.jsonl").write_bytes(b"\xe9")

    for name in ("none.jsonl", "latin.jsonl"):
        with pytest.raises(UsageError, match="cannot read"):
            evaluate.load(tmp_path / name)


def test_cases_are_read_with_a_byte_order_mark_too(tmp_path: Path) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_bytes(b'\xef\xbb\xbf{"id": "1", "query": "q", "gold": []}\n')

    assert [one.id for one in evaluate.load(file)] == ["1"]


# -- the command ---------------------------------------------------------------------------


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    file = tmp_path / "cases.jsonl"
    lines = [
        {"id": "1", "query": "spare keys shed", "category": "keyword", "vault": ".",
         "gold": [{"path": "tools/shed/keys/spare keys.md", "start_line": 1, "end_line": 40}]},
        {"id": "2", "query": "zebra crossing", "category": "none", "vault": ".",
         "gold": [], "answerable": False},
    ]  # fmt: skip
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return file


def test_eval_prints_a_table_and_holds_a_floor(vault: Path, cases: Path, run: Callable[..., Ran]) -> None:
    shown = run("eval", str(cases), "--vault", str(vault), "--lexical", "--floor", "R@10=1")
    failed = run("eval", str(cases), "--vault", str(vault), "--lexical", "--floor", "fresh=0.1")

    assert shown.code == 0
    assert shown.out.split("\n")[0].split()[:2] == ["n", "R@1"]
    assert shown.out.split("\n")[1].split()[:2] == ["ALL", "1"]
    assert failed.code == 1
    assert "fresh is missing, below its floor 0.1" in failed.err


def test_eval_writes_every_questions_hits(
    vault: Path, cases: Path, tmp_path: Path, run: Callable[..., Ran]
) -> None:
    results = tmp_path / "results.jsonl"
    run("eval", str(cases), "--vault", str(vault), "--lexical", "--results", str(results))
    lines = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]

    assert [line["id"] for line in lines] == ["1", "2"]
    assert lines[0]["results"][0].keys() == {"path", "start_line", "end_line", "score"}


def test_eval_as_json_is_one_document(vault: Path, cases: Path, run: Callable[..., Ran]) -> None:
    document = json.loads(run("eval", str(cases), "--vault", str(vault), "--lexical", "--json").out)

    assert document.keys() == {"rows", "abstention"}
    assert {"name", "cases", *evaluate.COLUMNS} <= document["rows"][0].keys()


@pytest.mark.parametrize("floor", ["R@2=1", "R@1", "R@1=x", "R@1=nan"])
def test_a_floor_that_makes_no_sense_is_refused(
    vault: Path, cases: Path, run: Callable[..., Ran], floor: str
) -> None:
    assert run("eval", str(cases), "--vault", str(vault), "--floor", floor).code == 2


def test_a_case_of_a_vault_that_is_not_there_is_refused(
    tmp_path: Path, vault: Path, run: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_text('{"id": "1", "query": "q", "vault": "elsewhere", "gold": []}\n', encoding="utf-8")
    monkeypatch.setenv("MEMTOOL_VAULT", str(vault))

    assert "there is no vault 'elsewhere'" in run("eval", str(file), "--lexical").err
    assert run("eval", str(file), "--lexical", "--results", str(tmp_path / "no" / "x")).code == 2


@pytest.mark.parametrize("name", ["garden", "template"])
def test_words_alone_find_most_of_what_the_bundled_cases_ask(
    name: str, tmp_path: Path, vault: Path, run: Callable[..., Ran]
) -> None:
    files = {"garden": HERE / "vaults" / "garden.jsonl", "template": HERE / "cases" / "template.jsonl"}
    folder = vault
    if name == "template":
        folder = tmp_path / "made"
        run("init", str(folder))

    ran = run("eval", str(files[name]), "--vault", str(folder), "--lexical", "--floor", "R@10=0.45")

    assert (ran.code, ran.err) == (0, "")
