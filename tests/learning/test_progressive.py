"""Progressive validation: checkpoints, reports and learning curves."""

from itertools import islice, pairwise

import numpy as np
import pytest

from scwlearn import Learner, progressive_validation
from scwlearn.datasets import make_synthetic
from scwlearn.learning.counters import Counts
from scwlearn.learning.progressive import ProgressiveValidation, curve_steps, is_curve_step


def test_the_last_report_has_the_counts_of_one_pass():
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


def test_invalid_rows_are_rejected_before_the_first_report():
    x, y = make_synthetic(50)
    x[-1, 0] = np.nan
    learner = Learner()
    with pytest.raises(ValueError, match=r"X\[49, 0\]"):
        progressive_validation(learner, x, y, checkpoints=10)
    with pytest.raises(ValueError, match=r"y\[48\] = 7"):
        progressive_validation(learner, x[:49], np.append(y[:48], 7), checkpoints=10)
    with pytest.raises(ValueError, match="checkpoints must be at least 1, got 0"):
        progressive_validation(learner, x[:10], y[:10], checkpoints=0)
    with pytest.raises(ValueError, match="one per row of X"):
        progressive_validation(learner, x[:10], y[:9])
    assert learner.model is None


def test_curve_steps_are_all_powers_of_two_and_ever_further_apart():
    steps = [*islice(curve_steps(), 120)]
    assert steps[:10] == [1, 2, 4, 8, 16, 32, 64, 98, 128, 165]
    assert {2**k for k in range(16)} <= set(steps)
    assert all(b / a < 1.1 for a, b in pairwise(steps[30:]))
    assert [n for n in range(1, 170) if is_curve_step(n)] == steps[:10]


@pytest.mark.parametrize("sizes", [(10,), (3, 7), (1,) * 10])
def test_slices_end_at_checkpoints_whatever_the_batches(sizes):
    validation = ProgressiveValidation([2, 5, 9])

    def learn(start, stop):
        return Counts(seen=stop - start)

    assert [counts.seen for size in sizes for counts in validation.learn(size, learn)] == [2, 5, 9]
    assert validation.counts.seen == 10


def test_examples_without_weight_are_not_counted():
    def learn(start, stop):
        return Counts(seen=sum(place % 2 == 0 for place in range(start, stop)))

    assert [counts.seen for counts in ProgressiveValidation([2, 4]).learn(8, learn)] == [2, 4]
