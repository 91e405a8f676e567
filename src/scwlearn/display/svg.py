"""SVG plots: axes with round ticks, grids, lines, and a description for screen readers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import count as count_up
from itertools import pairwise

from scwlearn.display.formatting import abbreviated, count
from scwlearn.display.markup import Markup, coordinate, element, html, join

#: Larger numbers are not drawn: twice or a tenth of a drawn number must still be finite and nonzero.
_HUGE, _TINY = 1e300, 1e-290
#: Size of a line plot. Its text is small relative to it: on a narrow screen the style sheet enlarges the text.
_WIDTH, _HEIGHT = 480.0, 268.0
_LEFT, _TOP, _BOTTOM = 54.0, 12.0, 44.0
#: Smallest distance between the labels at the ends of lines.
_LABEL_DISTANCE = 15.0
#: Largest number of ticks of a logarithmic axis.
_MAX_LOG_TICKS = 7


@dataclass(frozen=True)
class Axis:
    """Map from the values `low` to `high` to the coordinates `start` to `end`."""

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[float, ...]
    log: bool = False

    def __call__(self, value: float) -> float:
        """Return the coordinate of a value."""
        low, high = (math.log(self.low), math.log(self.high)) if self.log else (self.low, self.high)
        along = ((math.log(value) if self.log else value) - low) / (high - low)
        return self.start + along * (self.end - self.start)


def linear_axis(low: float, high: float, start: float, end: float, ticks: int = 6, tight: bool = False) -> Axis:
    """Return an axis with about `ticks` round ticks; unless `tight`, it begins and ends at a tick."""
    size = max(abs(low), abs(high))
    if not high - low > max(1e-9 * size, _TINY):
        low, high = (min(low, high) - size / 2, max(low, high) + size / 2) if size > _TINY else (0.0, 1.0)
    step = _round_step((high - low) / max(1, ticks - 1))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    # Rounded, because 3 * 0.1 is not 0.3 and would be printed in full.
    places = tuple(float(f"{number * step:.12g}") for number in range(first, last + 1))
    if tight:
        return Axis(low, high, start, end, tuple(tick for tick in places if low <= tick <= high))
    return Axis(places[0], places[-1], start, end, places)


def log_axis(low: float, high: float, start: float, end: float) -> Axis:
    """Return a logarithmic axis of positive counts."""
    # Large counts may differ where their logarithms do not.
    if not math.log(high) > math.log(low):
        low, high = low / 4, high * 4
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [10.0**power for power in powers if low <= 10.0**power <= high]
    if len(ticks) < 3:
        finer = (factor * 10.0**power for power in powers for factor in (1, 2, 5))
        ticks = [tick for tick in finer if low <= tick <= high] or [low, high]
    else:
        ticks = ticks[:: math.ceil(len(ticks) / _MAX_LOG_TICKS)]
    return Axis(low, high, start, end, tuple(tick for tick in ticks if tick >= 1), log=True)


def _round_step(least: float) -> float:
    """Return the smallest number of the form 1, 2 or 5 times a power of ten that is at least `least`."""
    steps = (factor * 10.0**power for power in count_up(math.floor(math.log10(least))) for factor in (1, 2, 5))
    return next(step for step in steps if step >= least * (1 - 1e-9))


def drawable(values: Iterable[float | None]) -> list[float]:
    """Keep the values that can be drawn."""
    return [value for value in values if value is not None and abs(value) < _HUGE]


@dataclass(frozen=True)
class Line:
    """A line through points; None or a number that cannot be drawn leaves a gap. `end` is written beside its end.

    A line for reference must not dwarf the others: if it is far above them, it is outside of the plot.
    """

    name: str
    style: str
    points: Sequence[tuple[float, float | None]]
    end: str = ""
    dots: bool = False
    reference: bool = False


#: A number of examples, and the tooltip of the part of a plot nearest to it.
Tip = tuple[float, Sequence[str]]


def svg(width: float, height: float, title: str, description: str, *content: str, class_: str = "") -> Markup:
    """Return an SVG image that scales to the available width."""
    words = (element("title", title), element("desc", description))
    view = f"0 0 {coordinate(width)} {coordinate(height)}"
    return element("svg", *words, *content, viewBox=view, role="img", aria_label=title, class_=f"plot {class_}".strip())


def label(text: str, x: float, y: float, class_: str = "tick", anchor: str | None = None, **more: str) -> Markup:
    """Return a line of text, vertically centred at y by the style sheet."""
    return element("text", text, x=x, y=y, class_=class_ or None, text_anchor=anchor, **more)


def tooltip(*lines: str) -> Markup:
    """Return the tooltip of the element that contains it."""
    return element("title", Markup("\n".join(map(html, lines))))


def x_grid(axis: Axis, top: float, bottom: float, form: Callable[[float], str]) -> Markup:
    """Draw the ticks of a horizontal axis, with grid lines upwards."""
    lines = "".join(f"M{coordinate(axis(tick))} {coordinate(top)}V{coordinate(bottom)}" for tick in axis.ticks)
    labels = (label(form(tick), axis(tick), bottom + 16, anchor="middle") for tick in axis.ticks)
    return join(element("path", d=lines, class_="grid"), *labels)


def y_grid(axis: Axis, left: float, right: float, form: Callable[[float], str]) -> Markup:
    """Draw the ticks of a vertical axis, with grid lines to the right."""
    lines = "".join(f"M{coordinate(left)} {coordinate(axis(tick))}H{coordinate(right)}" for tick in axis.ticks)
    labels = (label(form(tick), left - 7, axis(tick), anchor="end") for tick in axis.ticks)
    return join(element("path", d=lines, class_="grid"), *labels)


def line_plot(
    title: str, description: str, lines: Sequence[Line], tips: Sequence[Tip], form: Callable[[float], str]
) -> Markup | None:
    """Plot lines against the number of examples on a log axis; return None if there is nothing to draw."""
    seen = [x for line in lines if not line.reference for x, y in line.points if drawable([y])]
    if not seen:
        return None
    right = _WIDTH - (72.0 if any(line.end for line in lines) else 14.0)
    bottom = _HEIGHT - _BOTTOM
    x = log_axis(min(seen), max(seen), _LEFT, right)
    y = linear_axis(0.0, _top_of(lines, x), bottom, _TOP, ticks=7)
    content = [
        x_grid(x, _TOP, bottom, abbreviated),
        y_grid(y, _LEFT, right, form),
        label("examples", (_LEFT + right) / 2, _HEIGHT - 9, class_="axis", anchor="middle"),
        _hover_areas(tips, x, bottom),
        _clipped((_path(line, x, y) for line in lines), right, bottom),
        *(_dots(line, x, y, form) for line in lines if line.dots),
        _end_labels(lines, x, y),
    ]
    return svg(_WIDTH, _HEIGHT, title, description, *content, class_="lines")


def _top_of(lines: Sequence[Line], x: Axis) -> float:
    """Return the top of the y axis: extreme rates of the first few examples may leave the plot."""
    middle = (x.low * x.high) ** 0.5
    own = [line for line in lines if not line.reference]
    later = drawable(value for line in own for seen, value in line.points if seen >= middle)
    everything = drawable(value for line in own for _, value in line.points)
    top = min(max(everything), 1.5 * max(later)) if later and max(later) > 0 else max(everything)
    levels = drawable(value for line in lines if line.reference for _, value in line.points)
    return max([top, *(level for level in levels if level <= 2 * top)])


def _path(line: Line, x: Axis, y: Axis) -> Markup:
    steps, begun = [], False
    for seen, value in line.points:
        drawn = drawable([value])
        # Browsers do not accept coordinates of any size; far outside of the plot they do not matter.
        steps += [f"{'L' if begun else 'M'}{coordinate(x(seen))} {coordinate(max(y(v), -_HEIGHT))}" for v in drawn]
        begun = bool(drawn)
    return element("path", d="".join(steps), class_=f"line {line.style}")


def _clipped(paths: Iterable[Markup], right: float, bottom: float) -> Markup:
    """Clip lines to the plot plus half a line width; a nested SVG does it without an id."""
    left, top, width, height = _LEFT - 2, _TOP - 2, right - _LEFT + 4, bottom - _TOP + 4
    view = " ".join(map(coordinate, (left, top, width, height)))
    return element("svg", *paths, x=left, y=top, width=width, height=height, viewBox=view)


def _dots(line: Line, x: Axis, y: Axis, form: Callable[[float], str]) -> Markup:
    dots = [
        element("circle", tooltip(f"{line.name}: {form(v)} after {count(seen)}"), cx=x(seen), cy=y(v), r=2.6)
        for seen, v in line.points
        if v is not None and y.low <= v <= y.high
    ]
    return element("g", *dots, class_=f"dots {line.style}")


def _end_labels(lines: Sequence[Line], x: Axis, y: Axis) -> Markup:
    """Label the ends of the lines, moving labels apart where they would overlap."""
    ends = [(y(min(v, y.high)), line) for line in lines if line.end for v in drawable([line.points[-1][1]])]
    ends.sort(key=lambda end: end[0])
    heights = [height for height, _ in ends]
    for upper, lower in pairwise(range(len(heights))):
        heights[lower] = max(heights[lower], heights[upper] + _LABEL_DISTANCE)
    labels = (
        label(line.end, x.end + 8, height, class_=f"end {line.style}")
        for height, (_, line) in zip(heights, ends, strict=True)
    )
    return join(*labels)


def _hover_areas(tips: Sequence[Tip], x: Axis, bottom: float) -> Markup:
    """Cover the plot by invisible areas, each with the tooltip of the nearest number of examples."""
    centres = [x(seen) for seen, _ in tips]
    edges = [x.start, *((one + other) / 2 for one, other in pairwise(centres)), x.end]
    areas = (
        element("rect", tooltip(*lines), x=left, y=_TOP, width=right - left, height=bottom - _TOP, class_="hit")
        for (_, lines), (left, right) in zip(tips, pairwise(edges), strict=False)
    )
    return join(*areas)
