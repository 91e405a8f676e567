"""The examples that a kernel model is made of, as arrays of a file."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from scwlearn.data.compressed import Compressed
from scwlearn.files.document import Document, Refused
from scwlearn.files.gaussians import FLOAT, SMALL_WHOLE, WHOLE, Arrays
from scwlearn.files.values import Tensors
from scwlearn.kernels.support import Examples

_FORMS = ("none", "numbers", "dense", "sparse")


def examples_to_parts(support: Examples, arrays: Arrays) -> dict[str, Any]:
    """What stands in the text, once the arrays are there."""
    examples = support.examples
    if examples is None:
        form = "none"
    elif sparse.issparse(examples):
        form = "sparse"
        arrays |= {"values": examples.data, "indices": examples.indices, "offsets": examples.indptr}
    else:
        form = "numbers" if examples.ndim == 1 else "dense"
        arrays["examples"] = examples
    small = form == "sparse" and examples.indices.dtype == np.int32
    return {"form": form, "count": support.count, "index_bits": 32 if small else 64}


def examples_from_parts(
    fields: Document, tensors: Tensors, n_features: int | None, *, numbers: bool
) -> tuple[Any, int]:
    """The examples, rows or columns of a user's kernel matrix, and how many they are."""
    form, count = fields.one_of("form", _FORMS), fields.whole("count")
    index = {32: SMALL_WHOLE, 64: WHOLE}[fields.one_of("index_bits", (32, 64))]
    fields.end()
    if (form == "none") != (count == 0) or (form != "none" and (form == "numbers") != numbers):
        raise Refused(f"{fields.what} has {count} examples of the form {form!r}, which does not fit the kernel")
    if form == "none":
        return None, 0
    if n_features is None:
        raise Refused(f"{fields.what} has {count} examples, but it is not known how many features they have")
    if form == "numbers":
        columns = tensors.take("examples", WHOLE, (count,))
        if not 0 <= columns.min() <= columns.max() < n_features:
            raise Refused(f"array 'examples' must hold columns of a matrix that has {n_features}")
        return columns.astype(np.intp, copy=False), count
    if form == "dense":
        rows = tensors.take("examples", FLOAT, (count, n_features))
        _check_finite(rows, "examples")
        return rows, count
    return _sparse(tensors, count, n_features, index), count


def _sparse(tensors: Tensors, count: int, n_features: int, index: str) -> Any:
    values = tensors.take("values", FLOAT, (None,))
    indices = tensors.take("indices", index, (len(values),))
    offsets = tensors.take("offsets", index, (count + 1,))
    _check_finite(values, "values")
    if offsets[0] != 0 or offsets[-1] != len(values) or (offsets[1:] < offsets[:-1]).any():
        raise Refused("array 'offsets' must rise from 0 to the number of values")
    if len(values) and not 0 <= indices.min() <= indices.max() < n_features:
        raise Refused(f"array 'indices' must hold numbers below {n_features}")
    return Compressed(values, indices, offsets, n_features).matrix()


def _check_finite(values: Any, name: str) -> None:
    if not np.isfinite(values).all():
        raise Refused(f"array {name!r} holds a value that is not finite")
