"""A vault -> news of its files: the system's own events, through watchdog.

Tells of what happens below a folder, proves on demand that everything until now was told, and says
why when the system cannot tell. Knows nothing of what is done with the news.
"""

from __future__ import annotations

import errno
import itertools
import logging
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from memtool.watch.settling import FLOOD, Event, sort

if TYPE_CHECKING:
    from watchdog.observers.api import BaseObserver

#: Kinds of file systems that other machines change without this one being told.
REMOTE = (
    "nfs",
    "cifs",
    "smb",
    "9p",
    "fuse",
    "virtiofs",
    "ceph",
    "afs",
    "vboxsf",
    "prl_fs",
    "drvfs",
    "glusterfs",
)

_LIMITS = {
    errno.ENOSPC: "fs.inotify.max_user_watches=1048576",
    errno.EMFILE: "fs.inotify.max_user_instances=1024",
}


class Blind(Exception):
    """The system does not tell of changes here; ``fix`` says what would mend that."""

    def __init__(self, why: str, fix: str = "") -> None:
        super().__init__(why)
        self.why, self.fix = why, fix


class Source:
    """News of one vault, as it comes. Raises Blind when the system cannot tell."""

    #: Whether the system says that a file that was written is closed again.
    closes = sys.platform.startswith("linux")

    def __init__(self, root: Path, news: SimpleQueue[Event | None], *, mark_in: Path) -> None:
        self.root, self.news, self._mark_in = str(root), news, mark_in
        self.told = self.raw = 0  # what mattered, and everything
        self._numbers, self._marks = itertools.count(1), dict[str, threading.Event]()
        if remote := remote_mount(self.root):
            raise Blind(f"the vault is on a file system of kind {remote}, which other machines may change")
        try:
            self._observer = self._start()
        except Blind:
            raise
        except OSError as error:
            raise _blind(error) from error
        except Exception as error:  # watchdog raises what it likes where a system is odd
            raise Blind(f"file events cannot be had: {error}") from error

    def _start(self) -> BaseObserver:
        from watchdog.observers import Observer

        # It warns of folders that it saw twice, which is its own business.
        warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"watchdog\.")
        self._log = _Overflows(self._flood)
        logging.getLogger("watchdog").addHandler(self._log)
        observer = Observer()
        observer.schedule(self, self.root, recursive=True, event_filter=_wanted())  # type: ignore[arg-type]
        observer.start()
        try:
            self._require_all_watched()
        except Blind:
            _stop(observer)
            raise
        return observer

    def close(self) -> None:
        _stop(self._observer)  # it grumbles on the way, so our handler goes last
        logging.getLogger("watchdog").removeHandler(self._log)

    def is_alive(self) -> bool:
        """Tell whether every thread that news comes through still runs, not only the first."""
        emitters = list(self._observer.emitters)
        # Where one thread reads for all emitters, it may die while they wait on for ever.
        reader = getattr(self._observer, "_inotify_fd", None)
        threads = [self._observer, *emitters, *([reader] if isinstance(reader, threading.Thread) else [])]
        return bool(emitters) and all(thread.is_alive() for thread in threads)

    def _require_all_watched(self) -> None:
        """Raise Blind when folders were left out: watchdog passes over those the system refused."""
        for pause_s in (0.0, 0.05, 0.2, 0.5, 0.0):
            have, want = count_watches(), count_folders(self.root)
            if have is None or have >= want:
                return
            time.sleep(pause_s)  # a folder that has just been made is watched in a moment
        raise _limit(f"only {have} of {want} folders could be watched", errno.ENOSPC)

    def recount(self) -> None:
        """Look again whether new folders are watched too; raises Blind."""
        self._require_all_watched()

    # -- what watchdog calls -----------------------------------------------------------------

    def dispatch(self, event: Any) -> None:
        """Take one event of watchdog's."""
        self.raw += 1
        paths = [(event.event_type, event.src_path)]
        if event.event_type == "moved":
            paths.append(("moved", event.dest_path))
        for happened, place in paths:
            path = self._below(os.fsdecode(place))
            if path.startswith(".memtool/"):
                self._see_mark(path)
            elif path or happened in ("deleted", "moved"):
                self._tell(happened, path, folder=event.is_directory)

    def _below(self, place: str) -> str:
        return place[len(self.root) + 1 :] if place.startswith(self.root + os.sep) else ""

    def _tell(self, happened: str, path: str, *, folder: bool) -> None:
        if not path:
            event: Event | None = Event("", "doubt")  # the vault itself is gone, or something left it
        else:
            event = sort(happened, path, folder=folder)
        if event and event.kind == "written" and not self.closes:
            event = Event(event.path, "changed")
        if event:
            self.told += 1
            self.news.put(event)

    def _flood(self) -> None:
        self.told += 1
        self.news.put(Event("", "doubt"))

    # -- proving that everything was told ----------------------------------------------------

    def mark(self, timeout_s: float = 0.1) -> tuple[int, int] | None:
        """Give what changes as soon as something else was told; None when nobody can know now.

        A file of our own is made: when its own news arrives, all news before it has arrived too.
        """
        name = f".seen-{os.getpid()}-{next(self._numbers)}"
        self._marks[name] = seen = threading.Event()
        try:
            file = self._mark_in / name
            os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            os.unlink(file)
            # A flood of whatever kind may have hidden news.
            return (self.told, self.raw // FLOOD) if seen.wait(timeout_s) else None
        except OSError:
            return None
        finally:
            del self._marks[name]

    def _see_mark(self, path: str) -> None:
        if seen := self._marks.get(path.rpartition("/")[2]):
            seen.set()


class _Overflows(logging.Handler):
    """watchdog tells of lost events in its log alone."""

    def __init__(self, tell: Callable[[], None]) -> None:
        super().__init__()
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        if "overflow" in record.getMessage().lower():
            self._tell()


def _wanted() -> list[type]:
    from watchdog import events

    # Not those of opening and reading: our own reads would wake us.
    names = ("FileCreated", "FileModified", "FileClosed", "FileMoved", "FileDeleted")
    return [getattr(events, f"{name}Event") for name in (*names, "DirCreated", "DirMoved", "DirDeleted")]


def _stop(observer: BaseObserver) -> None:
    try:
        observer.stop()
        observer.join(2.0)
    except (OSError, RuntimeError):
        pass  # one that broke while it was started cannot be joined


def _blind(error: OSError) -> Blind:
    return _limit(f"file events cannot be had: {(error.strerror or str(error)).lower()}", error.errno or 0)


def _limit(why: str, number: int) -> Blind:
    setting = _LIMITS.get(number)
    return Blind(why, f"run `sudo sysctl {setting}` and start again" if setting else "")


# What the system says of itself


def count_folders(root: str) -> int:
    """Count the folders below *root*, itself included, that may be read."""
    return sum(os.access(folder, os.R_OK | os.X_OK) for folder, _, _ in os.walk(root))


def count_watches() -> int | None:
    """Count the folders that this process watches; None where the system does not say."""
    found = 0
    try:
        for handle in os.listdir("/proc/self/fdinfo"):
            found += _watches_of(f"/proc/self/fdinfo/{handle}")
    except OSError:
        return None
    return found


def _watches_of(file: str) -> int:
    try:
        with open(file, encoding="ascii", errors="replace") as lines:
            return sum(line.startswith("inotify wd:") for line in lines)
    except OSError:
        return 0  # closed meanwhile


def remote_mount(root: str, mounts: str = "/proc/self/mountinfo") -> str:
    """Name the kind of a file system at or below *root* that others can change; "" when there is none."""
    try:
        with open(mounts, encoding="utf-8", errors="surrogateescape") as lines:
            found = list(_mounts(lines))
    except OSError:
        return ""
    around = max((place for place, _ in found if _is_below(root, place)), key=len, default="")
    kinds = [kind for place, kind in found if place == around][-1:]
    kinds += [kind for place, kind in found if place != around and _is_below(place, root)]
    return next((kind for kind in kinds if kind.startswith(REMOTE)), "")


def _mounts(lines: Iterator[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        before, _, after = line.partition(" - ")
        yield before.split(" ")[4].replace("\\040", " "), after.split(" ")[0]


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
