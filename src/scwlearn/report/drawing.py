"""Pictures: an SVG with its words for those who cannot see it, axes with a grid, and lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from scwlearn.report.axes import Axis, finite, linear, logarithmic
from scwlearn.report.markup import Markup, element, html, join, place
from scwlearn.report.text import count, rough

#: Of a plot with lines. The text is small beside it on purpose: on a narrow screen the page enlarges it.
WIDTH, HEIGHT = 480.0, 268.0
_LEFT, _TOP, _BOTTOM = 54.0, 12.0, 44.0
#: How far apart labels at the ends of lines are at least.
_APART = 15.0
#: More points than this make a line by themselves.
_MOST_DOTS = 60


@dataclass(frozen=True)
class Line:
    """A line through places; None, or what is no number, leaves a gap. What its end says is written beside it."""

    name: str
    look: str
    places: Sequence[tuple[float, float | None]]
    end: str = ""
    dots: bool = False


@dataclass(frozen=True)
class Band:
    """What a reader who points at the part of a plot around so many examples is told."""

    seen: float
    lines: Sequence[str]


def picture(width: float, height: float, title: str, description: str, *content: str, class_: str = "") -> Markup:
    """An SVG that fills the width it is given."""
    words = (element("title", title), element("desc", description))
    view = f"0 0 {place(width)} {place(height)}"
    return element("svg", *words, *content, viewBox=view, role="img", aria_label=title, class_=f"plot {class_}".strip())


def text(words: str, x: float, y: float, class_: str = "tick", anchor: str | None = None, **more: str) -> Markup:
    """A line of text; the style sheet puts the middle of its height at y."""
    return element("text", words, x=x, y=y, class_=class_ or None, text_anchor=anchor, **more)


def grid_below(axis: Axis, top: float, bottom: float, form: Callable[[float], str]) -> Markup:
    """The ticks of a horizontal axis, with a fine line up from each."""
    lines = "".join(f"M{place(axis(tick))} {place(top)}V{place(bottom)}" for tick in axis.ticks)
    labels = (text(form(tick), axis(tick), bottom + 16, anchor="middle") for tick in axis.ticks)
    return join(element("path", d=lines, class_="grid"), *labels)


def grid_beside(axis: Axis, left: float, right: float, form: Callable[[float], str]) -> Markup:
    """The ticks of a vertical axis, with a fine line from each to the right."""
    lines = "".join(f"M{place(left)} {place(axis(tick))}H{place(right)}" for tick in axis.ticks)
    labels = (text(form(tick), left - 7, axis(tick), anchor="end") for tick in axis.ticks)
    return join(element("path", d=lines, class_="grid"), *labels)


def line_plot(
    title: str, description: str, lines: Sequence[Line], bands: Sequence[Band], form: Callable[[float], str]
) -> Markup | None:
    """Lines over the number of examples, which has a log axis; None where there is nothing to draw."""
    seen = [x for line in lines for x, y in line.places if finite([y])]
    if not seen:
        return None
    right = WIDTH - (72.0 if any(line.end for line in lines) else 14.0)
    bottom = HEIGHT - _BOTTOM
    across = logarithmic(min(seen), max(seen), _LEFT, right)
    up = linear(0.0, _top(lines, across), bottom, _TOP, most=7)
    content = [
        grid_below(across, _TOP, bottom, rough),
        grid_beside(up, _LEFT, right, form),
        text("examples", (_LEFT + right) / 2, HEIGHT - 9, class_="axis", anchor="middle"),
        _hits(bands, across, bottom),
        _within((_path(line, across, up) for line in lines), right, bottom),
        *(_dots(line, across, up, form) for line in lines if line.dots),
        _ends(lines, across, up),
    ]
    return picture(WIDTH, HEIGHT, title, description, *content, class_="lines")


def _top(lines: Sequence[Line], across: Axis) -> float:
    """What the axis must reach: the first few examples, of which all or none may be mistakes, are not to flatten the
    rest of the line; what is above leaves the picture."""
    middle = (across.low * across.high) ** 0.5
    later = finite(y for line in lines for x, y in line.places if x >= middle)
    everything = finite(y for line in lines for _, y in line.places)
    return min(max(everything), 1.5 * max(later)) if later and max(later) > 0 else max(everything)


def _path(line: Line, across: Axis, up: Axis) -> Markup:
    steps, begun = [], False
    for x, y in line.places:
        drawn = finite([y])
        # Far outside of the picture all places are the same, and browsers do not know numbers of any size.
        steps += [f"{'L' if begun else 'M'}{place(across(x))} {place(max(up(value), -HEIGHT))}" for value in drawn]
        begun = bool(drawn)
    return element("path", d="".join(steps), class_=f"line {line.look}")


def _within(paths: Iterable[Markup], right: float, bottom: float) -> Markup:
    """Lines cut off where the plot ends, but for half of their width: an SVG within the SVG does it without a name."""
    left, top, wide, high = _LEFT - 2, _TOP - 2, right - _LEFT + 4, bottom - _TOP + 4
    view = " ".join(map(place, (left, top, wide, high)))
    return element("svg", *paths, x=left, y=top, width=wide, height=high, viewBox=view)


def _dots(line: Line, across: Axis, up: Axis, form: Callable[[float], str]) -> Markup:
    dots = [
        element("circle", tip(f"{line.name}: {form(y)} after {count(x)}"), cx=across(x), cy=up(y), r=2.6)
        for x, y in line.places
        if y is not None and up.holds(y)
    ]
    return element("g", *dots, class_=f"dots {line.look}") if len(dots) <= _MOST_DOTS else Markup()


def _ends(lines: Sequence[Line], across: Axis, up: Axis) -> Markup:
    """What is said at the ends of lines, moved apart where they would meet."""
    ends = [(up(min(y, up.high)), line) for line in lines if line.end for y in finite([line.places[-1][1]])]
    ends.sort(key=lambda end: end[0])
    heights = [height for height, _ in ends]
    for upper, lower in pairwise(range(len(heights))):
        heights[lower] = max(heights[lower], heights[upper] + _APART)
    labels = (
        text(line.end, across.end + 8, height, class_=f"end {line.look}")
        for height, (_, line) in zip(heights, ends, strict=True)
    )
    return join(*labels)


def _hits(bands: Sequence[Band], across: Axis, bottom: float) -> Markup:
    """The parts of the plot that are nearest to each number of examples, to be pointed at."""
    centres = [across(band.seen) for band in bands]
    between = [(one + other) / 2 for one, other in pairwise(centres)]
    edges = [across.start, *between, across.end]
    hits = (
        element("rect", tip(*band.lines), x=left, y=_TOP, width=right - left, height=bottom - _TOP, class_="hit")
        for band, (left, right) in zip(bands, pairwise(edges), strict=False)
    )
    return join(*hits)


def tip(*lines: str) -> Markup:
    """What is told to a reader who points at an element that holds this."""
    return element("title", Markup("\n".join(map(html, lines))))
