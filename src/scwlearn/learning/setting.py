"""What a setting of a model is: its declaration, and the check of a value. Imported by the build, without NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from enum import Flag, auto
from numbers import Integral
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from scwlearn._util.real_numbers import real_number
from scwlearn.rules import OwnRule, Rule

T = TypeVar("T")


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
    #: The learner of a committee.
    COMMITTEE = auto()


# Larger ints do not fit those of the native code.
_INT_LIMIT = 2**62


class Setting(NamedTuple):
    """A setting of a model: what it may be, what it means, and which interfaces show it."""

    name: str
    #: bool, int, float or str; None for a value that is checked where it is used.
    type: type | None
    default: Any
    help: str
    faces: Face
    #: The allowed strings.
    choices: tuple[str, ...] = ()
    #: The bounds of a number. An int may be `low`; a float may not, unless it is `closed`. It is below `high`.
    low: float = 1
    high: float = math.inf
    closed: bool = False
    #: Whether None is allowed.
    optional: bool = False
    #: How signatures annotate a value that is checked where it is used.
    annotated: str = ""
    #: The rules that it applies to; None for all.
    applies_to: Callable[[Rule], bool] | None = None
    #: Its name, default and help in interfaces where they differ.
    names: Mapping[Face, str] = MappingProxyType({})
    defaults: Mapping[Face, Any] = MappingProxyType({})
    helps: Mapping[Face, str] = MappingProxyType({})
    #: The value that None stands for, given the rule.
    none_means: Callable[[Rule | OwnRule], Any] | None = None
    #: Whether it may change between two calls of `partial_fit`.
    mutable: bool = False
    #: Whether model files contain it.
    of_model: bool = True
    #: Whether it acts in the native loops: the native model takes it, by the same name.
    native: bool = False
    #: Returns how it conflicts with the rule or with other settings, or None.
    conflict: Callable[[Rule | OwnRule, Mapping[str, Any]], str | None] | None = None
    #: For a shorthand: the settings that a value expands to.
    expand: Callable[[Any], dict[str, Any]] | None = None

    def name_in(self, face: Face) -> str:
        """Return its name in an interface."""
        return _value_in(face, self.names, self.name)

    def default_in(self, face: Face, rule: Rule | OwnRule | None = None) -> Any:
        """Return its default in an interface, for a rule if that is known."""
        return self.resolve(_value_in(face, self.defaults, self.default), rule)

    def resolve(self, value: Any, rule: Rule | OwnRule | None) -> Any:
        """Return the value that None stands for with a rule; other values stay as they are."""
        if value is not None or self.none_means is None or rule is None:
            return value
        return self.none_means(rule)

    def help_in(self, face: Face) -> str:
        """Return its help text in an interface."""
        return _value_in(face, self.helps, self.help)

    @property
    def annotation(self) -> str:
        """Its type in signatures."""
        return self.annotated or f"{self.type.__name__ if self.type else 'Any'}{' | None' if self.optional else ''}"

    @property
    def allowed(self) -> str:
        """The allowed values, in words."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        if self.type is int:
            return (
                f"an integer >= {self.low}"
                if self.high == math.inf
                else f"an integer from {self.low} to {self.high - 1}"
            )
        if self.type is float and self.closed:
            return f"a number in [{self.low:g}, {self.high:g})"
        if self.type is float:
            return f"a number strictly between {self.low:g} and {self.high:g}"
        return "True, False or None" if self.optional else "True or False"

    def check(self, value: Any, face: Face = Face.LEARNER) -> Any:
        """Return `value` as its type.

        Raises
        ------
        TypeError, ValueError
            For a value that is not allowed; the message names the setting and says what is.
        """
        if self.type is None or (value is None and self.optional):
            return value
        if error := self._problem(value):
            raise error(f"{self.name_in(face)} must be {self.allowed}, got {value!r}")
        return self.type(value)

    def _problem(self, value: Any) -> Callable[[str], Exception] | None:
        """Return the type of error to raise for a value, or None if it is allowed."""
        if self.choices:
            return None if isinstance(value, str) and value in self.choices else ValueError
        # NumPy's bool is not a Python bool.
        is_bool = isinstance(value, bool) or type(value).__name__ in ("bool", "bool_")
        if self.type is bool:
            return None if is_bool else TypeError
        whole = value if isinstance(value, Integral) and not is_bool else None
        number: Any = whole if self.type is int else real_number(value)
        if number is None:
            return TypeError
        high = min(self.high, _INT_LIMIT) if self.type is int else self.high
        above = number >= self.low if self.closed or self.type is int else number > self.low
        return None if above and number < high else ValueError


def _value_in(face: Face, by_face: Mapping[Face, T], default: T) -> T:
    """Return the value for an interface, or the default."""
    for faces, value in by_face.items():
        if face in faces:
            return value
    return default
