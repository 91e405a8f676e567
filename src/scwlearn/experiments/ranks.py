"""Algorithms compared over data sets by their ranks: Friedman's test and the critical-difference diagram.

Demsar 2006. Statistical comparisons of classifiers over multiple data sets. JMLR 7. Its section 3.2.2 has the test,
the critical difference and the diagram.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from scipy import stats

from scwlearn._util.significance import average_ranks, table_of
from scwlearn.experiments.style import house, look_of, save
from scwlearn.rules import Rule

Values = Mapping[str, ArrayLike]


def friedman_p(values: Values) -> float:
    """How likely ranks at least so different are if the algorithms, three or more, do not differ."""
    table = table_of(values)
    if np.all(table == table[:1]):  # every rank is tied, and the statistic is 0/0
        return 1.0
    return float(stats.friedmanchisquare(*table).pvalue)


def critical_difference(algorithms: int, data_sets: int, *, confidence: float = 0.95) -> float:
    """How far mean ranks must lie apart to differ by Nemenyi's test: q sqrt(k (k + 1)/(6 N))."""
    # q is the Studentised range with infinitely many degrees of freedom, divided by sqrt 2.
    q = stats.studentized_range.ppf(confidence, algorithms, math.inf) / math.sqrt(2)
    return float(q * math.sqrt(algorithms * (algorithms + 1) / (6 * data_sets)))


def groups(ranks: Mapping[str, float], difference: float) -> list[list[str]]:
    """The largest sets of two or more algorithms whose mean ranks lie within the difference, the best first."""
    order = sorted(ranks, key=ranks.__getitem__)
    found: list[list[str]] = []
    covered = 0
    for start, best in enumerate(order):
        stop = sum(ranks[title] <= ranks[best] + difference for title in order)
        if stop > max(covered, start + 1):
            found.append(order[start:stop])
            covered = stop
    return found


#: The diagram, in inches: its width, the room above the scale and beside it, a line of names, and a bar.
_PAGE, _ABOVE, _SIDE, _LINE, _BAR = 10.0, 1.25, 2.15, 0.23, 0.11


def cd_diagram(rules: Sequence[Rule], values: Values, path: Path, title: str) -> list[Path]:
    """Draw the mean ranks, the best left, with a bar below those that cannot be told apart at 95 %.

    `values` has an array over the data sets, lower better, for the title of each rule.
    """
    values = {rule.title: values[rule.title] for rule in rules}
    ranks = average_ranks(values)
    p, data_sets = friedman_p(values), table_of(values).shape[1]
    difference = critical_difference(len(ranks), data_sets)
    # Pairs are compared only if Friedman's test says that there is a difference to look for.
    bars = groups(ranks, difference) if p < 0.05 else [sorted(ranks, key=ranks.__getitem__)]
    tops = [0.16 + _BAR * place for place in range(len(bars))]
    names = (tops[-1] if tops else 0.0) + 0.3
    depth = names + _LINE * math.ceil(len(rules) / 2)
    with house():
        figure = Figure(figsize=(_PAGE, _ABOVE + depth))
        # Inches downwards from the line of ranks, and ranks along it.
        axes = figure.add_axes((0, 0, 1, 1))
        per_rank = (_PAGE - 2 * _SIDE) / (len(rules) - 1)
        axes.set_xlim(1 - _SIDE / per_rank, len(rules) + _SIDE / per_rank)
        axes.set_ylim(depth, -_ABOVE)
        axes.set_axis_off()
        _scale(axes, len(rules), difference)
        for top, bar in zip(tops, bars, strict=True):
            reach = [ranks[bar[0]] - 0.04, ranks[bar[-1]] + 0.04]
            axes.plot(reach, [top, top], color="#444444", linewidth=4, solid_capstyle="butt", zorder=2)
        _names(axes, rules, ranks, names)
        found = f"Friedman: p = {p:.2g}" if p >= 1e-4 else "Friedman: p < 0.0001"
        about = f"mean rank over {data_sets} data sets, the best left; {found}; joined by a bar: no difference at 95 %"
        figure.text(0.01, 1 - 0.26 / (_ABOVE + depth), title, fontsize=13, fontweight="bold")
        figure.text(0.01, 1 - 0.48 / (_ABOVE + depth), about, color="#666666")
        return save(figure, path)


def _scale(axes: Axes, ranks: int, difference: float) -> None:
    axes.plot([1, ranks], [0, 0], color="black", linewidth=1.1, solid_capstyle="projecting")
    for rank in range(1, ranks + 1):
        axes.plot([rank, rank], [0, -0.07], color="black", linewidth=1.1)
        axes.text(rank, -0.1, str(rank), ha="center", va="bottom")
    axes.plot([1, 1 + difference], [-0.42, -0.42], color="black", linewidth=1.6, marker="|", markersize=8)
    axes.text(1 + 0.02 * ranks + difference, -0.42, f"critical difference {difference:.2f}", va="center_baseline")


def _names(axes: Axes, rules: Sequence[Rule], ranks: Mapping[str, float], top: float) -> None:
    """The better half at the left, the others at the right; the outermost highest, so that no lines cross."""
    ordered = sorted(rules, key=lambda rule: ranks[rule.title])
    half = (len(ordered) + 1) // 2
    left, right = axes.get_xlim()
    inch = (right - left) / _PAGE
    for side, edge, inwards, ha in (
        (ordered[:half], left, inch, "right"),
        (ordered[half:][::-1], right, -inch, "left"),
    ):
        for place, rule in enumerate(side):
            look, rank, y = look_of(rule), ranks[rule.title], top + _LINE * place
            name, marker, end = edge + np.array([1.55, 1.69, 1.8]) * inwards
            axes.plot([rank, rank, end], [0, y, y], color=look.colour, linewidth=max(0.6 * look.width, 0.9), zorder=3)
            axes.plot([rank], [0], color=look.colour, marker="o", markersize=5, zorder=4)
            axes.plot([marker], [y], linestyle="none", **look.point(7))
            text = f"{rule.title}  {rank:.1f}" if ha == "right" else f"{rank:.1f}  {rule.title}"
            axes.text(name, y, text, ha=ha, va="center_baseline", fontweight="bold" if look.stands_out else "normal")
