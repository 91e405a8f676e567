"""The second-order Perceptron."""

from __future__ import annotations

from scwlearn.rules.declare import HOLD, Step, rule


@rule(
    title="SOP",
    estimator="SecondOrderPerceptron",
    order=2,
    large_margin=False,
    non_separable=True,
    weight="example",
    cite="Cesa-Bianchi, Conconi and Gentile 2005. A second-order perceptron algorithm. SIAM J. Comput. 34(3)",
)
def second_order_perceptron(m: float, v: float, w: float) -> Step:
    """On a mistake: theta += w y x, Sigma^-1 += w x x', with mu = Sigma theta.

    Sigma moves on mistakes only, as in the paper; some published code moves it in every round.
    """
    if m > 0:
        return HOLD
    return Step(alpha=(1 - m) / (1 / w + v), precision=w)
