"""Every setting of a model, declared once: name, type, bounds, default, help, and the interfaces that show it.

Constructors, scikit-learn signatures, command-line options, model files, merging, documentation and the type stub are
derived from these declarations. Only the standard library is imported here, because the build writes the type stub.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

from scwlearn.learning.setting import Face as Face
from scwlearn.learning.setting import Setting as Setting
from scwlearn.model.covariances import COVARIANCE_NAMES
from scwlearn.model.scales import SCALE_NAMES
from scwlearn.rules import OwnRule, Rule

LINEAR = Face.LEARNER | Face.STREAM | Face.RIVER | Face.ESTIMATOR | Face.COMMAND
ESTIMATORS = Face.ESTIMATOR | Face.KERNEL_ESTIMATOR
# One class per rule: these show only the settings that apply to their rule.
_PER_RULE = ESTIMATORS | Face.RIVER
_ALL_KERNEL = Face.KERNEL_LEARNER | Face.KERNEL_ESTIMATOR

# The hash has 32 bits, one of which is the sign.
_MOST_SLOTS = 2**31 - 1


def _second_order(rule: Rule) -> bool:
    return rule.order == 2


def _has_covariance(rule: Rule) -> bool:
    return rule.order == 2 or rule.is_committee


def _is_single(rule: Rule) -> bool:
    return not rule.is_committee


def _is_committee(rule: Rule) -> bool:
    return rule.is_committee


def _has_rivals(rule: Rule) -> bool:
    return rule.has_rivals


def _floor_conflict(rule: Rule | OwnRule, settings: Mapping[str, Any]) -> str | None:
    floor, first_order = settings["variance_floor"], isinstance(rule, Rule) and rule.order == 1
    if not floor or not (first_order or settings.get("covariance") == "identity"):
        return None
    reason = f"{rule.name} is a first-order rule" if isinstance(rule, Rule) and first_order else "{covariance=identity}"
    return f"{{variance_floor}} must be 0 where variances never fall ({reason}), got {floor!r}"


def _shared_conflict(rule: Rule | OwnRule, settings: Mapping[str, Any]) -> str | None:
    alone = settings["shared_covariance"] and settings["multi_class"] != "joint"
    return "{shared_covariance=True} needs {multi_class=joint}" if alone else None


def _rivals_conflict(rule: Rule | OwnRule, settings: Mapping[str, Any]) -> str | None:
    rivals = settings["rivals"]
    if rivals == "max" or (isinstance(rule, Rule) and rule.has_rivals and settings["multi_class"] == "joint"):
        return None
    return f"{{rivals={rivals}}} is for the joint Perceptron; other rules take {{rivals=max}}"


def _overflow_conflict(rule: Rule | OwnRule, settings: Mapping[str, Any]) -> str | None:
    slots = settings["max_features"]
    if isinstance(rule, Rule) and rule.is_committee and slots is not None and settings["overflow"] == "drop":
        return "a committee cannot drop features, as its members would drop different ones; use {overflow=hash}"
    if settings["overflow"] != "hash" or (slots is not None and slots <= _MOST_SLOTS):
        return None
    if slots is None:
        return "{overflow=hash} needs {max_features}, the number of slots to hash names into"
    return f"{{max_features}} must be at most {_MOST_SLOTS} with {{overflow=hash}}, got {slots}"


#: Every setting, in the order in which interfaces show them. The parameters of the rule come before.
SETTINGS = (
    Setting(
        "kernel",
        None,
        "rbf",
        '"linear", "rbf", "poly", "sigmoid", "laplacian", "cosine", "precomputed" (X is a kernel matrix), or a '
        "function of two matrices that returns the kernel matrix of their rows.",
        _ALL_KERNEL,
        annotated="str | Callable",
    ),
    Setting(
        "gamma",
        None,
        "scale",
        'For rbf, poly, sigmoid and laplacian: a number, "scale" for 1/(n_features X.var()) of the first batch, or '
        '"auto" for 1/n_features. `gamma_` holds the resulting number.',
        Face.KERNEL_ESTIMATOR,
        annotated="float | str",
    ),
    Setting("degree", None, 3, "Degree of the poly kernel.", Face.KERNEL_ESTIMATOR, annotated="float"),
    Setting(
        "coef0", None, 1.0, "Constant term of the poly and sigmoid kernels.", Face.KERNEL_ESTIMATOR, annotated="float"
    ),
    Setting(
        "budget",
        int,
        None,
        "Maximum number of support examples; once it is reached, further examples are projected onto their span. "
        "None for no limit.",
        _ALL_KERNEL,
        optional=True,
    ),
    Setting(
        "tolerance",
        float,
        None,
        "An example counts as a combination of the support if less than this fraction of its squared norm lies "
        "outside their span. None for 1e-12, or 0.01 with a budget.",
        _ALL_KERNEL,
        low=0.0,
        high=1.0,
        optional=True,
    ),
    Setting(
        "max_support",
        int,
        20_000,
        "Without a budget, raise an error beyond this many support examples: memory grows with the square.",
        _ALL_KERNEL,
    ),
    Setting(
        "covariance",
        str,
        "auto",
        'Form of Sigma: "full", "diagonal", "diagonal-drop" (variances fall more slowly), "identity" (never '
        'updated), or "auto": full up to 500 features and not too many classes, otherwise the diagonal that suits the '
        "rule.",
        LINEAR | Face.COMMITTEE,
        applies_to=_has_covariance,
        helps={
            Face.STREAM | Face.RIVER: 'Form of Sigma: "full", "diagonal", "diagonal-drop" (variances fall more '
            'slowly), "identity" (never updated), or "auto": full up to 500 features and not too many classes, then '
            "the diagonal that suits the rule.",
            Face.COMMAND: "Form of the covariance matrix; auto: full for few features, otherwise the diagonal that "
            "suits the algorithm.",
        },
        choices=("auto", *COVARIANCE_NAMES),
    ),
    Setting(
        "initial_variance",
        float,
        1.0,
        "Variance of each weight in the prior N(0, initial_variance I).",
        LINEAR | _ALL_KERNEL,
        applies_to=_second_order,
        helps={Face.COMMAND: "Variance of each weight in the prior."},
        # Products with any value that a row may hold stay finite.
        low=1e-100,
        high=1e100,
    ),
    Setting(
        "variance_floor",
        float,
        0.0,
        "Lower bound on each variance, as a fraction of the initial variance; keeps the model adaptive under drift.",
        LINEAR | Face.KERNEL_LEARNER,
        applies_to=_second_order,
        low=0.0,
        high=1.0,
        closed=True,
        native=True,
        conflict=_floor_conflict,
    ),
    Setting(
        "multi_class",
        str,
        "joint",
        'With more than two classes: "joint" moves the class of an example against its best rival; "ovr" trains each '
        "class against the rest.",
        LINEAR | _ALL_KERNEL | Face.COMMITTEE,
        helps={Face.COMMAND: "How more than two classes are trained: jointly, or each against the rest."},
        choices=("joint", "ovr"),
    ),
    Setting(
        "shared_covariance",
        bool,
        False,
        "With more than two classes: whether all classes share one Sigma (joint only).",
        LINEAR,
        applies_to=_second_order,
        helps={Face.COMMAND: "Share one Sigma among all classes."},
        conflict=_shared_conflict,
    ),
    Setting(
        "rivals",
        str,
        "max",
        'Classes that a joint step moves away from a misclassified example: the best rival ("max"), or all classes '
        'that scored no less than its own, equally ("uniform") or in proportion to the excess ("proportional").',
        (LINEAR | _ALL_KERNEL) & ~Face.COMMAND,
        applies_to=_has_rivals,
        choices=("max", "uniform", "proportional"),
        native=True,
        conflict=_rivals_conflict,
    ),
    Setting(
        "class_weight",
        None,
        None,
        'Weight of the examples of each class: a dict by label, or "balanced" for n/(k n_y), where n examples of k '
        "classes, n_y of them of the same class, have been seen so far.",
        (LINEAR | Face.KERNEL_ESTIMATOR) & ~Face.LEARNER,
        helps={Face.COMMAND: "Weight of the examples of each class."},
        annotated="dict | str | None",
    ),
    Setting(
        "costs",
        None,
        None,
        "Costs of wrong predictions, by true and predicted label: {true: {predicted: cost}}; those not given cost 1. "
        "With costs, the predicted label is that of least expected cost. Scores and probabilities do not change.",
        (LINEAR | Face.KERNEL_ESTIMATOR) & ~Face.LEARNER,
        helps={Face.COMMAND: "Costs of wrong predictions, by true and predicted label; others cost 1."},
        annotated="dict | None",
        mutable=True,
    ),
    Setting(
        "scale",
        str,
        "none",
        'How to scale features, by what has been seen so far: "rms" divides each by the root mean square of its '
        'non-zero values; "standard" centres a dense feature and divides it by its deviation, others by their root '
        'mean square, and clips the result to [-3, 3]; "unit" is "rms" and then rows of length 1.',
        LINEAR,
        applies_to=_is_single,
        helps={Face.COMMAND: "How to scale features, by what has been seen so far."},
        choices=("none", *SCALE_NAMES),
    ),
    Setting(
        "average",
        bool,
        None,
        "Whether to predict with a running average of the weights, which is less noisy, unless the latest weights made "
        "fewer mistakes recently. None: the default of the algorithm (True for first-order algorithms, CW, SOP and "
        "IELLIP).",
        LINEAR,
        applies_to=_is_single,
        defaults={Face.LEARNER: False},
        helps={
            Face.COMMAND: "Predict with a running average of the weights, unless the latest ones made fewer mistakes "
            "recently. On by default for first-order algorithms, CW, SOP and IELLIP.",
        },
        optional=True,
        none_means=lambda rule: isinstance(rule, Rule) and rule.averaged,
    ),
    Setting(
        "intercept",
        bool,
        True,
        "Whether to learn an intercept, as the weight of a constant feature 1.",
        LINEAR | _ALL_KERNEL | Face.COMMITTEE,
        names={_PER_RULE: "fit_intercept"},
        defaults={Face.LEARNER | Face.KERNEL_LEARNER: False},
        helps={
            _ALL_KERNEL: "Whether to learn an intercept, by adding 1 to the kernel.",
            Face.COMMAND: "Learn an intercept.",
        },
    ),
    Setting(
        "max_features",
        int,
        None,
        "Maximum number of named features; None for no limit.",
        Face.LEARNER | Face.STREAM | Face.RIVER | Face.COMMAND | Face.COMMITTEE,
        helps={Face.COMMAND: "Keep at most N features; the least certain ones are dropped."},
        optional=True,
    ),
    Setting(
        "overflow",
        str,
        "drop",
        'What to do beyond max_features: "drop" forgets the features of largest variance (ties: smallest weight, then '
        'oldest); "hash" keeps exactly max_features weights and hashes all names into them.',
        Face.LEARNER | Face.STREAM | Face.RIVER | Face.COMMITTEE,
        choices=("drop", "hash"),
        conflict=_overflow_conflict,
    ),
    Setting(
        "hash_bits",
        int,
        None,
        "Hash feature names into 2^N weights.",
        Face.COMMAND,
        high=31,
        optional=True,
        expand=lambda bits: {"max_features": 2**bits, "overflow": "hash"},
    ),
    Setting(
        "members",
        None,
        None,
        "The members of a committee: names of algorithms, or dicts of a rule and its settings, as in "
        '{"rule": "scw1", "scale": "standard"}. None for those that did best on many data sets (docs/committee.md).',
        Face.STREAM | Face.RIVER | Face.ESTIMATOR | Face.COMMITTEE,
        applies_to=_is_committee,
        annotated="list | None",
    ),
    Setting("n_epochs", int, 1, "Number of passes of `fit` over the data.", ESTIMATORS, mutable=True),
    Setting("shuffle", bool, True, "Whether `fit` shuffles the examples before each pass.", ESTIMATORS, mutable=True),
    Setting(
        "random_state",
        None,
        None,
        "Random seed for shuffling; None for NumPy's global random state.",
        ESTIMATORS,
        mutable=True,
        annotated="int | RandomState | None",
    ),
    Setting(
        "n_jobs",
        None,
        None,
        'Number of threads on which the classes of multi_class="ovr", or the members of a committee, learn side by '
        "side; None for 1, -1 for all cores, -2 for all but one. The model is the same to the last bit. No effect on "
        "other models.",
        Face.ESTIMATOR,
        mutable=True,
        of_model=False,
        annotated="int | None",
    ),
)

BY_NAME = {setting.name: setting for setting in SETTINGS}


@cache
def settings_for(face: Face, rule: Rule | None = None) -> tuple[Setting, ...]:
    """Return the settings that an interface shows; where it has a class per rule, those that apply to `rule`."""
    shown = (setting for setting in SETTINGS if face in setting.faces)
    if rule is None or face not in _PER_RULE:
        return tuple(shown)
    return tuple(setting for setting in shown if setting.applies_to is None or setting.applies_to(rule))


class Argument(NamedTuple):
    """A keyword argument of a constructor, derived from a setting or a parameter of a rule."""

    name: str
    annotation: str
    default: Any
    help: str


#: What the values of records mean: part of the model, not of its learner.
FEATURES = Argument("features", "Features | None", None, "What the values of records mean.")


def arguments_for(face: Face, rule: Rule | None = None) -> tuple[Argument, ...]:
    """Return the keyword arguments of a constructor: the rule's parameters, then the settings."""
    own = tuple(
        Argument(p.name, "float", p.default, f"{p.meaning} Strictly between {p.low:g} and {p.high:g}.")
        for p in (rule.parameters if rule is not None else ())
    )
    settings = tuple(
        Argument(s.name_in(face), s.annotation, s.default_in(face, rule), s.help_in(face))
        for s in settings_for(face, rule)
    )
    return own + settings + ((FEATURES,) if face is Face.RIVER else ())


def signature(arguments: Iterable[Argument], **leading: Any) -> inspect.Signature:
    """Return the signature of a constructor that takes `arguments` by keyword, after `self` and `leading`.

    A rule among the leading arguments adds its own parameters.
    """
    position = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter("self", position)]
    parameters += [inspect.Parameter(name, position, default=default) for name, default in leading.items()]
    parameters += [
        inspect.Parameter(a.name, inspect.Parameter.KEYWORD_ONLY, default=a.default, annotation=a.annotation)
        for a in arguments
    ]
    if "rule" in leading:
        parameters.append(inspect.Parameter("parameters", inspect.Parameter.VAR_KEYWORD))
    return inspect.Signature(parameters)


def fill_settings(docstring: str | None, arguments: Iterable[Argument]) -> str:
    """Return the docstring of a class with the settings in place of "{settings}"."""
    return (docstring or "").replace("{settings}", parameter_section(arguments).replace("\n", "\n    "))


def parameter_section(arguments: Iterable[Argument]) -> str:
    """Return the lines of a NumPy docstring's Parameters section."""
    return "\n".join(f"{a.name} : {a.annotation}, default={a.default!r}\n    {a.help}" for a in arguments)
