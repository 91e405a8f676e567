"""Names of features as arrays of a file, and the scales of features."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from scwlearn._native import Vocabulary
from scwlearn.files.document import Document, Refused, from_json, shown
from scwlearn.files.gaussians import BYTE, FLOAT, WHOLE, Array, Arrays
from scwlearn.files.values import Tensors
from scwlearn.model.vocabulary import OVERFLOWS, checked_bound

# What keys may be, by what a file calls them.
_KEYS: dict[str | None, type | None] = {"str": str, "int": int, None: None}
# One vote takes 31 bits.
_MOST_VOTES = 2**31 - 1


def vocabulary_to_parts(vocabulary: Vocabulary, arrays: Arrays) -> dict[str, Any]:
    """What stands in the text, once the arrays are there."""
    most, hashed, key_type, features, owners = vocabulary.__getstate__()
    if key_type not in _KEYS.values():
        raise TypeError(
            f"the features have keys of type {key_type.__name__}, which cannot be saved; strings and whole numbers can"
        )
    names = [name for _, name, _, _ in owners] if hashed else [*features]
    # A list as JSON has it: names are strings, or whole numbers and strings. Python's strings need not be proper text.
    text = json.dumps(names, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    arrays["names"] = np.frombuffer(text, dtype=np.uint8)
    if hashed:
        arrays["slots"] = np.array([slot for slot, _, _, _ in owners], dtype=np.int64)
        arrays["votes"] = np.array([votes for _, _, _, votes in owners], dtype=np.int64)
        arrays["shared"] = np.array([shared for _, _, shared, _ in owners], dtype=np.uint8)
    return {
        "keys": None if key_type is None else key_type.__name__,
        "max_features": most,
        "overflow": OVERFLOWS[hashed],
        "names": len(names),
    }


def vocabulary_from_parts(fields: Document, tensors: Tensors, width: int) -> Vocabulary:
    """The names of a model with room for so many features."""
    key_type = _KEYS[fields.one_of("keys", tuple(_KEYS))]
    most, overflow = fields.whole_or_none("max_features"), fields.one_of("overflow", OVERFLOWS)
    count = fields.whole("names")
    fields.end()
    try:
        checked_bound(most, overflow)
    except (TypeError, ValueError) as error:
        raise Refused(f"{fields.what}: {error}") from None
    hashed = overflow == "hash" and most is not None
    if hashed and most != width:
        raise Refused(f"{fields.what}: {most} slots do not fit a model of {width} features")
    features = _features(tensors, key_type, count)
    owners: list[tuple[int, Any, bool, int]] = []
    room = width if most is None else min(width, most)
    if hashed:
        owners, features = _owners(tensors, [*features], width), {}
    elif count > room:
        raise Refused(f"{fields.what} has {count} names where there is room for {room}")
    vocabulary = Vocabulary.__new__(Vocabulary)
    try:
        vocabulary.__setstate__((most, hashed, key_type, features, owners))
    except ValueError as error:  # a name that has no text to hash
        raise Refused(f"{fields.what}: {error}") from None
    return vocabulary


def _features(tensors: Tensors, key_type: type | None, count: int) -> dict[Any, int]:
    """The names, numbered in their order."""
    text = tensors.take("names", BYTE, (None,)).tobytes()
    try:
        names = from_json(text.decode("utf-8", "surrogatepass"), "array 'names'")
    except UnicodeDecodeError as error:
        raise Refused(f"array 'names' is not UTF-8 (byte {error.start})") from None
    if not isinstance(names, list) or len(names) != count:
        raise Refused(f"array 'names' must hold a list of {count} names, got {shown(names)}")
    # A whole number that has a word as its value makes a string.
    allowed: set[type] = {str} if key_type is str else {int, str} if key_type is int else set()
    features = {} if {*map(type, names)} - allowed else dict(zip(names, range(count), strict=True))
    if len(features) < count:
        expected = "no names" if key_type is None else f"names of type {key_type.__name__}, each once"
        raise Refused(f"array 'names' must hold {expected}")
    return features


def _owners(tensors: Tensors, names: list[Any], width: int) -> list[tuple[int, Any, bool, int]]:
    """Who holds which slot."""
    shape = (len(names),)
    slots, votes = tensors.take("slots", WHOLE, shape), tensors.take("votes", WHOLE, shape)
    shared = tensors.take("shared", BYTE, shape)
    if len(names) and not (slots.min() >= 0 and slots.max() < width and len(np.unique(slots)) == len(slots)):
        raise Refused(f"array 'slots' must hold numbers below {width}, each once")
    if len(names) and not (votes.min() >= 0 and votes.max() <= _MOST_VOTES and shared.max() <= 1):
        raise Refused("arrays 'votes' and 'shared' must hold counts, and 0 or 1")
    return [*zip(slots.tolist(), names, map(bool, shared.tolist()), votes.tolist(), strict=True)]


def scale_from_parts(tensors: Tensors, width: int | None) -> Array:
    """The scale and the count of each feature."""
    state: Array = tensors.take("scale", FLOAT, (width, 2))
    if state.size and not (state.min() >= 0 and state.max() < np.inf):
        raise Refused("array 'scale' holds a scale or a count that is negative or not finite")
    return state
