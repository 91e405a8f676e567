"""The section of one run: heading, key figures, plots, settings, and the reasons for missing plots."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from scwlearn.display.formatting import count, date_time, four_digits, shorten
from scwlearn.display.markup import Markup, element, join, visible
from scwlearn.display.panels import WidePanel, panel
from scwlearn.report.confusion import confusion_panel, is_valid_matrix
from scwlearn.report.curves import curve_panels
from scwlearn.report.key_figures import (
    KeyFigure,
    algorithm_title,
    curve_points,
    key_figures,
    mean_speed,
    parameter_line,
)
from scwlearn.report.reliability import reliability_panel
from scwlearn.report.weights import weights_panel
from scwlearn.runs.record import Record

#: Limits of the table of settings.
_MAX_CLASSES, _MAX_WIDTH = 20, 200


def run_title(record: Record) -> str:
    """Return the algorithm and the data of a run."""
    return f"{algorithm_title(record)} on {_data(record)}" if record.sources else algorithm_title(record)


def run_heading(record: Record, title: str) -> Markup:
    """Return the facts below the title, and the command line."""
    subject = run_title(record)
    facts = ("" if subject == title else subject, parameter_line(record), date_time(record.began))
    shown = [shorten(visible(fact), 80) for fact in (*facts, f"scwlearn {record.version}") if fact]
    command = element("code", record.command, class_="command") if record.command else Markup()
    return join(element("p", " · ".join(shown), class_="facts"), command)


def run_panels(record: Record) -> Markup:
    """Return everything about a run except its heading."""
    figures = key_figures(record)
    # Two rows if there are many, so that the last row is nearly full.
    per_row = len(figures) if len(figures) <= 6 else -(-len(figures) // 2)
    tiles = element("dl", *map(_tile, figures), class_=f"figures in-{per_row}")
    optional = (reliability_panel(record.reliability or ()), _confusion(record), weights_panel(record.top_weights))
    panels = [*curve_panels(record), *(each for each in optional if each)]
    # Wide panels follow the narrow ones; the settings fill a row that would be half empty.
    wide = [each for each in panels if isinstance(each, WidePanel)]
    narrow = [each for each in panels if not isinstance(each, WidePanel)]
    settings = _settings_panel(record, wide=len(narrow) % 2 == 0)
    ordered = [*narrow, *wide, settings] if isinstance(settings, WidePanel) else [*narrow, settings, *wide]
    missing = [element("li", element("b", name), f": {reason}.") for name, reason in _missing(record)]
    notes = element("ul", *missing, class_="absent") if missing else Markup()
    return join(tiles, element("div", *ordered, class_="panels"), notes)


def _data(record: Record) -> str:
    return ", ".join("standard input" if source == "-" else str(source) for source in record.sources)


def _tile(figure: KeyFigure) -> Markup:
    value = element("dd", figure.text, class_="value")
    note = element("dd", figure.note, class_="note") if figure.note else Markup()
    return element("div", element("dt", figure.name), value, note)


def _confusion(record: Record) -> Markup | None:
    if record.confusion is None or not is_valid_matrix(record.confusion, len(record.classes)):
        return None
    return confusion_panel(record.confusion, [str(name) for name in record.classes])


def _missing(record: Record) -> Iterator[tuple[str, str]]:
    """Return the plots that are missing, with the reasons."""
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
    elif not _confusion(record):
        yield "Confusion", f"the record has no valid matrix of its {count(len(record.classes))} classes"
    if not weights_panel(record.top_weights):
        yield "Largest weights", "the record has no weights to draw"


def _settings_panel(record: Record, wide: bool) -> Markup:
    classes = [shorten(visible(str(name)), 30) for name in record.classes[:_MAX_CLASSES]]
    more = len(record.classes) - len(classes)
    settings = [
        ("algorithm", f"{algorithm_title(record)} ({record.algorithm})"),
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
