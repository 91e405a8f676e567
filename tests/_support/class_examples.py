"""Data and comparisons for the tests of estimators with several classes."""

import numpy as np
from sklearn.datasets import make_blobs

from scwlearn.rules import all_rules

LINEAR = [rule.estimator for rule in all_rules()]


def blobs(classes=5, rows=200, seed=0):
    x, y = make_blobs(rows, 6, centers=classes, cluster_std=2.0, random_state=seed)
    return (x - x.mean(axis=0)) / x.std(axis=0), y


def same_model(one, other):
    assert one.classes_.tolist() == other.classes_.tolist()
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.intercept_, other.intercept_)
    assert (one.n_seen_, one.n_mistakes_, one.n_updates_) == (other.n_seen_, other.n_mistakes_, other.n_updates_)
