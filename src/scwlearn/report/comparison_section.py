"""The section that compares several runs: a table of key figures, and their curves in shared plots."""

from __future__ import annotations

from collections.abc import Sequence

from scwlearn.display.formatting import shorten
from scwlearn.display.markup import Markup, element, join, visible
from scwlearn.display.panels import legend_key, panel, table
from scwlearn.display.theme import line_class
from scwlearn.report.curves import joint_curve_panels
from scwlearn.report.key_figures import KeyFigure, key_figures
from scwlearn.report.reliability import joint_reliability_panel
from scwlearn.runs.record import Record


def anchor(number: int) -> str:
    """Return the id of the section of a run."""
    return f"run-{number + 1}"


def comparison_section(records: Sequence[Record], names: Sequence[str]) -> Markup:
    """Return the comparison of several runs."""
    short = [shorten(visible(name), 60) for name in names]
    bins = [(short[n], line_class(n), record.reliability or ()) for n, record in enumerate(records)]
    reliability = joint_reliability_panel(bins) or Markup()
    return element(
        "div", _figures_panel(records, short), *joint_curve_panels(records, short), reliability, class_="panels"
    )


def _figures_panel(records: Sequence[Record], names: Sequence[str]) -> Markup:
    runs = [{figure.name: figure for figure in key_figures(record)} for record in records]
    columns = list(dict.fromkeys(name for figures in runs for name in figures))
    best = _best_values(runs, columns) if _same_data(records) else {}
    rows = []
    for number, figures in enumerate(runs):
        link = element("a", names[number], href=f"#{anchor(number)}")
        cells = [_cell(figures.get(column), best.get(column)) for column in columns]
        rows.append((join(legend_key(line_class(number)), link), *cells))
    text = "The best value of each column is bold." if best else "The runs used different examples: no best values."
    return panel(
        "Key figures", text, table(("run", *columns), rows, text_columns=range(1), class_="compare"), wide=True
    )


def _same_data(records: Sequence[Record]) -> bool:
    """Whether the runs learned from the same data, as far as their records show."""
    return len({(tuple(record.sources), record.curve[-1].seen if record.curve else 0) for record in records}) == 1


def _best_values(runs: Sequence[dict[str, KeyFigure]], columns: Sequence[str]) -> dict[str, float]:
    best = {}
    for column in columns:
        figures = [figures[column] for figures in runs if column in figures]
        values = [figure.value for figure in figures if figure.value == figure.value]
        if figures[0].better and len(set(values)) > 1:
            best[column] = min(values) if figures[0].better == "low" else max(values)
    return best


def _cell(figure: KeyFigure | None, best: float | None) -> str:
    if figure is None:
        return "none"
    return element("b", figure.text) if figure.value == best else figure.text
