"""The support of a kernel model, its examples, as part of a model file."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from scwlearn.data.compressed import Compressed
from scwlearn.files.codec import FLOAT64, INT32, INT64, LARGEST, ArrayReader, Arrays, check_range
from scwlearn.files.json_reader import InvalidModelFile, JsonObject
from scwlearn.kernels.support import Examples

#: Nothing; columns of a precomputed kernel matrix; dense rows; sparse rows.
_FORMS = ("none", "numbers", "dense", "sparse")


def encode_support(support: Examples, arrays: Arrays) -> dict[str, Any]:
    """Add the arrays to `arrays` and return the JSON metadata."""
    examples, index_bits = support.examples, 64
    if examples is None:
        form = "none"
    elif sparse.issparse(examples):
        form, index_bits = "sparse", 8 * examples.indices.itemsize
        arrays |= {"values": examples.data, "indices": examples.indices, "offsets": examples.indptr}
    else:
        form = "numbers" if examples.ndim == 1 else "dense"
        arrays["examples"] = examples
    return {"form": form, "count": support.count, "index_bits": index_bits}


def decode_support(
    fields: JsonObject, arrays: ArrayReader, n_features: int | None, *, numbers: bool
) -> tuple[Any, int]:
    """Return the examples and their count; they are `numbers` of columns for a precomputed kernel, else rows."""
    form, count = fields.choice("form", _FORMS), fields.integer("count")
    index = {32: INT32, 64: INT64}[fields.choice("index_bits", (32, 64))]
    fields.finish()
    if (form == "none") != (count == 0) or (form != "none" and (form == "numbers") != numbers):
        raise InvalidModelFile(f"{fields.path}: {count} examples of form {form!r} do not fit the kernel")
    if form == "none":
        return None, 0
    if n_features is None:
        raise InvalidModelFile(f"{fields.path}: {count} examples, but the number of features is missing")
    if form == "numbers":
        columns = arrays.take("examples", INT64, (count,))
        check_range("examples", columns, 0, n_features - 1, f"column must be an integer from 0 to {n_features - 1}")
        return columns.astype(np.intp, copy=False), count
    if form == "dense":
        rows = arrays.take("examples", FLOAT64, (count, n_features))
        check_range("examples", rows, -LARGEST, LARGEST, "value must be finite")
        return rows, count
    values = arrays.take("values", FLOAT64, (None,))
    indices, offsets = arrays.take("indices", index, (len(values),)), arrays.take("offsets", index, (count + 1,))
    check_range("values", values, -LARGEST, LARGEST, "value must be finite")
    check_range("indices", indices, 0, n_features - 1, f"index must be an integer from 0 to {n_features - 1}")
    if offsets[0] != 0 or offsets[-1] != len(values) or (offsets[1:] < offsets[:-1]).any():
        raise InvalidModelFile(f"array 'offsets' must rise from 0 to {len(values)}, the number of values")
    return Compressed(values, indices, offsets, n_features).matrix(), count
