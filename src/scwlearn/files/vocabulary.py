"""Feature names and feature scales as parts of a model file."""

from __future__ import annotations

import json
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scwlearn._native import LARGEST_VALUE, Vocabulary
from scwlearn._util.json_fields import Count, check_label, shorten
from scwlearn.files.codec import BYTE, FLOAT64, INT64, ArrayReader, Arrays, check_range
from scwlearn.files.json_reader import InvalidModelFile, parse_json
from scwlearn.model.scale import COUNT, MEAN, VARIANCE, RunningScale

_KEY_TYPES: dict[str | None, type | None] = {"str": str, "int": int, None: None}
# Votes are kept in 31 bits.
_MAX_VOTES = 2**31 - 1

# Lines of a running scale: the number of rows, then variance, count and mean of each feature.
_MOMENTS = "moments"
# The largest count that a float64 holds without gaps.
_MOST_ROWS = 2**53 - 1


class StoredVocabulary(NamedTuple):
    """The JSON of a vocabulary: the type of its names, if there are any, and their number."""

    keys: Literal["str", "int", None]
    names: Count


def encode_vocabulary(vocabulary: Vocabulary, arrays: Arrays) -> StoredVocabulary:
    """Add the arrays to `arrays` and return the rest."""
    _, hashed, key_type, features, owners = vocabulary.__getstate__()
    if key_type not in _KEY_TYPES.values():
        raise TypeError(f"feature names of type {key_type.__name__} cannot be saved; use strings or integers")
    names = [name for _, name, _, _ in owners] if hashed else [*features]
    # Python strings may hold lone surrogates.
    text = json.dumps(names, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    arrays["names"] = np.frombuffer(text, dtype=np.uint8)
    if hashed:
        arrays["slots"] = np.array([slot for slot, _, _, _ in owners], dtype=np.int64)
        arrays["votes"] = np.array([votes for _, _, _, votes in owners], dtype=np.int64)
        arrays["shared"] = np.array([shared for _, _, shared, _ in owners], dtype=np.uint8)
    return StoredVocabulary(None if key_type is None else key_type.__name__, len(names))


def decode_vocabulary(
    stored: StoredVocabulary, path: str, arrays: ArrayReader, width: int, *, max_features: int | None, hashed: bool
) -> Vocabulary:
    """Return the vocabulary of a model with `width` features, bounded as its settings say."""
    key_type, count = _KEY_TYPES[stored.keys], stored.names
    if hashed and max_features != width:
        raise InvalidModelFile(f"{path}: {max_features} slots in a model of {width} features")
    features = _decode_names(arrays, key_type, count)
    capacity = width if max_features is None else min(width, max_features)
    if not hashed and count > capacity:
        raise InvalidModelFile(f"{path}: {count} names in a model of {capacity} features")
    owners = _decode_owners(arrays, [*features], width) if hashed else []
    vocabulary = Vocabulary.__new__(Vocabulary)
    try:
        vocabulary.__setstate__((max_features, hashed, key_type, {} if hashed else features, owners))
    except ValueError as error:  # a name that cannot be hashed
        raise InvalidModelFile(f"{path}: {error}") from None
    return vocabulary


def _decode_names(arrays: ArrayReader, key_type: type | None, count: int) -> dict[Any, int]:
    """Return distinct names of the right type, numbered in their order."""
    text = arrays.take("names", BYTE, (None,)).tobytes()
    try:
        names = parse_json(text.decode("utf-8", "surrogatepass"), "array 'names'")
    except UnicodeDecodeError as error:
        raise InvalidModelFile(f"array 'names': not UTF-8 (byte {error.start})") from None
    if not isinstance(names, list) or len(names) != count:
        raise InvalidModelFile(f"array 'names' must be a list of {count} names, got {shorten(names)}")
    # An integer key with a string value makes a string name.
    allowed: set[type] = {str} if key_type is str else {int, str} if key_type is int else set()
    try:
        for name in names:
            check_label(name)
    except ValueError as error:
        raise InvalidModelFile(f"array 'names': {error}") from None
    features = {} if {*map(type, names)} - allowed else dict(zip(names, range(count), strict=True))
    if len(features) < count:
        expected = "empty" if key_type is None else f"distinct names of type {key_type.__name__}"
        raise InvalidModelFile(f"array 'names' must be {expected}, got {shorten(names)}")
    return features


def _decode_owners(arrays: ArrayReader, names: list[Any], width: int) -> list[tuple[int, Any, bool, int]]:
    """Return slot, name, whether names share the slot, and votes of each owner of a slot."""
    shape = (len(names),)
    slots, votes = arrays.take("slots", INT64, shape), arrays.take("votes", INT64, shape)
    shared = arrays.take("shared", BYTE, shape)
    check_range("slots", slots, 0, width - 1, f"slot must be an integer from 0 to {width - 1}")
    check_range("votes", votes, 0, _MAX_VOTES, f"vote count must be an integer from 0 to {_MAX_VOTES}")
    check_range("shared", shared, 0, 1, "flag must be 0 or 1")
    if len({*slots.tolist()}) < len(slots):
        raise InvalidModelFile("array 'slots' has duplicate slots")
    return [*zip(slots.tolist(), names, map(bool, shared.tolist()), votes.tolist(), strict=True)]


def encode_scale(scale: RunningScale, arrays: Arrays) -> bool:
    """Add the state, without what is derived from the rest of it; return whether there is any."""
    if scale.state is None:
        return False
    lines = scale.state.copy()
    lines[0, 1:] = 0.0
    arrays[_MOMENTS] = lines
    return True


def decode_scale(scale: RunningScale, arrays: ArrayReader, width: int | None) -> None:
    """Restore the state of a scale."""
    if scale.kind != "standard" and "scale" in arrays:
        lines = _from_sizes(arrays.take("scale", FLOAT64, (width, 2)))
    else:
        lines = arrays.take(_MOMENTS, FLOAT64, (None if width is None else width + 1, 3))
    if not len(lines):
        raise InvalidModelFile(f"array {_MOMENTS!r} must have a first line, with the number of rows")
    features, most, squared = slice(1, None), LARGEST_VALUE, 4 * LARGEST_VALUE**2
    check_range(_MOMENTS, lines, 0, _MOST_ROWS, f"number of rows must be from 0 to {_MOST_ROWS}", 0, 0)
    check_range(_MOMENTS, lines, 0, 0, "the first line must be 0 after the number of rows", 0, features)
    check_range(_MOMENTS, lines, 0, squared, f"variance must be a number from 0 to {squared:g}", features, VARIANCE)
    rows = float(lines[0, 0])
    check_range(_MOMENTS, lines, 0, rows, f"count must be from 0 to the number of rows, {rows:g}", features, COUNT)
    check_range(_MOMENTS, lines, -most, most, f"mean must be a number from {-most:g} to {most:g}", features, MEAN)
    scale.start(len(lines) - 1)
    scale.arrays[0][:] = lines
    scale.list_dense()


def _from_sizes(sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Convert the root mean squares and counts that early files of format 1 hold."""
    check_range("scale", sizes, 0, LARGEST_VALUE, f"scale must be a number from 0 to {LARGEST_VALUE:g}", slice(None), 0)
    check_range("scale", sizes, 0, _MOST_ROWS, f"count must be a number from 0 to {_MOST_ROWS}", slice(None), 1)
    lines = np.zeros((len(sizes) + 1, 3))
    lines[0, 0] = sizes[:, 1].max(initial=0.0)
    lines[1:, VARIANCE], lines[1:, COUNT] = sizes[:, 0] ** 2, sizes[:, 1]
    return lines
