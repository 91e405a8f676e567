"""NAROW: AROW with a regularisation that adapts to the variance."""

from __future__ import annotations

from scwlearn.rules import HOLD, POWERS_OF_TWO, Parameter, Step, rule


@rule(
    title="NAROW",
    estimator="NAROW",
    order=2,
    parameters=(
        Parameter("b", 1.0, "An update reduces the variance of its example to 1/b at most.", grid=POWERS_OF_TWO),
    ),
    large_margin=True,
    non_separable=True,
    adaptive_margin=True,
    cite="Orabona and Crammer 2010. New adaptive algorithms for online classification. NIPS",
)
def narow(m: float, v: float, n: float, b: float) -> Step:
    """Add y x to theta and k x x' to Sigma^-1, with mu = Sigma theta; k reduces x'Sigma x to 1/b, or is 0.

    The margin is that under the new Sigma. With k = 0 the mean still moves. Published code takes an AROW step here,
    which freezes the model.
    """
    k = max(b - 1 / v, 0.0)
    shrunk = 1 + k * v
    if m >= shrunk:
        return HOLD
    return Step(alpha=(1 - k * m) / shrunk, precision=n * k)
