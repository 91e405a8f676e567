"""IELLIP: the improved ellipsoid method."""

from __future__ import annotations

from scwlearn.rules import HOLD, Parameter, Step, rule


@rule(
    title="IELLIP",
    estimator="IELLIP",
    order=2,
    averaged=True,
    parameters=(
        Parameter(
            "b",
            0.3,
            "Decay of the shrinkage of the ellipsoid: c_t = c b^(t-1).",
            high=1.0,
            grid=tuple(k / 10 for k in range(1, 10)),
        ),
        Parameter("c", 0.1, "Shrinkage of the ellipsoid in the first round.", high=1.0),
    ),
    large_margin=False,
    non_separable=False,
    cite="Yang, Jin and Ye 2009. Online learning by ellipsoid method. ICML",
)
def iellip(m: float, v: float, t: float, n: float, b: float, c: float) -> Step:
    """On a mistake, cut the ellipsoid at the example and enclose the remaining half in a new one.

    t counts every round, so Sigma freezes after a few rounds; the mean keeps moving to a margin of 1.
    """
    if m > 0:
        return HOLD
    ct = c * b ** (t - 1)
    return Step(alpha=(1 - m) / v, precision=n * ct / (1 - ct) / v, grow=1 / (1 - ct))
