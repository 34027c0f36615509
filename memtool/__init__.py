"""memtool: agent memory you can check.

A folder of Markdown notes in a git repository is the truth; everything else is worked out from it,
in one direction, and can be thrown away::

    file -> blob -> Note -> chunks -> rows (FTS5) + vectors (.npz) -> hits

Each arrow is one room: a folder, or a single file, named for the noun it makes. A room imports only
from floors below its own; `tests/test_architecture.py` has the floors, and holds the rooms to them.

Two stairs rise side by side. The reading stair is the line above; the keeping stair is everything
that changes a note, and all of it goes through one `door`. They meet in `memory`, and whoever comes in,
by command line, hook, protocol or watcher, comes through that room. To learn the house, read each
stair from its foot, which is how the rooms stand here, lowest first.

Ground: what every room stands on::

    errors       what went wrong -> what to do about it
    names        a name -> note, skipped folder, conflict copy, or unfit for a new note
    atomic       bytes -> a file of memtool's own, or a line of a log, whole or not at all
    files        a root and a path below it -> bytes in, bytes out; atomic replacing, the lock
    runs         two lists of lines -> what both begin and end with, and what differs
    lexical      text -> tokens; a question -> full-text expressions
    settings     a setting's name -> what it takes, and whether a vault may set it
    kinds        a note's type -> its rules: how it changes, ages and where it lives
    repository   a folder -> the git repository around it, no command run
    quoting      lines of notes -> text for an agent, marked as data
    config       files and environment -> settings, and who wins
    places       where a command starts -> its vault, and where the caches lie
    identity     a name, a session, a reason -> who makes a change, and who asks
    git          arguments -> parsed git output

The reading stair: from a file to an answer::

    walk         a folder -> the stat of every note below it
    vectors      texts and their vectors -> segments of an `.npz` cache
    index        notes -> rows in one SQLite file
    vault        a folder -> its notes: listed, read and replaced, never outside of it
    note         bytes -> a note: its lines, its front matter, its encoding
    embedders    texts -> vectors: the offline model, an endpoint, a function
    evaluate     cases and a search function -> how well it finds
    calibration  a vault's own questions -> the chance below which answers are noise
    chunks       a note -> the lines that are scored, and the pieces that are embedded
    search       a query and an index -> hits, best first
    derived      a vault -> what is worked out from it, opened when first needed
    links        notes -> who points at whom, by which relation, and the paths between
    refresh      a folder -> rows brought up to date, at the cost of what changed
    answer       hits and what they were found in -> an answer that accounts for itself

The keeping stair: from an intention to a commit::

    secrets      text -> the likely secrets in it, and the same text masked
    git_state    a work tree -> what keeps git from committing now, and the mend
    git_hooks    a vault -> a pre-commit hook that asks the policy
    template     the template -> a new vault
    writer       an intended change -> lock, compare, replace, in that order
    staging      paths of notes -> a commit of exactly these
    policy       writer, verb and path -> allowed or why not; a change -> admitted or refused
    catalog      notes -> the text of `MEMORY.md` and its pages
    carrying     notes an agent wrote -> what each lacks by the rules of its type
    merging      two versions of one note -> one, for git
    commits      changed notes -> commits that say what changed, and who did it
    door         an intended change -> a changed note, committed in its writer's name
    lifecycle    notes, their use and the time -> what rests, comes back, is merged or folded

The past::

    pin          lines -> their digest; a digest -> where these lines are now
    history      git -> versions of notes and lines, and who wrote which
    resolve      a pinned anchor -> what became of its lines
    past         a moment -> the vault as it was, searched like the present

Truth: what holds, and since when::

    tense        words and dates -> moments and spans
    watches      what a note rests on -> whether it has moved
    standing     a note -> what it says of itself: holds from, until, instead of, verified by
    facts        front matter and `key:: value` lines -> values and how long each stood
    beliefs      notes that speak of one subject -> the one that holds at a moment
    conflicts    lines that speak of the same thing -> those that cannot both hold
    checks       a vault -> all that is odd, with what mends it

Agents: what they do, and what is learned from it::

    llm          messages -> text from a chat endpoint
    folding      turns and other texts -> those that say most, each cited
    usage        what was shown, opened and helped -> counts
    generated    answers that a model wrote -> their place, never above what they cite
    tools        calls of tools -> what is known of each, and advice for a task
    session      turns of a unit of work -> a small matrix that leans what is asked next
    context      hits, turns and pins -> one text within a budget
    review       what agents wrote since a person last looked -> what became of it
    traces       a search -> a record that can be replayed and explained
    archivist    a question -> an answer that cites, and a new note

Where the stairs meet, and the doors::

    gathering    edited notes -> those that have been quiet long enough
    heartbeat    a state folder <-> the watcher's last sign of life
    claim        a file -> the right to do a job alone
    hook_log     what went wrong in a hook -> a bounded log -> findings
    hook_client  the arguments of a hook -> which event, and how long it may take
    client       arguments -> what a resident answers, or None
    thrift       a process that lives long -> one that keeps little
    memory       one open vault -> all that can be asked of it and done to it
    unchanged    news that nothing happened -> a look at the vault saved
    hooks        an event of a coding agent -> lines for it to read, its session a note
    mcp_server   calls of the Model Context Protocol -> calls of `Memory`
    watch        changed paths -> a vault kept up to date
    resident     a request on a local socket -> the answer of a vault held open
    cli          arguments -> output and an exit code
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing `typing` for it would double what starting costs
if TYPE_CHECKING:
    from memtool.answer.answer import Answer as Answer
    from memtool.archivist.archivist import Archivist as Archivist
    from memtool.identity import Signature as Signature
    from memtool.memory.memory import Memory as Memory
    from memtool.note.note import Anchor as Anchor
    from memtool.search.query import Hit as Hit

__version__ = "0.1.0"
__all__ = ["Anchor", "Answer", "Archivist", "Hit", "Memory", "Signature", "__version__"]

_HOMES = {
    "Memory": "memory.memory",
    "Signature": "identity",
    "Answer": "answer.answer",
    "Archivist": "archivist.archivist",
    "Anchor": "note.note",
    "Hit": "search.query",
}


def __getattr__(name: str) -> object:
    # Late, so that `import memtool` costs nothing until something is used.
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(f"memtool.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'memtool' has no attribute {name!r}")
