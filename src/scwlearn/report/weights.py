"""The panel of the largest weights of each class, with bars of two standard deviations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scwlearn.data.run_record import TopWeight
from scwlearn.display.formatting import count, four_digits, shorten, text_width
from scwlearn.display.markup import Markup, coordinate, element, numbers, panel, visible
from scwlearn.display.svg import Axis, drawable, label, linear_axis, svg, tooltip, x_grid

#: Limits on what is drawn.
_MAX_CLASSES, _MAX_WEIGHTS = 30, 30
#: The plots of further classes open on a click.
_CLASSES_IN_SIGHT = 6
#: Width and font size of the plot of a single class, which is enlarged on a narrow screen, and of one among several.
_SINGLE, _SMALL = (480.0, 13.0), (370.0, 11.5)
_HEAD, _TOP, _ROW_HEIGHT = 22.0, 6.0, 19.0


def weights_panel(tops: Mapping[str, Sequence[TopWeight]]) -> Markup | None:
    """Return a plot for each class, all on the same scale."""
    drawn = {name: [w for w in top[:_MAX_WEIGHTS] if drawable([w.weight])] for name, top in tops.items()}
    drawn = {name: top for name, top in list(drawn.items())[:_MAX_CLASSES] if top}
    if not drawn:
        return None
    every = [(w.weight, _deviation(w)) for top in drawn.values() for w in top]
    low = min(0.0, *(weight - 2 * (deviation or 0.0) for weight, deviation in every))
    high = max(0.0, *(weight + 2 * (deviation or 0.0) for weight, deviation in every))
    text = "Features in favour of a class are to the right of 0, features against it to the left. "
    known = any(deviation is not None for _, deviation in every)
    text += "Bars: ±2 standard deviations." if known else "This algorithm has no standard deviations."
    if len(drawn) < len(tops):
        text += f" {count(len(drawn))} of {count(len(tops))} classes are shown."
    single = len(drawn) == 1
    plots = [_plot(name, top, (low, high), single) for name, top in drawn.items()]
    if not single:
        shown, rest = plots[:_CLASSES_IN_SIGHT], plots[_CLASSES_IN_SIGHT:]
        plots = [element("div", *shown, class_="multiples")]
        if rest:
            more = element("summary", f"{len(rest)} more classes")
            plots.append(element("details", more, element("div", *rest, class_="multiples"), class_="more"))
    rows = [
        (visible(name), visible(w.name), four_digits(w.weight), "" if w.deviation is None else four_digits(w.deviation))
        for name in drawn
        for w in tops[name][:_MAX_WEIGHTS]
    ]
    details = numbers(("class", "feature", "weight", "standard deviation"), rows, text_columns=range(2))
    return panel("Largest weights", text, *plots, details, wide=not single)


def _deviation(weight: TopWeight) -> float | None:
    """Return the standard deviation; None if it is unknown or cannot be drawn."""
    known = drawable([weight.deviation])
    return known[0] if known and known[0] >= 0 else None


def _plot(name: str, top: Sequence[TopWeight], span: tuple[float, float], single: bool) -> Markup:
    width, font_size = _SINGLE if single else _SMALL
    features = [shorten(visible(weight.name), 0.36 * width / font_size) for weight in top]
    left = 14 + font_size * max(map(text_width, features))
    bottom = _HEAD + _TOP + _ROW_HEIGHT * len(top)
    x = linear_axis(*span, left + 6, width - 20, tight=True)
    rows = (
        _row(weight, feature, _HEAD + _TOP + _ROW_HEIGHT * (number + 0.5), x)
        for number, (weight, feature) in enumerate(zip(top, features, strict=True))
    )
    zero = element("path", d=f"M{coordinate(x(0.0))} {coordinate(_HEAD)}V{coordinate(bottom)}", class_="zero")
    title = f"Largest weights of class {shorten(visible(name), 40)}"
    description = ", ".join(f"{f} {four_digits(weight.weight)}" for f, weight in zip(features, top, strict=True))
    above = label(shorten(visible(name), (width - 20) / 14), 0.0, 8.0, class_="class")
    frame = (above, x_grid(x, _HEAD, bottom, four_digits), zero)
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
