"""Numbers, times and names as text."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping
from datetime import datetime

#: Between a number and its unit.
SPACE = "\N{NO-BREAK SPACE}"

#: Format a number with four significant digits, and a loss with four decimals.
four_digits, four_decimals = "{:.4g}".format, "{:.4f}".format

# Control characters, some of which are commands to a terminal, and Unicode's line breaks; as Python escapes them.
_CONTROLS = {code: repr(chr(code))[1:-1] for code in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029)}
_ESCAPES = _CONTROLS | {ord("\\"): "\\\\"}
_CONTROLS_IN_TEXT = {code: text for code, text in _CONTROLS.items() if chr(code) not in "\t\n"}
_SIZES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def count(value: float) -> str:
    """Format a whole number: 32,561."""
    return f"{value:,.0f}" if math.isfinite(value) else str(value)


def plural(value: int, noun: str, several: str = "") -> str:
    """Format a number of things: 1 mistake, 2,000 mistakes, 2 classes."""
    return f"{count(value)} {noun if value == 1 else several or noun + 's'}"


def percent(share: float) -> str:
    """Format a share with two decimals: 14.93 %."""
    hundredths = 100 * share
    return f"{hundredths:{'.1g' if 0 < hundredths < 0.01 else '.2f'}}{SPACE}%"


def short_percent(share: float) -> str:
    """Format a share for a tick: 20 %, 2.5 %."""
    return f"{100 * share:.4g}{SPACE}%"


def number_text(value: float) -> str:
    """Format a number as the shortest text that reads back as the same number."""
    return repr(value).removesuffix(".0")


def one_line(value: object) -> str:
    """Format a label or a name as one line, with control characters and backslashes escaped."""
    return str(value).translate(_ESCAPES)


def without_controls(text: str) -> str:
    """Escape the control characters in lines of text, which may quote data and the names of files."""
    return text.translate(_CONTROLS_IN_TEXT)


def parameter_text(parameters: Mapping[str, float], separator: str = " ") -> str:
    """Format parameters for a table: C=1 eta=0.9."""
    return separator.join(f"{name}={number_text(value)}" for name, value in parameters.items())


def abbreviated(value: float) -> str:
    """Format a number with three significant digits and a letter for thousands, millions and more: 1.23M."""
    for size, letter in _SIZES:
        # 999.6k rounds to 1000k, which is 1M.
        if 0.9995 * size <= abs(value) < math.inf:
            digits = f"{value / size:#.3g}"
            return f"{digits.rstrip('0').rstrip('.') if '.' in digits else digits}{letter}"
    return f"{value:.3g}"


def duration(seconds: float) -> str:
    """Format a duration in seconds, or in hours and minutes if it is long."""
    if not seconds >= 60 or not math.isfinite(seconds):
        return f"{seconds:.3g}{SPACE}s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = ((hours, "h"), (minutes, "min"), (rest if not hours else 0, "s"))
    return " ".join(f"{number}{SPACE}{unit}" for number, unit in parts if number)


def date_time(iso: str) -> str:
    """Format an ISO 8601 time; return any other text unchanged."""
    try:
        when = datetime.fromisoformat(iso)
    except ValueError:
        return iso
    zone = f" {when.tzname()}" if when.tzinfo else ""
    return f"{when.day} {when:%B %Y, %H:%M}{zone}"


def text_width(text: str) -> float:
    """Estimate the width of a text in units of its font size, for DejaVu Sans, the widest of the usual fonts."""
    return sum(_letter_width(letter) for letter in text)


def shorten(text: str, width: float) -> str:
    """Cut a text to a width, with an ellipsis in its middle: names often differ only at their ends."""
    # 0.36 is the narrowest letter, so a longer text cannot fit.
    reach = int(width / 0.36) + 1
    if len(text) <= reach and text_width(text) <= width:
        return text
    front, back = text[:reach], text[-reach:]
    while text_width(front) > 0.6 * width:
        front = front[:-1]
    while back and text_width(front) + 1 + text_width(back) > width:
        back = back[1:]
    return f"{front}…{back}"


def _letter_width(letter: str) -> float:
    if unicodedata.combining(letter):
        return 0.0
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.0
    wide = 0.36 if letter in " .,:;|!'ijl" else 1.0 if letter in "mwMW@%" else 0.86 if letter in "<>=+~" else 0.64
    return max(wide, 0.75) if letter.isupper() else wide
