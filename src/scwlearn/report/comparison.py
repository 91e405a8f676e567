"""The part of a page that holds several runs against each other: a table of their figures, and their curves."""

from __future__ import annotations

from collections.abc import Sequence

from scwlearn.report.cards import card, key, table
from scwlearn.report.curves import curves_together, look_of
from scwlearn.report.figures import Figure, key_figures
from scwlearn.report.markup import Markup, element, join, visible
from scwlearn.report.reliability import reliability_together
from scwlearn.report.text import shorten
from scwlearn.runs.record import Record


def anchor(number: int) -> str:
    """The name by which the page refers to a run."""
    return f"run-{number + 1}"


def comparison_of(records: Sequence[Record], names: Sequence[str]) -> Markup:
    """All runs side by side."""
    short = [shorten(visible(name), 60) for name in names]
    bins = [(short[n], look_of(n), record.reliability or ()) for n, record in enumerate(records)]
    cards = [_figures(records, short), *curves_together(records, short), reliability_together(bins) or Markup()]
    return element("div", *cards, class_="cards")


def _figures(records: Sequence[Record], names: Sequence[str]) -> Markup:
    told = [{figure.name: figure for figure in key_figures(record)} for record in records]
    columns = list(dict.fromkeys(name for figures in told for name in figures))
    best = _best(told, columns) if _alike(records) else {}
    rows = []
    for number, figures in enumerate(told):
        link = element("a", names[number], href=f"#{anchor(number)}")
        cells = [_cell(figures.get(column), best.get(column)) for column in columns]
        rows.append((join(key(look_of(number)), link), *cells))
    says = "The best of each column is bold." if best else "The runs are not on the same examples: none is the best."
    return card("Figures", says, table(("run", *columns), rows, words=1, class_="compare"), wide=True)


def _alike(records: Sequence[Record]) -> bool:
    """Whether the runs are on the same data, as far as the records tell."""
    seen = {(tuple(record.sources), record.curve[-1].seen if record.curve else 0) for record in records}
    return len(seen) == 1


def _best(told: Sequence[dict[str, Figure]], columns: Sequence[str]) -> dict[str, float]:
    best = {}
    for column in columns:
        figures = [figures[column] for figures in told if column in figures]
        values = [figure.value for figure in figures if figure.value == figure.value]
        if figures[0].better and len(set(values)) > 1:
            best[column] = min(values) if figures[0].better == "low" else max(values)
    return best


def _cell(figure: Figure | None, best: float | None) -> str:
    if figure is None:
        return "none"
    return element("b", figure.text) if figure.value == best else figure.text
