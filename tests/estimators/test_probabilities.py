"""The probabilities that the estimators give."""

import numpy as np
import pytest

import scwlearn
from class_examples import LINEAR, blobs
from scwlearn import AROW, PA1, SCW1


@pytest.mark.parametrize(
    ("name", "multi_class"), [*((name, "joint") for name in LINEAR), ("SCW1", "ovr"), ("PA1", "ovr")]
)
def test_probabilities_sum_to_one_and_agree_with_the_prediction(name, multi_class, digits):
    x, y = digits
    for classes in (2, 10):
        some = y < classes
        model = getattr(scwlearn, name)(multi_class=multi_class).fit(x[some][:500], y[some][:500])
        probabilities = model.predict_proba(x[some])
        assert probabilities.shape == (some.sum(), classes)
        assert ((probabilities > 0) & (probabilities < 1)).all()
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
        assert np.array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(x[some]))
        np.testing.assert_allclose(model.predict_log_proba(x[some]), np.log(probabilities))


@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_after_a_batch_equal_those_after_single_rows(classes):
    x, y = blobs(classes, rows=80)
    batch, rows = SCW1(covariance="diagonal").partial_fit(x, y), SCW1(covariance="diagonal")
    for i in range(len(y)):
        rows.partial_fit(x[i : i + 1], y[i : i + 1])
    np.testing.assert_allclose(batch.predict_proba(x), rows.predict_proba(x), rtol=1e-12)


def test_probabilities_match_observed_frequencies():
    rng = np.random.default_rng(1)
    weights = rng.normal(size=(3, 5))
    x = rng.normal(size=(20_000, 5))
    logits = x @ weights.T
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    y = (probabilities.cumsum(axis=1) < rng.random((20_000, 1))).sum(axis=1)
    for estimator, off in ((AROW(), 0.06), (AROW(covariance="diagonal", multi_class="ovr"), 0.06), (PA1(C=0.01), 0.1)):
        model = estimator.fit(x[:15_000], y[:15_000])
        given = model.predict_proba(x[15_000:])
        for label in range(3):
            for low in (0.2, 0.5):
                some = (given[:, label] > low) & (given[:, label] < low + 0.3)
                assert (y[15_000:][some] == label).mean() == pytest.approx(given[some, label].mean(), abs=off)


def test_probabilities_are_not_distorted_by_class_weights():
    rng = np.random.default_rng(0)
    y = (rng.random(20_000) < 0.1).astype(int)
    x = rng.normal(size=(20_000, 2)) + y[:, np.newaxis]
    for class_weight in (None, "balanced"):
        model = AROW(class_weight=class_weight).fit(x, y)
        assert model.predict_proba(x)[:, 1].mean() == pytest.approx(0.1, abs=0.05 if class_weight else 0.02)


def test_columns_follow_the_sorted_labels():
    x, y = blobs(3)
    names = np.array(["b", "c", "a"])[y]
    model = SCW1(covariance="diagonal").partial_fit(x, names)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.predict_proba(x)[names == "a", 0].mean() > 0.5 > model.predict_proba(x)[names == "b", 0].mean()


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("features", "by_heart"), [(100, False), (101, True)])
def test_probabilities_of_wide_data_learn_from_the_first_epoch_only(features, by_heart, classes):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(100, features)), rng.integers(classes, size=100)
    once, twice = (AROW(n_epochs=n, covariance="diagonal", random_state=0).fit(x, y) for n in (1, 2))
    states = [model._classifier.calibration.state for model in (once, twice)]
    assert np.array_equal(*states) == by_heart
    assert (once.coef_ != twice.coef_).any()
