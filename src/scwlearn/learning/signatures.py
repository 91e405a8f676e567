"""Constructors, docstrings and the type stub of the classes that are generated for each rule.

Only the standard library is imported here, because the build writes the type stub.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from textwrap import indent
from typing import Any

from scwlearn.learning.settings import Face, arguments_for, parameter_section, signature
from scwlearn.rules import AUTO, WEIGHT_MEANINGS, Rule, all_rules, estimator_names


def initializer(name: str, face: Face, rule: Rule, then: Callable[[Any], None] | None = None) -> Callable[..., None]:
    """Return an __init__ that sets an attribute for each argument, and then calls `then`."""
    arguments = arguments_for(face, rule)
    defaults = {argument.name: argument.default for argument in arguments}

    def __init__(self: Any, **given: Any) -> None:
        for argument in given:
            if argument not in defaults:
                raise TypeError(f"{name} has no parameter {argument!r}; it has {', '.join(defaults)}")
        for argument, default in defaults.items():
            setattr(self, argument, given.get(argument, default))
        if then is not None:
            then(self)

    __init__.__qualname__ = name
    # scikit-learn and River read the parameters of a model from here.
    __init__.__signature__ = signature(arguments)  # type: ignore[attr-defined]
    return __init__


_CLASSES = """classes_ : ndarray of shape (n_classes,)
    The known labels, sorted; `partial_fit` adds new ones.
"""
_WEIGHTS = """coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
    The weights that predictions use; with two classes those of the second.
intercept_ : ndarray of shape (1,) or (n_classes,)
    The intercepts that go with them; 0 without `fit_intercept`.
"""
_UNCERTAINTY = """variance_ : ndarray of shape (1, n_features) or (n_classes, n_features)
    The variance of each weight.
covariance_ : ndarray of shape (n_features, n_features) or (n_classes, n_features, n_features)
    Sigma; only with a full covariance.
covariance_kind_ : str
    The form of Sigma that `covariance` resulted in.
"""
_SUPPORT = """n_support_ : int
    The number of support examples.
support_vectors_ : {ndarray, sparse matrix} of shape (n_support, n_features)
    The support examples; not with a precomputed kernel.
support_ : ndarray of shape (n_support,)
    Their columns, with a precomputed kernel.
dual_coef_ : ndarray of shape (1, n_support) or (n_classes, n_support)
    The mean as a combination of the support; with two classes that of the second.
gamma_ : float
    The number that `gamma` resulted in, if the kernel takes it.
"""
_MEMBERS = """member_weights_ : dict
    The weight of each member in the mixture, by what it is.
"""
_COUNTS = """n_features_in_ : int
    The number of features.
feature_names_in_ : ndarray of shape (n_features,)
    Their names, if X was a data frame with string column names.
n_seen_ : int
    Examples learned from, each epoch counted.
n_mistakes_ : int
    Examples that were misclassified just before they were learned from.
n_updates_ : int
    Examples that changed the model.
"""
_ESTIMATOR_EXAMPLE = """>>> from sklearn.datasets import load_breast_cancer
>>> from sklearn.pipeline import make_pipeline
>>> from sklearn.preprocessing import StandardScaler
>>> from scwlearn import {name}
>>> X, y = load_breast_cancer(return_X_y=True)
>>> model = make_pipeline(StandardScaler(), {name}())
>>> model.fit(X, y)[-1].n_seen_
569
"""
_KERNEL_EXAMPLE = """>>> from sklearn.datasets import make_moons
>>> from scwlearn import {name}
>>> X, y = make_moons(300, noise=0.1, random_state=0)
>>> model = {name}(gamma=2.0, random_state=1).fit(X, y)
>>> model.score(X, y) > 0.9
True
"""
_RIVER_EXAMPLE = """>>> from river import datasets, evaluate, metrics
>>> from scwlearn.river import {name}
>>> evaluate.progressive_val_score(datasets.Phishing(), {name}(), metrics.Accuracy()).get() > 0.7
True
"""


def docstring(face: Face, rule: Rule) -> str:
    """Return the docstring of the class of a rule: an estimator, a kernel estimator, or River's."""
    kernel = face is Face.KERNEL_ESTIMATOR
    example = {Face.ESTIMATOR: _ESTIMATOR_EXAMPLE, Face.KERNEL_ESTIMATOR: _KERNEL_EXAMPLE, Face.RIVER: _RIVER_EXAMPLE}
    attributes = ""
    if face is not Face.RIVER and rule.is_committee:
        attributes = f"\nAttributes\n----------\n{_CLASSES}{_MEMBERS}{_COUNTS}"
    elif face is not Face.RIVER:
        own = _SUPPORT if kernel else _WEIGHTS + (_UNCERTAINTY if rule.order == 2 else "")
        attributes = f"\nAttributes\n----------\n{_CLASSES}{own}{_COUNTS}"
    if rule.is_committee:
        return _committee_docstring(face, attributes, example[face].format(name=rule.estimator))
    return f"""{rule.title}: an online {"kernel" if kernel else "linear"} classifier.

Update rule::

{indent(inspect.getdoc(rule.function) or rule.title, "    ")}

Sample weight: {WEIGHT_MEANINGS[rule.weight]}.

Parameters
----------
{parameter_section(arguments_for(face, rule))}
{attributes}
References
----------
{rule.cite}.

Examples
--------
{example[face].format(name=rule.kernel_estimator if kernel else rule.estimator)}"""


def _committee_docstring(face: Face, attributes: str, example: str) -> str:
    return f"""Committee of linear classifiers: one pass, nothing to tune.

Several online classifiers learn from the same examples: on the features as they are, on comparable features, on the
direction of an example alone, and one that follows drift. Each is calibrated, and an online logistic regression mixes
their log-odds, so that those that predict best carry the answer. Scores are log-odds. See docs/committee.md.

Sample weight: each member's rule defines how it acts; the mixture counts the example that many times.

Parameters
----------
{parameter_section(arguments_for(face, AUTO))}
{attributes}
References
----------
{AUTO.cite}.

Examples
--------
{example}"""


def stub() -> str:
    """Return the type stub of scwlearn.estimators: every class with its signature."""
    lines = ["from collections.abc import Callable", "from typing import Any", ""]
    lines += ["from numpy.random import RandomState", ""]
    lines += ["from scwlearn.estimators.committee import CommitteeClassifier"]
    lines += ["from scwlearn.estimators.kernel import KernelClassifier, SecondOrderKernelClassifier"]
    lines += ["from scwlearn.estimators.linear import LinearClassifier, SecondOrderClassifier", ""]
    lines += _stub_class(AUTO.estimator, "CommitteeClassifier", Face.ESTIMATOR, AUTO)
    for rule in all_rules():
        order = "SecondOrder" if rule.order == 2 else ""
        for name, base, face in (
            (rule.estimator, f"{order}Classifier" if order else "LinearClassifier", Face.ESTIMATOR),
            (rule.kernel_estimator, f"{order}KernelClassifier", Face.KERNEL_ESTIMATOR),
        ):
            lines += _stub_class(name, base, face, rule)
    lines += [f"__all__ = {estimator_names()!r}"]
    return "\n".join(lines) + "\n"


def _stub_class(name: str, base: str, face: Face, rule: Rule) -> list[str]:
    typed = ", ".join(f"{a.name}: {_stub_annotation(a.annotation)} = {a.default!r}" for a in arguments_for(face, rule))
    return [f"class {name}({base}):", f"    def __init__(self, *, {typed}) -> None: ...", ""]


def _stub_annotation(annotation: str) -> str:
    return (
        annotation.replace("Callable", "Callable[..., object]")
        .replace("dict", "dict[Any, float]")
        .replace("list", "list[Any]")
    )
