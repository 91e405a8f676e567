"""Weights from the fields of a file, all of which are looked at before they are taken for weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn.data.labels import as_labels
from scwlearn.export.weights import Array, Weights
from scwlearn.runs.trained_model import checked_schema

# No weight or variance is larger: products of them are to be numbers.
_LARGEST = 1e100
_KNOWN = {f.name for f in fields(Weights)}


def checked_weights(told: Mapping[str, Any], where: str) -> Weights:
    """The weights that fields say, whose names may end with _ as scikit-learn's do; a ValueError says what is wrong.

    Fields that weights do not have are left out.
    """
    given = {name.removesuffix("_"): value for name, value in told.items() if value is not None}
    for name in ("classes", "coef"):
        if name not in given:
            raise ValueError(f"{where} has no {name}; weights are classes, coef, and perhaps intercept and variance")
    labels = _labels(given["classes"], where)
    lines = 1 if len(labels) == 2 else len(labels)
    coef = _numbers(given["coef"], "coef", where)
    coef = coef[np.newaxis] if coef.ndim == 1 else coef
    if coef.ndim != 2 or len(coef) != lines:
        shape = f"({lines}, features)"
        raise ValueError(f"{where}: coef must be of shape {shape} for {len(labels)} classes, got {coef.shape}")
    shapes = {"intercept": (lines,), "variance": coef.shape, "intercept_variance": (lines,)}
    arrays: dict[str, Any] = {
        name: _shaped(given[name], name, shape, where) for name, shape in shapes.items() if name in given
    }
    rest: dict[str, Any] = {name: value for name, value in given.items() if name in _KNOWN and name not in shapes}
    rest |= {"classes": labels, "coef": coef}
    _check_rest(rest, coef.shape[1], where)
    if "calibration" in rest:
        rest["calibration"] = _numbers(rest["calibration"], "calibration", where)
    return _in_order(Weights(**rest, **arrays))


def _in_order(weights: Weights) -> Weights:
    """With the classes in the order of their labels."""
    order: NDArray[np.intp] = np.argsort(np.array(weights.classes), kind="stable")
    if (order == np.arange(len(order))).all():
        return weights
    turned: dict[str, Any] = {"classes": [weights.classes[i] for i in order]}
    for name in ("coef", "intercept", "variance", "intercept_variance"):
        array = getattr(weights, name)
        if array is not None and len(order) > 2:
            turned[name] = array[order]
        elif array is not None and "variance" not in name:
            # Of two classes the line is the second's, against the first.
            turned[name] = -array
    # The curve was drawn for the other order.
    return replace(weights, **turned, calibration=None)


def _labels(classes: Any, where: str) -> list[Any]:
    try:
        labels: list[Any] = as_labels(classes).tolist()
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}: classes: {error}") from None
    if len(set(labels)) < len(labels) or len(labels) < 2:
        raise ValueError(f"{where}: classes must be at least two different labels, got {labels!r:.100}")
    return labels


def _check_rest(told: dict[str, Any], width: int, where: str) -> None:
    names = told.get("features")
    if names is not None and (
        not isinstance(names, list) or len(names) != width or len({str(name) for name in names}) < width
    ):
        raise ValueError(f"{where}: features must be {width} different names, one for each column of coef")
    if names is not None:
        told["features"] = [str(name) for name in names]
    for name, kind in (("parameters", dict), ("settings", dict), ("algorithm", str), ("data", dict), ("counts", list)):
        if name in told and not isinstance(told[name], kind):
            raise ValueError(f"{where}: {name} must be a {kind.__name__}, got {told[name]!r:.60}")
    variance = told.get("initial_variance", 1.0)
    if isinstance(variance, bool) or not isinstance(variance, int | float):
        raise ValueError(f"{where}: initial_variance must be a number, got {variance!r:.60}")
    counts = told.get("counts", [0, 0, 0])
    if len(counts) != 3 or not all(type(count) is int and 0 <= count < 2**62 for count in counts):
        raise ValueError(f"{where}: counts must be three whole numbers, got {counts!r:.60}")
    if "data" in told:
        try:
            checked_schema(told["data"])
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None


def _numbers(value: Any, name: str, where: str) -> Array:
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{where}: {name} must hold numbers, and as many in each line") from None
    known = array[~np.isnan(array)] if "variance" in name else array
    if not (np.abs(known) <= _LARGEST).all():
        raise ValueError(f"{where}: {name} must hold finite numbers of at most {_LARGEST:g} in size")
    return array


def _shaped(value: Any, name: str, shape: tuple[int, ...], where: str) -> Array:
    array = _numbers(value, name, where)
    if name == "intercept" and array.ndim == 0:
        # As scikit-learn has it where none is fitted.
        array = np.full(shape, array)
    if array.ndim < len(shape) == 2:
        array = array[np.newaxis]
    if array.shape != shape:
        raise ValueError(f"{where}: {name} must be of shape {shape}, got {array.shape}")
    if "variance" in name and (array <= 0).any():
        raise ValueError(f"{where}: {name} must be positive, got {np.nanmin(array):g}")
    return array
