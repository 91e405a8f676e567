"""Passive-Aggressive learning: PA, PA-I and PA-II."""

from __future__ import annotations

from scwlearn.rules import HOLD, POWERS_OF_TWO, Parameter, Step, rule

CITE = "Crammer, Dekel, Keshet, Shalev-Shwartz and Singer 2006. Online passive-aggressive algorithms. JMLR 7"
C = Parameter("C", 1.0, "Aggressiveness: the price of a unit of hinge loss.", grid=POWERS_OF_TWO)


@rule(title="PA", estimator="PA", order=1, large_margin=True, non_separable=False, cite=CITE)
def pa(m: float, v: float) -> Step:
    """Minimise |w - mu|^2/2 subject to y w.x >= 1 (equation 1)."""
    if m >= 1:
        return HOLD
    return Step(alpha=(1 - m) / v)


@rule(
    title="PA-I",
    estimator="PA1",
    order=1,
    parameters=(C,),
    large_margin=True,
    non_separable=True,
    cite=CITE,
    weight="C",
)
def pa1(m: float, v: float, w: float, C: float) -> Step:
    """Minimise |w - mu|^2/2 + C hinge(w)."""
    if m >= 1:
        return HOLD
    return Step(alpha=min(w * C, (1 - m) / v))


@rule(
    title="PA-II",
    estimator="PA2",
    order=1,
    parameters=(C,),
    large_margin=True,
    non_separable=True,
    cite=CITE,
    weight="C",
)
def pa2(m: float, v: float, w: float, C: float) -> Step:
    """Minimise |w - mu|^2/2 + C hinge(w)^2."""
    if m >= 1:
        return HOLD
    return Step(alpha=(1 - m) / (v + 0.5 / (w * C)))
