"""Kernel learners as parts of a model file: the kernel, the support, and a Gaussian per class in its span."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from scwlearn.data.rows import CsrArrays
from scwlearn.files.codec import (
    BYTE,
    FLOAT64,
    INT32,
    INT64,
    LARGEST,
    SMALLEST,
    ArrayReader,
    Arrays,
    check_range,
    decode_settings,
    encode_settings,
)
from scwlearn.files.gaussian import decode_initial_variance, decode_memory, decode_scalars
from scwlearn.files.json_reader import InvalidModelFile, JsonObject, shorten
from scwlearn.files.learner import construct, decode_counters
from scwlearn.kernels.functions import Kernel
from scwlearn.kernels.learner import KernelLearner
from scwlearn.kernels.model import KernelModel
from scwlearn.kernels.support import Examples, SharedExamples, Support
from scwlearn.model.covariance import Array

# Bytes of the digest of an example.
_DIGEST = 16
# Forms of the support: nothing; columns of a precomputed kernel matrix; dense rows; sparse rows.
_FORMS = ("none", "numbers", "dense", "sparse")


def encode_kernel(kernel: Kernel) -> dict[str, Any]:
    """Return the JSON of a kernel that has a name."""
    if not isinstance(kernel.of, str):
        raise TypeError(
            "the kernel is a function, which cannot be saved: model files hold no code; use a kernel with a name"
        )
    return {"name": kernel.of, "parameters": encode_settings(kernel.parameters)}


def decode_kernel(fields: JsonObject) -> Kernel:
    """Return a kernel by its name."""
    name, parameters = fields.string("name"), decode_settings(fields, "parameters")
    fields.finish()
    for parameter, value in parameters.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= 1e300:
            raise InvalidModelFile(f"{fields.path}.parameters.{parameter} must be a number, got {shorten(value)}")
    kernel: Kernel = construct(Kernel, name, parameters)
    return kernel


def encode_kernel_state(model: KernelModel, arrays: Arrays) -> dict[str, Any]:
    """Add the arrays to `arrays` and return the JSON metadata."""
    support = _encode_support(model.support, arrays)
    arrays["scalars"] = model.scalars
    if not model.is_binary:
        digests = b"".join(model.shared._numbers)
        arrays["digests"] = np.frombuffer(digests, dtype=np.uint8).reshape(-1, _DIGEST)
        arrays |= {f"span_{i}": np.asarray(span.examples, dtype=np.int64) for i, span in enumerate(model.spans)}
    arrays |= {f"factor_{i}": span.factor for i, span in enumerate(model.spans)}
    arrays |= {f"memory_{c}": memory for c, memory in enumerate(model.memories)}
    return {
        "counters": model.tally.tolist(),
        "n_features": model.n_features,
        "support": support,
        "initial_variance": model.initial_variance,
        "sizes": model.sizes,
        "spans": [span.count for span in model.spans],
    }


def decode_kernel_state(learner: KernelLearner, fields: JsonObject, arrays: ArrayReader) -> None:
    """Restore what a kernel learner has learned."""
    model = learner.model
    model.tally, model.n_features = decode_counters(fields), fields.optional_integer("n_features")
    precomputed = learner.kernel.is_precomputed
    examples, count = _decode_support(fields.object("support"), arrays, model.n_features, numbers=precomputed)
    model.initial_variance = decode_initial_variance(fields)
    sizes = fields.integers("sizes", 1 if model.is_binary else None)
    counts = fields.integers("spans", 1 if model.one_span else len(sizes))
    fields.finish()
    if model.one_span and len(set(sizes)) > 1:
        fields.reject("sizes", sizes, "the same for all classes")
    if any(size < n for size, n in zip(sizes, counts * len(sizes) if model.one_span else counts, strict=True)):
        fields.reject("sizes", sizes, f"at least the sizes of the spans, {shorten(counts)}")
    if model.is_binary and counts != [count]:
        fields.reject("spans", counts, f"[{count}], the number of examples")
    factors = [_decode_factor(arrays, f"factor_{i}", n) for i, n in enumerate(counts)]
    if model.is_binary:
        model.spans = [Support(examples, count, factors[0])]
    else:
        model.shared = SharedExamples(examples, count, _decode_digests(arrays, count))
        model.spans = [
            Support(_decode_indices(arrays, f"span_{i}", len(factor), count), len(factor), factor)
            for i, factor in enumerate(factors)
        ]
    model.scalars = decode_scalars(arrays, 1 if model.joint else len(sizes))
    model.memories = [decode_memory(arrays, f"memory_{c}", model.covariance, size) for c, size in enumerate(sizes)]


def _encode_support(support: Examples, arrays: Arrays) -> dict[str, Any]:
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


def _decode_support(
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
    return CsrArrays(values, indices, offsets, n_features).matrix(), count


def _decode_factor(arrays: ArrayReader, name: str, count: int) -> Array:
    """Return the Cholesky factor of a kernel matrix."""
    factor: Array = arrays.take(name, FLOAT64, (count, count))
    check_range(name, factor, -LARGEST, LARGEST, "factor of a kernel matrix must be finite")
    check_range(f"diagonal of {name}", factor.diagonal(), SMALLEST, LARGEST, "must be > 0")
    return factor


def _decode_indices(arrays: ArrayReader, name: str, count: int, examples: int) -> Any:
    indices = arrays.take(name, INT64, (count,))
    check_range(name, indices, 0, examples - 1, f"index must be an integer from 0 to {examples - 1}")
    return indices.astype(np.intp, copy=False)


def _decode_digests(arrays: ArrayReader, count: int) -> dict[bytes, int]:
    """Return the index of each example by its digest."""
    digests = arrays.take("digests", BYTE, (count, _DIGEST))
    numbers = {digest.tobytes(): number for number, digest in enumerate(digests)}
    if len(numbers) < count:
        raise InvalidModelFile("array 'digests' has duplicates")
    return numbers
