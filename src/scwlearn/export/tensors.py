"""Weights as plain safetensors: coef, intercept and variance, with all that is no array as JSON in the metadata."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn.export.checking import checked_weights
from scwlearn.export.weights import Weights
from scwlearn.files.json_reader import parse_json as from_json

# Numbers as others may have written them.
_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "U8": "u1"}
_LONGEST_HEADER = 100_000_000


def to_safetensors(weights: Weights) -> bytes:
    """The arrays, and the rest as texts of JSON by the names of their fields."""
    told = asdict(weights)
    arrays = {name: np.asarray(value, "<f8") for name, value in told.items() if isinstance(value, np.ndarray)}
    rest = {name: json.dumps(value) for name, value in told.items() if value is not None and name not in arrays}
    header: dict[str, Any] = {"__metadata__": {"format": "scwlearn weights", "version": "1", **rest}}
    start = 0
    for name, array in arrays.items():
        offsets = [start, start + array.nbytes]
        header[name] = {"dtype": "F64", "shape": [*array.shape], "data_offsets": offsets}
        start += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return b"".join([len(text).to_bytes(8, "little"), text, *(array.tobytes() for array in arrays.values())])


def from_safetensors(content: bytes, where: str) -> Weights:
    """What `to_safetensors` writes, or the coef_, intercept_ and classes_ of a scikit-learn model.

    Classes that are no numbers stand in the metadata, as a list in JSON.
    """
    header, data = _header(content, where)
    metadata = header.pop("__metadata__", {})
    told: dict[str, Any] = {}
    for name, value in metadata.items() if isinstance(metadata, dict) else ():
        try:
            told[name] = from_json(value, name)
        except (TypeError, ValueError):
            continue
    for name, entry in header.items():
        array = _array(name, entry, data, where)
        told[name] = array.tolist() if name.removesuffix("_") == "classes" else array
    return checked_weights(told, where)


def _header(content: bytes, where: str) -> tuple[dict[str, Any], memoryview]:
    length = int.from_bytes(content[:8], "little")
    if len(content) < 8 or length > min(len(content) - 8, _LONGEST_HEADER):
        raise ValueError(f"{where} is no safetensors file: it is too short for its header")
    try:
        header = from_json(content[8 : 8 + length].decode(), "its header")
    except ValueError as error:
        raise ValueError(f"{where} is no safetensors file: {error}") from None
    if not isinstance(header, dict):
        raise ValueError(f"{where} is no safetensors file: its header is no object")
    return header, memoryview(content)[8 + length :]


def _array(name: str, entry: Any, data: memoryview, where: str) -> NDArray[Any]:
    try:
        kind, shape, (begin, end) = entry["dtype"], [*entry["shape"]], entry["data_offsets"]
        whole = all(type(number) is int and number >= 0 for number in (*shape, begin, end))
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"{where}: the header does not say where {name!r} is") from None
    if kind not in _DTYPES:
        raise ValueError(f"{where}: {name!r} is of type {kind!r}; {', '.join(_DTYPES)} can be read")
    dtype = np.dtype(_DTYPES[kind])
    size = dtype.itemsize
    for length in shape if whole else ():
        size *= length
    if not whole or not begin <= end <= len(data) or end - begin != size:
        raise ValueError(f"{where}: {name!r} does not lie in the file as its header says")
    return np.frombuffer(data[begin:end], dtype=dtype).reshape(shape)
