"""Long streams that are hard on a covariance, within the range of sensible parameters."""

from __future__ import annotations

import math
from collections.abc import Iterator
from random import Random

import numpy as np
from numpy.typing import NDArray

from scwlearn import Learner
from scwlearn.rules import Rule

Array = NDArray[np.float64]


def draw_mild_parameters(random: Random, rule: Rule) -> dict[str, float]:
    """Return parameters of a rule within the range of sensible ones."""
    found = {}
    for parameter in rule.parameters:
        free = parameter.high == math.inf
        value = 10.0 ** random.uniform(-3, 3) if free else random.uniform(parameter.low, parameter.high)
        found[parameter.name] = random.choice([parameter.default, value])
    return found


def draw_hard_rows(random: Random, rows: int, features: int) -> Array:
    """Return collinear, badly scaled, sparse or repeated rows; most values are between 1e-10 and 1e10."""
    numbers = np.random.default_rng(random.getrandbits(64))
    values: Array = numbers.normal(size=(rows, features))
    kind = random.randrange(12)
    if kind in (0, 1):
        # One common factor, or few, and little else.
        factors = 1 if kind == 0 else random.randint(1, max(1, features - 1))
        common = numbers.normal(size=(rows, factors)) @ numbers.normal(size=(factors, features))
        values = 10.0 ** random.uniform(-4, 8) * (common + 10.0 ** random.uniform(-8, 0) * values)
    elif kind == 2:
        values *= 10.0 ** numbers.uniform(-8, 8, features)
    elif kind == 3:
        values *= 10.0 ** numbers.uniform(-6, 6, size=(rows, 1))
    elif kind == 4:
        # For a while, some features are never seen.
        period = random.randint(1, rows)
        seen = numbers.random((rows // period + 1, features)) < 0.4
        values *= np.repeat(seen, period, axis=0)[:rows]
    elif kind == 5:
        values = values[numbers.integers(0, min(rows, 3), rows)]
    elif kind == 6:
        values = np.round(4 * values)
    elif kind == 7:
        # Each second feature is nearly the one before it.
        pairs = values[:, : features - features % 2 : 2]
        values[:, 1::2] = pairs * (1 + 10.0 ** random.uniform(-14, -4) * values[:, 1::2])
    elif kind == 8:
        values = np.tile(values[:1] * 10.0 ** random.uniform(-6, 6), (rows, 1))
    elif kind == 9:
        # Nearly all of the range of the input, one end after the other.
        values *= (10.0 ** random.uniform(1, 145)) ** np.resize([1.0, -1.0], rows)[:, np.newaxis]
    elif kind == 10:
        # After correlated rows, one feature becomes large, so that variances fall by many orders within some rows.
        values += numbers.normal(size=(rows, 1))
        values[random.randint(0, rows) :, random.randrange(features)] *= 10.0 ** random.uniform(4, 10)
    if random.random() < 0.2:
        values[numbers.random(rows) < 0.1] = 0.0
    return values


def draw_adversarial_rows(random: Random, rows: int, sigma: Array) -> Array:
    """Return rows along the axes of Sigma, with variances of about 1e-4 to 1e4."""
    numbers = np.random.default_rng(random.getrandbits(64))
    variances, axes = np.linalg.eigh(sigma)
    sizes = (
        10.0 ** numbers.uniform(-2, 2, rows)
        / np.sqrt(np.maximum(variances, variances[-1] * 1e-16))[chosen := numbers.integers(0, len(variances), rows)]
    )
    found: Array = axes.T[chosen] * np.clip(sizes, 1e-10, 1e10)[:, np.newaxis]
    return found


def draw_signs(random: Random, x: Array) -> NDArray[np.int64]:
    """Return labels -1 and +1 of rows: mostly linear, with some or many wrong, or contradicting one after the other."""
    numbers = np.random.default_rng(random.getrandbits(64))
    if random.random() < 0.2:
        return np.resize([1, -1], len(x))
    sizes = np.abs(x).max(axis=0, initial=1e-300)
    signs = np.where((x / np.where(sizes > 0, sizes, 1.0)) @ numbers.normal(size=x.shape[1]) >= 0, 1, -1)
    return np.where(numbers.random(len(x)) < random.choice([0.0, 0.02, 0.2, 0.5]), -signs, signs)


def draw_mild_weights(random: Random, rows: int) -> Array | None:
    """Return sample weights from 0.01 to 100, or none."""
    if random.random() < 0.7:
        return None
    numbers = np.random.default_rng(random.getrandbits(64))
    return np.asarray(10.0 ** numbers.uniform(-2, 2, rows))


def draw_batches(
    random: Random, rows: int, features: int, learner: Learner, most: int = 2000
) -> Iterator[tuple[Array, NDArray[np.int64]]]:
    """Yield batches of random sizes, with labels -1 and +1; some are made to be hard on this learner of one Sigma."""
    while rows > 0:
        count = min(rows, most, random.choice([1, 7, 100, random.randint(1, 2000), rows // 2 + 1]))
        rows -= count
        if learner.model is not None and random.random() < 0.2:
            x = draw_adversarial_rows(random, count, learner.model.matrix()[:features, :features])
        else:
            x = draw_hard_rows(random, count, features)
        yield x, draw_signs(random, x)
