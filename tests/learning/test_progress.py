"""Progressive validation, tuning and the synthetic sets."""

from itertools import pairwise

import numpy as np
import pytest

from scwlearn import Learner, progressive_validation
from scwlearn.datasets import make_synthetic
from scwlearn.learning.tuning import grid, tune
from scwlearn.rules import all_rules


def test_the_last_report_is_what_one_pass_gives():
    x, y = make_synthetic(700, label_noise=0.1)
    reports = list(progressive_validation(Learner("scw1"), x, y, checkpoints=7))
    assert [r.counts.seen for r in reports] == list(range(100, 701, 100))
    assert reports[-1].counts == Learner("scw1").learn(x, y)
    assert reports[-1].mistake_rate == reports[-1].counts.mistakes / 700
    for earlier, later in pairwise(reports):
        assert earlier.counts.mistakes <= later.counts.mistakes
        assert earlier.seconds < later.seconds


def test_more_checkpoints_than_rows_report_each_row():
    x, y = make_synthetic(5)
    assert [r.counts.seen for r in progressive_validation(Learner(), x, y, checkpoints=50)] == [1, 2, 3, 4, 5]


def test_a_bad_row_is_refused_before_the_first_report():
    x, y = make_synthetic(50)
    x[-1, 0] = np.nan
    learner = Learner()
    with pytest.raises(ValueError, match=r"X\[49, 0\]"):
        progressive_validation(learner, x, y, checkpoints=10)
    with pytest.raises(ValueError, match=r"y\[48\] = 7"):
        progressive_validation(learner, x[:49], np.append(y[:48], 7), checkpoints=10)
    with pytest.raises(ValueError, match="checkpoints must be at least 1, got 0"):
        progressive_validation(learner, x[:10], y[:10], checkpoints=0)
    with pytest.raises(ValueError, match="one a row of X"):
        progressive_validation(learner, x[:10], y[:9])
    assert learner.model is None


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


def test_the_synthetic_labels_depend_on_the_short_axis_and_are_flipped_as_asked():
    x, clean = make_synthetic(20000, seed=3)
    across = x[:, 1] - x[:, 0]
    assert np.array_equal(clean, np.where(across >= 0, 1, -1))
    assert (x[:, :2] @ [1, 1] / np.sqrt(2)).std() == pytest.approx(10, rel=0.05)
    assert across.std() / np.sqrt(2) == pytest.approx(1, rel=0.05)
    _, noisy = make_synthetic(20000, label_noise=0.1, seed=3)
    assert np.mean(noisy != clean) == pytest.approx(0.1, abs=0.01)
    with pytest.raises(ValueError, match="label_noise must be between 0 and 1, got 2"):
        make_synthetic(label_noise=2)
