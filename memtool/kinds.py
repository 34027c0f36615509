"""A note's type -> its rules: how often it may change, how it ages, where it lives, what a write must carry.

A table, for whoever writes, checks or ages notes. Notes without a type are fine: they age like semantic
ones and nothing is asked of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class Kind(NamedTuple):
    """The rules of one type."""

    name: str
    says: str
    changes: str  # how often it may change
    half_life_days: float | None  # after so long without use its strength is halved; None: it does not age
    folder: str  # where a new one is put by default; "" is where the writer says
    must_carry: tuple[str, ...]  # what an agent's write of one must carry
    expires_days: int | None = None  # after so long it is offered for the archive, whatever its strength


KINDS = {
    kind.name: kind
    for kind in (
        Kind(
            "episodic",
            "what happened, once",
            "never: a new episode is a new note",
            69.0,
            "journal",
            ("date",),
        ),
        Kind(
            "semantic",
            "what is true",
            "when the truth does; the old one is superseded",
            693.0,
            "",
            ("reason",),
        ),
        Kind("procedural", "how something is done", "when the way does", 693.0, "how-to", ("reason",)),
        Kind("working", "what is under way", "at any time", 7.0, "working", (), 14),
        Kind("reference", "what is looked up", "when its source does", None, "reference", ("source",)),
        Kind("tool", "how a tool behaves", "with every call", 139.0, "tools", ()),
    )
}

#: What a note without a type ages like.
UNTYPED = KINDS["semantic"]


def kind_of(name: str) -> Kind | None:
    """Give the rules of a type as it was typed; None for one that has none.

    >>> kind_of(" Semantic ").name, kind_of("sematic")
    ('semantic', None)
    """
    return KINDS.get(name.strip().casefold())


def half_life(name: str) -> float | None:
    """Give the days after which an unused note of this type has half its strength; None: it does not age."""
    return (kind_of(name) or UNTYPED).half_life_days


def nearest(name: str) -> str:
    """Give the type that an unknown one was probably meant to be; "" when none is near.

    >>> nearest("sematic"), nearest("手順")
    ('semantic', 'procedural')
    """
    from difflib import get_close_matches

    word = name.strip().casefold()
    near = get_close_matches(word, list(KINDS), n=1)
    return near[0] if near else _OTHER_NAMES.get(word, "")


_OTHER_NAMES = {
    "手順": "procedural",
    "手続き": "procedural",
    "howto": "procedural",
    "how-to": "procedural",
    "runbook": "procedural",
    "知識": "semantic",
    "意味": "semantic",
    "fact": "semantic",
    "事実": "semantic",
    "decision": "semantic",
    "決定": "semantic",
    "出来事": "episodic",
    "日誌": "episodic",
    "journal": "episodic",
    "log": "episodic",
    "event": "episodic",
    "作業": "working",
    "作業中": "working",
    "todo": "working",
    "参考": "reference",
    "資料": "reference",
    "doc": "reference",
    "道具": "tool",
    "ツール": "tool",
}


def table() -> Iterator[str]:
    """Write the rules as a Markdown table."""
    yield "| type | what it says | may change | half-life | lives in | an agent's write must carry |"
    yield "|---|---|---|---|---|---|"
    for kind in KINDS.values():
        life = f"{kind.half_life_days:g} days" if kind.half_life_days else "does not age"
        life += f", expires after {kind.expires_days}" if kind.expires_days else ""
        folder, carries = (
            f"`{kind.folder}/`" if kind.folder else "anywhere",
            ", ".join(kind.must_carry) or "nothing",
        )
        yield f"| `{kind.name}` | {kind.says} | {kind.changes} | {life} | {folder} | {carries} |"
