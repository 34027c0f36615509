"""How an answer came about <-> a line in ``traces.jsonl``: enough to ask again and to compare.

Holds the question (masked), settings, paths, lines and scores, and never what a note says. Bounded: the
file of before is kept beside the new one, and the one before that is not. Losing it loses nothing else.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from memtool import atomic
from memtool.answer.answer import Answer
from memtool.index.index import Index
from memtool.search.query import Leanings, Query, Seen
from memtool.search.scoring import Scored
from memtool.vault import Vault

NAME, BEFORE = "traces.jsonl", "traces.1.jsonl"

#: Bytes of one file; there are two at most.
MOST = 1_000_000
#: Candidates of one search that are kept, best first, besides what was shown.
KEPT = 20
_QUESTION = 500
_BLOB = 12  # hex digits that tell one version of a note from another
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

#: Settings of a query that are asked with again; `may_read` and calibration are those of the day.
SETTINGS = (
    *("mode", "limit", "min_score", "types", "tags", "path", "since", "until"),
    *("budget", "fusion", "now", "session", "opened", "archived", "score"),
)
_DEFAULTS = Query("")._asdict()

# To look for secrets costs more than to search by words, so it is done only for a question that may hold
# one: with a word that secrets are called by, a sign that they are written with, or a long odd word.
_MAY_HOLD_SECRET = re.compile(
    r"pass|pw|psk|pin|secret|token|key|cred|auth|bearer|cookie|session|salt|seed|sig|code|combin|log|sign|"
    r"user|account|admin|root|phrase|mnemonic|wifi|contrase|kennwort|[=:@/\\~]|"
    r"パス|合言葉|あいことば|暗|番号|コード|ログイン|トークン|シークレット|鍵|キー|認証|フレーズ|ユーザ|"
    r"(?=[a-z_+\-]*[0-9])[a-z0-9_+\-]{6,}|[0-9]{5,}|[a-z0-9_+.\-]{16,}",
    re.IGNORECASE,
)


class Candidate(NamedTuple):
    """A chunk that was measured: its scores by each ranker, before leanings (fused) and after (final)."""

    path: str
    start: int
    end: int
    words: float
    words_rank: int
    meaning: float | None
    meaning_rank: int
    fused: float
    final: float | None  # None: left out after it was measured
    version: str  # the first digits of the note's blob
    shown: bool

    @property
    def anchor(self) -> str:
        return f"{self.path}:{self.start}-{self.end}"


class Trace(NamedTuple):
    """One search, as it was asked and answered; ``when`` is seconds since 1970."""

    id: str
    when: float
    question: str
    masked: bool  # the question held a likely secret and is not whole: it cannot be asked again
    settings: Mapping[str, Any]
    writer: str
    notes: int
    terms: tuple[str, ...]
    rankers: tuple[str, ...]
    covered: float
    revision: str
    threshold: float
    confidence: float
    measured: int
    candidates: tuple[Candidate, ...]

    @property
    def shown(self) -> list[Candidate]:
        return [one for one in self.candidates if one.shown]


class Watch:
    """Looks on while one search is answered; a room of its own so that nothing is kept in between."""

    def __init__(self) -> None:
        self.query: Query | None = None
        self.seen: Seen | None = None
        self.versions: dict[str, str] = {}
        self.leanings = Leanings(seen=(self._look,))

    def _look(self, query: Query, index: Index, seen: Seen) -> None:
        self.query, self.seen = query, seen
        self.versions = index.blobs(list({one.measured.row.path for one in _best(seen)}))


def _best(seen: Seen) -> list[Scored]:
    """Pick what is kept: the best in the end, the best before leanings, and whatever was shown."""
    shown = {(hit.path, hit.start, hit.end) for hit in seen.found.hits}
    some = [*seen.ranked.scored[:KEPT], *seen.fused.scored[: KEPT // 2]]
    some += [one for one in seen.ranked.scored[KEPT:] if _place(one) in shown]
    return list({_place(one): one for one in some}.values())


def _place(one: Scored) -> tuple[str, int, int]:
    row = one.measured.row
    return row.path, row.start, row.end


def candidates(watch: Watch) -> Iterator[Candidate]:
    """Give what was measured, best first."""
    if watch.seen is None:
        return
    fused = {_place(one): one for one in watch.seen.fused.scored}
    final = {_place(one): one.score for one in watch.seen.ranked.scored}
    shown = {(hit.path, hit.start, hit.end) for hit in watch.seen.found.hits}
    for one in _best(watch.seen):
        place, told = _place(one), one.evidence
        before = fused.get(place, one)
        yield Candidate(
            *place,
            round(told.get("words", 0.0), 4),
            int(told.get("words rank", 0)),
            round(told["meaning"], 4) if "meaning" in told else None,
            int(told.get("meaning rank", 0)),
            round(before.score, 4),
            round(final[place], 4) if place in final else None,
            watch.versions.get(place[0], "")[:_BLOB],
            place in shown,
        )


# -- keeping ---------------------------------------------------------------------------------


def keep(vault: Vault, query: Query, watch: Watch, answer: Answer, writer: str) -> str:
    """Keep one search; one append. Gives its name, "" where it cannot be kept. Never raises."""
    try:
        entry = _entry(query, watch, answer, writer)
        _append(vault.prepare(vault.state), json.dumps(entry, ensure_ascii=False, separators=(",", ":")))
    except Exception:  # whatever it is, the search was answered
        return ""
    return str(entry["id"])


def _entry(query: Query, watch: Watch, answer: Answer, writer: str) -> dict[str, Any]:
    """Write one search as plain values under short names."""
    now, told = time.time(), query._asdict()
    kept = _masked(query.text[:_QUESTION])
    settings = {key: told[key] for key in SETTINGS if told[key] != _DEFAULTS[key]}
    whole, seen = kept == query.text, watch.seen
    return {
        "id": f"{int(now * 1000) & 0xFFFFFFFF:08x}{os.getpid() & 0xFF:02x}",
        "w": round(now, 3),
        "q": kept,
        **({} if whole else {"m": 1}),
        **({"s": settings} if settings else {}),
        **({"by": writer} if writer != "human" else {}),
        "n": answer.freshness.notes,
        "v": round(answer.freshness.covered, 3),
        "r": answer.freshness.rankers,
        "rev": answer.freshness.revision[:10],
        "line": round(answer.threshold, 4),
        "sure": round(answer.confidence, 4),
        "t": [term.text for term in seen.terms.terms[:30]] if seen and whole else [],
        "of": len(seen.fused.scored) if seen else 0,
        "c": [list(one) for one in candidates(watch)],
    }


def _masked(question: str) -> str:
    if not _MAY_HOLD_SECRET.search(question):
        return question
    from memtool import secrets

    return secrets.mask(question)


def _append(folder: Path, line: str) -> None:
    file = folder / NAME
    if atomic.append(file, line.encode("utf-8", "backslashreplace")) > MOST:
        os.replace(file, folder / BEFORE)


# -- reading ---------------------------------------------------------------------------------


def load(vault: Vault) -> list[Trace]:
    """Give what is kept, oldest first; a line that cannot be read is left out."""
    found = []
    for name in (BEFORE, NAME):
        with suppress(OSError), open(os.open(vault.state / name, _READ), "rb") as stream:
            for line in stream:
                with suppress(ValueError, TypeError, KeyError, RecursionError):
                    found.append(_trace(json.loads(line)))
    return found


def _trace(told: Mapping[str, Any]) -> Trace:
    return Trace(
        str(told["id"]),
        float(told["w"]),
        str(told["q"]),
        bool(told.get("m")),
        {key: _setting(value) for key, value in told.get("s", {}).items() if key in SETTINGS},
        str(told.get("by", "human")),
        int(told.get("n", 0)),
        tuple(map(str, told.get("t", ()))),
        tuple(map(str, told.get("r", ()))),
        float(told.get("v", 0.0)),
        str(told.get("rev", "")),
        float(told["line"]),
        float(told["sure"]),
        int(told["of"]),
        tuple(Candidate(*one) for one in told["c"]),
    )


def _setting(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def find(traces: Sequence[Trace], name: str) -> Trace | None:
    """Find a trace by its name, or by the beginning of it; ``last`` is the newest. None for none."""
    if name == "last":
        return traces[-1] if traces else None
    found = [one for one in traces if len(name) >= 3 and one.id.startswith(name.lower())]
    return found[-1] if found else None
