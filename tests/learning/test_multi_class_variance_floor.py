"""A lower bound on the variances of several classes."""

import copy
import functools
import pickle

import numpy as np
import pytest

from helpers import reconfigured, split
from learner_examples import FORMS, every_form, in_order_of_appearance
from multi_class_examples import reference_settings
from multi_class_reference import run
from reference import GAUSSIAN_FORM, defaults_of
from scwlearn import Learner, _native
from scwlearn.model.full import Full
from scwlearn.rules import all_rules

pytestmark = pytest.mark.native

ROWS, FEATURES, CLASSES = 120, 7, 5
COVARIANCES = ["diagonal", "diagonal-drop", "full"]

every_rule = pytest.mark.parametrize("rule", list(GAUSSIAN_FORM))
every_covariance = pytest.mark.parametrize("covariance", COVARIANCES)


@functools.cache
def examples(rows=ROWS, features=FEATURES):
    """Noisy rows of several classes, which come one after the other."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=(rows, features)) * (rng.random((rows, features)) < 0.7)
    x[np.arange(rows), rng.integers(0, features, rows)] += rng.uniform(0.5, 1.5, rows)
    labels = (x @ rng.normal(size=(features, CLASSES)) + rng.normal(size=(rows, CLASSES))).argmax(axis=1)
    return x, in_order_of_appearance(labels)


def sigmas(learner):
    gaussians = learner.model
    if gaussians.covariance.name != "full":
        return gaussians.variances()
    return np.array([gaussians.matrix(c) for c in range(learner.n_classes)])


def state(learner):
    """Everything that a learner knows, bit for bit."""
    gaussians = learner.model
    return gaussians.weights().tobytes(), sigmas(learner).tobytes(), gaussians.scalars.tobytes(), learner.counts


@every_rule
@every_form
@every_covariance
@pytest.mark.parametrize(("floor", "a", "intercept"), [(0.4, 3.0, False), (0.7, 0.5, True)])
def test_learning_with_a_floor_equals_the_reference(rule, form, covariance, floor, a, intercept):
    x, y = examples()
    how = reference_settings(form)
    given = {"initial_variance": a, "intercept": intercept, **defaults_of(rule)}
    weights, expected, mistakes, updates = run(rule, x, y, covariance, floor=floor, **given, **how)
    free = run(rule, x, y, covariance, **given, **how)[1]
    # IELLIP freezes its variance after a few rounds, and NAROW after it has fallen to 1/b.
    assert rule in ("iellip", "narow") or np.abs(free - expected).max() > 1e-3 * a
    for instruction_set in _native.instruction_sets():
        _native.use_instruction_set(instruction_set)
        try:
            learner = Learner(rule, n_classes=0, covariance=covariance, variance_floor=floor, **given, **FORMS[form])
            counts = learner.learn(x, y)
        finally:
            _native.use_instruction_set(_native.instruction_sets()[0])
        assert (counts.mistakes, counts.updates) == (mistakes, updates)
        np.testing.assert_allclose(learner.model.weights(), weights, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(sigmas(learner), expected, rtol=1e-8, atol=1e-8)


@every_rule
@every_form
@every_covariance
def test_no_step_takes_a_variance_below_the_floor(rule, form, covariance):
    x, y = examples(60)
    floor = 0.4
    how = {"covariance": covariance, "initial_variance": 2.0, "n_classes": CLASSES, **FORMS[form]}
    learner = Learner(rule, variance_floor=floor, **how)
    # A row of zeros, so that there is a model to ask before the first.
    learner.learn(np.zeros((1, FEATURES)), [0])
    for row, label in zip(x[:, None], y[:, None], strict=True):
        before = learner.margin_variances(row)
        learner.learn(row, label)
        least = floor * 2.0 * (row @ row.T).item()
        assert (learner.margin_variances(row) >= np.minimum(before, least) * (1 - 1e-12)).all()
        if covariance != "full":
            assert (learner.model.variances() >= floor * 2.0 * (1 - 1e-12)).all()


@every_form
@every_covariance
def test_the_floor_keeps_the_model_adaptive(form, covariance):
    x, y = np.ones((900, 1)), np.tile([0, 1, 2], 300)
    sure, unsure = (
        Learner("arow", n_classes=0, covariance=covariance, variance_floor=floor, **FORMS[form]) for floor in (0.0, 0.5)
    )
    for learner in (sure, unsure):
        learner.learn(x, y)
    assert (sure.model.variances() < 0.01).all()
    assert unsure.model.variances() == pytest.approx(0.5)


@pytest.mark.parametrize("rule", [r.name for r in all_rules()])
@every_form
@pytest.mark.parametrize("covariance", ["identity", *COVARIANCES])
def test_a_floor_of_zero_changes_nothing(rule, form, covariance):
    x, y = examples()
    one, other, third = (
        Learner(rule, n_classes=0, covariance=covariance, **FORMS[form], **how)
        for how in ({}, {"variance_floor": 0.0}, {})
    )
    # So small that no variance gets there: the loops with a floor do what those without do.
    third = reconfigured(third, variance_floor=1e-300)
    for learner in (one, other, third):
        learner.learn(x, y)
        learner.learn_one(x[0], y[0])
    assert state(one) == state(other) == state(third)


@every_rule
@every_form
@every_covariance
def test_a_batch_equals_its_rows_one_by_one(rule, form, covariance, monkeypatch):
    x, y = examples()
    how = {"covariance": covariance, "variance_floor": 0.1, **FORMS[form], **defaults_of(rule)}
    one = Learner(rule, n_classes=0, **how)
    for row, label in zip(x, y, strict=True):
        one.learn_one(row, label)
    for block in (1, 7, 64) if covariance == "full" else (1,):
        monkeypatch.setattr(Full, "block", lambda self, size, stored, lanes, joint, block=block: block)
        many = Learner(rule, n_classes=0, **how)
        many.learn(x, y)
        assert many.counts == one.counts
        if covariance == "full":
            np.testing.assert_allclose(many.model.weights(), one.model.weights(), rtol=1e-8, atol=1e-9)
            np.testing.assert_allclose(sigmas(many), sigmas(one), rtol=1e-8, atol=1e-9)
    if covariance != "full":
        assert many.model.weights().tobytes() == one.model.weights().tobytes()
        assert sigmas(many).tobytes() == sigmas(one).tobytes()


@every_form
@every_covariance
def test_learn_one_respects_a_floor_that_is_set_later(form, covariance):
    x, y = examples()
    learner = Learner("arow", n_classes=0, covariance=covariance, **FORMS[form])
    learner.learn(x, y)
    learner.learn_one(x[0], y[0])
    before = learner.model.variances()
    learner = reconfigured(learner, variance_floor=0.5)
    for row, label in zip(x, y, strict=True):
        learner.learn_one(row, label)
    after = learner.model.variances()
    if covariance == "full":
        assert after == pytest.approx(before, rel=1e-9)
    else:
        assert before.min() < 0.1
        assert after.min() >= 0.5 * (1 - 1e-12)


@every_form
@every_covariance
def test_a_function_as_rule_respects_the_floor(form, covariance):
    def own_arow(m, v):
        return ((1 - m) / (v + 1), 1 / (v + 1)) if m < 1 else (0, 0)

    x, y = examples()
    own, arow = (
        Learner(rule, n_classes=0, covariance=covariance, variance_floor=0.2, **FORMS[form], **parameters)
        for rule, parameters in ((own_arow, {}), ("arow", {"r": 1.0}))
    )
    assert own.learn(x, y) == arow.learn(x, y)
    np.testing.assert_allclose(sigmas(own), sigmas(arow), rtol=1e-8, atol=1e-12)


@every_form
@every_covariance
@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda learner: pickle.loads(pickle.dumps(learner))])
def test_a_copy_keeps_the_floor(form, covariance, duplicate):
    x, y = examples()
    never_stopped, original = (
        Learner("arow", n_classes=0, covariance=covariance, variance_floor=0.2, **FORMS[form]) for _ in range(2)
    )
    never_stopped.learn(x[:50], y[:50])
    never_stopped.learn(x[50:], y[50:])
    original.learn(x[:50], y[:50])
    other = duplicate(original)
    other.learn(x[50:], y[50:])
    assert state(other) == state(never_stopped)
    assert other.with_parameters({"r": 2.0}).config.variance_floor == 0.2


@every_form
@every_covariance
def test_splitting_a_binary_learner_keeps_the_floor(form, covariance):
    x, y = examples()
    binary = Learner("arow", covariance=covariance, initial_variance=2.0, variance_floor=0.3)
    binary.learn(x, np.where(y == 0, -1, 1))
    several, free = (split(binary, **FORMS[form]) for _ in range(2))
    assert several.config.variance_floor == 0.3
    free = reconfigured(free, variance_floor=0.0)
    for learner in (several, free):
        learner.learn(x, y)
    assert (several.model.variances() > 2 * free.model.variances()).any()
    fresh = split(Learner("arow", variance_floor=0.3), **FORMS[form])
    assert fresh.config.variance_floor == 0.3


@pytest.mark.parametrize("wrong", [-0.1, 1.0, 1.5, np.nan, np.inf])
def test_the_floor_must_lie_between_zero_and_one(wrong):
    with pytest.raises(ValueError, match=r"variance_floor must be a number in \[0, 1\), got"):
        Learner("scw1", n_classes=0, variance_floor=wrong)
    learner = Learner("scw1", n_classes=0)
    learner.learn(np.eye(3), [0, 1, 2])
    with pytest.raises(ValueError, match="variance_floor must be from 0 to below 1"):
        learner.model.native(np.zeros(3, np.int64), wrong)


@pytest.mark.parametrize("wrong", ["0.1", None, True])
def test_the_floor_must_be_a_number(wrong):
    with pytest.raises(TypeError, match="variance_floor must be a number"):
        Learner("scw1", n_classes=0, variance_floor=wrong)


def test_first_order_rules_and_the_identity_take_no_floor():
    with pytest.raises(ValueError, match=r"variance_floor must be 0 .*pa1 is a first-order rule.*got 0.1"):
        Learner("pa1", n_classes=0, variance_floor=0.1)
    with pytest.raises(ValueError, match=r"variance_floor must be 0 .*covariance=.identity"):
        Learner("scw1", n_classes=0, covariance="identity", variance_floor=0.1)
