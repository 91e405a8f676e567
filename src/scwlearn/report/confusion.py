"""The panel of the confusion matrix."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scwlearn.display.formatting import abbreviated, count, percent, shorten, text_width
from scwlearn.display.markup import Markup, coordinate, element, visible
from scwlearn.display.panels import numbers, panel, table
from scwlearn.display.svg import label, svg, tooltip

#: With more classes, the most frequent confusions are listed instead of a matrix.
MAX_CLASSES, _LISTED_PAIRS = 30, 20
#: Matrices with more classes take the width of the page.
_MAX_NARROW_CLASSES = 12
_FONT_SIZE = 11.5

Matrix = Sequence[Sequence[int]]


def is_valid_matrix(matrix: Matrix, size: int) -> bool:
    """Whether it is a square matrix of that size without negative numbers."""
    return size > 0 and len(matrix) == size and all(len(row) == size and min(row) >= 0 for row in matrix)


def confusion_panel(matrix: Matrix, classes: Sequence[str]) -> Markup:
    """Return a heat map, or a list of the most frequent confusions if there are too many classes."""
    if len(classes) > MAX_CLASSES:
        return _worst_pairs(matrix, classes)
    narrow = len(classes) <= _MAX_NARROW_CLASSES
    plot = element("div", _heat_map(matrix, classes, 480.0 if narrow else 1120.0), class_="scroll")
    names = [visible(name) for name in classes]
    rows = [(name, *map(count, row)) for name, row in zip(names, matrix, strict=True)]
    text = "Number of examples by true class (row) and predicted class (column), and their share of the row."
    details = numbers(("label \\ predicted", *names), rows, text_columns=range(1))
    return panel("Confusion", text, plot, details, wide=not narrow)


def _worst_pairs(matrix: Matrix, classes: Sequence[str]) -> Markup:
    pairs = [(n, i, j) for i, row in enumerate(matrix) for j, n in enumerate(row) if i != j and n > 0]
    pairs.sort(key=lambda pair: -pair[0])
    rows = [
        (visible(classes[i]), visible(classes[j]), count(n), percent(n / sum(matrix[i])))
        for n, i, j in pairs[:_LISTED_PAIRS]
    ]
    text = f"The most frequent confusions among {count(len(classes))} classes."
    if not rows:
        text = f"No confusion among {count(len(classes))} classes."
    columns = ("label", "predicted", "examples", "share of the label")
    return panel("Confusion", text, table(columns, rows, text_columns=range(2)), wide=True)


@dataclass(frozen=True)
class _Grid:
    """Position and size of the cells."""

    left: float
    top: float
    width: float
    height: float
    size: int

    @property
    def font_size(self) -> float:
        return min(max(self.width / 4.4, 9.0), 15.0)


def _heat_map(matrix: Matrix, classes: Sequence[str], width: float) -> Markup:
    names = [shorten(visible(name), 11.0) for name in classes]
    grid, slanted = _layout(names, width)
    cells = [
        _cell(grid, i, j, n, n / sum(row), names) for i, row in enumerate(matrix) for j, n in enumerate(row) if n > 0
    ]
    frame = {"x": grid.left, "y": grid.top, "width": grid.width * grid.size, "height": grid.height * grid.size}
    background = element("rect", **frame, rx=3, class_="patch")
    drawn = element("g", background, *cells, font_size=grid.font_size, class_="cells")
    correct = sum(matrix[i][i] for i in range(len(matrix)))
    description = f"{count(correct)} of {count(sum(map(sum, matrix)))} examples were predicted correctly."
    kind = "plain" if len(names) <= 4 else "dense" if len(names) <= _MAX_NARROW_CLASSES else "vast"
    height = grid.top + grid.height * len(names) + 8
    content = (*_labels(grid, names, slanted), drawn)
    return svg(width, height, "Confusion matrix", description, *content, class_=f"confusion {kind}")


def _layout(names: Sequence[str], width: float) -> tuple[_Grid, bool]:
    """Return the cells, and whether the column names have to be slanted to fit."""
    longest = _FONT_SIZE * max(map(text_width, names))
    left, size = 34 + longest, len(names)
    cell = (width - left - 8) / size
    slanted = longest > cell - 6
    if slanted:  # slanted names extend beyond the last column
        cell = (width - left - 8 - 0.6 * longest) / size
    top = 24 + (0.72 * longest + 10 if slanted else 16.0)
    return _Grid(left, top, cell, min(max(0.72 * cell, 26.0), 120.0), size), slanted


def _labels(grid: _Grid, names: Sequence[str], slanted: bool) -> list[Markup]:
    across, down = grid.left + grid.width * grid.size / 2, grid.top + grid.height * grid.size / 2
    labels = [label("predicted", across, 8.0, "axis", "middle"), _rotated("label", 9.0, down, -90, "axis", "middle")]
    for number, name in enumerate(names):
        x, y = grid.left + grid.width * (number + 0.5), grid.top + grid.height * (number + 0.5)
        above = _rotated(name, x, grid.top - 8, -45) if slanted else label(name, x, grid.top - 11, "tick", "middle")
        labels += [above, label(name, grid.left - 8, y, "tick", "end")]
    return labels


def _rotated(text: str, x: float, y: float, degrees: int, class_: str = "tick", anchor: str | None = None) -> Markup:
    return label(text, x, y, class_, anchor, transform=f"rotate({degrees} {coordinate(x)} {coordinate(y)})")


def _cell(grid: _Grid, i: int, j: int, n: int, share: float, names: Sequence[str]) -> Markup:
    x, y = grid.left + grid.width * j, grid.top + grid.height * i
    tip = tooltip(f"{names[i]} predicted as {names[j]}", f"{count(n)}, {percent(share)} of {names[i]}")
    # The square root makes rare mistakes visible: 1 % is drawn a tenth as dark as 100 %.
    opacity = math.sqrt(share)
    box = {"x": x + 0.75, "y": y + 0.75, "width": grid.width - 1.5, "height": grid.height - 1.5}
    patch = element("rect", **box, fill_opacity=opacity, class_="right" if i == j else "wrong")
    number = count(n) if grid.font_size * text_width(count(n)) < grid.width - 4 else abbreviated(n)
    part = f"{100 * share:.0f}%" if share >= 0.005 else "<1%"
    x, y = x + grid.width / 2, y + grid.height / 2
    above = label(number, x, y - 0.52 * grid.font_size, "")
    below = label(part, x, y + 0.62 * grid.font_size, "share")
    return element("g", tip, patch, above, below, class_="strong" if opacity > 0.62 else None)
