"""What is staged, or a range of commits -> every change that the rules or a secret forbid, line by line.

A shell can get round a door, and no rule holds it; so what it did is read from git afterwards. The rules
are those before the change, so that no change can widen them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from memtool import names
from memtool.errors import Finding, UsageError
from memtool.git import Git
from memtool.identity import WRITER_VARIABLE, Signature, signature
from memtool.policy import gate
from memtool.policy.policy import NAME, Policy, join, parse
from memtool.vault import Vault

_SEPARATOR = "\x1f"
_TRAILERS = ("Memtool-Writer", "Co-authored-by", "Memtool-Allow-Secret")
_FORMAT = _SEPARATOR.join(
    ["%H", "%P", "%an", "%ae", *(f"%(trailers:key={key},valueonly,separator=%x2c)" for key in _TRAILERS)]
)
#: Coding agents by what they put into the names and addresses of a commit.
_AGENTS = re.compile(
    r"(?i)\b(claude|codex|copilot|cursor|gemini|aider|devin|opencode|openhands|jules|swe-agent|windsurf|amp)\b"
    r"|noreply@(anthropic|openai)\.com|\[bot\]"
)
#: What coding agents set for the commands that they run.
_MARKS = {
    "CLAUDECODE": "claude",
    "CODEX_SANDBOX": "codex",
    "OPENCODE": "opencode",
    "CURSOR_AGENT": "cursor",
    "GEMINI_CLI": "gemini",
    "AIDER_MODEL": "aider",
}


class Side(NamedTuple):
    """One file before and after; None where it is not there."""

    path: str
    before: bytes | None
    after: bytes | None


class Commit(NamedTuple):
    revision: str
    parents: tuple[str, ...]
    by: Signature
    allowed: frozenset[str]


# -- what is staged ----------------------------------------------------------------------------


def staged(vault: Vault, environment: Mapping[str, str] = os.environ) -> list[Finding]:
    """Check what the next commit would hold; inside a hook, what that commit will hold."""
    git = Git(vault.root)
    env = _index(git, environment)
    head = git.head().revision
    against = head or git.run("hash-object", "-t", "tree", "/dev/null").decode().strip()
    sides = _sides(git, ["diff-index", "--cached", against], env)
    policy = join([Policy.load(vault, environment), _policy_at(git, head)])
    by = _who_runs(environment)
    return [finding for side in sides for finding in _check(vault, policy, side, by, None)]


def _index(git: Git, environment: Mapping[str, str]) -> dict[str, str]:
    """Give the index that git hands to a hook: with `git commit --only` it is one of its own."""
    told = environment.get("GIT_INDEX_FILE", "")
    tree = git.work_tree()
    return {"GIT_INDEX_FILE": os.path.join(tree, told)} if told and tree else {}


def _who_runs(environment: Mapping[str, str]) -> Signature:
    """Tell who commits: as the environment says, else the agent whose mark or address is there."""
    if told := environment.get(WRITER_VARIABLE, ""):
        return signature(told)
    for variable, name in _MARKS.items():
        if environment.get(variable):
            return signature(f"agent/{name}")
    return _by_author(environment.get("GIT_AUTHOR_NAME", ""), environment.get("GIT_AUTHOR_EMAIL", ""), ())


# -- a range of commits ------------------------------------------------------------------------


def span(
    vault: Vault, revisions: str, *, rules: str | None = None, emails: Sequence[str] = ()
) -> list[Finding]:
    """Check every commit of ``A..B`` by the rules at A, or by *rules*, the text of a policy.

    *emails* are patterns of addresses that agents commit under. Raises UsageError for no range.
    """
    git = Git(vault.root)
    first, dots, last = revisions.partition("..")
    if not dots or not first or last.startswith(".") or revisions.startswith("-"):
        raise UsageError(f"{revisions!r} is no range of commits", fix="write A..B, as in `main..HEAD`")
    start, end = _resolved(git, first), _resolved(git, last or "HEAD")
    policy = parse(rules, "the policy given") if rules is not None else _policy_at(git, start)
    policy = join([policy, Policy.of_user(os.environ)])
    found = list(policy.broken)
    for commit in _commits(git, start, end, emails):
        for side in _changes(git, commit):
            for finding in _check(vault, policy, side, commit.by, commit.allowed):
                what = f"{commit.revision[:10]}: {finding.what}"
                found.append(finding._replace(what=what))
    return found


def _resolved(git: Git, revision: str) -> str:
    status, out, _ = git.attempt(
        "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"
    )
    if status:
        raise UsageError(f"there is no commit {names.printable(revision)}", fix="fetch it, or name another")
    return out.decode().strip()


def _policy_at(git: Git, revision: str | None) -> Policy:
    if revision is None:
        return Policy()
    status, out, _ = git.attempt("cat-file", "blob", f"{revision}:{git.prefix()}{NAME}")
    return Policy() if status else parse(out.decode("utf-8-sig", "replace"), f"{revision[:10]}:{NAME}")


def _commits(git: Git, start: str, end: str, emails: Sequence[str]) -> Iterator[Commit]:
    out = git.run("log", "-z", "--reverse", "--topo-order", f"--format={_FORMAT}", f"{start}..{end}", "--")
    for row in filter(None, out.decode(errors="replace").split("\0")):
        revision, parents, name, email, writers, others, allowed = row.split(_SEPARATOR)
        by = _writer(writers, name, email, others, emails)
        let = (
            frozenset()
            if by.is_agent
            else frozenset(one.strip() for one in allowed.split(",") if one.strip())
        )
        yield Commit(revision, tuple(parents.split()), by, let)


def _writer(told: str, name: str, email: str, others: str, emails: Sequence[str]) -> Signature:
    """Tell who made a commit: an agent when a trailer or an author says so, for saying `human` is easy."""
    agents = [one.strip() for one in told.split(",") if one.strip().startswith("agent/")]
    return Signature(agents[0]) if agents else _by_author(name, f"{email} {others}", emails)


def _by_author(name: str, address: str, emails: Sequence[str]) -> Signature:
    found = _AGENTS.search(f"{name} {address}")
    addresses = re.findall(r"[^\s<>]+@[^\s<>]+", address)
    if found or any(fnmatchcase(one, pattern) for one in addresses for pattern in emails):
        return Signature(f"agent/{((found and (found[1] or found[2])) or 'unnamed').lower()}")
    return Signature()


def _changes(git: Git, commit: Commit) -> list[Side]:
    """Give what a commit changed itself; a merge only what is as none of its parents has it."""
    if not commit.parents:
        return _sides(git, ["diff-tree", "-r", "--root", "--no-commit-id", commit.revision])
    each = [_sides(git, ["diff-tree", "-r", parent, commit.revision]) for parent in commit.parents]
    shared = set.intersection(*({side.path for side in sides} for sides in each))
    return [side for side in each[0] if side.path in shared]


# -- one change --------------------------------------------------------------------------------


def _sides(git: Git, arguments: Sequence[str], env: Mapping[str, str] | None = None) -> list[Side]:
    command = (arguments[0], "-z", "--raw", "--no-abbrev", "--no-renames", "--relative", *arguments[1:])
    tokens = iter(git.run(*command, env=env).split(b"\0"))
    told = [(about.decode().split(" "), os.fsdecode(next(tokens))) for about in tokens if about[:1] == b":"]
    blobs = [name for about, _ in told for name in about[2:4] if set(name) != {"0"}]
    texts = dict(git.blobs(blobs))
    return [Side(path, texts.get(about[2]), texts.get(about[3])) for about, path in told]


def _check(
    vault: Vault, policy: Policy, side: Side, by: Signature, allowed: frozenset[str] | None
) -> Iterator[Finding]:
    """Name what is wrong with one change; *allowed* None asks the vault which secrets may pass."""
    shown = names.printable(side.path)
    decision = gate.decide(policy, side, by)
    if not decision.allowed:
        line = _first_line(side)
        yield Finding(
            "policy", shown, line, f"{by.writer} may not change it: {decision.why} ({decision.rule})"
        )
    before, after = side.before or b"", side.after or b""
    if b"\0" in after or not after:
        return
    if allowed is None:
        found = [one.secret for one in gate.held(vault, before, after, by)]
    else:
        found = [one for one in gate.unmarked(before, after, by) if f"{shown}:{one.line}" not in allowed]
    for one in found:
        yield Finding("secret", shown, one.line, f"it looks like a {one.kind}", "take it out, and change it")


def _first_line(side: Side) -> int:
    """Give the first line that differs, in the file as it is after the change."""
    old, new = ((data or b"").removesuffix(b"\n").split(b"\n") for data in (side.before, side.after))
    pairs = enumerate(zip(old, new, strict=False), 1)
    return next((number for number, (one, other) in pairs if one != other), min(len(old) + 1, len(new)))
