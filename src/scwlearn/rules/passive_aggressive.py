"""Passive-Aggressive learning: PA, PA-I and PA-II."""

from __future__ import annotations

from scwlearn.rules import HOLD, POWERS_OF_TWO, Parameter, Step, rule

CITE = "Crammer, Dekel, Keshet, Shalev-Shwartz and Singer 2006. Online passive-aggressive algorithms. JMLR 7"
C = Parameter("C", 1.0, "Aggressiveness: the price of a unit of hinge loss.", grid=POWERS_OF_TWO)


@rule(
    title="PA",
    estimator="PA",
    order=1,
    averaged=True,
    large_margin=True,
    non_separable=False,
    cite=CITE,
    weight="part or margin",
)
def pa(m: float, v: float, w: float) -> Step:
    """Minimise |u - mu|^2/2 subject to y u.x >= 1 (equation 1).

    A weight w above 1 asks for the margin w; below 1 it is the fraction of the step that is taken.
    """
    margin = max(w, 1.0)
    if m >= margin:
        return HOLD
    return Step(alpha=min(w, 1.0) * ((margin - m) / v))


@rule(
    title="PA-I",
    estimator="PA1",
    order=1,
    averaged=True,
    parameters=(C,),
    large_margin=True,
    non_separable=True,
    cite=CITE,
    weight="C and margin",
)
def pa1(m: float, v: float, w: float, C: float) -> Step:
    """Minimise |u - mu|^2/2 + w C max(0, w - y u.x).

    A weight that multiplied only C would do nothing where C does not bind.
    """
    if m >= w:
        return HOLD
    return Step(alpha=min(w * C, (w - m) / v))


@rule(
    title="PA-II",
    estimator="PA2",
    order=1,
    averaged=True,
    parameters=(C,),
    large_margin=True,
    non_separable=True,
    cite=CITE,
    weight="C and margin",
)
def pa2(m: float, v: float, w: float, C: float) -> Step:
    """Minimise |u - mu|^2/2 + w C max(0, w - y u.x)^2."""
    if m >= w:
        return HOLD
    return Step(alpha=(w - m) / (v + 0.5 / (w * C)))
