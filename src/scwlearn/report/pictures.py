"""Pictures of comparisons and grids, as SVG or PNG files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, NullLocator

from scwlearn.display.formatting import number_text, parameter_text
from scwlearn.display.pictures import picture_style, plain_text, write_picture
from scwlearn.display.theme import FAINT, SOFT, algorithm_style
from scwlearn.rules import Parameter
from scwlearn.runs.compare import Standing
from scwlearn.runs.tune import CellResult, best_first, grid_axes

Group = Sequence[CellResult]

# In inches: the height of an algorithm in a comparison, and the size of a panel of a grid.
_ROW_HEIGHT, _PANEL_WIDTH, _PANEL_HEIGHT = 0.34, 6.2, 4.6
# The frame of the best cell, visible on the darkest and the lightest colour.
_FRAME = "#e0002a"
_COLOUR_MAP = "YlGnBu_r"
_MAX_TICKS = 12
# Contributions of red, green and blue to lightness.
_LIGHTNESS = (0.3, 0.59, 0.11)


def draw_comparison(found: Sequence[Standing], title: str, path: Path) -> None:
    """Draw the algorithms from the best down: a dot for each order, and the mean ± standard deviation."""
    orders = len(found[0].runs.final_errors)
    with picture_style():
        figure = Figure(figsize=(8.6, 1.5 + _ROW_HEIGHT * len(found)), layout="constrained")
        axes = figure.subplots()
        axes.axvline(100 * found[0].runs.mean_error, color=FAINT, linewidth=1.0, zorder=1)
        names = []
        for place, each in enumerate(found):
            rule, parameters = each.runs.rule, parameter_text(each.runs.parameters, ", ")
            names.append(f"{rule.title} ({parameters})" if parameters else rule.title)
            style, errors = algorithm_style(rule), 100 * each.runs.final_errors
            # Side by side, so that equal errors remain visible.
            y = place + np.linspace(-0.16, 0.16, orders) if orders > 1 else np.array([place])
            axes.plot(errors, y, linestyle="none", marker="o", markersize=3.2, color=style.colour, alpha=0.35)
            mean, std = 100 * each.runs.mean_error, 100 * each.std
            axes.plot([mean - std, mean + std], [place, place], color=style.colour, linewidth=2.0, zorder=3)
            axes.plot([mean], [place], linestyle="none", **style.point(8))
        axes.set_yticks(range(len(found)), names)
        for label, each in zip(axes.get_yticklabels(), found, strict=True):
            label.set_fontweight("bold" if each.as_good_as_best else "normal")
        axes.set_ylim(len(found) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g} %"))
        axes.grid(axis="x")
        axes.set_xlabel("progressive error")
        axes.set_title(plain_text(title), loc="left", fontweight="bold")
        note = "One order of the data."
        if orders > 1:
            note = (
                f"{orders} orders, mean ± standard deviation. Bold: the best, and all that a paired t-test at 95 % "
                "cannot distinguish from it."
            )
        figure.supxlabel(note, color=SOFT, fontsize=8, x=0.01, ha="left")
        write_picture(figure, path)


def draw_grid(results: Group, metric: str, path: Path) -> None:
    """Draw a heat map for each algorithm in which two parameters vary, and curves for those with fewer."""
    by_rule: dict[str, list[CellResult]] = {}
    for result in results:
        by_rule.setdefault(result.rule.name, []).append(result)
    maps = [group for group in by_rule.values() if len(grid_axes(group)) == 2]
    curves = [group for group in by_rule.values() if len(grid_axes(group)) < 2]
    # Bounded parameters get a panel of their own.
    bounded = [group for group in curves if not _is_unbounded([group])]
    joint = [groups for groups in ([group for group in curves if group not in bounded], bounded) if groups]
    count = len(maps) + len(joint)
    if not count:
        raise ValueError("a picture shows at most two parameters of an algorithm, but more vary here")
    columns = min(2, count)
    rows = math.ceil(count / columns)
    with picture_style():
        figure = Figure(figsize=(_PANEL_WIDTH * columns, _PANEL_HEIGHT * rows + 0.5), layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False).ravel()
        for axes, group in zip(panels, maps, strict=False):
            _draw_map(axes, group, metric)
        for axes, groups in zip(panels[len(maps) :], joint, strict=False):
            _draw_curves(axes, groups, metric)
        for axes in panels[count:]:
            axes.set_axis_off()
        best = best_first(results, metric)[0]
        chosen = ", ".join([best.rule.title, *(f"{n} = {number_text(v)}" for n, v in best.parameters.items())])
        title = f"Best: {chosen} (progressive {metric} {_text(best.value(metric), metric)})"
        figure.suptitle(title, fontweight="bold", fontsize=12, x=0.01, ha="left")
        write_picture(figure, path)


def _varying(groups: Sequence[Group]) -> list[Parameter]:
    return [p for group in groups for p in group[0].rule.parameters if p.name in grid_axes(group)]


def _is_unbounded(groups: Sequence[Group]) -> bool:
    return all(math.isinf(p.high) for p in _varying(groups))


def _draw_map(axes: Axes, group: Group, metric: str) -> None:
    (down, rows), (across, columns) = grid_axes(group).items()
    table = np.full((len(rows), len(columns)), np.nan)
    for result in group:
        table[rows.index(result.parameters[down]), columns.index(result.parameters[across])] = result.value(metric)
    # Colours by rank: cells near the best stay distinguishable, however bad the worst is.
    ranks = np.searchsorted(np.unique(table), table)
    image = axes.imshow(ranks, cmap=_COLOUR_MAP, norm=Normalize(0, max(1, ranks.max())), origin="lower", aspect="auto")
    for (i, j), value in np.ndenumerate(table):
        dark = float(np.dot(image.to_rgba(ranks[i, j])[:3], _LIGHTNESS)) < 0.5
        colour = "white" if dark else "#222222"
        axes.text(j, i, _text(value, metric, unit=""), ha="center", va="center", color=colour, fontsize=8)
    best = best_first(group, metric)[0].parameters
    corner = (columns.index(best[across]) - 0.5, rows.index(best[down]) - 0.5)
    axes.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=_FRAME, linewidth=2.5))
    axes.set_xticks(range(len(columns)), [*map(number_text, columns)])
    axes.set_yticks(range(len(rows)), [*map(number_text, rows)])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_xlabel(across)
    axes.set_ylabel(down)
    unit = " in %" if metric == "error" else ""
    axes.set_title(f"{group[0].rule.title}: progressive {metric}{unit} (darker is better)", loc="left")


def _draw_curves(axes: Axes, groups: Sequence[Group], metric: str) -> None:
    values: set[float] = set()
    for group in groups:
        rule = group[0].rule
        line = algorithm_style(rule).line()
        if varying := grid_axes(group):
            ((name, xs),) = varying.items()
            ys = {each.parameters[name]: each.value(metric) for each in group}
            axes.plot(xs, [ys[x] for x in xs], label=f"{rule.title} ({name})", **line)
            values |= {*xs}
        else:  # nothing to tune
            axes.axhline(group[0].value(metric), label=rule.title, **line | {"marker": ""})
    if values and _is_unbounded(groups):
        axes.set_xscale("log", base=2)
    if len(values) <= _MAX_TICKS:
        axes.set_xticks(sorted(values), [*map(number_text, sorted(values))])
        axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(
        FuncFormatter(lambda value, _: f"{100 * value:g} %" if metric == "error" else f"{value:g}")
    )
    axes.set_xlabel(", ".join(sorted({p.name for p in _varying(groups)})))
    axes.grid()
    axes.set_title(f"progressive {metric} (lower is better)", loc="left")
    if len(groups) > 1:
        axes.legend(frameon=False, fontsize=8.5, loc="center left", bbox_to_anchor=(1.0, 0.5))


def _text(value: float, metric: str, unit: str = " %") -> str:
    return f"{100 * value:.2f}{unit}" if metric == "error" else f"{value:.3f}"
