"""Statistics of paired samples."""

import numpy as np
import pytest

from scwlearn._util.significance import as_good_as_best, average_ranks, differs


def test_only_what_a_paired_test_cannot_tell_from_the_best_is_marked():
    noise = np.random.default_rng(0).normal(size=20)
    assert as_good_as_best([noise, noise + 1e-12, noise + 0.01 * noise[::-1], noise + 5]) == [True, True, True, False]


def test_one_permutation_is_judged_by_its_value():
    assert as_good_as_best([np.array([0.1]), np.array([0.1]), np.array([0.2])]) == [True, True, False]
    assert not differs(np.array([0.1]), np.array([0.1]))


def test_an_algorithm_without_a_value_on_every_set_is_refused():
    with pytest.raises(ValueError, match="every algorithm needs a value on every data set"):
        average_ranks({"a": [1.0, np.nan], "b": [1.0, 2.0]})
    with pytest.raises(ValueError, match="every algorithm needs a value on every data set"):
        average_ranks({"a": [1.0], "b": [1.0, 2.0]})
