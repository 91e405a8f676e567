"""Models to save, and a full comparison of models that does not use the code that saves them."""

import numpy as np
from scipy import sparse

import scwlearn
from scwlearn._native import Calibration, Vocabulary
from scwlearn.rules import Rule, find_rule

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


def everything(value, path="", found=None):
    """The state of an object as a flat dict by path, for comparison bit for bit."""
    found = {} if found is None else found
    if isinstance(value, np.ndarray) and value.dtype != object:
        found[path] = value.dtype.str, value.shape, value.tobytes()
    elif isinstance(value, np.ndarray):
        everything(value.tolist(), f"{path}:objects", found)
    elif sparse.issparse(value):
        parts = (value.shape, value.data, value.indices, value.indptr)
        everything(parts, f"{path}:{type(value).__name__}", found)
    elif isinstance(value, Vocabulary):
        most, hashed, kind, names, owners = value.__getstate__()
        everything((most, hashed, kind, list(names.items()), owners), f"{path}:names", found)
    elif isinstance(value, Calibration):
        everything(value.state, f"{path}:state", found)
    elif isinstance(value, Rule | type):
        found[path] = value.__name__ if isinstance(value, type) else value.name
    elif isinstance(value, dict):
        found[path] = len(value)
        for key, item in value.items():
            everything(item, f"{path}[{key!r}]", found)
    elif isinstance(value, list | tuple):
        found[path] = len(value)
        for i, item in enumerate(value):
            everything(item, f"{path}[{i}]", found)
    elif hasattr(value, "__dict__"):
        found[path] = type(value).__name__
        for key, item in held(value).items():
            everything(item, f"{path}.{key}", found)
    else:
        found[path] = type(value).__name__, value.hex() if isinstance(value, float) else value
    return found


def held(model):
    """The attributes of an object, without spare room and cached handles."""
    held = model.__getstate__() or {}
    # scikit-learn adds its version to the state.
    return {name: item for name, item in held.items() if name != "_sklearn_version"}


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
