"""Feature names and feature scales as parts of a model file."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from scwlearn._native import Vocabulary
from scwlearn.files.codec import BYTE, FLOAT64, INT64, LARGEST, ArrayReader, Arrays, check_range
from scwlearn.files.json_reader import InvalidModelFile, JsonObject, parse_json, shorten

_KEY_TYPES: dict[str | None, type | None] = {"str": str, "int": int, None: None}
# Votes are kept in 31 bits.
_MAX_VOTES = 2**31 - 1


def encode_vocabulary(vocabulary: Vocabulary, arrays: Arrays) -> dict[str, Any]:
    """Add the arrays to `arrays` and return the JSON metadata."""
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
    return {
        "keys": None if key_type is None else key_type.__name__,
        "names": len(names),
    }


def decode_vocabulary(
    fields: JsonObject, arrays: ArrayReader, width: int, *, max_features: int | None, hashed: bool
) -> Vocabulary:
    """Return the vocabulary of a model with `width` features, bounded as its settings say."""
    key_type = _KEY_TYPES[fields.choice("keys", tuple(_KEY_TYPES))]
    count = fields.integer("names")
    fields.finish()
    if hashed and max_features != width:
        raise InvalidModelFile(f"{fields.path}: {max_features} slots in a model of {width} features")
    features = _decode_names(arrays, key_type, count)
    capacity = width if max_features is None else min(width, max_features)
    if not hashed and count > capacity:
        raise InvalidModelFile(f"{fields.path}: {count} names in a model of {capacity} features")
    owners = _decode_owners(arrays, [*features], width) if hashed else []
    vocabulary = Vocabulary.__new__(Vocabulary)
    try:
        vocabulary.__setstate__((max_features, hashed, key_type, {} if hashed else features, owners))
    except ValueError as error:  # a name that cannot be hashed
        raise InvalidModelFile(f"{fields.path}: {error}") from None
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


def decode_scale(arrays: ArrayReader, width: int | None) -> Any:
    """Return scale and count of each feature."""
    state = arrays.take("scale", FLOAT64, (width, 2))
    check_range("scale", state, 0, LARGEST, "scale or count must be a finite number >= 0")
    return state
