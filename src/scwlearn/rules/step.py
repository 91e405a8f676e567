"""The update that a rule asks for."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Step(NamedTuple):
    """Update of a model, in four scalars.

    mu    <- shrink mu + alpha y Sigma x
    Sigma <- grow (Sigma^-1 + precision x x')^-1

    The paper writes the second line as Sigma - beta Sigma x x' Sigma with beta = precision/(1 + precision v). A rule
    returns the precision, because 1 - beta v, which decides whether Sigma stays positive definite, is then
    1/(1 + precision v), without a subtraction.

    Parameters
    ----------
    alpha : float
        Step length of the mean along y Sigma x.
    precision : float, default 0
        Precision added along x; not negative.
    shrink : float, default 1
        Factor on the mean.
    grow : float, default 1
        Factor on Sigma; positive.

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
        """Return the paper's beta for an example of variance v."""
        return self.precision / (1.0 + self.precision * v)


#: The step of an example without loss: the model does not change.
HOLD = Step(0.0)


def part_of(step: Step, w: float) -> Step:
    """Return the fraction w of a step, at most the whole step."""
    if w >= 1 or not isinstance(step, Step):
        return step
    return Step(w * step.alpha, w * step.precision, 1 + w * (step.shrink - 1), 1 + w * (step.grow - 1))


#: Custom rule: takes margin and variance, returns the paper's alpha and beta.
OwnRule = Callable[[float, float], tuple[float, float]]
