"""Calibration: a vault's own questions set the line, within bounds, and only for their embedder."""

from __future__ import annotations

from pathlib import Path

import pytest

from memtool import calibration
from memtool.errors import UsageError
from memtool.index.index import FileRow


def files(count: int, **facts: object) -> list[FileRow]:
    return [FileRow(n, f"{n}.md", "", f"Title {n}", "", (), "", dict(facts)) for n in range(1, count + 1)]


def test_the_line_parts_noise_from_answers() -> None:
    found = calibration.calibrate(files(50), lambda question, without: 0.1 if without else 0.9)

    assert 0.1 <= found.least_chance <= 0.25
    assert (found.kept, found.answered, found.noise) == (1.0, 0.9, 0.1)


def test_answers_are_not_given_up_to_refuse_more_noise() -> None:
    found = calibration.calibrate(files(50), lambda question, without: 0.6 if without else 0.05)

    assert found.kept == 1.0
    assert found.least_chance <= 0.05


def test_what_a_note_says_it_answers_is_asked_before_its_title() -> None:
    asked = []

    def ask(question: str, without: int) -> float:
        asked.append(question)
        return 0.5

    calibration.calibrate(files(calibration.QUESTIONS, asks=["why?"]), ask)

    assert set(asked) == {"why?"}


def test_a_vault_of_a_few_notes_says_nothing() -> None:
    with pytest.raises(UsageError, match="too small"):
        calibration.calibrate(files(3), lambda question, without: 0.5)


def test_a_line_is_kept_for_one_embedder(tmp_path: Path) -> None:
    found = calibration.calibrate(files(50), lambda question, without: 0.1 if without else 0.9)
    calibration.save(tmp_path, found, "e5")

    assert calibration.load(tmp_path, "e5") == found.least_chance
    assert calibration.load(tmp_path, "other") is None


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"fingerprint": "e5"}', '{"fingerprint": "e5", "least_chance": "x"}']
)
def test_a_damaged_calibration_is_as_good_as_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "calibration.json").write_text(text, encoding="utf-8")

    assert calibration.load(tmp_path, "e5") is None
