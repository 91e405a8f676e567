"""What learners for several classes are told, linear or with a kernel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scwlearn._util.checks import check_choice
from scwlearn.rules import Rule
from scwlearn.rules.native import OwnRule

Array = NDArray[np.float64]

#: How classes learn.
MULTI_CLASS = ("joint", "ovr")
#: Who shares the Perceptron's step against the class of a row.
RIVALS = ("max", "uniform", "proportional")


def checked_rivals(rivals: str, rule: Rule | OwnRule, multi_class: str) -> str:
    """One of RIVALS that the rule can have."""
    perceptron = isinstance(rule, Rule) and rule.name == "perceptron"
    if check_choice("rivals", rivals, RIVALS) != "max" and not (perceptron and multi_class == "joint"):
        raise ValueError(f'rivals={rivals!r} is for the joint Perceptron; all else takes "max"')
    return rivals


def check_scores(scores: Array, shape: tuple[int, int]) -> None:
    """An error unless scores of so many rows and classes can be written there."""
    _check_out("scores_out", scores)
    if scores.ndim != 2 or scores.shape[0] != shape[0] or scores.shape[1] < shape[1]:
        raise ValueError(f"scores_out must have the shape {shape} or more columns, got {scores.shape}")


def check_variances(variances: Array, rows: int) -> None:
    """An error unless a variance of each of so many rows can be written there."""
    _check_out("variances_out", variances)
    if variances.shape != (rows,):
        raise ValueError(f"variances_out must have the shape ({rows},), got {variances.shape}")


def _check_out(name: str, out: Array) -> None:
    if not (isinstance(out, np.ndarray) and out.dtype == np.float64 and out.flags.writeable):
        raise TypeError(f"{name} must be a NumPy array of float64 that can be written to")
