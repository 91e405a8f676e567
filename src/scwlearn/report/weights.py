"""The panel of the largest weights of each class, with bars of two standard deviations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from scwlearn.display.formatting import count, four_digits, shorten, text_width
from scwlearn.display.markup import Markup, coordinate, element, visible
from scwlearn.display.panels import numbers, panel
from scwlearn.display.svg import Axis, drawable, label, linear_axis, svg, tooltip, x_grid
from scwlearn.runs.record import TopWeight

#: Limits on what is drawn.
_MAX_CLASSES, _MAX_WEIGHTS = 30, 30
#: The plots of further classes open on a click.
_CLASSES_IN_SIGHT = 6
#: The plot of a single class has larger text, because it is enlarged on a narrow screen.
_FONT_SIZE, _SINGLE_FONT_SIZE, _ROW_HEIGHT, _TOP = 11.5, 13.0, 19.0, 6.0
#: Width of the plot of a single class, and of one among several.
_SINGLE_WIDTH, _WIDTH = 480.0, 370.0


def weights_panel(tops: Mapping[str, Sequence[TopWeight]]) -> Markup | None:
    """Return a plot for each class, all on the same scale."""
    drawn = {name: [w for w in top[:_MAX_WEIGHTS] if drawable([w.weight])] for name, top in tops.items()}
    drawn = {name: top for name, top in list(drawn.items())[:_MAX_CLASSES] if top}
    if not drawn:
        return None
    single = len(drawn) == 1
    span = _span(weight for top in drawn.values() for weight in top)
    plots = [_plot(name, top, span, _SINGLE_WIDTH if single else _WIDTH) for name, top in drawn.items()]
    rows = [
        (
            visible(name),
            visible(w.name),
            four_digits(w.weight),
            "" if w.deviation is None else four_digits(w.deviation),
        )
        for name, top in tops.items()
        if name in drawn
        for w in top[:_MAX_WEIGHTS]
    ]
    details = numbers(("class", "feature", "weight", "standard deviation"), rows, text_columns=range(2))
    return panel("Largest weights", _text(tops, drawn), *_arranged(plots), details, wide=not single)


def _text(tops: Mapping[str, Sequence[TopWeight]], drawn: Mapping[str, Sequence[TopWeight]]) -> str:
    known = any(_deviation(weight) is not None for top in drawn.values() for weight in top)
    text = "Features in favour of a class are to the right of 0, features against it to the left. "
    text += "Bars: ±2 standard deviations." if known else "This algorithm has no standard deviations."
    if len(drawn) < len(tops):
        text += f" {count(len(drawn))} of {count(len(tops))} classes are shown."
    return text


def _arranged(plots: Sequence[Markup]) -> list[Markup]:
    if len(plots) == 1:
        return [*plots]
    shown = [element("div", *plots[:_CLASSES_IN_SIGHT], class_="multiples")]
    if rest := plots[_CLASSES_IN_SIGHT:]:
        more = element("summary", f"{len(rest)} more classes")
        shown.append(element("details", more, element("div", *rest, class_="multiples"), class_="more"))
    return shown


def _deviation(weight: TopWeight) -> float | None:
    """Return the standard deviation; None if it is unknown or cannot be drawn."""
    known = drawable([weight.deviation])
    return known[0] if known and known[0] >= 0 else None


def _span(weights: Iterable[TopWeight]) -> tuple[float, float]:
    ends = [0.0]
    for weight in weights:
        reach = 2 * (_deviation(weight) or 0.0)
        ends += [weight.weight - reach, weight.weight + reach]
    return min(ends), max(ends)


def _plot(name: str, top: Sequence[TopWeight], span: tuple[float, float], width: float) -> Markup:
    single = width == _SINGLE_WIDTH
    font_size = _SINGLE_FONT_SIZE if single else _FONT_SIZE
    features = [shorten(visible(weight.name), 0.36 * width / font_size) for weight in top]
    left = 14 + font_size * max(map(text_width, features))
    head = 22.0
    bottom = head + _TOP + _ROW_HEIGHT * len(top)
    x = linear_axis(*span, left + 6, width - 20, tight=True)
    rows = (
        _row(weight, feature, head + _TOP + _ROW_HEIGHT * (number + 0.5), x)
        for number, (weight, feature) in enumerate(zip(top, features, strict=True))
    )
    zero = element("path", d=f"M{coordinate(x(0.0))} {coordinate(head)}V{coordinate(bottom)}", class_="zero")
    title = f"Largest weights of class {shorten(visible(name), 40)}"
    description = ", ".join(f"{f} {four_digits(weight.weight)}" for f, weight in zip(features, top, strict=True))
    above = label(shorten(visible(name), (width - 20) / 14), 0.0, 8.0, class_="class")
    frame = (above, x_grid(x, head, bottom, four_digits), zero)
    kind = "weights alone" if single else "weights"
    return svg(width, bottom + 28, title, description, *frame, *rows, class_=kind)


def _row(weight: TopWeight, feature: str, y: float, x: Axis) -> Markup:
    deviation = _deviation(weight)
    value = four_digits(weight.weight)
    marks = []
    if deviation is not None:
        low, high = x(weight.weight - 2 * deviation), x(weight.weight + 2 * deviation)
        marks.append(element("path", d=f"M{coordinate(low)} {coordinate(y)}H{coordinate(high)}", class_="spread"))
        value += f" ± {four_digits(2 * deviation)}"
    marks.append(element("circle", cx=x(weight.weight), cy=y, r=3.6))
    text = label(feature, x.start - 14, y, class_="name", anchor="end")
    area = element("rect", x=0, y=y - _ROW_HEIGHT / 2, width=x.end + 6, height=_ROW_HEIGHT, class_="hit")
    colour = "c0" if weight.weight >= 0 else "c1"
    tip = tooltip(shorten(visible(weight.name), 60), value)
    return element("g", tip, area, text, *marks, class_=f"weight dots {colour}")
