"""How an algorithm is declared: a function of scalars, and everything the library needs to know about it.

Only the standard library is imported here, because the build reads these declarations too.
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

#: What a rule may look at, in the order in which the loops pass it: the margin y mu.x, the variance
#: x'Sigma x, the squared length of mu (in the metric of the prior), the number of the round, from 1, in how many
#: rows of weights the variance lies (1, or 2 where two classes share one Sigma: a precision k then takes v to
#: v/(1 + k v/2)) and the weight of the example, which is 1 unless somebody says otherwise and never 0.
LOOKS = ("m", "v", "norm2", "t", "n", "w")

#: What the weight of an example may mean to a rule.
WEIGHT_MEANINGS = {
    "C": "it multiplies C",
    "1/r": "it divides r",
    "example": "it is as many examples at once",
    "part": "it is the part of the step that is taken, at most the whole",
}


class Step(NamedTuple):
    """How far a rule moves the model: four scalars.

    mu    <- shrink mu + alpha y Sigma x
    Sigma <- grow (Sigma^-1 + precision x x')^-1

    The paper writes the second line as Sigma - beta Sigma x x' Sigma; beta is precision/(1 + precision v).
    A rule states the precision because 1 - beta v, which decides whether Sigma stays positive, is then
    1/(1 + precision v) without a subtraction.

    Examples
    --------
    >>> from scwlearn.rules import Step
    >>> step = Step(alpha=0.5, precision=1.0)
    >>> step.shrink, step.beta(1.0)
    (1.0, 0.5)
    """

    alpha: float
    precision: float = 0.0
    shrink: float = 1.0
    grow: float = 1.0

    def beta(self, v: float) -> float:
        """The paper's beta for an example of variance v."""
        return self.precision / (1.0 + self.precision * v)


#: No loss on this example: the model stays as it is.
HOLD = Step(0.0)


def part_of(step: Step, w: float) -> Step:
    """The part w of a step, at most the whole."""
    if w >= 1 or not isinstance(step, Step):
        return step
    return Step(w * step.alpha, w * step.precision, 1 + w * (step.shrink - 1), 1 + w * (step.grow - 1))


@dataclass(frozen=True)
class Parameter:
    """A number that a user sets: where it may lie, where it starts, and what the paper tried.

    Examples
    --------
    >>> from scwlearn.rules import Parameter
    >>> share = Parameter("share", 0.5, "How much of the step to take.", high=2.0, grid=(0.25, 0.5, 1.0))
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
    #: The letter that the rule takes instead, and how it follows from the parameter (phi from eta).
    letter: str = ""
    derive: Callable[[float], float] = float

    @property
    def argument(self) -> str:
        return self.letter or self.name

    def check(self, value: object) -> float:
        """The value as a float, or an error that says what is allowed."""
        allowed = f"a number strictly between {self.low:g} and {self.high:g}"
        if isinstance(value, bool) or not isinstance(value, Real):
            raise TypeError(f"{self.name} must be {allowed}, got {value!r}")
        try:
            number = float(value)
        except OverflowError:  # a whole number may be larger than any float
            number = math.inf
        if not self.low < number < self.high:
            raise ValueError(f"{self.name} must be {allowed}, got {value!r}")
        return number


#: The paper's grid for C, r and b: 2^-4 .. 2^4.
POWERS_OF_TWO = tuple(2.0**k for k in range(-4, 5))


@dataclass(frozen=True)
class Rule:
    """An algorithm: the step function with its name, parameters, Table 1 properties and source."""

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
    #: The covariance that "auto" takes for data with many features (docs/covariances.md has the measurements).
    diagonal: str = "diagonal"
    #: What the weight of an example means (WEIGHT_MEANINGS). A function that takes no w is asked without it, and takes
    #: the part of its step that the weight says.
    weight: str = "part"
    #: The rule in whose place published code computes this one. Such a variant explains results of others; it is no
    #: algorithm of its own, and has no estimator.
    variant_of: str = ""
    arguments: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        if not (self.name.isidentifier() and self.name.islower()):
            raise ValueError(f"a rule's name is a lower-case identifier, got {self.name!r}")
        if bool(self.variant_of) == bool(self.estimator):
            raise ValueError(f"{self.name}: an algorithm has an estimator, a variant of another has none")
        if self.weight not in WEIGHT_MEANINGS:
            raise ValueError(f"{self.name}: weight must be one of {', '.join(WEIGHT_MEANINGS)}, got {self.weight!r}")
        if self.order not in (1, 2):
            raise ValueError(f"{self.name}: order must be 1 or 2, got {self.order!r}")
        arguments = tuple(inspect.signature(self.function).parameters)
        known = LOOKS + tuple(p.argument for p in self.parameters)
        unknown = [a for a in arguments if a not in known]
        if unknown:
            raise TypeError(f"{self.name} takes {', '.join(unknown)}; a rule may take {', '.join(known)}")
        object.__setattr__(self, "arguments", arguments)

    def __reduce__(self) -> tuple[Callable[..., Rule], tuple[object, ...]]:
        # The function's name now means this object, so a pickle holds that name and where it is declared. What is
        # declared in a script or a notebook can only be sent along, which joblib and cloudpickle do.
        if self.function.__module__ != "__main__":
            return _rule_of_module, (self.function.__module__, self.name)
        declaration = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in _FROM_FUNCTION}
        return _declare, (self.function, declaration)

    @property
    def confidence(self) -> bool:
        """Table 1: a second-order rule knows how sure it is of each direction."""
        return self.order == 2

    @property
    def kernel_estimator(self) -> str:
        """What its class with a kernel is called."""
        return "Kernel" + self.estimator

    @property
    def year(self) -> int:
        match = re.search(r"\b(19|20)\d\d\b", self.cite)
        return int(match.group()) if match else 9999

    @property
    def in_package(self) -> bool:
        """Whether it stands in scwlearn/rules, where the build spells it in C++."""
        return self.function.__module__.startswith("scwlearn.rules.")

    @property
    def has_rivals(self) -> bool:
        """Whether a joint step for several classes may move more than one class away from an example."""
        return self.name == "perceptron"

    @property
    def uses_norm(self) -> bool:
        return "norm2" in self.arguments

    def check(self, given: Mapping[str, object]) -> dict[str, float]:
        """All parameters with their values, or an error that names the one that is wrong."""
        own = {p.name: p for p in self.parameters}
        for name in given:
            if name not in own:
                has = f"it has {', '.join(own)}" if own else "it has none"
                raise TypeError(f"{self.name} has no parameter {name!r}; {has}")
        return {name: p.check(given.get(name, p.default)) for name, p in own.items()}

    def constants(self, given: Mapping[str, object]) -> dict[str, float]:
        """The letters of the formula (phi for eta) with their values."""
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
        """The step in plain Python: what the native loops compute, one example at a time."""
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
    weight: str = "part",
    variant_of: str = "",
) -> Callable[[Callable[..., Step]], Rule]:
    """Declare the decorated function an algorithm under its own name.

    The function takes any of m, v, norm2, t, n, w (see LOOKS) and the letters of its parameters, and returns a
    Step or HOLD. Within the package it may use ``+ - * / **``, comparisons, if, min, max, sqrt, hypot
    and functions made of these, so that the build can spell it in C++; elsewhere it may be any Python.

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
    ...     cite="Nobody 2026. An example",
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
        "weight": weight,
        "variant_of": variant_of,
    }
    return lambda function: _declare(function, declaration)


_FROM_FUNCTION = ("function", "name", "arguments")


def _declare(function: Callable[..., Step], declaration: dict[str, Any]) -> Rule:
    declared = Rule(function=function, name=function.__name__, **declaration)
    for other in _declared.values():
        # Running a notebook cell again declares the same function again: that one is replaced.
        again = other.name == declared.name and other.function.__module__ == function.__module__
        if not again and _names(other) & _names(declared):
            where = other.function.__module__
            raise ValueError(f"the name {declared.name} ({declared.estimator}) is taken by {where}")
        if not again and other.title == declared.title:
            raise ValueError(f"the title {declared.title!r} is taken by {other.name}; tables need another one")
    _declared[declared.name] = declared
    return declared


def _names(rule: Rule) -> set[str]:
    return {rule.name} if rule.variant_of else {rule.name, rule.estimator, rule.kernel_estimator}


def _rule_of_module(module: str, name: str) -> Rule:
    importlib.import_module(module)
    return find_rule(name)


def all_rules() -> list[Rule]:
    """Every algorithm declared so far, in the order of the tables: first order, then second, each by year."""
    return sorted((r for r in _declared.values() if not r.variant_of), key=lambda r: (r.order, r.year))


def all_variants() -> list[Rule]:
    """What published code computes in the place of some of the rules."""
    return [r for r in _declared.values() if r.variant_of]


def estimator_names() -> list[str]:
    """The scikit-learn classes that are made of the rules: the linear ones, then those with a kernel."""
    return [rule.estimator for rule in all_rules()] + [rule.kernel_estimator for rule in all_rules()]


def find_rule(name: str) -> Rule:
    """The algorithm of that name, or an error that lists the names."""
    if name not in _declared:
        names = ", ".join(r.name for r in all_rules() + all_variants())
        raise ValueError(f"there is no algorithm {name!r}; there are {names}")
    return _declared[name]
