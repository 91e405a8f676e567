"""The estimator class of a rule, made from the declarations of the rule and of the settings."""

from __future__ import annotations

from scwlearn.estimators.base import ESTIMATORS, OnlineClassifier
from scwlearn.learning.settings import Face
from scwlearn.learning.signatures import docstring, initializer
from scwlearn.rules import Rule


def make_class(rule: Rule, face: Face, base: type[OnlineClassifier]) -> type[OnlineClassifier]:
    """Return the estimator class of a rule."""
    name = rule.kernel_estimator if face is Face.KERNEL_ESTIMATOR else rule.estimator
    contents = {"__doc__": docstring(face, rule), "__module__": ESTIMATORS, "_rule": rule}
    return type(name, (base,), {"__init__": initializer(name, face, rule), **contents})
