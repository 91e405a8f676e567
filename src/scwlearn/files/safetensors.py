"""Codec of the safetensors format that takes every file as hostile.

8 bytes    length of the header, little-endian
header     JSON: {"__metadata__": {..}, name: {"dtype", "shape", "data_offsets"}, ..}, padded with spaces
data       the arrays, one after the other without gaps
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Mapping
from mmap import mmap
from typing import Annotated, Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scwlearn._util.json_fields import MAX_COUNT, Count, OneOf, shorten
from scwlearn.files.json_reader import InvalidModelFile, dump_json, parse_json, read_fields

Array = NDArray[Any]
Arrays = Mapping[str, Array]
#: Bytes in memory, in a file that is mapped, or as an array.
Buffer = bytes | mmap | Array

_METADATA = "__metadata__"
_DTYPES = {
    name: np.dtype(code)
    for name, code in {
        "F64": "<f8", "F32": "<f4", "F16": "<f2",
        "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "U8": "u1",
    }.items()
}  # fmt: skip
_DTYPE_NAMES = {dtype: name for name, dtype in _DTYPES.items()}
# The safetensors library has the same limit.
_MAX_HEADER_BYTES = 100_000_000
_MAX_DIMENSIONS = 3
# Fits the cache of a core until a chunk has been copied, added to a checksum and written.
_CHUNK_BYTES = 2**19
# The native loops are faster on arrays that start at a cache line.
_CACHE_LINE = 64


def encode(metadata: Mapping[str, str], arrays: Arrays) -> Iterator[bytes | memoryview]:
    """Yield a file in chunks: first the length and the header, then the data, as views of the arrays."""
    # Wider types come first, so that every array is aligned.
    ordered = sorted(arrays.items(), key=lambda item: -item[1].itemsize)
    header: dict[str, Any] = {_METADATA: dict(metadata)}
    start = 0
    for name, array in ordered:
        end = start + array.nbytes
        header[name] = {"dtype": _DTYPE_NAMES[array.dtype], "shape": [*array.shape], "data_offsets": [start, end]}
        start = end
    text = dump_json(header).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > _MAX_HEADER_BYTES:
        raise ValueError(f"the header would take {len(text)} bytes; safetensors allows {_MAX_HEADER_BYTES}")
    yield len(text).to_bytes(8, "little") + text
    for _, array in ordered:
        flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        for at in range(0, len(flat), _CHUNK_BYTES):
            yield flat[at : at + _CHUNK_BYTES].data


def decode(file: BinaryIO, size: int) -> tuple[Any, dict[str, Array]]:
    """Read the metadata, unchecked, and the arrays of a file of `size` bytes; allocate no more than that."""
    metadata, entries, data_start, names = _contents(file, size)
    file.seek(data_start)
    arrays = {entry.name: _read_array(file, entry) for entry in entries}
    return metadata, {name: arrays[name] for name in names}


def view(content: Buffer) -> tuple[Any, dict[str, Array]]:
    """Return the metadata, unchecked, and the arrays of a file in memory, read-only and without copying them."""
    header = 8 + int.from_bytes(content[:8], "little")
    metadata, entries, data_start, _ = _contents(io.BytesIO(bytes(content[:header])), len(content))
    arrays = {}
    for entry in entries:
        count = math.prod(entry.shape)
        arrays[entry.name] = np.frombuffer(content, entry.dtype, count, data_start + entry.offsets[0])
        arrays[entry.name] = arrays[entry.name].reshape(entry.shape)
    return metadata, arrays


def _contents(file: BinaryIO, size: int) -> tuple[Any, list[_Entry], int, list[str]]:
    """Return the metadata, the arrays in the order of their data, where data begins, and the names of the arrays."""
    header, data_start = read_header(file, size)
    metadata = header.pop(_METADATA, {})
    # Data may be stored in another order than the header's.
    entries = sorted((_entry(name, fields) for name, fields in header.items()), key=lambda entry: entry.offsets)
    end = 0
    for entry in entries:
        if entry.offsets[0] != end:
            raise InvalidModelFile(f"array {shorten(entry.name)} starts at byte {entry.offsets[0]}, expected {end}")
        end = entry.offsets[1]
    if end != size - data_start:
        raise InvalidModelFile(f"{size - data_start} bytes of array data, but the header describes {end}")
    return metadata, entries, data_start, [*header]


def described_size(file: BinaryIO, size: int) -> int:
    """Return the size of the file according to its header, or `size` if the header is unreadable."""
    try:
        header, data_start = read_header(file, size)
        entries = [_entry(name, fields) for name, fields in header.items() if name != _METADATA]
        return data_start + max(entry.offsets[1] for entry in entries)
    except ValueError:
        return size


def read_header(file: BinaryIO, size: int) -> tuple[dict[str, Any], int]:
    """Return the header and the offset of the data."""
    file.seek(0)
    length, available = int.from_bytes(file.read(8), "little"), min(_MAX_HEADER_BYTES, size - 8)
    if length > available:
        raise InvalidModelFile(f"header length of {length} bytes, but at most {max(0, available)} are possible")
    try:
        text = file.read(length).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidModelFile(f"header: not UTF-8 (byte {error.start})") from None
    header = parse_json(text, "header")
    if not isinstance(header, dict):
        raise InvalidModelFile(f"header must be an object, got {shorten(header)}")
    return header, 8 + length


class _StoredEntry(NamedTuple):
    """The JSON of an array in the header."""

    dtype: Annotated[str, OneOf(tuple(_DTYPES))]
    shape: list[Count]
    data_offsets: tuple[Count, Count]


class _Entry(NamedTuple):
    """What the header says of an array."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    offsets: tuple[int, int]


def _entry(name: str, value: Any) -> _Entry:
    path = f"array {shorten(name)}"
    stored = read_fields(_StoredEntry, value, path)
    dtype, shape, (start, end) = _DTYPES[stored.dtype], stored.shape, stored.data_offsets
    # NumPy refuses shapes whose sizes multiply to more than it can address, even next to a 0.
    if len(shape) > _MAX_DIMENSIONS or dtype.itemsize * math.prod(length or 1 for length in shape) > MAX_COUNT:
        raise InvalidModelFile(f"{path} is too large: shape {shorten(shape)}")
    if end - start != dtype.itemsize * math.prod(shape):
        raise InvalidModelFile(f"{path}: shape {shape} does not match data_offsets {[start, end]}")
    return _Entry(name, dtype, tuple(shape), (start, end))


def _read_array(file: BinaryIO, entry: _Entry) -> Array:
    """Read an array into writable memory that starts at a cache line."""
    count = entry.offsets[1] - entry.offsets[0]
    buffer = np.empty(count + _CACHE_LINE, dtype=np.uint8)
    first = -buffer.ctypes.data % _CACHE_LINE
    data = buffer[first : first + count]
    left = data.data
    while left and (got := file.readinto(left)):  # type: ignore[attr-defined]
        left = left[got:]
    if left:
        raise InvalidModelFile(f"array {shorten(entry.name)} ends early: the file changed while it was read")
    return data.view(entry.dtype).reshape(entry.shape)
