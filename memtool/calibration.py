"""A vault's own questions -> the chance below which its answers are noise.

Asks what the notes say they answer (their questions, titles and descriptions) twice: of the whole
vault, and of the vault without the note that answers. The second is the null: whatever comes back
there is noise. Knows nothing of how a search works.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from memtool import atomic
from memtool.errors import UsageError
from memtool.index.index import FileRow

#: Questions asked at most; more cost time and change little.
QUESTIONS = 120

#: Fewer questions than these say nothing of a vault.
LEAST_QUESTIONS = 10

#: The line lies above this share of noise, unless that would cost more than LOST of the answers.
NOISE, LOST = 0.9, 0.03

#: A line is never set outside these bounds: notes answer their own questions better than people's.
BOUNDS = (0.02, 0.25)

#: Asks a question of all notes but one (0: of all), and gives how sure it is that they answer.
Asking = Callable[[str, int], float]


class Calibration(NamedTuple):
    """What a calibration found, and the line it sets."""

    questions: int
    answered: float  # median chance with the note that answers
    noise: float  # median chance without it
    least_chance: float
    kept: float  # share of answers above the line
    refused: float  # share of noise below it

    def __str__(self) -> str:
        return (
            f"{self.questions} questions: chance {self.answered:.2f} with the note that answers, "
            f"{self.noise:.2f} without it\n"
            f"line at {self.least_chance:.3f}: keeps {self.kept:.0%} of answers, "
            f"refuses {self.refused:.0%} of noise"
        )


def calibrate(files: Sequence[FileRow], ask: Asking) -> Calibration:
    """Ask the vault's own questions and choose the line; raises UsageError when there are too few."""
    asked = _questions(files)
    if len(asked) < LEAST_QUESTIONS:
        raise UsageError(
            "this vault is too small to be calibrated",
            why=f"its notes give {len(asked)} questions; {LEAST_QUESTIONS} are needed",
            fix="go on with the default until there are more notes",
        )
    answered = sorted(ask(question, 0) for question, _ in asked)
    noise = sorted(ask(question, file) for question, file in asked)
    line = min(_quantile(noise, NOISE), _quantile(answered, LOST))
    line = round(min(max(line, BOUNDS[0]), BOUNDS[1]), 4)
    return Calibration(
        questions=len(asked),
        answered=_quantile(answered, 0.5),
        noise=_quantile(noise, 0.5),
        least_chance=line,
        kept=sum(chance >= line for chance in answered) / len(answered),
        refused=sum(chance < line for chance in noise) / len(noise),
    )


def _questions(files: Sequence[FileRow]) -> list[tuple[str, int]]:
    """Give questions with the note that answers each: what a note says it answers, then its title."""
    found: list[tuple[str, int]] = []
    for keys in (("asks",), ("description", "read_if")):
        for file in files:
            for key in keys:
                value = file.facts.get(key)
                found += [
                    (str(text), file.id) for text in (value if isinstance(value, list) else [value]) if text
                ]
    if len(found) < QUESTIONS:
        found += [(file.title, file.id) for file in files]
    step = max(1, len(found) // QUESTIONS)
    return found[::step][:QUESTIONS]


def _quantile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


# -- keeping it ------------------------------------------------------------------------------


def save(folder: Path, calibration: Calibration, fingerprint: str) -> None:
    """Keep the line for one embedder; another one's chances are not comparable."""
    text = json.dumps({"fingerprint": fingerprint, **calibration._asdict()}, indent=1)
    atomic.put(folder / "calibration.json", (text + "\n").encode())


def load(folder: Path, fingerprint: str) -> float | None:
    """Give the line that was kept for this embedder; None when there is none that can be used."""
    try:
        kept = json.loads((folder / "calibration.json").read_text(encoding="utf-8"))
        line = float(kept["least_chance"]) if kept["fingerprint"] == fingerprint else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return line if line is not None and BOUNDS[0] <= line <= BOUNDS[1] else None
