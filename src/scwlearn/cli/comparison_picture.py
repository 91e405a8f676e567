"""A picture of a comparison: the error of each algorithm in each order, and its mean."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from scwlearn.cli.messages import number_text
from scwlearn.cli.plots import write_plot
from scwlearn.experiments.style import house, look_of
from scwlearn.runs.comparison import Standing

_LINE = 0.34


def draw_comparison(found: Sequence[Standing], source: str, seen: int, path: Path) -> None:
    """Draw the algorithms from the best down: a dot for each order, the mean and its standard deviation."""
    orders = len(found[0].runs.error)
    with house():
        figure = Figure(figsize=(8.6, 1.5 + _LINE * len(found)), layout="constrained")
        axes = figure.subplots()
        best = found[0].runs.mean
        axes.axvline(100 * best, color="#bbbbbb", linewidth=1.0, zorder=1)
        for place, each in enumerate(found):
            look, errors = look_of(each.runs.rule), 100 * each.runs.error
            # Beside one another, so that equal ones are seen.
            beside = place + np.linspace(-0.16, 0.16, orders) if orders > 1 else np.array([place])
            axes.plot(errors, beside, linestyle="none", marker="o", markersize=3.2, color=look.colour, alpha=0.35)
            mean, std = 100 * each.runs.mean, 100 * each.runs.std
            axes.plot([mean - std, mean + std], [place, place], color=look.colour, linewidth=2.0, zorder=3)
            axes.plot([mean], [place], linestyle="none", **look.point(8))
        axes.set_yticks(range(len(found)), [_name(each) for each in found])
        for label, each in zip(axes.get_yticklabels(), found, strict=True):
            label.set_fontweight("bold" if each.as_good_as_best else "normal")
        axes.set_ylim(len(found) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g} %"))
        axes.grid(axis="x")
        axes.set_xlabel("progressive error")
        axes.set_title(f"{source}, {seen} examples", loc="left", fontweight="bold")
        figure.supxlabel(_about(orders), color="#666666", fontsize=8, x=0.01, ha="left")
        write_plot(figure, path)


def _name(each: Standing) -> str:
    parameters = " ".join(f"{name} {number_text(value)}" for name, value in each.runs.parameters.items())
    return f"{each.runs.rule.title}  {parameters}".strip()


def _about(orders: int) -> str:
    if orders == 1:
        return "one order of the data"
    return (
        f"{orders} orders, their mean ± standard deviation; bold: the best, and what a paired t-test at 95 % cannot "
        "tell from it"
    )
