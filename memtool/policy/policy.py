"""Who wants to do what to which note -> allowed, or why not: the rules of one vault.

The rules stand in ``.memtool/policy.toml`` and in the user's own file; all that speak of a path must allow,
so a rule can only take away. They bind agents; a person is never stopped. Deciding reads nothing.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from memtool import names
from memtool.errors import Finding
from memtool.vault import Vault

VERBS = ("read", "add", "append", "edit", "set", "move", "archive")
NAME = ".memtool/policy.toml"
_ARCHIVE = "archive/"
_LARGEST = 1_000_000  # bytes
_KEYS = ("owner", "append_only", "review", "readers", "writers")
_WHO = re.compile(r"human|agent/[^\s/]+")
_TOML_LINE = re.compile(r"\(at line (\d+)|at line (\d+)")
_FIX = "ask a person to do it, or to change the rule"
#: What says how memtool and git behave here; no agent may change it, whatever the rules say.
_OWN = re.compile(
    r"(?:^|/)(?:\.memtool(?:/|$)|memtool\.toml$|\.git(?:$|/|attributes$|modules$|ignore$|hooks/)|\.githooks/|\.husky/|\.pre-commit-config\.yaml$)"
)


class Rule(NamedTuple):
    """What one scope of one file says; None where it says nothing."""

    scope: str
    owner: str | None = None
    append_only: bool = False
    review: bool = False
    readers: tuple[str, ...] | None = None
    writers: tuple[str, ...] | None = None
    source: str = NAME
    line: int = 0

    def __str__(self) -> str:
        return f"[scope.{self.scope!r}]".replace("'", '"') + f" in {self.source}:{self.line}"

    def covers(self, path: str) -> bool:
        """Tell whether *path* lies in the scope: below a folder, or as a glob fits; case does not matter.

        An archived note stays in the scope it was archived from, and no other spelling of a path leaves it.
        """
        scope, path = names.key(self.scope), posixpath.normpath(names.key(path))
        return self._holds(scope, path) or self._holds(scope, path.removeprefix(_ARCHIVE))

    @staticmethod
    def _holds(scope: str, path: str) -> bool:
        if re.search(r"[*?\[]", scope):
            return fnmatchcase(path, scope) or fnmatchcase(path, f"{scope}/*")
        return scope in ("", ".") or path == scope or path.startswith(f"{scope}/")


class Decision(NamedTuple):
    """What was decided; ``review``: a person is to look at it afterwards."""

    allowed: bool
    why: str = ""
    rule: str = ""
    review: bool = False


class Policy(NamedTuple):
    """The rules of a vault; ``broken`` says where a file cannot be understood: then agents write nothing."""

    rules: tuple[Rule, ...] = ()
    broken: tuple[Finding, ...] = ()
    isolates: bool = False  # some rule, or a broken file, keeps agents from reading

    @classmethod
    def load(cls, vault: Vault, environment: Mapping[str, str] = os.environ) -> Policy:
        """Read the vault's rules and the user's own; a vault's cannot take away what the user's say."""
        return join([_read(vault.root / NAME, NAME), cls.of_user(environment)])

    @classmethod
    def of_user(cls, environment: Mapping[str, str]) -> Policy:
        """Read the user's own rules, which bind in every vault."""
        own = _user_file(environment)
        return _read(own, str(own))

    def decide(self, writer: str, verb: str, path: str) -> Decision:
        return decide(self, writer, verb, path)

    def open_path(self) -> Callable[[str], bool] | None:
        """Tell of a path whether every agent may read it; None when that is so of all."""
        if not self.isolates:
            return None
        closed = [rule for rule in self.rules if rule.readers is not None]
        return lambda path: not self.broken and not any(rule.covers(path) for rule in closed)

    def may_read(self, writer: str, path: str) -> bool:
        return not self.isolates or decide(self, writer, "read", path).allowed


def decide(policy: Policy, writer: str, verb: str, path: str) -> Decision:
    """Decide whether *writer* may do *verb* to *path*, and whether a person is to review it.

    >>> rules = parse('[scope."people"]\\nowner = "human"\\n')
    >>> decide(rules, "agent/a", "edit", "people/sam.md").why
    'people belongs to human'
    >>> decide(rules, "agent/a", "read", "people/sam.md").allowed
    True
    """
    if not writer.startswith("agent/"):
        return Decision(True)
    if verb != "read" and _OWN.search(names.key(path)):
        return Decision(False, "it says how memtool or git work here, which is for people", "built in")
    if policy.isolates and posixpath.normpath(path).startswith(("/", "..")):
        return Decision(False, "its path leads out of the vault", "built in")
    if policy.broken and (verb != "read" or policy.isolates):
        at = policy.broken[0]
        return Decision(False, "the policy cannot be understood", f"{at.path}:{at.line}")
    covering = [rule for rule in policy.rules if rule.covers(path)]
    for rule in covering:
        if why := _objection(rule, writer, verb):
            return Decision(False, why, str(rule))
    wanted = next((rule for rule in covering if rule.review), None) if verb != "read" else None
    return Decision(True, rule=str(wanted or ""), review=wanted is not None)


def _objection(rule: Rule, writer: str, verb: str) -> str:
    if rule.readers is not None and not _is_among(writer, rule.readers):
        return f"{rule.scope} is not for {writer} to {'read' if verb == 'read' else 'write'}"
    if verb == "read":
        return ""
    if rule.owner is not None and not _is_among(writer, (rule.owner,)):
        return f"{rule.scope} belongs to {rule.owner}"
    if rule.writers is not None and not _is_among(writer, rule.writers):
        return f"{rule.scope} may be written by {', '.join(rule.writers) or 'people'} only"
    if rule.append_only and verb not in ("add", "append"):
        return f"{rule.scope} is append-only: what stands there is not changed"
    return ""


def _is_among(writer: str, known: Sequence[str]) -> bool:
    return any(fnmatchcase(writer, pattern) for pattern in known)


def join(policies: Sequence[Policy]) -> Policy:
    """Hold several policies at once: whatever one of them forbids is forbidden."""
    return Policy(
        tuple(rule for policy in policies for rule in policy.rules),
        tuple(finding for policy in policies for finding in policy.broken),
        any(policy.isolates for policy in policies),
    )


# -- reading ---------------------------------------------------------------------------------


def _user_file(environment: Mapping[str, str]) -> Path:
    from memtool.config import user_file

    return user_file(environment).with_name("policy.toml")


def _read(file: Path, source: str) -> Policy:
    try:
        it = file.stat()
        return _parsed(file, source, (it.st_mtime_ns, it.st_size, it.st_ino, it.st_ctime_ns))
    except (FileNotFoundError, NotADirectoryError):
        return Policy()
    except OSError as error:
        return _broken(source, 0, f"it cannot be read: {error.strerror}", isolates=True)


@lru_cache(maxsize=16)
def _parsed(file: Path, source: str, stat: tuple[int, ...]) -> Policy:
    data = file.read_bytes()
    if len(data) > _LARGEST:
        return _broken(source, 0, "it is larger than a policy can be", isolates=True)
    try:
        return parse(data.decode("utf-8-sig"), source)
    except UnicodeDecodeError:
        return _broken(source, 1, "it is not UTF-8", isolates=True)


def parse(text: str, source: str = NAME) -> Policy:
    """Read rules; whatever is not understood makes the policy broken, for it may have meant to forbid."""
    import tomllib

    isolates = "readers" in text
    try:
        told = tomllib.loads(text.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        found = _TOML_LINE.search(str(error))
        line = int(found[1] or found[2]) if found else text.count("\n") + 1
        return _broken(source, line, f"it is no TOML: {error}", isolates=isolates)
    if wrong := next((key for key in told if key != "scope"), "") or (
        "scope" if not isinstance(told.get("scope", {}), dict) else ""
    ):
        return _broken(source, _line(text, wrong), f"`{wrong}` means nothing there", isolates=isolates)
    rules = []
    for scope, said in told.get("scope", {}).items():
        line = _line(text, scope)
        if problem := _problem(said):
            return _broken(source, line, f"scope {scope!r}: {problem}", isolates=isolates)
        lists = {key: tuple(said[key]) for key in ("readers", "writers") if key in said}
        scope = scope.strip().removeprefix("./").strip("/")
        rules.append(Rule(scope, **{**said, **lists}, source=source, line=line))
    return Policy(tuple(rules), (), any(rule.readers is not None for rule in rules))


def _problem(said: Any) -> str:
    """Say what is wrong with what a scope says, "" for nothing."""
    if not isinstance(said, dict):
        return "it is no table"
    if unknown := [key for key in said if key not in _KEYS]:
        return f"`{unknown[0]}` is no key; there are {', '.join(_KEYS)}"
    for key in ("append_only", "review"):
        if not isinstance(said.get(key, False), bool):
            return f"`{key}` is true or false"
    if not (isinstance(said.get("owner", ""), str) and _WHO.fullmatch(said.get("owner", "human"))):
        return "`owner` is `human` or `agent/NAME`"
    for key in ("readers", "writers"):
        if not (isinstance(listed := said.get(key, []), list) and all(_is_writer(one) for one in listed)):
            return f"`{key}` is a list of writers such as `agent/planner`"
    return ""


def _is_writer(one: object) -> bool:
    return isinstance(one, str) and bool(_WHO.fullmatch(one))


def _line(text: str, word: str) -> int:
    return next((number for number, line in enumerate(text.split("\n"), 1) if word in line), 1)


def _broken(source: str, line: int, what: str, *, isolates: bool) -> Policy:
    finding = Finding(
        "policy-broken", source, line, f"{what}; until it is mended no agent may write", "mend that line"
    )
    return Policy((), (finding,), isolates)


def describe(policy: Policy, writer: str = "") -> list[tuple[str, str]]:
    """Give each scope with what its rule means, in words; *writer* "" for all."""
    found = []
    for rule in policy.rules:
        if writer:
            parts = [
                verb
                for verb in VERBS
                if not _objection(rule, writer, verb) or not writer.startswith("agent/")
            ]
            told = "may " + (", ".join(parts) if parts else "do nothing")
        else:
            told = "; ".join(_says(rule))
        if rule.review and (not writer or writer.startswith("agent/")):
            told += "" if not writer else "; a person reviews it"
        found.append((rule.scope or ".", told))
    return found


def _says(rule: Rule) -> list[str]:
    parts = []
    if rule.owner is not None:
        parts.append(
            f"only {rule.owner} writes" if rule.owner == "human" else f"only {rule.owner} and people write"
        )
    if rule.append_only:
        parts.append("agents only add")
    if rule.review:
        parts.append("a person reviews what agents write")
    if rule.readers is not None:
        parts.append(f"read by {', '.join(rule.readers) or 'nobody'} and people")
    if rule.writers is not None:
        parts.append(f"written by {', '.join(rule.writers) or 'nobody'} and people")
    return parts or ["nothing special"]
