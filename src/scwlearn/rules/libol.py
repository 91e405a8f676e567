"""NAROW and SCW-II as LIBOL, the toolbox of the paper's authors, computes them: to explain published numbers."""

from __future__ import annotations

from math import sqrt

from scwlearn.rules import HOLD, POWERS_OF_TWO, Parameter, Step, rule
from scwlearn.rules.confidence_weighted import C, eta, towards_confidence

CITE = "Hoi, Wang and Zhao 2014. LIBOL: a library for online learning algorithms. JMLR"

# LIBOL counts a round with a loss as an update even if nothing moves. This precision is large enough to be counted as
# an update, and too small to have any other effect.
COUNTED = 2e-12


@rule(
    title="NAROW (LIBOL)",
    variant_of="narow",
    order=2,
    parameters=(Parameter("b", 1.0, "Examples with a variance below 1/b are not learned.", grid=POWERS_OF_TWO),),
    large_margin=True,
    non_separable=True,
    cite=CITE,
)
def narow_libol(m: float, v: float, b: float) -> Step:
    """Take AROW's step with NAROW's r = v/(b v - 1); where r is infinite, the mean does not move either."""
    if m >= 1:
        return HOLD
    k = max(b - 1 / v, 0.0)
    return Step(alpha=(1 - m) * k / (1 + k * v), precision=max(k, COUNTED / v))


@rule(
    title="SCW-II (LIBOL)",
    variant_of="scw2",
    order=2,
    parameters=(C(1.0), eta(0.90)),
    large_margin=True,
    non_separable=True,
    adaptive_margin=True,
    cite=CITE,
    weight="C",
)
def scw2_libol(m: float, v: float, w: float, C: float, phi: float) -> Step:
    """Apply Proposition 2 with 2 v instead of v^2 and 2 phi instead of phi^2 under the root."""
    if m >= phi * sqrt(v):
        return HOLD
    vc = v + 0.5 / (w * C)
    root = phi * sqrt(phi * phi * m * m * 2 * v + 4 * vc * v * (vc + v * 2 * phi))
    alpha = (root - (2 * m * vc + phi * phi * m * v)) / (2 * (vc * vc + vc * v * phi * phi))
    if alpha <= 0:
        return Step(alpha=0.0, precision=COUNTED / v)
    return towards_confidence(alpha, v, 1.0, phi)
