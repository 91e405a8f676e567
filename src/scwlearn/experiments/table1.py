"""Table 1: the properties of each algorithm, measured on its rule at its default parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import sqrt

from scwlearn.display.document import Table, yes_no
from scwlearn.experiments.paper import TABLE1
from scwlearn.learning.learner import Learner
from scwlearn.rules import HOLD, Rule, Step, all_rules, find_rule

#: The variances v = x'Sigma x at which a rule is evaluated.
VARIANCES = (0.1, 1.0, 10.0)

#: The margin of a model that is very confident, correctly or not.
LARGE_MARGIN = 1000.0

# |mu|^2 and the round: large enough for |m| <= |mu||x| up to LARGE_MARGIN at every variance.
_NORM2, _ROUND = 1e8, 1.0

# Margins and variances closer than this, relatively, are equal: rounding and bisection errors are smaller.
_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Evidence:
    """A property of a rule: as declared, as measured, the measurement in words, and as printed in the paper."""

    name: str
    declared: bool
    measured: bool
    measurement: str
    paper: bool | None

    @property
    def confirmed(self) -> bool:
        """Whether the measurement agrees with the declaration."""
        return self.declared == self.measured

    @property
    def unanimous(self) -> bool:
        """Whether declaration, measurement and paper agree."""
        return self.confirmed and self.paper in (None, self.declared)


@dataclass(frozen=True)
class Property:
    """A column: the attribute of a rule, its title in the paper, its meaning here, and the measurement."""

    name: str
    title: str
    meaning: str
    measure: Callable[[Rule], tuple[bool, str]]


def largest_margin(rule: Rule, v: float) -> float:
    """Return the largest margin, from 0 to LARGE_MARGIN, at which the rule updates on an example of variance v."""

    def updates(m: float) -> bool:
        return _step(rule, m, v) != HOLD

    low, high = 1e-9, LARGE_MARGIN
    if not updates(low):
        return 0.0
    if updates(high):
        return high
    while high > low * (1 + _TOLERANCE / 10):
        middle = sqrt(low * high)
        low, high = (middle, high) if updates(middle) else (low, middle)
    return low


def _large_margin(rule: Rule) -> tuple[bool, str]:
    least = min(largest_margin(rule, v) for v in VARIANCES)
    return least > 0, f"updates up to m = {least:.3g}"


def _confidence(rule: Rule) -> tuple[bool, str]:
    # At the largest variance: NAROW learns nothing about an example whose variance is below 1/b.
    length = sqrt(max(VARIANCES))
    rows = [[length, 0.0], [0.0, length]]
    learner = Learner(rule, covariance="full")
    learner.learn(rows[:1], [1])
    seen, unseen = learner.margin_variances(rows)
    return bool(seen < unseen * (1 - _TOLERANCE)), f"variance {seen / unseen:.3g} of an unseen direction's"


def _non_separable(rule: Rule) -> tuple[bool, str]:
    steps = [(v, _step(rule, -LARGE_MARGIN, v)) for v in VARIANCES]
    after = max(step.alpha * v - step.shrink * LARGE_MARGIN for v, step in steps)
    return after < -_TOLERANCE * LARGE_MARGIN, f"m = {-LARGE_MARGIN:g} becomes {after:.3g}"


def _adaptive_margin(rule: Rule) -> tuple[bool, str]:
    margins = [largest_margin(rule, v) for v in VARIANCES]
    text = "updates up to m = " + ", ".join(f"{m:.3g}" for m in margins)
    return max(margins) > min(margins) * (1 + _TOLERANCE), text


PROPERTIES = (
    Property(
        "large_margin",
        "Large Margin",
        "It updates on examples that it classifies correctly but with a small margin, at every variance.",
        _large_margin,
    ),
    Property(
        "confidence",
        "Confidence",
        "After one update the variance along the example is smaller than along an unseen one of the same length.",
        _confidence,
    ),
    Property(
        "non_separable",
        "Non-Separable",
        f"One label that contradicts a confident model (m = {-LARGE_MARGIN:g}) does not reverse its prediction: the "
        "margin after the update is still negative, at every variance.",
        _non_separable,
    ),
    Property(
        "adaptive_margin",
        "Adaptive Margin",
        f"The largest margin at which it updates depends on the variance v = {', '.join(map(str, VARIANCES))}.",
        _adaptive_margin,
    ),
)

#: Reasons for differences between the paper and what is declared and measured.
DISAGREEMENTS = {
    ("pa", "non_separable"): (
        "The paper's mark is for the family. PA itself satisfies every label in full; PA-I and PA-II avoid that."
    ),
    ("iellip", "non_separable"): (
        "Its ellipsoid is cut less and less, so that contradictory labels do not use it up. But on every mistake its "
        "mean moves to a margin of 1, as PA's does."
    ),
    ("narow", "adaptive_margin"): (
        "It requires a margin of 1 under the covariance after the update, which is a margin of max(1, b v) under the "
        "covariance before it: larger for examples of larger variance. LIBOL's NAROW, a different rule, requires 1 "
        "under the covariance before, and agrees with the paper's mark."
    ),
}

Found = Sequence[tuple[Rule, Sequence[Evidence]]]


def measure_properties(rules: Iterable[Rule] | None = None) -> list[tuple[Rule, list[Evidence]]]:
    """Measure the properties of rules, by default of all algorithms, in the order of the paper."""
    chosen = all_rules() if rules is None else rules
    return [(rule, [_evidence(rule, place) for place in range(len(PROPERTIES))]) for rule in chosen]


def property_table(found: Found) -> Table:
    """Return the declared properties as in the paper's table, with a numbered note for each disagreement."""
    notes: list[str] = []

    def cell(rule: Rule, evidence: Evidence) -> str:
        if evidence.unanimous:
            return yes_no(evidence.declared)
        notes.append(f"({len(notes) + 1}) {_note(rule, evidence)}")
        return f"{yes_no(evidence.declared)} ({len(notes)})"

    return _table("The properties of each algorithm", found, cell, notes)


def measurement_table(found: Found) -> Table:
    """Return the measurements, with the meaning of each property."""
    meanings = [f"**{p.title}**: {p.meaning}" for p in PROPERTIES]
    return _table("Measurements", found, lambda _, evidence: evidence.measurement, meanings)


def _step(rule: Rule, m: float, v: float) -> Step:
    return rule.step(m, v, _NORM2, _ROUND, rule.constants({}))


def _evidence(rule: Rule, place: int) -> Evidence:
    column = PROPERTIES[place]
    declared = bool(getattr(rule, column.name))
    try:
        measured, text = column.measure(rule)
    except (ArithmeticError, ValueError) as error:  # a user-defined rule may not accept such margins
        measured, text = declared, f"cannot be measured: {error}"
    # PA and SCW are families in the paper; a user-defined rule of a similar title belongs to neither.
    title = find_rule(rule.variant_of).title if rule.variant_of else rule.title
    marks = TABLE1.get(title.split("-")[0]) if rule.in_package else None
    return Evidence(column.name, declared, measured, text, None if marks is None else marks[place])


def _table(title: str, found: Found, cell: Callable[[Rule, Evidence], str], notes: Sequence[str]) -> Table:
    columns = ("algorithm", *(p.title for p in PROPERTIES))
    rows = [[rule.title, *(cell(rule, evidence) for evidence in row)] for rule, row in found]
    return Table(title, columns, rows, notes, text_columns=frozenset(columns))


def _note(rule: Rule, evidence: Evidence) -> str:
    title = next(p.title for p in PROPERTIES if p.name == evidence.name)
    paper = "" if evidence.paper is None else f", paper {yes_no(evidence.paper)}"
    reason = DISAGREEMENTS.get((rule.name, evidence.name), "")
    measured = f"measured {yes_no(evidence.measured)} ({evidence.measurement})"
    return f"{rule.title}, {title}: declared {yes_no(evidence.declared)}, {measured}{paper}. {reason}".rstrip()
