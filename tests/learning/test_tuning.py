"""Tuning: the paper's grid, and the best cell."""

import numpy as np
import pytest

from scwlearn import Learner
from scwlearn.datasets import make_synthetic
from scwlearn.learning.tuning import grid, tune
from scwlearn.rules import all_rules


@pytest.mark.parametrize("rule", all_rules(), ids=lambda r: r.name)
def test_every_cell_of_the_papers_grid_is_allowed(rule):
    cells = grid(rule)
    assert len(cells) == np.prod([len(p.grid) or 1 for p in rule.parameters])
    for cell in cells:
        assert rule.check(cell) == cell


def test_tuning_finds_the_cell_with_the_fewest_mistakes():
    x, y = make_synthetic(500, label_noise=0.1)
    best = tune("arow", x, y, covariance="full")
    mistakes = {c["r"]: Learner("arow", covariance="full", **c).learn(x, y).mistakes for c in grid("arow")}
    fewest = min(mistakes.values())
    assert best["r"] == max(r for r, made in mistakes.items() if made == fewest)
