"""Panels of the mistake rate, updates, log-loss and speed of one or several runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

from scwlearn.display.formatting import abbreviated, count, four_decimals, four_digits, percent, short_percent
from scwlearn.display.markup import Markup
from scwlearn.display.panels import legend, numbers, panel
from scwlearn.display.svg import Line, Tooltip, line_plot
from scwlearn.display.theme import line_class
from scwlearn.report.key_figures import Interval, curve_points, intervals, mean_speed
from scwlearn.runs.record import Point, Record


@dataclass(frozen=True)
class Curve:
    """A quantity known at each point of a run and for each interval between two points."""

    title: str
    text: str
    so_far: Callable[[Point], float | None]
    recent: Callable[[Interval], float | None]
    form: Callable[[float], str]
    tick: Callable[[float], str]

    def format(self, value: float | None) -> str:
        """Format a value; None is empty."""
        return "" if value is None else self.form(value)

    def steps(self, parts: Sequence[Interval]) -> list[tuple[float, float | None]]:
        """Return the points of a line that is constant in each interval."""
        return list(chain.from_iterable(((p.start, self.recent(p)), (p.stop, self.recent(p))) for p in parts))


CURVES = (
    Curve(
        "Mistake rate",
        "Share of examples predicted wrongly, each predicted before the model learned from it.",
        lambda point: point.mistakes / point.seen,
        lambda interval: interval.mistakes,
        percent,
        short_percent,
    ),
    Curve(
        "Updates",
        "Share of examples that changed the model.",
        lambda point: point.updates / point.seen,
        lambda interval: interval.updates,
        percent,
        short_percent,
    ),
    Curve(
        "Log-loss",
        "Mean of -log(probability of the true label), before learning.",
        lambda point: point.log_loss,
        lambda interval: interval.log_loss,
        four_decimals,
        four_digits,
    ),
    Curve(
        "Speed",
        "Examples per second: reading, predicting and learning.",
        mean_speed,
        lambda interval: interval.speed,
        abbreviated,
        abbreviated,
    ),
)

# Lines with more points are drawn without dots.
_MAX_DOTS = 30

_SO_FAR, _RECENT = "so far", "since the previous point"


def curve_panels(record: Record) -> list[Markup]:
    """Return a panel for each curve of a run."""
    points = curve_points(record)
    return [made for curve in CURVES if (made := _single(curve, points))] if points else []


def joint_curve_panels(records: Sequence[Record], names: Sequence[str]) -> list[Markup]:
    """Return a panel for each curve that at least one of the runs has."""
    runs = [curve_points(record) for record in records]
    return [made for curve in CURVES for made in _joint(curve, runs, names)]


def _single(curve: Curve, points: Sequence[Point]) -> Markup | None:
    parts = intervals(points)
    values, recent = [curve.so_far(point) for point in points], [None, *map(curve.recent, parts)]
    seen = [point.seen for point in points]
    lines = [
        Line(_RECENT, "c1 d0", curve.steps(parts), curve.format(recent[-1])),
        Line(_SO_FAR, "c0 d0", [*zip(seen, values, strict=True)], curve.format(values[-1]), len(points) <= _MAX_DOTS),
    ]
    lines = [line for line in lines if line.points]  # a single point has no interval before it
    rows = [
        (count(point.seen), curve.format(value), curve.format(since))
        for point, value, since in zip(points, values, recent, strict=True)
    ]
    tips = [
        Tooltip(point.seen, [f"{seen} examples", f"{value} {_SO_FAR}", *([f"{since} {_RECENT}"] if since else [])])
        for point, (seen, value, since) in zip(points, rows, strict=True)
    ]
    description = f"After {rows[-1][0]} examples {rows[-1][1]}."
    plot = line_plot(f"{curve.title} by examples", description, lines, tips, curve.tick)
    if plot is None:
        return None
    return panel(curve.title, curve.text, legend(reversed(lines)), plot, numbers(("examples", _SO_FAR, _RECENT), rows))


def _joint(curve: Curve, runs: Sequence[Sequence[Point]], names: Sequence[str]) -> list[Markup]:
    lines, recent = [], []
    for number, (points, name) in enumerate(zip(runs, names, strict=True)):
        values = [(point.seen, curve.so_far(point)) for point in points]
        if any(value is not None for _, value in values):
            lines.append(Line(name, line_class(number), values, dots=len(points) <= _MAX_DOTS))
            recent.append(Line(name, line_class(number), curve.steps(intervals(points))))
    panels = [_joint_panel(curve, curve.title, lines)]
    if curve is CURVES[0]:
        panels.append(_joint_panel(curve, f"{curve.title} {_RECENT}", recent))
    return [made for made in panels if made]


def _joint_panel(curve: Curve, title: str, lines: Sequence[Line]) -> Markup | None:
    ends = "; ".join(f"{line.name}: {curve.format(line.points[-1][1])}" for line in lines if line.points)
    plot = line_plot(f"{title} of {len(lines)} runs", f"At the end {ends}.", lines, (), curve.tick)
    return panel(title, curve.text, legend(lines), plot) if plot else None
