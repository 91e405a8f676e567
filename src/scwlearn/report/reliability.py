"""Panels of the reliability diagram: how often predictions of a given probability were correct."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from scwlearn.data.run_record import Bin
from scwlearn.display.formatting import abbreviated, count, percent, plural, short_percent, text_width
from scwlearn.display.markup import Markup, coordinate, element, join, legend, numbers, panel
from scwlearn.display.svg import Axis, label, linear_axis, svg, tooltip, x_grid, y_grid
from scwlearn.report.key_figures import calibration_error

_WIDTH, _HEIGHT = 480.0, 346.0
_LEFT, _RIGHT, _TOP = 54.0, 452.0, 12.0
#: Bottom of the diagram, and top and bottom of the bars with the number of predictions.
_DIAGRAM_BOTTOM, _BARS_TOP, _BARS_BOTTOM = 226.0, 250.0, 300.0

_TEXT = "How often predictions of a given probability were correct; on the dotted line, as often as predicted."

#: Name, CSS classes and bins of a run.
Run = tuple[str, str, Sequence[Bin]]


def reliability_panel(bins: Sequence[Bin]) -> Markup | None:
    """Return the diagram of one run, with the number of predictions in each bin."""
    shown = _valid(bins)
    error = calibration_error(shown)
    if error is None:
        return None
    axes = _axes(shown)
    summary = f"Mean distance from the line (ECE): {percent(error)}."
    content = [_frame(*axes, bars=True), _bars(shown, axes[0]), *_points(("", "c0 d0", shown), *axes, whiskers=True)]
    plot = svg(_WIDTH, _HEIGHT, "Reliability of the probabilities", summary, *content, class_="reliability")
    rows = [(percent(b.probability), percent(b.right / b.count), count(b.count), count(b.right)) for b in shown]
    details = numbers(("mean probability", "correct", "predictions", "correct predictions"), rows)
    return panel("Reliability", f"{_TEXT} {summary}", plot, details)


def joint_reliability_panel(runs: Sequence[Run]) -> Markup | None:
    """Return the diagrams of several runs in one plot."""
    shown = [(name, style, _valid(bins)) for name, style, bins in runs]
    shown = [run for run in shown if run[2]]
    if not shown:
        return None
    axes = _axes([part for _, _, bins in shown for part in bins])
    content = [_frame(*axes, bars=False), *(mark for run in shown for mark in _points(run, *axes, whiskers=False))]
    errors = "; ".join(f"{name}: ECE {percent(calibration_error(bins) or 0.0)}" for name, _, bins in shown)
    title = f"Reliability of the probabilities of {len(shown)} runs"
    plot = svg(_WIDTH, _DIAGRAM_BOTTOM + 46, title, errors, *content, class_="reliability")
    return panel("Reliability", _TEXT, legend((name, style) for name, style, _ in shown), plot)


def _valid(bins: Sequence[Bin]) -> list[Bin]:
    return [b for b in bins if b.count > 0 and 0 <= b.probability <= 1 and 0 <= b.right <= b.count]


def _axes(bins: Sequence[Bin]) -> tuple[Axis, Axis]:
    """Return axes from 0, or from 0.5 if no probability is smaller, as with two classes."""
    low = 0.0 if min(b.probability for b in bins) < 0.5 else 0.5
    lowest = min(low, *(b.right / b.count for b in bins))
    return linear_axis(low, 1.0, _LEFT, _RIGHT), linear_axis(lowest, 1.0, _DIAGRAM_BOTTOM, _TOP)


def _frame(x: Axis, y: Axis, bars: bool) -> Markup:
    low = max(x.low, y.low)
    reference = f"M{coordinate(x(low))} {coordinate(y(low))}L{coordinate(x(1.0))} {coordinate(y(1.0))}"
    bottom = _BARS_BOTTOM if bars else _DIAGRAM_BOTTOM
    return join(
        x_grid(x, _TOP, bottom, short_percent),
        y_grid(y, _LEFT, _RIGHT, short_percent),
        element("path", d=reference, class_="reference"),
        label("predicted probability", (_LEFT + _RIGHT) / 2, bottom + 35, class_="axis", anchor="middle"),
    )


def _points(run: Run, x: Axis, y: Axis, whiskers: bool) -> list[Markup]:
    name, style, bins = run
    places = [(x(b.probability), y(b.right / b.count)) for b in bins]
    path = "L".join(f"{coordinate(left)} {coordinate(top)}" for left, top in places)
    marks = [element("path", d=f"M{path}", class_=f"line thin {style}")]
    if whiskers:
        bars = (
            f"M{coordinate(left)} {coordinate(y(low))}V{coordinate(y(high))}"
            for (left, _), (low, high) in zip(places, map(_confidence_interval, bins), strict=True)
        )
        marks.append(element("path", d="".join(bars), class_=f"whisker {style}"))
    dots = (
        element("circle", tooltip(*_tip(name, b)), cx=left, cy=top, r=3.6)
        for b, (left, top) in zip(bins, places, strict=True)
    )
    return [*marks, element("g", *dots, class_=f"dots {style}")]


def _tip(name: str, part: Bin) -> list[str]:
    lines = [f"{percent(part.probability)} predicted", f"{percent(part.right / part.count)} correct"]
    return [*([name] if name else []), *lines, plural(part.count, "prediction")]


def _confidence_interval(part: Bin) -> tuple[float, float]:
    """Return Wilson's interval of two standard deviations for the share of correct predictions."""
    n, share = part.count, part.right / part.count
    middle, spread = share + 2 / n, 2 * math.sqrt(share * (1 - share) / n + 1 / n**2)
    return (middle - spread) / (1 + 4 / n), (middle + spread) / (1 + 4 / n)


def _bars(bins: Sequence[Bin], x: Axis) -> Markup:
    """Draw the number of predictions in each bin."""
    most = max(b.count for b in bins)
    ordered = sorted(bins, key=lambda part: part.probability)
    gaps = [x(other.probability) - x(one.probability) for one, other in pairwise(ordered)]
    width = min([26.0, *(max(4.0, 0.8 * gap) for gap in gaps)])
    bars, free = [], 0.0
    for b in ordered:
        centre, height = x(b.probability), max(1.0, (_BARS_BOTTOM - _BARS_TOP) * b.count / most)
        box = {"x": centre - width / 2, "y": _BARS_BOTTOM - height, "width": width, "height": height}
        bars.append(element("rect", tooltip(plural(b.count, "prediction")), **box, class_="bar"))
        # Neighbouring bins may have room for one number only; the table has all of them.
        half = 6.0 * text_width(abbreviated(b.count))
        if centre - half >= free:
            bars.append(label(abbreviated(b.count), centre, _BARS_BOTTOM - height - 8, class_="small", anchor="middle"))
            free = centre + half
    title = label("count", _LEFT - 7, (_BARS_TOP + _BARS_BOTTOM) / 2, class_="small", anchor="end")
    return join(title, *bars)
