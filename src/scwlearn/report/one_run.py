"""The part of a page that is about one run: its figures, its plots, what it was told, and what is missing and why."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from scwlearn.report.cards import Wide, card
from scwlearn.report.confusion import confusion_of, is_square
from scwlearn.report.curves import curves_of
from scwlearn.report.figures import Figure, algorithm_of, key_figures, parameters_of, points_of, speed_of
from scwlearn.report.markup import Markup, element, join, visible
from scwlearn.report.reliability import reliability_of
from scwlearn.report.text import count, measure, moment, shorten
from scwlearn.report.weights import weights_of
from scwlearn.runs.record import Record

#: So many classes, and letters of a setting, are told in the table of what was decided.
_MOST_CLASSES, _MOST_LETTERS = 20, 200


def subject_of(record: Record) -> str:
    """What a run is about."""
    return f"{algorithm_of(record)} on {_data(record)}" if record.sources else algorithm_of(record)


def head_of(record: Record, title: str) -> Markup:
    """What was run, in a line below the title, and as it was typed."""
    subject = subject_of(record)
    facts = ("" if subject == title else subject, parameters_of(record), moment(record.began))
    told = [shorten(visible(fact), 80) for fact in (*facts, f"scwlearn {record.version}") if fact]
    command = element("code", record.command, class_="command") if record.command else Markup()
    return join(element("p", " · ".join(told), class_="facts"), command)


def run_of(record: Record) -> Markup:
    """All of a run but its head."""
    figures = key_figures(record)
    # So many in a line that the last line is about full.
    tiles = element("dl", *map(_tile, figures), class_=f"figures in-{_in_line(len(figures))}")
    drawn = [_reliability(record), _confusion(record), _weights(record)]
    cards = [*curves_of(record), *(each for each in drawn if each)]
    # What is as wide as the page comes after what shares a line, and the settings fill the line that is left.
    wide = [each for each in cards if isinstance(each, Wide)]
    narrow = [each for each in cards if not isinstance(each, Wide)]
    settings = _decided(record, wide=len(narrow) % 2 == 0)
    ordered = [*narrow, *wide, settings] if isinstance(settings, Wide) else [*narrow, settings, *wide]
    absent = [element("li", element("b", name), f": {why}.") for name, why in _absent(record)]
    return join(
        tiles, element("div", *ordered, class_="cards"), element("ul", *absent, class_="absent") if absent else Markup()
    )


def _in_line(number: int) -> int:
    return number if number <= 6 else -(-number // 2)


def _data(record: Record) -> str:
    return ", ".join("standard input" if source == "-" else str(source) for source in record.sources)


def _tile(figure: Figure) -> Markup:
    value = element("dd", figure.text, class_="value")
    note = element("dd", figure.note, class_="note") if figure.note else Markup()
    return element("div", element("dt", figure.name), value, note)


def _reliability(record: Record) -> Markup | None:
    return reliability_of(record.reliability or ())


def _confusion(record: Record) -> Markup | None:
    if record.confusion is None or not is_square(record.confusion, len(record.classes)):
        return None
    return confusion_of(record.confusion, [str(label) for label in record.classes])


def _weights(record: Record) -> Markup | None:
    return weights_of(record.top_weights)


def _absent(record: Record) -> Iterator[tuple[str, str]]:
    """What is not drawn, and why."""
    points = points_of(record)
    unasked = "no probabilities were asked for: --probabilities"
    if not points:
        yield "Curves", "no example was learned from"
    elif points[-1].log_loss is None:
        yield "Log-loss", unasked
    if points and all(speed_of(point) is None for point in points):
        yield "Speed", "no time was measured"
    if record.reliability is None:
        yield "Reliability", unasked
    elif not any(part.count for part in record.reliability):
        yield "Reliability", "there was no prediction"
    if record.confusion is None:
        yield "Confusion", f"it was not counted for {count(len(record.classes))} classes"
    elif not _confusion(record):
        yield "Confusion", f"the record has no matrix of its {count(len(record.classes))} classes"
    if not _weights(record):
        yield "Largest weights", "the record has none that can be drawn"


def _decided(record: Record, wide: bool) -> Markup:
    """Everything that was decided before the run."""
    classes = [shorten(visible(str(label)), 30) for label in record.classes[:_MOST_CLASSES]]
    more = len(record.classes) - len(classes)
    told = [
        ("algorithm", f"{algorithm_of(record)} ({record.algorithm})"),
        *((name, f"{value:.6g}") for name, value in record.parameters.items()),
        *((name.replace("_", " "), _value(value)) for name, value in record.settings.items()),
        ("data", _data(record)),
        ("classes", ", ".join(classes) + (f" and {count(more)} more" if more else "")),
        ("began", moment(record.began)),
        ("version", record.version),
    ]
    rows = (
        element("div", element("dt", shorten(visible(name), 40)), element("dd", shorten(visible(value), _MOST_LETTERS)))
        for name, value in told
    )
    return card("Parameters and settings", "", element("dl", *rows, class_="settings"), wide=wide)


def _value(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return measure(value)
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
