"""What a note watches -> its state now, as a short text that differs when it moved.

Files below the vault or below a checkout that the user's own settings name; a git reference of such a
checkout; the version of an installed package; a day. Commands and addresses only where the user's settings
allow them. What leads anywhere else is refused. Nothing is told of what is in a file but a digest.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from memtool import atomic
from memtool.repository import find_reference, git_folder
from memtool.watches import watches
from memtool.watches.watches import ASKING, MOST_FILES, RefusedError, Watch

#: A file changed as lately as this may change again without its stat showing it.
_RACY_NS = 2_000_000_000

#: Seconds a command or an answer may take, and for which what it said is believed.
TIMEOUT_S, BELIEVED_S = 10.0, 300.0

NOT_THERE, NOT_INSTALLED = "not-there", "not-installed"


class Looker:
    """Looks at what is watched, each thing once; what files hold is remembered by their stat."""

    def __init__(
        self,
        root: Path,
        checkouts: Mapping[str, str],
        allowed: tuple[str, ...] = (),
        *,
        memory: Path | None = None,
    ) -> None:
        self.root, self.checkouts, self.allowed = root, checkouts, allowed
        self._file = memory
        self._known: dict[str, list[object]] | None = None
        self._changed = False
        self._states: dict[tuple[Watch, str], str] = {}

    def state(self, watch: Watch, note: str = "") -> str:
        """Tell the state of *watch* for the note at *note*, which never counts as one of its own files.

        Raises RefusedError where it may not be looked at.
        """
        key = (watch, note if watch.kind == "file" else "")
        if key not in self._states:
            self._states[key] = self._look(watch, note)
        return self._states[key]

    def _look(self, watch: Watch, note: str) -> str:
        if watch.kind in ASKING and watch.kind not in self.allowed:
            fix = f'put `watch_kinds = ["{watch.kind}"]` into your own settings file'
            raise RefusedError(
                f"{watch} is not looked at", why=f"a {watch.kind} is watched only if you allow it", fix=fix
            )
        if watch.kind == "file":
            return self._files(watch, note)
        look = {"git": self._git, "package": _package, "command": self._command, "url": self._url}
        return look[watch.kind](watch) if watch.kind in look else ""

    def _place(self, watch: Watch) -> Path:
        if not watch.place:
            return self.root
        folder = self.checkouts.get(watch.place)
        if folder is None:
            fix = f'name it in your own settings file: `[checkouts]` and `{watch.place} = "/path/to/it"`'
            raise RefusedError(
                f"{watch} names no checkout that is known", why=f"there is no `{watch.place}`", fix=fix
            )
        return Path(os.path.realpath(os.path.expanduser(folder)))

    # -- files -------------------------------------------------------------------------------

    def _files(self, watch: Watch, note: str) -> str:
        root = self._place(watch)
        own = "" if watch.place else note
        parts = [f"{name}\0{digest}" for name, digest in self._digests(root, watch, own)]
        return (
            hashlib.sha256("\n".join(sorted(parts)).encode("utf-8", "surrogateescape")).hexdigest()[:12]
            if parts
            else NOT_THERE
        )

    def _digests(self, root: Path, watch: Watch, own: str) -> Iterator[tuple[str, str]]:
        for count, name in enumerate(watches.matching(root, watch)):
            if count >= MOST_FILES:
                fix = "watch fewer files: give a narrower pattern"
                raise RefusedError(f"{watch} names more than {MOST_FILES:,} files", fix=fix)
            if name != own and (digest := self._digest(root, name)):
                yield name, digest

    def _digest(self, root: Path, name: str) -> str:
        """Give the digest of a file that lies below *root*, links followed; "" for anything else."""
        real = os.path.realpath(root / name)
        if os.path.commonpath((real, root)) != str(root):
            return ""
        with suppress(OSError):
            it = os.stat(real)
            if not stat.S_ISREG(it.st_mode):
                return ""
            seen = [it.st_size, it.st_mtime_ns, it.st_ctime_ns, it.st_ino]
            known = self._memory().get(real)
            if known and known[:4] == seen:
                return str(known[4])
            with open(real, "rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
            if max(it.st_mtime_ns, it.st_ctime_ns) < time.time_ns() - _RACY_NS:
                self._memory()[real] = [*seen, digest]
                self._changed = True
            return digest
        return ""

    def _memory(self) -> dict[str, list[object]]:
        if self._known is None:
            self._known = load(self._file) if self._file else {}
        return self._known

    @property
    def learned(self) -> bool:
        """Whether there is anything to keep."""
        return self._changed and self._file is not None

    def keep(self) -> None:
        """Keep what was learned of files, so that the next look is but a stat of each."""
        if self._changed and self._file:
            save(self._file, self._memory())
            self._changed = False

    # -- the other kinds ---------------------------------------------------------------------

    def _git(self, watch: Watch) -> str:
        root = self._place(watch)
        folder = git_folder(root)
        if folder is None:
            return NOT_THERE
        oid = find_reference(root / ".git", watch.what)
        if oid:
            return oid[:12]
        from memtool.git import Git

        status, out, _ = Git(root).attempt(
            "rev-parse", "--verify", "--quiet", "--end-of-options", f"{watch.what}^{{commit}}"
        )
        return out.decode(errors="replace").strip()[:12] if not status else NOT_THERE

    def _command(self, watch: Watch) -> str:
        """Run a command the user allows, without a shell, in the vault's folder; digest what it said."""
        import shlex
        import subprocess

        def run() -> str:
            try:
                words = json.loads(watch.what) if watch.what.startswith("[") else shlex.split(watch.what)
                done = subprocess.run(
                    [str(word) for word in words],
                    cwd=self.root,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=TIMEOUT_S,
                    check=False,
                )
            except (OSError, ValueError, subprocess.TimeoutExpired):
                return NOT_THERE
            return hashlib.sha256(b"%d\0" % done.returncode + done.stdout).hexdigest()[:12]

        return self._believed(f"command {watch.what}", run)

    def _url(self, watch: Watch) -> str:
        """Ask an address the user allows for its head; give a digest of what tells its version."""
        from urllib.error import HTTPError
        from urllib.request import Request, urlopen

        def ask() -> str:
            if not watch.what.startswith(("http://", "https://")):
                return NOT_THERE
            try:
                with urlopen(Request(watch.what, method="HEAD"), timeout=TIMEOUT_S) as answer:
                    heads = [
                        answer.headers.get(name, "") for name in ("ETag", "Last-Modified", "Content-Length")
                    ]
                    told = json.dumps([answer.status, heads])
            except HTTPError as error:
                told = json.dumps([error.code])
            except OSError:
                return NOT_THERE
            return hashlib.sha256(told.encode()).hexdigest()[:12]

        return self._believed(watch.what, ask)

    def _believed(self, key: str, ask: Callable[[], str]) -> str:
        """Ask again only after a while: a search must not wait for it each time."""
        known, now = self._memory().get(key), time.time()
        if known and len(known) == 2 and abs(now - float(str(known[0]))) < BELIEVED_S:
            return str(known[1])
        found = ask()
        self._memory()[key] = [now, found]
        self._changed = True
        return found


def _package(watch: Watch) -> str:
    """Give the version of an installed package, by its own metadata."""
    from importlib import metadata

    try:
        return metadata.version(watches.package_name(watch.what)[0])
    except (metadata.PackageNotFoundError, ValueError):
        return NOT_INSTALLED


def load(file: Path) -> dict[str, list[object]]:
    """Read a small JSON table; one that is damaged or not there is empty."""
    try:
        found = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return (
        {key: value for key, value in found.items() if isinstance(value, list)}
        if isinstance(found, dict)
        else {}
    )


def save(file: Path, table: Mapping[str, object]) -> None:
    """Write it at once or not at all; a disk that refuses costs only time."""
    with suppress(OSError):
        atomic.put(file, json.dumps(table).encode())
