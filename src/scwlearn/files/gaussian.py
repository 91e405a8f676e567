"""The Gaussian of a linear model as part of a model file. Whatever decodes is safe for the native loops."""

from __future__ import annotations

from functools import partial
from typing import Annotated, NamedTuple

import numpy as np

from scwlearn._native import AVERAGE_STATE, LANE_MULTIPLE, SCALARS
from scwlearn._util.json_fields import Check, Count, OneOf, Range
from scwlearn.files.codec import FLOAT64, LARGEST, SMALLEST, ArrayReader, Arrays, check_range
from scwlearn.files.json_reader import InvalidModelFile, reject
from scwlearn.learning.config import LearnerConfig, check_setting
from scwlearn.learning.growing import allowed_covariances
from scwlearn.model.average import LAG_SCALE, LATEST_MISTAKES, Average
from scwlearn.model.covariance import Array, Covariance
from scwlearn.model.covariances import COVARIANCE_NAMES, covariance
from scwlearn.model.gaussian import GROWTH, ROUNDS, SPREAD_SCALE, Gaussian

# Class indices are kept in 31 bits.
MAX_CLASSES = 2**31 - 1
# In a model without weights, no array backs the classes, and each of them takes memory as soon as they are used.
_MOST_WITHOUT_WEIGHTS = 4096

#: The variance of the prior, with the bounds of the setting.
InitialVariance = Annotated[float, Check(partial(check_setting, "initial_variance"))]


class StoredGaussian(NamedTuple):
    """The JSON of a Gaussian."""

    covariance: Annotated[str, OneOf(COVARIANCE_NAMES)]
    initial_variance: InitialVariance
    size: Count
    lanes: Annotated[int, Range(1, MAX_CLASSES)]
    classes: Annotated[int, Range(0, MAX_CLASSES)]


def encode_gaussian(gaussian: Gaussian, arrays: Arrays) -> StoredGaussian:
    """Add the arrays to `arrays` and return the rest."""
    arrays |= {"memory": gaussian.memory, "scalars": gaussian.scalars}
    if gaussian.average is not None:
        arrays |= {"lag": gaussian.average.lag, "average_state": gaussian.average.state}
    return StoredGaussian(
        covariance=gaussian.covariance.name,
        initial_variance=gaussian.initial_variance,
        size=gaussian.size,
        lanes=gaussian.lanes,
        classes=gaussian.classes,
    )


def decode_gaussian(
    stored: StoredGaussian, path: str, arrays: ArrayReader, config: LearnerConfig, *, binary: bool
) -> Gaussian:
    """Return the Gaussian of a learner with this configuration."""
    _, prior, size, lanes, classes = stored
    if stored.covariance not in (allowed := allowed_covariances(config)):
        reject(f"{path}.covariance", stored.covariance, f"{' or '.join(map(repr, allowed))}, as the settings say")
    form = covariance(stored.covariance, shared=config.shared_covariance and not binary)
    if lanes != 1 if binary else lanes % LANE_MULTIPLE:
        reject(f"{path}.lanes", lanes, "1" if binary else f"a multiple of {LANE_MULTIPLE}")
    if size == 0 and lanes > _MOST_WITHOUT_WEIGHTS:
        reject(f"{path}.lanes", lanes, f"at most {_MOST_WITHOUT_WEIGHTS} in a model without weights")
    if not binary <= classes <= lanes:
        reject(f"{path}.classes", classes, f"an integer from {int(binary)} to {lanes}")
    memory = decode_memory(arrays, "memory", form, size, lanes)
    sets = 1 if binary or config.multi_class == "joint" else lanes
    scalars = decode_scalars(arrays, sets)
    average = _decode_average(arrays, size, lanes, sets) if config.averages else None
    return Gaussian(form, prior, memory, scalars, np.array([classes], dtype=np.int64), average)


def _decode_average(arrays: ArrayReader, size: int, lanes: int, sets: int) -> Average:
    lag = arrays.take("lag", FLOAT64, (size, lanes))
    state = arrays.take("average_state", FLOAT64, (sets, AVERAGE_STATE))
    check_range("average_state", state, -LARGEST, LARGEST, "value must be finite")
    check_range("average_state", state, 0, LARGEST, "mistakes must be >= 0", slice(None), slice(LATEST_MISTAKES, None))
    if not state[:, LAG_SCALE].all():
        raise InvalidModelFile("array 'average_state': the scale of the lag must not be 0")
    return Average(lag, state)


def decode_memory(arrays: ArrayReader, name: str, form: Covariance, size: int, lanes: int = 1) -> Array:
    """Return weights and Sigma in the layout of the covariance."""
    memory: Array = arrays.take(name, FLOAT64, form.shape(size, lanes))
    try:
        form.check(memory, size)
    except ValueError as error:
        raise InvalidModelFile(f"array {name!r}: {error}") from None
    return memory


def decode_scalars(arrays: ArrayReader, rows: int) -> Array:
    """Return the scalars of each lane."""
    scalars: Array = arrays.take("scalars", FLOAT64, (rows, SCALARS))
    every = slice(None)
    for column, what in ((SPREAD_SCALE, "scale of Sigma"), (GROWTH, "growth of Sigma")):
        check_range("scalars", scalars, SMALLEST, LARGEST, f"{what} must be a finite number > 0", every, column)
    check_range("scalars", scalars, 0, LARGEST, "round count must be a finite number >= 0", every, ROUNDS)
    return scalars
