"""The Gaussian of a model as part of a model file. What is read fits the native loops, or is refused."""

from __future__ import annotations

from typing import Any

import numpy as np

from scwlearn._native import LANE_MULTIPLE, SCALARS
from scwlearn.files.codec import FLOAT64, LARGEST, SMALLEST, ArrayReader, Arrays, check_range
from scwlearn.files.json_reader import InvalidModelFile, JsonObject
from scwlearn.learning.config import check_setting
from scwlearn.model.covariance import Array, Covariance
from scwlearn.model.covariances import COVARIANCE_NAMES, covariance
from scwlearn.model.gaussian import GROWTH, ROUNDS, SPREAD_SCALE, Gaussian

# Larger ones do not fit a native integer.
_MAX_FULL_SIZE = 2**28
_MAX_CLASSES = 2**31 - 1


def encode_gaussian(gaussian: Gaussian, arrays: Arrays) -> dict[str, Any]:
    """Add the arrays to `arrays` and return the JSON metadata."""
    arrays |= {"memory": gaussian.memory, "scalars": gaussian.scalars}
    return {
        "covariance": gaussian.covariance.name,
        "initial_variance": gaussian.initial_variance,
        "size": gaussian.size,
        "lanes": gaussian.lanes,
        "classes": gaussian.classes,
    }


def decode_gaussian(fields: JsonObject, arrays: ArrayReader, *, binary: bool, joint: bool, shared: bool) -> Gaussian:
    """Return a model: binary, or of several classes that are trained jointly, or that share a Sigma."""
    form = covariance(fields.one_of("covariance", COVARIANCE_NAMES), shared=shared and not binary)
    prior, size = decode_initial_variance(fields), fields.whole("size")
    lanes = fields.whole("lanes", least=1 if binary else LANE_MULTIPLE, most=1 if binary else _MAX_CLASSES)
    classes = fields.whole("classes", least=int(binary), most=lanes)
    fields.end()
    if not binary and lanes % LANE_MULTIPLE:
        fields.refuse("lanes", lanes, f"a multiple of {LANE_MULTIPLE}")
    memory = decode_memory(form, arrays, "memory", size, lanes)
    scalars = decode_scalars(arrays, 1 if binary or joint else lanes)
    return Gaussian(form, prior, memory, scalars, np.array([classes], dtype=np.int64))


def decode_initial_variance(fields: JsonObject) -> float:
    """Return the variance of the prior."""
    value = fields.value("initial_variance")
    try:
        return float(check_setting("initial_variance", value))
    except (TypeError, ValueError) as error:
        raise InvalidModelFile(f"{fields.what}: {error}") from None


def decode_memory(form: Covariance, arrays: ArrayReader, name: str, size: int, lanes: int = 1) -> Array:
    """Return the weights and Sigma of all classes."""
    if form.name == "full" and size > _MAX_FULL_SIZE:
        raise InvalidModelFile(f"array {name!r}: a full covariance has at most {_MAX_FULL_SIZE} weights, got {size}")
    memory: Array = arrays.take(name, FLOAT64, form.shape(size, lanes))
    try:
        form.check(memory, size)
    except ValueError as error:
        raise InvalidModelFile(f"array {name!r}: {error}") from None
    return memory


def decode_scalars(arrays: ArrayReader, count: int) -> Array:
    """Return the scalars of `count` models."""
    scalars: Array = arrays.take("scalars", FLOAT64, (count, SCALARS))
    for column, what in ((SPREAD_SCALE, "scale of Sigma"), (GROWTH, "growth of Sigma")):
        requirement = f"{what} must be a finite number > 0"
        check_range("scalars", scalars, SMALLEST, LARGEST, requirement, slice(None), column)
    check_range("scalars", scalars, 0.0, LARGEST, "round count must be a finite number >= 0", slice(None), ROUNDS)
    return scalars
