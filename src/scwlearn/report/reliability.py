"""The reliability diagram: how often predictions of about one probability were right, and how many there were."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from scwlearn.report.axes import Axis, finite, linear
from scwlearn.report.cards import card, legend, numbers
from scwlearn.report.drawing import Line, grid_below, grid_beside, picture, text, tip
from scwlearn.report.figures import calibration_error
from scwlearn.report.markup import Markup, element, join, place
from scwlearn.report.text import count, percent, rough, short_percent, some, width
from scwlearn.runs.record import Bin

_WIDTH, _HEIGHT = 480.0, 346.0
_LEFT, _RIGHT, _TOP = 54.0, 452.0, 12.0
#: Where the shares end and the counts begin, and where those end.
_SHARES, _COUNTS, _BOTTOM = 226.0, 250.0, 300.0

_SAYS = "How often predictions of about one probability were right; on the dotted line it is as often as they say."

#: What is drawn of a run: its name, its looks and its bins.
Run = tuple[str, str, Sequence[Bin]]


def reliability_of(bins: Sequence[Bin]) -> Markup | None:
    """The diagram of one run, with the number of predictions in each bin."""
    shown = _sound(bins)
    error = calibration_error(shown)
    if error is None:
        return None
    axes = _axes(shown)
    told = f"Off by {percent(error)} on average (ECE)."
    content = [_frame(*axes, counts=True), _bars(shown, axes[0]), *_points(("", "c0 d0", shown), *axes, whiskers=True)]
    plot = picture(_WIDTH, _HEIGHT, "Reliability of the probabilities", told, *content, class_="reliability")
    rows = [(percent(b.probability), percent(b.right / b.count), count(b.count), count(b.right)) for b in shown]
    return card(
        "Reliability",
        f"{_SAYS} {told}",
        plot,
        numbers(("mean probability", "right", "predictions", "of them right"), rows),
    )


def reliability_together(runs: Sequence[Run]) -> Markup | None:
    """The diagrams of several runs in one."""
    shown = [(name, look, _sound(bins)) for name, look, bins in runs]
    shown = [run for run in shown if run[2]]
    if not shown:
        return None
    axes = _axes([part for _, _, bins in shown for part in bins])
    content = [_frame(*axes, counts=False), *(mark for run in shown for mark in _points(run, *axes, whiskers=False))]
    errors = "; ".join(f"{name}: ECE {percent(calibration_error(bins) or 0.0)}" for name, _, bins in shown)
    title = f"Reliability of the probabilities of {len(shown)} runs"
    plot = picture(_WIDTH, _SHARES + 46, title, errors, *content, class_="reliability")
    return card("Reliability", _SAYS, legend(Line(name, look, ()) for name, look, _ in shown), plot)


def _sound(bins: Sequence[Bin]) -> list[Bin]:
    return [b for b in bins if b.count > 0 and 0 <= b.probability <= 1 and 0 <= b.right <= b.count]


def _axes(bins: Sequence[Bin]) -> tuple[Axis, Axis]:
    """From 0, or of two classes from a half, which is the least that the likelier of them can have."""
    low = 0.0 if min(b.probability for b in bins) < 0.5 else 0.5
    lowest = min(low, *(b.right / b.count for b in bins))
    return linear(low, 1.0, _LEFT, _RIGHT), linear(lowest, 1.0, _SHARES, _TOP)


def _frame(across: Axis, up: Axis, counts: bool) -> Markup:
    low = max(across.low, up.low)
    ideal = f"M{place(across(low))} {place(up(low))}L{place(across(1.0))} {place(up(1.0))}"
    bottom = _BOTTOM if counts else _SHARES
    return join(
        grid_below(across, _TOP, bottom, short_percent),
        grid_beside(up, _LEFT, _RIGHT, short_percent),
        element("path", d=ideal, class_="ideal"),
        text("probability of the prediction", (_LEFT + _RIGHT) / 2, bottom + 35, class_="axis", anchor="middle"),
    )


def _points(run: Run, across: Axis, up: Axis, whiskers: bool) -> list[Markup]:
    name, look, bins = run
    places = [(across(b.probability), up(b.right / b.count)) for b in bins]
    path = "L".join(f"{place(x)} {place(y)}" for x, y in places)
    marks = [element("path", d=f"M{path}", class_=f"line thin {look}")]
    if whiskers:
        spans = (_interval(b) for b in bins)
        bars = (
            f"M{place(x)} {place(up(low))}V{place(up(high))}" for (x, _), (low, high) in zip(places, spans, strict=True)
        )
        marks.append(element("path", d="".join(bars), class_=f"whisker {look}"))
    dots = (element("circle", tip(*_told(name, b)), cx=x, cy=y, r=3.6) for b, (x, y) in zip(bins, places, strict=True))
    return [*marks, element("g", *dots, class_=f"dots {look}")]


def _told(name: str, part: Bin) -> list[str]:
    told = [f"{percent(part.probability)} expected", f"{percent(part.right / part.count)} right"]
    return [*([name] if name else []), *told, some(part.count, "prediction")]


def _interval(part: Bin) -> tuple[float, float]:
    """Where the share may lie by chance: Wilson's interval of two standard deviations."""
    n, share = part.count, part.right / part.count
    middle, spread = share + 2 / n, 2 * math.sqrt(share * (1 - share) / n + 1 / n**2)
    return (middle - spread) / (1 + 4 / n), (middle + spread) / (1 + 4 / n)


def _bars(bins: Sequence[Bin], across: Axis) -> Markup:
    """How many predictions each bin has."""
    most = max(b.count for b in bins)
    wide = min(26.0, *_gaps([across(b.probability) for b in bins]))
    bars, free = [], 0.0
    for b in sorted(bins, key=lambda part: part.probability):
        x, high = across(b.probability), max(1.0, (_BOTTOM - _COUNTS) * b.count / most)
        told = tip(some(b.count, "prediction"))
        bars.append(element("rect", told, x=x - wide / 2, y=_BOTTOM - high, width=wide, height=high, class_="bar"))
        # Bins that are near each other have room for one number; the others are among the numbers behind the plot.
        half = 6.0 * width(rough(b.count))
        if x - half >= free:
            bars.append(text(rough(b.count), x, _BOTTOM - high - 8, class_="small", anchor="middle"))
            free = x + half
    title = text("count", _LEFT - 7, (_COUNTS + _BOTTOM) / 2, class_="small", anchor="end")
    return join(title, *bars)


def _gaps(places: Sequence[float]) -> list[float]:
    ordered = sorted(finite(places))
    return [max(4.0, 0.8 * (other - one)) for one, other in pairwise(ordered)] or [26.0]
