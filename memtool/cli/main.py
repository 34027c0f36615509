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

OK, NO, FAILED, BUG, INTERRUPTED = 0, 1, 2, 3, 130


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
    from memtool.cli.commands import COMMANDS, group
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
