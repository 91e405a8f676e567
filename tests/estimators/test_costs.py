"""Decisions by cost, of estimators, streams and model files."""

import numpy as np
import pytest

import scwlearn
from class_examples import blobs
from scwlearn import AROW, SCW1, KernelSCW1, Perceptron, StreamClassifier

COSTS = {0: {1: 20.0}, 2: {0: 0.1}}


def cheapest(probabilities, costs, classes):
    matrix = 1 - np.eye(len(classes))
    for true, row in costs.items():
        for predicted, cost in row.items():
            matrix[classes.index(true), classes.index(predicted)] = cost
    return np.array(classes)[(probabilities @ matrix).argmin(axis=1)]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "make", [AROW, SCW1, Perceptron, KernelSCW1, lambda **how: SCW1(class_weight="balanced", **how)]
)
def test_the_label_of_least_expected_cost_is_predicted_and_probabilities_stay(make, classes):
    x, y = blobs(classes)
    x = x + np.random.default_rng(0).normal(size=x.shape)
    costs = COSTS if classes == 3 else {0: {1: 20.0}}
    plain, model = make(random_state=0).fit(x, y), make(costs=costs, random_state=0).fit(x, y)
    probabilities = plain.predict_proba(x)
    assert np.array_equal(model.predict_proba(x), probabilities)
    assert np.array_equal(model.decision_function(x), plain.decision_function(x))
    assert np.array_equal(model.predict(x), cheapest(probabilities, costs, list(range(classes))))
    assert (model.predict(x) != plain.predict(x)).any()
    assert np.array_equal(plain.set_params(costs=costs).predict(x), model.predict(x))
    assert np.array_equal(model.set_params(costs=None).predict(x), make(random_state=0).fit(x, y).predict(x))


def test_streams_decide_one_by_one_as_in_batches():
    x, y = blobs(3)
    x = x + np.random.default_rng(0).normal(size=x.shape)
    records = [dict(zip("abcdefgh", row, strict=False)) for row in x.tolist()]
    model = StreamClassifier("arow", costs=COSTS)
    assert model.predict_one(records[0]) is None
    model.learn_many(records, y.tolist())
    expected = cheapest(model.predict_proba_many(records), COSTS, [0, 1, 2]).tolist()
    assert model.predict_many(records) == expected == [model.predict_one(record) for record in records]
    plain = StreamClassifier("arow")
    plain.learn_many(records, y.tolist())
    assert plain.predict_many(records) != expected


def test_costs_are_saved_and_copied(tmp_path):
    x, y = blobs(3)
    stream = StreamClassifier("arow", costs=COSTS)
    stream.learn_many([{"a": 1.0}, {"b": 1.0}, {"c": 1.0}], [0, 1, 2])
    stream.save(tmp_path / "stream")
    for again in (scwlearn.load(tmp_path / "stream"), stream.copy()):
        assert again._classifier.costs.given == COSTS
    model = SCW1(random_state=0).fit(x, y).set_params(costs=COSTS)
    model.save(tmp_path / "model")
    again = scwlearn.load(tmp_path / "model")
    assert again.costs == COSTS
    assert np.array_equal(again.predict(x), model.predict(x))


def test_models_with_different_costs_are_not_merged():
    x, y = blobs(3)
    one, other = SCW1(random_state=0).fit(x, y), SCW1(costs=COSTS, random_state=0).fit(x, y)
    with pytest.raises(ValueError, match="costs"):
        scwlearn.merge([one, other])


def test_a_precomputed_kernel_takes_no_costs():
    x, y = blobs(3)
    model = KernelSCW1(kernel="precomputed", random_state=0).fit(x @ x.T, y)
    predicted = model.predict(x @ x.T)
    message = "^costs need probabilities, which a model with a precomputed kernel does not have; leave them out, or"
    for call in (lambda: model.fit(x @ x.T, y), lambda: model.predict(x @ x.T), lambda: model.score(x @ x.T, y)):
        model.set_params(costs=COSTS)
        with pytest.raises(ValueError, match=message):
            call()
        assert np.array_equal(model.set_params(costs=None).predict(x @ x.T), predicted)


def test_fit_refuses_unknown_labels_and_changes_nothing():
    x, y = blobs(3)
    model = SCW1(random_state=0).fit(x, y)
    before = model.coef_
    with pytest.raises(ValueError, match=r"^costs names labels that are not classes: 3; the classes are 0, 1, 2$"):
        model.set_params(costs={3: {1: 2.0}}).fit(x, y)
    assert np.array_equal(model.coef_, before)
