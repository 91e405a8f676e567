"""The Gaussians of a model as arrays of a file. Whatever is read fits the native loops, or is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn._native import LANE_MULTIPLE, SCALARS, full_stride
from scwlearn.files.codec import ArrayReader as Tensors
from scwlearn.files.json_reader import InvalidModelFile as Refused
from scwlearn.files.json_reader import JsonObject as Document
from scwlearn.learning.counters import INITIAL_VARIANCE
from scwlearn.model import COVARIANCES, Gaussian
from scwlearn.model.class_covariance import class_covariance
from scwlearn.model.gaussian import GROWTH, ROUNDS, SPREAD_SCALE
from scwlearn.model.gaussians import Gaussians

Array = NDArray[np.float64]
Arrays = dict[str, NDArray[Any]]

FLOAT, WHOLE, SMALL_WHOLE, BYTE = "<f8", "<i8", "<i4", "u1"

# How many numbers of U are looked at together.
_AT_ONCE = 2**20
# Class numbers have 31 bits.
_MOST_CLASSES = 2**31 - 1


def gaussian_to_parts(gaussian: Gaussian, arrays: Arrays) -> dict[str, Any]:
    """What stands in the text, once the arrays are there."""
    arrays |= {"memory": gaussian.memory, "scalars": gaussian.scalars}
    return {
        "covariance": gaussian.covariance.name,
        "initial_variance": gaussian.initial_variance,
        "size": gaussian.size,
    }


def gaussian_from_parts(fields: Document, tensors: Tensors) -> Gaussian:
    """The model of two classes."""
    covariance = COVARIANCES[fields.one_of("covariance", tuple(COVARIANCES))]
    prior, size = initial_variance(fields), fields.whole("size")
    fields.end()
    memory = tensors.take("memory", FLOAT, memory_shape(covariance.name, size))
    check_memory(covariance.name, memory, size, "memory")
    scalars = tensors.take("scalars", FLOAT, (SCALARS,))
    check_scalars(scalars)
    return Gaussian(covariance, prior, memory, scalars)


def gaussians_to_parts(gaussians: Gaussians, arrays: Arrays) -> dict[str, Any]:
    """What stands in the text, once the arrays are there."""
    arrays |= {"memory": gaussians.memory, "scalars": gaussians.scalars}
    return {
        "covariance": gaussians.covariance.name,
        "initial_variance": gaussians.initial_variance,
        "size": gaussians.size,
        "lanes": gaussians.lanes,
        "classes": gaussians.classes,
    }


def gaussians_from_parts(fields: Document, tensors: Tensors, *, joint: bool, shared: bool) -> Gaussians:
    """The models of several classes, one for each or with one Sigma for all."""
    name = fields.one_of("covariance", tuple(COVARIANCES))
    prior, size = initial_variance(fields), fields.whole("size")
    lanes = fields.whole("lanes", least=LANE_MULTIPLE, most=_MOST_CLASSES)
    classes = fields.whole("classes", most=lanes)
    fields.end()
    if lanes % LANE_MULTIPLE:
        fields.refuse("lanes", lanes, f"a multiple of {LANE_MULTIPLE}")
    memory = tensors.take("memory", FLOAT, _memory_shape_of_classes(name, size, lanes, shared=shared))
    if name == "full":
        for one in [memory[lanes - 1 :]] if shared else memory:
            check_memory(name, one, size, "memory")
    else:
        check_variances(memory[:, lanes : lanes + 1] if shared else memory[:, lanes:], "memory")
    scalars = tensors.take("scalars", FLOAT, (1 if joint else lanes, SCALARS))
    check_scalars(scalars)
    known = np.array([classes], dtype=np.int64)
    return Gaussians(class_covariance(name, shared=shared), prior, memory, scalars, known)


def initial_variance(fields: Document) -> float:
    """That of the prior."""
    value = fields.value("initial_variance")
    try:
        return INITIAL_VARIANCE.check(value)
    except (TypeError, ValueError) as error:
        raise Refused(f"{fields.what}: {error}") from None


def memory_shape(covariance: str, size: int) -> tuple[int, ...]:
    """How the memory of a model of that size lies, as the covariance makes it."""
    if covariance == "full":
        return (size + 3, full_stride(_checked_size(size)))
    return (size,) if covariance == "identity" else (size, 2)


def _memory_shape_of_classes(covariance: str, size: int, lanes: int, *, shared: bool) -> tuple[int, ...]:
    if covariance == "full":
        stride = full_stride(_checked_size(size))
        return (lanes + size + 2, stride) if shared else (lanes, size + 3, stride)
    if covariance == "identity":
        return (size, lanes)
    return (size, lanes + LANE_MULTIPLE if shared else 2 * lanes)


def _checked_size(size: int) -> int:
    if size > 2**28:
        raise Refused(f"holds a full covariance of {size} weights; {2**28} are possible")
    return size


def check_memory(covariance: str, memory: Array, size: int, name: str) -> None:
    """Refuse variances that are none, and factors of Sigma that are none."""
    if covariance == "full":
        _check_full(memory, size, name)
    elif covariance != "identity":
        check_variances(memory[:, 1], name)


def check_variances(variances: Array, name: str) -> None:
    """Refuse what is not positive or not finite."""
    # Without a copy; what is not a number compares false.
    if variances.size and not (variances.min() > 0 and variances.max() < np.inf):
        raise Refused(f"array {name!r} holds a variance that is not positive and finite")


def check_scalars(scalars: Array) -> None:
    """Refuse what no sequence of steps leads to."""
    lines = scalars.reshape(-1, SCALARS)
    for place, what in ((SPREAD_SCALE, "scale"), (GROWTH, "growth")):
        if not ((lines[:, place] > 0) & (lines[:, place] < np.inf)).all():
            raise Refused(f"array 'scalars' holds a {what} of Sigma that is not positive and finite")
    if not ((lines[:, ROUNDS] >= 0) & (lines[:, ROUNDS] < np.inf)).all():
        raise Refused("array 'scalars' holds a number of rounds that is none")


def _check_full(memory: Array, size: int, name: str) -> None:
    """The mean, the place of each feature, D, and U by columns, each with zeros behind it."""
    places = memory[1, :size]
    if not np.array_equal(np.sort(places), np.arange(size)):
        raise Refused(f"array {name!r} must give each of {size} features a place of its own in Sigma")
    check_variances(memory[2, :size], name)
    rows = max(1, _AT_ONCE // memory.shape[1])
    for start in range(0, size, rows):
        part = memory[3 + start : 3 + min(start + rows, size)]
        below = np.triu(part, start + 1)
        if not np.isfinite(part).all() or below.any() or (part.diagonal(start) != 1.0).any():
            raise Refused(f"array {name!r} holds no unit triangular factor of Sigma")
    if not size and memory[2].any():
        raise Refused(f"array {name!r} holds variances of features that there are none of")
