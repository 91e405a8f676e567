"""The state of a model, for comparison bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from scwlearn._native import Calibration, Mixture, Vocabulary
from scwlearn.rules import Rule


def everything(value: Any, path: str = "", found: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the state of an object as a flat dict by path."""
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
    elif isinstance(value, Calibration | Mixture):
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


def held(model: Any) -> dict[str, Any]:
    """Return the attributes of an object, without spare room and cached handles."""
    held = model.__getstate__() or {}
    # scikit-learn adds its version to the state.
    return {name: item for name, item in held.items() if name != "_sklearn_version"}
