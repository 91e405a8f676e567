"""Forged files: model files taken apart, and random changes of their fields and arrays, as an attacker would make them.

Written from the description of the format, without the code that reads it.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from copy import deepcopy
from random import Random
from typing import Any, NamedTuple

#: Values that a field may be replaced with, of every JSON type.
VALUES: list[Any] = [
    *(None, True, False),
    *(-1, 0, 1, 2, 3, 7, 16, 2**31 - 1, 2**31, 2**53, 2**53 + 1, 2**63, -(2**63), 2**200, 10**400),
    *(0.5, -0.0, 1.0, -1.5, 5e-324, 1e-300, 1e100, 1e308, -1e308),
    *("", "x" * 300, "\0", "\ud800", "é\u2028", "1", "nan", "<U3", "<U999999999", "|O", "<f8", "|b1", "__class__"),
    *("identity", "diagonal", "full", "auto", "ovr", "joint", "drop", "hash", "rms", "standard", "unit", "none", "bcm"),
    *("scw1", "pa1", "perceptron", "arow", "rbf", "poly", "precomputed", "linear", "balanced", "scale"),
    *("SCW1", "KernelSCW1", "AutoClassifier", "StreamClassifier", "Learner", "KernelLearner", "stream", "river"),
    *("csv", "libsvm", "jsonl", "numeric", "text", "int", "str"),
    *([], [1, 2, 3], [0], ["a", "b"], [["a", 1.0]], [[]], [None], [True, False], [0.5, 1.5], [[1, 2, 3]] * 3),
    *({}, {"a": 1}, {"": None}, {"by label": [["a", 1.0]]}, {"by label": [[[], 1.0]]}, {"members": ["arow"]}),
    *({"by label": [["a", {"by label": [["b", 2.0]]}]]}, {"members": [{"rule": "arow", "r": -1}]}, {"members": []}),
]
_NUMBERS = [math.nan, math.inf, -math.inf, -1.0, 0.0, -0.0, 0.5, 1.0, 3.0, 5e-324, 1e-300, 1e100, 1e150, 1e300, -1e300]
_INTEGERS = [0, 1, -1, 2, 7, 2**31 - 1, 2**31, -(2**31), 2**53, 2**62, 2**63 - 1, -(2**63)]
_WIDTHS = {"F64": 8, "F32": 4, "F16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1}
# Fields that say how a value is stored, not which it is.
_NOT_NAMES = ("by label", "members")
# JSON that `json.dumps` does not write: such a string stands for what is between the marks, as it is.
_RAW, _TEXTS = "@raw:{}@", ["1e400", "-1e999", "NaN", "-Infinity", "1" * 5000, "[" * 3000 + "]" * 3000]


class Forged:
    """A model file taken apart: its JSON, its arrays, and the header that describes them."""

    def __init__(self, content: bytes) -> None:
        length = int.from_bytes(content[:8], "little")
        self.header: dict[str, Any] = json.loads(content[8 : 8 + length])
        self.metadata: dict[str, Any] = self.header.pop("__metadata__")
        #: None for a safetensors file that holds no model.
        self.model: Any = json.loads(self.metadata.get("model", "null"))
        self.data = bytearray(content[8 + length :])

    def array(self, name: str) -> memoryview:
        """Return a writable view of the bytes of an array."""
        start, end = self.header[name]["data_offsets"]
        return memoryview(self.data)[start:end]

    def replace(self, name: str, content: bytes, shape: list[int], dtype: str | None = None) -> None:
        """Replace or add an array, and update the header."""
        before = {other: bytes(self.array(other)) for other in self.header}
        entry = self.header.setdefault(name, {"dtype": "F64"})
        entry |= {"shape": shape, "dtype": dtype or entry["dtype"]}
        before[name], self.data = content, bytearray()
        for other, part in before.items():
            self.header[other]["data_offsets"] = [len(self.data), len(self.data) + len(part)]
            self.data += part

    def remove(self, name: str) -> None:
        """Remove an array, and update the header."""
        self.replace(name, b"", [0])
        del self.header[name]

    def content(self) -> bytes:
        """Return the content of the file, with a valid checksum."""
        if self.model is not None:
            self.metadata["model"] = dump(self.model)
        return with_checksum(dump({"__metadata__": self.metadata} | self.header), bytes(self.data))


def dump(value: Any) -> str:
    """Return JSON with the marks of `change_json` replaced."""
    text = json.dumps(value, separators=(",", ":"))
    if "@raw:" in text:
        for one in _TEXTS:
            text = text.replace(f'"{_RAW.format(one)}"', one)
        text = text.replace("@raw:@", "")
    return text


def with_checksum(header: str | bytes, data: bytes) -> bytes:
    """Return the content of a file with this header and a valid checksum."""
    header = header.encode() if isinstance(header, str) else header
    return resealed(len(header).to_bytes(8, "little") + header + bytes(data))


def resealed(content: bytes) -> bytes:
    """Return the content with a valid checksum, if it has a field for one."""
    changed, place = bytearray(content), bytes(content[:512]).find(b'"checksum":"')
    if place < 0 or len(content) < place + 76:
        return bytes(content)
    digits = slice(place + 12, place + 76)
    changed[digits] = b"0" * 64
    changed[digits] = hashlib.sha256(changed).hexdigest().encode()
    return bytes(changed)


class Change(NamedTuple):
    """A change of a field: the names on the way to it, and whether its JSON type changed."""

    names: tuple[str, ...]
    is_of_other_type: bool


def places(value: Any, names: tuple[str, ...] = ()) -> list[tuple[Any, Any, tuple[str, ...]]]:
    """Return the container, the key and the names on the way of each value inside a JSON value."""
    found: list[tuple[Any, Any, tuple[str, ...]]] = []
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        own = (*names, key) if isinstance(key, str) and key not in _NOT_NAMES else names
        found += [(value, key, own), *places(inner, own)]
    return found


def change_json(value: Any, random: Random) -> Change | None:
    """Change a field of a JSON value in place; return None if it has none, or if the change is one of structure."""
    every = places(value)
    if not every:
        return None
    container, key, names = random.choice(every)
    before, chance = container[key], random.random()
    if chance < 0.06:
        del container[key]
        return Change(names, is_of_other_type=False)
    if chance < 0.12 and isinstance(container, dict):
        # A field twice, or one more.
        name = f"{key}@raw:@" if random.random() < 0.5 else random.choice(["extra", "", "scale", "C", "\ud800"])
        container[name] = deepcopy(random.choice(VALUES))
        return None
    if chance < 0.25 and type(before) in (int, float):
        container[key] += random.choice([-1, 1, 4, 0.5, 1000])
    elif chance < 0.3 and isinstance(before, list) and before:
        random.choice([lambda: before.append(deepcopy(random.choice(before))), before.reverse, before.clear])()
    elif chance < 0.35:
        container[key] = _RAW.format(random.choice(_TEXTS))
        return None
    elif chance < 0.37 and type(before) is int:
        # A count that is stated several times, such as the number of features, changes everywhere.
        number = random.choice([value for value in VALUES if type(value) is int])
        for other, where, _ in every:
            if type(other[where]) is int and other[where] == before:
                other[where] = number
        return None
    elif chance < 0.4:
        container[key] = deepcopy(random.choice(every)[0])
        if len(every) > 1000:
            # A value inside itself may grow without end.
            container[key] = None
    else:
        container[key] = deepcopy(random.choice(VALUES))
    # Many fields may be null.
    kinds = {type(before), type(container[key])}
    return Change(names, is_of_other_type=len(kinds) > 1 and not kinds & {type(None)} and kinds != {int, float})


def change_array(forged: Forged, random: Random) -> str | None:
    """Change the values, the shape or the type of an array, or add, copy or remove one; return its name."""
    if not forged.header:
        return None
    name = random.choice([*forged.header])
    how = random.choice([_change_values, _change_values, _change_values, _change_shape, _change_shape, _rename])
    how(forged, name, random)
    return name


def _change_values(forged: Forged, name: str, random: Random) -> None:
    part, dtype = forged.array(name), forged.header[name]["dtype"]
    width = _WIDTHS[dtype]
    for _ in range(random.choice([1, 1, 2, 10])):
        if not len(part):
            return
        at = random.randrange(len(part) // width) * width
        if random.random() < 0.2:
            part[random.randrange(len(part))] ^= 1 << random.randrange(8)
        elif random.random() < 0.2:
            # As another value: duplicates, indices that do not rise.
            other = random.randrange(len(part) // width) * width
            part[at : at + width] = bytes(part[other : other + width])
        elif dtype == "F64":
            part[at : at + 8] = struct.pack("<d", random.choice(_NUMBERS))
        else:
            number = random.choice(_INTEGERS) % 2 ** (8 * width)
            part[at : at + width] = number.to_bytes(width, "little")


def _change_shape(forged: Forged, name: str, random: Random) -> None:
    entry, part = forged.header[name], bytes(forged.array(name))
    shape, width = list(entry["shape"]), _WIDTHS[entry["dtype"]]
    chance = random.random()
    if chance < 0.25:
        entry["dtype"] = random.choice([other for other in _WIDTHS if _WIDTHS[other] == width])
    elif chance < 0.4:
        random.shuffle(shape)
        entry["shape"] = shape if random.random() < 0.5 else [len(part) // width]
    elif shape and shape[0]:
        lines = max(0, shape[0] + random.choice([-shape[0], -1, 1, 1, 4]))
        line = len(part) // shape[0]
        forged.replace(name, (part * 2)[: line * lines].ljust(line * lines, b"\0"), [lines, *shape[1:]])


def _rename(forged: Forged, name: str, random: Random) -> None:
    part, entry = bytes(forged.array(name)), dict(forged.header[name])
    if random.random() < 0.6:
        forged.remove(name)
    if random.random() < 0.6:
        other = random.choice([*forged.header, "extra", "", "scale", "lag", "slots", f"member_0.{name}", f"{name}@"])
        forged.replace(other, part, entry["shape"], entry["dtype"])


def change_header(forged: Forged, random: Random) -> None:
    """Make the header lie about an array, or change the metadata; the arrays can no longer be found afterwards."""
    if not forged.header or random.random() < 0.15:
        change_json(forged.metadata, random)
        return
    entry = forged.header[random.choice([*forged.header])]
    value = entry[random.choice([*entry])]
    if isinstance(value, list) and value and random.random() < 0.7:
        value[random.randrange(len(value))] = random.choice([-1, 0, 1, 8, 2**31, 2**62, 2**63, 2**64, 1.5, None, True])
    else:
        change_json(forged.header, random)
