"""All comparisons, in the order of the table."""

from __future__ import annotations

from speed import classes, commands, files, fit, full, grid, imports, kernel, records, scoring, single
from speed.harness import COMPARISONS, Comparison

#: Importing a module registers its comparisons.
MODULES = (fit, classes, single, files, commands, records, full, kernel, grid, scoring, imports)


def comparisons(only: list[str] | None = None) -> list[Comparison]:
    """Return the comparisons whose names start with one of `only`, by default all."""
    order = [module.__name__ for module in MODULES]
    found = [entry for entry in COMPARISONS if selected(entry.name, only)]
    return sorted(found, key=lambda entry: order.index(entry.prepare.__module__))


def selected(name: str, only: list[str] | None) -> bool:
    """Return whether a name starts with one of `only`."""
    return only is None or any(name.startswith(start) for start in only)
