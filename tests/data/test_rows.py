"""Rows of every kind are read the same."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from matrices import FEATURES, ROWS, numbers, scattered, scoring
from scwlearn import Learner
from scwlearn.data.rows import Rows

pytestmark = pytest.mark.native


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


def test_the_largest_value_allowed_is_allowed():
    assert read(Rows(np.array([[1e150, -1e150]]))).tolist() == [[1e150, -1e150]]


def test_values_that_are_not_aligned_are_copied():
    packed = np.frombuffer(b"\0" + np.arange(6.0).tobytes(), dtype=np.float64, offset=1).reshape(3, 2)
    assert not packed.flags.aligned
    assert all(block.values.flags.aligned for block in Rows(packed).blocks(2))
    assert np.array_equal(next(Rows(packed).blocks(3)).values, np.arange(6.0).reshape(3, 2))


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_a_small_variance_far_from_0_is_that_of_the_dense_rows(missing):
    random = np.random.default_rng(0)
    x = (1e8 + random.normal(size=(200, 5))) * (random.random((200, 5)) >= missing)
    sparse_rows = Rows(sparse.csr_array(x))
    assert sparse_rows.variance() == pytest.approx(Rows(x).variance(), rel=1e-12)
    assert sparse_rows.slice(20, 70).variance() == pytest.approx(x[20:70].var(), rel=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_the_variance_has_the_same_bits_for_any_layout(seed):
    rng = np.random.default_rng(seed)
    x = np.where(rng.random((300, 6)) < 0.1, 0.0, rng.normal(3, 2, size=(300, 6))).astype(np.float32)
    stored_zeros = sparse.csr_array((x.ravel(), np.tile(np.arange(6), 300), np.arange(301) * 6), shape=x.shape)
    layouts = [np.asfortranarray(x), x.astype(float), x[::-1], x[:, ::-1], sparse.csr_array(x), stored_zeros]
    assert {Rows(each).variance() for each in layouts} == {Rows(x).variance()}
