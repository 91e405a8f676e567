"""Panels of the mistake rate, updates, log-loss and speed of one or several runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from scwlearn.data.run_record import Point, Record
from scwlearn.display.formatting import abbreviated, count, four_decimals, four_digits, percent, short_percent
from scwlearn.display.markup import Markup, legend, numbers, panel
from scwlearn.display.svg import Line, line_plot
from scwlearn.display.theme import line_class
from scwlearn.report.key_figures import curve_points, difference, label_text, mean_speed


@dataclass(frozen=True)
class Curve:
    """A quantity known at each point of a run."""

    title: str
    text: str
    value: Callable[[Point], float | None]
    form: Callable[[float], str]
    tick: Callable[[float], str]

    def format(self, value: float | None) -> str:
        """Format a value; None is empty."""
        return "" if value is None else self.form(value)

    def so_far(self, points: Sequence[Point]) -> list[tuple[float, float | None]]:
        """Return the line through the points."""
        return [(point.seen, self.value(point)) for point in points]

    def recent(self, points: Sequence[Point]) -> list[tuple[float, float | None]]:
        """Return a line that is constant from each point to the next, with the value of the examples between them."""
        return [(end.seen, self.value(difference(*pair))) for pair in pairwise(points) for end in pair]


CURVES = (
    Curve(
        "Mistake rate",
        "Share of examples predicted wrongly, each predicted before the model learned from it.",
        lambda point: point.mistakes / point.seen,
        percent,
        short_percent,
    ),
    Curve(
        "Updates",
        "Share of examples that changed the model.",
        lambda point: point.updates / point.seen,
        percent,
        short_percent,
    ),
    Curve(
        "Log-loss",
        "Mean of -log(probability of the true label), before learning.",
        lambda point: point.log_loss,
        four_decimals,
        four_digits,
    ),
    Curve("Speed", "Examples per second: reading, predicting and learning.", mean_speed, abbreviated, abbreviated),
)

# Lines with more points are drawn without dots.
_MAX_DOTS = 30

_SO_FAR, _RECENT = "so far", "since the previous point"


def curve_panels(record: Record) -> list[Markup]:
    """Return a panel for each curve of a run."""
    points = curve_points(record)
    return [made for curve in CURVES if (made := _single(curve, points, _baseline(curve, [record])))] if points else []


def joint_curve_panels(records: Sequence[Record], names: Sequence[str]) -> list[Markup]:
    """Return a panel for each curve that at least one of the runs has."""
    runs = [curve_points(record) for record in records]
    return [made for curve in CURVES for made in _joint(curve, runs, names, _baseline(curve, records))]


def _baseline(curve: Curve, records: Sequence[Record]) -> list[Line]:
    """Return the line of the baseline in the plot of mistakes, if the runs have the same."""
    baseline = records[0].baseline
    if curve is not CURVES[0] or baseline is None or any(record.baseline != baseline for record in records):
        return []
    seen = [point.seen for record in records for point in curve_points(record)]
    ends = [(end, baseline.error) for end in (min(seen, default=1), max(seen, default=1))]
    name = f"always {label_text(baseline)} ({percent(baseline.error)})"
    return [Line(name, "reference", ends, reference=True)]


def _single(curve: Curve, points: Sequence[Point], baseline: Sequence[Line]) -> Markup | None:
    so_far, recent = curve.so_far(points), curve.recent(points)
    # The ends of the intervals; the first point has no interval before it.
    before = [None, *(value for _, value in recent[1::2])]
    rows = [
        (count(seen), curve.format(value), curve.format(since))
        for (seen, value), since in zip(so_far, before, strict=True)
    ]
    examples, end, recent_end = rows[-1]
    lines = [Line(_SO_FAR, "c0 d0", so_far, end, len(points) <= _MAX_DOTS)]
    if recent:
        lines.insert(0, Line(_RECENT, "c1 d0", recent, recent_end))
    tips = [
        (point.seen, [f"{seen} examples", f"{value} {_SO_FAR}", *([f"{since} {_RECENT}"] if since else [])])
        for point, (seen, value, since) in zip(points, rows, strict=True)
    ]
    summary = "; ".join([f"After {examples} examples {end}", *(line.name for line in baseline)])
    plot = line_plot(f"{curve.title} by examples", f"{summary}.", [*lines, *baseline], tips, curve.tick)
    if plot is None:
        return None
    names = legend((line.name, line.style) for line in (*reversed(lines), *baseline))
    return panel(curve.title, curve.text, names, plot, numbers(("examples", _SO_FAR, _RECENT), rows))


def _joint(
    curve: Curve, runs: Sequence[Sequence[Point]], names: Sequence[str], baseline: Sequence[Line]
) -> list[Markup]:
    lines, recent = [], []
    for number, (points, name) in enumerate(zip(runs, names, strict=True)):
        so_far = curve.so_far(points)
        if any(value is not None for _, value in so_far):
            lines.append(Line(name, line_class(number), so_far, dots=len(points) <= _MAX_DOTS))
            recent.append(Line(name, line_class(number), curve.recent(points)))
    panels = [_joint_panel(curve, curve.title, lines, baseline)]
    if curve is CURVES[0]:
        panels.append(_joint_panel(curve, f"{curve.title} {_RECENT}", recent, baseline))
    return [made for made in panels if made]


def _joint_panel(curve: Curve, title: str, lines: Sequence[Line], baseline: Sequence[Line]) -> Markup | None:
    ends = "; ".join(f"{line.name}: {curve.format(line.points[-1][1])}" for line in lines if line.points)
    drawn = [*lines, *baseline]
    plot = line_plot(f"{title} of {len(lines)} runs", f"At the end {ends}.", drawn, (), curve.tick)
    return panel(title, curve.text, legend((line.name, line.style) for line in drawn), plot) if plot else None
