"""Links and relations between notes, asked for from Python; vaults are made of a few lines each."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from unicodedata import normalize

import planted_links
import pytest
from conftest import Ran

from memtool import evaluate
from memtool.errors import MemtoolError, PathError
from memtool.facts import fields
from memtool.links import inquiry, relations
from memtool.links.graph import Graph
from memtool.memory.memory import Memory
from memtool.note import note


@pytest.fixture
def made(tmp_path: Path) -> Callable[[Mapping[str, str]], Memory]:
    """Give what makes an open vault of notes, by path."""

    def make(notes: Mapping[str, str], **settings: str) -> Memory:
        folder = tmp_path / "vault"
        (folder / ".memtool").mkdir(parents=True)
        for path, text in notes.items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        return Memory.open(folder, embedder="none", **settings)

    return make


Made = Callable[..., Memory]

PEOPLE = {
    "people/mio.md": "---\ntitle: Mio Tanaka\naliases: [Mio, 田中澪]\n---\n"
    "- works_with [[ren]]\nSee [[Atlas]].\n",
    "people/ren.md": "# Ren\n\npart_of:: [[Atlas]]\nworked_with:: [[people/sora]]\n",
    "people/sora.md": "# Sora\n\n同僚:: [[花子]]、佐藤\n",
    "people/花子.md": "# 鈴木花子\n",
    "work/Atlas.md": "---\nsupersedes: '[[Borealis]]'\ncaused_by: Budget crisis\n"
    "担当者: [[mio]]\n---\n# Atlas\n",
    "work/Borealis.md": "# Borealis\n\ndepends_on:: [[ledger]]\n",
    "work/ledger.md": "# The ledger\n",
}


def out(memory: Memory, path: str) -> list[tuple[str, str, str, str]]:
    """Give what a note says: relation, where it leads, line, state."""
    return [
        (triple.relation, str(triple.object), str(triple.anchor).rpartition(":")[2], triple.state)
        for triple in memory.links(path).out
    ]


def ends(memory: Memory, question: str, **options: object) -> list[str]:
    return [str(path.end) for path in memory.graph(question, **options).paths]  # type: ignore[arg-type]


# -- what a note says ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "relation", "target"),
    [
        ("See [[b]] there.", "links_to", "b"),
        ("![[b]]", "links_to", "b"),
        ("- works_with [[b]]", "works_with", "b"),
        ("- Works with [[b|Bea]] (since May)", "works_with", "b"),
        ("- [ ] part-of: [[b]]", "part_of", "b"),
        ("* 協力者 [[計画]]", "協力者", "計画"),
        ("- 担当：[[田中]]", "担当", "田中"),
        ("part_of:: [[b]]", "part_of", "b"),
        ("**Part of**:: [[b#Keys]]", "part_of", "b"),
        ("We met (met:: [[b]]) at noon.", "met", "b"),
        ("関連:: [[計画^b1]]", "関連", "計画"),
        ("owner:: Mio", "owner", "Mio"),
        ("up:: [b](b%20c.md)", "up", "b c.md"),
        ("- caused_by [b](../b.md)", "caused_by", "../b.md"),
        ("- The [[b]]", "links_to", "b"),
        ("- See [[b]] for all of it", "links_to", "b"),
        ("- 詳細は[[b]]にある", "links_to", "b"),
    ],
)
def test_a_line_says_a_relation(line: str, relation: str, target: str) -> None:
    said = relations.of(parsed := note.parse(f"{line}\n".encode()), [*fields.inline(parsed)])

    assert [(one.relation, one.target, one.line) for one in said] == [(relation, target, 1)]


@pytest.mark.parametrize(
    ("block", "wanted"),
    [
        ("links: ['[[b]]', \"[[c#H]]\"]", [("links_to", "b"), ("links_to", "c")]),
        ("part_of: [[b]]", [("part_of", "b")]),
        ("owner:\n  - '[[b]]'\n  - '[[田中|澪]]'", [("owner", "b"), ("owner", "田中")]),
        ("up: ops/plan.md", [("up", "ops/plan.md")]),
        ("caused_by: Budget crisis", [("caused_by", "Budget crisis")]),
        ("Part-Of: [Atlas, 計画]", [("part_of", "Atlas"), ("part_of", "計画")]),
        ("title: Plain\nstatus: open", []),
        ("tags: [a, b]\naliases: [c]", []),
    ],
)
def test_front_matter_says_a_relation(block: str, wanted: list[tuple[str, str]]) -> None:
    said = relations.of(note.parse(f"---\n{block}\n---\ntext\n".encode()), [])

    assert [(one.relation, one.target) for one in said] == wanted


def test_several_things_in_one_line_share_its_relation() -> None:
    said = relations.of(note.parse(b"- works_with [[a]], [[b]] and [[c]]\n"), [])

    assert [(one.relation, one.target) for one in said] == [("works_with", name) for name in "abc"]


def test_code_says_nothing() -> None:
    text = "```\n[[a]]\nx:: [[b]]\n```\n`[[c]]` and `(k:: [[d]])`\n\n    part_of:: [[e]]\n"
    said = relations.of(parsed := note.parse(text.encode()), [*fields.inline(parsed)])

    assert [one.target for one in said if one.relation != "links_to"] == []
    assert {one.target for one in said} <= {"e"}


# -- where it leads --------------------------------------------------------------------------


def test_links_of_a_note_are_told_both_ways_with_their_lines(made: Made) -> None:
    with made(PEOPLE) as memory:
        assert out(memory, "people/ren.md") == [
            ("part_of", "work/Atlas.md", "3-3", "note"),
            ("worked_with", "people/sora.md", "4-4", "note"),
        ]
        into = memory.links("people/mio.md").into
    assert [(str(t.subject), t.relation, str(t.anchor)) for t in into] == [
        ("work/Atlas.md", "担当者", "work/Atlas.md:4-4")
    ]


@pytest.mark.parametrize(
    ("link", "leads"),
    [
        ("[[Plan]]", "a/plan.md"),  # below the same folder
        ("[[PLAN.md]]", "a/plan.md"),
        ("[[b/plan]]", "b/plan.md"),
        ("[[../b/plan]]", "b/plan.md"),
        ("[[c/d/deep]]", "c/d/deep.md"),
        ("[[d/deep]]", "c/d/deep.md"),  # a part of its path
        ("[[/c/d/deep]]", "c/d/deep.md"),
        ("[[The deep one]]", "c/d/deep.md"),  # by its title
        ("[[abyss]]", "c/d/deep.md"),  # by an alias
        ("[[ガード]]", "ガード.md"),
        (normalize("NFD", "[[ガード]]"), "ガード.md"),
        ("[x](../c/d/deep.md#part)", "c/d/deep.md"),
        ("[x](%E3%82%AC%E3%83%BC%E3%83%89.md)", "ガード.md"),
        ("[x](<sub/x y.md>)", "a/sub/x y.md"),
        ("[x](sub/x%20y)", "a/sub/x y.md"),
        ("[[v1.2]]", "v1.2.md"),
    ],
)
def test_a_link_leads_where_obsidian_leads(made: Made, link: str, leads: str) -> None:
    notes = {
        "a/plan.md": "# P\n",
        "b/plan.md": "# P\n",
        "plan.md": "# P\n",
        "c/d/deep.md": "---\ntitle: The deep one\naliases: [abyss]\n---\n",
        "ガード.md": "# G\n",
        "a/sub/x y.md": "# XY\n",
        "v1.2.md": "# V\n",
        "a/n.md": f"{link}\n",
    }
    with made(notes) as memory:
        assert [str(triple.object) for triple in memory.links("a/n.md").out] == [leads]


@pytest.mark.parametrize(
    ("link", "state"),
    [
        ("[[../../etc/passwd]]", "outside"),
        ("[x](../../../etc/passwd.md)", "outside"),
        ("[[a/../../../x]]", "outside"),
        ("[x](%2e%2e/%2e%2e/secret.md)", "outside"),
        ("[[nobody wrote this]]", "missing"),
        ("[[/etc/passwd]]", "missing"),
        ("![[photo.PNG]]", "file"),
        ("[x](img/図.pdf)", "file"),
    ],
)
def test_what_is_no_note_is_told_and_never_followed(
    made: Made, link: str, state: str, tmp_path: Path
) -> None:
    (tmp_path / "secret.md").write_text("# Secret\n")
    with made({"a/n.md": f"{link}\n"}) as memory:
        (triple,) = memory.links("a/n.md").out

    assert (triple.state, triple.object.path) == (state, "")


def test_names_that_differ_in_case_alone_are_told_apart(made: Made, tmp_path: Path) -> None:
    with made({"Note.md": "# A\n", "note.md": "# B\n", "n2.md": "[[Note]] [[note]]\n"}) as memory:
        if len(os.listdir(tmp_path / "vault")) < 4:
            pytest.skip("this file system takes them for one")
        assert [str(triple.object) for triple in memory.links("n2.md").out] == ["Note.md", "note.md"]


def test_a_note_that_links_to_itself_and_a_circle_end(made: Made) -> None:
    notes = {"a.md": "[[a]] [[b]]\n", "b.md": "[[c]]\n", "c.md": "[[a]]\n"}
    with made(notes) as memory:
        assert len(memory.links("a.md").out) == 2
        assert sorted(ends(memory, "a", hops=6)) == ["b.md", "c.md"]


def test_ten_thousand_links_in_one_note_are_all_told(made: Made) -> None:
    text = "".join(f"`x` - works_with [[n{number}]] `y`\n" for number in range(10_000))
    with made({"a.md": text, "n5.md": "# five\n"}) as memory:
        found = memory.links("a.md")
        assert len(found.out) == 10_000
        assert [str(triple.subject) for triple in memory.links("n5.md").into] == ["a.md"]


def test_there_must_be_such_a_note(made: Made) -> None:
    with made({"a.md": "x\n"}) as memory, pytest.raises(PathError):
        memory.links("b.md")


# -- questions -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("who worked with Mio?", ["people/ren.md"]),
        ("Who has worked with Ren", ["people/mio.md", "people/sora.md"]),
        ("who are Sora's colleagues", ["people/ren.md", "people/花子.md", "佐藤"]),
        ("who works with the owner of Atlas?", ["people/ren.md"]),
        ("what caused Atlas", ["Budget crisis"]),
        ("what was caused by the budget crisis", ["work/Atlas.md"]),
        ("what does Atlas supersede?", ["work/Borealis.md"]),
        ("what supersedes Borealis?", ["work/Atlas.md"]),
        ("what does Borealis depend on", ["work/ledger.md"]),
        ("what depends on the ledger", ["work/Borealis.md"]),
        ("what is part of Atlas", ["people/ren.md"]),
        ("Renと働いたのは誰?", ["people/mio.md", "people/sora.md"]),
        ("田中澪と一緒に働いたのは誰ですか", ["people/ren.md"]),
        ("佐藤の同僚は誰", ["people/sora.md"]),
        ("Atlasの担当者は誰?", ["people/mio.md"]),
        ("Atlasの担当者と働いたのは誰", ["people/ren.md"]),
        ("Atlasの原因は何", ["Budget crisis"]),
        ("Borealisを置き換えたのは何", ["work/Atlas.md"]),
        ("ledgerに依存しているのは何", ["work/Borealis.md"]),
        ("Borealisは何に依存していますか", ["work/ledger.md"]),
    ],
)
def test_a_question_follows_the_relation_it_asks_for(made: Made, question: str, wanted: list[str]) -> None:
    with made(PEOPLE) as memory:
        assert sorted(ends(memory, question)) == sorted(wanted)


def test_a_path_shows_the_line_of_each_step(made: Made) -> None:
    with made(PEOPLE) as memory:
        (path,) = memory.graph("who works with the owner of Atlas?").paths

    assert [str(step.triple.anchor) for step in path.steps] == ["work/Atlas.md:4-4", "people/mio.md:5-5"]
    assert [step.forward for step in path.steps] == [True, True]


def test_more_hops_reach_further_over_one_relation(made: Made) -> None:
    with made(PEOPLE) as memory:
        assert ends(memory, "who worked with Mio?", hops=2) == ["people/ren.md", "people/sora.md"]
        assert ends(memory, "Mio", relation="works with", hops=3)[2:] == ["people/花子.md", "佐藤"]


def test_a_relation_and_its_inverse_are_one(made: Made) -> None:
    notes = {"new.md": "supersedes:: [[old]]\n", "old.md": "# old\n", "older.md": "superseded_by:: [[old]]\n"}
    with made(notes) as memory:
        assert ends(memory, "new", relation="supersedes", direction="out", hops=2) == ["old.md", "older.md"]
        assert ends(memory, "older", relation="superseded_by", hops=2, direction="out") == [
            "old.md",
            "new.md",
        ]
        assert ends(memory, "new", relation="supersedes", direction="in") == []


def test_two_things_give_the_path_between_them(made: Made) -> None:
    with made(PEOPLE) as memory:
        (path,) = memory.graph("how are Sora and Borealis linked").paths

    assert [str(step.end) for step in path.steps] == ["people/ren.md", "work/Atlas.md", "work/Borealis.md"]


def test_a_relation_of_the_vaults_own_is_understood(made: Made) -> None:
    notes = {"mio.md": "reviewed:: [[budget]]\n", "budget.md": "好物:: 柚子\n"}
    with made(notes) as memory:
        assert ends(memory, "who reviewed the budget") == ["mio.md"]
        assert ends(memory, "budgetの好物は何") == ["柚子"]


def test_where_no_line_says_it_what_is_near_is_told_as_a_guess(made: Made) -> None:
    with made({"mio.md": "works_on:: [[Atlas]]\n", "ren.md": "works_on:: [[Atlas]]\n"}) as memory:
        found = memory.graph("who worked with mio")

    assert [str(path.end) for path in found.paths] == ["Atlas", "ren.md"]
    assert "no line here says `worked with`" in found.remark


def test_a_question_about_nobody_says_so(made: Made) -> None:
    with made(PEOPLE) as memory:
        found = memory.graph("who worked with Zebedee?")

    assert (found.paths, found.starts) == ((), ())
    assert "no note or named thing" in found.remark


def test_the_longest_name_counts_and_words_of_questions_are_none(made: Made) -> None:
    notes = {"who.md": "x\n", "mio.md": "x\n", "mio tanaka.md": "x\n"}
    with made(notes) as memory:
        memory.refresh()
        found = inquiry.named(Graph(memory.index), "who is Mio Tanaka?")

    assert [thing.path for one in found for thing in one.things] == ["mio tanaka.md"]


# -- what is odd -----------------------------------------------------------------------------


def test_links_that_lead_nowhere_are_named_with_what_was_probably_meant(made: Made) -> None:
    notes = {
        "a.md": "[[stagng keys]] [[b#Nowhere]] [[b#Hot heap]] [b](b.md#hot-heap) [[b^b1]] [[b^b2]]\n",
        "staging keys.md": "# S\n",
        "b.md": "# B\n\n## Hot heap\n\ntext ^b1\n",
    }
    with made(notes) as memory:
        found = [(finding.code, finding.what, finding.fix) for finding in memory.link_problems("broken")]

    assert sorted(code for code, *_ in found) == ["link-broken", "link-heading", "link-heading"]
    assert any("staging keys" in fix for *_, fix in found)


def test_ambiguous_links_and_notes_alone_are_named(made: Made) -> None:
    notes = {"a/計画.md": "x\n", "b/計画.md": "x\n", "n.md": "[[計画]]\n", "alone.md": "x\n"}
    with made(notes) as memory:
        (ambiguous,) = memory.link_problems("ambiguous")
        alone = [finding.path for finding in memory.link_problems("orphans")]

    assert (ambiguous.path, "a/計画.md" in ambiguous.what, "b/計画.md" in ambiguous.what) == (
        "n.md",
        True,
        True,
    )
    assert alone == ["alone.md", "b/計画.md"]


def test_check_has_one_finding_however_many_links_lead_nowhere(made: Made) -> None:
    with made({"a.md": "".join(f"[[not written {n}]] ![[p{n}.png]]\n" for n in range(300))}) as memory:
        found = [finding for finding in memory.check() if "link" in finding.code]

    assert [finding.code for finding in found] == ["links"]
    assert "300" in found[0].what


def test_images_alone_are_nothing_odd(made: Made) -> None:
    with made({"a.md": "![[photo.png]] ![x](img/y.jpg) [[b]]\n", "b.md": "x\n"}) as memory:
        assert [finding for finding in memory.check() if "link" in finding.code] == []


# -- what changes, and who may see it --------------------------------------------------------


def test_links_follow_what_is_written_moved_and_removed(made: Made, tmp_path: Path) -> None:
    with made({"a.md": "[[b]]\n", "b.md": "x\n"}) as memory:
        assert out(memory, "a.md")[0][3] == "note"
        (tmp_path / "vault" / "b.md").unlink()
        assert out(memory, "a.md")[0][3] == "missing"
        (tmp_path / "vault" / "sub").mkdir()
        (tmp_path / "vault" / "sub" / "B.md").write_text("y\n")
        assert out(memory, "a.md") == [("links_to", "sub/B.md", "1-1", "note")]


def test_what_may_not_be_read_is_in_no_link_and_no_path(made: Made, tmp_path: Path) -> None:
    notes = {"a.md": "[[private/p]]\n", "private/p.md": "works_with:: [[a]]\nknows:: Zoe\n", "c.md": "# C\n"}
    made(notes).close()
    rules = '[scope."private"]\nreaders = ["agent/scribe"]\n'
    (tmp_path / "vault" / ".memtool" / "policy.toml").write_text(rules)
    with Memory.open(tmp_path / "vault", embedder="none", writer="agent/planner") as memory:
        found = memory.links("a.md")
        assert [triple.state for triple in found.out] == ["missing"]
        assert found.into == []
        assert memory.graph("who works with a").paths == ()
        assert memory.graph("Zoe").starts == ()
        with pytest.raises(MemtoolError):
            memory.links("private/p.md")


def test_the_generated_catalog_links_to_nothing(made: Made) -> None:
    with made({"a.md": "x\n", "b.md": "x\n"}) as memory:
        memory.catalog()
        assert memory.links("a.md").into == []


@pytest.mark.parametrize(
    "text",
    [
        "(a:: [[b]] " * 3000,
        "[[" * 20_000,
        "[a](" * 5000,
        "part_of:: " + ", ".join(f"[[n{number}]]" for number in range(2000)),
        "---\nlinks: " + "[" * 500 + "\n---\n",
        "[[a|\n]] [[]] [[ ]] [[#h]] [[^b]] [[|x]]",
        "\u202e[[\x1b[31m]]",
    ],
    ids=lambda text: text[:12],
)
def test_no_text_stops_the_reading_of_links(made: Made, text: str) -> None:
    with made({"a.md": f"{text}\n", "b.md": "[[a]]\n"}) as memory:
        assert [str(triple.subject) for triple in memory.links("a.md").into] == ["b.md"]


# -- search ----------------------------------------------------------------------------------


def test_a_search_lifts_what_is_linked_with_the_note_it_names(made: Made, tmp_path: Path) -> None:
    made({}).close()
    cases = evaluate.load(planted_links.plant(tmp_path / "vault"))
    with Memory.open(tmp_path / "vault", embedder="none") as memory:
        first = [
            next(hit for hit in memory.search(case.query) if not hit.path.startswith(("projects/", "計画/")))
            for case in cases
        ]

    right = [hit.path == case.gold[0].path for hit, case in zip(first, cases, strict=True)]
    assert sum(right) >= 0.9 * len(cases)
    assert all("linked" in hit.evidence for hit, is_right in zip(first, right, strict=True) if is_right)


# -- the command line ------------------------------------------------------------------------


def test_json_holds_every_part_of_a_triple(made: Made, tmp_path: Path, run: Callable[..., Ran]) -> None:
    made(PEOPLE).close()
    told = json.loads(run("links", "people/ren.md", "--json", "--vault", str(tmp_path / "vault")).out)
    path = json.loads(run("graph", "who worked with Mio", "--json", "--vault", str(tmp_path / "vault")).out)[
        "paths"
    ][0]

    assert told["out"][0] == {
        "subject": {"name": "Ren", "path": "people/ren.md"},
        "relation": "part_of",
        "object": {"name": "Atlas", "path": "work/Atlas.md"},
        "anchor": "people/ren.md:3-3",
        "state": "note",
        "written": "Atlas",
        "fragment": "",
        "others": [],
        "writer": "",
        "revision": "",
    }
    assert (path["end"]["path"], path["steps"][0]["forward"]) == ("people/ren.md", True)
