"""NHERD: Gaussian herding."""

from __future__ import annotations

from scwlearn.rules import HOLD, POWERS_OF_TWO, Parameter, Step, rule


@rule(
    title="NHERD",
    estimator="NHERD",
    order=2,
    parameters=(
        Parameter("C", 0.25, "Aggressiveness: the price of a unit of squared hinge loss.", grid=POWERS_OF_TWO),
    ),
    large_margin=True,
    non_separable=True,
    weight="C",
    cite="Crammer and Lee 2010. Learning via Gaussian herding. NIPS",
    diagonal="diagonal-drop",
)
def nherd(m: float, v: float, n: float, w: float, C: float) -> Step:
    """Move every weight vector of the Gaussian by its own PA-II step, linearised: Sigma <- Q Sigma Q'."""
    if m >= 1:
        return HOLD
    return Step(alpha=(1 - m) / (v + 1 / (w * C)), precision=w * C * (2 + w * C * v / n))
