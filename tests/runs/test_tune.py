"""Grids: cells, ties, and the best of them."""

import pytest

from scwlearn.learning.counters import Counts
from scwlearn.rules import find_rule
from scwlearn.runs.config import ModelConfig
from scwlearn.runs.tune import CellResult, best_first, grid_axes, grid_cells


def results(values, rule="scw1"):
    axes = {"C": [0.1, 1.0], "eta": [0.6, 0.7, 0.9]} if rule == "scw1" else {"r": [1.0, 2.0]}
    cells = grid_cells([find_rule(rule)], axes)
    return [CellResult(cell, Counts(1000, m, m)) for cell, m in zip(cells, values, strict=True)]


def test_ties_go_to_the_cell_nearest_to_the_default():
    # The default, C=0.5 and eta=0.75, lies between the cells.
    found = best_first(results([5, 3, 3, 3, 4, 9]))
    assert [dict(each.parameters) for each in found[:3]] == [
        {"C": 0.1, "eta": 0.9},
        {"C": 0.1, "eta": 0.7},
        {"C": 1.0, "eta": 0.6},
    ]
    assert dict(best_first(results([3, 3], "arow"))[0].parameters) == {"r": 1.0}


def test_ties_between_algorithms_go_to_the_first():
    one, other = ModelConfig(find_rule("pa"), {}), ModelConfig(find_rule("arow"), {"r": 1.0})
    found = best_first([CellResult(one, Counts(9, 3, 3)), CellResult(other, Counts(9, 3, 3))])
    assert [each.cell.rule.name for each in found] == ["pa", "arow"]


def test_axes_are_the_parameters_that_vary():
    assert grid_axes(results([5, 3, 3, 3, 4, 9])) == {"C": [0.1, 1.0], "eta": [0.6, 0.7, 0.9]}
    assert grid_axes(results([5, 3, 3, 3, 4, 9])[:1]) == {}


def test_a_parameter_that_no_algorithm_has_is_rejected():
    with pytest.raises(
        ValueError, match="scw1 has no parameter 'r'; its parameters: C, eta; pa has no parameter 'r'; its"
    ):
        grid_cells([find_rule("scw1"), find_rule("pa")], {"r": [1.0]})


def test_the_log_loss_needs_probabilities():
    with pytest.raises(ValueError, match="needs probabilities"):
        results([5, 4], "arow")[0].value("log-loss")
