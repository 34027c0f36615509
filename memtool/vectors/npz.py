"""An .npz file <-> its arrays: written so that they can be mapped, read where they lie.

``np.load`` reads a whole member into memory and would unpickle one that asks for it. Here a member is
a view of the mapped file: only the pages that are touched are read, and nothing is ever unpickled.
Knows the two formats (zip, npy); does not know what the arrays mean.
"""

from __future__ import annotations

import io
import math
import mmap
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

Array = NDArray[Any]

_LOCAL_HEADER = struct.Struct("<4s5H3L2H")
_MOST_MEMBERS = 64
_MOST_HEADER = 256
# The one header that plain arrays are written with. numpy would parse any Python literal here.
_MAGIC = b"\x93NUMPY\x01\x00"
_HEADER = re.compile(
    re.escape(_MAGIC) + rb"(?P<length>..)\{'descr': '(?P<dtype>[<|][uif][1248])', 'fortran_order': False, "
    rb"'shape': \((?P<shape>(?:[0-9]{1,12},? ?){0,4})\), *\} *\n",
    re.DOTALL,
)
# numpy copies a whole matrix before it multiplies one that is not aligned; 64 is a cache line.
_ALIGNMENT = 64
#: So many bytes are looked at before they are let go of: more would not be faster.
BLOCK = 64 << 20
_ALIGNMENT_FIELD = 0xD935  # the number zip tools know for "padding"
# zipfile and numpy raise many kinds for bytes they did not expect, and all mean the same here.
_DAMAGE = (
    zipfile.BadZipFile,
    ArithmeticError,
    EOFError,
    LookupError,
    MemoryError,
    NotImplementedError,
    TypeError,
    ValueError,
    struct.error,
)


class DamagedError(Exception):
    """The file is not an .npz of plain arrays, or not whole."""


class Member(NamedTuple):
    """Where one array lies: its npy bytes within the file, and the checksum they should have."""

    name: str
    start: int
    size: int
    crc: int


class Npz(NamedTuple):
    """A mapped file and its arrays; the arrays keep the map alive."""

    arrays: dict[str, Array]
    members: tuple[Member, ...]
    view: memoryview

    def is_whole(self) -> bool:
        """Compare every byte of every member with the file's own checksums: about 1 ms a megabyte."""
        return all(self._has_sum(member) for member in self.members)

    def _has_sum(self, member: Member) -> bool:
        found, end = 0, member.start + member.size
        for start in range(member.start, end, BLOCK):
            found = zlib.crc32(self.view[start : min(start + BLOCK, end)], found)
            self.let_go()
        return found == member.crc

    def let_go(self) -> None:
        """Stop counting what was looked at as memory of this process; the system keeps it for all."""
        advise = getattr(self.view.obj, "madvise", None)
        if advise and hasattr(mmap, "MADV_DONTNEED"):
            advise(mmap.MADV_DONTNEED)


def load(file: Path) -> Npz:
    """Map *file*; raises DamagedError when it is not sound, OSError when it cannot be opened."""
    with file.open("rb") as stream:
        try:
            return _map(stream, os.fstat(stream.fileno()).st_size)
        except _DAMAGE as error:
            raise DamagedError(str(error) or type(error).__name__) from error


def save(file: Path, arrays: Mapping[str, Array]) -> None:
    """Write *arrays* stored, not deflated, each aligned; whole on disk when it returns.

    Replaces *file* at once: a reader sees the old bytes or the new ones, never a mixture.
    The same arrays give the same bytes.
    """
    temporary = file.with_name(f".{file.name}.{os.getpid()}-{os.urandom(4).hex()}.tmp")
    try:
        with temporary.open("xb") as stream:
            with zipfile.ZipFile(stream, "w") as archive:
                for name, array in arrays.items():
                    _write_member(archive, stream, f"{name}.npy", np.ascontiguousarray(array))
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, file)
    finally:
        temporary.unlink(missing_ok=True)


def _map(stream: io.BufferedReader, size: int) -> Npz:
    if not size:
        raise DamagedError("the file is empty")
    with zipfile.ZipFile(stream) as archive:
        infos = archive.infolist()
    if len(infos) > _MOST_MEMBERS:
        raise DamagedError(f"{len(infos)} members")
    members = tuple(_find_member(stream, info, size) for info in infos)
    view = memoryview(mmap.mmap(stream.fileno(), size, access=mmap.ACCESS_READ))
    return Npz({member.name: _view_array(view, member) for member in members}, members, view)


def _find_member(stream: io.BufferedReader, info: zipfile.ZipInfo, size: int) -> Member:
    if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1:
        raise DamagedError(f"{info.filename} is compressed or encrypted")
    stream.seek(info.header_offset)
    header = _LOCAL_HEADER.unpack(stream.read(_LOCAL_HEADER.size))
    start = info.header_offset + _LOCAL_HEADER.size + header[-2] + header[-1]
    if header[0] != b"PK\x03\x04" or info.compress_size != info.file_size or start + info.file_size > size:
        raise DamagedError(f"{info.filename} is cut off")
    return Member(info.filename.removesuffix(".npy"), start, info.file_size, info.CRC)


def _view_array(view: memoryview, member: Member) -> Array:
    """View one member; its header is believed only as far as the member's size bears it out."""
    head = bytes(view[member.start : member.start + min(member.size, _MOST_HEADER)])
    told = _HEADER.match(head)
    if not told:
        raise DamagedError(f"{member.name} holds objects, or is laid out in an unexpected way")
    length = len(_MAGIC) + 2 + int.from_bytes(told["length"], "little")
    dtype = np.dtype(told["dtype"].decode())
    shape = tuple(int(side) for side in told["shape"].split(b",") if side.strip())
    if length + math.prod(shape) * dtype.itemsize != member.size:
        raise DamagedError(f"{member.name} is not as long as its header says")
    return np.frombuffer(view, dtype, math.prod(shape), member.start + length).reshape(shape)


def _write_member(archive: zipfile.ZipFile, stream: io.BufferedWriter, name: str, array: Array) -> None:
    head = io.BytesIO()
    npy.write_array_header_1_0(head, npy.header_data_from_array_1_0(array))
    info = zipfile.ZipInfo(name)
    info.file_size = head.tell() + array.nbytes
    field = stream.tell() + _LOCAL_HEADER.size + len(name.encode()) + 4
    padding = -(field + head.tell()) % _ALIGNMENT
    info.extra = struct.pack("<HH", _ALIGNMENT_FIELD, padding) + bytes(padding)
    with archive.open(info, "w") as member:
        member.write(head.getvalue())
        member.write(array.reshape(-1).view(np.uint8).data)
