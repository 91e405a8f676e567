"""Confidence-weighted learning: CW and its soft forms SCW-I and SCW-II.

phi = Phi^-1(eta). Everything is computed from the normalised margin z = m/sqrt(v): no square of m or v is
taken, so nothing overflows, and the difference of nearly equal numbers is avoided on both sides of z = 0.
"""

from __future__ import annotations

from math import hypot, sqrt
from statistics import NormalDist

from scwlearn.rules.declare import HOLD, POWERS_OF_TWO, Parameter, Step, rule

CITE_CW = "Crammer, Dredze and Pereira 2008. Exact convex confidence-weighted learning. NIPS"
CITE_SCW = "Wang, Zhao and Hoi 2012. Exact soft confidence-weighted learning. ICML"

# Beyond this the step itself would overflow.
FAR = 1e150


def eta(default: float) -> Parameter:
    """The parameter eta, which the formulas take as phi."""
    return Parameter(
        "eta",
        default,
        "Confidence: the least probability with which the example just seen is to be classified rightly.",
        low=0.5,
        high=1.0,
        # The paper's grid starts at 0.5, where phi = 0 and nothing is ever learned.
        grid=tuple(k / 100 for k in range(55, 100, 5)),
        letter="phi",
        derive=NormalDist().inv_cdf,
    )


def C(default: float) -> Parameter:
    """The parameter C of both soft forms."""
    return Parameter("C", default, "Aggressiveness: the price of a unit of confidence loss.", grid=POWERS_OF_TWO)


def larger_root(z: float, phi: float, n: float, r: float) -> float:
    """alpha sqrt(v): the positive root of (1 + r phi^2/n) a^2 + r z (2 + r phi^2/n) a + r^2 (z^2 - phi^2) = 0.

    r = v/(v + 1/(2C)) turns Proposition 2 into this form; r = 1 is the hard constraint of CW. With n = 2 it is the step
    of two classes that share one Sigma.
    """
    curve = r * phi * phi / n
    root = phi * hypot(r * phi * z / n, 2 * sqrt(1 + curve))
    if z > 0:
        return 2 * r * (phi - z) * (phi + z) / (z * (2 + curve) + root)
    return r * (root - z * (2 + curve)) / (2 * (1 + curve))


def towards_confidence(alpha: float, v: float, n: float, phi: float) -> Step:
    """The step of length alpha: Sigma^-1 grows by alpha phi/sqrt(u), u the variance after it.

    sqrt(u) = 2 sqrt(v)/(t + hypot(t, 2)) with t = alpha phi sqrt(v)/n; the printed form subtracts.
    """
    t = alpha * phi * sqrt(v) / n
    return Step(alpha=alpha, precision=alpha * phi * (t + hypot(t, 2)) / (2 * sqrt(v)))


@rule(
    title="CW",
    estimator="CW",
    order=2,
    parameters=(eta(0.95),),
    large_margin=True,
    non_separable=False,
    adaptive_margin=True,
    cite=CITE_CW,
    # By precision, each wrong label shrinks every feature of its example by the whole of a step without limit.
    diagonal="diagonal-drop",
)
def cw(m: float, v: float, n: float, phi: float) -> Step:
    """min KL subject to y mu.x >= phi sqrt(x'Sigma x) (equation 3: the exact, standard-deviation form)."""
    z = max(m / sqrt(v), -FAR)
    if z >= phi:
        return HOLD
    return towards_confidence(larger_root(z, phi, n, 1.0) / sqrt(v), v, n, phi)


@rule(
    title="SCW-I",
    estimator="SCW1",
    order=2,
    parameters=(C(0.5), eta(0.75)),
    large_margin=True,
    non_separable=True,
    adaptive_margin=True,
    cite=CITE_SCW,
    weight="C",
)
def scw1(m: float, v: float, n: float, w: float, C: float, phi: float) -> Step:
    """min KL + C loss, loss = max(0, phi sqrt(x'Sigma x) - y mu.x) (Proposition 1)."""
    z = max(m / sqrt(v), -FAR)
    if z >= phi:
        return HOLD
    return towards_confidence(min(w * C, larger_root(z, phi, n, 1.0) / sqrt(v)), v, n, phi)


@rule(
    title="SCW-II",
    estimator="SCW2",
    order=2,
    parameters=(C(0.25), eta(0.75)),
    large_margin=True,
    non_separable=True,
    adaptive_margin=True,
    cite=CITE_SCW,
    weight="C",
)
def scw2(m: float, v: float, n: float, w: float, C: float, phi: float) -> Step:
    """min KL + C loss^2 (Proposition 2)."""
    z = max(m / sqrt(v), -FAR)
    if z >= phi:
        return HOLD
    return towards_confidence(larger_root(z, phi, n, v / (v + 0.5 / (w * C))) / sqrt(v), v, n, phi)
