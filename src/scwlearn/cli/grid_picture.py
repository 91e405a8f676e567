"""A picture of a grid: a map for each algorithm with two parameters, curves for those with one."""

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

from scwlearn.cli.messages import number_text
from scwlearn.cli.plots import write_plot
from scwlearn.experiments.style import house, look_of
from scwlearn.rules import Parameter
from scwlearn.runs.grids import Outcome, axes_of, best_first

# The frame of the best cell, which stands out on the darkest and the lightest of the colours.
_FRAME = "#e0002a"
_COLOURS = "YlGnBu_r"
_PANEL, _HEIGHT = 6.2, 4.6
_MOST_TICKS = 12
# How much red, green and blue make of a colour's lightness.
_LIGHTNESS = (0.3, 0.59, 0.11)


def draw_grid(outcomes: Sequence[Outcome], metric: str, path: Path) -> None:
    """Draw all cells of all algorithms. Those with more than two parameters that vary are left out."""
    by_rule: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        by_rule.setdefault(outcome.cell.rule.name, []).append(outcome)
    maps = [group for group in by_rule.values() if len(axes_of(group)) == 2]
    curves = _curve_panels([group for group in by_rule.values() if len(axes_of(group)) < 2])
    panels = len(maps) + len(curves)
    if not panels:
        raise ValueError("a picture shows one or two parameters of an algorithm; here more of them vary")
    across = min(2, panels)
    down = math.ceil(panels / across)
    with house():
        figure = Figure(figsize=(_PANEL * across, _HEIGHT * down + 0.5), layout="constrained")
        every = figure.subplots(down, across, squeeze=False).ravel()
        for axes, group in zip(every, maps, strict=False):
            _map(axes, group, metric)
        for axes, groups in zip(every[len(maps) :], curves, strict=False):
            _curves(axes, groups, metric)
        for axes in every[panels:]:
            axes.set_axis_off()
        best = best_first(outcomes, metric)[0]
        chosen = ", ".join(
            [best.cell.rule.title, *(f"{n} = {number_text(v)}" for n, v in best.cell.parameters.items())]
        )
        title = f"Best: {chosen} ({_name(metric)} {_text(best.value(metric), metric)})"
        figure.suptitle(title, fontweight="bold", fontsize=12, x=0.01, ha="left")
        write_plot(figure, path)


def _curve_panels(groups: Sequence[Sequence[Outcome]]) -> list[list[Sequence[Outcome]]]:
    """Algorithms with one parameter or none, those apart whose parameter lies between two numbers."""
    bounded = [group for group in groups if any(not math.isinf(p.high) for p in _varied(group))]
    others = [group for group in groups if group not in bounded]
    return [panel for panel in (others, bounded) if panel]


def _varied(group: Sequence[Outcome]) -> list[Parameter]:
    names = axes_of(group)
    return [p for p in group[0].cell.rule.parameters if p.name in names]


def _map(axes: Axes, group: Sequence[Outcome], metric: str) -> None:
    (down, rows), (across, columns) = axes_of(group).items()
    table = np.full((len(rows), len(columns)), np.nan)
    for outcome in group:
        place = (rows.index(outcome.cell.parameters[down]), columns.index(outcome.cell.parameters[across]))
        table[place] = outcome.value(metric)
    # Equal steps of colour from rank to rank: what is near the best is told apart, however bad the worst is.
    ranks = np.searchsorted(np.unique(table), table)
    image = axes.imshow(ranks, cmap=_COLOURS, norm=Normalize(0, max(1, ranks.max())), origin="lower", aspect="auto")
    for (i, j), value in np.ndenumerate(table):
        dark = float(np.dot(image.to_rgba(ranks[i, j])[:3], _LIGHTNESS)) < 0.5
        colour = "white" if dark else "#222222"
        axes.text(j, i, _text(value, metric, unit=""), ha="center", va="center", color=colour, fontsize=8)
    best = best_first(group, metric)[0].cell.parameters
    corner = (columns.index(best[across]) - 0.5, rows.index(best[down]) - 0.5)
    axes.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=_FRAME, linewidth=2.5))
    axes.set_xticks(range(len(columns)), [number_text(value) for value in columns])
    axes.set_yticks(range(len(rows)), [number_text(value) for value in rows])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_xlabel(across)
    axes.set_ylabel(down)
    unit = ", in %" if metric == "error" else ""
    axes.set_title(f"{group[0].cell.rule.title}: {_name(metric)}{unit}, the darker the better", loc="left")


def _curves(axes: Axes, groups: Sequence[Sequence[Outcome]], metric: str) -> None:
    values: set[float] = set()
    for group in groups:
        rule = group[0].cell.rule
        look: dict[str, Any] = look_of(rule).line()
        if varied := axes_of(group):
            ((name, xs),) = varied.items()
            ys = {o.cell.parameters[name]: o.value(metric) for o in group}
            axes.plot(xs, [ys[x] for x in xs], label=f"{rule.title} ({name})", **look)
            values |= {*xs}
        else:
            # Nothing to tune: as good everywhere.
            axes.axhline(group[0].value(metric), label=rule.title, **look | {"marker": ""})
    if values and all(math.isinf(p.high) for group in groups for p in _varied(group)):
        axes.set_xscale("log", base=2)
    if len(values) <= _MOST_TICKS:
        axes.set_xticks(sorted(values), [number_text(tick) for tick in sorted(values)])
        axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(
        FuncFormatter(lambda value, _: f"{100 * value:g} %" if metric == "error" else f"{value:g}")
    )
    axes.set_xlabel(", ".join(sorted({p.name for group in groups for p in _varied(group)})))
    axes.grid()
    axes.set_title(f"{_name(metric)}, the lower the better", loc="left")
    if len(groups) > 1:
        axes.legend(frameon=False, fontsize=8.5, loc="center left", bbox_to_anchor=(1.0, 0.5))


def _name(metric: str) -> str:
    return "progressive error" if metric == "error" else "progressive log-loss"


def _text(value: float, metric: str, unit: str = " %") -> str:
    return f"{100 * value:.2f}{unit}" if metric == "error" else f"{value:.3f}"
