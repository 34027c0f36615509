"""Steps -> a plan that can be printed, kept and asked for again by its digest: what was seen is what is done.

A plan lies in `.memtool/state/plans`, named for its digest; one whose bytes do not fit its name is no plan.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from memtool import atomic
from memtool.errors import Finding, UsageError
from memtool.vault import Vault

#: Plans that are kept; older ones can be made again.
MOST = 20

#: Digits of a digest that are shown; that many or more must be given.
SHORT, SHORTEST = 12, 8


class Source(NamedTuple):
    """A note that a step was planned from, and the digest of the bytes it had."""

    path: str
    digest: str


class Step(NamedTuple):
    """One step: what is done to which note, from which notes that was concluded, and why.

    ``verb``: archive, restore, merge (the first source takes the lines of the second), fold. ``more`` holds
    what only some steps have, as JSON values.
    """

    verb: str
    path: str
    to: str
    reason: str
    sources: tuple[Source, ...]
    more: Mapping[str, Any] = {}


class Plan(NamedTuple):
    """Steps in order, for how many live notes, made when; ``findings`` say what was left alone, and why."""

    kind: str
    made: float
    notes: int
    steps: tuple[Step, ...]
    findings: tuple[Finding, ...] = ()

    @property
    def digest(self) -> str:
        """Name what would be done; when it was thought of makes no difference."""
        return hashlib.sha256(_bytes(self._replace(made=0.0, findings=()))).hexdigest()

    @property
    def moved(self) -> int:
        """Count the notes that would go to the archive."""
        return sum(step.verb in ("archive", "merge") for step in self.steps)


def value(plan: Plan) -> dict[str, Any]:
    """Give a plan as JSON values."""
    steps = [
        {
            **step._asdict(),
            "sources": [source._asdict() for source in step.sources],
            "more": dict(step.more),
        }
        for step in plan.steps
    ]
    return {"kind": plan.kind, "made": plan.made, "notes": plan.notes, "steps": steps}


def _bytes(plan: Plan) -> bytes:
    return json.dumps(value(plan), ensure_ascii=False, sort_keys=True).encode("utf-8", "surrogatepass")


def save(vault: Vault, plan: Plan) -> str:
    """Keep a plan and give its digest."""
    folder = vault.prepare(vault.state) / "plans"
    folder.mkdir(exist_ok=True)
    atomic.put(folder / f"{plan.digest}.json", _bytes(plan))
    files = sorted(folder.glob("*.json"), key=lambda file: file.stat().st_mtime_ns, reverse=True)
    for old in files[MOST:]:
        old.unlink(missing_ok=True)
    return plan.digest


def load(vault: Vault, digest: str, kind: str) -> Plan:
    """Read the plan that was named. Raises UsageError when there is none."""
    fix = (
        f"run `memtool {kind} plan` and name the digest it prints" if kind == "lifecycle" else "run it again"
    )
    if not re.fullmatch(rf"[0-9a-f]{{{SHORTEST},64}}", digest):
        raise UsageError(f"{digest!r} is no digest of a plan", fix=fix)
    for file in sorted((vault.state / "plans").glob(f"{digest}*.json")):
        plan = _read(file.read_bytes())
        if plan and plan.digest == file.stem and plan.kind == kind:
            return plan
    raise UsageError(f"there is no plan {digest}", why="it was never made here, or is too old", fix=fix)


def _read(data: bytes) -> Plan | None:
    try:
        told = json.loads(data)
        steps = tuple(
            Step(**{**step, "sources": tuple(Source(**source) for source in step["sources"])})
            for step in told["steps"]
        )
        return Plan(told["kind"], float(told["made"]), int(told["notes"]), steps)
    except (ValueError, KeyError, TypeError):
        return None
