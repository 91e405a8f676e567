"""The picture of a comparison: the error of each algorithm in each order, and its mean."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from scwlearn.display.formatting import parameter_text
from scwlearn.display.pictures import picture_style, write_picture
from scwlearn.display.theme import FAINT, SOFT, algorithm_style
from scwlearn.runs.compare import Standing

_ROW_HEIGHT = 0.34


def draw_comparison(found: Sequence[Standing], title: str, path: Path) -> None:
    """Draw the algorithms from the best down: a dot for each order, and the mean ± standard deviation."""
    orders = len(found[0].runs.final_errors)
    with picture_style():
        figure = Figure(figsize=(8.6, 1.5 + _ROW_HEIGHT * len(found)), layout="constrained")
        axes = figure.subplots()
        axes.axvline(100 * found[0].runs.mean_error, color=FAINT, linewidth=1.0, zorder=1)
        for place, each in enumerate(found):
            style, errors = algorithm_style(each.runs.rule), 100 * each.runs.final_errors
            # Side by side, so that equal errors remain visible.
            y = place + np.linspace(-0.16, 0.16, orders) if orders > 1 else np.array([place])
            axes.plot(errors, y, linestyle="none", marker="o", markersize=3.2, color=style.colour, alpha=0.35)
            mean, std = 100 * each.runs.mean_error, 100 * each.std
            axes.plot([mean - std, mean + std], [place, place], color=style.colour, linewidth=2.0, zorder=3)
            axes.plot([mean], [place], linestyle="none", **style.point(8))
        axes.set_yticks(range(len(found)), [_name(each) for each in found])
        for label, each in zip(axes.get_yticklabels(), found, strict=True):
            label.set_fontweight("bold" if each.as_good_as_best else "normal")
        axes.set_ylim(len(found) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g} %"))
        axes.grid(axis="x")
        axes.set_xlabel("progressive error")
        axes.set_title(title, loc="left", fontweight="bold")
        note = "One order of the data."
        if orders > 1:
            note = (
                f"{orders} orders, mean ± standard deviation. Bold: the best, and all that a paired t-test at 95 % "
                "cannot distinguish from it."
            )
        figure.supxlabel(note, color=SOFT, fontsize=8, x=0.01, ha="left")
        write_picture(figure, path)


def _name(each: Standing) -> str:
    parameters = parameter_text(each.runs.parameters, ", ")
    return f"{each.runs.rule.title} ({parameters})" if parameters else each.runs.rule.title
