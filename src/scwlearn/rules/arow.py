"""AROW: adaptive regularisation of weights."""

from __future__ import annotations

from scwlearn.rules import HOLD, POWERS_OF_TWO, Parameter, Step, rule


@rule(
    title="AROW",
    estimator="AROW",
    order=2,
    parameters=(Parameter("r", 1.0, "Regularisation: the noise variance of one label.", grid=POWERS_OF_TWO),),
    large_margin=True,
    non_separable=True,
    weight="1/r",
    cite="Crammer, Kulesza and Dredze 2009. Adaptive regularization of weight vectors. NIPS",
)
def arow(m: float, v: float, w: float, r: float) -> Step:
    """Minimise KL + hinge(mu)^2/(2r) + x'Sigma x/(2r) over the new mu and Sigma (the paper prints Sigma_t)."""
    if m >= 1:
        return HOLD
    return Step(alpha=(1 - m) / (v + r / w), precision=w / r)
