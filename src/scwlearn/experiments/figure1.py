"""Figure 1: mistake rate, updates and time of each algorithm against the number of examples seen."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FormatStrFormatter, LogLocator
from numpy.typing import NDArray

from scwlearn.experiments.online_runs import OnlineRuns
from scwlearn.rules import Rule, all_rules

_FIRST_ORDER = ("#9aa5b1", "#c9a66b", "#8fb58a", "#b79ac4", "#7fb3bd", "#c48f8f", "#a3a380")
_SECOND_ORDER = ("#1f77b4", "#ff7f0e", "#2ca02c", "#9467bd", "#17becf", "#8c564b", "#7f6000", "#bc5090")
_ALL_PROPERTIES = ("#d62728", "#111111", "#e377c2")
_MARKERS = "osv^D<>Ph"


def figure1(blocks: Sequence[Sequence[OnlineRuns]], path: Path) -> Path:
    """Draw one row of three panels for each data set, and write the picture to `path`."""
    figure = Figure(figsize=(16, 3.9 * len(blocks) + 1.1), layout="constrained")
    panels = figure.subplots(len(blocks), 3, squeeze=False)
    for row, runs in zip(panels, blocks, strict=True):
        _curves(row[0], runs, [r.mistake_rate for r in runs], "mistake rate", log=True)
        _curves(row[1], runs, [r.updates for r in runs], "updates")
        _curves(row[2], runs, [1000 * _typical_time(r.seconds) for r in runs], "time (ms)")
        row[1].set_title(runs[0].data, fontsize=14, fontweight="bold")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=7, fontsize=12, frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    return path


def _curves(
    axes: Axes, runs: Sequence[OnlineRuns], values: list[NDArray[np.float64]], what: str, *, log: bool = False
) -> None:
    """The mean of each algorithm over the permutations, and a band of one standard deviation for SCW."""
    for run, each in zip(runs, values, strict=True):
        mean, spread = each.mean(axis=0), each.std(axis=0)
        style = _style(run.rule)
        axes.plot(run.seen, mean, label=run.rule.title, **style)
        if _has_all_properties(run.rule):
            axes.fill_between(run.seen, mean - spread, mean + spread, color=style["color"], alpha=0.12, linewidth=0)
    axes.set_xlabel("examples seen")
    axes.set_ylabel(what)
    axes.set_xlim(left=0)
    if log:
        axes.set_yscale("log")
        axes.yaxis.set_minor_locator(LogLocator(subs=(2, 3, 5)))
        axes.yaxis.set_major_formatter(FormatStrFormatter("%g"))
        axes.yaxis.set_minor_formatter(FormatStrFormatter("%g"))
    else:
        axes.set_ylim(bottom=0)
    axes.grid(alpha=0.25, which="both")


def _typical_time(seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum of the median time of each stretch: a pause of the machine in one run does not show."""
    stretches = np.diff(seconds, axis=1, prepend=0.0)
    typical: NDArray[np.float64] = np.cumsum(np.median(stretches, axis=0, keepdims=True), axis=1)
    return typical


def _has_all_properties(rule: Rule) -> bool:
    return rule.large_margin and rule.confidence and rule.non_separable and rule.adaptive_margin


def _style(rule: Rule) -> dict[str, Any]:
    """First-order rules thin and dashed, second-order ones solid, those with all properties of Table 1 thick."""
    groups = [
        [r.name for r in all_rules() if _has_all_properties(r)],
        [r.name for r in all_rules() if r.order == 2 and not _has_all_properties(r)],
        [r.name for r in all_rules() if r.order == 1],
    ]
    group = next(i for i, names in enumerate(groups) if rule.name in names)
    place = groups[group].index(rule.name)
    colours = (_ALL_PROPERTIES, _SECOND_ORDER, _FIRST_ORDER)[group]
    return {
        "color": colours[place % len(colours)],
        "linestyle": "--" if rule.order == 1 else "-",
        "marker": _MARKERS[place % len(_MARKERS)],
        "markevery": (place % 4, 4),
        "markersize": 5,
        "linewidth": (2.8, 1.5, 1.5)[group],
        "zorder": (4, 3, 2)[group],
    }
