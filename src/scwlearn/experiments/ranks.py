"""Mean ranks over data sets: Friedman's test and the critical-difference diagram.

Demsar 2006. Statistical comparisons of classifiers over multiple data sets. JMLR 7, section 3.2.2.
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

from scwlearn._util.significance import average_ranks, value_table
from scwlearn.display.pictures import picture_style, picture_title, write_both
from scwlearn.display.theme import SOFT, algorithm_style
from scwlearn.rules import Rule

Values = Mapping[str, ArrayLike]


def friedman_p(values: Values) -> float:
    """Return the p-value of Friedman's test for three or more algorithms."""
    table = value_table(values)
    if np.all(table == table[:1]):  # all ranks are tied, and the statistic is 0/0
        return 1.0
    return float(stats.friedmanchisquare(*table).pvalue)


def critical_difference(algorithms: int, data_sets: int, *, confidence: float = 0.95) -> float:
    """Return the smallest significant difference of mean ranks by Nemenyi's test, q sqrt(k (k + 1)/(6 N))."""
    # q is the Studentised range with infinitely many degrees of freedom, divided by sqrt 2.
    q = stats.studentized_range.ppf(confidence, algorithms, math.inf) / math.sqrt(2)
    return float(q * math.sqrt(algorithms * (algorithms + 1) / (6 * data_sets)))


def tied_groups(ranks: Mapping[str, float], difference: float) -> list[list[str]]:
    """Return the largest groups of algorithms whose mean ranks are within the difference, the best first."""
    order = sorted(ranks, key=ranks.__getitem__)
    found: list[list[str]] = []
    covered = 0
    for start, best in enumerate(order):
        stop = sum(ranks[title] <= ranks[best] + difference for title in order)
        if stop > max(covered, start + 1):
            found.append(order[start:stop])
            covered = stop
    return found


#: In inches: the width of the diagram, the room above and beside the scale, the height of a name and of a bar.
_WIDTH, _ABOVE, _SIDE, _LINE, _BAR = 10.0, 1.25, 2.15, 0.23, 0.11


def rank_diagram(rules: Sequence[Rule], values: Values, path: Path, title: str) -> Path:
    """Draw the mean ranks, the best at the left, with a bar joining algorithms that do not differ at 95 %.

    `values` has an array over the data sets, lower is better, for the title of each rule.
    """
    values = {rule.title: values[rule.title] for rule in rules}
    ranks = average_ranks(values)
    p, data_sets = friedman_p(values), value_table(values).shape[1]
    difference = critical_difference(len(ranks), data_sets)
    # Pairs are compared only if Friedman's test finds a difference.
    bars = tied_groups(ranks, difference) if p < 0.05 else [sorted(ranks, key=ranks.__getitem__)]
    heights = [0.16 + _BAR * place for place in range(len(bars))]
    names_top = (heights[-1] if heights else 0.0) + 0.3
    depth = names_top + _LINE * math.ceil(len(rules) / 2)
    with picture_style():
        figure = Figure(figsize=(_WIDTH, _ABOVE + depth))
        # x in ranks, y in inches below the scale.
        axes = figure.add_axes((0, 0, 1, 1))
        per_rank = (_WIDTH - 2 * _SIDE) / (len(rules) - 1)
        axes.set_xlim(1 - _SIDE / per_rank, len(rules) + _SIDE / per_rank)
        axes.set_ylim(depth, -_ABOVE)
        axes.set_axis_off()
        _draw_scale(axes, len(rules), difference)
        for height, bar in zip(heights, bars, strict=True):
            reach = [ranks[bar[0]] - 0.04, ranks[bar[-1]] + 0.04]
            axes.plot(reach, [height, height], color=SOFT, linewidth=4, solid_capstyle="butt", zorder=2)
        _draw_names(axes, rules, ranks, names_top)
        friedman = f"p = {p:.2g}" if p >= 1e-4 else "p < 0.0001"
        subtitle = (
            f"Mean rank over {data_sets} data sets, best at the left. Friedman test: {friedman}. "
            "A bar joins algorithms that do not differ at 95 %."
        )
        picture_title(figure, title, subtitle)
        return write_both(figure, path)


def _draw_scale(axes: Axes, ranks: int, difference: float) -> None:
    axes.plot([1, ranks], [0, 0], color="black", linewidth=1.1, solid_capstyle="projecting")
    for rank in range(1, ranks + 1):
        axes.plot([rank, rank], [0, -0.07], color="black", linewidth=1.1)
        axes.text(rank, -0.1, str(rank), ha="center", va="bottom")
    axes.plot([1, 1 + difference], [-0.42, -0.42], color="black", linewidth=1.6, marker="|", markersize=8)
    axes.text(1 + 0.02 * ranks + difference, -0.42, f"critical difference {difference:.2f}", va="center_baseline")


def _draw_names(axes: Axes, rules: Sequence[Rule], ranks: Mapping[str, float], top: float) -> None:
    """Write the better half at the left and the others at the right, the outermost highest, so that no lines cross."""
    ordered = sorted(rules, key=lambda rule: ranks[rule.title])
    half = (len(ordered) + 1) // 2
    left, right = axes.get_xlim()
    inch = (right - left) / _WIDTH
    for side, edge, inwards, ha in (
        (ordered[:half], left, inch, "right"),
        (ordered[half:][::-1], right, -inch, "left"),
    ):
        for place, rule in enumerate(side):
            style, rank, y = algorithm_style(rule), ranks[rule.title], top + _LINE * place
            name, marker, end = edge + np.array([1.55, 1.69, 1.8]) * inwards
            width = max(0.6 * style.width, 0.9)
            axes.plot([rank, rank, end], [0, y, y], color=style.colour, linewidth=width, zorder=3)
            axes.plot([rank], [0], color=style.colour, marker="o", markersize=5, zorder=4)
            axes.plot([marker], [y], linestyle="none", **style.point(7))
            text = f"{rule.title}  {rank:.1f}" if ha == "right" else f"{rank:.1f}  {rule.title}"
            axes.text(name, y, text, ha=ha, va="center_baseline", fontweight=style.font_weight)
