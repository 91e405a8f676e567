"""Comparison of the algorithms over all data sets: mean ranks, and the cost of accuracy.

Demsar 2006. Statistical comparisons of classifiers over multiple data sets. JMLR 7, section 3.2.2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
from matplotlib.transforms import Bbox, BboxBase
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from scwlearn._util.significance import average_ranks, value_table
from scwlearn.display.pictures import picture_style, picture_title, write_both
from scwlearn.display.theme import FAINT, SOFT, algorithm_style
from scwlearn.experiments.study import Block, Blocks, DataSetRuns
from scwlearn.rules import Rule

Array = NDArray[np.float64]
Values = Mapping[str, ArrayLike]

#: In inches: the width of the rank diagram, the room above and beside its scale, the height of a name and of a bar.
_WIDTH, _ABOVE, _SIDE, _LINE, _BAR = 10.0, 1.25, 2.15, 0.23, 0.11

#: Distances in points and angles in degrees at which the name of a point is tried.
_NEAR = 8
_DISTANCES = (_NEAR, 13, 19, 26, 36, 48, 62, 78, 96)
_ANGLES = (0, 180, 90, 270, 45, 315, 135, 225, 22, 338, 158, 202, 68, 292, 112, 248)


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


def tradeoff_picture(blocks: Blocks, path: Path) -> Path:
    """Draw each algorithm by the geometric means, over the data sets, of its cost relative to the lowest.

    Every data set has the same algorithms in the same order. The grey line joins those that no other beats in both.
    """
    # No mistake or no update counts as one: a ratio to zero does not exist.
    mistakes = _relative(blocks, lambda run: max(run.mean_error, 1 / run.seen[-1]))
    updates = _relative(blocks, lambda run: max(run.final_updates.mean(), 1.0))
    seconds = _relative(blocks, lambda run: run.median_seconds)
    with picture_style():
        figure = Figure(figsize=(12, 5.4))
        panels = figure.subplots(1, 2, sharey=True)
        figure.subplots_adjust(left=0.06, right=0.985, bottom=0.105, top=0.86, wspace=0.06)
        for axes, x, what in zip(panels, (updates, seconds), ("updates", "time"), strict=True):
            _draw_points(axes, blocks[0], x, mistakes)
            axes.set_xlabel(f"{what}, relative to the lowest")
        panels[0].set_ylabel("mistakes, relative to the lowest")
        for axes, x in zip(panels, (updates, seconds), strict=True):
            _name_points(figure, axes, blocks[0], x, mistakes)
        subtitle = (
            f"Geometric means over {len(blocks)} data sets; lower left is better. "
            "Grey line: algorithms that no other beats in both."
        )
        picture_title(figure, "The cost of accuracy", subtitle)
        return write_both(figure, path)


def _relative(blocks: Blocks, measure: Callable[[DataSetRuns], float]) -> Array:
    table = np.log([[measure(run) for run in runs] for runs in blocks])
    means: Array = np.exp((table - table.min(axis=1, keepdims=True)).mean(axis=0))
    return means


def _draw_points(axes: Axes, runs: Block, x: Array, y: Array) -> None:
    front = [i for i in np.lexsort((y, x)) if not np.any((x <= x[i]) & (y <= y[i]) & ((x < x[i]) | (y < y[i])))]
    axes.plot(x[front], y[front], color=FAINT, linewidth=5, solid_capstyle="round", alpha=0.5, zorder=1)
    for run, each_x, each_y in zip(runs, x, y, strict=True):
        style = algorithm_style(run.rule)
        axes.plot([each_x], [each_y], linestyle="none", **style.point(11 if style.highlighted else 8))
    axes.set(xscale="log", yscale="log")
    for values, set_limits, axis in ((x, axes.set_xlim, axes.xaxis), (y, axes.set_ylim, axes.yaxis)):
        reach = max(values.max() / values.min(), 1.1)
        set_limits(values.min() / reach**0.1, values.max() * reach**0.1)
        fine = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 7) if reach < 10 else (1, 2, 5)
        axis.set_major_locator(LogLocator(subs=fine))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_locator(NullLocator())
    axes.grid()


def _name_points(figure: Figure, axes: Axes, runs: Block, x: Array, y: Array) -> None:
    """Write each name where it covers no point and no other name, with a line to a distant point."""
    at = axes.transData.transform(np.column_stack([x, y]))
    dot = figure.dpi / 72
    taken = [Bbox([point - 6 * dot, point + 6 * dot]) for point in at]
    neighbours = np.sum(np.linalg.norm(at[:, None] - at, axis=-1) < 60 * dot, axis=1)
    # Crowded points have the fewest free places, so they come first.
    for i in np.argsort(-neighbours, kind="stable"):
        style = algorithm_style(runs[i].rule)
        text = axes.annotate(
            runs[i].rule.title,
            (x[i], y[i]),
            (0, 0),
            textcoords="offset points",
            ha="center",
            va="center",
            fontweight=style.font_weight,
            arrowprops={"arrowstyle": "-", "color": style.colour, "linewidth": 0.8, "shrinkA": 1, "shrinkB": 4},
        )
        distance, box = _free_place(at[i], np.array(text.get_window_extent().size), taken, axes.bbox, dot)
        taken.append(box)
        text.set_position((np.mean(box.get_points(), axis=0) - at[i]) / dot)
        if distance == _NEAR and text.arrow_patch:
            text.arrow_patch.set_visible(False)


def _free_place(point: Array, size: Array, taken: list[Bbox], within: BboxBase, dot: float) -> tuple[int, Bbox]:
    """Return the nearest free place for a name and its distance; the farthest if all are taken."""
    others = [box for box in taken if not box.contains(*point)]
    for distance in _DISTANCES:
        for angle in _ANGLES:
            direction = np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle))])
            corner = point + direction * (distance * dot + size / 2) - size / 2
            box = Bbox([corner, corner + size])
            inside = within.contains(*box.p0) and within.contains(*box.p1)
            line = [point + share * distance * dot * direction for share in (0.3, 0.6, 0.9)]
            crossed = any(other.contains(*step) for other in others for step in line)
            if inside and not crossed and not box.padded(dot).count_overlaps(taken):
                return distance, box
    return distance, box
