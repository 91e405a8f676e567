"""NAROW: AROW with a regularisation that follows the variance."""

from __future__ import annotations

from scwlearn.rules.declare import HOLD, POWERS_OF_TWO, Parameter, Step, rule


@rule(
    title="NAROW",
    estimator="NAROW",
    order=2,
    parameters=(Parameter("b", 1.0, "No seen direction keeps a variance above 1/b.", grid=POWERS_OF_TWO),),
    large_margin=True,
    non_separable=True,
    adaptive_margin=True,
    cite="Orabona and Crammer 2010. New adaptive algorithms for online classification. NIPS",
)
def narow(m: float, v: float, n: float, b: float) -> Step:
    """theta += y x and Sigma^-1 += k x x' with mu = Sigma theta; k brings x'Sigma x down to 1/b, or is 0.

    The margin is judged as it would be with the new Sigma. With k = 0 the mean still moves: published code
    that takes an AROW step here instead freezes, and learns nothing more.
    """
    k = max(b - 1 / v, 0.0)
    shrunk = 1 + k * v
    if m >= shrunk:
        return HOLD
    return Step(alpha=(1 - k * m) / shrunk, precision=n * k)
