"""The cost of accuracy: mistakes against updates and time, each algorithm a point."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
from matplotlib.transforms import Bbox, BboxBase
from numpy.typing import NDArray

from scwlearn.display.pictures import picture_style, picture_title, write_both
from scwlearn.display.theme import FAINT, algorithm_style
from scwlearn.experiments.study import Block, Blocks, DataSetRuns

Array = NDArray[np.float64]


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


#: Distances in points and angles in degrees at which a name is tried.
_NEAR = 8
_DISTANCES = (_NEAR, 13, 19, 26, 36, 48, 62, 78, 96)
_ANGLES = (0, 180, 90, 270, 45, 315, 135, 225, 22, 338, 158, 202, 68, 292, 112, 248)


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
