"""A grid as text: how each cell did, the better the darker."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from scwlearn.cli.messages import number_text
from scwlearn.runs.grids import Outcome, axes_of

# From the best to the worst.
_SHADES = "█▓▒░ "


def heat_map(outcomes: Sequence[Outcome], metric: str) -> list[str]:
    """The lines of a map over one or two parameters of an algorithm; none where others vary.

    The outcomes come from the best on.
    """
    axes = axes_of(outcomes)
    if not 1 <= len(axes) <= 2:
        return []
    down, *across = axes
    values = {tuple(o.cell.parameters[name] for name in axes): o.value(metric) for o in outcomes}
    best = tuple(outcomes[0].cell.parameters[name] for name in axes)
    shades = _shades(values.values())
    columns = [(value,) for value in axes[across[0]]] if across else [()]
    labels = [number_text(value) for value in axes[down]]
    # As wide as the widest that stands in it.
    left = max(map(len, [down, *labels])) + 1
    widest = max([7, *(len(number_text(value)) for column in columns for value in column)])
    lines = [f"{'error in %' if metric == 'error' else metric}, the darker the better, * the best"]
    if across:
        lines.append(" " * left + across[0].rjust(widest))
    lines.append(
        down.rjust(left - 1) + " " + " ".join(number_text(v).rjust(widest) for column in columns for v in column)
    )
    for label, value in zip(labels, axes[down], strict=True):
        cells = []
        for column in columns:
            each = values[(value, *column)]
            text = f"{100 * each:.2f}" if metric == "error" else f"{each:.3f}"
            cells.append(f"{text}{'*' if (value, *column) == best else ' '}{shades[each]}".rjust(widest))
        lines.append(label.rjust(left - 1) + " " + " ".join(cells))
    return [line.rstrip() for line in lines]


def _shades(values: Iterable[float]) -> dict[float, str]:
    """The shade of each value: a fifth of the cells has each, however far the others are from the best."""
    ordered = sorted(values)
    return {value: _SHADES[len(_SHADES) * bisect_left(ordered, value) // len(ordered)] for value in ordered}
