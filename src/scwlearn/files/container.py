"""A file of arrays in the safetensors format, with a checksum over all of it.

    8 bytes            the length of the header, little-endian
    the header         JSON: {"__metadata__": {..}, "name": {"dtype", "shape", "data_offsets"}, ..}, padded with spaces
    the arrays         one after the other, without gaps

The metadata begins as _BEGINNING says, in this format and in all to come, so that a file of a newer one can be told
from a damaged one. The checksum is the SHA-256 of the file with zeros in the place of its own 64 digits.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import stat
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, NamedTuple, NoReturn

import numpy as np
from numpy.typing import DTypeLike, NDArray

from scwlearn import __version__
from scwlearn._util.atomic import Path, atomic_file
from scwlearn.files.document import Document, Refused, from_json, is_whole, shown, to_json

#: The one that this code writes, and the newest that it reads.
FORMAT = 1

Array = NDArray[Any]
Arrays = Mapping[str, Array]

DTYPES: dict[str, DTypeLike] = {"F64": "<f8", "I64": "<i8", "I32": "<i4", "U8": "u1"}

_NO_CHECKSUM = b"0" * 64
_BEGINNING = re.compile(
    rb'\{"__metadata__":\{"format":"scwlearn","version":"(\d{1,9})","library":"([0-9A-Za-z.+-]{1,64})",'
    rb'"checksum":"([0-9a-f]{64})",'
)
# Longer ones are refused by the safetensors library, too.
_LONGEST_HEADER = 100_000_000
_LONGEST_BEGINNING = 512
# Some of them may be long though another is 0.
_MOST_DIMENSIONS, _LONGEST_DIMENSION = 3, 2**40
# Written and read so many bytes at a time.
_PIECE = 2**22
# Bytes of a cache line: the native loops are faster where an array begins with one.
_LINE = 64


class Contents(NamedTuple):
    """What a file holds: its text, its arrays, and the version of the library that wrote it."""

    text: str
    arrays: dict[str, Array]
    library: str


def write_container(path: Path, text: str, arrays: Arrays) -> None:
    """Write a file as a whole. What is summed up is what is written, piece by piece; no array is copied as a whole."""
    # The wider come first, so that each is aligned.
    ordered = sorted(arrays.items(), key=lambda item: -item[1].itemsize)
    head = _head(text, ordered)
    checksum = hashlib.sha256()
    with atomic_file(path) as file:
        for piece in _pieces(head, ordered):
            checksum.update(piece)
            file.write(piece)
        file.seek(head.index(_NO_CHECKSUM))
        file.write(checksum.hexdigest().encode())


def _head(text: str, arrays: list[tuple[str, Array]]) -> bytes:
    names = {np.dtype(dtype): name for name, dtype in DTYPES.items()}
    metadata = {
        "format": "scwlearn",
        "version": str(FORMAT),
        "library": __version__,
        "checksum": _NO_CHECKSUM.decode(),
        "model": text,
    }
    fields: dict[str, object] = {"__metadata__": metadata}
    start = 0
    for name, array in arrays:
        end = start + array.nbytes
        fields[name] = {"dtype": names[array.dtype], "shape": [*array.shape], "data_offsets": [start, end]}
        start = end
    header = to_json(fields).encode()
    header += b" " * (-len(header) % 8)
    if len(header) > _LONGEST_HEADER:
        raise ValueError(f"all but the arrays of this model takes {len(header)} bytes; a file has room for 100 million")
    return len(header).to_bytes(8, "little") + header


def _pieces(head: bytes, arrays: list[tuple[str, Array]]) -> Iterator[bytes]:
    yield head
    for _, array in arrays:
        flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        for start in range(0, len(flat), _PIECE):
            yield flat[start : start + _PIECE].tobytes()


def read_container(path: Path) -> Contents:
    """What a file holds, once its checksum is right. Nothing larger than the file is asked for."""
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        # Before it is opened, which might wait for ever.
        raise Refused("is not a regular file, as a model file is")
    with open(path, "rb") as file:
        before = os.fstat(file.fileno())
        size = before.st_size
        library = _check(file, size)
        header, data = _header(file, size)
        metadata = Document(header.pop("__metadata__", None), "__metadata__")
        for name in ("format", "version", "library", "checksum"):
            metadata.text(name)
        text = metadata.text("model")
        metadata.end()
        arrays = _arrays(file, header, data, size - data)
        after = os.fstat(file.fileno())
        if (after.st_mtime_ns, after.st_size) != (before.st_mtime_ns, before.st_size):
            # The checksum may be that of something else.
            raise Refused("has changed while it was read")
        return Contents(text, arrays, library)


def _check(file: BinaryIO, size: int) -> str:
    """The version of the library that wrote a file, if this is one, whole, and not too new."""
    beginning = file.read(_LONGEST_BEGINNING)
    found = _BEGINNING.match(beginning, 8)
    if not found:
        _refuse_beginning(beginning)
    version, library, checksum = (part.decode() for part in found.groups())
    summed = hashlib.sha256(beginning[: found.start(3)] + _NO_CHECKSUM + beginning[found.end(3) :])
    while piece := file.read(_PIECE):
        summed.update(piece)
    if summed.hexdigest() != checksum:
        _refuse_damaged(file, size)
    if int(version) > FORMAT:
        raise Refused(
            f"was written in format {version} by scwlearn {library}; this one, {__version__}, reads up to {FORMAT}: "
            "update scwlearn"
        )
    if int(version) != FORMAT:
        raise Refused(f"says that it is in format {version}, which there never was")
    return library


def _refuse_beginning(beginning: bytes) -> NoReturn:
    if not beginning:
        raise Refused("is empty; a model file is expected")
    if b'"format":"scwlearn"' in beginning:
        raise Refused("is damaged: it does not begin as a model file does")
    raise Refused("is not a model file of scwlearn")


def _refuse_damaged(file: BinaryIO, size: int) -> NoReturn:
    """Say more of a file with a wrong checksum if its own header knows how long it should be."""
    try:
        header, data = _header(file, size)
        length = data + max((entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"))
    except (Refused, LookupError, TypeError, ValueError):
        length = size
    if is_whole(length) and length > size:
        raise Refused(f"is cut short: it has {size} bytes of {length}")
    if is_whole(length) and length < size:
        raise Refused(f"is damaged: it has {size} bytes, of which {size - length} do not belong to it")
    raise Refused("is damaged: its checksum is not that of its content")


def _header(file: BinaryIO, size: int) -> tuple[dict[str, Any], int]:
    """The header, and where the arrays begin."""
    file.seek(0)
    length = int.from_bytes(file.read(8), "little")
    if length > min(_LONGEST_HEADER, size - 8):
        raise Refused(f"has a header of {length} bytes; at most {min(_LONGEST_HEADER, size - 8)} are possible")
    try:
        text = file.read(length).decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused(f"has a header that is not UTF-8 (byte {error.start})") from None
    header = from_json(text, "the header")
    if not isinstance(header, dict):
        raise Refused(f"has a header that must be an object, got {shown(header)}")
    return header, 8 + length


def _arrays(file: BinaryIO, header: dict[str, Any], data: int, size: int) -> dict[str, Array]:
    file.seek(data)
    arrays, end = {}, 0
    for name, entry in header.items():
        shape, dtype, end = _described(name, entry, end, size)
        arrays[name] = _read_array(file, name, shape, dtype)
    if end != size:
        raise Refused(f"has {size} bytes of arrays, of which the header knows {end}")
    return arrays


def _described(name: str, entry: Any, start: int, size: int) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    """The shape and the type of an array that begins at that byte, and where it ends."""
    fields = Document(entry, f"array {shown(name)}")
    dtype = np.dtype(DTYPES[fields.one_of("dtype", tuple(DTYPES))])
    shape, offsets = fields.wholes("shape"), fields.wholes("data_offsets", 2)
    fields.end()
    if len(shape) > _MOST_DIMENSIONS or max(shape, default=0) > _LONGEST_DIMENSION:
        raise Refused(f"{fields.what} has a shape that is too large: {shown(shape)}")
    # Whole numbers of Python's, which do not overflow.
    end = start + dtype.itemsize * math.prod(shape)
    if offsets != [start, end]:
        raise Refused(f"{fields.what} of shape {shape} must lie at the bytes {[start, end]}, got {offsets}")
    if end > size:
        raise Refused(f"{fields.what} ends at byte {end} of {size}")
    return tuple(shape), dtype, end


def _read_array(file: BinaryIO, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """An array in memory of its own, which can be written to and begins with a cache line."""
    count = dtype.itemsize * math.prod(shape)
    room = np.empty(count + _LINE, dtype=np.uint8)
    first = -room.ctypes.data % _LINE
    part = room[first : first + count]
    left = part.data
    while left and (got := file.readinto(left)):  # type: ignore[attr-defined]
        left = left[got:]
    if left:
        raise Refused(f"has changed while it was read: array {name!r} ends early")
    return part.view(dtype).reshape(shape)
