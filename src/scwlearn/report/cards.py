"""Cards and tables: a plot or a table with its title, what it shows in a sentence, its legend and its numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from scwlearn.report.drawing import Line
from scwlearn.report.markup import Markup, element


class Wide(Markup):
    """A card that is as wide as the page."""

    __slots__ = ()


def card(title: str, says: str, *content: str, wide: bool = False) -> Markup:
    """A plot or a table on the page."""
    caption = element("figcaption", element("h3", title), element("p", says) if says else Markup())
    made = element("figure", caption, *content, class_="card wide" if wide else "card")
    return Wide(made) if wide else made


def legend(lines: Iterable[Line]) -> Markup:
    """What each line is."""
    return element("ul", *(element("li", key(line.look), line.name) for line in lines), class_="legend")


def key(look: str) -> Markup:
    """How a line looks."""
    stroke = element("path", d="M0 5H24", class_=f"line {look}")
    return element("svg", stroke, viewBox="0 0 24 10", width=24, height=10, aria_hidden="true")


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], words: int = 0, class_: str = "") -> Markup:
    """A table; the first so many columns hold words, the others numbers. It may be wider than the page."""

    def cell(name: str, number: int, content: str) -> Markup:
        return element(name, content, class_="words" if number < words else None)

    head = element("tr", *(cell("th", number, name) for number, name in enumerate(heads)))
    body = (element("tr", *(cell("td", number, each) for number, each in enumerate(row))) for row in rows)
    whole = element("table", element("thead", head), element("tbody", *body), class_=class_ or None)
    return element("div", whole, class_="scroll")


def numbers(heads: Sequence[str], rows: Iterable[Sequence[str]], words: int = 0) -> Markup:
    """The numbers behind a plot, shown when they are asked for."""
    return element("details", element("summary", "Numbers"), table(heads, rows, words))
