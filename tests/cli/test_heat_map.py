"""The heat map of a grid as text."""

from scwlearn.cli.heat_map import heat_map
from scwlearn.learning.counters import Counts
from scwlearn.rules import find_rule
from scwlearn.runs.tune import Cell, CellResult, best_first, grid_cells


def results(values, rule="scw1"):
    axes = {"C": [0.1, 1.0], "eta": [0.6, 0.7, 0.9]} if rule == "scw1" else {"r": [1.0, 2.0]}
    cells = grid_cells([find_rule(rule)], axes)
    return [CellResult(cell, Counts(1000, m, m)) for cell, m in zip(cells, values, strict=True)]


def test_the_map_is_darker_for_better_cells():
    lines = heat_map(best_first(results([100, 90, 80, 70, 60, 50])), "error")
    assert lines[3:] == ["0.1 10.00    9.00 ░  8.00 ▒", "  1  7.00 ▓  6.00 █  5.00*█"]


def test_the_map_of_one_parameter_is_a_column_and_of_none_is_empty():
    assert heat_map(best_first(results([5, 4], "arow")), "error")[1:] == ["r", "1  0.50 ▒", "2  0.40*█"]
    assert heat_map([CellResult(Cell(find_rule("pa"), {}), Counts(9, 1, 1))], "error") == []
