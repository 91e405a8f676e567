"""Table 1: the properties of each algorithm, every one demonstrated on its rule and not only declared.

Asked are the rules themselves, with their default parameters, at the variances of VARIANCES.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import sqrt

from scwlearn.experiments.paper import TABLE1
from scwlearn.experiments.tables import Table, yes_no
from scwlearn.learning.learner import Learner
from scwlearn.rules import HOLD, Rule, Step, all_rules, find_rule

#: The variances v = x'Sigma x at which a rule is asked.
VARIANCES = (0.1, 1.0, 10.0)

#: A margin far beyond what any of the rules asks for: a model that is sure, of the right side or the wrong one.
SURE = 1000.0

# |mu|^2 and the round, where a rule looks at them: long enough for |m| <= |mu||x| up to SURE at every variance.
_NORM2, _ROUND = 1e8, 1.0

# Margins and variances closer than this, relatively, are equal: what rounding and bisection leave is smaller.
_SLACK = 1e-6


@dataclass(frozen=True)
class Evidence:
    """One cell: what the rule declares, what its demonstration found and in which figure, what the paper says."""

    property: str
    declared: bool
    measured: bool
    figure: str
    paper: bool | None

    def confirmed(self) -> bool:
        """Whether the demonstration found what is declared."""
        return self.declared == self.measured

    def unanimous(self) -> bool:
        """Whether the declaration, the demonstration and the paper, if it has the algorithm, all say the same."""
        return self.confirmed() and self.paper in (None, self.declared)


@dataclass(frozen=True)
class Property:
    """A column: the attribute of a rule, its title in the paper, what it means here, and the demonstration."""

    name: str
    title: str
    meaning: str
    demonstrate: Callable[[Rule], tuple[bool, str]]


def last_margin(rule: Rule, v: float) -> float:
    """The largest margin, 0 to SURE, at which the rule still moves on an example of variance v."""

    def moves(m: float) -> bool:
        return _step(rule, m, v) != HOLD

    low, high = 1e-9, SURE
    if not moves(low):
        return 0.0
    if moves(high):
        return high
    while high > low * (1 + _SLACK / 10):
        middle = sqrt(low * high)
        low, high = (middle, high) if moves(middle) else (low, middle)
    return low


def _large_margin(rule: Rule) -> tuple[bool, str]:
    least = min(last_margin(rule, v) for v in VARIANCES)
    return least > 0, f"moves up to m = {least:.3g}"


def _confidence(rule: Rule) -> tuple[bool, str]:
    # As long as the variances go: NAROW learns nothing about an example whose variance is below 1/b.
    length = sqrt(max(VARIANCES))
    rows = [[length, 0.0], [0.0, length]]
    learner = Learner(rule, covariance="full")
    learner.learn(rows[:1], [1])
    seen, unseen = learner.margin_variances(rows)
    return bool(seen < unseen * (1 - _SLACK)), f"variance {seen / unseen:.3g} of an unseen direction's"


def _non_separable(rule: Rule) -> tuple[bool, str]:
    steps = [(v, _step(rule, -SURE, v)) for v in VARIANCES]
    after = max(step.alpha * v - step.shrink * SURE for v, step in steps)
    return after < -_SLACK * SURE, f"m = {-SURE:g} becomes {after:.3g}"


def _adaptive_margin(rule: Rule) -> tuple[bool, str]:
    margins = [last_margin(rule, v) for v in VARIANCES]
    return max(margins) > min(margins) * (1 + _SLACK), "moves up to m = " + ", ".join(f"{m:.3g}" for m in margins)


PROPERTIES = (
    Property(
        "large_margin",
        "Large Margin",
        "It moves on examples that it classifies rightly but by a small margin, whatever their variance.",
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
        f"One label against a model that is sure (m = {-SURE:g}) does not turn its prediction over: the margin after "
        "the step is still negative, whatever the variance.",
        _non_separable,
    ),
    Property(
        "adaptive_margin",
        "Adaptive Margin",
        f"The largest margin at which it still moves depends on the variance v = {', '.join(map(str, VARIANCES))}.",
        _adaptive_margin,
    ),
)

#: Where the paper says something else than the rule declares and its demonstration finds, and why.
DISAGREEMENTS = {
    ("pa", "non_separable"): (
        "The paper marks the family. PA itself satisfies every label in full; PA-I and PA-II are there to avoid that."
    ),
    ("iellip", "non_separable"): (
        "Its ellipsoid is cut less and less, so that labels that contradict each other do not use it up. But its mean "
        "goes to a margin of 1 on every mistake, as PA's does, whatever the label."
    ),
    ("narow", "adaptive_margin"): (
        "It asks for a margin of 1 by the covariance that already knows the example; by the one before, that is a "
        "margin of max(1, b v), so that examples of a larger variance are asked for more. LIBOL's NAROW, another rule, "
        "asks for 1 by the covariance before: of that one the paper's mark is right."
    ),
}


def table1(rules: Iterable[Rule] | None = None) -> list[tuple[Rule, list[Evidence]]]:
    """Each rule, by default every algorithm declared, with the evidence for each property in the paper's order."""
    return [
        (rule, [_evidence(rule, place) for place in range(len(PROPERTIES))])
        for rule in (all_rules() if rules is None else rules)
    ]


def marks(found: Sequence[tuple[Rule, Sequence[Evidence]]]) -> Table:
    """The declared marks as in the paper's table, with a numbered note where not everything agrees with them."""
    notes: list[str] = []

    def cell(rule: Rule, evidence: Evidence) -> str:
        if evidence.unanimous():
            return yes_no(evidence.declared)
        notes.append(f"({len(notes) + 1}) {_note(rule, evidence)}")
        return f"{yes_no(evidence.declared)} ({len(notes)})"

    return _table("The properties of each algorithm", found, cell, notes)


def evidence(found: Sequence[tuple[Rule, Sequence[Evidence]]]) -> Table:
    """What was measured in each cell, and what each property was taken to mean."""
    meanings = [f"**{p.title}**: {p.meaning}" for p in PROPERTIES]
    return _table("What was measured", found, lambda _, evidence: evidence.figure, meanings)


def _step(rule: Rule, m: float, v: float) -> Step:
    return rule.step(m, v, _NORM2, _ROUND, rule.constants({}))


def _evidence(rule: Rule, place: int) -> Evidence:
    of = PROPERTIES[place]
    declared = bool(getattr(rule, of.name))
    try:
        measured, figure = of.demonstrate(rule)
    except (ArithmeticError, ValueError) as error:  # a user's rule that is not made for so extreme a margin
        measured, figure = declared, f"cannot be measured: {error}"
    # The paper's rows PA and SCW are families; a user's rule of a like title is none of them.
    title = find_rule(rule.variant_of).title if rule.variant_of else rule.title
    marks = TABLE1.get(title.split("-")[0]) if rule.in_package else None
    return Evidence(of.name, declared, measured, figure, None if marks is None else marks[place])


def _table(
    title: str,
    found: Sequence[tuple[Rule, Sequence[Evidence]]],
    cell: Callable[[Rule, Evidence], str],
    notes: Sequence[str],
) -> Table:
    columns = ("algorithm", *(p.title for p in PROPERTIES))
    rows = [[rule.title, *(cell(rule, evidence) for evidence in row)] for rule, row in found]
    return Table(title, columns, rows, notes, words=frozenset(columns))


def _note(rule: Rule, evidence: Evidence) -> str:
    title = next(p.title for p in PROPERTIES if p.name == evidence.property)
    paper = "" if evidence.paper is None else f", the paper says {yes_no(evidence.paper)}"
    reason = DISAGREEMENTS.get((rule.name, evidence.property), "")
    verdict = f"declared {yes_no(evidence.declared)}, measured {yes_no(evidence.measured)} ({evidence.figure}){paper}."
    return f"{rule.title}, {title}: {verdict} {reason}".rstrip()
