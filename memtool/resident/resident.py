"""Requests on a local socket -> what the command line would print: one process with everything open.

Knows who may ask and how an answer travels. What is answered is handed in. A request that is odd, or
another user's, is refused and hurts nobody.
"""

from __future__ import annotations

import hmac
import os
import secrets
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import memtool
from memtool import client
from memtool.claim import Claim
from memtool.client import ADDRESS, GREETING, SOCKET, SOCKET_BYTES
from memtool.errors import VaultError
from memtool.vault import Vault

LOCK = "resident.lock"

#: Bytes of a request, requests at a time, seconds to say one.
LARGEST, MOST, PATIENCE_S = 1 << 20, 32, 5.0


class Request(NamedTuple):
    """What a client told."""

    argv: Sequence[str]
    folder: str
    environment: Mapping[str, str]
    encodings: tuple[str, str]  # of its standard output and standard error
    given: bytes = b""  # what stood on its standard input


class Reply(NamedTuple):
    """What the command would have left behind."""

    code: int
    out: bytes
    err: bytes


Answer = Callable[[Request], Reply | None]  # None: the client does it itself


class Refused(Exception):
    """A request that gets no answer."""


class Resident:
    """A socket that answers for one vault. Raises LockError when another process does so already."""

    def __init__(
        self,
        vault: Vault,
        answer: Answer,
        *,
        clock: Callable[[], float] = time.monotonic,
        unix: bool = hasattr(socket, "AF_UNIX"),
    ) -> None:
        self.vault, self.answer, self.clock = vault, answer, clock
        state = vault.prepare(vault.state)
        self._claim = Claim(state / LOCK, "answers for this vault")
        self._token, self._turn = "", threading.Lock()
        self._room = threading.BoundedSemaphore(MOST)
        self._closed = False
        self.served, self.last = 0, clock()
        try:
            self._place, self._line = self._listen(state, unix)
        except OSError as error:
            self._claim.close()
            why, fix = error.strerror or str(error), "run without it: `--no-resident`"
            raise VaultError("no socket could be opened", why=why, fix=fix) from error
        self._inode = _inode(self._place)
        threading.Thread(target=self._accept, name="resident", daemon=True).start()

    # -- opening and closing -----------------------------------------------------------------

    def _listen(self, state: Path, unix: bool) -> tuple[Path, socket.socket]:
        for old in (state / SOCKET, state / ADDRESS):
            old.unlink(missing_ok=True)  # nobody answers there: we have the claim
        if not unix:
            return self._listen_on_loopback(state)
        place = state / SOCKET
        if len(os.fsencode(place)) > SOCKET_BYTES:
            place = _short_place(self.vault.root)
            place.unlink(missing_ok=True)
            _save_address(state / ADDRESS, "unix", str(place), "")
        line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        before = os.umask(0o177)
        try:
            line.bind(str(place))
        except OSError:
            line.close()
            raise
        finally:
            os.umask(before)
        line.listen(MOST)
        return place, line

    def _listen_on_loopback(self, state: Path) -> tuple[Path, socket.socket]:
        line = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        line.bind(("127.0.0.1", 0))
        line.listen(MOST)
        self._token = secrets.token_hex(32)
        _save_address(state / ADDRESS, "tcp", str(line.getsockname()[1]), self._token)
        return state / ADDRESS, line

    def is_there(self) -> bool:
        """Tell whether clients can still find the way: the socket stands where it was put."""
        return not self._closed and _inode(self._place) == self._inode

    def close(self) -> None:
        """Stop answering; what lies on disk is removed where it is still ours."""
        if self._closed:
            return
        self._closed = True
        with suppress(OSError):
            self._line.shutdown(socket.SHUT_RDWR)
        self._line.close()
        if _inode(self._place) == self._inode:
            self._place.unlink(missing_ok=True)
            (self.vault.state / ADDRESS).unlink(missing_ok=True)
        with self._turn:  # an answer under way is given
            self._claim.close()

    # -- answering ---------------------------------------------------------------------------

    def _accept(self) -> None:
        while not self._closed:
            try:
                line, _ = self._line.accept()
            except OSError:
                if self._closed:
                    return
                time.sleep(0.05)  # out of file handles: some will come free
                continue
            self._room.acquire()
            threading.Thread(target=self._serve, args=(line,), daemon=True).start()

    def _serve(self, line: socket.socket) -> None:
        try:
            with line, suppress(OSError, ValueError, Refused):
                line.settimeout(PATIENCE_S)
                request = self._read(line)
                line.sendall(GREETING + b" yes\n")
                with self._turn:
                    self.last = self.clock()
                    reply = None if self._closed else self._answer(request)
                    self.served, self.last = self.served + 1, self.clock()
                if reply:
                    line.sendall(b"%d %d %d\n" % (reply.code, len(reply.out), len(reply.err)))
                    line.sendall(reply.out + reply.err)
        finally:
            self._room.release()

    def _answer(self, request: Request) -> Reply | None:
        try:
            return self.answer(request)
        except Exception:
            return None  # the client does it itself, meets the same fault, and shows it

    def _read(self, line: socket.socket) -> Request:
        if line.family != socket.AF_INET and client.peer_of(line) not in (None, os.getuid()):
            raise Refused
        give_up = time.monotonic() + PATIENCE_S
        head, _, body = _read_until(line, lambda data: b"\n" in data[:64], give_up).partition(b"\n")
        greeting, told, given = head.split(b" ")
        size, more = int(told), int(given)
        if greeting != GREETING or not 0 < size <= LARGEST or not 0 <= more <= client.PASSED_ON:
            raise Refused
        body += _read_until(line, lambda data: len(body) + len(data) >= size + more, give_up)
        return self._parse(body[:size])._replace(given=body[size : size + more])

    def _parse(self, body: bytes) -> Request:
        fields = body.decode("utf-8", "surrogateescape").split("\0")
        token, version, package, folder, out, err, count, *rest = fields
        known = hmac.compare_digest(token.encode("utf-8", "replace"), self._token.encode())
        same = (version, package) == (memtool.__version__, os.path.dirname(memtool.__file__))
        if not known or not same or not 0 < int(count) <= len(rest):
            raise Refused
        told = dict(pair.partition("=")[::2] for pair in rest[int(count) :])
        return Request(rest[: int(count)], folder, told, (out, err))


def _read_until(line: socket.socket, enough: Callable[[bytes], bool], give_up: float) -> bytes:
    heard = b""
    while not enough(heard):
        if len(heard) > LARGEST + client.PASSED_ON or time.monotonic() > give_up:
            raise Refused
        part = line.recv(1 << 16)
        if not part:
            raise Refused
        heard += part
    return heard


def _short_place(root: Path) -> Path:
    """Choose a place for the socket of a vault whose own path is too long for one."""
    import hashlib

    name = hashlib.sha256(os.fsencode(root)).hexdigest()[:16]
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(runtime) and os.path.isdir(runtime) and len(os.fsencode(runtime)) < 70:
        folder = Path(runtime) / "memtool"
    else:
        folder = Path(tempfile.gettempdir()) / f"memtool-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    it = os.lstat(folder)
    if it.st_uid != os.getuid() or it.st_mode & 0o077 or folder.is_symlink():
        raise OSError(1, f"`{folder}` is open to others")
    return folder / f"{name}.sock"


def _save_address(file: Path, kind: str, place: str, token: str) -> None:
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
    with open(handle, "w", encoding="utf-8") as stream:
        stream.write(f"{os.fstat(handle).st_ino}\t{kind}\t{place}\t{token}\n")


def _inode(file: Path) -> int:
    try:
        return os.lstat(file).st_ino
    except OSError:
        return 0
