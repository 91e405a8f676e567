"""The HTML report of one or several runs: a comparison, and a section for each run."""

from __future__ import annotations

import json
import os
from collections.abc import Container, Iterator, Sequence
from typing import Any

from scwlearn._util.atomic import write_atomically
from scwlearn.data.run_record import Record
from scwlearn.display.document import html_document
from scwlearn.display.formatting import count, date_time, four_digits, percent, shorten
from scwlearn.display.markup import Markup, WidePanel, element, join, legend_key, panel, table, visible
from scwlearn.display.theme import line_class
from scwlearn.report.confusion import confusion_panel
from scwlearn.report.curves import curve_panels, joint_curve_panels
from scwlearn.report.key_figures import KeyFigure, curve_points, key_figures, mean_speed
from scwlearn.report.parts import part_panels
from scwlearn.report.reliability import joint_reliability_panel, reliability_panel
from scwlearn.report.weights import weights_panel
from scwlearn.rules import find_rule
from scwlearn.runs.warnings import record_warnings

#: Limits of the table of settings.
_MAX_CLASSES, _MAX_WIDTH = 20, 200


def page(records: Sequence[Record], names: Sequence[str] | None = None) -> str:
    """Return a self-contained HTML page about one or several runs.

    Parameters
    ----------
    records : sequence of Record
        At least one. Several are compared first, then each has a section.
    names : sequence of str, optional
        Names of the runs; by default their algorithms and the parameters in which they differ.

    Returns
    -------
    str
        The page, to be written in UTF-8.

    Raises
    ------
    ValueError
        If there is no record, or not one name for each.

    Examples
    --------
    >>> from scwlearn.report import page
    >>> from scwlearn.data.run_record import Point, Record
    >>> record = Record("scwlearn train a.libsvm", "2026-01-01T12:00:00+00:00", "1.0", ["a.libsvm"], "arow", {"r": 1.0},
    ...                 {}, [-1, 1], 2, [Point(1, 1, 1, 2, 0.1), Point(2, 1, 2, 2, 0.2)])
    >>> "<h1>AROW on a.libsvm</h1>" in page([record])
    True
    """
    if not records:
        raise ValueError("a report needs at least one record")
    if names is not None and len(names) != len(records):
        raise ValueError(f"names must hold {len(records)} names, one for each record, got {len(names)}")
    if len(records) == 1:
        (record,) = records
        title = _run_title(record) if names is None else names[0]
        heading, body = _run_heading(record, title), _run_panels(record)
    else:
        chosen = _distinct_names(records) if names is None else names
        title, heading, body = f"{len(records)} runs", Markup(), _several(records, chosen)
    return html_document(shorten(visible(title), 160), heading, body)


def write_page(records: Sequence[Record], path: str | os.PathLike[str], names: Sequence[str] | None = None) -> None:
    """Write the page of `page` to a file, atomically.

    Parameters
    ----------
    records, names
        As for `page`.
    path : str or path
        The file to write; an existing file is replaced.

    Raises
    ------
    ValueError
        As for `page`.
    OSError
        If the file cannot be written; an existing file is then unchanged.

    Examples
    --------
    >>> from scwlearn.report import write_page
    >>> write_page([], "report.html")
    Traceback (most recent call last):
    ValueError: a report needs at least one record
    """
    write_atomically(path, page(records, names).encode())


def _several(records: Sequence[Record], names: Sequence[str]) -> Markup:
    """Return the comparison of several runs, then the section of each."""
    short = [shorten(visible(name), 60) for name in names]
    bins = [(short[n], line_class(n), record.reliability or ()) for n, record in enumerate(records)]
    panels = (_figures_panel(records, short), *joint_curve_panels(records, short), joint_reliability_panel(bins))
    sections = (
        element(
            "section",
            element("h2", shorten(visible(name), 160)),
            _run_heading(record, name),
            _run_panels(record),
            id=f"run-{number}",
        )
        for number, (record, name) in enumerate(zip(records, names, strict=True), 1)
    )
    return join(element("div", *filter(None, panels), class_="panels"), *sections)


def _figures_panel(records: Sequence[Record], names: Sequence[str]) -> Markup:
    runs = [{figure.name: figure for figure in key_figures(record) if not figure.of_data} for record in records]
    columns = list(dict.fromkeys(name for figures in runs for name in figures))
    # Mark the best values only if all runs used the same data, as far as the records show.
    data = {(tuple(record.sources), record.curve[-1].seen if record.curve else 0) for record in records}
    best = _best_values(runs, columns) if len(data) == 1 else {}
    rows = []
    for number, figures in enumerate(runs):
        link = element("a", names[number], href=f"#run-{number + 1}")
        cells = [_cell(figures.get(column), best.get(column)) for column in columns]
        rows.append((join(legend_key(line_class(number)), link), *cells))
    text = "The best value of each column is bold." if best else "The runs used different examples: no best values."
    return panel("Key figures", text, table(("run", *columns), rows, range(1), class_="compare"), wide=True)


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


def _distinct_names(records: Sequence[Record]) -> list[str]:
    """Return a short, distinct name for each run: its algorithm, then parameters, data and a number as needed."""
    names = [_algorithm(record) for record in records]
    every = {name for record in records for name in record.parameters}
    differing = {name for name in every if len({record.parameters.get(name) for record in records}) > 1}
    parameters = [_parameters(record, differing) for record in records]
    sources = [", ".join(map(str, record.sources)) for record in records]
    for details, form in ((parameters, "{} ({})"), (sources, "{} on {}")):
        if len(set(names)) < len(names):
            names = [form.format(name, part) if part else name for name, part in zip(names, details, strict=True)]
    if len(set(names)) < len(names):
        names = [f"{number}. {name}" for number, name in enumerate(names, 1)]
    return names


def _run_title(record: Record) -> str:
    return f"{_algorithm(record)} on {_data(record)}" if record.sources else _algorithm(record)


def _algorithm(record: Record) -> str:
    """Return the usual name of the algorithm; a user-defined rule may not be declared in this process."""
    try:
        return find_rule(record.algorithm).title
    except ValueError:
        return record.algorithm


def _data(record: Record) -> str:
    return ", ".join("standard input" if source == "-" else str(source) for source in record.sources)


def _parameters(record: Record, chosen: Container[str]) -> str:
    return ", ".join(f"{name} = {value:.6g}" for name, value in record.parameters.items() if name in chosen)


def _run_heading(record: Record, title: str) -> Markup:
    """Return the facts below the title, and the command line."""
    subject = _run_title(record)
    facts = ("" if subject == title else subject, _parameters(record, record.parameters), date_time(record.began))
    shown = [shorten(visible(fact), 80) for fact in (*facts, f"scwlearn {record.version}") if fact]
    command = element("code", record.command, class_="command") if record.command else Markup()
    return join(element("p", " · ".join(shown), class_="facts"), command)


def _run_panels(record: Record) -> Markup:
    """Return everything about a run except its heading."""
    figures = [*key_figures(record)]
    # Two rows if there are many, so that the last row is nearly full.
    per_row = len(figures) if len(figures) <= 6 else -(-len(figures) // 2)
    tiles = element("dl", *map(_tile, figures), class_=f"figures in-{per_row}")
    confusion, weights = confusion_panel(record), weights_panel(record.top_weights)
    others = (_passes_panel(record), reliability_panel(record.reliability or ()), confusion, weights)
    panels = [*curve_panels(record), *part_panels(record), *filter(None, others)]
    # Wide panels follow the narrow ones; the settings fill a row that would be half empty.
    wide = [each for each in panels if isinstance(each, WidePanel)]
    narrow = [each for each in panels if not isinstance(each, WidePanel)]
    even = len(narrow) % 2 == 0
    settings = _settings_panel(record, wide=even)
    ordered = [*narrow, *wide, settings] if even else [*narrow, settings, *wide]
    reasons = _missing(record, no_matrix=confusion is None, no_weights=weights is None)
    missing = [element("li", element("b", name), f": {reason}.") for name, reason in reasons]
    notes = element("ul", *missing, class_="absent") if missing else Markup()
    return join(_warnings(record), tiles, element("div", *ordered, class_="panels"), notes)


def _warnings(record: Record) -> Markup:
    texts = (shorten(visible(text), _MAX_WIDTH) for text in record_warnings(record))
    items = [element("li", element("b", "Warning:"), f" {text}.") for text in texts]
    return element("ul", *items, class_="warnings") if items else Markup()


def _passes_panel(record: Record) -> Markup | None:
    """Return the table of the passes, if there were several."""
    if len(record.passes) < 2:
        return None
    rows = (
        (
            count(number),
            count(each.seen),
            count(each.mistakes),
            percent(each.mistakes / max(1, each.seen)),
            count(each.updates),
        )
        for number, each in enumerate(record.passes, 1)
    )
    text = "Mistakes of each pass over the data. From the second on, the model has learned from each example before."
    return panel("Passes", text, table(("pass", "examples", "mistakes", "mistake rate", "updates"), rows))


def _tile(figure: KeyFigure) -> Markup:
    value = element("dd", figure.text, class_="value")
    note = element("dd", figure.note, class_="note") if figure.note else Markup()
    return element("div", element("dt", figure.name), value, note)


def _missing(record: Record, *, no_matrix: bool, no_weights: bool) -> Iterator[tuple[str, str]]:
    """Yield the plots that are missing, with the reasons."""
    points = curve_points(record)
    not_requested = "no probabilities were requested (--probabilities)"
    if not points:
        yield "Curves", "no example was learned"
    elif points[-1].log_loss is None:
        yield "Log-loss", not_requested
    if points and all(mean_speed(point) is None for point in points):
        yield "Speed", "no time was measured"
    if record.reliability is None:
        yield "Reliability", not_requested
    elif not any(part.count for part in record.reliability):
        yield "Reliability", "there are no predictions"
    if record.confusion is None:
        yield "Confusion", f"not counted for {count(len(record.classes))} classes"
    elif no_matrix:
        yield "Confusion", f"the record has no valid matrix of its {count(len(record.classes))} classes"
    if no_weights:
        yield "Largest weights", "the record has no weights to draw"


def _settings_panel(record: Record, wide: bool) -> Markup:
    classes = [shorten(visible(str(name)), 30) for name in record.classes[:_MAX_CLASSES]]
    more = len(record.classes) - len(classes)
    settings = [
        ("algorithm", f"{_algorithm(record)} ({record.algorithm})"),
        *((name, f"{value:.6g}") for name, value in record.parameters.items()),
        *((name.replace("_", " "), _value(value)) for name, value in record.settings.items()),
        ("data", _data(record)),
        ("classes", ", ".join(classes) + (f" and {count(more)} more" if more else "")),
        ("started", date_time(record.began)),
        ("version", record.version),
    ]
    rows = (
        element("div", element("dt", shorten(visible(name), 40)), element("dd", shorten(visible(value), _MAX_WIDTH)))
        for name, value in settings
    )
    return panel("Parameters and settings", "", element("dl", *rows, class_="settings"), wide=wide)


def _value(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return four_digits(value)
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
