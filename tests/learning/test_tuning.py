"""Tuning: the paper's grid, and the best cell."""

import numpy as np
import pytest

from scwlearn import SCW1, Learner
from scwlearn.datasets import make_synthetic
from scwlearn.learning.tuning import grid, nearest_first, tune
from scwlearn.rules import all_rules


@pytest.mark.parametrize("rule", all_rules(), ids=lambda r: r.name)
def test_every_cell_of_the_papers_grid_is_allowed(rule):
    cells = grid(rule)
    assert len(cells) == np.prod([len(p.grid) or 1 for p in rule.parameters])
    for cell in cells:
        assert rule.check(cell) == cell


def test_tuning_finds_the_cell_with_the_fewest_mistakes():
    x, y = make_synthetic(500, label_noise=0.1)
    best = tune("arow", x, y, covariance="full", intercept=False)
    mistakes = {c["r"]: Learner("arow", covariance="full", **c).learn(x, y).mistakes for c in grid("arow")}
    assert mistakes[best["r"]] == min(mistakes.values())


def test_ties_go_to_the_default():
    # A single example: no cell can be better than another.
    assert tune("scw1", [[1.0, 2.0]], ["spam"]) == {"C": 0.5, "eta": 0.75}
    assert tune("arow", [[1.0, 2.0]], ["spam"]) == {"r": 1.0}


def test_ties_without_the_default_go_to_the_nearest_cell():
    cells = [{"C": C, "kind": kind} for C in (4.0, 1.0, 2.0) for kind in ("a", "b", "c")]
    places = nearest_first(cells, {"C": 1.5, "kind": "b"})
    # 1.5 lies between 1 and 2.
    assert [cells[place] for place in places[:2]] == [{"C": 2.0, "kind": "b"}, {"C": 1.0, "kind": "b"}]
    assert cells[places[-1]] == {"C": 4.0, "kind": "a"}
    # A word that is not in the grid is as far from the first of it as a step.
    assert cells[nearest_first(cells, {"C": 4.0, "kind": "d"})[0]] == {"C": 4.0, "kind": "a"}


@pytest.mark.parametrize("settings", [{}, {"class_weight": "balanced"}, {"scale": "standard"}, {"intercept": False}])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_tuning_counts_the_mistakes_of_the_estimator(n_classes, settings):
    random = np.random.default_rng(0)
    x = random.standard_normal((300, 4)) * [1.0, 5.0, 1.0, 0.1] + 1
    y = np.array(["ham", "spam", "news"])[np.digitize(x[:, 0] + x[:, 1] / 5 - 2, [0.0, 1.5][: n_classes - 1])]
    order = random.permutation(300)
    best = tune("scw1", x, y, order=order, **settings)
    named = {("fit_intercept" if name == "intercept" else name): value for name, value in settings.items()}
    models = [SCW1(shuffle=False, **named, **cell).fit(x[order], y[order]) for cell in grid("scw1")]
    fewest = min(model.n_mistakes_ for model in models)
    assert best in [{"C": model.C, "eta": model.eta} for model in models if model.n_mistakes_ == fewest]


def test_weights_of_rows_count():
    random = np.random.default_rng(1)
    x = random.standard_normal((200, 3))
    y = np.where(x[:, 0] + random.standard_normal(200) > 0, "yes", "no")
    weights = random.integers(0, 2, 200).astype(float)
    assert tune("arow", x, y, weights=weights) == tune("arow", x[weights > 0], y[weights > 0])


def test_labels_must_match_the_rows():
    with pytest.raises(ValueError, match=r"y must hold 2 labels, one for each row, got 1$"):
        tune("arow", [[1.0], [2.0]], [1])
