"""What a scikit-learn class of each rule takes: the rule's own parameters, then those that all share.

Only the standard library is imported here, because the build writes the type stub of the classes from this.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from textwrap import indent
from typing import Any

from scwlearn.rules import WEIGHT_MEANINGS, Rule, all_rules, estimator_names


@dataclass(frozen=True)
class Setting:
    """A parameter of an estimator: its name, type, default and meaning."""

    name: str
    kind: str
    default: object
    meaning: str


_PRIOR = Setting("initial_variance", "float", 1.0, "The prior is N(0, initial_variance I).")
_SECOND_ORDER = (
    Setting(
        "covariance",
        "str",
        "auto",
        'How Sigma is kept: "full", "diagonal", "diagonal-drop" (variances fall more slowly), "identity" (it '
        'never moves), or "auto": full while there are few features and not too many classes, else the diagonal that '
        "suits the rule. `covariance_kind_` says which it became.",
    ),
    _PRIOR,
    Setting(
        "variance_floor",
        "float",
        0.0,
        "The part of initial_variance below which no variance falls, from 0 on and below 1: more than 0 for streams "
        "that change.",
    ),
)
_MULTI_CLASS = Setting(
    "multi_class",
    "str",
    "joint",
    'With more than two classes: "joint" moves the class of an example against its best rival, "ovr" learns each class '
    "against all others.",
)
_SHARED_COVARIANCE = Setting(
    "shared_covariance", "bool", False, "Whether all classes share one Sigma, with more than two and joint steps."
)
_RIVALS = Setting(
    "rivals",
    "str",
    "max",
    'Which classes a joint step moves away from a mistaken example: the best rival ("max"), or all that scored no less '
    'than its own, alike ("uniform") or by how much more they scored ("proportional").',
)
_CLASS_WEIGHT = Setting(
    "class_weight",
    "dict | str | None",
    None,
    'What the examples of each class weigh: a dict by label, or "balanced" for n/(k n_y), counted as they come, with n '
    "examples of k classes so far and n_y of its own.",
)
_KERNEL = (
    Setting(
        "kernel",
        "str | Callable",
        "rbf",
        '"linear", "rbf", "poly", "sigmoid", "laplacian", "cosine", "precomputed" (X is a kernel matrix), or a '
        "function of two matrices that returns the kernels of their rows.",
    ),
    Setting(
        "gamma",
        "float | str",
        "scale",
        'For rbf, poly, sigmoid and laplacian: a number, "scale" for 1/(n_features X.var()) of the first batch, or '
        '"auto" for 1/n_features. `gamma_` says what it became.',
    ),
    Setting("degree", "float", 3, "For poly."),
    Setting("coef0", "float", 1.0, "For poly and sigmoid."),
    Setting(
        "budget",
        "int | None",
        None,
        "How many examples the support may have; when it is full, all others are projected on their span. None: as "
        "many as it takes.",
    ),
    Setting(
        "tolerance",
        "float | None",
        None,
        "An example is a combination of others if less than this part of its squared length is its own. None: 1e-12, "
        "or 0.01 with a budget.",
    ),
    Setting(
        "max_support", "int", 20_000, "Without a budget, a larger support is refused: memory grows with its square."
    ),
)
_SCALE = Setting(
    "scale",
    "bool",
    False,
    "Whether to divide each feature by the root of the mean square of its values so far, zeros left out.",
)
_INTERCEPT = Setting(
    "fit_intercept", "bool", True, "Whether to learn a constant too, as the weight of a feature that is 1."
)
_KERNEL_INTERCEPT = Setting("fit_intercept", "bool", True, "Whether to learn a constant too: it adds 1 to the kernel.")
_SHARED = (
    Setting("n_epochs", "int", 1, "How often `fit` goes over the data."),
    Setting("shuffle", "bool", False, "Whether `fit` goes over the data in a new random order in each epoch."),
    Setting("random_state", "int | RandomState | None", None, "The seed for shuffling."),
)
_COVARIANCE_OF_STREAMS = (
    'How Sigma is kept: "full", "diagonal", "diagonal-drop" (variances fall more slowly), "identity" (it never moves), '
    'or "auto": the diagonal that suits the rule.'
)
_STREAM = (
    Setting("max_features", "int | None", None, "How many features there may be; None for any number."),
    Setting(
        "overflow",
        "str",
        "drop",
        'What becomes of more: "drop" forgets the features that are known least, "hash" lets several share a weight.',
    ),
)


def settings(rule: Rule) -> tuple[Setting, ...]:
    """The parameters of the linear estimator of a rule, in order."""
    second_order = (*_SECOND_ORDER, _MULTI_CLASS, _SHARED_COVARIANCE)
    first_order = (_MULTI_CLASS, _RIVALS) if rule.has_rivals else (_MULTI_CLASS,)
    return (
        _own(rule) + (second_order if rule.order == 2 else first_order) + (_CLASS_WEIGHT, _SCALE, _INTERCEPT, *_SHARED)
    )


def stream_settings(rule: Rule) -> tuple[Setting, ...]:
    """Those of its classifier of streams."""
    shared = {setting.name for setting in _SHARED}
    taken = (setting for setting in settings(rule) if setting.name not in shared)
    # How many features will come is not known: "auto" is never full.
    own = (replace(s, meaning=_COVARIANCE_OF_STREAMS) if s.name == "covariance" else s for s in taken)
    return (*own, *_STREAM)


def kernel_settings(rule: Rule) -> tuple[Setting, ...]:
    """Those of its kernel estimator."""
    prior = (_PRIOR,) if rule.order == 2 else ()
    several = (_MULTI_CLASS, _RIVALS) if rule.has_rivals else (_MULTI_CLASS,)
    return _own(rule) + _KERNEL + prior + several + (_CLASS_WEIGHT, _KERNEL_INTERCEPT, *_SHARED)


def _own(rule: Rule) -> tuple[Setting, ...]:
    return tuple(Setting(p.name, "float", p.default, _bounded(p.meaning, p.low, p.high)) for p in rule.parameters)


def _bounded(meaning: str, low: float, high: float) -> str:
    return f"{meaning} Strictly between {low:g} and {high:g}."


def initializer(
    name: str, taken: tuple[Setting, ...], then: Callable[[Any], None] | None = None
) -> Callable[..., None]:
    """An __init__ that sets an attribute for each setting, and then does what else there is to do."""
    defaults = {setting.name: setting.default for setting in taken}

    def __init__(self: Any, **given: Any) -> None:
        for argument in given:
            if argument not in defaults:
                raise TypeError(f"{name} has no parameter {argument!r}; it has {', '.join(defaults)}")
        for parameter, default in defaults.items():
            setattr(self, parameter, given.get(parameter, default))
        if then is not None:
            then(self)

    __init__.__qualname__ = name
    # scikit-learn and River read the parameters of a model from here.
    __init__.__signature__ = signature(taken)  # type: ignore[attr-defined]
    return __init__


def signature(taken: tuple[Setting, ...]) -> inspect.Signature:
    """The signature of an estimator's __init__."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    own = [inspect.Parameter(s.name, keyword, default=s.default, annotation=s.kind) for s in taken]
    return inspect.Signature([inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD), *own])


_CLASSES = """classes_ : ndarray of shape (n_classes,)
    The labels known so far, in order; `partial_fit` adds those that it has not seen.
"""
_WEIGHTS = """coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
    The mean weights; of two classes those of the second.
intercept_ : ndarray of shape (1,) or (n_classes,)
    The mean constants; 0 without `fit_intercept`.
"""
_UNCERTAINTY = """variance_ : ndarray of shape (1, n_features) or (n_classes, n_features)
    The variance of each weight: small where it is sure.
covariance_ : ndarray of shape (n_features, n_features) or (n_classes, n_features, n_features)
    Sigma; only with a full covariance.
covariance_kind_ : str
    What `covariance` became.
"""
_SUPPORT = """n_support_ : int
    How many examples the support has.
support_vectors_ : {ndarray, sparse matrix} of shape (n_support, n_features)
    The examples in whose span the model lies; not with a precomputed kernel.
support_ : ndarray of shape (n_support,)
    Their columns, with a precomputed kernel.
dual_coef_ : ndarray of shape (1, n_support) or (n_classes, n_support)
    The mean as a combination of them; of two classes that of the second.
gamma_ : float
    What `gamma` became, if the kernel takes it.
"""
_COUNTS = """n_features_in_ : int
    How many features an example has.
feature_names_in_ : ndarray of shape (n_features,)
    Their names, where X was a data frame with names that are strings.
n_seen_ : int
    Examples learned from, each epoch counted.
n_mistakes_ : int
    Examples that were classified wrongly just before they were learned from.
n_updates_ : int
    Examples that changed the model.
"""
_LINEAR_EXAMPLE = """>>> from sklearn.datasets import load_breast_cancer
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
>>> model = {name}(gamma=2.0).fit(X, y)
>>> model.score(X, y) > 0.9
True
"""
_RIVER_EXAMPLE = """>>> from river import datasets, evaluate, metrics
>>> from scwlearn.river import {name}
>>> evaluate.progressive_val_score(datasets.Phishing(), {name}(), metrics.Accuracy()).get() > 0.7
True
"""
_ATTRIBUTES = """
Attributes
----------
"""


def docstring(rule: Rule) -> str:
    """The documentation of the linear estimator."""
    attributes = _CLASSES + _WEIGHTS + (_UNCERTAINTY if rule.order == 2 else "") + _COUNTS
    return _documented(rule, "linear", settings(rule), attributes, _LINEAR_EXAMPLE.format(name=rule.estimator))


def kernel_docstring(rule: Rule) -> str:
    """The documentation of the kernel estimator."""
    example = _KERNEL_EXAMPLE.format(name=rule.kernel_estimator)
    return _documented(rule, "kernel", kernel_settings(rule), _CLASSES + _SUPPORT + _COUNTS, example)


def stream_docstring(rule: Rule) -> str:
    """The documentation of the classifier of streams that River takes."""
    example = _RIVER_EXAMPLE.format(name=rule.estimator)
    return _documented(rule, "linear", stream_settings(rule), "", example)


def _documented(rule: Rule, kind: str, taken: tuple[Setting, ...], attributes: str, example: str) -> str:
    parameters = "\n".join(f"{s.name} : {s.kind}, default={s.default!r}\n    {s.meaning}" for s in taken)
    formula = indent(inspect.getdoc(rule.function) or rule.title, "    ")
    return f"""{rule.title}: an online {kind} classifier.

The step::

{formula}

The weight of an example: {WEIGHT_MEANINGS[rule.weight]}.

Parameters
----------
{parameters}
{attributes and _ATTRIBUTES + attributes}
References
----------
{rule.cite}.

Examples
--------
{example}"""


def stub() -> str:
    """The type stub of scwlearn.estimators: every class with its signature."""
    lines = ["from collections.abc import Callable", "from typing import Any", ""]
    lines += ["from numpy.random import RandomState", ""]
    lines += ["from scwlearn.estimators.linear import LinearClassifier, SecondOrderClassifier"]
    lines += ["from scwlearn.estimators.kernel import KernelClassifier, SecondOrderKernelClassifier", ""]
    for rule in all_rules():
        linear, kernel = ("LinearClassifier", "KernelClassifier")
        if rule.order == 2:
            linear, kernel = ("SecondOrderClassifier", "SecondOrderKernelClassifier")
        for name, base, taken in (
            (rule.estimator, linear, settings(rule)),
            (rule.kernel_estimator, kernel, kernel_settings(rule)),
        ):
            arguments = ", ".join(f"{s.name}: {_annotation(s)} = {s.default!r}" for s in taken)
            lines += [f"class {name}({base}):", f"    def __init__(self, *, {arguments}) -> None: ...", ""]
    lines += [f"__all__ = {estimator_names()!r}"]
    return "\n".join(lines) + "\n"


def _annotation(setting: Setting) -> str:
    return setting.kind.replace("Callable", "Callable[..., object]").replace("dict", "dict[Any, float]")
