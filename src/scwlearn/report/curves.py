"""The curves of one run, or of several over each other: mistakes, updates, log-loss and speed as examples come."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

from scwlearn.report.cards import card, legend, numbers
from scwlearn.report.drawing import Band, Line, line_plot
from scwlearn.report.figures import Stretch, points_of, speed_of, stretches
from scwlearn.report.markup import Markup
from scwlearn.report.text import count, fixed, measure, percent, rough, short_percent
from scwlearn.runs.record import Point, Record

#: Colours and dashes of runs that share a plot; after so many of them they begin anew.
COLOURS, DASHES = 7, 3


@dataclass(frozen=True)
class Curve:
    """Something that is known at each point, and of each stretch between two."""

    title: str
    says: str
    at: Callable[[Point], float | None]
    within: Callable[[Stretch], float | None]
    form: Callable[[float], str]
    tick: Callable[[float], str]


CURVES = (
    Curve(
        "Mistake rate",
        "The share of examples predicted wrongly, each before it was learned from.",
        lambda point: point.mistakes / point.seen,
        lambda stretch: stretch.mistakes,
        percent,
        short_percent,
    ),
    Curve(
        "Updates",
        "The share of examples that changed the model.",
        lambda point: point.updates / point.seen,
        lambda stretch: stretch.updates,
        percent,
        short_percent,
    ),
    Curve(
        "Log-loss",
        "How much the labels surprised the probabilities, on average.",
        lambda point: point.log_loss,
        lambda stretch: stretch.log_loss,
        fixed,
        measure,
    ),
    Curve(
        "Speed",
        "Examples per second: reading, predicting and learning.",
        speed_of,
        lambda stretch: stretch.speed,
        rough,
        rough,
    ),
)

# More of them on a line run into each other.
_MOST_DOTS = 30

_SO_FAR, _SINCE = "so far", "since the point before"


def look_of(number: int) -> str:
    """How a run looks in a plot that it shares."""
    return f"c{number % COLOURS} d{number // COLOURS % DASHES}"


def curves_of(record: Record) -> list[Markup]:
    """A card for each curve that the run has."""
    points = points_of(record)
    return [made for curve in CURVES if (made := _alone(curve, points))] if points else []


def curves_together(records: Sequence[Record], names: Sequence[str]) -> list[Markup]:
    """A card for each curve that any of the runs has, with the legend of those that have it."""
    runs = [points_of(record) for record in records]
    return [made for curve in CURVES for made in _together(curve, runs, names)]


def _alone(curve: Curve, points: Sequence[Point]) -> Markup | None:
    parts = stretches(points)
    values, recent = [curve.at(point) for point in points], [None, *map(curve.within, parts)]
    seen = [point.seen for point in points]
    lines = [
        Line(_SINCE, "c1 d0", _stairs(curve, parts), _last(curve, recent)),
        Line(_SO_FAR, "c0 d0", [*zip(seen, values, strict=True)], _last(curve, values), len(points) <= _MOST_DOTS),
    ]
    lines = [line for line in lines if line.places]  # one point alone has no stretch before it
    rows = [
        (count(point.seen), _told(curve, value), _told(curve, since))
        for point, value, since in zip(points, values, recent, strict=True)
    ]
    bands = [
        Band(point.seen, [f"{seen} examples", f"{value} {_SO_FAR}", *([f"{since} {_SINCE}"] if since else [])])
        for point, (seen, value, since) in zip(points, rows, strict=True)
    ]
    description = f"After {rows[-1][0]} examples {rows[-1][1]}."
    plot = line_plot(f"{curve.title} by examples", description, lines, bands, curve.tick)
    if plot is None:
        return None
    behind = numbers(("examples", _SO_FAR, _SINCE), rows)
    return card(curve.title, curve.says, legend(reversed(lines)), plot, behind)


def _together(curve: Curve, runs: Sequence[Sequence[Point]], names: Sequence[str]) -> list[Markup]:
    lines, recent = [], []
    for number, (points, name) in enumerate(zip(runs, names, strict=True)):
        values = [(point.seen, curve.at(point)) for point in points]
        if any(value is not None for _, value in values):
            lines.append(Line(name, look_of(number), values, dots=len(points) <= _MOST_DOTS))
            recent.append(Line(name, look_of(number), _stairs(curve, stretches(points))))
    cards = [_shared(curve, curve.title, lines)]
    if curve is CURVES[0]:
        cards.append(_shared(curve, f"{curve.title} {_SINCE}", recent))
    return [made for made in cards if made]


def _shared(curve: Curve, title: str, lines: Sequence[Line]) -> Markup | None:
    ends = "; ".join(f"{line.name}: {_told(curve, line.places[-1][1])}" for line in lines if line.places)
    plot = line_plot(f"{title} of {len(lines)} runs", f"At the end {ends}.", lines, (), curve.tick)
    return card(title, curve.says, legend(lines), plot) if plot else None


def _stairs(curve: Curve, parts: Sequence[Stretch]) -> list[tuple[float, float | None]]:
    """A value that holds from one point to the next."""
    return list(chain.from_iterable(((p.after, curve.within(p)), (p.until, curve.within(p))) for p in parts))


def _told(curve: Curve, value: float | None) -> str:
    return "" if value is None else curve.form(value)


def _last(curve: Curve, values: Sequence[float | None]) -> str:
    return _told(curve, values[-1])
