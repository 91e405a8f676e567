"""Numbers and names as a person reads them."""

from __future__ import annotations

import math
import unicodedata
from datetime import datetime

#: Between a number and its unit.
SPACE = "\N{NO-BREAK SPACE}"

_SIZES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def count(value: float) -> str:
    """A whole number.

    Examples
    --------
    >>> count(32561)
    '32,561'
    """
    return f"{value:,.0f}" if math.isfinite(value) else str(value)


def some(value: int, what: str) -> str:
    """So many of something.

    Examples
    --------
    >>> some(1, "mistake"), some(2000, "mistake")
    ('1 mistake', '2,000 mistakes')
    """
    return f"{count(value)} {what}{'' if value == 1 else 's'}"


def percent(share: float) -> str:
    """A share of a whole, to a hundredth of a per cent.

    Examples
    --------
    >>> percent(0.1493), percent(1), percent(0.00001)
    ('14.93\xa0%', '100.00\xa0%', '0.001\xa0%')
    """
    hundredths = 100 * share
    return f"{hundredths:{'.1g' if 0 < hundredths < 0.01 else '.2f'}}{SPACE}%"


def short_percent(share: float) -> str:
    """The same as a tick has it.

    Examples
    --------
    >>> short_percent(0.2), short_percent(0.025)
    ('20\xa0%', '2.5\xa0%')
    """
    return f"{100 * share:.4g}{SPACE}%"


def measure(value: float) -> str:
    """Any other number, to four digits."""
    return f"{value:.4g}"


def fixed(value: float) -> str:
    """A loss, to four places."""
    return f"{value:.4f}"


def rough(value: float) -> str:
    """To three digits, with a letter for thousands and more.

    Examples
    --------
    >>> rough(1234567), rough(999), rough(20000)
    ('1.23M', '999', '20k')
    """
    for size, letter in _SIZES:
        # What rounds to 1000 of one size is 1 of the next.
        if 0.9995 * size <= abs(value) < math.inf:
            return f"{_short(f'{value / size:#.3g}')}{letter}"
    return f"{value:.3g}"


def duration(seconds: float) -> str:
    """So many seconds, or minutes and hours where they are many."""
    if not seconds >= 60 or not math.isfinite(seconds):
        return f"{seconds:.3g}{SPACE}s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = ((hours, "h"), (minutes, "min"), (rest if not hours else 0, "s"))
    return " ".join(f"{number}{SPACE}{unit}" for number, unit in parts if number)


def moment(iso: str) -> str:
    """A time as a record has it, in words; as it stands where it is none."""
    try:
        when = datetime.fromisoformat(iso)
    except ValueError:
        return iso
    zone = f" {when.tzname()}" if when.tzinfo else ""
    return f"{when.day} {when:%B %Y, %H:%M}{zone}"


def width(text: str) -> float:
    """About how wide a text is, in units of its font size: as in DejaVu Sans, the widest of the usual fonts."""
    return sum(_letter(letter) for letter in text)


def shorten(text: str, most: float) -> str:
    """A text cut to at most this width, with an ellipsis in place of its middle: both ends of a name tell it apart."""
    # No letter but a combining one is narrower than this, so that no longer text can fit.
    reach = int(most / 0.36) + 1
    if len(text) <= reach and width(text) <= most:
        return text
    front, back = text[:reach], text[-reach:]
    while width(front) > 0.6 * most:
        front = front[:-1]
    while back and width(front) + 1 + width(back) > most:
        back = back[1:]
    return f"{front}…{back}"


def _letter(letter: str) -> float:
    if unicodedata.combining(letter):
        return 0.0
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.0
    wide = 0.36 if letter in " .,:;|!'ijl" else 1.0 if letter in "mwMW@%" else 0.86 if letter in "<>=+~" else 0.64
    return max(wide, 0.75) if letter.isupper() else wide


def _short(number: str) -> str:
    return number.rstrip("0").rstrip(".") if "." in number else number
