"""ROMMA and aggressive ROMMA: the relaxed online maximum margin algorithm."""

from __future__ import annotations

from math import sqrt

from scwlearn.rules.declare import HOLD, Step, rule

CITE = "Li and Long 1999. The relaxed online maximum margin algorithm. NIPS"

# Below this sin^2 of the angle between x and mu the two are parallel to rounding, and the two
# constraints contradict each other: there is no step to take.
PARALLEL = 1e-14


def onto_both_planes(m: float, v: float, norm2: float) -> Step:
    """The shortest w with y w.x = 1 and w.mu = |mu|^2."""
    length = sqrt(v) * sqrt(norm2)
    if length == 0:
        return Step(alpha=1 / v, shrink=0.0)
    cosine = m / length
    sine2 = (1 - cosine) * (1 + cosine)
    if sine2 < PARALLEL:
        return HOLD
    return Step(alpha=(1 - m) / v / sine2, shrink=(1 - cosine / length) / sine2)


@rule(title="ROMMA", estimator="ROMMA", order=1, large_margin=False, non_separable=False, cite=CITE)
def romma(m: float, v: float, norm2: float) -> Step:
    """On a mistake: min |w| subject to y w.x >= 1 and w.mu >= |mu|^2.

    From mu = 0 that is y x/|x|^2; published code takes y x, which has the same direction only.
    """
    if m > 0:
        return HOLD
    return onto_both_planes(m, v, norm2)


@rule(
    title="agg-ROMMA",
    estimator="AggressiveROMMA",
    order=1,
    large_margin=True,
    non_separable=False,
    cite=CITE,
)
def aggressive_romma(m: float, v: float, norm2: float) -> Step:
    """As ROMMA, but whenever the margin is below 1.

    With m >= |x|^2 |mu|^2 the second constraint is slack and w = y x/|x|^2; published code omits this case.
    """
    if m >= 1:
        return HOLD
    if m >= v * norm2:
        return Step(alpha=1 / v, shrink=0.0)
    return onto_both_planes(m, v, norm2)
