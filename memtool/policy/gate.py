"""A change, and who makes it -> let through, or refused with the rule, or with line and kind of a secret.

Every change passes here before it is written, and once more before it is committed. Only what is new
counts: a secret that stood there before is told of, and stops nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple, Protocol

from memtool import names, secrets, staging
from memtool.errors import Finding, MemtoolError, PathError, PolicyError, SecretError, UsageError
from memtool.git import Git
from memtool.identity import Signature
from memtool.note import note
from memtool.policy import allowances, labels
from memtool.policy.policy import Decision, Policy
from memtool.secrets import Secret
from memtool.vault import Vault, digest
from memtool.writer import Change

#: `<!-- memtool: allow-secret REASON -->`; it counts where a person writes it.
_MARK = re.compile(r"memtool: allow-secret\s+(?!-->)\S")
_DOUBT = (
    "keep it in a password manager or the environment and write down where; "
    "a person may let it pass with `--allow-secret`"
)


class Held(NamedTuple):
    """A likely secret that keeps a change from being written or committed, with what it would let pass."""

    secret: Secret
    values: list[str]


def admit(
    vault: Vault,
    change: Change,
    by: Signature,
    verb: str,
    *,
    before: bytes | None = None,
    allow: Collection[int] = (),
    environment: Mapping[str, str] = os.environ,
) -> None:
    """Let *change* pass, or raise PolicyError or SecretError.

    *before* None reads what is there now. *allow* names the lines whose secrets a person lets pass.
    """
    decision = Policy.load(vault, environment).decide(by.writer, verb, change.path)
    if not decision.allowed:
        raise refusal(decision, by.writer, verb, change.path)
    if before is None and change.base_digest:
        before = _present(vault, change)
    if (decision.rule and by.is_agent) or verb == "append":
        _keep_lines(vault, change, before, by, verb, environment)
    _refuse_secrets(vault, change, before or b"", by, allow)


def refusal(decision: Decision, writer: str, verb: str, path: str) -> PolicyError:
    shown = names.printable(path)
    fix = (
        "mend that line"
        if decision.why.startswith("the policy")
        else "ask a person to do it, or to change the rule"
    )
    return PolicyError(f"{writer} may not {verb} {shown}", why=f"{decision.why} ({decision.rule})", fix=fix)


def _present(vault: Vault, change: Change) -> bytes:
    try:
        return vault.read(change.path)
    except PathError:
        # A note that comes from elsewhere unchanged brings nothing new.
        return change.data if digest(change.data) == change.base_digest else b""


def _keep_lines(
    vault: Vault,
    change: Change,
    before: bytes | None,
    by: Signature,
    verb: str,
    environment: Mapping[str, str],
) -> None:
    """Refuse an `append` that takes a line away where nothing may be: who only says so appends nothing."""
    if before is None or keeps_lines(before, change.data):
        return
    decision = Policy.load(vault, environment).decide(by.writer, "edit", change.path)
    if not decision.allowed:
        raise refusal(decision, by.writer, verb, change.path)


def keeps_lines(before: bytes, after: bytes) -> bool:
    """Tell whether every line of *before* still stands, in order; lines may come between.

    >>> keeps_lines(b"a\\nb\\n", b"a\\nnew\\nb\\nc\\n"), keeps_lines(b"a\\nb\\n", b"b\\nc\\n")
    (True, False)
    """
    coming = iter(after.rstrip(b"\n").split(b"\n"))
    return all(
        any(line.rstrip(b"\r") == other.rstrip(b"\r") for other in coming)
        for line in before.rstrip(b"\n").split(b"\n")
    )


# -- secrets -----------------------------------------------------------------------------------


def held(vault: Vault, before: bytes, after: bytes, by: Signature) -> list[Held]:
    """Give the new likely secrets that nobody has let pass, in order of their lines."""
    text = _text(after)
    found = secrets.new_in(text, _text(before))
    if not found:
        return []
    lines = text.split("\n")
    kept = []
    for secret, values in sorted(found.items()):
        if not (not by.is_agent and is_marked(lines, secret.line)) and allowances.unallowed(vault, values):
            kept.append(Held(secret, values))
    return kept


def unmarked(before: bytes, after: bytes, by: Signature) -> list[Secret]:
    """Give the new likely secrets of *after* that carry no mark of a person, in order of their lines."""
    text = _text(after)
    lines = text.split("\n")
    found = sorted(secrets.new_in(text, _text(before)))
    return [one for one in found if by.is_agent or not is_marked(lines, one.line)]


def is_marked(lines: list[str], line: int) -> bool:
    """Tell whether line *line*, or the one above it, says that its secret is meant to be there."""
    return any(_MARK.search(lines[at]) for at in (line - 1, line - 2) if 0 <= at < len(lines))


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return note.parse(data).text


def _refuse_secrets(
    vault: Vault, change: Change, before: bytes, by: Signature, allow: Collection[int]
) -> None:
    if where := labels.suspicious(vault, change.path, by):
        raise SecretError(f"{where} seems to hold a secret", why="git keeps it for ever", fix="leave it out")
    found = held(vault, before, change.data, by)
    stopped = [one for one in found if by.is_agent or one.secret.line not in allow]
    if stopped:
        raise SecretError(
            f"{names.printable(change.path)} was not written: {told(stopped)}",
            why="notes and their history are kept, searched and shown",
            fix=_DOUBT,
        )
    if found and not by.reason:
        raise UsageError("a secret passes only with a reason", fix="say why with `--reason`")
    if found:
        allowances.allow(vault, [value for one in found for value in one.values], by.reason)


def told(found: list[Held]) -> str:
    """Say where secrets seem to stand and of which kinds.

    >>> told([Held(Secret(3, "password"), []), Held(Secret(9, "PIN"), [])])
    'line 3 looks like a password, line 9 like a PIN'
    """
    first, *rest = [f"line {one.secret.line} looks like a {one.secret.kind}" for one in found[:8]]
    more = [f"and {len(found) - 8} more"] if len(found) > 8 else []
    parts = [first, *(part.replace(" looks like", " like") for part in rest), *more]
    return re.sub(r"\ba (?=[AO])", "an ", ", ".join(parts))


def findings(path: str, before: bytes, after: bytes) -> list[Finding]:
    """Warn of the likely secrets of a note; what stands there stays as it is."""
    lines = _text(after).split("\n")
    return [
        Finding(
            "secret",
            path,
            one.line,
            f"it looks like a {one.kind}",
            "move it out, and change it if it was committed",
        )
        for one in secrets.new_in("\n".join(lines), _text(before))
        if not is_marked(lines, one.line)
    ]


# -- committing --------------------------------------------------------------------------------


class Side(Protocol):
    """One note before and after a commit; None where it is not there."""

    @property
    def path(self) -> str: ...
    @property
    def before(self) -> bytes | None: ...
    @property
    def after(self) -> bytes | None: ...


def verb(before: bytes | None, after: bytes | None) -> str:
    """Name what was done to a note by what came of it."""
    if before is None or after is None:
        return "add" if before is None else "archive"
    return "append" if keeps_lines(before, after) else "edit"


def decide(policy: Policy, edit: Side, by: Signature) -> Decision:
    """Decide about a change that lies on disk already, or in a commit; a frozen note is a person's."""
    if by.is_agent and edit.before is not None and note.is_frozen(edit.before):
        return Decision(False, "a person froze it", "`frozen: true` in its front matter")
    return policy.decide(by.writer, verb(edit.before, edit.after), edit.path)


def stopped(
    vault: Vault, edits: Sequence[Side], by: Signature, *, environment: Mapping[str, str] = os.environ
) -> dict[str, Finding]:
    """Give the notes that may not be committed in this name, each with why; they stay on disk."""
    policy, found = Policy.load(vault, environment), {}
    for edit in edits:
        decision = decide(policy, edit, by)
        shown = names.printable(edit.path)
        if not decision.allowed:
            what = f"{by.writer} may not change it, so it is not committed: {decision.why} ({decision.rule})"
            found[edit.path] = Finding("policy", shown, 0, what, "take it back, or let a person commit it")
        elif some := held(vault, edit.before or b"", edit.after or b"", by):
            line = some[0].secret.line
            what = f"it is not committed, for git keeps for ever: {told(some)}"
            fix = f"take it out, or run `memtool commit --allow-secret {shown}:{line} --reason TEXT`"
            found[edit.path] = Finding("secret", shown, line, what, fix)
    return found


def trailers(
    vault: Vault, edits: Sequence[Side], by: Signature, *, environment: Mapping[str, str] = os.environ
) -> list[str]:
    """Say in a commit what a reader of the history must know: a review is due, a secret was let pass."""
    if not by.is_agent:
        new = [
            (edit, one.line)
            for edit in edits
            if edit.after
            for one in secrets.new_in(_text(edit.after), _text(edit.before or b""))
        ]
        return [f"Memtool-Allow-Secret: {names.printable(edit.path)}:{line}" for edit, line in new[:20]]
    policy = Policy.load(vault, environment)
    due = any(policy.decide(by.writer, verb(edit.before, edit.after), edit.path).review for edit in edits)
    return ["Memtool-Review: needed"] if due else []


def allow(vault: Vault, path: str, line: int, by: Signature) -> None:
    """Let the secrets in one line of a note pass; only a person may. Raises UsageError when there is none."""
    if by.is_agent:
        raise PolicyError(
            f"{by.writer} may not let a secret pass", why="only a person may", fix="ask a person"
        )
    if not by.reason:
        raise UsageError("a secret passes only with a reason", fix="say why with `--reason`")
    found = secrets.new_in(_text(vault.read(path)), "")
    passed = [value for one, some in found.items() if one.line == line for value in some]
    if not passed:
        shown = names.printable(path)
        raise UsageError(
            f"{shown}:{line} holds no likely secret",
            fix=f"run `memtool check`, and name a line of {shown} as it does",
        )
    allowances.allow(vault, passed, by.reason)


def uncommitted(vault: Vault) -> list[Finding]:
    """Warn of likely secrets in what was written since the last commit, or anywhere where there is none."""
    git = Git(vault.root)
    if git.problem():
        return []
    states = staging.differing(git, {})
    paths = [path for path in states if names.is_path(path) and (vault.root / path).is_file()]
    before = staging.committed(git, paths)
    return [one for path in paths for one in findings(path, before.get(path, b""), vault.read(path))]


def standing(vault: Vault, paths: Sequence[str]) -> list[Finding]:
    """Warn of the likely secrets that stand in these notes; one that cannot be read is told of elsewhere."""
    found: list[Finding] = []
    for path in paths:
        with suppress(MemtoolError):
            found += findings(path, b"", vault.read(path))
    return found
