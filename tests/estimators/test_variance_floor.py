"""Estimators with a lower bound on the variances."""

import numpy as np
import pytest

import scwlearn
from scwlearn import AROW
from scwlearn.rules import all_rules


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


@pytest.mark.parametrize("covariance", ["diagonal", "diagonal-drop", "full"])
@pytest.mark.parametrize("how", [{}, {"shared_covariance": True}, {"multi_class": "ovr"}])
@pytest.mark.parametrize("classes", [2, 3])
def test_an_estimator_respects_the_floor_with_any_number_of_classes(covariance, how, classes):
    # On rows along the axes a full covariance is diagonal, so the floor acts alike on both.
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
