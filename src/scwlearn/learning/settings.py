"""Every setting of a model, declared once: name, type, bounds, default, help, and the interfaces that show it.

Constructors, scikit-learn signatures, command-line options, model files, merging, documentation and the type stub are
derived from these declarations. Only the standard library is imported here, because the build writes the type stub.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Flag, auto
from numbers import Integral, Real
from typing import Any

from scwlearn.model.covariances import COVARIANCE_NAMES
from scwlearn.rules import Rule


class Face(Flag):
    """An interface that takes settings."""

    #: `Learner`.
    LEARNER = auto()
    #: `StreamClassifier`.
    STREAM = auto()
    #: River's classes, one per rule.
    RIVER = auto()
    #: The linear scikit-learn estimators, one per rule.
    ESTIMATOR = auto()
    #: `KernelLearner`.
    KERNEL_LEARNER = auto()
    #: The kernel estimators, one per rule.
    KERNEL_ESTIMATOR = auto()
    #: The command line.
    COMMAND = auto()


LINEAR = Face.LEARNER | Face.STREAM | Face.RIVER | Face.ESTIMATOR | Face.COMMAND
ESTIMATORS = Face.ESTIMATOR | Face.KERNEL_ESTIMATOR
# One class per rule: these show only the settings that apply to their rule.
_PER_RULE = ESTIMATORS | Face.RIVER


@dataclass(frozen=True)
class Bool:
    """True or False."""

    annotation = "bool"

    def check(self, name: str, value: Any) -> bool:
        """Return `value` as a bool, or raise a TypeError."""
        # NumPy's bool is no bool.
        if not isinstance(value, bool) and type(value).__name__ not in ("bool", "bool_"):
            raise TypeError(f"{name} must be True or False, got {value!r}")
        return bool(value)


@dataclass(frozen=True)
class Number:
    """A float between two bounds; `low` itself is allowed where `closed` says so."""

    low: float
    high: float
    closed: bool = False
    optional: bool = False

    @property
    def annotation(self) -> str:
        return "float | None" if self.optional else "float"

    @property
    def allowed(self) -> str:
        """The allowed values, in words."""
        if self.closed:
            return f"a number of at least {self.low:g} and below {self.high:g}"
        return f"a number strictly between {self.low:g} and {self.high:g}"

    def check(self, name: str, value: Any) -> float | None:
        """Return `value` as a float, or raise a TypeError or ValueError."""
        if value is None and self.optional:
            return None
        if type(value).__name__ in ("bool", "bool_") or not isinstance(value, Real):
            raise TypeError(f"{name} must be {self.allowed}, got {value!r}")
        number = float(value)
        if not (self.low <= number if self.closed else self.low < number) or not number < self.high:
            raise ValueError(f"{name} must be {self.allowed}, got {value!r}")
        return number


@dataclass(frozen=True)
class WholeNumber:
    """An integer of at least `low`."""

    low: int = 1
    optional: bool = False

    @property
    def annotation(self) -> str:
        return "int | None" if self.optional else "int"

    def check(self, name: str, value: Any) -> int | None:
        """Return `value` as an int, or raise a TypeError or ValueError."""
        if value is None and self.optional:
            return None
        allowed = f"a whole number of at least {self.low}"
        if isinstance(value, bool) or not isinstance(value, Integral):
            raise TypeError(f"{name} must be {allowed}, got {value!r}")
        if value < self.low:
            raise ValueError(f"{name} must be {allowed}, got {value!r}")
        return int(value)


@dataclass(frozen=True)
class Choice:
    """One of some strings."""

    options: tuple[str, ...]
    annotation = "str"

    def check(self, name: str, value: Any) -> str:
        """Return `value`, or raise a ValueError that lists the options."""
        if not isinstance(value, str) or value not in self.options:
            raise ValueError(f"{name} must be one of {', '.join(self.options)}, got {value!r}")
        return value


@dataclass(frozen=True)
class Checked:
    """A value that is checked where it is used."""

    annotation: str

    def check(self, name: str, value: Any) -> Any:
        """Return `value`."""
        return value


Kind = Bool | Number | WholeNumber | Choice | Checked


def _second_order(rule: Rule) -> bool:
    return rule.order == 2


def _has_rivals(rule: Rule) -> bool:
    return rule.has_rivals


@dataclass(frozen=True)
class Setting:
    """A setting of a model: what it may be, what it means, and which interfaces show it."""

    name: str
    kind: Kind
    default: Any
    help: str
    faces: Face
    #: The rules that it applies to; None for all.
    applies_to: Callable[[Rule], bool] | None = None
    #: Its name and default in interfaces where they differ.
    names: Mapping[Face, str] = field(default_factory=dict)
    defaults: Mapping[Face, Any] = field(default_factory=dict)
    #: Help for interfaces where it differs.
    helps: Mapping[Face, str] = field(default_factory=dict)
    #: Whether it may change between two calls of `partial_fit`.
    mutable: bool = False

    def name_in(self, face: Face) -> str:
        """Return its name in an interface."""
        return next((name for faces, name in self.names.items() if face in faces), self.name)

    def default_in(self, face: Face) -> Any:
        """Return its default in an interface."""
        return next((default for faces, default in self.defaults.items() if face in faces), self.default)

    def help_in(self, face: Face) -> str:
        """Return its help text in an interface."""
        return next((text for faces, text in self.helps.items() if face in faces), self.help)

    def check(self, value: Any, face: Face = Face.LEARNER) -> Any:
        """Return `value`, or raise an error that names the setting and says what is allowed."""
        return self.kind.check(self.name_in(face), value)


_ALL_KERNEL = Face.KERNEL_LEARNER | Face.KERNEL_ESTIMATOR

#: Every setting, in the order in which interfaces show them. The parameters of the rule come before.
SETTINGS = (
    Setting(
        "kernel",
        Checked("str | Callable"),
        "rbf",
        '"linear", "rbf", "poly", "sigmoid", "laplacian", "cosine", "precomputed" (X is a kernel matrix), or a '
        "function of two matrices that returns the kernel matrix of their rows.",
        _ALL_KERNEL,
    ),
    Setting(
        "gamma",
        Checked("float | str"),
        "scale",
        'For rbf, poly, sigmoid and laplacian: a number, "scale" for 1/(n_features X.var()) of the first batch, or '
        '"auto" for 1/n_features. `gamma_` holds the resulting number.',
        Face.KERNEL_ESTIMATOR,
    ),
    Setting("degree", Checked("float"), 3, "Degree of the poly kernel.", Face.KERNEL_ESTIMATOR),
    Setting("coef0", Checked("float"), 1.0, "Constant term of the poly and sigmoid kernels.", Face.KERNEL_ESTIMATOR),
    Setting(
        "budget",
        WholeNumber(optional=True),
        None,
        "Maximum number of support examples; once it is reached, further examples are projected onto their span. "
        "None for no limit.",
        _ALL_KERNEL,
    ),
    Setting(
        "tolerance",
        Number(0.0, 1.0, optional=True),
        None,
        "An example counts as a combination of the support if less than this fraction of its squared norm lies "
        "outside their span. None for 1e-12, or 0.01 with a budget.",
        _ALL_KERNEL,
    ),
    Setting(
        "max_support",
        WholeNumber(),
        20_000,
        "Without a budget, raise an error beyond this many support examples: memory grows with the square.",
        _ALL_KERNEL,
    ),
    Setting(
        "covariance",
        Choice(("auto", *COVARIANCE_NAMES)),
        "auto",
        'Form of Sigma: "full", "diagonal", "diagonal-drop" (variances fall more slowly), "identity" (never '
        'updated), or "auto": full for few features and classes, otherwise the diagonal that suits the rule. '
        "`covariance_kind_` holds the resulting form.",
        LINEAR,
        _second_order,
        helps={
            Face.STREAM | Face.RIVER: 'Form of Sigma: "full", "diagonal", "diagonal-drop" (variances fall more '
            'slowly), "identity" (never updated), or "auto": the diagonal that suits the rule.',
            Face.COMMAND: "Form of Sigma; auto: full for few numbered features, otherwise the diagonal that suits the "
            "algorithm.",
        },
    ),
    Setting(
        "initial_variance",
        # Products with any value that a row may hold stay finite.
        Number(1e-100, 1e100),
        1.0,
        "Variance of each weight in the prior N(0, initial_variance I).",
        LINEAR | _ALL_KERNEL,
        _second_order,
        helps={Face.COMMAND: "Variance of each weight in the prior."},
    ),
    Setting(
        "variance_floor",
        Number(0.0, 1.0, closed=True),
        0.0,
        "Lower bound on each variance, as a fraction of the initial variance; keeps the model adaptive under drift.",
        LINEAR | Face.KERNEL_LEARNER,
        _second_order,
    ),
    Setting(
        "multi_class",
        Choice(("joint", "ovr")),
        "joint",
        'With more than two classes: "joint" moves the class of an example against its best rival; "ovr" trains each '
        "class against the rest.",
        LINEAR | _ALL_KERNEL,
        helps={Face.COMMAND: "How more than two classes are trained: jointly, or each against the rest."},
    ),
    Setting(
        "shared_covariance",
        Bool(),
        False,
        "With more than two classes: whether all classes share one Sigma (joint only).",
        LINEAR,
        _second_order,
        helps={Face.COMMAND: "Share one Sigma among all classes."},
    ),
    Setting(
        "rivals",
        Choice(("max", "uniform", "proportional")),
        "max",
        'Classes that a joint step moves away from a misclassified example: the best rival ("max"), or all classes '
        'that scored no less than its own, equally ("uniform") or in proportion to the excess ("proportional").',
        (LINEAR | _ALL_KERNEL) & ~Face.COMMAND,
        _has_rivals,
    ),
    Setting(
        "class_weight",
        Checked("dict | str | None"),
        None,
        'Weight of the examples of each class: a dict by label, or "balanced" for n/(k n_y), where n examples of k '
        "classes, n_y of them of the same class, have been seen so far.",
        (LINEAR | Face.KERNEL_ESTIMATOR) & ~Face.LEARNER,
        helps={Face.COMMAND: "Weight of the examples of each class."},
    ),
    Setting(
        "scale",
        Bool(),
        False,
        "Whether to divide each feature by the root mean square of its non-zero values so far.",
        LINEAR,
        helps={Face.COMMAND: "Divide each feature by a running scale."},
    ),
    Setting(
        "intercept",
        Bool(),
        True,
        "Whether to learn an intercept, as the weight of a constant feature 1.",
        LINEAR | _ALL_KERNEL,
        names={_PER_RULE: "fit_intercept"},
        defaults={Face.LEARNER | Face.KERNEL_LEARNER: False},
        helps={
            _ALL_KERNEL: "Whether to learn an intercept, by adding 1 to the kernel.",
            Face.COMMAND: "Learn an intercept.",
        },
    ),
    Setting(
        "max_features",
        WholeNumber(optional=True),
        None,
        "Maximum number of named features; None for no limit.",
        Face.LEARNER | Face.STREAM | Face.RIVER | Face.COMMAND,
        helps={Face.COMMAND: "Keep at most N features; the least certain ones are dropped."},
    ),
    Setting(
        "overflow",
        Choice(("drop", "hash")),
        "drop",
        'What to do beyond max_features: "drop" forgets the features of largest variance (ties: smallest weight, then '
        'oldest); "hash" keeps exactly max_features weights and hashes all names into them.',
        Face.LEARNER | Face.STREAM | Face.RIVER,
    ),
    Setting("n_epochs", WholeNumber(), 1, "Number of passes of `fit` over the data.", ESTIMATORS, mutable=True),
    Setting("shuffle", Bool(), False, "Whether `fit` shuffles the data before each pass.", ESTIMATORS, mutable=True),
    Setting(
        "random_state",
        Checked("int | RandomState | None"),
        None,
        "Random seed for shuffling.",
        ESTIMATORS,
        mutable=True,
    ),
)

BY_NAME = {setting.name: setting for setting in SETTINGS}


def settings_for(face: Face, rule: Rule | None = None) -> tuple[Setting, ...]:
    """Return the settings that an interface shows; where it has a class per rule, those that apply to `rule`."""
    shown = (setting for setting in SETTINGS if face in setting.faces)
    if rule is None or face not in _PER_RULE:
        return tuple(shown)
    return tuple(setting for setting in shown if setting.applies_to is None or setting.applies_to(rule))


@dataclass(frozen=True)
class Argument:
    """A keyword argument of a constructor, derived from a setting or a parameter of a rule."""

    name: str
    annotation: str
    default: Any
    help: str


def arguments_for(face: Face, rule: Rule | None = None) -> tuple[Argument, ...]:
    """Return the keyword arguments of a constructor: the rule's parameters, then the settings."""
    own = tuple(
        Argument(p.name, "float", p.default, f"{p.meaning} Strictly between {p.low:g} and {p.high:g}.")
        for p in (rule.parameters if rule is not None else ())
    )
    return own + tuple(
        Argument(s.name_in(face), s.kind.annotation, s.default_in(face), s.help_in(face))
        for s in settings_for(face, rule)
    )


def signature(arguments: Iterable[Argument], **leading: Any) -> inspect.Signature:
    """Return the signature of a constructor that takes `arguments` by keyword, after `self` and `leading`.

    A rule among the leading arguments brings parameters of its own.
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
