"""The Perceptron."""

from __future__ import annotations

from scwlearn.rules import HOLD, Step, rule


@rule(
    title="Perceptron",
    estimator="Perceptron",
    order=1,
    averaged=True,
    large_margin=False,
    non_separable=True,
    weight="example",
    cite="Rosenblatt 1958. The perceptron: a probabilistic model. Psych. Rev. 65",
)
def perceptron(m: float, w: float) -> Step:
    """Add y x to the weights on a mistake.

    A margin of exactly 0 moves the weights, too, as in the original, so the first example is learned whatever its
    label.
    """
    if m > 0:
        return HOLD
    return Step(alpha=w)
