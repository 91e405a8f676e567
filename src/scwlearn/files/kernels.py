"""Learners with a kernel as parts of a file: the examples that they are made of, and Gaussians in their span."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn._native import SCALARS
from scwlearn.files.codec import ArrayReader as Tensors
from scwlearn.files.codec import decode_settings as settings_from_json
from scwlearn.files.codec import encode_settings as settings_to_json
from scwlearn.files.gaussians import (
    BYTE,
    FLOAT,
    WHOLE,
    Array,
    Arrays,
    check_memory,
    check_scalars,
    initial_variance,
    memory_shape,
)
from scwlearn.files.json_reader import InvalidModelFile as Refused
from scwlearn.files.json_reader import JsonObject as Document
from scwlearn.files.json_reader import shorten as shown
from scwlearn.files.learners import counters_from, made
from scwlearn.files.support import decode_support as examples_from_parts
from scwlearn.files.support import encode_support as examples_to_parts
from scwlearn.kernels import KernelLearner, KernelMultiLearner
from scwlearn.kernels.functions import Kernel
from scwlearn.kernels.support import SharedExamples, Support
from scwlearn.model import Covariance, Gaussian

#: What learners with a kernel are told besides it, the rule and its parameters.
KERNEL = ("intercept", "initial_variance", "variance_floor", "budget", "tolerance", "max_support")

# Of what an example is made of: enough that no two have the same.
_DIGEST = 16


def kernel_to_json(kernel: Kernel) -> dict[str, Any]:
    """A kernel with a name."""
    if not isinstance(kernel.of, str):
        raise TypeError(
            "the kernel is a function of your own, which a model file cannot hold: it holds no code; kernels with a "
            "name can be saved"
        )
    return {"name": kernel.of, "parameters": settings_to_json(kernel.parameters)}


def kernel_from_json(fields: Document) -> Kernel:
    """A kernel with a name."""
    name, parameters = fields.text("name"), settings_from_json(fields, "parameters")
    fields.end()
    for parameter, value in parameters.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= 1e300:
            raise Refused(f"{fields.what}.parameters.{parameter} must be a number, got {shown(value)}")
    kernel: Kernel = made(Kernel, name, parameters)
    return kernel


def kernel_learner_to_parts(learner: KernelLearner | KernelMultiLearner, arrays: Arrays) -> dict[str, Any]:
    """What such a learner has learned: what stands in the text, once the arrays are there."""
    model = learner.model
    parts = {
        "counters": model.tally.tolist(),
        "n_features": model.n_features,
        "examples": examples_to_parts(model.support, arrays),
    }
    if isinstance(learner, KernelMultiLearner):
        return parts | _classes_to_parts(learner, arrays)
    gaussian = learner.gaussian
    arrays |= {"factor": learner.support.factor, "memory": gaussian.memory, "scalars": gaussian.scalars}
    return parts | {"initial_variance": gaussian.initial_variance, "size": gaussian.size}


def _classes_to_parts(learner: KernelMultiLearner, arrays: Arrays) -> dict[str, Any]:
    model = learner.model
    arrays["scalars"] = model.scalars
    arrays["digests"] = np.frombuffer(b"".join(model.support._numbers), dtype=np.uint8).reshape(-1, _DIGEST)
    for i, span in enumerate(model.spans):
        arrays |= {f"span_{i}": np.asarray(span.examples, dtype=np.int64), f"factor_{i}": span.factor}
    arrays |= {f"memory_{c}": memory for c, memory in enumerate(model.memories)}
    return {
        "initial_variance": model.initial_variance,
        "sizes": model.sizes,
        "spans": [span.count for span in model.spans],
    }


def kernel_learner_from_parts(learner: KernelLearner | KernelMultiLearner, fields: Document, tensors: Tensors) -> None:
    """Let a learner that has learned nothing know what the file says."""
    tally, features = counters_from(fields), fields.whole_or_none("n_features")
    examples, count = examples_from_parts(
        fields.document("examples"), tensors, features, numbers=learner.kernel.is_precomputed
    )
    if isinstance(learner, KernelMultiLearner):
        _classes_from_parts(learner, fields, tensors, SharedExamples(examples, count, _digests(tensors, count)))
    else:
        prior, size = initial_variance(fields), fields.whole("size", least=count)
        memory = _memory(learner.gaussian.covariance, tensors, "memory", size)
        scalars = tensors.take("scalars", FLOAT, (SCALARS,))
        check_scalars(scalars)
        learner.model.gaussian = Gaussian(learner.gaussian.covariance, prior, memory, scalars)
        learner.model.support = Support(examples, count, _factor(tensors, "factor", count))
    fields.end()
    learner.model.tally, learner.model.n_features = tally, features


def _classes_from_parts(
    learner: KernelMultiLearner, fields: Document, tensors: Tensors, support: SharedExamples
) -> None:
    model = learner.model
    model.initial_variance, sizes = initial_variance(fields), fields.wholes("sizes")
    classes = len(sizes)
    counts = fields.wholes("spans", 1 if model.one_span else classes)
    if model.one_span and len(set(sizes)) > 1:
        raise Refused(f"{fields.what}.sizes must be the same for all classes, got {shown(sizes)}")
    if any(size < count for size, count in zip(sizes, counts, strict=False)):
        raise Refused(f"{fields.what}.sizes are too small for spans of {shown(counts)} examples")
    model.scalars = tensors.take("scalars", FLOAT, (1 if model.joint else classes, SCALARS))
    check_scalars(model.scalars)
    model.support = support
    model.spans = [
        Support(_numbers_of(tensors, f"span_{i}", count, support.count), count, _factor(tensors, f"factor_{i}", count))
        for i, count in enumerate(counts)
    ]
    model.memories = [_memory(model.covariance, tensors, f"memory_{c}", size) for c, size in enumerate(sizes)]


def _memory(covariance: Covariance, tensors: Tensors, name: str, size: int) -> Array:
    memory: Array = tensors.take(name, FLOAT, memory_shape(covariance.name, size))
    check_memory(covariance.name, memory, size, name)
    return memory


def _factor(tensors: Tensors, name: str, count: int) -> Array:
    """L with L L' = K: systems with it can be solved."""
    factor: Array = tensors.take(name, FLOAT, (count, count))
    if not np.isfinite(factor).all() or not (factor.diagonal() > 0).all():
        raise Refused(f"array {name!r} holds no factor of a kernel matrix")
    return factor


def _numbers_of(tensors: Tensors, name: str, count: int, examples: int) -> NDArray[np.intp]:
    numbers = tensors.take(name, WHOLE, (count,))
    if count and not 0 <= numbers.min() <= numbers.max() < examples:
        raise Refused(f"array {name!r} must hold numbers of the {examples} examples")
    return numbers.astype(np.intp, copy=False)


def _digests(tensors: Tensors, count: int) -> dict[bytes, int]:
    """The number of each example by what it is made of."""
    digests = tensors.take("digests", BYTE, (count, _DIGEST))
    numbers = {digest.tobytes(): number for number, digest in enumerate(digests)}
    if len(numbers) < count:
        raise Refused("array 'digests' has an example twice")
    return numbers
