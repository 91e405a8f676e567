"""Declaration of an algorithm: a function of scalars with its parameters, properties and source.

This module imports only the standard library, because the build reads the declarations too.
"""

from __future__ import annotations

import importlib
import inspect
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from numbers import Real
from typing import Any, NamedTuple

from scwlearn.rules.step import Step, part_of

#: Arguments that a rule may take, in the order in which the loops pass them:
#: m, the margin y mu.x; v, the variance x'Sigma x; norm2, the squared length of mu in the metric of the prior; t, the
#: number of the round, from 1; n, the number of weight rows that share the variance (1, or 2 for two classes with one
#: Sigma, where a precision k takes v to v/(1 + k v/2)); w, the sample weight, never 0.
LOOKS = ("m", "v", "norm2", "t", "n", "w")

#: The possible meanings of a sample weight.
WEIGHT_MEANINGS = {
    "C": "it multiplies C",
    "C and margin": "it multiplies C and the margin to reach",
    "1/r": "it divides r",
    "example": "it counts as that many examples at once",
    "part": "it is the fraction of the step that is taken, at most 1",
    "natural part": "it is the fraction of the step that is taken in Sigma^-1 and Sigma^-1 mu, at most 1",
    "part or margin": "below 1 it is the fraction of the step that is taken; above 1 it multiplies the margin to reach",
}


class Parameter(NamedTuple):
    """Numeric parameter of an algorithm.

    Parameters
    ----------
    name : str
        Keyword of the parameter.
    default : float
        Default value.
    meaning : str
        One sentence for the documentation and the command line.
    low, high : float
        Bounds, both excluded.
    grid : tuple of float
        Values to try when tuning.
    letter : str, optional
        Name of the argument that the rule takes instead (phi for eta).
    derive : callable, optional
        Function from the parameter to that argument.

    Examples
    --------
    >>> from scwlearn.rules import Parameter
    >>> share = Parameter("share", 0.5, "Fraction of the step to take.", high=2.0, grid=(0.25, 0.5, 1.0))
    >>> share.check(1)
    1.0
    >>> share.check(3)
    Traceback (most recent call last):
    ValueError: share must be a number strictly between 0 and 2, got 3
    """

    name: str
    default: float
    meaning: str
    low: float = 0.0
    high: float = math.inf
    grid: tuple[float, ...] = ()
    letter: str = ""
    derive: Callable[[float], float] = float

    @property
    def argument(self) -> str:
        return self.letter or self.name

    def check(self, value: object) -> float:
        """Return the value as a float.

        Raises
        ------
        TypeError
            If the value is not a real number.
        ValueError
            If the value is not strictly between `low` and `high`.
        """
        allowed = f"a number strictly between {self.low:g} and {self.high:g}"
        if isinstance(value, bool) or not isinstance(value, Real):
            raise TypeError(f"{self.name} must be {allowed}, got {value!r}")
        try:
            number = float(value)
        except OverflowError:  # an int may exceed the range of floats
            number = math.inf
        if not self.low < number < self.high:
            raise ValueError(f"{self.name} must be {allowed}, got {value!r}")
        return number


#: The paper's grid for C, r and b: 2^-4 .. 2^4.
POWERS_OF_TWO = tuple(2.0**k for k in range(-4, 5))


@dataclass(frozen=True)
class Rule:
    """Algorithm: a step function with its name, parameters, properties (Table 1 of the paper) and source."""

    function: Callable[..., Step]
    name: str
    title: str
    estimator: str
    order: int
    parameters: tuple[Parameter, ...]
    large_margin: bool
    non_separable: bool
    adaptive_margin: bool
    cite: str
    #: Covariance that "auto" selects for many features (measurements in docs/covariances.md).
    diagonal: str = "diagonal"
    #: Whether predictions use the average of the weights by default (measurements in docs/averaging.md).
    averaged: bool = False
    #: Meaning of a sample weight (a key of WEIGHT_MEANINGS). If the function does not take w, the weight is the
    #: fraction of the step that is taken.
    weight: str = "part"
    #: Name of the rule that published code implements as this variant. A variant explains published results and has
    #: no estimator.
    variant_of: str = ""
    arguments: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        if not (self.name.isidentifier() and self.name.islower()):
            raise ValueError(f"the name of a rule must be a lower-case identifier, got {self.name!r}")
        if bool(self.variant_of) == bool(self.estimator):
            raise ValueError(f"{self.name}: set either estimator (an algorithm) or variant_of (a variant of one)")
        if self.weight not in WEIGHT_MEANINGS:
            raise ValueError(f"{self.name}: weight must be one of {', '.join(WEIGHT_MEANINGS)}, got {self.weight!r}")
        if self.order not in (1, 2):
            raise ValueError(f"{self.name}: order must be 1 or 2, got {self.order!r}")
        arguments = tuple(inspect.signature(self.function).parameters)
        known = LOOKS + tuple(p.argument for p in self.parameters)
        unknown = [a for a in arguments if a not in known]
        if unknown:
            raise TypeError(f"{self.name}: unknown arguments {', '.join(unknown)}; allowed: {', '.join(known)}")
        object.__setattr__(self, "arguments", arguments)

    def __reduce__(self) -> tuple[Callable[..., Rule], tuple[object, ...]]:
        # The decorator replaced the function by this object, so a pickle stores its module and name. A declaration in a
        # script or a notebook has no module to import; it is stored with its function, as joblib and cloudpickle can.
        if self.function.__module__ != "__main__":
            return _rule_of_module, (self.function.__module__, self.name)
        declaration = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in _FROM_FUNCTION}
        return _declare, (self.function, declaration)

    @property
    def confidence(self) -> bool:
        """Whether the rule keeps a covariance (Table 1)."""
        return self.order == 2

    @property
    def kernel_estimator(self) -> str:
        """Name of the estimator with a kernel."""
        return "Kernel" + self.estimator

    @property
    def year(self) -> int:
        match = re.search(r"\b(19|20)\d\d\b", self.cite)
        return int(match.group()) if match else 9999

    @property
    def in_package(self) -> bool:
        """Whether the rule is in scwlearn/rules, which the build compiles to C++."""
        return self.function.__module__.startswith("scwlearn.rules.")

    @property
    def is_committee(self) -> bool:
        """Whether this stands for a committee of learners, which have rules of their own."""
        return self.name == "auto"

    @property
    def has_rivals(self) -> bool:
        """Whether a joint multi-class step may move several rival classes away from an example."""
        return self.name == "perceptron"

    @property
    def uses_norm(self) -> bool:
        return "norm2" in self.arguments

    def check(self, given: Mapping[str, object]) -> dict[str, float]:
        """Return the values of all parameters, with defaults for those not given.

        Raises
        ------
        TypeError
            If a parameter is unknown or not a number.
        ValueError
            If a parameter is out of bounds.
        """
        own = {p.name: p for p in self.parameters}
        for name in given:
            if name not in own:
                has = f"it has {', '.join(own)}" if own else "it has none"
                raise TypeError(f"{self.name} has no parameter {name!r}; {has}")
        return {name: p.check(given.get(name, p.default)) for name, p in own.items()}

    def constants(self, given: Mapping[str, object]) -> dict[str, float]:
        """Return the constants of the formula by letter (phi for eta)."""
        values = self.check(given)
        return {p.argument: p.derive(values[p.name]) for p in self.parameters}

    def step(
        self,
        m: float,
        v: float,
        norm2: float,
        t: float,
        constants: Mapping[str, float],
        n: float = 1.0,
        w: float = 1.0,
    ) -> Step:
        """Compute the step in Python, as the native loops do for each example."""
        looks = {"m": m, "v": v, "norm2": norm2, "t": t, "n": n, "w": w, **constants}
        step = self.function(*(looks[a] for a in self.arguments))
        return step if "w" in self.arguments else part_of(step, w)


_declared: dict[str, Rule] = {}


def rule(
    *,
    title: str,
    estimator: str = "",
    order: int,
    parameters: tuple[Parameter, ...] = (),
    large_margin: bool,
    non_separable: bool,
    adaptive_margin: bool = False,
    cite: str,
    diagonal: str = "diagonal",
    averaged: bool = False,
    weight: str = "part",
    variant_of: str = "",
) -> Callable[[Callable[..., Step]], Rule]:
    """Declare the decorated function as an algorithm, named after the function.

    The function takes any of m, v, norm2, t, n, w (see LOOKS) and the letters of its parameters, and returns a Step or
    HOLD. In the package it may use ``+ - * / **``, comparisons, if, min, max, sqrt, hypot and functions made of these,
    so that the build can compile it to C++; elsewhere it may be any Python.

    Parameters
    ----------
    title : str
        Name in tables and figures.
    estimator : str
        Name of the scikit-learn class.
    order : {1, 2}
        2 if the rule changes Sigma.
    parameters : tuple of Parameter
        Parameters that users can set.
    large_margin, non_separable, adaptive_margin : bool
        Properties in Table 1 of the paper.
    cite : str
        Source, with the year.
    diagonal : {"diagonal", "diagonal-drop"}
        Covariance that "auto" selects for many features.
    averaged : bool
        Whether predictions use the average of the weights by default.
    weight : str
        Meaning of a sample weight (a key of WEIGHT_MEANINGS).
    variant_of : str, optional
        Instead of `estimator`: the rule that published code implements as this one.

    Returns
    -------
    callable
        Decorator that turns the function into a Rule.

    Raises
    ------
    TypeError
        If the function takes an unknown argument.
    ValueError
        If a name or title is already taken, or a declared value is not allowed.

    Examples
    --------
    >>> from scwlearn import Learner
    >>> from scwlearn.rules import HOLD, Step, rule
    >>> @rule(
    ...     title="Half PA, an example",
    ...     estimator="HalfPAExample",
    ...     order=1,
    ...     large_margin=True,
    ...     non_separable=False,
    ...     cite="Author 2026. An example",
    ... )
    ... def half_pa_example(m, v):
    ...     return Step(alpha=(1 - m) / (2 * v)) if m < 1 else HOLD
    >>> learner = Learner(half_pa_example)
    >>> learner.learn([[2.0]], [1])
    Counts(seen=1, mistakes=0, updates=1)
    >>> learner.scores([[2.0]])
    array([0.5])
    """

    declaration = {
        "title": title,
        "estimator": estimator,
        "order": order,
        "parameters": parameters,
        "large_margin": large_margin,
        "non_separable": non_separable,
        "adaptive_margin": adaptive_margin,
        "cite": cite,
        "diagonal": diagonal,
        "averaged": averaged,
        "weight": weight,
        "variant_of": variant_of,
    }
    return lambda function: _declare(function, declaration)


_FROM_FUNCTION = ("function", "name", "arguments")


def _declare(function: Callable[..., Step], declaration: dict[str, Any]) -> Rule:
    declared = Rule(function=function, name=function.__name__, **declaration)
    for other in _declared.values():
        # Running a notebook cell again replaces its declaration.
        again = other.name == declared.name and other.function.__module__ == function.__module__
        if not again and _names(other) & _names(declared):
            where = other.function.__module__
            raise ValueError(f"the name {declared.name} ({declared.estimator}) is already declared in {where}")
        if not again and other.title == declared.title:
            raise ValueError(f"the title {declared.title!r} is already used by {other.name}; choose another")
    _declared[declared.name] = declared
    return declared


def _names(rule: Rule) -> set[str]:
    return {rule.name} if rule.variant_of else {rule.name, rule.estimator, rule.kernel_estimator}


def _rule_of_module(module: str, name: str) -> Rule:
    importlib.import_module(module)
    return find_rule(name)


def all_rules() -> list[Rule]:
    """Return all declared algorithms in the order of the tables: by order, then by year."""
    return sorted((r for r in _declared.values() if not r.variant_of), key=lambda r: (r.order, r.year))


def all_variants() -> list[Rule]:
    """Return the variants of rules found in published code."""
    return [r for r in _declared.values() if r.variant_of]


def estimator_names() -> list[str]:
    """Return the names of the scikit-learn classes: linear first, then kernel."""
    return [r.estimator for r in [AUTO, *all_rules()]] + [r.kernel_estimator for r in all_rules()]


def find_rule(name: str) -> Rule:
    """Return the algorithm of that name; raise ValueError with all names if there is none."""
    if name == AUTO.name:
        return AUTO
    if name not in _declared:
        names = ", ".join(r.name for r in [AUTO, *all_rules(), *all_variants()])
        raise ValueError(f"unknown algorithm {name!r}; choose from {names}")
    return _declared[name]


def _no_step(m: float) -> Step:
    """A committee of learners with rules of their own, whose probabilities are mixed by how well they predict."""
    raise TypeError("a committee has no rule of its own; its members have")


#: The committee: named like an algorithm wherever one is chosen, but its members have the rules.
AUTO = Rule(
    function=_no_step,
    name="auto",
    title="Committee",
    estimator="AutoClassifier",
    # It has no variances of its own.
    order=1,
    parameters=(),
    large_margin=True,
    non_separable=True,
    adaptive_margin=True,
    cite="Wolpert 1992. Stacked generalization. Neural Networks 5",
)
