"""Costs of decisions: what is allowed, and which class costs least."""

import re
import tracemalloc

import numpy as np
import pytest

from scwlearn.data.costs import Costs
from scwlearn.data.labels import Classes

CLASSES = Classes().add(np.array(["c", "a", "b"]))


def test_what_is_not_given_costs_one_and_a_correct_label_nothing():
    costs = Costs({"a": {"b": 3, "new": 7}, "b": {"b": 0.5}, "new": {"a": 2}})
    matrix = 1 - np.eye(3)
    for true, predicted, more in costs.extra(CLASSES):
        matrix[true, predicted] += more
    assert matrix.tolist() == [[0, 3, 1], [1, 0.5, 1], [1, 1, 0]]


@pytest.mark.parametrize("seed", range(20))
def test_costs_of_any_pairs_decide_as_all_pairs_do(seed):
    rng = np.random.default_rng(seed)
    labels = rng.permutation(9)
    classes = Classes().add(labels)
    matrix, given = 1 - np.eye(9), {}
    for true, predicted in rng.integers(0, 9, (rng.integers(1, 60), 2)).tolist():
        matrix[true, predicted] = given.setdefault(true, {})[predicted] = float(rng.uniform(0, 5))
    probabilities = rng.dirichlet(np.ones(9), 300)
    expected = np.zeros((300, 9))
    for true in range(9):
        expected += probabilities[:, true, np.newaxis] * matrix[true]
    decided = labels[Costs(given | {99: {0: 1.0}}).decide(probabilities, classes)]
    assert decided.tolist() == expected.argmin(axis=1).tolist()


def test_memory_grows_with_the_classes_and_the_costs_not_with_all_pairs():
    classes = Classes().add(np.arange(2000))
    costs = Costs({true: {true - 1: 2.0} for true in range(1, 2000)})
    probabilities = np.full((1, 2000), 1 / 2000)
    tracemalloc.start()
    costs.decide(probabilities, classes)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**21


def test_the_class_of_least_expected_cost_is_chosen():
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet(np.ones(3), 200)
    given = {"a": {"b": 3.0, "c": 0.2}, "c": {"a": 9}}
    matrix = np.array([[0, 3, 0.2], [1, 0, 1], [9, 1, 0]])
    expected = [CLASSES.numbers["abc"[min(range(3), key=lambda k: p @ matrix[:, k])]] for p in probabilities]
    assert Costs(given).decide(probabilities, CLASSES).tolist() == expected
    assert np.array_equal(Costs({}).decide(probabilities, CLASSES), CLASSES.order[probabilities.argmax(axis=1)])
    assert Costs({}).decide(np.full((1, 3), 1 / 3), CLASSES).tolist() == [1]


def test_near_ties_are_decided_alone_as_among_other_rows():
    rng = np.random.default_rng(0)
    classes = Classes().add(np.arange(7))
    costs = Costs({6: {2: 4.0}, 3: {1: 2.0}})
    probabilities = 0.2 + rng.integers(-9, 10, (500, 7)) * 2.0**-55
    together = costs.decide(probabilities, classes)
    assert len({*together.tolist()}) > 2
    for order in ("C", "F"):
        rows = np.asarray(probabilities, order=order)
        for size in (1, 2, 3, 8):
            parts = [costs.decide(rows[i : i + size], classes) for i in range(0, 500, size)]
            assert np.concatenate(parts).tolist() == together.tolist()


def test_later_changes_of_the_dict_do_not_matter():
    given = {"a": {"b": 3.0}}
    costs = Costs(given)
    given["a"]["b"] = 4.0
    assert costs.given == {"a": {"b": 3.0}}


@pytest.mark.parametrize("cost", [-1, float("nan"), float("inf"), "5", None, True, 10**400])
def test_a_cost_is_a_finite_number_that_is_not_negative(cost):
    message = f"a cost must be a finite number >= 0, got costs['a']['b'] = {cost!r}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        Costs({"a": {"b": cost}})


@pytest.mark.parametrize("given", [[[0, 1], [1, 0]], "balanced", {"a": 3.0}, {("a", "b"): 3.0}])
def test_costs_are_a_dict_of_dicts(given):
    with pytest.raises(TypeError) as error:
        Costs(given)
    assert str(error.value) == (
        f"costs must be a dict from true labels to dicts from predicted labels to costs, or None, got {given!r}"
    )


def test_labels_that_are_no_classes_are_named():
    Costs({"a": {"b": 1}}).check_labels(CLASSES)
    message = "costs names labels that are not classes: 'e', 'd'; the classes are 'a', 'b', 'c'"
    with pytest.raises(ValueError, match=f"^{message}$"):
        Costs({"a": {"d": 1}, "e": {"a": 2}}).check_labels(CLASSES)
