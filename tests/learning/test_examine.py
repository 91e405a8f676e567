"""Warnings about training data: when they come, in which words, and that they come once."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import scwlearn
from scwlearn import AROW, SCW1, AutoClassifier, KernelSCW1, Perceptron, StreamClassifier
from scwlearn.learning.data_warnings import DataWarning

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
Y = (X[:, 0] > 0).astype(int)
SORTED = (
    "labels come in long runs, as in a sorted file: do not trust the error, and expect the model to forget the classes "
    "that it saw first; shuffle the examples"
)
UNEVEN = (
    "features differ by orders of magnitude ({}), which only a full covariance makes up for; "
    'use scale="standard", or standardise them'
)
EMPTY = "most examples have no feature that is not 0, so that they teach only the intercept"
WIDE = X * [1.0, 5000.0, 0.5]


def caught(call):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    assert all(warning.category is DataWarning for warning in found)
    assert all(warning.filename == __file__ for warning in found)
    return [str(warning.message) for warning in found]


def records(x):
    return [dict(zip("abc", row, strict=True)) for row in x.tolist()]


def test_sorted_labels_are_warned_about_where_the_order_is_kept():
    y = np.sort(Y)
    assert caught(lambda: SCW1().partial_fit(X, y)) == [SORTED]
    assert caught(lambda: SCW1(shuffle=False).fit(X, y)) == [SORTED]
    assert caught(lambda: StreamClassifier("scw1").learn_many(records(X), y)) == [SORTED]
    assert caught(lambda: StreamClassifier("scw1").learn_many(pd.DataFrame(X), y)) == [SORTED]
    assert caught(lambda: SCW1().fit(X, y)) == []
    assert caught(lambda: SCW1().partial_fit(X, Y)) == []
    assert caught(lambda: SCW1().partial_fit(X[:99], y[50:149])) == []
    assert caught(lambda: SCW1().partial_fit(X, np.ones(200))) == []


@pytest.mark.filterwarnings("error::scwlearn.learning.data_warnings.DataWarning")
def test_a_warning_turned_into_an_error_comes_after_learning():
    y = np.sort(Y)
    for model, learn in ((SCW1(), SCW1.partial_fit), (SCW1(shuffle=False), SCW1.fit)):
        with pytest.raises(DataWarning, match="long runs"):
            learn(model, X, y)
        assert model.n_seen_ == len(y)


@pytest.mark.parametrize("rows", [np.asarray, sparse.csr_array])
def test_float32_does_not_lose_the_size_of_a_small_feature(rows):
    # Squares of 1e-24 underflow in float32.
    x = rows((np.abs(X[:, :2]) + 1) * [1e18, 1e-6]).astype(np.float32)
    (shown,) = caught(lambda: SCW1(covariance="diagonal").fit(x, Y))
    assert "column 0 is about 2e+18, column 1 about 2e-06" in shown


@pytest.mark.parametrize("rows", [np.asarray, sparse.csr_array])
def test_uneven_features_are_warned_about_where_the_covariance_is_not_full(rows):
    shown = UNEVEN.format("column 1 is about 5e+03, column 2 about 0.5")
    for model in (Perceptron(), SCW1(covariance="diagonal"), AROW(covariance="diagonal-drop")):
        assert caught(lambda model=model: model.fit(rows(WIDE), Y)) == [shown]
    for model in (SCW1(), Perceptron(scale="standard"), SCW1(covariance="diagonal", scale="rms"), KernelSCW1()):
        assert caught(lambda model=model: model.fit(rows(WIDE), Y)) == []
    assert caught(lambda: AutoClassifier().fit(rows(WIDE), Y)) == []
    assert caught(lambda: Perceptron().fit(rows(100 * X), Y)) == []


def test_a_feature_much_larger_than_the_intercept_is_uneven():
    shown = UNEVEN.format("column 0 is about 4e+03, the constant of the intercept about 1")
    x = 4000 + 30 * RNG.normal(size=(200, 1))
    assert caught(lambda: Perceptron().fit(x, Y)) == [shown]
    assert caught(lambda: Perceptron(fit_intercept=False).fit(x, Y)) == []


def test_features_are_named():
    shown = UNEVEN.format("'b' is about 5e+03, 'c' about 0.5")
    for examples in (records(WIDE), pd.DataFrame(records(WIDE))):
        assert caught(lambda examples=examples: StreamClassifier("pa1").learn_many(examples, Y)) == [shown]


def test_examples_without_features_are_warned_about():
    x = X * (np.arange(200) % 3 == 0)[:, np.newaxis]
    assert caught(lambda: SCW1().fit(x, Y)) == [EMPTY]
    assert caught(lambda: StreamClassifier("scw1").learn_many([{}] * 150 + records(X[:50]), Y)) == [EMPTY]


@pytest.mark.parametrize("rows", [np.asarray, sparse.csr_array, pd.DataFrame])
@pytest.mark.parametrize(
    ("left_out", "learned", "expected"),
    [(np.full((300, 3), [1.0, 1e9, 1.0]), X, 0), (np.zeros((300, 3)), X, 0), (np.tile(X, (2, 1)), WIDE, 1)],
)
def test_examples_of_weight_0_are_not_examined(left_out, learned, expected, rows):
    x, y = np.vstack([left_out, learned]), np.append(np.full(len(left_out), 2), Y)
    given, weights = rows(x), (y < 2).astype(float)
    assert len(caught(lambda: Perceptron().fit(rows(learned), Y))) == expected
    assert len(caught(lambda: Perceptron().fit(given, y, weights))) == expected
    assert len(caught(lambda: Perceptron().partial_fit(given, y, sample_weight=weights))) == expected
    assert len(caught(lambda: Perceptron(class_weight={2: 0}).partial_fit(given, y))) == expected
    assert len(caught(lambda: StreamClassifier("perceptron").learn_many(records(x), y, weights))) == expected
    assert len(caught(lambda: StreamClassifier("perceptron").learn_many(pd.DataFrame(x), y, weights))) == expected


def test_a_model_warns_once():
    model, y = SCW1(), np.sort(Y)
    assert caught(lambda: [model.partial_fit(X, y) for _ in range(3)]) == [SORTED]
    assert caught(lambda: scwlearn.merge([model, model]).partial_fit(X, y)) == []
    stream = StreamClassifier("scw1")
    for record, label in zip(records(X) * 6, Y.tolist() * 6, strict=True):
        stream.learn_one(record, label)
    assert caught(lambda: stream.learn_many(records(X), y)) == []


def test_an_error_comes_without_a_warning():
    x = X.copy()
    x[150, 1] = np.nan
    model = SCW1()
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(x, np.sort(Y))
    assert caught(lambda: model.partial_fit(X, np.sort(Y))) == [SORTED]
