"""The picture of a grid: a heat map for each algorithm with two parameters, curves for the others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, NullLocator

from scwlearn.display.formatting import number_text
from scwlearn.display.pictures import picture_style, write_picture
from scwlearn.display.theme import algorithm_style
from scwlearn.rules import Parameter
from scwlearn.runs.tune import CellResult, best_first, grid_axes

Group = Sequence[CellResult]

# The frame of the best cell, visible on the darkest and the lightest colour.
_FRAME = "#e0002a"
_COLOUR_MAP = "YlGnBu_r"
_PANEL_WIDTH, _PANEL_HEIGHT = 6.2, 4.6
_MAX_TICKS = 12
# Contributions of red, green and blue to lightness.
_LIGHTNESS = (0.3, 0.59, 0.11)


def draw_grid(results: Group, metric: str, path: Path) -> None:
    """Draw the grids of all algorithms, except those in which more than two parameters vary."""
    by_rule: dict[str, list[CellResult]] = {}
    for result in results:
        by_rule.setdefault(result.rule.name, []).append(result)
    maps = [group for group in by_rule.values() if len(grid_axes(group)) == 2]
    curves = _curve_panels([group for group in by_rule.values() if len(grid_axes(group)) < 2])
    count = len(maps) + len(curves)
    if not count:
        raise ValueError("a picture shows at most two parameters of an algorithm, but more vary here")
    columns = min(2, count)
    rows = math.ceil(count / columns)
    with picture_style():
        figure = Figure(figsize=(_PANEL_WIDTH * columns, _PANEL_HEIGHT * rows + 0.5), layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False).ravel()
        for axes, group in zip(panels, maps, strict=False):
            _draw_map(axes, group, metric)
        for axes, groups in zip(panels[len(maps) :], curves, strict=False):
            _draw_curves(axes, groups, metric)
        for axes in panels[count:]:
            axes.set_axis_off()
        best = best_first(results, metric)[0]
        chosen = ", ".join([best.rule.title, *(f"{n} = {number_text(v)}" for n, v in best.parameters.items())])
        title = f"Best: {chosen} (progressive {metric} {_text(best.value(metric), metric)})"
        figure.suptitle(title, fontweight="bold", fontsize=12, x=0.01, ha="left")
        write_picture(figure, path)


def _curve_panels(groups: Sequence[Group]) -> list[list[Group]]:
    """Split algorithms with one parameter or none: bounded parameters get separate panels."""
    bounded = [group for group in groups if any(not math.isinf(p.high) for p in _varying(group))]
    others = [group for group in groups if group not in bounded]
    return [panel for panel in (others, bounded) if panel]


def _varying(group: Group) -> list[Parameter]:
    names = grid_axes(group)
    return [p for p in group[0].rule.parameters if p.name in names]


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
    axes.set_xticks(range(len(columns)), [number_text(value) for value in columns])
    axes.set_yticks(range(len(rows)), [number_text(value) for value in rows])
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
        line: dict[str, Any] = algorithm_style(rule).line()
        if varying := grid_axes(group):
            ((name, xs),) = varying.items()
            ys = {each.parameters[name]: each.value(metric) for each in group}
            axes.plot(xs, [ys[x] for x in xs], label=f"{rule.title} ({name})", **line)
            values |= {*xs}
        else:  # nothing to tune
            axes.axhline(group[0].value(metric), label=rule.title, **line | {"marker": ""})
    parameters = [p for group in groups for p in _varying(group)]
    if values and all(math.isinf(p.high) for p in parameters):
        axes.set_xscale("log", base=2)
    if len(values) <= _MAX_TICKS:
        axes.set_xticks(sorted(values), [number_text(tick) for tick in sorted(values)])
        axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(
        FuncFormatter(lambda value, _: f"{100 * value:g} %" if metric == "error" else f"{value:g}")
    )
    axes.set_xlabel(", ".join(sorted({p.name for p in parameters})))
    axes.grid()
    axes.set_title(f"progressive {metric} (lower is better)", loc="left")
    if len(groups) > 1:
        axes.legend(frameon=False, fontsize=8.5, loc="center left", bbox_to_anchor=(1.0, 0.5))


def _text(value: float, metric: str, unit: str = " %") -> str:
    return f"{100 * value:.2f}{unit}" if metric == "error" else f"{value:.3f}"
