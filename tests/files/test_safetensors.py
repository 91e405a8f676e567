"""The safetensors codec: round trips, the reference library, and layouts that the format does not allow."""

import io
import json

import numpy as np
import pytest

from scwlearn.files import InvalidModelFile, safetensors

ARRAYS = {
    "bytes": np.arange(5, dtype=np.uint8),
    "matrix": np.arange(6.0).reshape(2, 3),
    "empty": np.empty((0, 4)),
    "scalar": np.array(7, dtype=np.int64),
    "half": np.ones(3, dtype=np.float16),
}


def decode(content):
    return safetensors.decode(io.BytesIO(content), len(content))


def file_of(header, data=bytes(16)):
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def check_equal(found, expected):
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array, strict=True)


def test_arrays_and_metadata_survive_a_round_trip():
    metadata, arrays = decode(b"".join(safetensors.encode({"a": "b"}, ARRAYS)))
    assert metadata == {"a": "b"}
    check_equal(arrays, ARRAYS)
    assert all(array.flags.writeable for array in arrays.values())
    assert all(array.ctypes.data % 64 == 0 for array in arrays.values() if array.size)


def test_the_reference_library_reads_and_writes_the_same_files():
    library = pytest.importorskip("safetensors.numpy")
    check_equal(library.load(b"".join(safetensors.encode({}, ARRAYS))), ARRAYS)
    check_equal(decode(library.save(ARRAYS))[1], ARRAYS)


def test_the_data_may_be_in_another_order_than_the_header():
    entry = {"dtype": "I64", "shape": [1]}
    data = np.array([3, 4]).tobytes()
    header = {"second": entry | {"data_offsets": [8, 16]}, "first": entry | {"data_offsets": [0, 8]}}
    _, arrays = decode(file_of(header, data))
    assert {name: array.tolist() for name, array in arrays.items()} == {"second": [4], "first": [3]}


@pytest.mark.parametrize(
    ("offsets", "message"),
    [
        ([[0, 8], [0, 8]], "array 'b' starts at byte 0, expected 8"),
        ([[0, 8], [4, 12]], "array 'b' starts at byte 4, expected 8"),
        ([[0, 8], [16, 24]], "array 'b' starts at byte 16, expected 8"),
        ([[8, 16], [16, 24]], "array 'a' starts at byte 8, expected 0"),
        ([[0, 8], [8, 17]], "array 'b': shape [1] does not match data_offsets [8, 17]"),
        ([[0, 8], [16, 8]], "array 'b': shape [1] does not match data_offsets [16, 8]"),
    ],
)
def test_overlaps_and_gaps_are_refused(offsets, message):
    header = {
        name: {"dtype": "F64", "shape": [1], "data_offsets": pair} for name, pair in zip("ab", offsets, strict=True)
    }
    with pytest.raises(InvalidModelFile) as error:
        decode(file_of(header))
    assert str(error.value) == message


def test_too_large_a_header_is_not_written(monkeypatch):
    monkeypatch.setattr(safetensors, "_MAX_HEADER_BYTES", 100)
    with pytest.raises(ValueError, match="the header would take 168 bytes; safetensors allows 100"):
        next(safetensors.encode({"a": "b" * 140}, {}))
