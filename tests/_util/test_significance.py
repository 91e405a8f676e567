"""Statistics of paired samples."""

import numpy as np
import pytest

from scwlearn._util.significance import as_good_as_best, average_ranks, differs


def test_only_samples_that_do_not_differ_from_the_best_are_marked():
    noise = np.random.default_rng(0).normal(size=20)
    assert as_good_as_best([noise, noise + 1e-12, noise + 0.01 * noise[::-1], noise + 5]) == [True, True, True, False]


def test_single_values_are_compared_directly():
    assert as_good_as_best([np.array([0.1]), np.array([0.1]), np.array([0.2])]) == [True, True, False]
    assert not differs(np.array([0.1]), np.array([0.1]))


def test_a_missing_value_is_rejected():
    with pytest.raises(ValueError, match="every algorithm needs a value on every data set"):
        average_ranks({"a": [1.0, np.nan], "b": [1.0, 2.0]})
    with pytest.raises(ValueError, match="every algorithm needs a value on every data set"):
        average_ranks({"a": [1.0], "b": [1.0, 2.0]})
