"""HTML and SVG elements; text is escaped unless it is markup already."""

from __future__ import annotations

import re
from html import escape

#: Elements without an end tag.
_VOID = frozenset({"img", "meta"})

#: Control characters, lone surrogates, characters that change the direction of text, and characters invalid in XML.
#: Names and labels come from untrusted data.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]")


class Markup(str):
    """Text that is HTML already."""

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
