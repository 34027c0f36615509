"""The commands there are: the group that has each one's flags and body, and its line in the help."""

from __future__ import annotations

#: Command -> the group that has its flags and body, and its line in the help.
COMMANDS = {
    "init": ("making", "make a vault, or make one of a folder of notes"),
    "index": ("making", "read what changed and give every text its vector"),
    "search": ("reading", "find the lines that answer a question"),
    "show": ("reading", "print the lines of an anchor"),
    "history": ("history", "tell what happened to a note or to lines of it, and why"),
    "blame": ("history", "tell line by line who wrote it, when, and whether it was verified"),
    "diff": ("history", "compare two versions of a note"),
    "when": ("history", "tell since when the best match to a question stands, or stood"),
    "cite": ("tracing", "pin an anchor to what its lines say"),
    "resolve": ("tracing", "tell what became of pinned lines, and by whom"),
    "facts": ("tracing", "tell which values of a note stood from when to when, and who set them"),
    "feedback": ("usage", "say whether lines helped or not"),
    "usage": ("usage", "tell how often notes were shown, opened, cited and judged"),
    "unopened": ("usage", "name the notes that nobody ever opened, and why they were not found"),
    "tool": ("tool", "keep how tool calls ended, and advise which tool and parameters to use"),
    "state": ("attending", "show, reset or drop what a unit of work is about"),
    "verify": ("truth", "say that lines were checked against a source, and are true"),
    "stale": ("truth", "name the notes whose watched files, versions or days moved"),
    "conflicts": ("conflicts", "name lines of notes that contradict each other, and say which holds"),
    "types": ("truth", "print the types of notes and the rules of each"),
    "links": ("graph", "tell what a note links to and what links to it; name broken links"),
    "graph": ("graph", "follow relations between notes: who worked with X, and by which lines that is known"),
    "review": ("reviewing", "look at what agents wrote: keep, fix, verify or take back each change"),
    "freeze": ("reviewing", "let no agent change a note"),
    "pin": ("reviewing", "let a note lead the catalog and never fade"),
    "trace": ("why", "show how the last searches came about, and ask one again"),
    "why": ("why", "tell why lines came for a question, or did not"),
    "turn": ("remembering", "keep what was said in a session; list, show and shorten it"),
    "context": ("remembering", "gather what bears on a question for a prompt, within a budget of tokens"),
    "ask": ("archiving", "let a chat model answer from the notes, with anchors, and keep the answer"),
    "bench": ("archiving", "measure what is sent per turn as a vault grows"),
    "status": ("reading", "tell how fresh, covered and large everything is"),
    "add": ("writing", "write a new note"),
    "append": ("writing", "put lines at the end of a note, or below one of its headings"),
    "edit": ("writing", "replace exactly the lines of an anchor"),
    "set": ("writing", "change one key of a note's front matter"),
    "move": ("writing", "give a note another path, and let all links follow"),
    "archive": ("writing", "move a note to archive/, where it is still found by name"),
    "restore": ("aging", "take a note out of archive/, to where it was before"),
    "lifecycle": (
        "aging",
        "plan and do what time asks for: restore, merge, archive; each step can be undone",
    ),
    "fold": ("aging", "sum up old episodes in notes that cite their lines"),
    "undo": ("writing", "take one change back, or all of a session; later lines of others stay"),
    "catalog": ("making", "write MEMORY.md, the list of all notes"),
    "commit": ("keeping", "commit changed notes, and say in words what changed"),
    "policy": ("policy", "say who may do what, and check changes against it"),
    "merge-driver": ("keeping", "merge two versions of a note; git calls it after `init --git-hooks`"),
    "watch": ("serving", "follow the vault: index, embed, catalog and commit what changes"),
    "serve": ("serving", "keep the vault open, so that searches are answered at once"),
    "mcp": ("connecting", "let agents use the vault over the Model Context Protocol"),
    "hook": ("hooking", "answer an agent's event; agents call it after `memtool hooks install`"),
    "hooks": ("installing", "let an agent call memtool by itself: install, uninstall, status"),
    "check": ("checking", "name everything that is odd, with its fix"),
    "doctor": ("tracing", "say how the vault is, what is odd, and which command mends it"),
    "eval": ("checking", "measure how well questions find their lines"),
    "calibrate": ("checking", "set the line below which nothing is relevant"),
}


def group(name: str):  # type: ignore[no-untyped-def]
    """Import one group of commands."""
    from importlib import import_module

    return import_module(f"memtool.cli.{name}")
