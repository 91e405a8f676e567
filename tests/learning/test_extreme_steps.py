"""Steps at the ends of what floats hold: no NaN and no infinity gets into a model, which goes on learning."""

import warnings

import numpy as np
import pytest

from scwlearn import Learner, StreamClassifier
from scwlearn.model.gaussian import GROWTH, SPREAD_SCALE
from scwlearn.rules import HOLD, Rule, Step

pytestmark = pytest.mark.native

COVARIANCES = ["full", "diagonal", "diagonal-drop", "identity"]
FORMS = {
    "binary": {},
    "joint": {"n_classes": 3},
    "shared": {"n_classes": 3, "shared_covariance": True},
    "ovr": {"n_classes": 3, "multi_class": "ovr"},
}


def own_rule(step):
    return Rule(step, step.__name__, "", step.__name__.title(), 2, (), True, True, False, "2026")


def shrinks_and_stretches(m, v, norm2, t):
    return Step(1 / v if m < 1 else -1 / v, 0.5 / v, shrink=1e149 if t % 2 else -1e-30)


def grows(m, v, t):
    return Step(1 / v if m < 1 else -1 / v, 0.5 / v, grow=1e40)


def forgets_the_prior(m, v, t):
    return Step(1 / v if m < 1 else -1 / v, 0.5 / v, grow=1e-40)


def takes_steps_of_all_lengths(m, v, t):
    return Step(10.0 ** (100 * (t % 8) - 400), 10.0 ** (70 * (t % 9) - 280))


def draw(form, rows, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 5)) * 10.0 ** rng.uniform(-3, 3, size=(rows, 1))
    x[rng.random(x.shape) < 0.3] = 0
    return x, rng.choice([-1, 1], rows) if form == "binary" else rng.integers(0, 3, rows)


def check_finite(model):
    assert np.isfinite(model.memory).all()
    assert np.isfinite(model.scalars).all()
    assert (model.scalars[:, [SPREAD_SCALE, GROWTH]] > 0).all()
    model.covariance.check(model.memory, model.size)
    if model.average is not None:
        assert np.isfinite(model.average.lag).all()
        assert np.isfinite(model.average.state).all()


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize(
    "step", [shrinks_and_stretches, grows, forgets_the_prior, takes_steps_of_all_lengths], ids=lambda f: f.__name__
)
def test_no_rule_brings_an_infinity_into_a_model(step, covariance, form, average):
    learner = Learner(own_rule(step), covariance=covariance, average=average, **FORMS[form])
    for seed in range(4):
        learner.learn(*draw(form, 100, seed))
        check_finite(learner.model)
    assert learner.counts.updates > 0


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_a_tiny_row_after_sigma_has_grown_leaves_the_mean_finite(covariance):
    # alpha times the scale of Sigma overflows before Sigma x makes the product small again.
    learner = Learner("iellip", covariance=covariance, initial_variance=1e-36, b=0.9999, c=0.99)
    x = np.tile([1.0, 0.0], (20, 1))
    learner.learn(x, np.resize([1, -1], 20))
    assert learner.model.scalars[0, SPREAD_SCALE] > 1e36
    learner.learn([[0.0, 1e-137]], [1])
    check_finite(learner.model)


@pytest.mark.parametrize("covariance", COVARIANCES[:3])
def test_a_class_that_comes_after_sigma_has_shrunk_gets_a_variance(covariance):
    learner = Learner(own_rule(forgets_the_prior), covariance=covariance, n_classes=2)
    x, y = draw("joint", 200)
    learner.learn(x, y % 2)
    learner.learn(x[:3], [2, 2, 0])
    check_finite(learner.model)
    assert (learner.model.variances() > 0).all()


def test_a_rule_that_stands_still_between_huge_steps_keeps_the_model():
    def overflows(m, v):
        return Step(1e300) if m < 1 else HOLD

    learner = Learner(own_rule(overflows), covariance="diagonal")
    learner.learn([[1.0, 2.0]], [1])
    assert learner.counts.updates == 0
    assert not learner.model.weights().any()


def test_a_variance_that_overflows_beside_a_new_class_is_no_warning():
    model = StreamClassifier("arow", covariance="diagonal", initial_variance=1e20)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model.learn_many([{"x": 1.0}, {"x": -1.0}, {"y": 1e149}, {"x": 2.0}, {"y": 1e149}], ["a", "b", "c", "d", "d"])
    assert model.counts.seen == 5
    assert np.isfinite(model._classifier.calibration.state).all()
