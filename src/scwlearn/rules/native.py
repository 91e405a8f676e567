"""Rules for the native loops: compiled to C++, or Python functions that are called and checked for each row."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TypeGuard

from scwlearn import _native
from scwlearn.rules import OwnRule, Rule, Step, find_rule, part_of

#: Callback of the native loop: takes m, v, norm2, t, n and w, returns a step.
Called = Callable[[float, float, float, float, float, float], Step]

_COMPILED = frozenset(_native.rule_names())


def check_rule(rule: str | Rule | OwnRule, parameters: dict[str, float]) -> tuple[Rule | OwnRule, dict[str, float]]:
    """Resolve a rule given by name, declaration or function; return it with all its parameters."""
    found = find_rule(rule) if isinstance(rule, str) else rule
    if isinstance(found, Rule):
        if found.is_committee:
            raise ValueError(f"{found.name} is a committee, not a rule; AutoClassifier and StreamClassifier take it")
        return found, found.check(parameters)
    if not callable(found):
        raise TypeError(f"rule must be a name, a Rule or a function, got {rule!r}")
    if parameters:
        raise TypeError(f"a rule given as a function takes no parameters, got {', '.join(parameters)}")
    return found, {}


def is_compiled(rule: Rule | OwnRule) -> TypeGuard[Rule]:
    """Return whether the build compiled this rule to C++, so that it cannot raise."""
    # A rule of the same name declared elsewhere is not the compiled one.
    return isinstance(rule, Rule) and rule.in_package and rule.name in _COMPILED


def native_rule(rule: Rule | OwnRule, parameters: Mapping[str, float]) -> _native.Rule:
    """Return the rule as an object for the native loops."""
    if is_compiled(rule):
        return _native.Rule(rule.name, list(rule.constants(parameters).values()))
    return _native.Rule(called_rule(rule, parameters), isinstance(rule, Rule) and rule.uses_norm)


def called_rule(rule: Rule | OwnRule, parameters: Mapping[str, float]) -> Called:
    """Return the rule as a callback for the native loop."""
    if not isinstance(rule, Rule):
        return lambda m, v, norm2, t, n, w: part_of(_from_alpha_beta(rule(m, v), m, v), w)
    constants = rule.constants(parameters)
    return lambda m, v, norm2, t, n, w: _checked(rule.step(m, v, norm2, t, constants, n, w), m, v)


def _checked(step: Step, m: float, v: float) -> Step:
    if not isinstance(step, Step):
        raise TypeError(f"the rule returned {step!r}; it must return a Step")
    if not math.isfinite(step.alpha):
        raise _refusal("alpha", step.alpha, m, v, "it must be finite")
    if not 0 <= step.precision < math.inf:
        raise _refusal("precision", step.precision, m, v, "it must be finite and not negative")
    if not math.isfinite(step.shrink):
        raise _refusal("shrink", step.shrink, m, v, "it must be finite")
    if not 0 < step.grow < math.inf:
        raise _refusal("grow", step.grow, m, v, "it must be finite and above 0")
    return step


def _from_alpha_beta(answer: tuple[float, float], m: float, v: float) -> Step:
    try:
        alpha, beta = map(float, answer)
    except (TypeError, ValueError):
        raise TypeError(f"the rule returned {answer!r}; it must return two numbers, alpha and beta") from None
    # Check both: because of rounding, beta < 1/v does not imply beta * v < 1, nor the reverse.
    if not (0 <= beta < 1 / v and beta * v < 1):
        raise _refusal("beta", beta, m, v, "it must be in [0, 1/variance), or Sigma would not stay positive definite")
    return _checked(Step(alpha, beta / (1 - beta * v)), m, v)


def _refusal(what: str, value: float, m: float, v: float, allowed: str) -> ValueError:
    return ValueError(f"the rule returned {what} = {value} for margin {m} and variance {v}; {allowed}")
