"""TunedClassifier: the best cell by progressive error, for any labels and any of our classifiers."""

import copy

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import estimator_checks_generator

from scwlearn import AROW, PA1, SCW1, AutoClassifier, KernelSCW1, TunedClassifier

IRIS = load_iris(return_X_y=True)
CANCER = load_breast_cancer(return_X_y=True)

CASES = {
    "two classes": (SCW1(random_state=3), None, CANCER),
    "words as labels": (AROW(random_state=3), None, (CANCER[0], np.array(["no", "yes"])[CANCER[1]])),
    "several classes": (AROW(random_state=3), None, IRIS),
    "class weights": (AROW(random_state=3, class_weight="balanced"), None, CANCER),
    "class weights after none": (AROW(random_state=3), {"class_weight": [None, "balanced", {0: 0.2}]}, CANCER),
    "class weights before none": (AROW(random_state=3), {"class_weight": ["balanced", None, {0: 0.2}]}, CANCER),
    "in order": (AROW(shuffle=False), {"r": [0.1, 1.0]}, CANCER),
    "several epochs": (AROW(random_state=3, n_epochs=2), {"r": [0.1, 1.0]}, CANCER),
    "settings": (SCW1(random_state=3), {"scale": ["none", "rms"], "fit_intercept": [True, False]}, CANCER),
    "kernel": (KernelSCW1(random_state=3), {"C": [0.1, 1.0], "gamma": ["scale", 0.1]}, IRIS),
    "committee": (AutoClassifier(random_state=3), {"members": [["arow"], ["arow", "scw1"]]}, IRIS),
    "nothing to tune": (AutoClassifier(random_state=3), None, IRIS),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_each_cell_makes_the_mistakes_that_it_makes_alone(case):
    estimator, grid, (x, y) = case
    tuned = TunedClassifier(estimator, param_grid=grid).fit(x, y)
    alone = [clone(estimator).set_params(**cell, n_epochs=1).fit(x, y) for cell in tuned.results_["params"]]
    assert [model.n_mistakes_ / len(y) for model in alone] == tuned.results_["progressive_error"].tolist()
    assert tuned.best_error_ == min(tuned.results_["progressive_error"])
    assert tuned.best_params_ in tuned.results_["params"]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_it_is_the_best_classifier_afterwards(case):
    estimator, grid, (x, y) = case
    tuned = TunedClassifier(estimator, param_grid=grid).fit(x, y)
    best = clone(estimator).set_params(**tuned.best_params_).fit(x, y)
    np.testing.assert_array_equal(tuned.predict_proba(x), best.predict_proba(x))
    np.testing.assert_array_equal(tuned.decision_function(x), best.decision_function(x))
    np.testing.assert_array_equal(tuned.predict_log_proba(x), best.predict_log_proba(x))
    assert tuned.score(x, y) == best.score(x, y)
    assert tuned.classes_.tolist() == best.classes_.tolist()
    assert tuned.n_features_in_ == x.shape[1]


def test_sample_weights_act_as_in_fit():
    x, y = CANCER
    weights = np.random.default_rng(0).uniform(0, 2, len(y))
    tuned = TunedClassifier(AROW(random_state=0)).fit(x, y, weights)
    best = AROW(random_state=0, **tuned.best_params_).fit(x, y, weights)
    assert tuned.best_error_ == best.n_mistakes_ / len(y)
    np.testing.assert_array_equal(tuned.decision_function(x), best.decision_function(x))


@pytest.mark.parametrize("weights", [None, np.random.default_rng(0).choice([0.0, 1.0, 2.0], 150)])
@pytest.mark.parametrize("estimator", [AROW(random_state=0), KernelSCW1(random_state=0)])
def test_examples_of_a_class_that_a_cell_leaves_out_are_mistakes(estimator, weights):
    x, y = IRIS
    cells = [None, {0: 0.0}, {1: 0.0}]
    tuned = TunedClassifier(estimator, param_grid={"class_weight": cells}).fit(x, y, weights)
    counted = np.ones(len(y), dtype=bool) if weights is None else weights != 0
    expected = []
    for cell, left_out in zip(cells, [None, 0, 1], strict=True):
        alone = clone(estimator).set_params(class_weight=cell).fit(x, y, weights)
        expected.append((alone.n_mistakes_ + (y[counted] == left_out).sum()) / counted.sum())
    assert tuned.results_["progressive_error"].tolist() == expected
    assert tuned.best_params_ == {"class_weight": None}


def test_a_cell_that_leaves_no_class_is_refused():
    tuned = TunedClassifier(AROW(), param_grid={"class_weight": [None, {0: 0.0, 1: 0.0}]})
    with pytest.raises(ValueError, match="class_weight is zero for every class; there is nothing to learn from"):
        tuned.fit(*CANCER)


def test_a_precomputed_kernel_is_cut_for_cross_validation():
    x, y = IRIS
    grid, settings = {"C": [0.1, 1.0]}, {"random_state": 0, "fit_intercept": False}
    computed = TunedClassifier(KernelSCW1(kernel="precomputed", **settings), param_grid=grid)
    named = TunedClassifier(KernelSCW1(kernel="linear", **settings), param_grid=grid)
    found = cross_val_score(computed, x @ x.T, y, error_score="raise")
    assert found.tolist() == cross_val_score(named, x, y).tolist()


def test_without_a_seed_the_best_cell_sees_the_order_of_its_trial():
    tuned = TunedClassifier(AROW()).fit(*CANCER)
    assert tuned.best_estimator_.n_mistakes_ / len(CANCER[1]) == tuned.best_error_


def test_ties_go_to_the_parameters_of_the_estimator():
    x, y = [[1.0, 0.0], [0.0, 1.0]], ["a", "b"]
    assert TunedClassifier(SCW1(random_state=0)).fit(x, y).best_params_ == {"C": 0.5, "eta": 0.75}
    assert TunedClassifier(AROW(r=4.0, random_state=0)).fit(x, y).best_params_ == {"r": 4.0}


@pytest.mark.parametrize(
    ("tuned", "error", "message"),
    [
        (
            TunedClassifier(LogisticRegression()),
            TypeError,
            "estimator must be a classifier of scwlearn such as SCW1(), got LogisticRegression(); tune others with "
            "scikit-learn's GridSearchCV",
        ),
        (
            TunedClassifier(PA1(), param_grid=["C"]),
            TypeError,
            "param_grid must be a dict of names and lists of values, got ['C']",
        ),
        (
            TunedClassifier(PA1(), param_grid={"C": 1.0}),
            ValueError,
            "param_grid['C'] must be a list of values, got 1.0",
        ),
        (
            TunedClassifier(PA1(), param_grid={"C": []}),
            ValueError,
            "param_grid['C'] must be a list of values, got []",
        ),
        *(
            (
                TunedClassifier(PA1(), param_grid={"C": [1.0], name: [0, 1]}),
                ValueError,
                f"param_grid: {name} is the same for all cells; set it in estimator",
            )
            for name in ("n_epochs", "shuffle", "random_state", "n_jobs")
        ),
    ],
)
def test_bad_settings_are_refused(tuned, error, message):
    with pytest.raises(error) as caught:
        tuned.fit(*IRIS)
    assert str(caught.value) == message
    assert not hasattr(tuned, "best_estimator_")


def test_values_that_can_be_read_only_once_are_refused():
    tuned = TunedClassifier(PA1(), param_grid={"C": (2.0**k for k in range(3))})
    with pytest.raises(ValueError, match=r"^param_grid\['C'\] must be a list of values, got <generator object"):
        tuned.fit(*IRIS)


@pytest.mark.parametrize("values", [np.array([0.5, 1.0]), range(1, 3), {1.0: "", 2.0: ""}.keys(), (0.5, 1)])
def test_values_may_be_of_any_collection(values):
    tuned = TunedClassifier(PA1(random_state=0), param_grid={"C": values}).fit(*IRIS)
    assert [cell["C"] for cell in tuned.results_["params"]] == list(values)


def test_a_parameter_that_the_classifier_does_not_have_is_refused():
    with pytest.raises(ValueError, match=r"^param_grid: AROW has no parameter 'C'; it has average, class_weight, "):
        TunedClassifier(AROW(), param_grid={"C": [1.0]}).fit(*IRIS)


def test_attributes_need_a_fit():
    with pytest.raises(AttributeError, match=r"^TunedClassifier has no classes_ before fit$"):
        _ = TunedClassifier().classes_


EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": "an online learner sees examples in order",
    "check_sample_weight_equivalence_on_sparse_data": "an online learner sees examples in order",
    "check_decision_proba_consistency": "a probability also depends on the variance of the score",
}


@pytest.mark.parametrize(
    ("estimator", "check"),
    [*estimator_checks_generator(TunedClassifier(AROW()), expected_failed_checks=EXPECTED, mark="xfail")],
    ids=lambda value: getattr(getattr(value, "func", None), "__name__", ""),
)
def test_it_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_a_copy_learns_for_itself():
    tuned = TunedClassifier(PA1(random_state=0)).fit(*IRIS)
    other = copy.copy(tuned)
    other.best_estimator_.partial_fit(IRIS[0][:9], IRIS[1][:9])
    assert other.best_estimator_.n_seen_ == tuned.best_estimator_.n_seen_ + 9
