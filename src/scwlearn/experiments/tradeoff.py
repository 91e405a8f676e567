"""What accuracy costs: mistakes against updates and against time, each algorithm a point over all data sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
from matplotlib.transforms import Bbox, BboxBase
from numpy.typing import NDArray

from scwlearn.experiments.online_runs import OnlineRuns
from scwlearn.experiments.style import house, look_of, save

Array = NDArray[np.float64]


def tradeoff(blocks: Sequence[Sequence[OnlineRuns]], path: Path) -> list[Path]:
    """Draw each algorithm by its geometric means, over the data sets, of what it needs relative to the best.

    Every data set has the same algorithms in the same order. Left and low is good; the grey line joins those that no
    other beats in both.
    """
    # A set without a mistake or an update counts as having one: there is no ratio to zero.
    mistakes = _relative(blocks, lambda r: max(r.final_rates.mean(), 1 / r.seen[-1]))
    updates = _relative(blocks, lambda r: max(r.final_updates.mean(), 1.0))
    seconds = _relative(blocks, lambda r: r.typical_seconds)
    with house():
        figure = Figure(figsize=(12, 5.4))
        panels = figure.subplots(1, 2, sharey=True)
        figure.subplots_adjust(left=0.06, right=0.985, bottom=0.105, top=0.86, wspace=0.06)
        for axes, x, what in zip(panels, (updates, seconds), ("updates", "time"), strict=True):
            _points(axes, blocks[0], x, mistakes)
            axes.set_xlabel(f"{what}, times the fewest" if what == "updates" else f"{what}, times the shortest")
        panels[0].set_ylabel("mistakes, times the fewest")
        for axes, x in zip(panels, (updates, seconds), strict=True):
            _name_points(figure, axes, blocks[0], x, mistakes)
        about = f"geometric means over {len(blocks)} data sets; left and low is good; grey: not beaten in both"
        figure.text(0.012, 0.945, "What accuracy costs", fontsize=13, fontweight="bold")
        figure.text(0.012, 0.9, about, color="#666666")
        return save(figure, path)


def _relative(blocks: Sequence[Sequence[OnlineRuns]], measure: Callable[[OnlineRuns], float]) -> Array:
    table = np.log([[measure(run) for run in runs] for runs in blocks])
    means: Array = np.exp((table - table.min(axis=1, keepdims=True)).mean(axis=0))
    return means


def _points(axes: Axes, runs: Sequence[OnlineRuns], x: Array, y: Array) -> None:
    order = [i for i in np.lexsort((y, x)) if not np.any((x <= x[i]) & (y <= y[i]) & ((x < x[i]) | (y < y[i])))]
    axes.plot(x[order], y[order], color="#bbbbbb", linewidth=5, solid_capstyle="round", alpha=0.5, zorder=1)
    for run, each_x, each_y in zip(runs, x, y, strict=True):
        look = look_of(run.rule)
        axes.plot([each_x], [each_y], linestyle="none", **look.point(11 if look.stands_out else 8))
    axes.set(xscale="log", yscale="log")
    for values, bounds, axis in ((x, axes.set_xlim, axes.xaxis), (y, axes.set_ylim, axes.yaxis)):
        reach = max(values.max() / values.min(), 1.1)
        bounds(values.min() / reach**0.1, values.max() * reach**0.1)
        fine = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 7) if reach < 10 else (1, 2, 5)
        axis.set_major_locator(LogLocator(subs=fine))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_locator(NullLocator())
    axes.grid()


def _name_points(figure: Figure, axes: Axes, runs: Sequence[OnlineRuns], x: Array, y: Array) -> None:
    """Write each title where it covers neither a point nor another title, with a line to a point that is not near."""
    at = axes.transData.transform(np.column_stack([x, y]))
    dot = figure.dpi / 72
    taken = [Bbox([point - 6 * dot, point + 6 * dot]) for point in at]
    crowd = np.sum(np.linalg.norm(at[:, None] - at, axis=-1) < 60 * dot, axis=1)
    # Those in a crowd have the least choice, so they choose first.
    for i in np.argsort(-crowd, kind="stable"):
        look = look_of(runs[i].rule)
        text = axes.annotate(
            runs[i].rule.title,
            (x[i], y[i]),
            (0, 0),
            textcoords="offset points",
            ha="center",
            va="center",
            fontweight="bold" if look.stands_out else "normal",
            arrowprops={"arrowstyle": "-", "color": look.colour, "linewidth": 0.8, "shrinkA": 1, "shrinkB": 4},
        )
        distance, box = _free(at[i], np.array(text.get_window_extent().size), taken, axes.bbox, dot)
        taken.append(box)
        text.set_position((np.mean(box.get_points(), axis=0) - at[i]) / dot)
        if distance == _NEAR and text.arrow_patch:
            text.arrow_patch.set_visible(False)


#: Where titles are tried: so many points from their own, to the right, to the left, above, below and between.
_NEAR = 8
_DISTANCES = (_NEAR, 13, 19, 26, 36, 48, 62, 78, 96)
_ANGLES = (0, 180, 90, 270, 45, 315, 135, 225, 22, 338, 158, 202, 68, 292, 112, 248)


def _free(point: Array, size: Array, taken: list[Bbox], within: BboxBase, dot: float) -> tuple[int, Bbox]:
    """The nearest place for a title of that size, and its distance; the farthest if all are taken."""
    others = [box for box in taken if not box.contains(*point)]
    for distance in _DISTANCES:
        for angle in _ANGLES:
            away = np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle))])
            corner = point + away * (distance * dot + size / 2) - size / 2
            box = Bbox([corner, corner + size])
            inside = within.contains(*box.p0) and within.contains(*box.p1)
            line = [point + share * distance * dot * away for share in (0.3, 0.6, 0.9)]
            crossed = any(other.contains(*step) for other in others for step in line)
            if inside and not crossed and not box.padded(dot).count_overlaps(taken):
                return distance, box
    return distance, box
