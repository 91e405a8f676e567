"""Values, weights and parameters that are hard on the numbers of a model."""

from __future__ import annotations

import math
from random import Random

import numpy as np
from numpy.typing import NDArray

from scwlearn.rules import Parameter, Rule

Array = NDArray[np.float64]

# The largest values that rows may hold.
LARGEST = 1e150


def draw_parameters(random: Random, rule: Rule) -> dict[str, float]:
    """Return parameters of a rule, some of them next to their bounds."""
    return {parameter.name: _draw_parameter(random, parameter) for parameter in rule.parameters}


def _draw_parameter(random: Random, parameter: Parameter) -> float:
    kind = random.randrange(4)
    if kind == 0:
        return parameter.default
    if kind == 1:
        return random.choice(parameter.grid or (parameter.default,))
    if parameter.high == math.inf:
        return math.exp(random.uniform(*((-690.0, 690.0) if kind == 2 else (-28.0, 28.0))))
    part = (parameter.high - parameter.low) * 10.0 ** random.uniform(-16, 0)
    value = parameter.low + part if kind == 2 else parameter.high - part
    return value if parameter.low < value < parameter.high else parameter.default


def draw_extreme_values(random: Random, rows: int, features: int) -> Array:
    """Return values of all sizes that rows may hold, alone and together, among them many zeros and repeated rows."""
    numbers = np.random.default_rng(random.getrandbits(64))
    values: Array = numbers.normal(size=(rows, features))
    kind = random.randrange(7)
    if kind < 3:
        values *= 10.0 ** numbers.uniform(-150, 149, size=[(rows, features), (rows, 1), (1, features)][kind])
    elif kind == 3:
        values = np.tile(values[:1] * 10.0 ** random.uniform(-150, 149), (rows, 1))
    elif kind == 4:
        values = np.where(numbers.random(values.shape) < 0.5, 10.0 ** random.uniform(-300, 149), values)
    elif kind == 5:
        values *= 10.0 ** numbers.choice([-300, -200, -150, -100, -8, 0, 8, 100, 149], size=values.shape)
    else:
        values = np.tile(values[:1], (rows, 1)) * 10.0 ** numbers.choice([0, 0, 0, 0, -140, 140], size=(rows, 1))
    values[numbers.random(values.shape) < random.choice([0.0, 0.3, 0.8])] = 0.0
    return np.clip(values, -LARGEST, LARGEST)


def draw_sample_weights(random: Random, rows: int) -> Array | None:
    """Return sample weights of all sizes, some of them 0; None for none."""
    numbers = np.random.default_rng(random.getrandbits(64))
    kind = random.randrange(5)
    if kind == 0:
        return None
    if kind == 1:
        return np.full(rows, 10.0 ** random.uniform(-100, 100))
    if kind == 2:
        return np.asarray(10.0 ** numbers.uniform(-100, 100, rows))
    if kind == 3:
        return np.asarray(10.0 ** numbers.uniform(-12, 12, rows))
    return numbers.choice([0.0, 1e-100, 1e-12, 0.5, 1.0, 2.0, 1e12, 1e100], rows)
