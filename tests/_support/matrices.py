"""Matrices that rows are read from, and a learner that scores them."""

import numpy as np
from scipy import sparse

from scwlearn import Learner

ROWS, FEATURES = 40, 7


def numbers(seed=0):
    """Return integers from -9 to 9, half of them zero, with an empty row: exact in every numeric type."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-9, 10, (ROWS, FEATURES)) * rng.integers(0, 2, (ROWS, FEATURES))
    x[5] = 0
    return x


def scattered(values=np.float64):
    """A CSR matrix whose rows name features out of order and more than once."""
    data = np.array([1, 2, 4, 8, 16, 32], dtype=values)
    return sparse.csr_array((data, np.array([2, 0, 2, 1, 1, 0]), np.array([0, 3, 3, 5, 6])), shape=(4, 3))


def scoring(width, covariance="diagonal", intercept=False):
    """A learner whose weights are all different."""
    learner = Learner("arow", covariance=covariance, intercept=intercept)
    learner.learn(np.eye(width) * np.arange(1, width + 1), np.resize([1, -1, -1], width))
    return learner
