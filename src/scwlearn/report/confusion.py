"""The confusion matrix: which classes were taken for which."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scwlearn.report.cards import card, numbers, table
from scwlearn.report.drawing import picture, text, tip
from scwlearn.report.markup import Markup, element, place, visible
from scwlearn.report.text import count, percent, rough, shorten, width

#: Up to so many classes are drawn; of more, the classes that were confused most often are listed.
MOST_CLASSES, _WORST = 30, 20
#: Up to so many fit into half of the page.
_FEW = 12
_FONT = 11.5

Matrix = Sequence[Sequence[int]]


def is_square(matrix: Matrix, size: int) -> bool:
    """Whether it is a matrix of so many classes."""
    return size > 0 and len(matrix) == size and all(len(line) == size and min(line) >= 0 for line in matrix)


def confusion_of(matrix: Matrix, classes: Sequence[str]) -> Markup:
    """A heat map, or a table where there are too many classes for one."""
    if len(classes) > MOST_CLASSES:
        return _worst(matrix, classes)
    few = len(classes) <= _FEW
    plot = element("div", _heat_map(matrix, classes, 480.0 if few else 1120.0), class_="scroll")
    names = [visible(label) for label in classes]
    rows = [(name, *map(count, line)) for name, line in zip(names, matrix, strict=True)]
    behind = numbers(("label \\ predicted", *names), rows, words=1)
    says = "How many examples of each class (line) were predicted as which (column), and their share of the line."
    return card("Confusion", says, plot, behind, wide=not few)


def _worst(matrix: Matrix, classes: Sequence[str]) -> Markup:
    pairs = [(n, i, j) for i, line in enumerate(matrix) for j, n in enumerate(line) if i != j and n > 0]
    pairs.sort(key=lambda pair: -pair[0])
    rows = [
        (visible(classes[i]), visible(classes[j]), count(n), percent(n / sum(matrix[i]))) for n, i, j in pairs[:_WORST]
    ]
    says = f"{count(len(classes))} classes are too many for a picture: these were confused most often."
    if not rows:
        says = f"None of the {count(len(classes))} classes was ever taken for another."
    return card("Confusion", says, table(("label", "predicted", "examples", "of its label"), rows, words=2), wide=True)


@dataclass(frozen=True)
class _Grid:
    """Where the cells are."""

    left: float
    top: float
    wide: float
    high: float
    size: int

    @property
    def font(self) -> float:
        """The size of the numbers in the cells."""
        return min(max(self.wide / 4.4, 9.0), 15.0)


def _heat_map(matrix: Matrix, classes: Sequence[str], wide: float) -> Markup:
    names = [shorten(visible(label), 11.0) for label in classes]
    grid, turned = _grid(names, wide)
    cells = [
        _cell(grid, i, j, n, n / sum(line), names) for i, line in enumerate(matrix) for j, n in enumerate(line) if n > 0
    ]
    whole = {"x": grid.left, "y": grid.top, "width": grid.wide * grid.size, "height": grid.high * grid.size}
    drawn = element("g", element("rect", **whole, rx=3, class_="patch"), *cells, font_size=grid.font, class_="cells")
    right = sum(matrix[i][i] for i in range(len(matrix)))
    told = f"{count(right)} of {count(sum(map(sum, matrix)))} examples were predicted rightly."
    kind = "confusion plain" if len(names) <= 4 else "confusion dense" if len(names) <= _FEW else "confusion vast"
    height = grid.top + grid.high * len(names) + 8
    return picture(wide, height, "Confusion matrix", told, *_labels(grid, names, turned), drawn, class_=kind)


def _grid(names: Sequence[str], wide: float) -> tuple[_Grid, bool]:
    """The cells, and whether the names above them have to be turned to fit."""
    longest = _FONT * max(map(width, names))
    left, size = 34 + longest, len(names)
    cell = (wide - left - 8) / size
    turned = longest > cell - 6
    if turned:  # names that lean to the right need room beyond the last column
        cell = (wide - left - 8 - 0.6 * longest) / size
    top = 24 + (0.72 * longest + 10 if turned else 16.0)
    return _Grid(left, top, cell, min(max(0.72 * cell, 26.0), 120.0), size), turned


def _labels(grid: _Grid, names: Sequence[str], turned: bool) -> list[Markup]:
    across, down = grid.left + grid.wide * grid.size / 2, grid.top + grid.high * grid.size / 2
    labels = [text("predicted", across, 8.0, "axis", "middle"), _turned("label", 9.0, down, -90, "axis", "middle")]
    for number, name in enumerate(names):
        x, y = grid.left + grid.wide * (number + 0.5), grid.top + grid.high * (number + 0.5)
        above = _turned(name, x, grid.top - 8, -45) if turned else text(name, x, grid.top - 11, "tick", "middle")
        labels += [above, text(name, grid.left - 8, y, "tick", "end")]
    return labels


def _turned(words: str, x: float, y: float, degrees: int, class_: str = "tick", anchor: str | None = None) -> Markup:
    return text(words, x, y, class_, anchor, transform=f"rotate({degrees} {place(x)} {place(y)})")


def _cell(grid: _Grid, i: int, j: int, n: int, share: float, names: Sequence[str]) -> Markup:
    x, y = grid.left + grid.wide * j, grid.top + grid.high * i
    told = tip(f"{names[i]} predicted as {names[j]}", f"{count(n)}, {percent(share)} of {names[i]}")
    # Few mistakes are what one looks for: the root makes one in a hundred as dark as a tenth.
    dark = math.sqrt(share)
    box = {"x": x + 0.75, "y": y + 0.75, "width": grid.wide - 1.5, "height": grid.high - 1.5}
    patch = element("rect", **box, fill_opacity=dark, class_="right" if i == j else "wrong")
    number = count(n) if grid.font * width(count(n)) < grid.wide - 4 else rough(n)
    part = f"{100 * share:.0f}%" if share >= 0.005 else "<1%"
    x, y = x + grid.wide / 2, y + grid.high / 2
    above = text(number, x, y - 0.52 * grid.font, "")
    below = text(part, x, y + 0.62 * grid.font, "share")
    return element("g", told, patch, above, below, class_="strong" if dark > 0.62 else None)
