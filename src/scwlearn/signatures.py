"""What a scikit-learn class of each rule takes: the rule's own parameters, then those that all share.

Only the standard library is imported here, because the build writes the type stub of the classes from this.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from textwrap import indent

from scwlearn.rules import Rule, all_rules


@dataclass(frozen=True)
class Setting:
    """A parameter of an estimator: its name, type, default and meaning."""

    name: str
    kind: str
    default: object
    meaning: str


_SECOND_ORDER = (
    Setting(
        "covariance",
        "str",
        "auto",
        'How Sigma is kept: "full", "diagonal", "diagonal-drop" (variances fall more slowly), "identity" (it '
        'never moves), or "auto": full while there are few features, else the diagonal that suits the rule. '
        "`covariance_kind_` says which it became.",
    ),
    Setting("initial_variance", "float", 1.0, "The prior is N(0, initial_variance I)."),
)
_SHARED = (
    Setting("fit_intercept", "bool", True, "Whether to learn a constant too, as the weight of a feature that is 1."),
    Setting("n_epochs", "int", 1, "How often `fit` goes over the data."),
    Setting("shuffle", "bool", False, "Whether `fit` goes over the data in a new random order in each epoch."),
    Setting("random_state", "int | RandomState | None", None, "The seed for shuffling."),
)


def settings(rule: Rule) -> tuple[Setting, ...]:
    """The parameters of the estimator of a rule, in order."""
    own = tuple(Setting(p.name, "float", p.default, _bounded(p.meaning, p.low, p.high)) for p in rule.parameters)
    return own + (_SECOND_ORDER if rule.order == 2 else ()) + _SHARED


def _bounded(meaning: str, low: float, high: float) -> str:
    return f"{meaning} Strictly between {low:g} and {high:g}."


def signature(rule: Rule) -> inspect.Signature:
    """The signature of the estimator's __init__."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    own = [inspect.Parameter(s.name, keyword, default=s.default, annotation=s.kind) for s in settings(rule)]
    return inspect.Signature([inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD), *own])


def docstring(rule: Rule) -> str:
    """The estimator's documentation."""
    parameters = "\n".join(f"{s.name} : {s.kind}, default={s.default!r}\n    {s.meaning}" for s in settings(rule))
    second = (
        "variance_ : ndarray of shape (1, n_features)\n    The variance of each weight: small where it is sure.\n"
        "covariance_ : ndarray of shape (n_features, n_features)\n    Sigma; only with a full covariance.\n"
        "covariance_kind_ : str\n    What `covariance` became.\n"
    )
    formula = indent(inspect.getdoc(rule.function) or rule.title, "    ")
    return f"""{rule.title}: an online linear classifier.

The step::

{formula}

Parameters
----------
{parameters}

Attributes
----------
classes_ : ndarray of shape (2,)
    The labels; a score of 0 or more predicts the second.
coef_ : ndarray of shape (1, n_features)
    The mean weights.
intercept_ : ndarray of shape (1,)
    The mean constant; 0 without `fit_intercept`.
{second if rule.order == 2 else ""}n_features_in_ : int
    How many features an example has.
feature_names_in_ : ndarray of shape (n_features,)
    Their names, where X was a data frame with names that are strings.
n_seen_ : int
    Examples learned from, each epoch counted.
n_mistakes_ : int
    Examples that were classified wrongly just before they were learned from.
n_updates_ : int
    Examples that changed the model.

References
----------
{rule.cite}.

Examples
--------
>>> from sklearn.datasets import load_breast_cancer
>>> from sklearn.pipeline import make_pipeline
>>> from sklearn.preprocessing import StandardScaler
>>> from scwlearn import {rule.estimator}
>>> X, y = load_breast_cancer(return_X_y=True)
>>> model = make_pipeline(StandardScaler(), {rule.estimator}())
>>> model.fit(X, y)[-1].n_seen_
569
"""


def stub() -> str:
    """The type stub of scwlearn.estimators: every class with its signature."""
    lines = ["from numpy.random import RandomState", ""]
    lines += ["from scwlearn.classifiers import OnlineClassifier, SecondOrderClassifier", ""]
    for rule in all_rules():
        arguments = ", ".join(f"{s.name}: {s.kind} = {s.default!r}" for s in settings(rule))
        base = "OnlineClassifier" if rule.order == 1 else "SecondOrderClassifier"
        lines += [f"class {rule.estimator}({base}):"]
        lines += [f"    def __init__(self, *, {arguments}) -> None: ...", ""]
    lines += [f"__all__ = {[rule.estimator for rule in all_rules()]!r}"]
    return "\n".join(lines) + "\n"
