"""Panels: a plot or a table with a title, a sentence that explains it, a legend and the numbers behind it."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from scwlearn.display.markup import Markup, element
from scwlearn.display.svg import Line


class WidePanel(Markup):
    """A panel as wide as the page."""

    __slots__ = ()


def panel(title: str, text: str, *content: str, wide: bool = False) -> Markup:
    """Return a panel with a title and an explanation."""
    caption = element("figcaption", element("h3", title), element("p", text) if text else Markup())
    made = element("figure", caption, *content, class_="panel wide" if wide else "panel")
    return WidePanel(made) if wide else made


def legend(lines: Iterable[Line]) -> Markup:
    """Name the lines of a plot."""
    return element("ul", *(element("li", legend_key(line.style), line.name) for line in lines), class_="legend")


def legend_key(style: str) -> Markup:
    """Return a short sample of a line."""
    stroke = element("path", d="M0 5H24", class_=f"line {style}")
    return element("svg", stroke, viewBox="0 0 24 10", width=24, height=10, aria_hidden="true")


def table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], text_columns: Container[int] = (), class_: str = ""
) -> Markup:
    """Return a table that scrolls if it is wide; the columns of these numbers hold text, the others numbers."""

    def row(tag: str, cells: Sequence[str]) -> Markup:
        kinds = ("words" if number in text_columns else None for number in range(len(columns)))
        return element("tr", *(element(tag, cell, class_=kind) for cell, kind in zip(cells, kinds, strict=True)))

    body = element("tbody", *(row("td", cells) for cells in rows))
    whole = element("table", element("thead", row("th", columns)), body, class_=class_ or None)
    return element("div", whole, class_="scroll")


def numbers(columns: Sequence[str], rows: Iterable[Sequence[str]], text_columns: Container[int] = ()) -> Markup:
    """Return the numbers behind a plot as a table that opens on a click."""
    return element("details", element("summary", "Numbers"), table(columns, rows, text_columns))
