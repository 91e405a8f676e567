"""ROMMA and aggressive ROMMA: the relaxed online maximum margin algorithm."""

from __future__ import annotations

from math import sqrt

from scwlearn.rules import HOLD, Step, rule

CITE = "Li and Long 1999. The relaxed online maximum margin algorithm. NIPS"

# If sin^2 of the angle between x and mu is below this, they are parallel up to rounding. The two constraints then
# contradict each other, and there is no step to take.
PARALLEL = 1e-14


def onto_both_planes(m: float, v: float, norm2: float) -> Step:
    """Return the step to the shortest w with y w.x = 1 and w.mu = |mu|^2."""
    length = sqrt(v) * sqrt(norm2)
    if length == 0:
        return Step(alpha=1 / v, shrink=0.0)
    cosine = m / length
    sine2 = (1 - cosine) * (1 + cosine)
    if sine2 < PARALLEL:
        return HOLD
    return Step(alpha=(1 - m) / v / sine2, shrink=(1 - cosine / length) / sine2)


@rule(title="ROMMA", estimator="ROMMA", order=1, averaged=True, large_margin=False, non_separable=False, cite=CITE)
def romma(m: float, v: float, norm2: float) -> Step:
    """On a mistake, minimise |w| subject to y w.x >= 1 and w.mu >= |mu|^2.

    From mu = 0 the solution is y x/|x|^2. Published code uses y x, which has only the direction in common.
    """
    if m > 0:
        return HOLD
    return onto_both_planes(m, v, norm2)


@rule(
    title="agg-ROMMA",
    estimator="AggressiveROMMA",
    order=1,
    averaged=True,
    large_margin=True,
    non_separable=False,
    cite=CITE,
)
def aggressive_romma(m: float, v: float, norm2: float) -> Step:
    """Take ROMMA's step whenever the margin is below 1.

    If m >= |x|^2 |mu|^2, the second constraint is inactive and w = y x/|x|^2. Published code omits this case.
    """
    if m >= 1:
        return HOLD
    if m >= v * norm2:
        return Step(alpha=1 / v, shrink=0.0)
    return onto_both_planes(m, v, norm2)
