"""The largest weights of a model, by class, each with a bar of two standard deviations either way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from scwlearn.report.axes import Axis, finite, linear
from scwlearn.report.cards import card, numbers
from scwlearn.report.drawing import grid_below, picture, text, tip
from scwlearn.report.markup import Markup, element, place, visible
from scwlearn.report.text import count, measure, shorten, width
from scwlearn.runs.record import TopWeight

#: More classes, or weights of a class, than this are not drawn: nobody would look at them.
_MOST_CLASSES, _MOST_WEIGHTS = 30, 30
#: So many classes are in sight at once.
_IN_SIGHT = 6
#: One alone is enlarged on a narrow screen.
_FONT, _FONT_ALONE, _ROW, _TOP = 11.5, 13.0, 19.0, 6.0
#: How wide the plot of one class is, and one beside others.
_ALONE, _BESIDE = 480.0, 370.0


def weights_of(tops: Mapping[str, Sequence[TopWeight]]) -> Markup | None:
    """A plot for each class, all with the same axis."""
    drawn = {label: _drawable(top) for label, top in tops.items()}
    drawn = {label: top for label, top in list(drawn.items())[:_MOST_CLASSES] if top}
    if not drawn:
        return None
    alone = len(drawn) == 1
    span = _span(weight for top in drawn.values() for weight in top)
    wide = _ALONE if alone else _BESIDE
    plots = [_plot(label, top, span, wide) for label, top in drawn.items()]
    rows = [
        (visible(label), visible(w.name), measure(w.weight), "" if w.deviation is None else measure(w.deviation))
        for label, top in tops.items()
        if label in drawn
        for w in top[:_MOST_WEIGHTS]
    ]
    behind = numbers(("class", "feature", "weight", "deviation"), rows, words=2)
    return card("Largest weights", _says(tops, drawn), *_arranged(plots), behind, wide=not alone)


def _drawable(top: Sequence[TopWeight]) -> list[TopWeight]:
    return [weight for weight in top[:_MOST_WEIGHTS] if finite([weight.weight])]


def _says(tops: Mapping[str, Sequence[TopWeight]], drawn: Mapping[str, Sequence[TopWeight]]) -> str:
    known = any(_deviation(weight) is not None for top in drawn.values() for weight in top)
    says = "What speaks for a class is to the right of 0, what speaks against it to the left. "
    says += "Bars: ±2 standard deviations." if known else "The algorithm knows no deviations: there are no bars."
    if len(drawn) < len(tops):
        says += f" {count(len(drawn))} of {count(len(tops))} classes are shown."
    return says


def _arranged(plots: Sequence[Markup]) -> list[Markup]:
    """Those in sight, and the rest to be opened."""
    if len(plots) == 1:
        return [*plots]
    shown = [element("div", *plots[:_IN_SIGHT], class_="multiples")]
    if rest := plots[_IN_SIGHT:]:
        more = element("summary", f"{len(rest)} more classes")
        shown.append(element("details", more, element("div", *rest, class_="multiples"), class_="more"))
    return shown


def _deviation(weight: TopWeight) -> float | None:
    """None where there is none, or where it is nothing that a bar could show."""
    known = finite([weight.deviation])
    return known[0] if known and known[0] >= 0 else None


def _span(weights: Iterable[TopWeight]) -> tuple[float, float]:
    ends = [0.0]
    for weight in weights:
        spread = 2 * (_deviation(weight) or 0.0)
        ends += [weight.weight - spread, weight.weight + spread]
    return min(ends), max(ends)


def _plot(label: str, top: Sequence[TopWeight], span: tuple[float, float], wide: float) -> Markup:
    font = _FONT_ALONE if wide == _ALONE else _FONT
    names = [shorten(visible(weight.name), 0.36 * wide / font) for weight in top]
    left = 14 + font * max(width(name) for name in names)
    head = 22.0
    bottom = head + _TOP + _ROW * len(top)
    across = linear(*span, left + 6, wide - 20, most=6, tight=True)
    rows = (
        _row(weight, name, head + _TOP + _ROW * (number + 0.5), across)
        for number, (weight, name) in enumerate(zip(top, names, strict=True))
    )
    zero = element("path", d=f"M{place(across(0.0))} {place(head)}V{place(bottom)}", class_="zero")
    title = f"Largest weights of class {shorten(visible(label), 40)}"
    told = ", ".join(f"{name} {measure(weight.weight)}" for name, weight in zip(names, top, strict=True))
    above = text(shorten(visible(label), (wide - 20) / 14), 0.0, 8.0, class_="class")
    frame = (above, grid_below(across, head, bottom, measure), zero)
    return picture(
        wide, bottom + 28, title, told, *frame, *rows, class_="weights alone" if wide == _ALONE else "weights"
    )


def _row(weight: TopWeight, name: str, y: float, across: Axis) -> Markup:
    deviation = _deviation(weight)
    look = "c0" if weight.weight >= 0 else "c1"
    told = measure(weight.weight)
    marks = []
    if deviation is not None:
        low, high = across(weight.weight - 2 * deviation), across(weight.weight + 2 * deviation)
        marks.append(element("path", d=f"M{place(low)} {place(y)}H{place(high)}", class_="spread"))
        told += f" ± {measure(2 * deviation)}"
    marks.append(element("circle", cx=across(weight.weight), cy=y, r=3.6))
    words = text(name, across.start - 14, y, class_="name", anchor="end")
    hit = element("rect", x=0, y=y - _ROW / 2, width=across.end + 6, height=_ROW, class_="hit")
    return element("g", tip(shorten(visible(weight.name), 60), told), hit, words, *marks, class_=f"weight dots {look}")
