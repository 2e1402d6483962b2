"""The format of model files: 32 bytes that say what follows, a header in JSON, then arrays. See storage/FORMAT.md.

Where an array begins follows from those before it: nothing in a file can contradict itself there. Every byte is
accounted for, by a checksum or as a zero.
"""

from __future__ import annotations

import contextlib
import errno
import json
import mmap
import os
import secrets
import stat
import struct
import sys
from collections.abc import Iterator, Sequence
from math import isfinite, prod
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from zlib import crc32

import numpy as np

from onlineboost._compile.system import ignoring_the_system
from onlineboost.storage import (
    CannotSave,
    DamagedModelFile,
    NewerModelFile,
    NotAModelFile,
    TooLargeHeader,
    TruncatedModelFile,
)

MAGIC = b"\x89OLB\r\n\x1a\n"  # as in PNG: a copy that changes line ends, or drops the eighth bit, shows
FORMAT = 1
PREAMBLE = struct.Struct("<8sIIQII")  # magic, format, bytes of the header, of the file, crc of the header, crc of these
ALIGN = 64
MAX_HEADER_BYTES = 1 << 26
MAX_DIMENSIONS = 4
MAX_EMPTY_ROWS = 1 << 20  # rows of an array that takes no bytes
DTYPES = {name: np.dtype(f"<{name}") for name in ("f8", "i8", "i4", "u2", "u1", "b1")}
PART = ".onlineboost-*.part"  # files that a program left behind which was killed while it wrote
MAPPED = 1 << 20  # bytes from which on a mapped float64 array stays in the file until it is asked for


class Place(NamedTuple):
    """Where an array is, as the header says."""

    dtype: str
    shape: tuple[int, ...]
    crc: int
    start: int
    nbytes: int


class Container(NamedTuple):
    """What is in a file."""

    content: Any  # as JSON gives it
    arrays: list[np.ndarray]
    size: int  # bytes


def write(file: BinaryIO, content: Any, arrays: Sequence[np.ndarray]) -> int:
    """Write a file; the number of its bytes."""
    if sys.byteorder != "little":
        raise CannotSave("model files are little endian, and this machine is not")
    arrays = [np.ascontiguousarray(array).reshape(np.shape(array)) for array in arrays]
    listed = [[dtype_name(array), list(array.shape), crc32(_bytes(array))] for array in arrays]
    text = json.dumps({"arrays": listed, "content": content}, separators=(",", ":"), allow_nan=False).encode()
    if len(text) > MAX_HEADER_BYTES:
        raise CannotSave(
            f"the labels, categories and settings of this model take {len(text) >> 20} MB as text, and a model file "
            f"holds at most {MAX_HEADER_BYTES >> 20} MB of them. Use fewer, or shorter ones"
        )
    places = _places(listed, len(text))
    size = places[-1].start + places[-1].nbytes if places else PREAMBLE.size + len(text)
    head = PREAMBLE.pack(MAGIC, FORMAT, len(text), size, crc32(text), 0)[:-4]
    file.write(head + crc32(head).to_bytes(4, "little") + text)
    at = PREAMBLE.size + len(text)
    for place, array in zip(places, arrays, strict=True):
        file.write(bytes(place.start - at))
        file.write(_bytes(array))
        at = place.start + place.nbytes
    return size


def dtype_name(array: np.ndarray) -> str:
    """What the format calls the type of an array."""
    name = array.dtype.str.lstrip("<|=")
    if name not in DTYPES:
        raise CannotSave(f"a model file holds no arrays of type {array.dtype}")
    return name


def _bytes(array: np.ndarray) -> memoryview:
    return memoryview(array.reshape(-1).view(np.uint8))  # type: ignore[arg-type]


def _places(listed: Sequence[Sequence[Any]], header: int) -> list[Place]:
    """Where the arrays are: one after the other, each at the next multiple of ALIGN."""
    places, at = [], PREAMBLE.size + header
    for name, shape, crc in listed:
        start = -(-at // ALIGN) * ALIGN
        nbytes = prod(shape) * DTYPES[name].itemsize
        places.append(Place(name, tuple(shape), crc, start, nbytes))
        at = start + nbytes
    return places


# ----------------------------------------------------------------------------------------------------------- reading


def read(path: str | os.PathLike[str], *, mapped: bool = False) -> Container:
    """Read a file and check every byte of it.

    With `mapped`, large arrays of float64 stay in the file and are neither read nor checked: the system fetches what is
    asked for. They may be written to; the file stays as it is.
    """
    if os.path.isdir(path):
        raise _is_folder(path)
    with open(path, "rb") as file:
        name = os.fspath(path)
        size = os.fstat(file.fileno()).st_size
        header_bytes, header_crc = _read_preamble(file, size, name)
        text = file.read(header_bytes)
        if len(text) < header_bytes:
            raise _truncated(name, size, PREAMBLE.size + header_bytes)
        if crc32(text) != header_crc:
            raise DamagedModelFile(f"{name}: the header is damaged: its checksum is wrong. {COPY_AGAIN}")
        content, places = _read_header(text, name)
        end = places[-1].start + places[-1].nbytes if places else PREAMBLE.size + header_bytes
        if end != size:
            raise DamagedModelFile(f"{name}: the header speaks of {end:,} bytes, and there are {size:,}. {COPY_AGAIN}")
        whole = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) if mapped else None
        arrays, at = [], PREAMBLE.size + header_bytes
        for number, place in enumerate(places):
            file.seek(at)
            if file.read(place.start - at).strip(b"\0"):
                raise DamagedModelFile(f"{name}: there is something between the arrays. {COPY_AGAIN}")
            arrays.append(_read_array(file, place, whole, f"{name}: array {number}"))
            at = place.start + place.nbytes
    return Container(content, arrays, size)


COPY_AGAIN = "Copy the file again, or go back to an older one"


def _read_preamble(file: BinaryIO, size: int, name: str) -> tuple[int, int]:
    """Bytes and checksum of the header."""
    head = file.read(PREAMBLE.size)
    if head[:8] != MAGIC[: len(head[:8])] or not head:
        raise _no_model(head, name)
    if len(head) < PREAMBLE.size:
        raise _truncated(name, len(head), PREAMBLE.size)
    _, version, header_bytes, file_bytes, header_crc, crc = PREAMBLE.unpack(head)
    if crc32(head[:-4]) != crc:
        raise DamagedModelFile(f"{name}: the first bytes are damaged: their checksum is wrong. {COPY_AGAIN}")
    if version > FORMAT:
        raise NewerModelFile(
            f"{name}: the format of this file is {version}, and this version of onlineboost reads up to {FORMAT}. "
            f"Install a newer one: pip install -U onlineboost"
        )
    if version < 1:
        raise DamagedModelFile(f"{name}: there is no format {version}")
    if header_bytes > MAX_HEADER_BYTES:
        raise TooLargeHeader(
            f"{name}: the header is said to have {header_bytes:,} bytes, and at most {MAX_HEADER_BYTES:,} are read. No "
            f"model needs as many: do not trust this file"
        )
    if size < file_bytes:
        raise _truncated(name, size, file_bytes)
    if size > file_bytes:
        raise DamagedModelFile(f"{name}: there are {size - file_bytes:,} bytes too many at the end. {COPY_AGAIN}")
    return header_bytes, header_crc


def _no_model(head: bytes, name: str) -> NotAModelFile | DamagedModelFile:
    if head[:4] == MAGIC[:4]:
        return DamagedModelFile(
            f"{name}: its line ends have been changed: it was copied as text. Copy it again, as a binary file"
        )
    hint = "its first bytes are not those of one" if head else "it is empty"
    if head[:1] == b"\x80" and head[1:2] in b"\x02\x03\x04\x05":
        hint = "it looks like a pickle. If you trust it, read it with pickle.load, which runs what is in it"
    return NotAModelFile(f"{name} is not a model file: {hint}")


def _truncated(name: str, there: int, wanted: int) -> TruncatedModelFile:
    return TruncatedModelFile(f"{name}: the file is cut off: {there:,} of {wanted:,} bytes are there. Copy it again")


def _read_header(text: bytes, name: str) -> tuple[Any, list[Place]]:
    try:
        header = json.loads(
            text.decode("utf-8"), object_pairs_hook=_object, parse_constant=_finite, parse_float=_finite
        )
        listed, content = header.pop("arrays"), header.pop("content")
        good = not header and isinstance(listed, list) and all(map(_is_listed, listed))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DamagedModelFile(f"{name}: the header is not as it should be ({error})") from None
    if not good:
        raise DamagedModelFile(f"{name}: the list of arrays is not as it should be")
    return content, _places(listed, len(text))


def _is_listed(given: Any) -> bool:
    """[type, shape, checksum] of an array that can be."""
    if not (isinstance(given, list) and len(given) == 3 and isinstance(given[0], str) and given[0] in DTYPES):
        return False
    _, shape, crc = given
    whole = [*shape, crc] if isinstance(shape, list) and len(shape) <= MAX_DIMENSIONS else [None]
    if not all(type(number) is int and 0 <= number < 1 << 62 for number in whole):
        return False
    return 0 < prod(shape) < 1 << 62 or max(shape) <= MAX_EMPTY_ROWS


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name is there twice")
    return found


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError(f"{text} is not a finite number")
    return number


def _read_array(file: BinaryIO, place: Place, whole: mmap.mmap | None, name: str) -> np.ndarray:
    """An array, whose bytes are known to be in the file."""
    dtype = DTYPES[place.dtype]
    try:
        if whole is not None and place.dtype == "f8" and place.nbytes >= MAPPED:
            own = memoryview(whole)[place.start : place.start + place.nbytes]  # of the file, this much is the array's
            return np.frombuffer(own, dtype).reshape(place.shape)
        array = np.empty(place.shape, dtype)
    except ValueError as error:  # a shape with a 0 in it may be too large all the same
        raise DamagedModelFile(f"{name} has an odd shape ({error})") from None
    data = _bytes(array)
    file.seek(place.start)
    got = file.readinto(data)  # type: ignore[attr-defined]
    if got < place.nbytes:
        raise _truncated(name, place.start + got, place.start + place.nbytes)
    if crc32(data) != place.crc:
        raise DamagedModelFile(f"{name} is damaged: its checksum is wrong. {COPY_AGAIN}")
    if place.dtype == "b1" and array.view(np.uint8).max(initial=0) > 1:
        raise DamagedModelFile(f"{name} holds something else than true and false")
    return array


# -------------------------------------------------------------------- a file that is replaced as a whole or not at all


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to that takes the place of `path` at the end.

    Whatever happens meanwhile (an error, a full disk, a program killed, a machine switched off), `path` is the old file
    or the new one. A link is followed; who may read the old file may read the new one.
    """
    target = Path(os.path.realpath(path))
    mode = _mode(target)
    part = target.parent / f".onlineboost-{secrets.token_hex(8)}.part"
    try:
        # Made by os.open, so that the system applies the user's mask: Python can only ask for it by changing it.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
        with open(os.open(part, flags, 0o666), "wb") as file:
            yield file
            file.flush()
            if mode is not None and hasattr(os, "fchmod"):
                with ignoring_the_system():
                    os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        os.replace(part, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            part.unlink()
        if isinstance(error, OSError) and error.errno is not None and error.filename in (None, str(part), part):
            raise type(error)(error.errno, error.strerror, str(path)) from None  # the name that the user knows
        raise
    with ignoring_the_system():  # have the names in the folder on disk, where a system can do that
        handle = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _is_folder(path: str | os.PathLike[str]) -> IsADirectoryError:
    return IsADirectoryError(errno.EISDIR, "it is a folder: name a file", os.fspath(path))


def _mode(target: Path) -> int | None:
    """Who may do what with the file that is there; None: there is none."""
    try:
        found = target.stat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found):
        raise _is_folder(target)
    if not stat.S_ISREG(found):  # os.replace would put a file in place of /dev/null
        raise OSError(errno.EINVAL, "it is a device or a pipe, not a file", str(target))
    return stat.S_IMODE(found)
