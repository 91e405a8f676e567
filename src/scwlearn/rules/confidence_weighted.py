"""Confidence-weighted learning: CW and its soft forms SCW-I and SCW-II.

phi = Phi^-1(eta). All formulas use the normalised margin z = m/sqrt(v). They square neither m nor v, so they do not
overflow, and they avoid cancellation on both sides of z = 0.
"""

from __future__ import annotations

from math import hypot, sqrt

from scwlearn.rules import HOLD, POWERS_OF_TWO, Parameter, Step, rule

CITE_CW = "Crammer, Dredze and Pereira 2008. Exact convex confidence-weighted learning. NIPS"
CITE_SCW = "Wang, Zhao and Hoi 2012. Exact soft confidence-weighted learning. ICML"

# Lower bound -FAR on z: beyond it the step would overflow.
FAR = 1e150


def normal_quantile(probability: float) -> float:
    """Return Phi^-1(probability)."""
    # Takes longer to import than all rules.
    from statistics import NormalDist

    return NormalDist().inv_cdf(probability)


def eta(default: float) -> Parameter:
    """Return the parameter eta, which enters the formulas as phi."""
    return Parameter(
        "eta",
        default,
        "Confidence: required probability of classifying the current example correctly.",
        low=0.5,
        high=1.0,
        # The paper's grid starts at 0.5, where phi = 0 and the model never moves.
        grid=tuple(k / 100 for k in range(55, 100, 5)),
        letter="phi",
        derive=normal_quantile,
    )


def C(default: float) -> Parameter:
    """Return the parameter C of both soft forms."""
    return Parameter("C", default, "Aggressiveness: the price of a unit of confidence loss.", grid=POWERS_OF_TWO)


def larger_root(z: float, phi: float, n: float, r: float) -> float:
    """Return alpha sqrt(v), the positive root of (1 + r phi^2/n) a^2 + r z (2 + r phi^2/n) a + r^2 (z^2 - phi^2) = 0.

    r = v/(v + 1/(2C)) gives Proposition 2, and r = 1 the hard constraint of CW. n = 2 gives the step of two classes
    that share one Sigma.
    """
    curve = r * phi * phi / n
    root = phi * hypot(r * phi * z / n, 2 * sqrt(1 + curve))
    if z > 0:
        return 2 * r * (phi - z) * (phi + z) / (z * (2 + curve) + root)
    return r * (root - z * (2 + curve)) / (2 * (1 + curve))


def added_precision(alpha: float, v: float, n: float, phi: float) -> float:
    """Return alpha phi/sqrt(u), what a step of length alpha adds to Sigma^-1; u is the variance after the step.

    sqrt(u) = 2 sqrt(v)/(t + hypot(t, 2)) with t = alpha phi sqrt(v)/n, without the cancellation of the paper's form.
    """
    t = alpha * phi * sqrt(v) / n
    return alpha * phi * (t + hypot(t, 2)) / (2 * sqrt(v))


def towards_confidence(alpha: float, v: float, n: float, phi: float) -> Step:
    """Return the step of length alpha."""
    return Step(alpha=alpha, precision=added_precision(alpha, v, n, phi))


def part_towards_confidence(alpha: float, v: float, n: float, phi: float, part: float) -> Step:
    """Return the step to the Gaussian q with the smallest (1 - part) KL(q, before) + part KL(q, after).

    It lies between the two in Sigma^-1 and Sigma^-1 mu. The fraction of alpha and precision would not do: if a step
    reduces the variance and leaves part of the error, the next one is larger, and so on without end. Here, after a step
    of CW, z >= -n (1 - part)/(phi sqrt(part)), however small it was.
    """
    t = alpha * phi * sqrt(v) / n
    # Of the precision along x; with the precision itself it could overflow.
    gain = t * (t + hypot(t, 2)) / 2
    return Step(
        alpha=alpha * (part * (1 + gain) / (1 + part * gain)), precision=part * added_precision(alpha, v, n, phi)
    )


@rule(
    title="CW",
    estimator="CW",
    order=2,
    averaged=True,
    parameters=(eta(0.95),),
    large_margin=True,
    non_separable=False,
    adaptive_margin=True,
    cite=CITE_CW,
    # With "diagonal", each wrong label would shrink every feature of its example by the whole of an unbounded step.
    diagonal="diagonal-drop",
    weight="natural part",
)
def cw(m: float, v: float, n: float, w: float, phi: float) -> Step:
    """Minimise KL subject to y mu.x >= phi sqrt(x'Sigma x) (equation 3: the exact, standard-deviation form)."""
    z = max(m / sqrt(v), -FAR)
    if z >= phi:
        return HOLD
    return part_towards_confidence(larger_root(z, phi, n, 1.0) / sqrt(v), v, n, phi, min(w, 1.0))


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
    """Minimise KL + C loss, loss = max(0, phi sqrt(x'Sigma x) - y mu.x) (Proposition 1)."""
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
    """Minimise KL + C loss^2 (Proposition 2)."""
    z = max(m / sqrt(v), -FAR)
    if z >= phi:
        return HOLD
    return towards_confidence(larger_root(z, phi, n, v / (v + 0.5 / (w * C))) / sqrt(v), v, n, phi)
