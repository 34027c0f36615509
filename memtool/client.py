"""argv -> what a resident answers to it, or None: then the command is run here.

Everything that this file imports is loaded in any case: a command that a resident answers costs
little more than starting Python. On any doubt it gives None, and nothing was printed.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from collections.abc import Iterator, Mapping, Sequence

#: Commands that a resident answers.
ANSWERED = ("search", "show", "history", "blame", "context", "hook")

#: Bytes of standard input that are passed on.
PASSED_ON = 4 << 20

#: First word of both sides; a change of the wire changes it.
GREETING = b"memtool-2"

#: What of the environment an answer depends on, besides what begins with MEMTOOL_.
VARIABLES = ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "NO_COLOR", "COLUMNS")

SOCKET, ADDRESS = "resident.sock", "resident.address"

#: Bytes of a path that every system takes for a socket.
SOCKET_BYTES = 100

_OFF = ("0", "false", "no", "off")
_CONNECT_S, _ANSWER_S = 0.5, 60.0


def command_of(argv: Sequence[str]) -> str:
    """Find the command: the first word that is no flag and no flag's value.

    >>> command_of(["--vault", "notes", "--json", "search", "key"])
    'search'
    """
    words = iter(argv)
    for word in words:
        if word == "--vault":
            next(words, None)
        elif not word.startswith("-"):
            return word
    return ""


def ask(argv: Sequence[str], environment: Mapping[str, str]) -> int | None:
    """Let a resident answer and print what it says; None when there is none, or on any doubt."""
    if command_of(argv) not in ANSWERED or environment.get("MEMTOOL_RESIDENT", "").lower() in _OFF:
        return None
    if not {"--no-resident", "-h", "--help", "--version"}.isdisjoint(argv):
        return None
    if hook := command_of(argv) == "hook":
        from memtool import hook_client

        if hook_client.event_of(argv) not in hook_client.LIMITS:
            return None
    try:
        line, token = _reach(state_folder(argv, environment))
        try:
            given = hook_client.read_input() if hook else b""
            answer = _talk(line, request(argv, environment, token, given))
        finally:
            line.close()
    except (OSError, ValueError, ImportError, AttributeError):
        return None
    return _print(*answer)


def request(
    argv: Sequence[str], environment: Mapping[str, str], token: str = "", given: bytes = b""
) -> bytes:
    """Spell out what a resident is told: who asks, from where, what, and what stood on standard input."""
    from memtool import __file__, __version__

    if len(given) > PASSED_ON:
        raise ValueError

    told = [f"{name}={value}" for name, value in environment.items() if _matters(name)]
    streams = (sys.stdout.encoding, sys.stderr.encoding)
    fields = [token, __version__, os.path.dirname(__file__), os.getcwd(), *streams, str(len(argv))]
    payload = "\0".join([*fields, *argv, *told]).encode("utf-8", "surrogateescape")
    return b"%s %d %d\n%s%s" % (GREETING, len(payload), len(given), payload, given)


def _matters(name: str) -> bool:
    return name in VARIABLES or (name.startswith("MEMTOOL_") and name != "MEMTOOL_API_KEY")


# -- finding one -------------------------------------------------------------------------------


def state_folder(argv: Sequence[str], environment: Mapping[str, str]) -> str:
    """Give where the resident of the vault in question would be; it makes sure itself that it is the one."""
    named = _named(argv) or environment.get("MEMTOOL_VAULT", "")
    for folder in [named] if named else _upwards(os.getcwd()):
        if os.path.isdir(f"{folder}/.memtool"):
            return f"{folder}/.memtool/state"
    raise FileNotFoundError


def _named(argv: Sequence[str]) -> str:
    for at, word in enumerate(argv):
        if word == "--vault":
            return argv[at + 1] if at + 1 < len(argv) else ""
        if word.startswith("--vault="):
            return word[8:]
    return ""


def _upwards(folder: str) -> Iterator[str]:
    while True:
        yield folder
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above


def _reach(state: str) -> tuple[socket, str]:
    """Connect to the resident of a state folder; gives the token that it wants to see as well."""
    import _socket

    place, port, token = f"{state}/{SOCKET}", 0, ""
    if not hasattr(_socket, "AF_UNIX") or len(os.fsencode(place)) > SOCKET_BYTES:
        place, port, token = read_address(f"{state}/{ADDRESS}")
    line = _socket.socket(_socket.AF_INET if port else _socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        line.settimeout(_CONNECT_S)
        line.connect(("127.0.0.1", port) if port else place)
        if not port and peer_of(line) not in (None, os.getuid()):
            raise PermissionError
    except BaseException:
        line.close()
        raise
    return line, token


def read_address(file: str) -> tuple[str, int, str]:
    """Read where a resident listens: (socket, 0, "") or ("", port, token). Raises ValueError.

    A vault arrives by `git clone`: only a file that was made here, in this very place, is believed.
    """
    handle = os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    try:
        inode, kind, place, token = os.read(handle, 4096).decode().rstrip("\n").split("\t")
        if int(inode) != os.fstat(handle).st_ino:
            raise ValueError
    finally:
        os.close(handle)
    return (place, 0, "") if kind == "unix" else ("", int(place), token)


def peer_of(line: socket) -> int | None:
    """Give the user at the other end of a Unix socket; None where the system does not say."""
    import _socket

    if not hasattr(_socket, "SO_PEERCRED"):
        return None
    told = line.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
    return int.from_bytes(told[4:8], sys.byteorder)


# -- talking -----------------------------------------------------------------------------------


def _talk(line: socket, told: bytes) -> tuple[int, bytes, bytes]:
    while told:
        told = told[line.send(told) :]
    heard = _hear(line, b"", lambda data: b"\n" in data)
    if not heard.startswith(GREETING + b" yes\n"):
        raise ValueError
    line.settimeout(_ANSWER_S)
    heard = _hear(line, heard.partition(b"\n")[2], lambda data: b"\n" in data)
    head, _, body = heard.partition(b"\n")
    code, out, err = map(int, head.split(b" "))
    body = _hear(line, body, lambda data: len(data) >= out + err)
    return code, body[:out], body[out : out + err]


def _hear(line: socket, heard: bytes, enough) -> bytes:  # type: ignore[no-untyped-def]
    parts = [heard]
    while not enough(heard):
        part = line.recv(1 << 20)
        if not part:
            raise ValueError
        parts.append(part)
        heard = b"".join(parts)
        parts = [heard]
    return heard


def _print(code: int, out: bytes, err: bytes) -> int:
    try:
        _write(1, out)
    except BrokenPipeError:
        return 0  # whoever read us has heard enough
    except OSError as error:
        _write(2, f"memtool: the result cannot be written: {error.strerror}\n".encode())
        return 2
    _write(2, err)
    return code


def _write(stream: int, data: bytes) -> None:
    while data:
        data = data[os.write(stream, data) :]
