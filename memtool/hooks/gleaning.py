"""The turns of a session -> what is worth keeping of it, word for word: asked, decided, open, run, changed.

Nothing is put in other words, and each line names its turn: it is an index to the session and not its
replacement. Works by what English and Japanese say when something is decided or left open. Secrets are
masked before a line is shortened, so that no half of one is left.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from memtool.hooks.transcript import Turn
from memtool.hooks.transcript_formats import Call

#: Lines of each kind that are kept: the first few say what it was about, the last how it ended.
MOST, LONGEST = 20, 240

#: Characters of one turn that are looked at.
MOST_TEXT = 40_000

_DECIDED = re.compile(
    r"\b(?:decided?|decision|agreed|settled on|go(?:ing)? with|chose|chosen|we(?:'ll| will) (?:use|keep|go)"
    r"|let'?s (?:use|keep|go with|stick)|stick(?:ing)? with|from now on|the plan is|in conclusion|instead of"
    r"|must (?:always|never)|never again|prefer)\b"
    r"|決め(?:た|ました|る|ます|よう)|決定|ことに(?:し|する|なっ)|方針(?:は|と|を)|採用(?:し|する|です)"
    r"|にしましょう|に統一"
    r"|今後は|これからは|却下|合意|結論(?:は|と|:|：)|で(?:いく|いきます|行く|行きます|いきましょう)(?:。|$)",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"\b(?:to-?do|fixme|open (?:question|point|issue)s?|still (?:need|open|to be|fail|unclear|have to)\w*"
    r"|remains?(?: to be)?|remaining|not (?:yet|done)|next steps?|follow[- ]up|unresolved|pending"
    r"|blocked (?:by|on)|for later|to be (?:done|decided)|left to do|unclear)\b"
    r"|未(?:対応|解決|着手|実装|確認|定)|残(?:って|り(?:は|の)|課題|件)|(?:あと|後)で(?:確認|対応|直|やる|やり)"
    r"|要(?:確認|検討|対応)"
    r"|宿題|次回|次の(?:ステップ|課題)|保留|課題(?:は|が|と)|まだ[^。]{0,20}(?:ない|ません|未)|待ち(?:です|。|$)",
    re.IGNORECASE,
)
_SENTENCES = re.compile(r"(?<=[.!?])\s+(?=[^a-z])|(?<=[。！？])")
_FENCE = re.compile(r"^\s*(?:```|~~~)")
_BULLET = re.compile(r"^\s*(?:[-*+>]|\d+[.)]|#+|・)\s*(?:\[[ xX]\]\s*)?")
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$|^\*\*\* Move to: (.+)$", re.MULTILINE)

_RUNS = {
    "bash",
    "shell",
    "exec_command",
    "local_shell",
    "container.exec",
    "run_shell_command",
    "unified_exec",
}
_WRITES = {"edit", "write", "multiedit", "notebookedit", "apply_patch", "patch", "update", "create_file"}
_PLACES = ("file_path", "filePath", "notebook_path", "path")

Mask = Callable[[str], str]


class Line(NamedTuple):
    """Something that was said or done, and in which turn."""

    turn: int
    role: str
    text: str


class Run(NamedTuple):
    """A command, the turn in which it was run last, how that ended, and how often it was run."""

    turn: int
    command: str
    ok: bool
    error: str
    times: int = 1


class Gleaned(NamedTuple):
    """What is worth keeping of a session."""

    asked: tuple[Line, ...] = ()
    decided: tuple[Line, ...] = ()
    open: tuple[Line, ...] = ()
    runs: tuple[Run, ...] = ()
    files: tuple[tuple[str, tuple[int, ...]], ...] = ()  # with the turns that changed them


def glean(turns: Sequence[Turn], *, mask: Mask) -> Gleaned:
    """Find what is worth keeping in *turns*; *mask* takes secrets out of a text."""
    # Masked whole: a line alone does not tell that the one before it said "password".
    turns = [turn._replace(text=mask(turn.text[:MOST_TEXT]) if _says(turn) else "") for turn in turns]
    said = [(turn, sentence) for turn in turns for sentence in sentences(turn.text)]
    opened = [*_matching(said, _OPEN), *_todos(turns, mask), *_unanswered(turns)]
    return Gleaned(
        asked=_few(_asked(turns)),
        decided=_few(_matching(said, _DECIDED)),
        open=_few(sorted(opened, key=lambda line: line.turn)),
        runs=tuple(_runs(turns, mask))[-2 * MOST :],
        files=_files(turns, mask)[: 2 * MOST],
    )


def _says(turn: Turn) -> bool:
    """Tell whether a line of a turn may be kept: masking costs far more than looking."""
    return turn.role == "user" or bool(_DECIDED.search(turn.text) or _OPEN.search(turn.text))


def sentences(text: str) -> Iterator[str]:
    """Cut what somebody said into sentences; code in fences is not said.

    >>> list(sentences("Use B. It is faster.\\n```\\nx = 1\\n```\\n- 合鍵は棚。次回確認。"))
    ['Use B.', 'It is faster.', '合鍵は棚。', '次回確認。']
    """
    inside = False
    for line in text.split("\n"):
        if _FENCE.match(line):
            inside = not inside
        elif not inside:
            for sentence in _SENTENCES.split(_BULLET.sub("", line, count=1)):
                if len(sentence.strip()) > 3:
                    yield sentence.strip()


def shorten(text: str, longest: int = LONGEST) -> str:
    """Put a text on one line of bounded length."""
    line = " ".join(text[: 20 * longest].split())
    return line if len(line) <= longest else f"{line[: longest - 1].rstrip()}…"


def _asked(turns: Iterable[Turn]) -> Iterator[Line]:
    for turn in turns:
        first = next((line for line in turn.text.split("\n") if line.strip()), "")
        if turn.role == "user" and first and not first.lstrip().startswith("<"):
            yield Line(turn.number, turn.role, shorten(first))


def _matching(said: Iterable[tuple[Turn, str]], pattern: re.Pattern[str]) -> Iterator[Line]:
    for turn, sentence in said:
        if pattern.search(sentence[: 4 * LONGEST]):
            yield Line(turn.number, turn.role, shorten(sentence))


def _todos(turns: Sequence[Turn], mask: Mask) -> Iterator[Line]:
    """Give what the agent's own list says is not done, as it stood last."""
    for turn in reversed(turns):
        for call in turn.calls:
            todos = call.params.get("todos") or call.params.get("plan")
            if not isinstance(todos, list):
                continue
            for todo in todos:
                if isinstance(todo, dict) and todo.get("status") not in ("completed", "cancelled", None):
                    words = todo.get("content") or todo.get("step") or ""
                    if isinstance(words, str) and words.strip():
                        yield Line(turn.number, turn.role, shorten(mask(words)))
            return


def _unanswered(turns: Sequence[Turn]) -> Iterator[Line]:
    if turns and turns[-1].role == "user" and turns[-1].text.strip():
        yield Line(turns[-1].number, "user", f"not answered: {shorten(turns[-1].text)}")


def _few(lines: Iterable[Line]) -> tuple[Line, ...]:
    """Keep each text once, and of many the first few and the last."""
    every: dict[str, Line] = {}
    for line in lines:
        every.setdefault(line.text, line)
    kept = list(every.values())
    return tuple(kept if len(kept) <= MOST else [*kept[: MOST // 4], *kept[-(MOST - MOST // 4) :]])


# -- what was done ---------------------------------------------------------------------------


def _runs(turns: Iterable[Turn], mask: Mask) -> Iterator[Run]:
    found: dict[str, Run] = {}
    for turn in turns:
        for call in turn.calls:
            command = _command(call)
            if command:
                text = shorten(mask(command[:MOST_TEXT]))
                before = found.pop(text, None)
                error = "" if call.ok else _error(call.output, mask)
                found[text] = Run(turn.number, text, call.ok, error, before.times + 1 if before else 1)
    yield from found.values()


def _command(call: Call) -> str:
    if call.tool.lower() not in _RUNS:
        return ""
    given: Any = call.params.get("command") or call.params.get("cmd") or ""
    if isinstance(given, list):
        words = [word for word in given if isinstance(word, str)]
        given = words[-1] if len(words) == 3 and words[1] in ("-lc", "-c") else " ".join(words)
    return given.strip() if isinstance(given, str) else ""


def _error(output: str, mask: Mask) -> str:
    """Give the line of an output that says most about what went wrong."""
    lines = [line for line in mask(output[-8000:]).split("\n") if line.strip()]
    telling = [
        line for line in lines if re.search(r"(?i)error|fail|fatal|denied|not found|エラー|失敗", line)
    ]
    return shorten((telling or lines or [""])[-1], 160)


def _files(turns: Iterable[Turn], mask: Mask) -> tuple[tuple[str, tuple[int, ...]], ...]:
    found: dict[str, dict[int, None]] = {}
    for turn in turns:
        for call in turn.calls:
            if call.tool.lower() in _WRITES and call.ok:
                for place in _touched(call):
                    found.setdefault(shorten(mask(place)), {})[turn.number] = None
    return tuple((place, tuple(numbers)) for place, numbers in found.items())


def _touched(call: Call) -> list[str]:
    places = [value for key in _PLACES if isinstance(value := call.params.get(key), str) and value]
    for value in call.params.values():
        if isinstance(value, str) and "*** " in value:
            places += [first or second for first, second in _PATCHED.findall(value)]
    return places
