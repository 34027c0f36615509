"""check, eval, calibrate: commands that look hard at a vault and at the search itself."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from memtool import evaluate
from memtool.cli import render
from memtool.cli.main import NO, OK
from memtool.errors import UsageError
from memtool.evaluate import Case, Judged, Span
from memtool.memory.memory import Memory
from memtool.search.search import cost

#: Hits asked for when a search is measured.
DEPTH = 20


def flags(command: str, parser: argparse.ArgumentParser) -> None:
    """Give *parser* the flags of *command*."""
    add = parser.add_argument
    if command == "check":
        add(
            "--deep",
            action="store_true",
            help="make the index anew beside the live one and compare every row",
        )
    elif command == "eval":
        add("cases", type=Path, help="questions with the lines that answer them, one JSON object a line")
        mode = parser.add_mutually_exclusive_group()
        mode.add_argument(
            "--lexical", dest="mode", action="store_const", const="lexical", help="by words alone"
        )
        mode.add_argument(
            "--semantic", dest="mode", action="store_const", const="semantic", help="by meaning alone"
        )
        add(
            "--fusion",
            choices=("weighted", "rrf"),
            default="weighted",
            help="how words and meaning are joined",
        )
        add(
            "--budget", type=float, default=1500, metavar="TOKENS", help="tokens of evidence that may be read"
        )
        add(
            "--floor",
            action="append",
            default=[],
            metavar="NAME=X",
            help="exit 1 when a figure of ALL is below X",
        )
        add(
            "--results",
            type=Path,
            metavar="FILE",
            help="write every question's hits there, one JSON object a line",
        )
    elif command == "calibrate":
        add("--dry-run", action="store_true", help="only tell what would be set")


def run(options: argparse.Namespace) -> int:
    """Run one of this group's commands."""
    if options.command == "eval":
        return _eval(options)
    with Memory.open(options.vault) as memory:
        return {"check": _check, "calibrate": _calibrate}[options.command](memory, options)


def _check(memory: Memory, options: argparse.Namespace) -> int:
    found = memory.check(deep=options.deep)
    return NO if render.checked(found, as_json=options.json) else OK


# -- eval ----------------------------------------------------------------------------------


def _eval(options: argparse.Namespace) -> int:
    floors = [_floor(text) for text in options.floor]
    cases = evaluate.load(options.cases)
    judged: list[Judged] = []
    with _writer(options.results) as results:
        for vault in dict.fromkeys(case.vault for case in cases):
            with _open(options, vault) as memory:
                part = [case for case in cases if case.vault == vault]
                judged += _judge(memory, part, options, results)
    table = evaluate.table(judged)
    if options.json:
        rows = [{"name": name, "cases": count, **figures} for name, count, figures in table.rows]
        render.document({"rows": rows, "abstention": table.abstention})
    else:
        _print(table)
    return _hold(table, floors)


@contextmanager
def _writer(file: Path | None) -> Iterator[IO[str] | None]:
    if file is None:
        yield None
    else:
        try:
            stream = file.open("w", encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{file} cannot be written", why=str(error), fix="give another FILE") from error
        with stream:
            yield stream


def _open(options: argparse.Namespace, vault: str) -> Memory:
    """Open the vault a case names beside its file; "." is the vault at hand."""
    beside = options.cases.resolve().parent / vault
    if vault not in ("", ".") and beside.is_dir():
        return Memory.open(beside)
    if vault not in ("", ".") and options.vault is None:
        fix = "put it there, or say with --vault which vault is meant"
        raise UsageError(f"there is no vault {vault!r} beside {options.cases}", fix=fix)
    return Memory.open(options.vault)


def _judge(
    memory: Memory, cases: list[Case], options: argparse.Namespace, results: IO[str] | None
) -> list[Judged]:
    memory.refresh()
    if options.mode != "lexical":
        memory.embed()
    lines: dict[str, list[str]] = {}

    def search(case: Case) -> tuple[list[Span], float]:
        answer = memory.search(
            case.query,
            limit=DEPTH,
            min_score=-1,
            mode=options.mode or "hybrid",
            fusion=options.fusion,
            refresh=False,
            now=case.now,
            trace=False,
        )
        if results:
            _write(results, case, answer)
        return [Span(hit.path, hit.start, hit.end) for hit in answer], answer.confidence

    def price(case: Case, path: str, line: int) -> float:
        if path not in lines:
            lines[path] = [text for _, text in memory.show(path)]
        return cost(lines[path][line - 1]) if line <= len(lines[path]) else 0.0

    return evaluate.evaluate(cases, search, cost=price, budget=options.budget)


def _write(stream: IO[str], case: Case, answer: object) -> None:
    import json

    from memtool.answer.answer import Answer

    assert isinstance(answer, Answer)
    hits = [
        {"path": hit.path, "start_line": hit.start, "end_line": hit.end, "score": round(hit.score, 5)}
        for hit in answer
    ]
    line = {"id": case.id, "results": hits, "confidence": round(answer.confidence, 5)}
    stream.write(json.dumps(line, ensure_ascii=False) + "\n")


def _print(table: evaluate.Table) -> None:
    def cell(value: float | None) -> str:
        return "-" if value is None else f"{value:.3f}"

    body = [
        [name, str(count), *(cell(figures[column]) for column in evaluate.COLUMNS)]
        for name, count, figures in table.rows
    ]
    render.table(["", "n", *evaluate.COLUMNS], body)
    if table.abstention is not None:
        render.out(f"answerable against unanswerable, AUROC {table.abstention:.3f}")


def _floor(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        if name not in (*evaluate.COLUMNS, "abstention"):
            raise ValueError(f"there is no figure {name!r}")
        if not math.isfinite(float(value)):
            raise ValueError(f"{value} is no bound")
        return name, float(value)
    except ValueError as error:
        names = ", ".join((*evaluate.COLUMNS, "abstention"))
        raise UsageError(
            f"{text!r} is no floor", why=str(error), fix=f"write NAME=X with one of {names}"
        ) from error


def _hold(table: evaluate.Table, floors: list[tuple[str, float]]) -> int:
    """Compare with the floors; a figure that cannot be had is below every floor."""
    code = OK
    for name, least in floors:
        figure = table.abstention if name == "abstention" else table.rows[0][2][name]
        if figure is None or figure < least:
            print(
                f"{name} is {'missing' if figure is None else f'{figure:.3f}'}, below its floor {least}",
                file=sys.stderr,
            )
            code = NO
    return code


# -- calibrate -----------------------------------------------------------------------------


def _calibrate(memory: Memory, options: argparse.Namespace) -> int:
    report = memory.calibrate(keep=not options.dry_run)
    if options.json:
        render.document(report._asdict())
    else:
        for line in str(report).split("\n"):
            render.out(line)
    return OK
