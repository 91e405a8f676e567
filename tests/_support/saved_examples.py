"""Models to save, and a full comparison of models that does not use the code that saves them."""

import numpy as np
from stress.model_state import everything as everything
from stress.model_state import held as held

import scwlearn
from scwlearn.rules import find_rule

ROWS, FEATURES = 90, 5

# Labels of each kind, in the order of their appearance, which is not sorted.
LABELS = {
    "str": np.array(["pear", "apple", "quince", "fig"]),
    "object": np.array(["pear", "apple", "quince", "a longer one"], dtype=object),
    "int": np.array([7, -3, 2**62, 0]),
    "small int": np.array([3, 1, 2, 0], dtype=np.int8),
    "float": np.array([7.0, -3.0, 2e9, 2.0]),
    "single": np.array([7.0, -3.0, 8.0, 2.0], dtype=np.float32),
    "bool": np.array([True, False]),
}


def rows_of(classes, seed=0, density=0.7):
    """Rows and class numbers; the last class appears after two thirds of the rows."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(ROWS, FEATURES)) * (rng.random((ROWS, FEATURES)) < density)
    numbers = (x @ rng.normal(size=(FEATURES, classes)) + 0.3 * rng.normal(size=(ROWS, classes))).argmax(axis=1)
    early = max(2, classes - 1)
    numbers[: 2 * ROWS // 3] %= early
    numbers[:early] = range(early)
    return x, numbers


def saved(model, directory):
    """The model after a round trip through a file."""
    path = directory / "some.model"
    scwlearn.save(model, path)
    return scwlearn.load(path)


def estimator(name, **settings):
    return getattr(scwlearn, name)(**settings)


def parameters_of(rule):
    """Parameters that differ from the defaults."""
    return {p.name: p.grid[0] if p.grid else p.default for p in find_rule(rule).parameters}
