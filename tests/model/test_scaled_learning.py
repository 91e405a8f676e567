"""Learners on scaled rows: units do not matter, and batches equal single rows."""

import numpy as np
import pytest

from scale_examples import FEATURES, ROWS, examples, state
from scwlearn import Learner
from scwlearn.model.scale import RunningScale

pytestmark = pytest.mark.native


def learned(x, y, rule="scw1", covariance="diagonal"):
    scale, learner = RunningScale(), Learner(rule, covariance=covariance, intercept=True)
    learner.learn(scale.learn(x), y)
    return learner


@pytest.mark.parametrize("covariance", ["diagonal", "full", "identity"])
def test_scaling_by_powers_of_two_changes_no_bit(covariance):
    x, y = examples()
    factors = 2.0 ** np.random.default_rng(1).integers(-300, 300, FEATURES)
    one, other = learned(x, y, covariance=covariance), learned(x * factors, y, covariance=covariance)
    assert one.model.memory.tobytes() == other.model.memory.tobytes()
    assert one.counts == other.counts


@pytest.mark.parametrize("covariance", ["diagonal", "full", "identity"])
def test_scaling_by_other_factors_changes_only_rounding(covariance):
    x, y = examples()
    factors = 10 ** np.random.default_rng(1).uniform(-50, 50, FEATURES)
    one, other = learned(x, y, covariance=covariance), learned(x * factors, y, covariance=covariance)
    np.testing.assert_allclose(one.model.weights(), other.model.weights(), rtol=1e-9, atol=1e-12)
    assert one.counts == other.counts


@pytest.mark.parametrize("covariance", ["diagonal", "diagonal-drop", "identity"])
def test_a_learner_on_scaled_batches_equals_single_rows(covariance):
    x, y = examples()
    together, alone = (Learner("scw1", covariance=covariance, intercept=True) for _ in range(2))
    scale, scale_alone = RunningScale(), RunningScale()
    for part in (slice(0, 11), slice(11, 12), slice(12, ROWS)):
        together.learn(scale.learn(x[part]), y[part])
    for row, label in zip(x, y, strict=True):
        alone.learn(scale_alone.learn(row[None]), [label])
    assert together.model.memory.tobytes() == alone.model.memory.tobytes()
    assert together.counts == alone.counts
    assert state(scale) == state(scale_alone)


def test_the_intercept_is_not_scaled():
    x, y = examples()
    learner = Learner("perceptron", intercept=True)
    learner.learn(RunningScale().learn(x), y)
    # The Perceptron's weight of a constant 1 is a sum of labels.
    assert learner.model.weights()[0, -1].is_integer()
    assert learner.n_features == FEATURES
