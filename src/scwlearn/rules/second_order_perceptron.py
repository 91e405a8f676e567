"""The second-order Perceptron."""

from __future__ import annotations

from scwlearn.rules import HOLD, Step, rule


@rule(
    title="SOP",
    estimator="SecondOrderPerceptron",
    order=2,
    averaged=True,
    large_margin=False,
    non_separable=True,
    weight="example",
    cite="Cesa-Bianchi, Conconi and Gentile 2005. A second-order perceptron algorithm. SIAM J. Comput. 34(3)",
)
def second_order_perceptron(m: float, v: float, w: float) -> Step:
    """On a mistake, add w y x to theta and w x x' to Sigma^-1, with mu = Sigma theta.

    Sigma changes only on mistakes, as in the paper; some published code changes it in every round.
    """
    if m > 0:
        return HOLD
    return Step(alpha=(1 - m) / (1 / w + v), precision=w)
