"""The panel of the confusion matrix."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scwlearn.data.run_record import Record
from scwlearn.display.formatting import abbreviated, count, percent, shorten, text_width
from scwlearn.display.markup import Markup, coordinate, element, numbers, panel, table, visible
from scwlearn.display.svg import label, svg, tooltip

#: With more classes, the most frequent confusions are listed instead of a matrix.
_MAX_CLASSES, _LISTED_PAIRS = 30, 20
#: Matrices with more classes take the width of the page.
_MAX_NARROW_CLASSES = 12
_FONT_SIZE = 11.5

Matrix = Sequence[Sequence[int]]


def confusion_panel(record: Record) -> Markup | None:
    """Return a heat map, or a list of the most frequent confusions; None if there is no valid matrix."""
    matrix, names = record.confusion, [visible(str(name)) for name in record.classes]
    size = len(names)
    if not matrix or len(matrix) != size or any(len(row) != size or min(row) < 0 for row in matrix):
        return None
    if size > _MAX_CLASSES:
        return _worst_pairs(matrix, names)
    narrow = size <= _MAX_NARROW_CLASSES
    plot = element("div", _heat_map(matrix, names, 480.0 if narrow else 1120.0), class_="scroll")
    rows = [(name, *map(count, row)) for name, row in zip(names, matrix, strict=True)]
    text = "Number of examples by true class (row) and predicted class (column), and their share of the row."
    details = numbers(("label \\ predicted", *names), rows, text_columns=range(1))
    return panel("Confusion", text, plot, details, wide=not narrow)


def _worst_pairs(matrix: Matrix, names: Sequence[str]) -> Markup:
    pairs = [(n, i, j) for i, row in enumerate(matrix) for j, n in enumerate(row) if i != j and n > 0]
    pairs.sort(key=lambda pair: -pair[0])
    rows = [(names[i], names[j], count(n), percent(n / sum(matrix[i]))) for n, i, j in pairs[:_LISTED_PAIRS]]
    text = f"The most frequent confusions among {count(len(names))} classes."
    if not rows:
        text = f"No confusion among {count(len(names))} classes."
    columns = ("label", "predicted", "examples", "share of the label")
    return panel("Confusion", text, table(columns, rows, text_columns=range(2)), wide=True)


@dataclass(frozen=True)
class _Grid:
    """Position and size of the cells, and whether the column names have to be slanted to fit."""

    left: float
    top: float
    width: float
    height: float
    slanted: bool

    @property
    def font_size(self) -> float:
        return min(max(self.width / 4.4, 9.0), 15.0)


def _layout(names: Sequence[str], width: float) -> _Grid:
    longest = _FONT_SIZE * max(map(text_width, names))
    left, size = 34 + longest, len(names)
    cell = (width - left - 8) / size
    slanted = longest > cell - 6
    if slanted:  # slanted names extend beyond the last column
        cell = (width - left - 8 - 0.6 * longest) / size
    top = 24 + (0.72 * longest + 10 if slanted else 16.0)
    return _Grid(left, top, cell, min(max(0.72 * cell, 26.0), 120.0), slanted)


def _heat_map(matrix: Matrix, names: Sequence[str], width: float) -> Markup:
    names = [shorten(name, 11.0) for name in names]
    grid = _layout(names, width)
    across, down = grid.width * len(names), grid.height * len(names)
    background = element("rect", x=grid.left, y=grid.top, width=across, height=down, rx=3, class_="patch")
    cells = [
        _cell(grid, i, j, n, n / sum(row), names) for i, row in enumerate(matrix) for j, n in enumerate(row) if n > 0
    ]
    labels = [
        label("predicted", grid.left + across / 2, 8.0, "axis", "middle"),
        _rotated("label", 9.0, grid.top + down / 2, -90, "axis", "middle"),
    ]
    for number, name in enumerate(names):
        x, y = grid.left + grid.width * (number + 0.5), grid.top + grid.height * (number + 0.5)
        labels.append(
            _rotated(name, x, grid.top - 8, -45) if grid.slanted else label(name, x, grid.top - 11, "tick", "middle")
        )
        labels.append(label(name, grid.left - 8, y, "tick", "end"))
    drawn = element("g", background, *cells, font_size=grid.font_size, class_="cells")
    correct = sum(matrix[i][i] for i in range(len(matrix)))
    description = f"{count(correct)} of {count(sum(map(sum, matrix)))} examples were predicted correctly."
    kind = "plain" if len(names) <= 4 else "dense" if len(names) <= _MAX_NARROW_CLASSES else "vast"
    size = (width, grid.top + down + 8)
    return svg(*size, "Confusion matrix", description, *labels, drawn, class_=f"confusion {kind}")


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
