"""A root and a path below it -> bytes in, bytes out: safe opening, atomic replacing, the lock.

Every path is opened step by step and no step may be a link, so a path that leaves the root leads
nowhere, even when a link is put in its place meanwhile. Knows nothing of notes or of what bytes mean.
"""

from __future__ import annotations

import errno
import itertools
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

Stat = tuple[int, int, int, int]  # size, mtime_ns, ctime_ns, inode

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_HARD_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EINVAL)
_TEMPORARY = ".memtool-"
_number = itertools.count()


def open_folder(root: str, prefix: str) -> int:
    """Open a folder below *root*: at once, or in steps where the whole path is too long for the system."""
    if not prefix:
        return os.open(root, _FOLDER)
    try:
        return os.open(f"{root}/{prefix}".rstrip("/"), _FOLDER | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
    return open_beneath(root, prefix.rstrip("/").split("/"))


def open_beneath(root: str, parts: Sequence[str], *, make: bool = False) -> int:
    """Open a folder step by step, making what is missing when told to."""
    folder = os.open(root, _FOLDER)
    for part in parts:
        try:
            deeper = _step(folder, part, make)
        finally:
            os.close(folder)
        folder = deeper
    return folder


def _step(folder: int, part: str, make: bool) -> int:
    try:
        return os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
    except FileNotFoundError:
        if not make:
            raise
    with suppress(FileExistsError):
        os.mkdir(part, dir_fd=folder)
        _sync(folder)
    return os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)


@contextmanager
def parent(root: str, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
    """Give the open folder that holds *path*, and the last name of *path*."""
    *folders, name = path.split("/")
    folder = open_beneath(root, folders, make=make)
    try:
        yield folder, name
    finally:
        os.close(folder)


def stat_of(it: os.stat_result) -> Stat:
    """Keep what tells whether a file is still the same."""
    return (it.st_size, it.st_mtime_ns, it.st_ctime_ns, it.st_ino)


# Reading


def read(folder: int, name: str, *, largest: int) -> tuple[bytes, os.stat_result]:
    """Read a regular file, again when it changed meanwhile.

    Raises FileNotFoundError when it is anything else (a pipe is not even opened), and OSError with
    EFBIG when it is larger than *largest*.
    """
    for _ in range(3):
        data, before, after = _read_once(folder, name, largest)
        if stat_of(before) == stat_of(after):
            break
    # Still being written: these bytes go with the stat taken before them, so the next walk sees a change.
    return data, before


def _read_once(folder: int, name: str, largest: int) -> tuple[bytes, os.stat_result, os.stat_result]:
    # Opening a device can do things; looking at it first cannot.
    _must_be_regular(os.stat(name, dir_fd=folder, follow_symlinks=False))
    file = os.open(name, _READ, dir_fd=folder)
    try:
        before = os.fstat(file)
        _must_be_regular(before)
        if before.st_size > largest:
            raise OSError(errno.EFBIG, f"it has {before.st_size:,} bytes; the limit is {largest:,}")
        return _read_up_to(file, largest), before, os.fstat(file)
    finally:
        os.close(file)


def _read_up_to(file: int, largest: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    while part := os.read(file, min(1 << 20, largest + 1 - size) if parts else 1 << 16):
        parts.append(part)
        size += len(part)
        if size > largest:
            raise OSError(errno.EFBIG, f"it grew over {largest:,} bytes while it was read")
    return b"".join(parts)


def _must_be_regular(it: os.stat_result) -> None:
    if stat.S_ISLNK(it.st_mode):
        raise OSError(errno.ELOOP, "it is a link")
    if not stat.S_ISREG(it.st_mode):
        raise FileNotFoundError(errno.ENOENT, "it is not a regular file")


# Replacing


def replace(folder: int, name: str, data: bytes, *, scratch: str, like: os.stat_result) -> None:
    """Put *data* in place of a file at once, keeping mode and owner.

    Raises FileExistsError when the file is no longer the one *like* describes: somebody was quicker.
    """

    def put(temporary: str, place: int) -> None:
        # The last look is as late as it can be; between it and the rename lies one system call.
        if stat_of(os.stat(name, dir_fd=folder, follow_symlinks=False)) != stat_of(like):
            raise FileExistsError(errno.EEXIST, "it changed meanwhile")
        os.replace(temporary, name, src_dir_fd=place, dst_dir_fd=folder)

    _by_temporary(folder, data, put, scratch=scratch, like=like)


def create(folder: int, name: str, data: bytes, *, scratch: str) -> None:
    """Make a file that is complete from its first moment. Raises FileExistsError rather than overwrite."""

    def put(temporary: str, place: int) -> None:
        try:
            os.link(temporary, name, src_dir_fd=place, dst_dir_fd=folder, follow_symlinks=False)
        except OSError as error:
            if error.errno not in _NO_HARD_LINKS:
                raise
            _create_in_place(folder, name, data)
        os.unlink(temporary, dir_fd=place)

    _by_temporary(folder, data, put, scratch=scratch, like=None)


def _by_temporary(
    folder: int, data: bytes, put: Callable[[str, int], None], *, scratch: str, like: os.stat_result | None
) -> None:
    """Write a temporary file and put it in its place.

    It lies in *scratch*, which git and every walk ignore; only where that is another file system does
    it lie beside its target, hidden.
    """
    place = os.open(scratch, _FOLDER)
    try:
        _write_and_put(place, folder, data, put, like)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        remove_temporaries(folder)
        _write_and_put(folder, folder, data, put, like)
    finally:
        os.close(place)
    _sync(folder)


def _write_and_put(
    place: int, folder: int, data: bytes, put: Callable[[str, int], None], like: os.stat_result | None
) -> None:
    temporary = f"{_TEMPORARY}{os.getpid()}-{next(_number)}.tmp"
    try:
        _write(place, temporary, data, folder, like)
        put(temporary, place)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=place)
        raise


def _write(place: int, name: str, data: bytes, folder: int, like: os.stat_result | None) -> None:
    file = os.open(name, _NEW, 0o666, dir_fd=place)
    try:
        _write_all(file, data)
        _dress(file, os.fstat(folder), like)
        os.fsync(file)
    finally:
        os.close(file)


def _dress(file: int, folder: os.stat_result, like: os.stat_result | None) -> None:
    """Give a new file the owner and mode of the old one, or the group its folder hands down."""
    with suppress(PermissionError):
        if like is not None:
            os.fchown(file, like.st_uid, like.st_gid)
        elif folder.st_mode & stat.S_ISGID:
            os.fchown(file, -1, folder.st_gid)
    if like is not None:
        os.fchmod(file, stat.S_IMODE(like.st_mode))


def _create_in_place(folder: int, name: str, data: bytes) -> None:
    file = os.open(name, _NEW, 0o666, dir_fd=folder)
    try:
        _write_all(file, data)
        os.fsync(file)
    except BaseException:
        os.unlink(name, dir_fd=folder)
        raise
    finally:
        os.close(file)


def _write_all(file: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]


def remove_temporaries(folder: int) -> None:
    """Remove what killed writers left in *folder*. To be called by the one who may write now."""
    for name in os.listdir(folder):
        if name.startswith(_TEMPORARY) and name.endswith(".tmp"):
            with suppress(OSError):
                os.unlink(name, dir_fd=folder)


def _sync(folder: int) -> None:
    # Some network file systems cannot sync a folder; the file itself is safe by then.
    with suppress(OSError):
        os.fsync(folder)


# Locking


def lock(file: str, timeout_s: float) -> int:
    """Take an exclusive lock and give its open file; closing that lets go.

    Raises BlockingIOError after *timeout_s*, with what the holder wrote into the file.
    """
    until = time.monotonic() + timeout_s
    while True:
        handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        try:
            if _try_lock(handle) and _is_still(file, handle):
                return handle
            if time.monotonic() >= until:
                raise BlockingIOError(errno.EAGAIN, os.pread(handle, 20, 0).decode(errors="replace").strip())
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
        time.sleep(min(0.02, timeout_s))


def _try_lock(handle: int) -> bool:
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_still(file: str, handle: int) -> bool:
    """Tell whether *file* was removed meanwhile: a lock on a removed file keeps nobody out."""
    try:
        return os.path.samestat(os.stat(file), os.fstat(handle))
    except FileNotFoundError:
        return False
