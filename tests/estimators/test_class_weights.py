"""Sample weights and class weights of the estimators."""

import copy
from functools import partial

import numpy as np
import pytest

import scwlearn
from class_examples import LINEAR, blobs, same_model
from scwlearn import AROW, SCW1, AutoClassifier, KernelSCW1, Perceptron


@pytest.mark.parametrize("name", LINEAR)
def test_examples_of_weight_zero_are_ignored(name):
    x, y = blobs()
    weights = np.random.default_rng(0).choice([0.0, 1.0, 2.0], len(y))
    there = weights > 0
    new = getattr(scwlearn, name)
    without = new().partial_fit(x[there], y[there], sample_weight=weights[there])
    same_model(new().partial_fit(x, y, sample_weight=weights), without)
    nothing = copy.deepcopy(without).partial_fit(x, y + 100, sample_weight=np.zeros(len(y)))
    same_model(nothing, without)


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("by", ["sample", "class"])
@pytest.mark.parametrize("name", [*LINEAR, "AutoClassifier", "KernelSCW1", "KernelPA1"])
def test_outliers_of_weight_zero_change_no_model_of_several_epochs(name, by, shuffle):
    x, y = blobs()
    # More columns than rows that are learned, and fewer than all rows.
    x = np.hstack([x, np.random.default_rng(0).normal(size=(len(x), len(x) - 10 - x.shape[1]))])
    there = np.random.default_rng(1).permutation(len(x)) >= 20
    x[~there] *= 50
    y = y.copy()
    y[~there] = 7 if by == "class" else 0
    new = partial(getattr(scwlearn, name), shuffle=shuffle, n_epochs=3, random_state=0)
    if by == "class":
        skipped = new(class_weight={7: 0.0}).fit(x, y)
    else:
        skipped = new().fit(x, y, sample_weight=there.astype(float))
    without = new().fit(x[there], y[there])
    if by == "sample":
        assert np.array_equal(skipped.predict_proba(x[there]), without.predict_proba(x[there]))
    else:
        there[np.flatnonzero(~there)[0]] = True
        fewer = new(class_weight={7: 0.0}).fit(x[there], y[there])
        assert np.array_equal(skipped.predict_proba(x[there]), fewer.predict_proba(x[there]))
    assert skipped.n_seen_ == without.n_seen_
    assert getattr(skipped, "gamma_", 0) == getattr(without, "gamma_", 0)


def test_class_weights_equal_sample_weights():
    x, y = blobs(3)
    by_class = {0: 0.5, 2: 3.0}
    weights = np.array([0.5, 1.0, 3.0])[y]
    kernel = partial(KernelSCW1, shuffle=False)
    models = [kernel(class_weight=by_class).fit(x, y), kernel().fit(x, y, sample_weight=weights)]
    np.testing.assert_array_equal(models[0].decision_function(x), models[1].decision_function(x))
    assert (models[0].decision_function(x) != kernel().fit(x, y).decision_function(x)).any()
    for new in (partial(SCW1, covariance="diagonal", shuffle=False), partial(Perceptron, shuffle=False)):
        same_model(new(class_weight=by_class).fit(x, y), new().fit(x, y, sample_weight=weights))
        both = new(class_weight=by_class).fit(x, y, sample_weight=np.full(len(y), 2.0))
        same_model(both, new().fit(x, y, sample_weight=2 * weights))


def test_balanced_weights_follow_the_counts_so_far():
    x, y = blobs(3)
    seen, weights = np.zeros(3), []
    for label in y:
        seen[label] += 1
        weights.append(seen.sum() / (np.count_nonzero(seen) * seen[label]))
    expected = SCW1(covariance="diagonal").partial_fit(x, y, sample_weight=weights)
    at_once = SCW1(covariance="diagonal", class_weight="balanced").partial_fit(x, y)
    pieces = SCW1(covariance="diagonal", class_weight="balanced")
    for start in range(0, len(y), 7):
        pieces.partial_fit(x[start : start + 7], y[start : start + 7])
    same_model(at_once, expected)
    same_model(pieces, expected)


def test_balancing_finds_a_rare_class_more_often():
    rng = np.random.default_rng(0)
    y = (rng.random(4000) < 0.03).astype(int)
    x = rng.normal(size=(4000, 2)) + y[:, np.newaxis]
    plain, balanced = (AROW(class_weight=weight).fit(x, y) for weight in (None, "balanced"))
    assert (balanced.predict(x)[y == 1]).mean() > (plain.predict(x)[y == 1]).mean() + 0.2


@pytest.mark.parametrize(
    ("class_weight", "error", "message"),
    [
        ("even", ValueError, "class_weight must be a dict from labels to weights, 'balanced' or None, got 'even'"),
        ([1.0, 2.0], TypeError, "class_weight must be a dict from labels"),
        ({0: -1.0}, ValueError, r"class_weight values\[0\] = -1.0"),
        ({0: "much"}, TypeError, "class_weight values must be numbers"),
    ],
)
def test_bad_class_weights_are_rejected(class_weight, error, message):
    x, y = blobs(2)
    with pytest.raises(error, match=message):
        SCW1(class_weight=class_weight).fit(x, y)


def test_a_class_of_weight_zero_is_not_learned():
    x, y = blobs(3)
    model = SCW1(class_weight={2: 0.0}).fit(x, y)
    assert model.n_seen_ == (y != 2).sum()
    assert model.classes_.tolist() == [0, 1, 2]
    come = SCW1(covariance="diagonal", class_weight={2: 0.0}).partial_fit(x, y)
    two = SCW1(covariance="diagonal").partial_fit(x[y != 2], y[y != 2])
    same_model(come, two)


def test_class_weights_changed_in_place_are_noticed():
    x, y = np.eye(2), [0, 1]
    model = SCW1(class_weight={0: 1.0, 1: 2.0}).partial_fit(x, y)
    model.class_weight[1] = 5.0
    with pytest.raises(ValueError, match="class_weight cannot change"):
        model.partial_fit(x, y)


@pytest.mark.parametrize("name", ["Perceptron", "PA", "PA1", "PA2", "CW", "AROW", "SCW1"])
def test_balanced_weights_find_more_of_a_rare_class(name):
    rng = np.random.default_rng(0)
    y = (rng.random(6000) < 0.05).astype(int)
    x = rng.normal(size=(6000, 5)) + 1.5 * y[:, np.newaxis]
    plain, balanced = (
        getattr(scwlearn, name)(class_weight=weight, shuffle=False).fit(x[:3000], y[:3000]).predict(x[3000:])
        for weight in (None, "balanced")
    )
    rare = y[3000:] == 1
    assert balanced[rare].mean() > plain[rare].mean()


def test_a_class_whose_examples_all_weigh_nothing_is_unknown_to_fit():
    x, y = np.eye(3), np.array(["a", "b", "c"])
    assert SCW1().fit(x, y, sample_weight=[1.0, 1.0, 0.0]).classes_.tolist() == ["a", "b"]


@pytest.mark.parametrize("new", [SCW1, KernelSCW1, AutoClassifier])
def test_fit_needs_a_class_of_a_weight(new):
    x, y = blobs(3)
    with pytest.raises(ValueError, match=r"^class_weight is zero for every class; there is nothing to learn from$"):
        new(class_weight={0: 0.0, 1: 0.0, 2: 0.0}).fit(x, y)


@pytest.mark.parametrize("new", [SCW1, KernelSCW1])
@pytest.mark.parametrize("by", ["example", "class"])
def test_after_examples_of_no_weight_every_method_says_that_nothing_was_learned(new, by):
    x, y = blobs(2)
    if by == "example":
        model = new().partial_fit(x, y, sample_weight=np.zeros(len(y)))
    else:
        model = new(class_weight={0: 0.0, 1: 0.0}).partial_fit(x, y)
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function", "margin_variance"):
        with pytest.raises(ValueError, match=r"^this learner has not learned from any row yet$"):
            getattr(model, method)(x)
    assert not {"coef_", "intercept_", "variance_", "covariance_"} & {*dir(model)}
    same = new().partial_fit(x, y)
    if by == "example":
        assert model.partial_fit(x, y).decision_function(x).tolist() == same.decision_function(x).tolist()
