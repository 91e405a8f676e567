"""How each algorithm looks, the same in every picture, and how a picture is written."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import matplotlib.style
from matplotlib.figure import Figure

from scwlearn.rules import Rule, all_rules, find_rule

#: Groups of lines that are told apart at a glance, with the strokes and gaps of each in line widths.
DASHES: dict[str, Any] = {
    "solid": "-",
    "dashed": (0, (4.5, 2)),
    "dotted": (0, (1.2, 1.4)),
    "dash-dot": (0, (5, 1.5, 1.2, 1.5)),
    "dash-dot-dot": (0, (6, 1.4, 1.2, 1.4, 1.2, 1.4)),
}

_TOP = 6
_STROKES = "+x12"


@dataclass(frozen=True)
class ProgressiveScores:
    """The looks of an algorithm: a line, its marker, and how strong the band around it is."""

    colour: str
    dash: str
    marker: str
    width: float = 1.5
    band: float = 0.07
    layer: int = 4
    hollow: bool = False

    @property
    def stands_out(self) -> bool:
        """Whether it is one that the paper is about."""
        return self.layer == _TOP

    def line(self) -> dict[str, Any]:
        """What Axes.plot takes."""
        return {"linestyle": DASHES[self.dash], "linewidth": self.width, **self.point(5.0 + self.width / 2)}

    def point(self, size: float) -> dict[str, Any]:
        """What Axes.plot takes for the marker alone, with linestyle="none"."""
        # A white rim keeps a marker apart from the one that it covers; those made of strokes have no inside.
        rim = not self.hollow and self.marker not in _STROKES
        return {
            "color": self.colour,
            "marker": self.marker,
            "markersize": size * (1.5 if self.marker == "*" else 1.0),  # a star fills little of its square
            "markerfacecolor": "white" if self.hollow else self.colour,
            "markeredgecolor": "white" if rim else self.colour,
            "markeredgewidth": 0.05 * size if rim else 0.16 * size,
            "zorder": self.layer,
        }


def _first(colour: str, dash: str, marker: str) -> ProgressiveScores:
    return ProgressiveScores(colour, dash, marker, width=1.1, band=0.04, layer=3, hollow=marker in "<>")


def _scw(colour: str, marker: str) -> ProgressiveScores:
    return ProgressiveScores(colour, "solid", marker, width=2.8, band=0.12, layer=_TOP)


# The paper's algorithms have their looks by hand. The colours were searched for the largest smallest difference
# under normal and three kinds of deficient colour vision; tests/test_figures.py holds how large it must be.
_LOOKS = {
    "perceptron": _first("#a2a8af", "dashed", "+"),
    "romma": _first("#dba854", "dashed", "<"),
    "aggressive_romma": _first("#a372d0", "dashed", ">"),
    "pa": _first("#598da9", "dotted", "x"),
    "pa1": _first("#83bc7e", "dotted", "1"),
    "pa2": _first("#ab7a78", "dotted", "2"),
    "second_order_perceptron": ProgressiveScores("#30beee", "solid", "X"),
    "cw": ProgressiveScores("#0b56ff", "solid", "^"),
    "arow": ProgressiveScores("#d58e08", "solid", "D"),
    "iellip": ProgressiveScores("#8052c1", "solid", "P"),
    "narow": ProgressiveScores("#268e4e", "solid", "v"),
    "nherd": ProgressiveScores("#e1439a", "solid", "*"),
    "scw1": _scw("#c1001f", "o"),
    "scw2": _scw("#000000", "s"),
}

# Other rules take these in turn. Their dash is theirs alone, so that the colours need only differ from one another.
_GUEST_COLOURS = ("#0b9c9e", "#635b1e", "#e09a78", "#5550b5", "#9eb500")
_GUEST_MARKERS = "hpd8"
_guests: dict[str, int] = {}


def look_of(rule: Rule) -> ProgressiveScores:
    """The looks of an algorithm, whichever others are drawn beside it."""
    if rule.variant_of:
        return replace(look_of(find_rule(rule.variant_of)), dash="dash-dot", hollow=True, width=1.5, band=0.05, layer=5)
    return _LOOKS.get(rule.name) or _guest(rule)


def _guest(rule: Rule) -> ProgressiveScores:
    # All that are declared take their places at once, so that a place does not depend on who is drawn first, and
    # keep them when more are declared.
    for each in (*all_rules(), rule):
        if each.name not in _LOOKS:
            _guests.setdefault(each.name, len(_guests))
    place = _guests[rule.name]
    colour = _GUEST_COLOURS[place % len(_GUEST_COLOURS)]
    marker = _GUEST_MARKERS[place % len(_GUEST_MARKERS)]
    return ProgressiveScores(colour, "dash-dot-dot", marker, width=1.8 if rule.order == 2 else 1.3, layer=5)


def house() -> AbstractContextManager[None]:
    """Draw within this: the reader's own matplotlib settings change nothing, and the same data give the same bytes."""
    settings = {
        "font.family": "DejaVu Sans",  # comes with matplotlib
        "font.size": 9.5,
        "axes.titlesize": 10.5,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.edgecolor": "#666666",
        "axes.axisbelow": True,
        "grid.color": "#e4e4e4",
        "grid.linewidth": 0.7,
        "xtick.color": "#444444",
        "ytick.color": "#444444",
        "svg.fonttype": "path",  # letters as outlines: no font is needed where the picture is shown
        "svg.hashsalt": "scwlearn",
    }
    return matplotlib.style.context(["default", settings])


def save(figure: Figure, path: Path) -> list[Path]:
    """Write the picture as `path`.svg and `path`.png."""
    path.parent.mkdir(parents=True, exist_ok=True)
    svg, png = (path.with_name(path.name + suffix) for suffix in (".svg", ".png"))
    picture(figure, svg, "svg")
    picture(figure, png, "png")
    return [svg, png]


def picture(figure: Figure, file: Path | BinaryIO, kind: str) -> None:
    """Write the picture to a file as "svg" or "png"."""
    # Neither a date nor the version of matplotlib, so that a picture changes only with what it shows.
    if kind == "svg":
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    else:
        figure.savefig(file, format="png", dpi=160, metadata={"Software": None})
