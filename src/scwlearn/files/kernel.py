"""Kernel learners as parts of a model file: the kernel, the support, and a Gaussian per class in its span."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from scipy import sparse

from scwlearn._native import LARGEST_VALUE
from scwlearn._util.json_fields import Count, OneOf, shorten
from scwlearn._util.plain_values import plain_scalar
from scwlearn.data.csr import CsrArrays
from scwlearn.data.rows import ALLOWED_VALUE
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
)
from scwlearn.files.gaussian import InitialVariance, decode_memory, decode_scalars
from scwlearn.files.json_reader import InvalidModelFile, read_fields, reject
from scwlearn.files.learner import Counters, StoredKernel, construct
from scwlearn.kernels.functions import Kernel
from scwlearn.kernels.learner import KernelLearner
from scwlearn.kernels.model import KernelModel
from scwlearn.kernels.support import Examples, SharedExamples, Support
from scwlearn.model.covariance import Array

# Bytes of the digest of an example.
_DIGEST = 16


@dataclass(frozen=True)
class StoredSupport:
    """The JSON of the support: nothing, columns of a precomputed kernel matrix, dense rows or sparse rows."""

    form: Annotated[str, OneOf(("none", "numbers", "dense", "sparse"))]
    count: Count
    index_bits: Annotated[int, OneOf((32, 64))]


class StoredKernelState(NamedTuple):
    """The JSON of what a kernel learner has learned."""

    counters: Counters
    n_features: Count | None
    support: StoredSupport
    initial_variance: InitialVariance
    sizes: list[Count]
    spans: list[Count]


def encode_kernel(kernel: Kernel) -> StoredKernel:
    """Return what is stored of a kernel that has a name."""
    if not isinstance(kernel.of, str):
        raise TypeError(
            "the kernel is a function, which cannot be saved: model files hold no code; use a kernel with a name"
        )
    return StoredKernel(kernel.of, {name: plain_scalar(value) for name, value in kernel.parameters.items()})


def decode_kernel(stored: StoredKernel) -> Kernel:
    """Return a kernel by its name."""
    kernel: Kernel = construct(Kernel, stored.name, stored.parameters)
    return kernel


def encode_kernel_state(model: KernelModel, arrays: Arrays) -> StoredKernelState:
    """Add the arrays to `arrays` and return the rest."""
    support = _encode_support(model.support, arrays)
    arrays["scalars"] = model.scalars
    if not model.is_binary:
        digests = b"".join(model.shared._numbers)
        arrays["digests"] = np.frombuffer(digests, dtype=np.uint8).reshape(-1, _DIGEST)
        arrays |= {f"span_{i}": np.asarray(span.examples, dtype=np.int64) for i, span in enumerate(model.spans)}
    arrays |= {f"factor_{i}": span.factor for i, span in enumerate(model.spans)}
    arrays |= {f"memory_{c}": memory for c, memory in enumerate(model.memories)}
    return StoredKernelState(
        counters=model.tally.tolist(),
        n_features=model.n_features,
        support=support,
        initial_variance=model.initial_variance,
        sizes=model.sizes,
        spans=[span.count for span in model.spans],
    )


def decode_kernel_state(learner: KernelLearner, fields: dict[str, Any], path: str, arrays: ArrayReader) -> None:
    """Restore what a kernel learner has learned."""
    model, stored = learner.model, read_fields(StoredKernelState, fields, path)
    model.tally, model.n_features = np.array(stored.counters, dtype=np.int64), stored.n_features
    model.initial_variance, sizes, counts = stored.initial_variance, stored.sizes, stored.spans
    precomputed, where = learner.kernel.is_precomputed, f"{path}.support"
    examples, count = _decode_support(stored.support, where, arrays, model.n_features, numbers=precomputed)
    if model.is_binary and len(sizes) != 1:
        reject(f"{path}.sizes", sizes, "a list of 1 integers >= 0")
    if len(counts) != (expected := 1 if model.one_span else len(sizes)):
        reject(f"{path}.spans", counts, f"a list of {expected} integers >= 0")
    if model.one_span and len({*sizes}) > 1:
        reject(f"{path}.sizes", sizes, "the same for all classes")
    if any(size < n for size, n in zip(sizes, counts * len(sizes) if model.one_span else counts, strict=True)):
        reject(f"{path}.sizes", sizes, f"at least the sizes of the spans, {shorten(counts)}")
    if model.is_binary and counts != [count]:
        reject(f"{path}.spans", counts, f"[{count}], the number of examples")
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


def _encode_support(support: Examples, arrays: Arrays) -> StoredSupport:
    """Add the arrays to `arrays` and return the rest."""
    examples, index_bits = support.examples, 64
    if examples is None:
        form = "none"
    elif sparse.issparse(examples):
        form, index_bits = "sparse", 8 * examples.indices.itemsize
        arrays |= {"values": examples.data, "indices": examples.indices, "offsets": examples.indptr}
    else:
        form = "numbers" if examples.ndim == 1 else "dense"
        arrays["examples"] = examples
    return StoredSupport(form, support.count, index_bits)


def _decode_support(
    stored: StoredSupport, path: str, arrays: ArrayReader, n_features: int | None, *, numbers: bool
) -> tuple[Any, int]:
    """Return the examples and their count; they are `numbers` of columns for a precomputed kernel, else rows."""
    form, count, index = stored.form, stored.count, {32: INT32, 64: INT64}[stored.index_bits]
    if (form == "none") != (count == 0) or (form != "none" and (form == "numbers") != numbers):
        raise InvalidModelFile(f"{path}: {count} examples of form {form!r} do not fit the kernel")
    if form == "none":
        return None, 0
    if n_features is None:
        raise InvalidModelFile(f"{path}: {count} examples, but the number of features is missing")
    if form == "numbers":
        columns = arrays.take("examples", INT64, (count,))
        check_range("examples", columns, 0, n_features - 1, f"column must be an integer from 0 to {n_features - 1}")
        return columns.astype(np.intp, copy=False), count
    if form == "dense":
        rows = arrays.take("examples", FLOAT64, (count, n_features))
        check_range("examples", rows, -LARGEST_VALUE, LARGEST_VALUE, ALLOWED_VALUE)
        return rows, count
    values = arrays.take("values", FLOAT64, (None,))
    indices, offsets = arrays.take("indices", index, (len(values),)), arrays.take("offsets", index, (count + 1,))
    check_range("values", values, -LARGEST_VALUE, LARGEST_VALUE, ALLOWED_VALUE)
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
