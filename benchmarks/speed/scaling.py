"""Time by rows, features and non-zeros per row, compared with peers and limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from speed import data, fit, full, peers
from speed.harness import Scale, Side, as_time, in_turns


@dataclass(frozen=True)
class Panel:
    """One plot: the sizes, and for each size its place on the axis and the sides to time."""

    title: str
    axis: str
    sizes: tuple[int, ...]
    sides: Callable[[int], tuple[float, list[Side]]]


@dataclass(frozen=True)
class Picture:
    """A picture of two panels."""

    name: str
    title: str
    panels: tuple[Panel, ...]


#: Samples of each side of a panel, at each place on its axis.
Curves = dict[str, list[tuple[float, list[float]]]]


def full_dense(count: int, width: int) -> list[Side]:
    """Return the sides for a full covariance on correlated rows."""
    rows = data.correlated(count, width)
    updates = full.updates(rows)
    return [full.ours(rows.x, rows.y), full.loop(rows.x, rows.y), full.product((count, width), updates)]


def full_sparse(rows: data.Rows) -> list[Side]:
    """Return the sides for a full covariance on sparse rows; the NumPy loop gets dense ones."""
    return [full.ours(rows.x, rows.y), full.loop(rows.x.toarray(), rows.y)]


def by_filling(
    of_rows: Callable[[data.Rows], list[Side]], count: int, width: int
) -> Callable[[int], tuple[float, list[Side]]]:
    """Return the sides by non-zeros per row; some draws coincide, so they are fewer than the draws."""

    def sides(draws: int) -> tuple[float, list[Side]]:
        rows = data.zipf(count, width, draws)
        return rows.x.nnz / count, of_rows(rows)

    return sides


def diagonal_rows(rows: data.Rows) -> list[Side]:
    """Return `fit` with a diagonal covariance in order; the limit reads and multiplies every value once."""
    weights = np.zeros(rows.x.shape[1])
    return [
        fit.ours(fit.scw1_in_order, rows.x, rows.y),
        fit.theirs("SGDClassifier", peers.sgd_in_order, rows.x, rows.y),
        fit.theirs("Perceptron", peers.perceptron_in_order, rows.x, rows.y),
        Side("X @ weights", lambda: rows.x @ weights),
    ]


def pictures(scale: Scale) -> tuple[Picture, ...]:
    """Return all pictures."""

    def sizes(*values: int) -> tuple[int, ...]:
        return values[:3] if scale.quick else values

    of = scale.of
    return (
        Picture(
            "scaling-full-dense",
            "One pass of SCW-I over dense rows, full covariance, compared with a NumPy loop and a dgemm",
            (
                Panel(
                    f"{of(300, 100)} features",
                    "rows",
                    sizes(250, 500, 1000, 2000, 4000, 8000),
                    lambda n: (n, full_dense(n, of(300, 100))),
                ),
                Panel(
                    f"{of(1500, 300)} rows",
                    "features",
                    sizes(25, 50, 100, 200, 400, 800, 1600),
                    lambda d: (d, full_dense(of(1500, 300), d)),
                ),
            ),
        ),
        Picture(
            "scaling-diagonal-dense",
            "One pass of SCW-I over dense rows, diagonal covariance, compared with scikit-learn's linear models",
            (
                Panel(
                    "100 features",
                    "rows",
                    sizes(1000, 4000, 16_000, 64_000, 256_000),
                    lambda n: (n, diagonal_rows(data.correlated(n, 100))),
                ),
                Panel(
                    f"{of(20_000, 2000)} rows",
                    "features",
                    sizes(10, 30, 100, 300, 1000),
                    lambda d: (d, diagonal_rows(data.correlated(of(20_000, 2000), d))),
                ),
            ),
        ),
        Picture(
            "scaling-sparse",
            "One pass of SCW-I over sparse rows, compared with a NumPy loop and scikit-learn's linear models",
            (
                Panel(
                    f"full, {of(2000, 300)} rows of {of(1000, 200)} features",
                    "non-zeros per row",
                    sizes(4, 8, 16, 32, 64, 128, 256),
                    by_filling(full_sparse, of(2000, 300), of(1000, 200)),
                ),
                Panel(
                    f"diagonal, {of(50_000, 2000)} rows of $2^{{20}}$ features",
                    "non-zeros per row",
                    sizes(4, 8, 16, 32, 64, 128, 256),
                    by_filling(diagonal_rows, of(50_000, 2000), data.HASHED_WIDTH),
                ),
            ),
        ),
    )


def measure(panel: Panel, scale: Scale) -> Curves:
    """Time every side at every size, alternately."""
    curves: Curves = {}
    for size in panel.sizes:
        place, sides = panel.sides(size)
        samples, _ = in_turns(sides, budget=scale.budget / 4, short=0.0)
        for side, taken in zip(sides, samples, strict=True):
            curves.setdefault(side.name, []).append((place, taken))
    return curves


def draw(picture: Picture, curves: list[Curves], path: Path) -> None:
    """Draw a picture with logarithmic axes, on which powers are straight lines and ratios are distances."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.ticker import FuncFormatter, LogLocator

    plt.rcParams.update({"font.size": 13, "axes.spines.top": False, "axes.spines.right": False})
    figure, axes = plt.subplots(1, len(picture.panels), figsize=(11, 5.2), layout="constrained")
    shown: dict[str, Any] = {}
    for axis, panel, lines in zip(axes, picture.panels, curves, strict=True):
        for name, points in lines.items():
            label = name if name in _LOOKS else f"{name} (limit)"
            shown[label] = _line(axis, points, _LOOKS.get(name, _LIMIT))
        axis.set(xscale="log", yscale="log", xlabel=panel.axis, ylabel="time", title=panel.title)
        places = [place for place, _ in next(iter(lines.values()))]
        axis.set_xticks(places, [_short(place) for place in places])
        axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
        axis.yaxis.set_major_formatter(FuncFormatter(lambda seconds, _: as_time(seconds)))
        axis.minorticks_off()
        axis.grid(alpha=0.25)
    figure.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=len(shown), frameon=False)
    figure.suptitle(picture.title, fontsize=14, fontweight="bold")
    figure.savefig(path, dpi=110)
    plt.close(figure)


#: Line style of each side in all pictures; limits are dotted.
_LOOKS: dict[str, dict[str, Any]] = {
    "scwlearn": {"color": "#0b5fa5", "linewidth": 2.8, "marker": "o", "zorder": 3},
    "textbook NumPy loop": {"color": "#c2571a", "marker": "s"},
    "SGDClassifier": {"color": "#2f8f4e", "marker": "^"},
    "Perceptron": {"color": "#8a5fb0", "marker": "v", "linestyle": "--"},
}
_LIMIT: dict[str, Any] = {"color": "#555555", "linestyle": ":", "linewidth": 2.0}


def _line(axis: Any, points: list[tuple[float, list[float]]], look: dict[str, Any]) -> Any:
    """Draw the medians, with the interquartile range as a band."""
    places = [place for place, _ in points]
    low, middle, high = zip(*(np.percentile(taken, (25, 50, 75)) for _, taken in points), strict=True)
    axis.fill_between(places, low, high, color=look["color"], alpha=0.15, linewidth=0)
    return axis.plot(places, middle, markersize=6, **look)[0]


def _short(size: float) -> str:
    return f"{size / 1000:g}k" if size >= 1000 else f"{size:.0f}"
