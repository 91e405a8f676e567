"""Multi-class learners on long, collinear, badly scaled streams."""

import numpy as np
import pytest

from learner_examples import FORMS, every_form, in_order_of_appearance
from multi_class_full_examples import assert_close, sigmas, taught
from scwlearn import Learner

pytestmark = pytest.mark.native


STREAMS = {
    "scw1, scale 1e4, noise 1e-8": ("scw1", 1e4, 1e-8),
    "scw1, scale 1e8, noise 1e-3": ("scw1", 1e8, 1e-3),
    "arow, scale 1e8, noise 1e-3": ("arow", 1e8, 1e-3),
}


LONG = 30_000


def hostile(scale, noise):
    rng = np.random.default_rng(0)
    common, own = rng.normal(size=LONG), rng.normal(size=(LONG, 10))
    directions = rng.normal(size=(10, 3))
    y = (common[:, None] * [-1, 0, 1] + own @ directions / np.linalg.norm(directions, axis=0)).argmax(axis=1)
    wrong = rng.random(LONG) < 0.1
    y[wrong] = rng.integers(0, 3, wrong.sum())
    return scale * (common[:, None] + noise * own), y


@pytest.mark.parametrize("name", STREAMS)
@every_form
@pytest.mark.parametrize("block", [1, 64])
def test_sigma_stays_positive_and_learning_continues_on_hostile_streams(name, form, block, use_class_block):
    use_class_block(block)
    rule, scale, noise = STREAMS[name]
    x, y = hostile(scale, noise)
    learner = Learner(rule, covariance="full", n_classes=3, **FORMS[form])
    parts = [learner.learn(x[part], y[part]) for part in np.split(np.arange(LONG), 6)]
    directions = np.random.default_rng(1).normal(size=(1000, 10))
    directions[:500] -= directions[:500].mean(axis=1, keepdims=True)
    assert (learner.margin_variances(x) > 0).all()
    assert (learner.margin_variances(directions) > 0).all()
    for matrix in sigmas(learner):
        assert np.array_equal(matrix, matrix.T)
        eigenvalues = np.linalg.eigvalsh(matrix)
        # An eigenvalue below the rounding of the largest comes out with either sign; directions tell more.
        assert eigenvalues[0] > -1e-15 * eigenvalues[-1]
    assert np.isfinite(learner.model.weights()).all()
    mistakes = [part.mistakes / part.seen for part in parts]
    assert mistakes[-1] < 0.6
    assert mistakes[-1] <= mistakes[0] + 0.02
    # Labels are often wrong, whatever has been learned: there is always a loss to learn from.
    assert all(part.updates > 0.1 * part.seen for part in parts)


@pytest.mark.parametrize("form", ["joint", "shared"])
def test_blocks_are_as_exact_as_rows_on_a_nearly_singular_sigma(form, use_class_block):
    x, y = hostile(1e8, 1e-3)
    x, y = x[:2000], y[:2000]
    use_class_block(1)
    by_row, _ = taught("arow", form, x, in_order_of_appearance(y))
    use_class_block(64)
    blocks, _ = taught("arow", form, x, in_order_of_appearance(y))
    assert blocks.counts == by_row.counts
    np.testing.assert_allclose(blocks.margin_variances(x), by_row.margin_variances(x), rtol=1e-6)
    assert_close(blocks.scores(x), by_row.scores(x), 1e-6)
