"""Classes that appear one after the other, and binary learners that are split in two classes."""

import numpy as np
import pytest

from helpers import split
from learner_examples import FORMS, every_form, in_order_of_appearance, state
from multi_class_examples import CLASSES, FEATURES, ROWS, assert_close, examples
from scwlearn import Learner, rules
from scwlearn.model.covariances import COVARIANCE_NAMES
from scwlearn.rules import Step, all_rules

pytestmark = pytest.mark.native


@every_form
def test_unknown_classes_take_no_part(form):
    x, y = examples()
    late = Learner("scw1", n_classes=0, covariance="diagonal", **FORMS[form])
    scores = np.empty((ROWS, CLASSES + 2))
    late.learn(x, y, scores_out=scores)
    known = np.maximum.accumulate(np.append(0, y[:-1] + 1))
    for i in range(ROWS):
        assert np.isfinite(scores[i, : known[i]]).all()
        assert (scores[i, known[i] :] == -np.inf).all()
    predicted = scores.argmax(axis=1)
    assert late.counts.mistakes == np.sum((predicted != y) | (y >= known))


def test_the_first_class_alone_updates_nothing_and_counts_one_mistake():
    learner = Learner("scw1", n_classes=0, covariance="diagonal")
    counts = learner.learn(np.eye(3), [0, 0, 0])
    assert (counts.seen, counts.mistakes, counts.updates) == (3, 1, 0)
    assert not learner.model.weights().any()


def test_with_one_class_known_in_advance_nothing_is_a_mistake():
    learner = Learner("arow", n_classes=1, covariance="diagonal")
    assert learner.learn(np.eye(3), [0, 0, 0]).mistakes == 0


@every_form
def test_classes_may_be_added_at_any_time(form):
    x, y = examples()
    half = int(np.argmax(y == CLASSES - 1))
    added, came = (Learner("iellip", n_classes=0, covariance="diagonal", **FORMS[form]) for _ in range(2))
    for learner in (added, came):
        learner.learn(x[:half], y[:half])
    added.add_classes(2)
    assert added.n_classes == CLASSES + 1
    # The last class has the same prior, whether it was added or appeared.
    assert state(added)[1].startswith(state(came)[1])
    assert not added.model.weights()[CLASSES - 1 :].any()
    added.learn(x[half:], y[half:])
    assert added.counts.seen == ROWS


@every_form
@pytest.mark.parametrize("grow", [1.0, 3.0, 1e18, 1e-18])
@pytest.mark.usefixtures("registry")
def test_a_late_class_starts_with_the_grown_variance(form, grow):
    @rules.rule(title="grows", estimator="Grows", order=2, large_margin=True, non_separable=True, cite="2026")
    def grows(m, v, t):
        return Step(0.1 / v, 0.5 / v, shrink=0.9, grow=grow if t < 9 else 1.0)

    learner = Learner(grows, n_classes=0, covariance="diagonal", initial_variance=2.0, **FORMS[form])
    learner.learn(np.tile(np.eye(2), (5, 1)), [0, 1] * 5)
    learner.widen(3)
    learner.learn(np.zeros((1, 3)), [2])
    variances = learner.model.variances()
    # With joint classes, a single class takes no step.
    grown = 2.0 * grow ** (8 if form == "ovr" else 7)
    np.testing.assert_allclose(variances[:2, 2], grown, rtol=1e-12)
    if form == "joint":
        # In one model, unseen features have the same variance in all classes.
        np.testing.assert_allclose(variances[2], grown, rtol=1e-12)
    if form == "ovr":
        np.testing.assert_array_equal(variances[2], 2.0)


def test_rows_of_weight_zero_add_no_class():
    x, y = examples()
    weighed, plain = (
        Learner("arow", n_classes=0, covariance="diagonal"),
        Learner("arow", n_classes=0, covariance="diagonal"),
    )
    weights = np.where(np.arange(ROWS) % 3 == 0, 0.0, 1.0)
    kept = weights > 0
    labels = np.full(ROWS, 0)
    labels[kept] = in_order_of_appearance(y[kept])
    scores = np.empty((ROWS, CLASSES))
    assert weighed.learn(x, labels, weights=weights, scores_out=scores) == plain.learn(x[kept], labels[kept])
    assert state(weighed) == state(plain)
    assert np.isnan(scores[~kept]).all()
    assert not np.isnan(scores[kept]).any()
    assert weighed.learn(x[:2], [CLASSES, CLASSES], weights=[0, 0]).seen == 0
    assert weighed.n_classes == CLASSES
    fresh = Learner("arow", n_classes=0)
    assert fresh.learn(x, labels, weights=np.zeros(ROWS)).seen == 0
    assert fresh.model is None


@pytest.mark.parametrize("name", ["scw1", "arow", "perceptron", "romma"])
@every_form
def test_weights_reach_the_rule(name, form):
    x, y = examples()
    how = {"covariance": "diagonal", **FORMS[form]}
    weighed = Learner(name, n_classes=0, **how)
    weighed.learn(x, y, weights=np.full(ROWS, 0.5))
    plain = Learner(name, n_classes=0, **how)
    plain.learn(x, y)
    assert state(weighed) != state(plain)
    own = {"scw1": {"C": 0.25}, "arow": {"r": 2.0}}
    if name in own:
        same = Learner(name, n_classes=0, **how, **own[name])
        same.learn(x, y)
        assert state(weighed) == state(same)


@every_form
@pytest.mark.parametrize("covariance", COVARIANCE_NAMES)
def test_weighted_rows_of_late_classes_equal_their_rows_one_by_one(form, covariance):
    rng = np.random.default_rng(5)
    x, w = rng.normal(size=(40, 4)), rng.choice([0.1, 0.5, 1.0, 3.0], 40)
    y = np.where(np.arange(40) < 17, np.arange(40) % 2, np.arange(40) % 4)
    many, one = (Learner("scw2", n_classes=0, covariance=covariance, **FORMS[form]) for _ in range(2))
    many.learn(x, in_order_of_appearance(y), weights=w)
    for row, label, weight in zip(x[:, None], in_order_of_appearance(y), w, strict=True):
        one.learn(row, [label], weights=[weight])
    assert many.counts == one.counts
    np.testing.assert_allclose(many.model.weights(), one.model.weights(), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(many.model.variances(), one.model.variances(), rtol=1e-9)


def test_recorded_scores_are_in_the_order_of_the_rows():
    x, y = examples()
    order = np.random.default_rng(0).permutation(ROWS)
    y = y.copy()
    y[order] = in_order_of_appearance(y[order])
    ordered, plain = (
        Learner("arow", n_classes=0, covariance="diagonal"),
        Learner("arow", n_classes=0, covariance="diagonal"),
    )
    a, b = np.empty((2, ROWS, CLASSES))
    ordered.learn(x, y, order=order, scores_out=a)
    plain.learn(x[order], y[order], scores_out=b)
    assert state(ordered) == state(plain)
    np.testing.assert_array_equal(a[order], b)
    one_by_one = Learner("arow", n_classes=0, covariance="diagonal")
    for i in range(40):
        if i:
            np.testing.assert_array_equal(one_by_one.scores(x[order[i : i + 1]])[0], b[i, : one_by_one.n_classes])
        one_by_one.learn(x[order[i : i + 1]], y[order[i : i + 1]])


@pytest.mark.parametrize("name", [r.name for r in all_rules()])
@pytest.mark.parametrize("multi_class", ["joint", "ovr"])
@pytest.mark.parametrize("covariance", ["diagonal", "identity", "diagonal-drop"])
def test_splitting_a_binary_learner_keeps_its_scores(name, multi_class, covariance):
    x, y = examples(2)
    binary = Learner(name, covariance=covariance, intercept=True, initial_variance=0.5)
    binary.learn(x, 2 * y - 1)
    two = split(binary, multi_class=multi_class)
    assert (two.n_classes, two.n_features, two.counts) == (2, FEATURES, binary.counts)
    scores = two.scores(x)
    share = 1 if multi_class == "joint" else 2
    assert_close(scores[:, 1] - scores[:, 0], share * binary.scores(x))
    assert_close(two.margin_variances(x), np.tile(binary.margin_variances(x)[:, None], (1, 2)))
    # Learning continues: a step moves both.
    before = two.model.weights()
    two.learn(x[:50], 1 - y[:50])
    assert not np.allclose(two.model.weights(), before)
    new = Learner("scw1", C=3.0).split()
    assert (new.n_classes, new.model, new.parameters["C"]) == (2, None, 3.0)


def test_a_binary_learner_from_dicts_keeps_its_names():
    binary = Learner("scw1", scale="rms")
    binary.learn_one({"a": 3.0, "b": 1.0}, 1)
    two = binary.split()
    assert two.names == {"a": 0, "b": 1}
    first, second = two.score_one({"a": 2.0})
    assert second - first == pytest.approx(binary.score_one({"a": 2.0}))
    two.learn_one({"c": 1.0}, 2)
    assert (len(two.names), len(binary.names)) == (3, 2)


def test_a_split_romma_model_knows_the_norm_of_its_weights():
    x, y = examples(2)
    binary = Learner("romma", initial_variance=0.5)
    binary.learn(x, 2 * y - 1)
    two = binary.split()
    model = two.model
    stored = np.square(model.covariance.means(model.memory)).sum()
    assert model.scalars[0, 2] == pytest.approx(stored, rel=1e-9)
