"""Figure 1: mistake rate, updates and time of each algorithm against the number of examples seen."""

from __future__ import annotations

import math
from collections.abc import Sequence
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
from scipy.stats import rankdata

from scwlearn.experiments.online_runs import OnlineRuns
from scwlearn.experiments.style import house, look_of, save

Array = NDArray[np.float64]

#: The places of a panel and of the names beside it, in inches: each panel is as wide as the page leaves it.
_PAGE, _LEFT, _NAMES, _ABOVE, _BELOW = 13.0, 0.52, 1.57, 0.72, 0.5
#: The height of a line of names.
_LINE = 0.18
_QUIET = {"color": "#666666"}


class _Curve(NamedTuple):
    run: OnlineRuns
    centre: Array
    low: Array
    high: Array


def figure1(runs: Sequence[OnlineRuns], path: Path) -> list[Path]:
    """One data set in three panels, each curve named at its end; written as `path`.svg and `path`.png."""
    with house():
        height = max(5.0, _ABOVE + _BELOW + _LINE * (len(runs) + 1))
        figure = Figure(figsize=(_PAGE, height))
        panels = [figure.add_axes(_place(column, height)) for column in range(3)]
        unit, scale = _unit_of_time(runs)
        _mistakes(panels[0], runs)
        _linear(panels[1], [_around_mean(r, r.updates) for r in runs])
        _times(panels[2], [_around_median(r, scale * r.seconds) for r in runs])
        for axes, what in zip(panels, ("mistake rate", "updates", f"time ({unit})"), strict=True):
            axes.set_title(what + (", log scale" if axes.get_yscale() == "log" else ""), loc="left")
            axes.set_xlabel("examples seen")
            _name_curves(figure, axes, runs)
        panels[1].yaxis.set_major_formatter(EngFormatter(sep=""))
        count = len(runs[0].mistake_rate)
        about = f"{count} permutations: mean and standard deviation; of time median, 16 to 84 %" if count > 1 else ""
        for x, text, how in ((0.01, runs[0].data, {"fontsize": 13, "fontweight": "bold"}), (0.99, about, _QUIET)):
            figure.text(x, 1 - 0.25 / height, text, ha="left" if x < 0.5 else "right", **how)
        return save(figure, path)


def _place(column: int, height: float) -> tuple[float, float, float, float]:
    """Left, bottom, width and height of a panel, as shares of the page."""
    left = column / 3 + _LEFT / _PAGE
    return left, _BELOW / height, 1 / 3 - (_LEFT + _NAMES) / _PAGE, 1 - (_ABOVE + _BELOW) / height


def figure1_overview(blocks: Sequence[Sequence[OnlineRuns]], path: Path) -> list[Path]:
    """The mistake rate on every data set, a panel each, with one legend below: the best on average first."""
    with house():
        columns = min(3, math.ceil(math.sqrt(len(blocks))))
        rows = math.ceil(len(blocks) / columns)
        figure = Figure(figsize=(12, 2.7 * rows + 1.2), layout=ConstrainedLayoutEngine(h_pad=0.09))
        panels = figure.subplots(rows, columns, squeeze=False).ravel()
        for axes, runs in zip(panels, blocks, strict=False):
            _mistakes(axes, runs)
            axes.set_title(runs[0].data, loc="left", fontweight="bold")
        for axes in panels[len(blocks) :]:
            axes.set_axis_off()
        for place, axes in enumerate(panels[: len(blocks)]):
            axes.set_ylabel("mistake rate" if place % columns == 0 else "")
            axes.set_xlabel("examples seen" if place + columns >= len(blocks) else "")
        lines = {line.get_label(): line for axes in panels for line in axes.lines}
        handles = _by_rows([lines[title] for title in _best_first(blocks)], columns=6)
        how = {"title": "the best on average first", "ncols": 6, "frameon": False, "handlelength": 3.6}
        figure.legend(handles=handles, loc="outside lower center", **how)
        return save(figure, path)


def _mistakes(axes: Axes, runs: Sequence[OnlineRuns]) -> None:
    """Mistake rates on a logarithmic axis, cut where an algorithm only guesses."""
    curves = [_around_mean(r, r.mistake_rate) for r in runs]
    _logarithmic(axes, curves, [c for c in curves if c.centre[-1] <= 0.5] or curves)
    low, high = axes.get_ylim()
    axes.set_ylim(low, min(high, max(0.55, 1.2 * low)))


def _times(axes: Axes, curves: list[_Curve]) -> None:
    # Where a covariance costs far more than the rest, a linear axis would show the first-order algorithms as one line.
    ends = [c.centre[-1] for c in curves]
    if min(ends) > 0 and max(ends) > 20 * min(ends):
        _logarithmic(axes, curves, curves)
    else:
        _linear(axes, curves)


def _linear(axes: Axes, curves: list[_Curve]) -> None:
    _draw(axes, curves)
    axes.set_ylim(0, 1.03 * max(c.centre[-1] for c in curves))


def _logarithmic(axes: Axes, curves: list[_Curve], to_show: list[_Curve]) -> None:
    _draw(axes, curves)
    # What comes before a tenth of the examples is the noise of a beginning.
    settled = np.concatenate([c.centre[c.run.seen >= 0.1 * c.run.seen[-1]] for c in to_show])
    low = settled.min(where=settled > 0, initial=settled.max() or 0.1)
    high = max(settled.max(), 1.2 * low)
    axes.set_yscale("log")
    axes.set_ylim(0.9 * low, 1.05 * high)
    # Within a factor of 2 there may be none of the numbers that a logarithmic axis likes.
    near = MaxNLocator(5, steps=[1, 2, 2.5, 5, 10])
    log = LogLocator(subs=(1, 2, 5) if high > 4 * low else (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8))
    axes.yaxis.set_major_locator(log if high > 2 * low else near)
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _draw(axes: Axes, curves: list[_Curve]) -> None:
    for place, (run, centre, low, high) in enumerate(curves):
        look = look_of(run.rule)
        # A few markers each, at different checkpoints, so that they do not lie upon one another.
        every = max(1, len(run.seen) // 4)
        axes.plot(run.seen, centre, label=run.rule.title, markevery=(place % every, every), **look.line())
        axes.fill_between(run.seen, low, high, color=look.colour, alpha=look.band, linewidth=0, zorder=look.layer - 2)
    axes.set_xlim(0, max(c.run.seen[-1] for c in curves))
    axes.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.grid()


def _around_mean(run: OnlineRuns, values: Array) -> _Curve:
    mean, spread = values.mean(axis=0), values.std(axis=0, ddof=min(1, len(values) - 1))
    # Without a floor a band that reaches zero would have no end on a logarithmic axis.
    return _Curve(run, mean, np.maximum(mean - spread, 1e-9), mean + spread)


def _around_median(run: OnlineRuns, values: Array) -> _Curve:
    """For times: a pause of the machine in one run moves a mean, but not these."""
    low, median, high = np.percentile(values, (16, 50, 84), axis=0)
    return _Curve(run, median, low, high)


def _unit_of_time(runs: Sequence[OnlineRuns]) -> tuple[str, float]:
    longest = max(r.typical_seconds for r in runs)
    return ("s", 1.0) if longest >= 1 else ("ms", 1e3)


def _name_curves(figure: Figure, axes: Axes, runs: Sequence[OnlineRuns]) -> None:
    """Write the algorithms beside the axes, in the order of the curves' ends, each with a line to its end."""
    width, height = axes.bbox.width / figure.dpi, axes.bbox.height / figure.dpi
    last = np.array([np.asarray(line.get_xydata())[-1] for line in axes.lines])
    ends = (axes.transData + axes.transAxes.inverted()).transform(last)[:, 1]
    lead, sample, text = 1 + np.array([0.13, 0.43, 0.48]) / width
    beside: dict[str, Any] = {"transform": axes.transAxes, "clip_on": False}
    for run, end, seat in zip(runs, ends, _seats(np.clip(ends, 0, 1), _LINE / height), strict=True):
        look = look_of(run.rule)
        axes.add_line(Line2D([1, lead], [np.clip(end, 0, 1), seat], color=look.colour, linewidth=0.8, **beside))
        middle = (lead + sample) / 2
        axes.add_line(Line2D([lead, middle, sample], [seat] * 3, markevery=[1], **(look.line() | beside)))
        title = run.rule.title + (" ↑" if end > 1 else " ↓" if end < 0 else "")
        weight = "bold" if look.stands_out else "normal"
        axes.text(text, seat, title, fontweight=weight, va="center_baseline", **beside)


def _seats(wanted: Array, gap: float) -> Array:
    """Where to write labels, at least `gap` apart within 0 and 1, in the order of what is wanted and near it."""
    order = np.argsort(wanted, kind="stable")
    steps = gap * np.arange(len(wanted))
    # With the gaps taken out, labels that may not overtake one another are an isotonic regression.
    near: Array = isotonic_regression(wanted[order] - steps).x
    seats = np.empty_like(near)
    seats[order] = np.clip(near, 0, max(0, 1 - steps[-1])) + steps
    return seats


def _best_first(blocks: Sequence[Sequence[OnlineRuns]]) -> list[str]:
    """Titles by the mean rank of the final mistake rate."""
    ranks: dict[str, list[float]] = {}
    for runs in blocks:
        for run, rank in zip(runs, rankdata([r.final_rates.mean() for r in runs]), strict=True):
            ranks.setdefault(run.rule.title, []).append(rank)
    return sorted(ranks, key=lambda title: float(np.mean(ranks[title])))


def _by_rows(handles: list[Line2D], columns: int) -> list[Line2D]:
    """The order in which a legend, which fills its columns one after the other, is read by rows."""
    return [handles[i] for column in range(columns) for i in range(column, len(handles), columns)]
