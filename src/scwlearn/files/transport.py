"""Models as bytes, to send them between processes: whole, or as what has changed since a model that both sides have.

Unlike a file, they have no checksum: they live no longer than the connection that carries them, which has its own.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scwlearn._util.json_fields import Count
from scwlearn._util.locks import unchanged
from scwlearn.files import safetensors
from scwlearn.files.json_reader import InvalidModelFile, dump_json, parse_json, read_fields
from scwlearn.files.saved_model import SavedModel, decode, encode

Array = NDArray[Any]

# Suffix of the name of an array of places.
_PLACES = "@"
# Starts an array at a cache line.
_CACHE_LINE = 64
# An array is sent whole if more than the first fraction of it has changed, or more than the second of a sample: every
# 61st number.
_MOST_CHANGED, _SURELY_CHANGED, _SAMPLED = 0.5, 0.75, 61


class _Metadata(NamedTuple):
    """The metadata of the header: the JSON of the model, and of the shapes of the arrays that are sent in part."""

    model: str
    changed: str


def pack(saved: SavedModel, base: bytes | None = None) -> bytes:
    """Return a model as bytes; with `base`, a packed model, only what differs from it.

    Parameters
    ----------
    saved : SavedModel
        The model.
    base : bytes, optional
        A whole model, as this function returns it without a base.

    Returns
    -------
    bytes
        What `unpack` turns into the same model, to the last bit.

    Examples
    --------
    >>> from copy import copy
    >>> from scwlearn import Learner
    >>> from scwlearn.files import SavedModel
    >>> from scwlearn.files.transport import pack, unpack
    >>> learner = Learner("arow", covariance="diagonal")
    >>> _ = learner.learn([[1.0] * 10_000], [1])
    >>> before = pack(SavedModel.from_model(learner))
    >>> _ = learner.learn_one([1.0] + [0.0] * 9_999, -1)
    >>> change = pack(SavedModel.from_model(learner), before)
    >>> len(before) > 160_000, len(change) < 3_000
    (True, True)
    >>> unpack(change, before).learner.model.weights()[0, :2] == learner.model.weights()[0, :2]
    array([ True,  True])
    """
    with unchanged([saved.learner]):
        return _pack(saved, base)


def _pack(saved: SavedModel, base: bytes | None) -> bytes:
    metadata, arrays = encode(saved)
    text = dump_json(metadata)
    shapes: dict[str, list[int]] = {}
    sent: dict[str, Array] = dict(arrays)
    known = {} if base is None else safetensors.view(base)[1]
    for name, array in arrays.items():
        difference = _difference(array, known.get(name))
        if difference is not None:
            sent[name + _PLACES], sent[name] = difference
            shapes[name] = [*array.shape]
    return b"".join(safetensors.encode(_Metadata(text, dump_json(shapes))._asdict(), sent))


def unpack(packed: bytes, base: bytes | None = None, *, copy: bool = True) -> SavedModel:
    """Return the model that was packed, with the same base; without `copy`, it may be read-only.

    Raises InvalidModelFile if the bytes are no packed model, or belong to another base.
    """
    metadata, arrays = safetensors.view(packed)
    text, changed = read_fields(_Metadata, metadata, "packed model")
    shapes = read_fields(dict[str, list[Count]], parse_json(changed, "changed"), "changed")
    known = {} if base is None else safetensors.view(base)[1]
    whole = {
        name: _restored(name, known, arrays, shapes[name]) if name in shapes else _copied(array) if copy else array
        for name, array in arrays.items()
        if not name.endswith(_PLACES)
    }
    return decode(parse_json(text, "model"), whole)


def _empty(size: int, dtype: np.dtype[Any]) -> Array:
    """Return an array that starts at a cache line."""
    memory = np.empty(size * dtype.itemsize + _CACHE_LINE, dtype=np.uint8)
    first = -memory.ctypes.data % _CACHE_LINE
    return memory[first : first + size * dtype.itemsize].view(dtype)


def _copied(array: Array) -> Array:
    copied = _empty(array.size, array.dtype)
    copied[:] = array.reshape(-1)
    return copied.reshape(array.shape)


def _difference(array: Array, known: Array | None) -> tuple[Array, Array] | None:
    """Return the places that differ, and the values there and beyond the end of the known array; None if too many."""
    if known is None or known.dtype != array.dtype or array.size < known.size or not known.size:
        return None
    bits = f"u{array.itemsize}"
    now, before = np.ascontiguousarray(array).reshape(-1), known.reshape(-1)
    own, others = now[: len(before)].view(bits), before.view(bits)
    # Most models that are sent whole are recognized by a sample.
    if np.mean(own[::_SAMPLED] != others[::_SAMPLED]) > _SURELY_CHANGED:
        return None
    places = np.flatnonzero(own != others)
    if len(places) + len(now) - len(before) > _MOST_CHANGED * len(now):
        return None
    small = places.astype(np.int32 if len(before) < 2**31 else np.int64)
    return small, np.concatenate([now[places], now[len(before) :]])


def _restored(name: str, known: dict[str, Array], arrays: dict[str, Array], shape: list[int]) -> Array:
    places, values, before = arrays.get(name + _PLACES), arrays[name], known.get(name)
    if places is None or places.dtype.kind != "i" or places.ndim != 1 or values.ndim != 1:
        raise InvalidModelFile(f"array {name!r} is no difference")
    if before is None or before.dtype != values.dtype or math.prod(shape) < before.size:
        raise InvalidModelFile(f"the difference of array {name!r} belongs to another model")
    size, first = math.prod(shape), len(places)
    if len(values) != first + size - before.size or (places >= before.size).any() or (places < 0).any():
        raise InvalidModelFile(f"the difference of array {name!r} does not fit the model")
    flat = _empty(size, before.dtype)
    flat[: before.size] = before.reshape(-1)
    flat[places] = values[:first]
    flat[before.size :] = values[first:]
    return flat.reshape(shape)
