"""As much of ONNX's protobuf messages as a model needs, encoded by hand: numbers of fields as in onnx.proto."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from numpy.typing import NDArray

from scwlearn import __version__

# ONNX 1.13 of 2022, which every runtime since then knows.
_IR_VERSION, _OPSET = 8, 18

_VARINT, _BYTES = 0, 2
_TYPES = {"d": 11, "q": 7, "l": 7, "?": 9}
_STRING = 8
_INT, _INTS = 2, 7


def model(graph: bytes, metadata: dict[str, str]) -> bytes:
    """A ModelProto."""
    opset = _text(1, "") + _number(2, _OPSET)
    parts = [
        _number(1, _IR_VERSION),
        _text(2, "scwlearn"),
        _text(3, __version__),
        _message(7, graph),
        _message(8, opset),
    ]
    parts += [_message(14, _text(1, key) + _text(2, value)) for key, value in metadata.items()]
    return b"".join(parts)


def graph(
    nodes: Iterable[bytes], constants: Iterable[bytes], inputs: Iterable[bytes], outputs: Iterable[bytes]
) -> bytes:
    """A GraphProto."""
    parts = [_message(1, one) for one in nodes] + [_text(2, "scwlearn")] + [_message(5, one) for one in constants]
    return b"".join(parts + [_message(11, one) for one in inputs] + [_message(12, one) for one in outputs])


def node(kind: str, inputs: Sequence[str], output: str, attributes: dict[str, int | list[int]]) -> bytes:
    """A NodeProto with one output."""
    parts = [_text(1, name) for name in inputs] + [_text(2, output), _text(3, output), _text(4, kind)]
    for name, value in attributes.items():
        if isinstance(value, int):
            parts.append(_message(5, _text(1, name) + _number(3, value) + _number(20, _INT)))
        else:
            numbers = b"".join(_number(8, one) for one in value)
            parts.append(_message(5, _text(1, name) + numbers + _number(20, _INTS)))
    return b"".join(parts)


def tensor(name: str, values: NDArray[Any]) -> bytes:
    """A TensorProto of doubles, whole numbers, bools or strings."""
    parts = [_number(1, size) for size in values.shape]
    if values.dtype.kind in "UO":
        parts.append(_number(2, _STRING))
        parts += [_message(6, str(value).encode()) for value in values.ravel()]
        return b"".join([*parts, _text(8, name)])
    little = values.astype(values.dtype.newbyteorder("<"), copy=False)
    return b"".join([*parts, _number(2, _TYPES[values.dtype.char]), _text(8, name), _message(9, little.tobytes())])


def value(name: str, kind: NDArray[Any], shape: Sequence[int | str]) -> bytes:
    """A ValueInfoProto: a tensor of the type of that array, with sizes that are numbers or names."""
    code = _STRING if kind.dtype.kind in "UO" else _TYPES[kind.dtype.char]
    sizes = [_number(1, size) if isinstance(size, int) else _text(2, size) for size in shape]
    tensor_type = _number(1, code) + _message(2, b"".join(_message(1, size) for size in sizes))
    return _text(1, name) + _message(2, _message(1, tensor_type))


def _varint(number: int) -> bytes:
    number &= 2**64 - 1
    parts = bytearray()
    while number > 127:
        parts.append(number & 127 | 128)
        number >>= 7
    return bytes([*parts, number])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3 | _VARINT) + _varint(value)


def _message(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | _BYTES) + _varint(len(content)) + content


def _text(field: int, text: str) -> bytes:
    return _message(field, text.encode())
