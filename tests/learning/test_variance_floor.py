"""A lower bound on the variances: it holds, equals the reference, and changes nothing at 0."""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse

import scwlearn
from helpers import reconfigured
from learner_examples import draw_examples, state
from reference import GAUSSIAN_FORM, defaults_of
from scwlearn import AROW, Learner, _native
from scwlearn.kernels.learner import KernelLearner
from scwlearn.learning.grid import learn_grid
from scwlearn.model.covariances import COVARIANCE_NAMES
from scwlearn.rules import all_rules

pytestmark = pytest.mark.native

FORMS = ["diagonal", "diagonal-drop", "full"]
every_rule = pytest.mark.parametrize("rule", list(GAUSSIAN_FORM))
every_form = pytest.mark.parametrize("covariance", FORMS)


def examples(seed=3, rows=150, features=7):
    return draw_examples(seed, rows, features, 0.7)


def with_floor(rule, X, y, covariance, floor, a, intercept):
    """The textbook's Gaussian steps with a floor: weights, Sigma (or its diagonal), how often the floor was felt."""
    X = np.hstack([X, np.ones((len(X), 1))]) if intercept else X
    mu = np.zeros(X.shape[1])
    S = a * np.eye(X.shape[1]) if covariance == "full" else np.full(X.shape[1], a)
    felt = 0
    for t, (x, label) in enumerate(zip(X, y, strict=True), 1):
        g = S @ x if covariance == "full" else S * x
        v = g @ x
        step = GAUSSIAN_FORM[rule](label * (mu @ x), v, t, **defaults_of(rule)) if v > 0 else None
        if step is None:
            continue
        alpha, beta, k, grow = step
        mu = mu + alpha * label * g
        if covariance == "full":
            most = max(0.0, 1 / (floor * a * (x @ x)) - 1 / v)
            felt += k > most
            k = min(k, most)
            S = (S - k / (1 + k * v) * np.outer(g, g)) * grow
        else:
            less = 1 / (1 / S + k * x**2) if covariance == "diagonal" else S - beta * S**2 * x**2
            felt += (less < floor * a).any()
            S = np.maximum(less, floor * a) * grow
    return mu, S, felt


@every_rule
@every_form
@pytest.mark.parametrize(("intercept", "floor", "a"), [(False, 0.05, 1.0), (True, 0.5, 0.5), (False, 0.9, 3.0)])
def test_learning_with_a_floor_equals_the_reference(rule, covariance, intercept, floor, a):
    x, y = examples()
    mu, sigma, felt = with_floor(rule, x, y, covariance, floor, a, intercept)
    how = {"intercept": intercept, "initial_variance": a, "variance_floor": floor}
    for form in (np.asarray, sparse.csr_array):
        learner = Learner(rule, covariance=covariance, **how, **defaults_of(rule))
        learner.learn(form(x), y)
        got = learner.model.matrix() if covariance == "full" else learner.model.variances()[0]
        np.testing.assert_allclose(got, sigma, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(learner.model.weights()[0], mu, rtol=1e-9, atol=1e-9)
    # IELLIP freezes its variance after a few rounds, and NAROW after it has fallen to 1/b.
    assert felt > 0 or rule in ("iellip", "narow")


@every_rule
@every_form
@pytest.mark.parametrize("floor", [0.01, 0.3])
def test_no_step_takes_a_variance_below_the_floor(rule, covariance, floor):
    x, y = examples(rows=80)
    learner = Learner(rule, covariance=covariance, initial_variance=2.0, variance_floor=floor)
    for row, label in zip(x[:, None], y[:, None], strict=True):
        before = learner.margin_variances(row)[0] if learner.model else 2.0 * (row @ row.T).item()
        learner.learn(row, label)
        after = learner.margin_variances(row)[0]
        least = floor * 2.0 * (row @ row.T).item()
        assert after >= min(least, before) * (1 - 1e-12)
        if covariance != "full":
            assert (learner.model.variances() >= floor * 2.0 * (1 - 1e-12)).all()


@every_form
def test_the_floor_keeps_the_model_adaptive(covariance):
    """Without a floor a thousand examples later a step is a thousandth; with one it is what it was."""
    x, y = np.ones((1000, 1)), np.tile([1, -1], 500)
    sure, unsure = (Learner("arow", covariance=covariance, variance_floor=floor) for floor in (0.0, 0.5))
    for learner in (sure, unsure):
        learner.learn(x, y)
    assert sure.model.variances().item() < 0.01
    assert unsure.model.variances().item() == pytest.approx(0.5)


@every_form
def test_a_floor_lifts_diagonal_variances_below_it_and_leaves_full_ones(covariance):
    x, y = examples()
    learner = Learner("arow", covariance=covariance)
    learner.learn(x, y)
    before = learner.model.variances()
    assert (before < 0.2).all()
    learner = reconfigured(learner, variance_floor=0.2)
    learner.learn(x, y)
    learner.learn_one(x[0], y[0])
    if covariance == "full":
        assert learner.model.variances() == pytest.approx(before, rel=1e-9)
    else:
        assert (learner.model.variances() >= 0.2 * (1 - 1e-12)).all()


@pytest.mark.parametrize("rule", [r.name for r in all_rules()])
@pytest.mark.parametrize("covariance", COVARIANCE_NAMES)
def test_a_floor_of_zero_changes_nothing(rule, covariance):
    x, y = examples()
    one, other = (Learner(rule, covariance=covariance, **how) for how in ({}, {"variance_floor": 0.0}))
    # So small that no variance gets there: the loops that know a floor do what those without do.
    third = reconfigured(Learner(rule, covariance=covariance), variance_floor=1e-300)
    for learner in (one, other, third):
        learner.learn(x, y)
    assert state(one) == state(other) == state(third)


@every_rule
@pytest.mark.parametrize("covariance", ["diagonal", "diagonal-drop"])
def test_a_batch_equals_its_rows_one_by_one(rule, covariance):
    x, y = examples()
    many, one = (Learner(rule, covariance=covariance, variance_floor=0.1) for _ in range(2))
    many.learn(x, y)
    for row, label in zip(x, y, strict=True):
        one.learn_one(row, label)
    assert state(many) == state(one)


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
@every_form
@pytest.mark.parametrize("instruction_set", _native.instruction_sets())
def test_a_grid_with_a_floor_equals_separate_learners(rule, covariance, instruction_set):
    x, y = examples()
    cells = [{p.name: value for p in _rule(rule).parameters for value in p.grid[k : k + 1]} for k in range(5)]
    _native.use_instruction_set(instruction_set)
    try:
        together = learn_grid(rule, cells, x, y, covariance=covariance, variance_floor=0.2)
        for learner, cell in zip(together, cells, strict=True):
            alone = Learner(rule, covariance=covariance, variance_floor=0.2, **cell)
            alone.learn(x, y)
            assert state(alone) == state(learner)
    finally:
        _native.use_instruction_set(_native.instruction_sets()[0])


def _rule(name):
    return next(rule for rule in all_rules() if rule.name == name)


@every_form
@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda learner: pickle.loads(pickle.dumps(learner))])
def test_a_copy_keeps_the_floor(covariance, duplicate):
    x, y = examples()
    never_stopped, original = (Learner("arow", covariance=covariance, variance_floor=0.2) for _ in range(2))
    never_stopped.learn(x[:50], y[:50])
    never_stopped.learn(x[50:], y[50:])
    original.learn(x[:50], y[:50])
    other = duplicate(original)
    other.learn(x[50:], y[50:])
    assert other.config.variance_floor == 0.2
    assert state(other) == state(never_stopped)


def test_with_parameters_keeps_the_floor():
    learner = Learner("arow", variance_floor=0.2)
    learner.learn(*examples())
    assert learner.with_parameters({"r": 2.0}).config.variance_floor == 0.2


def test_dicts_respect_the_floor():
    learner = Learner("arow", variance_floor=0.3)
    for label in (1, -1) * 50:
        learner.learn_one({"a": 1.0, "b": 2.0}, label)
    assert learner.model.variances()[0, :2] == pytest.approx([0.3, 0.3])


def test_a_function_as_rule_respects_the_floor():
    x, y = examples()
    own = Learner(lambda m, v: ((1 - m) / (v + 1), 1 / (v + 1)) if m < 1 else (0, 0), variance_floor=0.2)
    arow = Learner("arow", r=1.0, variance_floor=0.2)
    own.learn(x, y)
    arow.learn(x, y)
    np.testing.assert_allclose(own.model.matrix(), arow.model.matrix(), rtol=1e-9)


def spans(learner, row, a):
    """The variance along a row of length 1, and what no step takes it below; the same for its part in the span."""
    n = learner.support.count
    inside = np.zeros(0)
    if n:
        distances = np.square(row - learner.support.examples).sum(axis=1)
        inside = learner.support.coordinates(np.exp(-GAMMA * distances)[np.newaxis])[0]
    within = inside @ learner.model.gaussian(0).matrix()[:n, :n] @ inside
    return np.array([within + a * (1 - inside @ inside), within]), FLOOR * a * np.array([1.0, inside @ inside])


GAMMA, FLOOR = 0.1, 0.3


@pytest.mark.parametrize("budget", [None, 5], ids=["exact", "budget"])
@pytest.mark.parametrize("rule", ["scw1", "scw2", "cw", "arow", "nherd", "second_order_perceptron", "narow"])
def test_a_kernel_learner_respects_the_floor(rule, budget):
    x, y = examples(rows=60)
    how = {"kernel": "rbf", "kernel_parameters": {"gamma": GAMMA}, "budget": budget, "initial_variance": 2.0}
    learner, free = KernelLearner(rule, **how, variance_floor=FLOOR), KernelLearner(rule, **how)
    felt = False
    for row, label in zip(x[:, None], y[:, None], strict=True):
        for one in (learner, free):
            support = one.support.count
            before, least = spans(one, row, 2.0)
            one.learn(row, label)
            after, _ = spans(one, row, 2.0)
            # An example that is taken into the support lies in the span as a whole.
            which = 0 if one.support.count > support else 1
            above = after[which] >= min(before[which], least[which]) * (1 - 1e-9)
            assert above or one is free
            felt |= not above
    assert felt or rule == "narow"


@every_rule
def test_a_linear_kernel_equals_the_linear_learner(rule):
    x, y = examples()
    kernel = KernelLearner(rule, kernel="linear", variance_floor=0.2)
    linear = Learner(rule, covariance="full", variance_floor=0.2)
    kernel.learn(x, y)
    linear.learn(x, y)
    assert kernel.counts == linear.counts
    np.testing.assert_allclose(kernel.scores(x), linear.scores(x), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(kernel.margin_variances(x), linear.margin_variances(x), rtol=1e-7)


@pytest.mark.parametrize("wrong", [-0.1, 1.0, 1.5, np.nan, np.inf])
@pytest.mark.parametrize("learner", [Learner, KernelLearner])
def test_the_floor_must_lie_between_zero_and_one(learner, wrong):
    with pytest.raises(ValueError, match=r"variance_floor must be a number in \[0, 1\), got"):
        learner("scw1", variance_floor=wrong)
    for kind in ("0.1", None, True):
        with pytest.raises(TypeError, match="variance_floor must be a number"):
            learner("scw1", variance_floor=kind)
    arrays = np.zeros(0), np.zeros(_native.SCALARS), np.ones(1, np.int64), np.zeros(3, np.int64)
    with pytest.raises(ValueError, match="variance_floor must be from 0"):
        _native.Model("diagonal", True, False, 0, 1, *arrays, 1.0, wrong)


@pytest.mark.parametrize("rule", [r.name for r in all_rules() if r.order == 1])
def test_a_first_order_rule_takes_no_floor(rule):
    for learner in (Learner, KernelLearner):
        assert learner(rule, variance_floor=0.0).config.variance_floor == 0.0
        with pytest.raises(ValueError, match=f"variance_floor must be 0 .*{rule} is a first-order rule.*got 0.1"):
            learner(rule, variance_floor=0.1)


def test_the_identity_covariance_takes_no_floor():
    with pytest.raises(ValueError, match=r"variance_floor must be 0 .*covariance=.identity"):
        Learner("scw1", covariance="identity", variance_floor=0.1)


# The estimators.


def three_classes(rows=200):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(rows, 5))
    return x, np.array(["a", "b", "c"])[(x[:, :3] + 0.5 * rng.normal(size=(rows, 3))).argmax(axis=1)]


def estimators(order):
    return [getattr(scwlearn, rule.estimator) for rule in all_rules() if rule.order == order]


@pytest.mark.parametrize("Estimator", estimators(2), ids=lambda e: e.__name__)
def test_a_second_order_estimator_checks_the_floor(Estimator):
    assert Estimator().get_params()["variance_floor"] == 0.0
    x, y = three_classes()
    with pytest.raises(ValueError, match=r"variance_floor must be a number in \[0, 1\), got 1.0"):
        Estimator(variance_floor=1.0).fit(x, y)
    with pytest.raises(ValueError, match=r"variance_floor must be 0 .*covariance=.identity"):
        Estimator(variance_floor=0.1, covariance="identity").fit(x, y)


@pytest.mark.parametrize("Estimator", estimators(1), ids=lambda e: e.__name__)
def test_a_first_order_estimator_has_no_floor(Estimator):
    with pytest.raises(TypeError, match="has no parameter 'variance_floor'"):
        Estimator(variance_floor=0.1)


@every_form
@pytest.mark.parametrize("how", [{}, {"shared_covariance": True}, {"multi_class": "ovr"}])
@pytest.mark.parametrize("classes", [2, 3])
def test_an_estimator_respects_the_floor_with_any_number_of_classes(covariance, how, classes):
    # Along the axes: there a full covariance says no more than its diagonal, and the floor is the same for both.
    x, y = np.tile(np.eye(5), (40, 1)), three_classes()[1]
    if classes == 2:
        y = np.where(y == "a", "a", "b")
    how = {"covariance": covariance, "initial_variance": 2.0, "fit_intercept": False, **how}
    kept, free = (AROW(variance_floor=floor, **how).fit(x, y) for floor in (0.3, 0.0))
    assert free.variance_.max() < 0.6
    assert kept.variance_.min() >= 0.6 * (1 - 1e-12)


def test_an_estimator_keeps_the_floor_when_a_third_class_appears():
    x, y = three_classes()
    grown, free = (AROW(covariance="diagonal", variance_floor=floor) for floor in (0.3, 0.0))
    for model in (grown, free):
        model.partial_fit(x, np.where(y == "a", "a", "b"))
        model.partial_fit(x, y)
    assert grown.variance_.min() >= 0.3 * (1 - 1e-12)
    assert free.variance_.max() < 0.3
    with pytest.raises(ValueError, match=r"variance_floor cannot change from 0.3 to 0.5 once the model has learned"):
        grown.set_params(variance_floor=0.5).partial_fit(x, y)
