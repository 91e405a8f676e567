"""A lower bound on the variances: it holds, equals the reference, and changes nothing at 0."""

import copy
import functools
import pickle

import numpy as np
import pytest

from helpers import reconfigured, split
from learner_examples import (
    CLASS_AXES,
    FORMS,
    ROW_FORMATS,
    draw_examples,
    every_form,
    in_order_of_appearance,
    sigma,
    state,
)
from multi_class_examples import reference_settings
from multi_class_reference import run
from reference import GAUSSIAN_FORM, defaults_of
from scwlearn import Learner, _native
from scwlearn.kernels import KernelLearner
from scwlearn.learning.grid import learn_grid
from scwlearn.model.covariances import COVARIANCE_NAMES
from scwlearn.model.full import Full
from scwlearn.rules import all_rules, find_rule

pytestmark = pytest.mark.native

CLASSES = 5
every_rule = pytest.mark.parametrize("rule", list(GAUSSIAN_FORM))
every_covariance = pytest.mark.parametrize("covariance", ["diagonal", "diagonal-drop", "full"])
every_axis = pytest.mark.parametrize("axis", CLASS_AXES)


@functools.cache
def examples(axis, rows=None, features=7):
    """Return noisy rows and labels of a class axis; several classes appear one after the other."""
    if axis == "binary":
        return draw_examples(3, rows or 150, features, 0.7)
    rows = rows or 120
    rng = np.random.default_rng(7)
    x = rng.normal(size=(rows, features)) * (rng.random((rows, features)) < 0.7)
    x[np.arange(rows), rng.integers(0, features, rows)] += rng.uniform(0.5, 1.5, rows)
    labels = (x @ rng.normal(size=(features, CLASSES)) + rng.normal(size=(rows, CLASSES))).argmax(axis=1)
    return x, in_order_of_appearance(labels)


def new(axis, rule="arow", **settings):
    return Learner(rule, **CLASS_AXES[axis] | settings)


def sigmas(learner):
    """Return the variances of each class, or its Sigma if it is full."""
    if learner.model.covariance.name != "full":
        return learner.model.variances()
    return np.array([sigma(learner, number) for number in range(learner.model.classes)])


def reference(rule, axis, x, y, covariance, *, floor, initial_variance, intercept):
    """Return the weights, the Sigmas, the mistakes and the updates of the textbook form with a floor."""
    settings = {"initial_variance": initial_variance, "intercept": intercept, **defaults_of(rule)}
    if axis != "binary":
        return run(rule, x, y, covariance, floor=floor, **settings, **reference_settings(axis))
    x = np.hstack([x, np.ones((len(x), 1))]) if intercept else x
    mu = np.zeros(x.shape[1])
    S = initial_variance * (np.eye(x.shape[1]) if covariance == "full" else np.ones(x.shape[1]))
    least = floor * initial_variance
    mistakes = updates = 0
    for t, (row, label) in enumerate(zip(x, y, strict=True), 1):
        g = S @ row if covariance == "full" else S * row
        v = g @ row
        mistakes += (mu @ row >= 0) != (label > 0)
        step = GAUSSIAN_FORM[rule](label * (mu @ row), v, t, **defaults_of(rule)) if v > 0 else None
        if step is None:
            continue
        alpha, beta, k, grow = step
        updates += 1
        mu = mu + alpha * label * g
        if covariance == "full":
            k = min(k, max(0.0, 1 / (least * (row @ row)) - 1 / v)) if floor else k
            S = (S - k / (1 + k * v) * np.outer(g, g)) * grow
        else:
            less = 1 / (1 / S + k * row**2) if covariance == "diagonal" else S - beta * S**2 * row**2
            S = np.maximum(less, least) * grow
    return mu[np.newaxis], S[np.newaxis], mistakes, updates


CASES = [("binary", 0.05, 1.0, False), ("binary", 0.5, 0.5, True), ("binary", 0.9, 3.0, False)]
CASES += [
    (form, floor, a, intercept) for form in FORMS for floor, a, intercept in ((0.4, 3.0, False), (0.7, 0.5, True))
]


@every_rule
@every_covariance
@pytest.mark.parametrize(("axis", "floor", "a", "intercept"), CASES)
def test_learning_with_a_floor_equals_the_reference(rule, covariance, axis, floor, a, intercept):
    x, y = examples(axis)
    settings = {"initial_variance": a, "intercept": intercept}
    weights, expected, mistakes, updates = reference(rule, axis, x, y, covariance, floor=floor, **settings)
    free = reference(rule, axis, x, y, covariance, floor=0.0, **settings)[1]
    # IELLIP freezes its variance after a few rounds, and NAROW once it has fallen to 1/b.
    assert rule in ("iellip", "narow") or np.abs(free - expected).max() > 1e-3 * a
    settings |= {"covariance": covariance, "variance_floor": floor, **defaults_of(rule)}
    for instruction_set in _native.instruction_sets():
        _native.use_instruction_set(instruction_set)
        try:
            learners = [new(axis, rule, **settings) for _ in ROW_FORMATS]
            counts = [one.learn(as_rows(x), y) for one, as_rows in zip(learners, ROW_FORMATS, strict=True)]
        finally:
            _native.use_instruction_set(_native.instruction_sets()[0])
        assert {(one.mistakes, one.updates) for one in counts} == {(mistakes, updates)}
        for learner in learners:
            np.testing.assert_allclose(learner.model.weights(), weights, rtol=1e-8, atol=1e-8)
            np.testing.assert_allclose(sigmas(learner), expected, rtol=1e-8, atol=1e-8)


@every_rule
@every_axis
@every_covariance
@pytest.mark.parametrize("floor", [0.01, 0.4])
def test_no_step_takes_a_variance_below_the_floor(rule, axis, covariance, floor):
    x, y = examples(axis, 60)
    learner = new(axis, rule, covariance=covariance, initial_variance=2.0, variance_floor=floor)
    if axis != "binary":
        learner.add_classes(CLASSES)
    # A row of zeros, so that there is a model before the first row.
    learner.learn(np.zeros((1, x.shape[1])), y[:1])
    for row, label in zip(x[:, None], y[:, None], strict=True):
        before = learner.margin_variances(row)
        learner.learn(row, label)
        least = floor * 2.0 * (row @ row.T).item()
        assert (learner.margin_variances(row) >= np.minimum(before, least) * (1 - 1e-12)).all()
        if covariance != "full":
            assert (learner.model.variances() >= floor * 2.0 * (1 - 1e-12)).all()


@every_axis
@every_covariance
def test_the_floor_keeps_the_model_adaptive(axis, covariance):
    # After a thousand examples without a floor, a step is a thousandth of the first; with one it stays as large.
    x, y = np.ones((900, 1)), np.resize([1, -1] if axis == "binary" else [0, 1, 2], 900)
    sure, unsure = (new(axis, covariance=covariance, variance_floor=floor) for floor in (0.0, 0.5))
    for learner in (sure, unsure):
        learner.learn(x, y)
    assert (sure.model.variances() < 0.01).all()
    assert unsure.model.variances() == pytest.approx(0.5)


@every_axis
@every_covariance
@pytest.mark.parametrize("by_row", [False, True], ids=["batch", "rows"])
def test_a_floor_set_later_lifts_diagonal_variances_and_leaves_full_ones(axis, covariance, by_row):
    x, y = examples(axis)
    learner = new(axis, covariance=covariance)
    learner.learn(x, y)
    learner.learn_one(x[0], y[0])
    before = learner.model.variances()
    assert before.min() < 0.1
    learner = reconfigured(learner, variance_floor=0.5)
    if by_row:
        for row, label in zip(x, y, strict=True):
            learner.learn_one(row, label)
    else:
        learner.learn(x, y)
    after = learner.model.variances()
    if covariance == "full":
        assert after == pytest.approx(before, rel=1e-9)
    else:
        assert after.min() >= 0.5 * (1 - 1e-12)


@pytest.mark.parametrize("rule", [r.name for r in all_rules()])
@every_axis
@pytest.mark.parametrize("covariance", COVARIANCE_NAMES)
def test_a_floor_of_zero_changes_nothing(rule, axis, covariance):
    x, y = examples(axis)
    # No variance gets as low as 1e-300: the loops with a floor must do the same as those without.
    tiny = reconfigured(new(axis, rule, covariance=covariance), variance_floor=1e-300)
    plain, zero = (new(axis, rule, covariance=covariance, **floor) for floor in ({}, {"variance_floor": 0.0}))
    for learner in (plain, zero, tiny):
        learner.learn(x, y)
        learner.learn_one(x[0], y[0])
    assert state(plain) == state(zero) == state(tiny)
    assert sigmas(plain).tobytes() == sigmas(zero).tobytes() == sigmas(tiny).tobytes()


@every_rule
@every_axis
@every_covariance
def test_a_batch_equals_its_rows_one_by_one(rule, axis, covariance, monkeypatch):
    x, y = examples(axis)
    settings = {"covariance": covariance, "variance_floor": 0.1, **defaults_of(rule)}
    one = new(axis, rule, **settings)
    for row, label in zip(x, y, strict=True):
        one.learn_one(row, label)
    for block in (1, 7, 64) if covariance == "full" else (1,):
        monkeypatch.setattr(Full, "block", lambda self, size, stored, lanes, joint, block=block: block)
        many = new(axis, rule, **settings)
        many.learn(x, y)
        assert many.counts == one.counts
        if covariance == "full":
            np.testing.assert_allclose(many.model.weights(), one.model.weights(), rtol=1e-8, atol=1e-9)
            np.testing.assert_allclose(sigmas(many), sigmas(one), rtol=1e-8, atol=1e-9)
        else:
            assert many.model.weights().tobytes() == one.model.weights().tobytes()
            assert sigmas(many).tobytes() == sigmas(one).tobytes()


@every_rule
def test_full_blocks_equal_rows_up_to_rounding(rule):
    x, y = draw_examples(5, 200, 40, 1.0)
    many, one = (Learner(rule, covariance="full", variance_floor=0.1) for _ in range(2))
    many.learn(x, y)
    for row, label in zip(x, y, strict=True):
        one.learn(row[None], [label])
    assert many.counts == one.counts
    np.testing.assert_allclose(many.model.weights(), one.model.weights(), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(many.model.matrix(), one.model.matrix(), rtol=1e-8, atol=1e-10)


@every_rule
@every_covariance
@pytest.mark.usefixtures("instruction_set")
def test_a_grid_with_a_floor_equals_separate_learners(rule, covariance):
    x, y = examples("binary")
    cells = [{p.name: value for p in find_rule(rule).parameters for value in p.grid[k : k + 1]} for k in range(5)]
    together = learn_grid(rule, cells, x, y, covariance=covariance, variance_floor=0.2)
    for learner, cell in zip(together, cells, strict=True):
        alone = Learner(rule, covariance=covariance, variance_floor=0.2, **cell)
        alone.learn(x, y)
        assert state(alone) == state(learner)


@every_axis
@every_covariance
@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda learner: pickle.loads(pickle.dumps(learner))])
def test_a_copy_keeps_the_floor(axis, covariance, duplicate):
    x, y = examples(axis)
    never_stopped, original = (new(axis, covariance=covariance, variance_floor=0.2) for _ in range(2))
    never_stopped.learn(x[:50], y[:50])
    never_stopped.learn(x[50:], y[50:])
    original.learn(x[:50], y[:50])
    other = duplicate(original)
    other.learn(x[50:], y[50:])
    assert state(other) == state(never_stopped)
    assert sigmas(other).tobytes() == sigmas(never_stopped).tobytes()
    assert other.config.variance_floor == other.with_parameters({"r": 2.0}).config.variance_floor == 0.2


@every_form
@every_covariance
def test_splitting_a_binary_learner_keeps_the_floor(form, covariance):
    x, y = examples(form)
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


def test_dicts_respect_the_floor():
    learner = Learner("arow", covariance="diagonal", variance_floor=0.3)
    for label in (1, -1) * 50:
        learner.learn_one({"a": 1.0, "b": 2.0}, label)
    assert learner.model.variances()[0, :2] == pytest.approx([0.3, 0.3])


@every_axis
@every_covariance
def test_a_function_as_rule_respects_the_floor(axis, covariance):
    def own_arow(m, v):
        return ((1 - m) / (v + 1), 1 / (v + 1)) if m < 1 else (0, 0)

    x, y = examples(axis)
    own = new(axis, own_arow, covariance=covariance, variance_floor=0.2)
    arow = new(axis, covariance=covariance, variance_floor=0.2, r=1.0)
    assert own.learn(x, y) == arow.learn(x, y)
    np.testing.assert_allclose(sigmas(own), sigmas(arow), rtol=1e-8, atol=1e-12)


KINDS = {"binary": Learner, "multi-class": functools.partial(Learner, n_classes=0), "kernel": KernelLearner}
every_kind = pytest.mark.parametrize("learner", KINDS.values(), ids=KINDS)


@every_kind
@pytest.mark.parametrize("wrong", [-0.1, 1.0, 1.5, np.nan, np.inf])
def test_the_floor_must_lie_between_zero_and_one(learner, wrong):
    with pytest.raises(ValueError, match=r"variance_floor must be a number in \[0, 1\), got"):
        learner("scw1", variance_floor=wrong)


@every_kind
@pytest.mark.parametrize("wrong", ["0.1", None, True])
def test_the_floor_must_be_a_number(learner, wrong):
    with pytest.raises(TypeError, match="variance_floor must be a number"):
        learner("scw1", variance_floor=wrong)


@every_axis
@pytest.mark.parametrize("wrong", [-0.1, 1.0, 1.5, np.nan, np.inf])
def test_a_native_model_checks_its_floor(axis, wrong):
    learner = new(axis)
    learner.learn(np.eye(3), [1, -1, 1] if axis == "binary" else [0, 1, 2])
    with pytest.raises(ValueError, match="variance_floor must be from 0 to below 1"):
        learner.model.native(np.zeros(3, np.int64), variance_floor=wrong)


@every_kind
@pytest.mark.parametrize("rule", [r.name for r in all_rules() if r.order == 1])
def test_a_first_order_rule_takes_no_floor(learner, rule):
    assert learner(rule, variance_floor=0.0).config.variance_floor == 0.0
    with pytest.raises(ValueError, match=f"variance_floor must be 0 .*{rule} is a first-order rule.*got 0.1"):
        learner(rule, variance_floor=0.1)


@every_axis
def test_the_identity_covariance_takes_no_floor(axis):
    with pytest.raises(ValueError, match=r"variance_floor must be 0 .*covariance=.identity"):
        new(axis, "scw1", covariance="identity", variance_floor=0.1)
