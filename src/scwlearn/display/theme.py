"""Colours, fonts and line styles of every page and picture."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from scwlearn.rules import Rule, all_rules, find_rule

#: Colours of a page as (light, dark); pictures use the light ones. c0 to c6 are the lines of several runs in one plot:
#: tests/display/test_theme.py checks that they are distinct under any colour vision and stand out from the page.
COLOURS = {
    "paper": ("#f5f6f8", "#0e1013"),
    "panel": ("#ffffff", "#16191e"),
    "ink": ("#16191d", "#e8eaed"),
    "soft": ("#5a626d", "#9aa3af"),
    "line": ("#e1e4e9", "#2a2f37"),
    "grid": ("#e9ebef", "#262b32"),
    "patch": ("#f3f4f6", "#1e2228"),
    "focus": ("#0b57d0", "#6b93ff"),
    "on-dark": ("#ffffff", "#0e1013"),
    "c0": ("#0b57d0", "#6b93ff"),
    "c1": ("#b03404", "#e8714a"),
    "c2": ("#0a7f50", "#5fe8a4"),
    "c3": ("#94429f", "#a45fb5"),
    "c4": ("#bb880a", "#ffc737"),
    "c5": ("#3392e6", "#def6ff"),
    "c6": ("#4d4459", "#9a9aa0"),
}
LINE_COLOURS = sum(name[1:].isdecimal() for name in COLOURS)
LINE_DASHES = 3
#: Secondary text, marks behind the data, and grid lines of a picture.
SOFT, FAINT, GRID = COLOURS["soft"][0], "#bbbbbb", COLOURS["line"][0]
#: The font that comes with Matplotlib, so that a picture is the same everywhere.
FONT = "DejaVu Sans"

#: Dash patterns of a picture, in line widths.
DASHES: dict[str, Any] = {
    "solid": "-",
    "dashed": (0, (4.5, 2)),
    "dotted": (0, (1.2, 1.4)),
    "dash-dot": (0, (5, 1.5, 1.2, 1.5)),
    "dash-dot-dot": (0, (6, 1.4, 1.2, 1.4, 1.2, 1.4)),
}
_TOP_LAYER = 6
_STROKE_MARKERS = "+x12"


def line_class(number: int) -> str:
    """Return the CSS classes of the line of a run among several."""
    return f"c{number % LINE_COLOURS} d{number // LINE_COLOURS % LINE_DASHES}"


@dataclass(frozen=True)
class AlgorithmStyle:
    """Line, marker and band of an algorithm in every picture."""

    colour: str
    dash: str
    marker: str
    width: float = 1.5
    band: float = 0.07
    layer: int = 4
    hollow: bool = False

    @property
    def highlighted(self) -> bool:
        """Whether it is one of the paper's own algorithms."""
        return self.layer == _TOP_LAYER

    @property
    def font_weight(self) -> str:
        """The weight of the algorithm's name."""
        return "bold" if self.highlighted else "normal"

    def line(self) -> dict[str, Any]:
        """Return the arguments of Axes.plot for a line with markers."""
        return {"linestyle": DASHES[self.dash], "linewidth": self.width, **self.point(5.0 + self.width / 2)}

    def point(self, size: float) -> dict[str, Any]:
        """Return the arguments of Axes.plot for the marker alone, to be used with linestyle="none"."""
        # A white rim separates overlapping markers; markers made of strokes cannot have one.
        rim = not self.hollow and self.marker not in _STROKE_MARKERS
        return {
            "color": self.colour,
            "marker": self.marker,
            "markersize": size * (1.5 if self.marker == "*" else 1.0),  # a star covers little of its square
            "markerfacecolor": "white" if self.hollow else self.colour,
            "markeredgecolor": "white" if rim else self.colour,
            "markeredgewidth": 0.05 * size if rim else 0.16 * size,
            "zorder": self.layer,
        }


def _first_order(colour: str, dash: str, marker: str) -> AlgorithmStyle:
    return AlgorithmStyle(colour, dash, marker, width=1.1, band=0.04, layer=3, hollow=marker in "<>")


def _scw(colour: str, marker: str) -> AlgorithmStyle:
    return AlgorithmStyle(colour, "solid", marker, width=2.8, band=0.12, layer=_TOP_LAYER)


# The colours maximise the smallest difference under normal and three kinds of deficient colour vision;
# tests/display/test_theme.py holds the bound.
_ALGORITHMS = {
    "perceptron": _first_order("#a2a8af", "dashed", "+"),
    "romma": _first_order("#dba854", "dashed", "<"),
    "aggressive_romma": _first_order("#a372d0", "dashed", ">"),
    "pa": _first_order("#598da9", "dotted", "x"),
    "pa1": _first_order("#83bc7e", "dotted", "1"),
    "pa2": _first_order("#ab7a78", "dotted", "2"),
    "second_order_perceptron": AlgorithmStyle("#30beee", "solid", "X"),
    "cw": AlgorithmStyle("#0b56ff", "solid", "^"),
    "arow": AlgorithmStyle("#d58e08", "solid", "D"),
    "iellip": AlgorithmStyle("#8052c1", "solid", "P"),
    "narow": AlgorithmStyle("#268e4e", "solid", "v"),
    "nherd": AlgorithmStyle("#e1439a", "solid", "*"),
    "scw1": _scw("#c1001f", "o"),
    "scw2": _scw("#000000", "s"),
}

# User-defined rules cycle through these. Their dash is unique, so the colours only have to differ from one another.
_USER_COLOURS = ("#0b9c9e", "#635b1e", "#e09a78", "#5550b5", "#9eb500")
_USER_MARKERS = "hpd8"
_user_rules: dict[str, int] = {}


def algorithm_style(rule: Rule) -> AlgorithmStyle:
    """Return the style of an algorithm, the same whatever else is drawn."""
    if rule.variant_of:
        own = algorithm_style(find_rule(rule.variant_of))
        return replace(own, dash="dash-dot", hollow=True, width=1.5, band=0.05, layer=5)
    return _ALGORITHMS.get(rule.name) or _user_style(rule)


def _user_style(rule: Rule) -> AlgorithmStyle:
    # Every declared rule is numbered at once and keeps its number, whichever is drawn first.
    for each in (*all_rules(), rule):
        if each.name not in _ALGORITHMS:
            _user_rules.setdefault(each.name, len(_user_rules))
    number = _user_rules[rule.name]
    colour = _USER_COLOURS[number % len(_USER_COLOURS)]
    marker = _USER_MARKERS[number % len(_USER_MARKERS)]
    return AlgorithmStyle(colour, "dash-dot-dot", marker, width=1.8 if rule.order == 2 else 1.3, layer=5)
