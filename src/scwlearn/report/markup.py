"""HTML and SVG elements. Text is escaped unless it is an element already, so that nobody can forget it."""

from __future__ import annotations

import re
from html import escape

#: HTML has these without an end.
_VOID = frozenset({"meta"})

#: What no page may hold as it is: control characters, halves of pairs, what turns the direction of the text around it,
#: and what XML does not know. Names and labels come from data that nobody has looked at.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]")


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def visible(text: str) -> str:
    """The same text with what cannot be seen, or would change how the rest is seen, written as an escape."""
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def html(text: str) -> Markup:
    """Text as HTML and XML have it, within an element or an attribute."""
    return text if isinstance(text, Markup) else Markup(escape(visible(text)))


def join(*parts: str) -> Markup:
    """Elements and text, one after the other."""
    return Markup("".join(map(html, parts)))


def element(name: str, /, *children: str, **attributes: str | float | bool | None) -> Markup:
    """An element. Attributes are named as in Python (`class_`, `aria_label`); None and False are left out.

    Examples
    --------
    >>> element("p", "1 < 2, ", element("b", "surely"), class_="note")
    '<p class="note">1 &lt; 2, <b>surely</b></p>'
    """
    given = "".join(
        f' {_attribute_name(key)}="{_attribute(value)}"'
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    return Markup(f"<{name}{given}>") if name in _VOID else Markup(f"<{name}{given}>{join(*children)}</{name}>")


def _attribute_name(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def _attribute(value: str | float) -> str:
    if value is True:
        return ""
    return html(value) if isinstance(value, str) else place(value)


def place(value: float) -> str:
    """A coordinate, to a hundredth."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
