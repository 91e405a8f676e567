"""Matplotlib figures in the project's style, written as SVG and PNG files."""

from __future__ import annotations

import io
from contextlib import AbstractContextManager
from pathlib import Path

import matplotlib.style
from matplotlib.figure import Figure

from scwlearn._util.atomic import write_atomically
from scwlearn.display.theme import FONT, GRID, SOFT


def picture_style() -> AbstractContextManager[None]:
    """Apply the project's style, so that a user's Matplotlib settings cannot change a picture."""
    settings = {
        "font.family": FONT,
        "font.size": 9.5,
        "axes.titlesize": 10.5,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.edgecolor": SOFT,
        "axes.axisbelow": True,
        "grid.color": GRID,
        "grid.linewidth": 0.7,
        "xtick.color": SOFT,
        "ytick.color": SOFT,
        "svg.fonttype": "path",  # letters as outlines: the reader needs no font
        "svg.hashsalt": "scwlearn",
    }
    return matplotlib.style.context(["default", settings])


def write_picture(figure: Figure, path: Path) -> None:
    """Write a figure atomically, as SVG or PNG according to the suffix of `path`."""
    content = io.BytesIO()
    # No date and no version: the file changes only if the picture does.
    if path.suffix.lower() == ".svg":
        figure.savefig(content, format="svg", metadata={"Date": None, "Creator": None})
    else:
        figure.savefig(content, format="png", dpi=160, metadata={"Software": None})
    write_atomically(path, content.getvalue())


def write_both(figure: Figure, path: Path) -> Path:
    """Write a figure as `path`.svg and `path`.png, creating the directory; return the path of the SVG."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for suffix in (".png", ".svg"):
        write_picture(figure, written := path.with_name(path.name + suffix))
    return written


def picture_title(figure: Figure, title: str, subtitle: str) -> None:
    """Write a title and a line below it in the top left corner."""
    height = figure.get_figheight()
    figure.text(0.01, 1 - 0.26 / height, plain_text(title), fontsize=13, fontweight="bold")
    figure.text(0.01, 1 - 0.48 / height, plain_text(subtitle), color=SOFT)


def plain_text(text: str) -> str:
    """Return a text that may have names of files for Matplotlib: no formulas, and an escape for what has no letter."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text).replace("$", r"\$")
