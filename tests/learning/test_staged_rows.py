"""Batches of sparse rows, which the native loop reads, checks and prefetches ahead of learning from them."""

import numpy as np
import pytest
from scipy import sparse

from multi_class_examples import memory as state
from scwlearn import Learner

pytestmark = pytest.mark.native

WIDTH = 20_000
# Around the width of a register; the longest is too long to be worth a copy.
LENGTHS = [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 2100]


def rows_of(lengths, values=np.float64, indices=np.int32, seed=0):
    rng = np.random.default_rng(seed)
    at = [np.sort(rng.choice(WIDTH, length, replace=False)) for length in lengths]
    x = sparse.csr_array((len(lengths), WIDTH))
    x.indices = np.concatenate(at).astype(indices)
    x.indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(indices)
    x.data = np.round(rng.normal(size=x.indptr[-1]), 2).astype(values)
    return x, rng.choice([-1, 1], len(lengths))


SCW1 = {"rule": "scw1", "covariance": "diagonal"}
PA1 = {"rule": "pa1", "covariance": "identity"}


def learned(x, y, settings):
    model = Learner(**settings)
    model.learn(x, y)
    return model


def learned_one_by_one(x, y, settings):
    model = Learner(**settings)
    for i, sign in enumerate(y):
        model.learn(x[[i]], [sign])
    return model


@pytest.mark.parametrize("values", [np.float32, np.float64])
@pytest.mark.parametrize("indices", [np.int32, np.int64])
@pytest.mark.parametrize(
    "settings",
    [
        SCW1,
        SCW1 | {"intercept": True, "average": True},
        {"rule": "arow", "covariance": "diagonal", "intercept": True, "variance_floor": 0.5},
        {"rule": "nherd", "covariance": "diagonal-drop", "intercept": True},
        PA1 | {"intercept": True},
        PA1 | {"average": True},
        {"rule": "romma", "covariance": "identity"},
    ],
    ids=str,
)
@pytest.mark.parametrize("longest", [33, 2100])
def test_a_batch_is_learned_as_its_rows_one_by_one(settings, values, indices, longest):
    lengths = np.random.default_rng(1).choice([length for length in LENGTHS if length <= longest], 60)
    x, y = rows_of(lengths, values, indices)
    assert state(learned(x, y, settings)) == state(learned_one_by_one(x, y, settings))


@pytest.mark.parametrize("last", LENGTHS)
def test_the_last_row_ends_with_the_arrays(last):
    x, y = rows_of([3] * 20 + [last])
    assert state(learned(x, y, SCW1)) == state(learned_one_by_one(x, y, SCW1))


@pytest.mark.parametrize("form", ["csr", "dense", "float32", "integers", "columns"])
@pytest.mark.parametrize("settings", [SCW1, PA1], ids=str)
def test_rows_are_visited_in_the_given_order(form, settings):
    x, y = rows_of([5, 0, 9, 17, 3, 8] * 20)
    if form == "integers":
        x.data = np.rint(10 * x.data)
    given = {
        "csr": lambda: x,
        "dense": x.toarray,
        "float32": lambda: x.astype(np.float32),
        "integers": lambda: x.toarray().astype(np.int64),
        "columns": lambda: np.asfortranarray(x.toarray()),
    }[form]()
    order = np.random.default_rng(2).permutation(len(y))
    scores, variances = np.empty(len(y)), np.empty(len(y))
    ordered, sorted_before = Learner(**settings), Learner(**settings)
    ordered.learn(given, y, order=order, scores_out=scores, variances_out=variances)
    expected = sorted_before.trace(given[order], y[order])
    assert state(ordered) == state(sorted_before)
    np.testing.assert_array_equal(scores[order], expected.score)
    np.testing.assert_array_equal(variances[order], expected.variance)


BAD = {
    "NaN": lambda x, at: x.data.__setitem__(at, np.nan),
    "infinity": lambda x, at: x.data.__setitem__(at, -np.inf),
    "too large": lambda x, at: x.data.__setitem__(at, 1.1e150),
    "outside its 20000 columns": lambda x, at: x.indices.__setitem__(at, WIDTH),
    r"X\[\d+, -1\] is outside": lambda x, at: x.indices.__setitem__(at, -1),
}


@pytest.mark.parametrize("message", BAD)
@pytest.mark.parametrize("row", [0, 1, 2, 3, 4, 17, 38, 39])
@pytest.mark.parametrize("shuffled", [False, True])
def test_a_bad_row_changes_nothing(message, row, shuffled):
    x, y = rows_of([5, 8, 13, 16] * 10)
    model = learned(x, y, SCW1)
    before = state(model)
    order = np.random.default_rng(3).permutation(len(y)) if shuffled else None
    for at in range(x.indptr[row], x.indptr[row + 1]):
        bad = x.copy()
        BAD[message](bad, at)
        with pytest.raises(ValueError, match=message):
            model.learn(bad, y, order=order)
        assert state(model) == before


@pytest.mark.parametrize("indices", [[2**40, 2**41], [2**59, 2**60], [2**60, 2**61], [5, 2**63 - 1], [-(2**63), 5]])
def test_indices_whose_addresses_overflow_are_refused(indices):
    x, y = rows_of([2, 7, 13] * 10, indices=np.int64)
    for row in range(len(y)):
        bad = x.copy()
        bad.indices[x.indptr[row + 1] - 2 : x.indptr[row + 1]] = indices
        with pytest.raises(ValueError, match="outside its 20000 columns"):
            learned(bad, y, SCW1)


@pytest.mark.parametrize("offsets", [[0, 5, 3], [-1, 5, 10], [0, 5, 2**31 - 1]])
def test_bad_offsets_are_refused(offsets):
    x, y = rows_of([5] * 40)
    model = Learner(**SCW1)
    x.indptr[20:23] = offsets
    with pytest.raises(ValueError, match="offsets"):
        model.learn(x, y)
    assert model.model is None


@pytest.mark.parametrize("place", range(16))
def test_unsorted_and_repeated_features_are_sorted_and_added_up(place):
    x, y = rows_of([17] * 30)
    pair = slice(x.indptr[12] + place, x.indptr[12] + place + 2)
    swapped, repeated = x.copy(), x.copy()
    swapped.indices[pair], swapped.data[pair] = x.indices[pair][::-1], x.data[pair][::-1]
    assert state(learned(swapped, y, SCW1)) == state(learned(x, y, SCW1))
    repeated.indices[pair] = x.indices[pair.start]
    assert state(learned(repeated, y, SCW1)) == state(learned(sparse.csr_array(repeated.toarray()), y, SCW1))
