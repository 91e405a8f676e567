"""A grid of results as text, darker cells being better."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from scwlearn.display.formatting import number_text
from scwlearn.runs.tune import CellResult, grid_axes

# From the best to the worst.
_SHADES = "█▓▒░ "


def heat_map(results: Sequence[CellResult], metric: str) -> list[str]:
    """Return the lines of a map over one or two parameters of an algorithm; none if more parameters vary.

    The results are sorted from the best.
    """
    axes = grid_axes(results)
    if not 1 <= len(axes) <= 2:
        return []
    down, *across = axes
    values = {tuple(each.parameters[name] for name in axes): each.value(metric) for each in results}
    best, ordered = next(iter(values)), sorted(values.values())
    columns = [(value,) for value in axes[across[0]]] if across else [()]
    labels = [number_text(value) for value in axes[down]]
    left = max(map(len, [down, *labels])) + 1
    width = max([7, *(len(number_text(value)) for column in columns for value in column)])
    lines = [f"{'error in %' if metric == 'error' else metric} (darker is better, * is the best)"]
    if across:
        lines.append(" " * left + across[0].rjust(width))
    lines.append(
        down.rjust(left - 1) + " " + " ".join(number_text(v).rjust(width) for column in columns for v in column)
    )
    for label, value in zip(labels, axes[down], strict=True):
        cells = []
        for column in columns:
            each = values[value, *column]
            text = f"{100 * each:.2f}" if metric == "error" else f"{each:.3f}"
            # Each shade covers a fifth of the cells, however far the others are from the best.
            shade = _SHADES[len(_SHADES) * bisect_left(ordered, each) // len(ordered)]
            cells.append(f"{text}{'*' if (value, *column) == best else ' '}{shade}".rjust(width))
        lines.append(label.rjust(left - 1) + " " + " ".join(cells))
    return [line.rstrip() for line in lines]
