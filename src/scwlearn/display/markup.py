"""HTML and SVG elements, and panels and tables made of them; text is escaped unless it is markup already."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from html import escape

#: Elements without an end tag.
_VOID = frozenset({"img", "meta"})

#: Control characters, lone surrogates, characters that change the direction of text, and characters invalid in XML.
#: Names and labels come from untrusted data.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]")


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


class WidePanel(Markup):
    """A panel as wide as the page."""

    __slots__ = ()


def visible(text: str) -> str:
    """Replace invisible and direction-changing characters by escapes such as \\u202e."""
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def html(text: str) -> Markup:
    """Escape text for the content of an element or an attribute."""
    return text if isinstance(text, Markup) else Markup(escape(visible(text)))


def rich_text(text: str) -> Markup:
    """Escape text, turning ``**bold**`` and ```code``` into elements."""
    bold = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", html(text))
    return Markup(re.sub(r"`(.+?)`", r"<code>\1</code>", bold))


def join(*parts: str) -> Markup:
    """Concatenate elements and text."""
    return Markup("".join(map(html, parts)))


def element(name: str, /, *children: str, **attributes: str | float | bool | None) -> Markup:
    """Return an element; attributes are spelled as in Python (`class_`, `aria_label`), and None and False are omitted.

    Examples
    --------
    >>> element("p", "1 < 2, ", element("b", "surely"), class_="note")
    '<p class="note">1 &lt; 2, <b>surely</b></p>'
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_attribute(value)}"'
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    return Markup(f"<{name}{given}>") if name in _VOID else Markup(f"<{name}{given}>{join(*children)}</{name}>")


def _attribute(value: str | float) -> str:
    if value is True:
        return ""
    return html(value) if isinstance(value, str) else coordinate(value)


def coordinate(value: float) -> str:
    """Format a coordinate with at most two decimals."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def panel(title: str, text: str, *content: str, wide: bool = False) -> Markup:
    """Return a panel: a plot or a table with a title and an explanation."""
    caption = element("figcaption", element("h3", title), element("p", text) if text else Markup())
    made = element("figure", caption, *content, class_="panel wide" if wide else "panel")
    return WidePanel(made) if wide else made


def legend(lines: Iterable[tuple[str, str]]) -> Markup:
    """Return the legend of a plot from the names and CSS classes of its lines."""
    return element("ul", *(element("li", legend_key(style), name) for name, style in lines), class_="legend")


def legend_key(style: str) -> Markup:
    """Return a short sample of a line."""
    stroke = element("path", d="M0 5H24", class_=f"line {style}")
    return element("svg", stroke, viewBox="0 0 24 10", width=24, height=10, aria_hidden="true")


def table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], text_columns: Container[int] = (), class_: str | None = None
) -> Markup:
    """Return a table that scrolls if it is wide; the columns of these numbers hold text, the others numbers."""

    def row(tag: str, cells: Sequence[str]) -> Markup:
        kinds = ("words" if number in text_columns else None for number in range(len(columns)))
        return element("tr", *(element(tag, cell, class_=kind) for cell, kind in zip(cells, kinds, strict=True)))

    body = element("tbody", *(row("td", cells) for cells in rows))
    return element("div", element("table", element("thead", row("th", columns)), body, class_=class_), class_="scroll")


def numbers(columns: Sequence[str], rows: Iterable[Sequence[str]], text_columns: Container[int] = ()) -> Markup:
    """Return the numbers behind a plot as a table that opens on a click."""
    return element("details", element("summary", "Numbers"), table(columns, rows, text_columns))
