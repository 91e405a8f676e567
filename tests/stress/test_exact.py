"""The exact sums of the trials: they equal fractions, and notice errors that are a little more than rounding."""

from fractions import Fraction

import numpy as np
import pytest
from stress.exact import Exact, ExactGaussian, product

from scwlearn import Learner


def fractions(numbers):
    return np.array([Fraction(float(number)) for number in np.ravel(numbers)], dtype=object).reshape(np.shape(numbers))


def test_products_are_exact():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(3, 4)) * 10.0 ** rng.uniform(-30, 30, (3, 4)), rng.normal(size=(4, 2))
    b[0, 0] = 0.0
    found = product(Exact.of(a), Exact.of(b))
    assert (found.integers * Fraction(1, 2**found.digits) == fractions(a).dot(fractions(b))).all()
    np.testing.assert_array_equal(Exact.of(a).rounded(), a)


def learned():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(500, 4)) * [1.0, 1e3, 1e-3, 1.0]
    y = np.where(x[:, 0] + rng.normal(size=500) > 0, 1, -1)
    learner, exact = Learner("arow", covariance="full"), ExactGaussian(4, 1.0)
    trace = learner.trace(x, y)
    took = trace.precision > 0
    columns = (column[took] for column in (trace.precision, trace.variance, trace.score[:, None]))
    exact.add(x[took], *columns, (trace.alpha * y)[took, None])
    return learner.model, exact, x[took], y[took]


def test_the_sums_are_those_of_recursive_least_squares():
    model, exact, x, y = learned()
    precision = np.eye(4, dtype=int) + fractions(x.T).dot(fractions(x))
    assert (exact.precision * Fraction(1, 2**2000) == precision).all()
    # The pull of AROW is the sum of y x: here up to the rounding of scores and variances.
    pull = (exact.pull[0] * Fraction(1, 2**2000)).astype(float)
    np.testing.assert_allclose(pull, x.T @ y, rtol=1e-11, atol=1e-11)
    errors = exact.errors(model)
    assert errors.sigma < 1e-12
    assert errors.mean < 1e-12 * errors.length


@pytest.mark.parametrize("part", ["d", "u", "mean"])
def test_an_error_of_a_billionth_is_noticed(part):
    model, exact, _, _ = learned()
    row, column = {"d": (2, 1), "u": (3 + 3, 1), "mean": (0, 1)}[part]
    model.memory[0, row, column] *= 1 + 1e-9
    errors = exact.errors(model)
    assert max(errors.sigma, errors.mean / errors.length) > 1e-11


def test_growth_and_some_of_the_features():
    exact = ExactGaussian(3, 0.5)
    exact.add(*map(np.array, ([[1.0, 2.0, 0.0]], [1.0], [1.0], [[0.0]], [[0.5]])))
    exact.grow(2.0)
    part = exact.of_features(np.array([1, 0]))
    assert [[Fraction(n, 2**2000) for n in line] for line in part.precision] == [[3, 1], [1, 1.5]]
    assert [Fraction(n, 2**2000) for n in part.pull[0]] == [1, 0.5]
