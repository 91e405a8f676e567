"""Rows of every kind are read the same, and invalid matrices are rejected with the place."""

import os
import re
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from scwlearn import Learner
from scwlearn.data.rows import Rows

pytestmark = pytest.mark.native

ROWS, FEATURES = 40, 7


def numbers(seed=0):
    """Return integers from -9 to 9, half of them zero, with an empty row: exact in every numeric type."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-9, 10, (ROWS, FEATURES)) * rng.integers(0, 2, (ROWS, FEATURES))
    x[5] = 0
    return x


def read(rows, block=7):
    """The matrix as the loops get it, put together from its blocks."""
    parts = []
    for part in rows.blocks(block):
        if part.indices is None:
            assert part.values.flags.c_contiguous
            dense = part.values.astype(np.float64)
        else:
            assert part.indices.dtype == part.offsets.dtype
            assert part.indices.dtype in (np.int32, np.int64)
            dense = np.zeros((part.count, part.width))
            for i in range(part.count):
                own = slice(part.offsets[i], part.offsets[i + 1])
                assert len(set(part.indices[own])) == len(part.indices[own])
                dense[i, part.indices[own]] = part.values[own]
        assert part.values.dtype in (np.float32, np.float64)
        assert (part.start, part.count, part.width) == (sum(map(len, parts)), len(dense), rows.width)
        parts.append(dense)
    return np.vstack(parts) if parts else np.empty((0, rows.width))


def learned(x, y=None):
    learner = Learner("arow", covariance="diagonal")
    learner.learn(x, np.resize([1, -1, -1], len(numbers())) if y is None else y)
    return learner.model.weights()


DENSE = {
    "C order": np.ascontiguousarray,
    "Fortran order": np.asfortranarray,
    "rows apart": lambda x: np.repeat(x, 3, axis=0)[::3],
    "columns apart": lambda x: np.repeat(x, 3, axis=1)[:, ::3],
    "backwards": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
    "read only": lambda x: np.frombuffer(x.tobytes(), x.dtype).reshape(x.shape),
}
TYPES = ["f8", "f4", "f2", "g", "i1", "i2", "i4", "i8", ">f8", ">f4", ">i4", "O"]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("layout", DENSE)
def test_a_dense_matrix_is_read_in_any_order_and_type(layout, dtype):
    if (layout, dtype) == ("read only", "O"):
        pytest.skip("objects have no buffer")
    x = DENSE[layout](numbers().astype(dtype))
    before = x.copy()
    assert np.array_equal(read(Rows(x)), numbers())
    assert np.array_equal(learned(x), learned(numbers().astype(float)))
    assert np.array_equal(x, before)


@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "u8", "?"])
def test_unsigned_numbers_and_truth_values_are_numbers(dtype):
    x = np.abs(numbers()).astype(dtype)
    assert np.array_equal(read(Rows(x)), x.astype(float))
    assert np.array_equal(read(Rows(sparse.csr_array(x))), x.astype(float))


def test_lists_are_rows():
    assert np.array_equal(read(Rows(numbers().tolist())), numbers())


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_dense_rows_are_read_in_place(dtype):
    x = numbers().astype(dtype)
    assert all(np.shares_memory(part.values, x) for part in Rows(x).blocks(7))


def test_sparse_rows_are_read_in_place():
    x = sparse.csr_array(numbers().astype(float))
    for part in Rows(x).blocks(7):
        assert np.shares_memory(part.values, x.data)
        assert np.shares_memory(part.indices, x.indices)


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_read_only_memory_map_is_read_a_block_at_a_time(tmp_path, order):
    count = 20_000
    x = np.asarray(np.resize(numbers(), (count, FEATURES)), dtype=np.float64, order=order)
    np.save(tmp_path / "x.npy", x)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    y = np.resize([1, -1, -1], count)
    tracemalloc.start()
    weights = learned(mapped, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert np.array_equal(weights, learned(np.ascontiguousarray(x), y))
    if order == "C":
        assert peak < x.nbytes / 2


def csr(kind=sparse.csr_array, values=np.float64, indices=np.int32, offsets=None):
    matrix = kind(numbers().astype(values))
    matrix.indices, matrix.indptr = matrix.indices.astype(indices), matrix.indptr.astype(offsets or indices)
    return matrix


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("values", ["f8", "f4", "i4", "i8", "i1"])
@pytest.mark.parametrize(
    ("indices", "offsets"), [("i4", "i4"), ("i8", "i8"), ("i4", "i8"), ("i8", "i4"), (">i4", ">i4")]
)
def test_a_csr_matrix_is_read_with_any_types(kind, values, indices, offsets):
    matrix = csr(kind, values, indices, offsets)
    assert np.array_equal(read(Rows(matrix)), numbers())
    assert np.array_equal(learned(matrix), learned(sparse.csr_array(numbers().astype(float))))
    assert matrix.indices.dtype == indices


@pytest.mark.parametrize("form", ["csc", "coo", "bsr", "lil", "dok", "dia"])
def test_every_other_sparse_format_is_converted(form):
    matrix = sparse.csr_array(numbers().astype(float)).asformat(form)
    assert np.array_equal(read(Rows(matrix)), numbers())
    assert matrix.format == form


def scattered(values=np.float64):
    """A CSR matrix whose rows name features out of order and more than once."""
    data = np.array([1, 2, 4, 8, 16, 32], dtype=values)
    return sparse.csr_array((data, np.array([2, 0, 2, 1, 1, 0]), np.array([0, 3, 3, 5, 6])), shape=(4, 3))


@pytest.mark.parametrize("values", [np.float64, np.float32, np.int64])
def test_repeated_features_are_added_and_the_matrix_is_unchanged(values):
    matrix = scattered(values)
    arrays = [a.copy() for a in (matrix.data, matrix.indices, matrix.indptr)]
    expected = np.array([[2.0, 0, 5], [0, 0, 0], [0, 24, 0], [32, 0, 0]])
    assert np.array_equal(read(Rows(matrix)), expected)
    y = np.array([1, -1, 1, -1])
    assert np.array_equal(learned(matrix, y), learned(sparse.csr_array(expected), y))
    assert all(map(np.array_equal, arrays, (matrix.data, matrix.indices, matrix.indptr)))


def test_a_matrix_that_claims_to_be_sorted_is_checked():
    matrix = scattered()
    matrix.has_sorted_indices = matrix.has_canonical_format = True
    assert np.array_equal(read(Rows(matrix)), read(Rows(scattered())))


def test_duplicates_whose_sum_is_too_large_are_rejected():
    matrix = sparse.csr_array((np.array([8e149, 8e149]), np.array([0, 0]), np.array([0, 2])), shape=(1, 1))
    with pytest.raises(ValueError, match=r"X\[0, 0\]"):
        Rows(matrix)


@pytest.mark.parametrize("as_rows", [np.asarray, sparse.csr_array, sparse.csc_array], ids=["dense", "csr", "csc"])
@pytest.mark.parametrize("shape", [(0, 3), (4, 0), (0, 0)])
def test_no_rows_and_no_columns_are_allowed(as_rows, shape):
    rows = Rows(as_rows(np.zeros(shape)))
    assert (len(rows), rows.width) == shape
    assert read(rows).shape == shape
    learner = Learner("scw1", covariance="full")
    counts = learner.learn(as_rows(np.zeros(shape)), [-1] * shape[0])
    assert (counts.seen, counts.mistakes, counts.updates) == (shape[0], shape[0], 0)
    assert learner.scores(as_rows(np.zeros(shape))).tolist() == [0.0] * shape[0]


def test_no_columns_and_an_intercept_learn_the_commoner_class():
    for as_rows in (np.asarray, sparse.csr_array):
        learner = Learner("arow", intercept=True)
        learner.learn(as_rows(np.zeros((9, 0))), [-1] * 9)
        assert learner.scores(as_rows(np.zeros((1, 0))))[0] < 0


def test_blocks_follow_a_given_order():
    order = np.random.default_rng(1).permutation(ROWS)
    for make in (np.asarray, sparse.csr_array, np.asfortranarray):
        rows = Rows(make(numbers().astype(float)))
        parts = [part.matrix() for part in rows.blocks(7, order)]
        dense = np.vstack([part.toarray() if sparse.issparse(part) else part for part in parts])
        assert np.array_equal(dense, numbers()[order])


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, np.asfortranarray])
def test_every_block_is_a_matrix_of_its_own_rows(make):
    for part in Rows(make(numbers().astype(float))).blocks(7):
        matrix = part.matrix()
        dense = matrix.toarray() if sparse.issparse(matrix) else matrix
        assert np.array_equal(dense, numbers()[part.start : part.start + part.count])


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


def test_the_largest_value_allowed_is_allowed():
    assert read(Rows(np.array([[1e150, -1e150]]))).tolist() == [[1e150, -1e150]]


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
    script = f"import numpy, test_rows; test_rows.Rows(test_rows.{make})"
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
    assert refusal(f"with_attribute({make.replace('sparse.', 'test_rows.sparse.')})").startswith("ValueError: X is not")


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


def scoring(width, covariance="diagonal", intercept=False):
    """A learner whose weights are all different."""
    learner = Learner("arow", covariance=covariance, intercept=intercept)
    learner.learn(np.eye(width) * np.arange(1, width + 1), np.resize([1, -1, -1], width))
    return learner


@pytest.mark.parametrize("covariance", ["identity", "diagonal", "full"])
@pytest.mark.parametrize("values", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("copies", [1, 20])
def test_rows_are_scored_in_whatever_order_they_have_their_features(covariance, values, copies):
    matrix = sparse.vstack([scattered(values)] * copies, format="csr")
    assert not matrix.has_canonical_format
    arrays = [a.copy() for a in (matrix.data, matrix.indices, matrix.indptr)]
    for intercept in (False, True):
        learner = scoring(3, covariance, intercept)
        np.testing.assert_allclose(learner.scores(matrix), learner.scores(matrix.toarray()), rtol=1e-14)
    assert all(map(np.array_equal, arrays, (matrix.data, matrix.indices, matrix.indptr)))


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


def test_values_that_are_not_aligned_are_copied():
    packed = np.frombuffer(b"\0" + np.arange(6.0).tobytes(), dtype=np.float64, offset=1).reshape(3, 2)
    assert not packed.flags.aligned
    assert all(block.values.flags.aligned for block in Rows(packed).blocks(2))
    assert np.array_equal(next(Rows(packed).blocks(3)).values, np.arange(6.0).reshape(3, 2))


def test_a_lil_matrix_with_lists_of_different_lengths_is_rejected():
    broken = sparse.lil_array(np.eye(3))
    broken.data[0].append(1.0)
    with pytest.raises(ValueError, match="X is not a valid LIL matrix"):
        Rows(broken)
