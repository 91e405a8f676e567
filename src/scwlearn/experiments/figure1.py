"""Figure 1: mistake rate, updates and time of each algorithm against the number of examples."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, FuncFormatter, LogLocator, MaxNLocator, NullLocator
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from scwlearn._util.significance import average_ranks
from scwlearn.display.pictures import picture_style, plain_text, write_both
from scwlearn.display.theme import SOFT, algorithm_style
from scwlearn.experiments.study import Block, Blocks, DataSetRuns, mean_errors

Array = NDArray[np.float64]

#: In inches: the width of the figure, the margins of a panel, the room for the names beside it, and their line height.
_WIDTH, _LEFT, _NAMES, _ABOVE, _BELOW, _LINE = 13.0, 0.52, 1.57, 0.72, 0.5, 0.18


class _Curve(NamedTuple):
    run: DataSetRuns
    centre: Array
    low: Array
    high: Array


def figure1(runs: Block, path: Path) -> Path:
    """Draw one data set in three panels, each curve named at its end."""
    with picture_style():
        height = max(5.0, _ABOVE + _BELOW + _LINE * (len(runs) + 1))
        figure = Figure(figsize=(_WIDTH, height))
        width = 1 / 3 - (_LEFT + _NAMES) / _WIDTH
        panels = [
            figure.add_axes((i / 3 + _LEFT / _WIDTH, _BELOW / height, width, 1 - (_ABOVE + _BELOW) / height))
            for i in range(3)
        ]
        unit, scale = ("s", 1.0) if max(run.median_seconds for run in runs) >= 1 else ("ms", 1e3)
        _draw_errors(panels[0], runs)
        _draw_linear(panels[1], [_mean_curve(run, run.updates) for run in runs])
        _draw_times(panels[2], [_median_curve(run, scale * run.seconds) for run in runs])
        for axes, title in zip(panels, ("mistake rate", "updates", f"time ({unit})"), strict=True):
            axes.set_title(title + (", log scale" if axes.get_yscale() == "log" else ""), loc="left")
            axes.set_xlabel("examples seen")
            _name_curves(figure, axes, runs)
        panels[1].yaxis.set_major_formatter(EngFormatter(sep=""))
        top = 1 - 0.25 / height
        figure.text(0.01, top, plain_text(runs[0].title), fontsize=13, fontweight="bold")
        if (count := len(runs[0].errors)) > 1:
            note = f"{count} permutations: mean ± standard deviation (time: median, 16th to 84th percentile)"
            figure.text(0.99, top, note, ha="right", color=SOFT)
        return write_both(figure, path)


def figure1_overview(blocks: Blocks, path: Path) -> Path:
    """Draw the mistake rate on every data set, with one legend, the best on average first."""
    with picture_style():
        columns = min(3, math.ceil(math.sqrt(len(blocks))))
        rows = math.ceil(len(blocks) / columns)
        figure = Figure(figsize=(12, 2.7 * rows + 1.2), layout=ConstrainedLayoutEngine(h_pad=0.09))
        panels = figure.subplots(rows, columns, squeeze=False).ravel()
        for axes in panels[len(blocks) :]:
            axes.set_axis_off()
        for place, (axes, runs) in enumerate(zip(panels, blocks, strict=False)):
            _draw_errors(axes, runs)
            axes.set_title(plain_text(runs[0].title), loc="left", fontweight="bold")
            axes.set_ylabel("mistake rate" if place % columns == 0 else "")
            axes.set_xlabel("examples seen" if place + columns >= len(blocks) else "")
        lines = {line.get_label(): line for axes in panels for line in axes.lines}
        ranks = average_ranks(mean_errors(blocks))
        handles = [lines[title] for title in sorted(ranks, key=ranks.__getitem__)]
        # A legend is filled by columns, but read by rows.
        by_rows = [handles[i] for column in range(6) for i in range(column, len(handles), 6)]
        settings = {"title": "algorithms, the best on average first", "ncols": 6, "frameon": False, "handlelength": 3.6}
        figure.legend(handles=by_rows, loc="outside lower center", **settings)
        return write_both(figure, path)


def _draw_errors(axes: Axes, runs: Block) -> None:
    """Draw mistake rates on a log axis that ends where an algorithm is no better than chance."""
    curves = [_mean_curve(run, run.errors) for run in runs]
    _draw_log(axes, curves, [c for c in curves if c.centre[-1] <= 0.5] or curves)
    low, high = axes.get_ylim()
    axes.set_ylim(low, min(high, max(0.55, 1.2 * low)))


def _draw_times(axes: Axes, curves: list[_Curve]) -> None:
    # If covariances dominate the time, a linear axis would show the first-order algorithms as one line.
    ends = [c.centre[-1] for c in curves]
    if min(ends) > 0 and max(ends) > 20 * min(ends):
        _draw_log(axes, curves, curves)
    else:
        _draw_linear(axes, curves)


def _draw_linear(axes: Axes, curves: list[_Curve]) -> None:
    _draw(axes, curves)
    axes.set_ylim(0, 1.03 * max(c.centre[-1] for c in curves))


def _draw_log(axes: Axes, curves: list[_Curve], in_range: list[_Curve]) -> None:
    _draw(axes, curves)
    # The first tenth of the examples is mostly noise.
    settled = np.concatenate([c.centre[c.run.seen >= 0.1 * c.run.seen[-1]] for c in in_range])
    low = settled.min(where=settled > 0, initial=settled.max() or 0.1)
    high = max(settled.max(), 1.2 * low)
    axes.set_yscale("log")
    axes.set_ylim(0.9 * low, 1.05 * high)
    # A log locator may find no tick within a factor of 2.
    near = MaxNLocator(5, steps=[1, 2, 2.5, 5, 10])
    log = LogLocator(subs=(1, 2, 5) if high > 4 * low else (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8))
    axes.yaxis.set_major_locator(log if high > 2 * low else near)
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _draw(axes: Axes, curves: list[_Curve]) -> None:
    for place, (run, centre, low, high) in enumerate(curves):
        style = algorithm_style(run.rule)
        # A few markers each, at different checkpoints, so that they do not cover one another.
        every = max(1, len(run.seen) // 4)
        axes.plot(run.seen, centre, label=run.rule.title, markevery=(place % every, every), **style.line())
        axes.fill_between(
            run.seen, low, high, color=style.colour, alpha=style.band, linewidth=0, zorder=style.layer - 2
        )
    axes.set_xlim(0, max(c.run.seen[-1] for c in curves))
    axes.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.grid()


def _mean_curve(run: DataSetRuns, values: Array) -> _Curve:
    mean, std = values.mean(axis=0), values.std(axis=0, ddof=min(1, len(values) - 1))
    # Positive, because a band that reaches 0 has no end on a log axis.
    return _Curve(run, mean, np.maximum(mean - std, 1e-9), mean + std)


def _median_curve(run: DataSetRuns, values: Array) -> _Curve:
    """Return the median and percentiles, which are robust to pauses of the machine."""
    low, median, high = np.percentile(values, (16, 50, 84), axis=0)
    return _Curve(run, median, low, high)


def _name_curves(figure: Figure, axes: Axes, runs: Block) -> None:
    """Write the algorithms beside the axes in the order of the ends of their curves, joined to them by lines."""
    width, height = axes.bbox.width / figure.dpi, axes.bbox.height / figure.dpi
    last = np.array([np.asarray(line.get_xydata())[-1] for line in axes.lines])
    ends = (axes.transData + axes.transAxes.inverted()).transform(last)[:, 1]
    lead, sample, text = 1 + np.array([0.13, 0.43, 0.48]) / width
    beside: dict[str, Any] = {"transform": axes.transAxes, "clip_on": False}
    for run, end, y in zip(runs, ends, _label_positions(np.clip(ends, 0, 1), _LINE / height), strict=True):
        style = algorithm_style(run.rule)
        axes.add_line(Line2D([1, lead], [np.clip(end, 0, 1), y], color=style.colour, linewidth=0.8, **beside))
        middle = (lead + sample) / 2
        axes.add_line(Line2D([lead, middle, sample], [y] * 3, markevery=[1], **(style.line() | beside)))
        title = run.rule.title + (" ↑" if end > 1 else " ↓" if end < 0 else "")
        axes.text(text, y, title, fontweight=style.font_weight, va="center_baseline", **beside)


def _label_positions(wanted: Array, gap: float) -> Array:
    """Return positions between 0 and 1, at least `gap` apart, in the order of the wanted ones and close to them."""
    order = np.argsort(wanted, kind="stable")
    steps = gap * np.arange(len(wanted))
    # Without the gaps, positions that keep their order are an isotonic regression.
    near: Array = isotonic_regression(wanted[order] - steps).x
    positions = np.empty_like(near)
    positions[order] = np.clip(near, 0, max(0, 1 - steps[-1])) + steps
    return positions
