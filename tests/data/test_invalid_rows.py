"""Invalid matrices are rejected with the place, and do no harm."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from matrices import FEATURES, numbers, scoring
from scwlearn import Learner
from scwlearn.data.rows import Rows

pytestmark = pytest.mark.native


@pytest.mark.parametrize(
    ("value", "words"),
    [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity"), (1e151, "too large"), (-1e151, "too large")],
)
@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray, sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize("place", [(0, 0), (5, 3), (39, 6), (17, 1)])
def test_a_bad_value_is_rejected_with_its_place(make, place, value, words):
    x = numbers().astype(float)
    x[place] = value
    with pytest.raises(ValueError, match=rf"contains .*{words}.*X\[{place[0]}, {place[1]}\] = ") as error:
        Rows(make(x))
    assert "values must be finite and at most 1e+150 in magnitude" in str(error.value)


def test_the_place_of_a_bad_value_is_right_far_down_a_large_matrix():
    x = np.zeros((3000, 50), dtype=np.float32)
    x[2999, 49] = np.nan
    with pytest.raises(ValueError, match=r"NaN: X\[2999, 49\] = nan"):
        Rows(x)


def test_a_long_double_that_no_double_holds_is_rejected():
    if np.finfo(np.longdouble).max > np.finfo(np.float64).max:
        with pytest.raises(ValueError, match=r"X\[0, 0\]"), np.errstate(over="ignore"):
            Rows(np.array([[np.longdouble("1e400")]]))


@pytest.mark.parametrize(
    ("x", "error", "words"),
    [
        (np.zeros(3), ValueError, "one example per row, got 1 dimension"),
        (np.zeros((2, 2, 2)), ValueError, "one example per row, got 3 dimension"),
        (3.0, ValueError, "one example per row, got 0 dimension"),
        (sparse.coo_array(np.ones(3)), ValueError, "one example per row, got 1 dimension"),
        (np.zeros((2, 2), complex), TypeError, "real numbers, got complex128"),
        (sparse.csr_array(np.ones((2, 2), complex)), TypeError, "real numbers, got complex128"),
        (np.array([["a", "b"]]), TypeError, "real numbers, got <U1"),
        (np.array([["2020-01-01"]], "M8[D]"), TypeError, "real numbers, got datetime64"),
        (np.array([["a", 1.0]], object), (TypeError, ValueError), "could not convert|real number"),
        ([[1.0, 2.0], [3.0]], ValueError, "inhomogeneous"),
    ],
)
def test_only_matrices_of_numbers_are_accepted(x, error, words):
    with pytest.raises(error, match=words):
        Rows(x)


#: One array of a sound matrix of 3 x 4 replaced, as a file or a slip might leave it.
CORRUPT = {
    "index too large": ({"indices": [0, 4, 3, 0, 1]}, r"X\[0, 4\] is outside its 4 columns"),
    "index enormous": ({"indices": [0, 2, 3, 0, 2**31 - 1]}, r"X\[2, 2147483647\] is outside"),
    "index negative": ({"indices": [0, 2, -1, 0, 1]}, r"X\[1, -1\] is outside its 4 columns"),
    "offset too large": ({"indptr": [0, 2, 3, 6]}, r"offsets \(indptr\) of row 2"),
    "offset far too large": ({"indptr": [0, 2, 2**31 - 1, 5]}, r"offsets \(indptr\) of row 1"),
    "offset negative": ({"indptr": [-1, 2, 3, 5]}, r"offsets \(indptr\) of row 0"),
    "offsets fall": ({"indptr": [0, 3, 2, 5]}, r"offsets \(indptr\) of row 1"),
    "offsets missing": ({"indptr": [0, 2, 3]}, "lengths of its arrays do not match"),
    "too many offsets": ({"indptr": [0, 2, 3, 5, 5]}, "lengths of its arrays do not match"),
    "values missing": ({"data": [1, 2]}, "lengths of its arrays do not match"),
    "indices missing": ({"indices": [0, 2]}, "lengths of its arrays do not match"),
}


def corrupt(fault, values=np.float64, indices=np.int32):
    matrix = sparse.csr_array(np.array([[1, 0, 2, 0], [0, 0, 0, 3], [4, 5, 0, 0]], dtype=values))
    arrays = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr} | CORRUPT[fault][0]
    for name, array in arrays.items():
        setattr(matrix, name, np.array(array, dtype=values if name == "data" else indices))
    return matrix


@pytest.mark.parametrize("indices", [np.int32, np.int64])
@pytest.mark.parametrize("values", [np.float64, np.float32])
@pytest.mark.parametrize("fault", CORRUPT)
def test_a_corrupt_csr_matrix_is_rejected_with_the_place(fault, values, indices):
    with pytest.raises(ValueError, match="X is not a valid CSR matrix: .*" + CORRUPT[fault][1]):
        Rows(corrupt(fault, values, indices))


def refusal(make):
    """Check the matrix in a separate process, since SciPy's conversions trust the arrays and may crash."""
    script = f"import numpy; from test_invalid_rows import *; Rows({make})"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False)
    return done.stderr.splitlines()[-1] if done.stderr else f"ended with {done.returncode}"


@pytest.mark.parametrize("fault", CORRUPT)
def test_a_corrupt_csr_matrix_of_integers_is_rejected_too(fault):
    assert re.search(
        "^ValueError: X is not a valid CSR matrix: .*" + CORRUPT[fault][1], refusal(f"corrupt({fault!r}, numpy.int64)")
    )


@pytest.mark.parametrize("fault", ["index enormous", "offset far too large"])
def test_a_corrupt_csc_matrix_is_rejected_before_it_is_converted(fault):
    assert refusal(f"corrupt({fault!r}).T").startswith("ValueError: X is not a valid")


def test_a_rejected_matrix_leaves_the_learner_unchanged():
    learner = Learner("arow")
    with pytest.raises(ValueError, match="not a valid CSR matrix"):
        learner.learn(corrupt("index too large"), [1, 1, 1])
    assert learner.model is None
    assert learner.counts.seen == 0


def test_masked_values_are_rejected_and_an_empty_mask_is_not():
    with pytest.raises(ValueError, match="masked values; fill them in first"):
        Rows(np.ma.array([[1.0, 2.0]], mask=[[False, True]]))
    assert len(Rows(np.ma.array([[1.0, 2.0]]))) == 1


@pytest.mark.parametrize(
    "make",
    [
        "sparse.coo_array(numpy.eye(3)), 'coords', (numpy.array([0, 1, 2]), numpy.array([0, 1, 2**30]))",
        "sparse.bsr_array(numpy.eye(4)), 'indptr', numpy.array([0, 1, 2, 2**30, 4])",
    ],
)
def test_other_corrupt_formats_are_rejected_before_they_are_converted(make):
    assert refusal(f"with_attribute({make})").startswith("ValueError: X is not")


def with_attribute(matrix, name, value):
    setattr(matrix, name, value)
    return matrix


def test_arrays_that_change_after_the_check_do_no_harm():
    x = sparse.csr_array(np.eye(4))
    rows = Rows(x)
    x.indices[:] = 2**30
    x.indptr[:] = [0, 2**30, -5, 2**31 - 1, 7]
    learner = Learner("arow", covariance="diagonal")
    learner.learn(rows, [1, -1, 1, -1])
    assert not learner.model.weights().any()


@pytest.mark.parametrize("indices", [np.int32, np.int64])
@pytest.mark.parametrize("values", [np.float64, np.float32])
@pytest.mark.parametrize("fault", CORRUPT)
def test_a_corrupt_csr_matrix_is_not_scored(fault, values, indices):
    for learner in (scoring(4), scoring(4, intercept=True)):
        with pytest.raises(ValueError, match="X is not a valid CSR matrix: .*" + CORRUPT[fault][1]):
            learner.scores(corrupt(fault, values, indices))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_a_value_that_is_not_finite_is_not_scored(make, value):
    x = numbers().astype(float)
    x[17, 1] = value
    with pytest.raises(ValueError, match=r"X\[17, 1\] = .*; values must be finite"):
        scoring(FEATURES).scores(make(x))


def test_an_index_in_a_matrix_without_columns_is_not_scored():
    learner = Learner("arow", covariance="diagonal")
    learner.learn(sparse.csr_array((1, 0)), [1])
    broken = sparse.csr_array((1, 0))
    broken.data, broken.indices, broken.indptr = np.ones(1), np.zeros(1, np.int32), np.array([0, 1], np.int32)
    with pytest.raises(ValueError, match=r"X\[0, 0\] is outside its 0 columns"):
        learner.scores(broken)


def test_arrays_that_change_after_the_check_have_no_score():
    x = sparse.csr_array(np.eye(4))
    rows = Rows(x)
    x.indices[1] = 2**30
    x.indptr[:] = [0, 1, 2, 3, 2**30]
    assert np.isnan(scoring(4).scores(rows)).tolist() == [False, True, False, True]


def test_duplicates_whose_sum_is_too_large_are_rejected():
    matrix = sparse.csr_array((np.array([8e149, 8e149]), np.array([0, 0]), np.array([0, 2])), shape=(1, 1))
    with pytest.raises(ValueError, match=r"X\[0, 0\]"):
        Rows(matrix)


def test_a_lil_matrix_with_lists_of_different_lengths_is_rejected():
    broken = sparse.lil_array(np.eye(3))
    broken.data[0].append(1.0)
    with pytest.raises(ValueError, match="X is not a valid LIL matrix"):
        Rows(broken)
