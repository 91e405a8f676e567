"""Kernel learners as part of a model file: the kernel, the support, and Gaussians in its span."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn.files.codec import (
    BYTE,
    FLOAT64,
    INT64,
    ArrayReader,
    Arrays,
    check_range,
    decode_settings,
    encode_settings,
)
from scwlearn.files.gaussian import decode_initial_variance, decode_memory, decode_scalars
from scwlearn.files.json_reader import InvalidModelFile, JsonObject, shorten
from scwlearn.files.learner import construct, decode_counters
from scwlearn.files.support import decode_support, encode_support
from scwlearn.kernels import Kernel, KernelLearner
from scwlearn.kernels.support import SharedExamples, Support
from scwlearn.model.covariance import Array

# Bytes of the hash of an example: enough that no two are the same.
_DIGEST = 16


def encode_kernel(kernel: Kernel) -> dict[str, Any]:
    """Return the JSON metadata of a named kernel."""
    if not isinstance(kernel.of, str):
        raise TypeError("the kernel is a function, and a model file holds no code; only named kernels can be saved")
    return {"name": kernel.of, "parameters": encode_settings(kernel.parameters)}


def decode_kernel(fields: JsonObject) -> Kernel:
    """Return a named kernel."""
    name, parameters = fields.text("name"), decode_settings(fields, "parameters")
    fields.end()
    for parameter, value in parameters.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= 1e300:
            raise InvalidModelFile(f"{fields.what}.parameters.{parameter} must be a number, got {shorten(value)}")
    kernel: Kernel = construct(Kernel, name, parameters)
    return kernel


def encode_kernel_learner(learner: KernelLearner, arrays: Arrays) -> dict[str, Any]:
    """Add what a kernel learner has learned to `arrays` and return the JSON metadata."""
    model = learner.model
    arrays["scalars"] = model.scalars
    arrays |= {f"factor_{i}": span.factor for i, span in enumerate(model.spans)}
    arrays |= {f"memory_{c}": memory for c, memory in enumerate(model.memories)}
    if not model.is_binary:
        arrays["digests"] = np.frombuffer(b"".join(model.shared._numbers), dtype=np.uint8).reshape(-1, _DIGEST)
        arrays |= {f"span_{i}": np.asarray(span.examples, dtype=np.int64) for i, span in enumerate(model.spans)}
    return {
        "counters": model.tally.tolist(),
        "n_features": model.n_features,
        "examples": encode_support(model.support, arrays),
        "initial_variance": model.initial_variance,
        "sizes": model.sizes,
        "spans": [span.count for span in model.spans],
    }


def fill_kernel_learner(learner: KernelLearner, fields: JsonObject, arrays: ArrayReader) -> None:
    """Fill a kernel learner that has learned nothing with what a file says."""
    model, what = learner.model, fields.what
    model.tally, model.n_features = decode_counters(fields), fields.whole_or_none("n_features")
    support = fields.document("examples")
    examples, count = decode_support(support, arrays, model.n_features, numbers=learner.kernel.is_precomputed)
    model.initial_variance, sizes = (
        decode_initial_variance(fields),
        fields.wholes("sizes", 1 if model.is_binary else None),
    )
    counts = fields.wholes("spans", 1 if model.one_span else len(sizes))
    fields.end()
    if model.one_span and len(set(sizes)) > 1:
        raise InvalidModelFile(f"{what}.sizes must be the same for all classes, got {shorten(sizes)}")
    if any(size < known for size, known in zip(sizes, counts, strict=False)):
        raise InvalidModelFile(f"{what}.sizes are too small for spans of {shorten(counts)} examples")
    model.scalars = decode_scalars(arrays, 1 if model.joint else len(sizes))
    factors = [_decode_factor(arrays, f"factor_{i}", known) for i, known in enumerate(counts)]
    if model.is_binary:
        if counts != [count]:
            raise InvalidModelFile(f"{what}.spans must be [{count}], the number of examples, got {shorten(counts)}")
        model.spans = [Support(examples, count, factors[0])]
    else:
        model.shared = SharedExamples(examples, count, _decode_digests(arrays, count))
        model.spans = [
            Support(_decode_span(arrays, f"span_{i}", known, count), known, factor)
            for i, (known, factor) in enumerate(zip(counts, factors, strict=True))
        ]
    model.memories = [decode_memory(model.covariance, arrays, f"memory_{c}", size) for c, size in enumerate(sizes)]


def _decode_factor(arrays: ArrayReader, name: str, count: int) -> Array:
    """Return L with L L' = K, for which systems can be solved."""
    factor: Array = arrays.take(name, FLOAT64, (count, count))
    if not np.isfinite(factor).all() or not (factor.diagonal() > 0).all():
        raise InvalidModelFile(f"array {name!r}: a factor of a kernel matrix must be finite, with a positive diagonal")
    return factor


def _decode_span(arrays: ArrayReader, name: str, count: int, examples: int) -> NDArray[np.intp]:
    numbers = arrays.take(name, INT64, (count,))
    check_range(name, numbers, 0, examples - 1, f"index of an example must be from 0 to {examples - 1}")
    return numbers.astype(np.intp, copy=False)


def _decode_digests(arrays: ArrayReader, count: int) -> dict[bytes, int]:
    """Return the index of each example by its hash."""
    digests = arrays.take("digests", BYTE, (count, _DIGEST))
    numbers = {digest.tobytes(): number for number, digest in enumerate(digests)}
    if len(numbers) < count:
        raise InvalidModelFile("array 'digests' holds an example twice")
    return numbers
