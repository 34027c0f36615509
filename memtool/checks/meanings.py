"""The code of a finding -> what it means for whoever relies on the vault, and how bad that is.

``red``: answers may be wrong, or changes are not kept. ``yellow``: it works, and not as it should.
``green``: worth knowing, and mended without anybody. Knows nothing of how things are found.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Light = Literal["green", "yellow", "red"]


class Meaning(NamedTuple):
    """What a finding means; ``person``: somebody must decide or write something.

    ``command`` is what to run, with ``{git}``, ``{vault}`` and ``{path}`` to be filled in; "" where the
    finding's own fix is all there is to say.
    """

    light: Light
    person: bool
    means: str
    command: str = ""


_TEXT_ONLY = "the note is found by its text; its title, tags and dates are not known"
_NOT_COMMITTED = "changes stay on disk and are not committed until it is over"
_INDEX, _COMMIT = "memtool index --vault {vault}", "memtool commit --vault {vault}"
_REBUILD = "memtool index --rebuild --vault {vault}"

MEANINGS: dict[str, Meaning] = {
    # the vault
    "loss-paused": Meaning(
        "red", True, "the vault may be unmounted: what is known is kept, nothing is recorded"
    ),
    "unreadable": Meaning("red", True, "its last known text is searched, which may be old"),
    "cache-elsewhere": Meaning("yellow", True, "searches work; caches are not kept beside the notes"),
    "conflict-copy": Meaning(
        "yellow", True, "two versions of one note are searched side by side, and not committed"
    ),
    "merge-conflict": Meaning("yellow", True, "both versions are searched side by side, and not committed"),
    "front-matter-yaml": Meaning("yellow", True, _TEXT_ONLY),
    "front-matter-open": Meaning("yellow", True, _TEXT_ONLY),
    "alias-bomb": Meaning("yellow", True, _TEXT_ONLY),
    "recursive-value": Meaning("yellow", True, _TEXT_ONLY),
    "duplicate-key": Meaning("yellow", True, "one of the values is not seen"),
    "bad-date": Meaning("yellow", True, "searches by day leave the note out"),
    "valid-backwards": Meaning("yellow", True, "the note is taken to hold from its first day on"),
    "verified-by-hand": Meaning("yellow", True, "nobody can tell what was verified, so it is not shown"),
    "type-unknown": Meaning("yellow", True, "it is searched; the rules of no type apply to it"),
    "reason-missing": Meaning("yellow", True, "later nobody will know why it was written"),
    "date-missing": Meaning("yellow", True, "nobody can tell whether it still holds"),
    "source-missing": Meaning("yellow", True, "nobody can check it"),
    "watch-refused": Meaning(
        "yellow", True, "it is not looked at, so the note will not be called stale by it"
    ),
    "comment-in-value": Meaning("yellow", True, "the value ends where the # stands"),
    "not-utf-8": Meaning("yellow", True, "the encoding was guessed, so words may be wrong"),
    "nul-bytes": Meaning("yellow", True, "other tools may take the note for a binary file"),
    "name-collision": Meaning("yellow", True, "on other systems one of the notes would replace the other"),
    "link-outside": Meaning("yellow", True, "what it leads to is not part of the vault and is not searched"),
    "link-loop": Meaning("yellow", True, "it leads back to where it lies; notes are read once all the same"),
    "link-dangling": Meaning("yellow", True, "it leads nowhere"),
    # what is worked out from it
    "index-behind": Meaning("green", False, "the next search reads what changed by itself", _INDEX),
    "index-rebuilt": Meaning("green", False, "it was damaged and has been made again from the notes"),
    "index-damaged": Meaning("red", False, "words may be missing from answers", _REBUILD),
    "session-damaged": Meaning("green", False, "what a unit of work was about is forgotten"),
    "index-differs": Meaning("red", False, "answers may be old", _REBUILD),
    "index-missing": Meaning("red", False, "notes are missing from answers", _REBUILD),
    "index-extra": Meaning("red", False, "answers may name what is gone", _REBUILD),
    "vectors-behind": Meaning("yellow", False, "what has no vector is found by its words alone", _INDEX),
    "vectors-off": Meaning("green", False, "searches go by words alone, as configured"),
    "vectors-damaged": Meaning("yellow", False, "texts are embedded anew", _INDEX),
    "vectors-other-model": Meaning("yellow", False, "vectors of another model are of no use", _INDEX),
    "no-vector": Meaning("yellow", False, "words find it, meaning does not", _INDEX),
    "embedder-unreachable": Meaning("yellow", True, "words answer alone, and new texts get no vector"),
    "catalog-stale": Meaning(
        "yellow", False, "MEMORY.md does not list what the vault holds", "memtool catalog --vault {vault}"
    ),
    "catalog-left": Meaning(
        "yellow", True, "a page that nothing leads to any more is still read", "rm {path}"
    ),
    "catalog-full": Meaning("yellow", True, "MEMORY.md is over its budget, so an agent may not see its end"),
    "catalog-markers": Meaning("yellow", True, "MEMORY.md is not written any more"),
    "catalog-unreadable": Meaning("yellow", True, "MEMORY.md is not written any more"),
    "hook-failed": Meaning(
        "yellow",
        False,
        "an agent was told nothing that time, or its session was not kept; the agent went on",
        "memtool hooks status --vault {vault}",
    ),
    "watcher-died": Meaning(
        "yellow",
        True,
        "answers are right; nothing is embedded, listed or committed by itself",
        "memtool watch --vault {vault}",
    ),
    "watcher-silent": Meaning("yellow", True, "answers are right; the watcher hangs, or the machine slept"),
    # git
    "git-none": Meaning(
        "yellow", True, "searches work; nobody can say who wrote a line", "git -C {vault} init"
    ),
    "git-missing": Meaning("yellow", True, "searches work; nobody can say who wrote a line"),
    "git-bare": Meaning("yellow", True, "there are no files to work with"),
    "git-ownership": Meaning("red", True, "history is off, and nothing is committed"),
    "git-failed": Meaning("red", True, "history is off, and nothing is committed", "git -C {vault} status"),
    "git-unborn": Meaning("yellow", False, "notes have no history yet", _COMMIT),
    "git-detached": Meaning(
        "yellow",
        True,
        "commits made now are lost when another revision is checked out",
        "{git} switch -c NAME",
    ),
    "git-merge": Meaning("yellow", True, _NOT_COMMITTED, "{git} merge --continue"),
    "git-am": Meaning("yellow", True, _NOT_COMMITTED, "{git} am --continue"),
    "git-rebase": Meaning("yellow", True, _NOT_COMMITTED, "{git} rebase --continue"),
    "git-cherry-pick": Meaning("yellow", True, _NOT_COMMITTED, "{git} cherry-pick --continue"),
    "git-revert": Meaning("yellow", True, _NOT_COMMITTED, "{git} revert --continue"),
    "git-bisect": Meaning("yellow", True, _NOT_COMMITTED, "{git} bisect reset"),
    "git-unmerged": Meaning(
        "red", True, "nothing at all is committed until it is mended", "{git} add -- {path}"
    ),
    "git-lock": Meaning("red", True, "nothing can be committed while it lies there"),
    "git-busy": Meaning("green", False, "another git command is at work; commits wait for it"),
    "git-identity": Meaning("red", True, "git does not know whose commits these are, so it makes none"),
    "git-ignored": Meaning(
        "yellow", True, "they are searched, and have no history", "{git} check-ignore -v -- {path}"
    ),
    "git-elsewhere": Meaning(
        "yellow", False, "its notes are searched, and committed only there", "git -C {vault}/{path} status"
    ),
    "git-untracked": Meaning("yellow", True, "there is no history of what stands in them", _COMMIT),
    "git-uncommitted": Meaning("yellow", True, "the edits are in no revision and could be lost", _COMMIT),
    "git-hidden": Meaning(
        "yellow", True, "git was told not to look at it, so its changes are never committed"
    ),
    "git-held": Meaning("red", True, "a hook refused it; it waits for its next change", _COMMIT),
    "git-shallow": Meaning("green", False, "who wrote older lines cannot be said", "{git} fetch --unshallow"),
}

_CONFIG = Meaning("yellow", True, "the setting is not obeyed")
_NAME = Meaning("yellow", True, "other systems and tools may not be able to handle the name")
_ELSE = Meaning("yellow", True, "it works, and not as it should")


def meaning(code: str) -> Meaning:
    """Say what a finding means; a code nobody explained yet is yellow.

    >>> meaning("config-unknown").means
    'the setting is not obeyed'
    """
    families = {"config": _CONFIG, "name": _NAME}
    return MEANINGS.get(code) or families.get(code.partition("-")[0], _ELSE)
