"""Who may do what: one table for the rules, and every way in which a policy can be broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from memtool.policy import policy
from memtool.policy.policy import Policy
from memtool.vault import Vault

RULES = """
[scope."people"]
owner = "human"

[scope."log"]
append_only = true

[scope."runbooks"]
review = true

[scope."agents/planner"]
readers = ["agent/planner"]
writers = ["agent/planner"]

[scope."agents/planner/shared"]
readers = ["agent/planner", "agent/scribe"]

[scope."**/private-*"]
readers = []

[scope."手順"]
writers = ["agent/書記"]
"""


@pytest.mark.parametrize(
    ("writer", "verb", "path", "allowed"),
    [
        ("agent/a", "read", "people/sam.md", True),
        ("agent/a", "edit", "people/sam.md", False),
        ("agent/a", "edit", "People/sam.md", False),
        ("agent/a", "add", "people/sub/new.md", False),
        ("agent/a", "edit", "people-i-know.md", True),
        ("human", "edit", "people/sam.md", True),
        ("agent/a", "add", "log/2026.md", True),
        ("agent/a", "append", "log/2026.md", True),
        ("agent/a", "edit", "log/2026.md", False),
        ("agent/a", "set", "log/2026.md", False),
        ("agent/a", "move", "log/2026.md", False),
        ("agent/a", "archive", "log/2026.md", False),
        ("human", "edit", "log/2026.md", True),
        ("agent/a", "edit", "runbooks/deploy.md", True),
        ("agent/planner", "read", "agents/planner/plan.md", True),
        ("agent/planner", "edit", "agents/planner/plan.md", True),
        ("agent/scribe", "read", "agents/planner/plan.md", False),
        ("agent/scribe", "edit", "agents/planner/plan.md", False),
        ("human", "read", "agents/planner/plan.md", True),
        ("agent/scribe", "read", "agents/planner/shared/plan.md", False),  # a scope inside widens nothing
        ("agent/planner", "read", "agents/planner/shared/plan.md", True),
        ("agent/a", "read", "x/private-notes/a.md", False),
        ("human", "read", "x/private-notes/a.md", True),
        ("agent/書記", "edit", "手順/起動.md", True),
        ("agent/a", "edit", "手順/起動.md", False),
        ("agent/a", "edit", ".memtool/policy.toml", False),
        ("agent/a", "edit", "memtool.toml", False),
        ("agent/a", "add", ".git/hooks/pre-commit", False),
        ("agent/a", "add", ".githooks/pre-commit", False),
        ("agent/a", "edit", "sub/.GITATTRIBUTES", False),
        ("human", "edit", ".memtool/policy.toml", True),
        ("agent/a", "edit", "anywhere/else.md", True),
    ],
)
def test_the_rules_decide(writer: str, verb: str, path: str, allowed: bool) -> None:
    decision = policy.decide(policy.parse(RULES), writer, verb, path)

    assert decision.allowed == allowed
    assert allowed or (decision.why and decision.rule)


@pytest.mark.parametrize(
    "path",
    [
        "open/../agents/planner/plan.md",
        "./agents/planner/plan.md",
        "agents//planner/plan.md",
        "/vault/agents/planner/plan.md",
        "../vault/agents/planner/plan.md",
        "archive/agents/planner/plan.md",
        "open/../archive/agents/planner/plan.md",
    ],
)
def test_no_spelling_of_a_path_and_no_archive_leads_round_the_readers(path: str) -> None:
    assert not policy.parse(RULES).may_read("agent/spy", path)
    assert policy.parse(RULES).may_read("human", path)


def test_an_archived_note_stays_in_its_scope() -> None:
    rules = policy.parse(RULES)
    assert rules.may_read("agent/planner", "archive/agents/planner/plan.md")
    assert not rules.decide("agent/spy", "append", "archive/people/sam.md").allowed
    assert not rules.decide("agent/spy", "edit", "archive/log/2026.md").allowed
    assert not rules.decide("agent/spy", "edit", "archive/手順/鍵.md").allowed
    assert rules.decide("agent/spy", "edit", "archive/ops/keys.md").allowed
    closed = rules.open_path()
    assert closed is not None and not closed("archive/agents/planner/plan.md")


def test_an_agents_change_is_to_be_reviewed_where_a_rule_says_so() -> None:
    rules = policy.parse(RULES)

    assert policy.decide(rules, "agent/a", "edit", "runbooks/deploy.md").review
    assert not policy.decide(rules, "agent/a", "read", "runbooks/deploy.md").review
    assert not policy.decide(rules, "human", "edit", "runbooks/deploy.md").review


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('[scope."a"]\nowner = \n', 2),
        ('[scope."a"]\nreader = ["agent/a"]\n', 1),
        ('[scopes."a"]\nowner = "human"\n', 1),
        ('\n[scope."a"]\nowner = "sam"\n', 2),
        ('[scope."a"]\nappend_only = "yes"\n', 1),
        ('[scope."a"]\nwriters = "agent/a"\n', 1),
        ('[scope."a"]\nreaders = ["*"]\n', 1),
        ("scope = 3\n", 1),
    ],
)
def test_a_policy_that_is_not_understood_lets_no_agent_write(text: str, line: int) -> None:
    broken = policy.parse(text)

    assert [finding.line for finding in broken.broken] == [line]
    assert not policy.decide(broken, "agent/a", "edit", "b.md").allowed
    assert policy.decide(broken, "human", "edit", "b.md").allowed


def test_a_broken_policy_that_spoke_of_readers_lets_no_agent_read_either() -> None:
    assert policy.decide(policy.parse("[scope"), "agent/a", "read", "b.md").allowed
    assert not policy.decide(policy.parse('[scope."a"]\nreaders = ['), "agent/a", "read", "b.md").allowed


def test_a_vault_can_only_add_to_what_the_user_forbids(tmp_path: Path) -> None:
    folder, home = tmp_path / "vault", tmp_path / "config" / "memtool"
    (folder / ".memtool").mkdir(parents=True)
    home.mkdir(parents=True)
    (home / "policy.toml").write_text('[scope."people"]\nowner = "human"\n')
    (folder / ".memtool" / "policy.toml").write_text('[scope."people"]\nwriters = ["agent/a"]\n')
    rules = Policy.load(Vault.open(folder), {"XDG_CONFIG_HOME": str(tmp_path / "config")})

    assert not rules.decide("agent/a", "edit", "people/sam.md").allowed


def test_a_changed_policy_counts_at_once(tmp_path: Path) -> None:
    (tmp_path / ".memtool").mkdir()
    file, vault = tmp_path / ".memtool" / "policy.toml", Vault.open(tmp_path)

    assert Policy.load(vault, {}).decide("agent/a", "edit", "a.md").allowed
    file.write_text('[scope."."]\nowner = "human"\n')
    assert not Policy.load(vault, {}).decide("agent/a", "edit", "a.md").allowed
