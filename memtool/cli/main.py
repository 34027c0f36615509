"""argv -> exit code: the resident asked first, the error boundary, the late imports.

Only what a command needs is imported, and only once it is known which command that is: a search that
a resident answers must cost hardly more than starting Python.
"""

from __future__ import annotations

import errno
import os
import sys

from memtool import client

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from memtool.errors import MemtoolError

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

OK, NO, FAILED, BUG, INTERRUPTED = 0, 1, 2, 3, 130


def group(name: str):  # type: ignore[no-untyped-def]
    """Import one group of commands."""
    from importlib import import_module

    return import_module(f"memtool.cli.{name}")


def main(
    argv: Sequence[str] | None = None, perform: Callable[[argparse.Namespace], int] | None = None
) -> int:
    """Run one command and give its exit code; never raises for what a user can meet.

    *perform* runs the parsed command in another way; None: as its group does.
    """
    argv = list(sys.argv[1:] if argv is None else argv)
    code = _run(argv, perform)
    # To an agent an exit code says "stop here", and no mishap of a memory is worth that.
    return OK if client.command_of(argv) == "hook" else code


def _run(argv: Sequence[str], perform: Callable[[argparse.Namespace], int] | None) -> int:
    from memtool.cli.parsing import parser
    from memtool.errors import MemtoolError

    as_json = "--json" in argv
    try:
        options = parser(client.command_of(argv)).parse_args(argv)
        options.json = getattr(options, "json", False)
        options.vault = getattr(options, "vault", None)
        code: int = (perform or group(COMMANDS[options.command][0]).run)(options)
        sys.stdout.flush()
        return code
    except MemtoolError as error:
        _report(error, as_json=as_json)
        return FAILED
    except SystemExit as leaving:  # argparse, after --help or --version
        return int(leaving.code or 0)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read us has heard enough; without this the interpreter complains at its end.
        _silence()
        return OK
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.ENOSPC and error.filename is None:
            _silence()
            print(f"memtool: the result cannot be written: {error.strerror}", file=sys.stderr)
            return FAILED
        import traceback

        traceback.print_exc()
        print("memtool: this is a bug in memtool", file=sys.stderr)
        return BUG


def _silence() -> None:
    """Let what is still to be written go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report(error: MemtoolError, *, as_json: bool) -> None:
    if as_json:
        from memtool.cli.render import json_text

        told = {"code": error.code, "what": error.what, "why": error.why, "fix": error.fix}
        told |= {key: value for key in ("digest", "kept") if (value := getattr(error, key, ""))}
        print(json_text({"error": told}), file=sys.stderr)
    else:
        from memtool.cli.render import plain

        print(plain(f"memtool: {error}"), file=sys.stderr)


def _speak_utf8() -> None:
    """Start once more where names would be read as ASCII: notes may be called anything."""
    if sys.getfilesystemencoding().lower().replace("-", "") != "utf8" and not sys.flags.utf8_mode:
        os.environ["PYTHONUTF8"] = "1"
        os.execv(sys.executable, [sys.executable, "-m", "memtool", *sys.argv[1:]])


def _open_closed_streams() -> None:
    """Stand in for streams that were closed; without a place for results there is nothing to do."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 - it lives as long as we do
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - the same
    if sys.stdout is None:
        print("memtool: standard output is closed, so no result can be told", file=sys.stderr)
        sys.exit(OK if client.command_of(sys.argv[1:]) == "hook" else FAILED)


def run() -> None:
    """Be the console script."""
    _speak_utf8()
    _open_closed_streams()
    if client.command_of(sys.argv[1:]) == "hook":
        if os.environ.get("MEMTOOL_HOOK"):
            sys.exit(OK)  # a hook started this: it would only talk to itself
        from memtool import hook_client

        hook_client.end_in_time(sys.argv[1:], lambda: client.state_folder(sys.argv[1:], os.environ))
    code = client.ask(sys.argv[1:], os.environ)
    if code is not None:
        sys.exit(code)
    import io

    # One product of a matrix and a vector gains nothing from threads, and starting them costs 0.1 s.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that has no Japanese shows escapes rather than nothing at all.
            stream.reconfigure(errors="backslashreplace")
    sys.exit(main())
