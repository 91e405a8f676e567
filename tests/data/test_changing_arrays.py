"""Arrays that change after they were checked: anything may be read, but nothing outside of them."""

from contextlib import suppress

import numpy as np
import pytest
from scipy import sparse

from scwlearn import SCW1, KernelSCW1, Learner
from scwlearn._native import appearances, place_rows, take_rows
from scwlearn.data.rows import Rows, row_numbers

pytestmark = pytest.mark.native

WRONG = {"index": ("indices", 2**30), "negative index": ("indices", -1), "offset": ("indptr", 2**30)}
every_change = pytest.mark.parametrize(("name", "wrong"), WRONG.values(), ids=WRONG)
every_type = pytest.mark.parametrize("type", [np.int32, np.int64])


def changed(name, wrong, type=np.int32):
    """Checked rows of which an array has changed."""
    x = sparse.random_array((50, 20), density=0.3, format="csr", rng=np.random.default_rng(0))
    x.indices, x.indptr = x.indices.astype(type), x.indptr.astype(type)
    rows = Rows(x)
    getattr(x, name)[3] = wrong
    return rows


@every_type
@every_change
def test_scipy_gets_no_rows_that_have_changed(name, wrong, type):
    rows = changed(name, wrong, type)
    for use in (rows.dense, lambda: rows.columns(np.arange(3)), lambda: next(rows.blocks(50)).matrix()):
        with pytest.raises(ValueError, match="X changed while it was read"):
            use()


@every_type
@every_change
def test_rows_that_have_changed_are_taken_and_counted_within_their_arrays(name, wrong, type):
    rows = changed(name, wrong, type)
    assert len(rows.take(np.arange(50)[::-1])) == 50
    assert rows.occurrences().shape == (20,)


@every_change
@pytest.mark.parametrize("covariance", ["full", "diagonal"])
@pytest.mark.parametrize("scale", ["none", "standard"])
def test_a_learner_reads_nothing_outside_of_rows_that_have_changed(name, wrong, covariance, scale):
    rows, y = changed(name, wrong), np.resize([1, -1], 50)
    learner = Learner("scw1", covariance=covariance, scale=scale)
    learner.learn(np.eye(50, 20), y)
    for use in (learner.learn, lambda rows, _: learner.scores(rows), lambda rows, _: learner.margin_variances(rows)):
        with suppress(ValueError):
            use(rows, y)
    assert learner.scores(np.eye(3, 20)).shape == (3,)


@every_change
@pytest.mark.parametrize("model", [SCW1, KernelSCW1])
def test_an_estimator_reads_nothing_outside_of_wrong_rows(name, wrong, model):
    x, y = changed(name, wrong)._x, np.resize([1, 0], 50)
    given = sparse.csr_array((50, 20))
    given.data, given.indices, given.indptr = x.values, x.indices, x.offsets
    fitted = model().fit(np.eye(50, 20), y)
    for use in (lambda: model().fit(given, y), lambda: fitted.predict(given), lambda: fitted.decision_function(given)):
        with pytest.raises(ValueError, match="not a valid CSR matrix"):
            use()


def test_a_wrong_row_is_not_explained():
    model = SCW1().fit([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [0, 1])
    x = sparse.csr_array([[1.0, 2.0, 0.0]])
    x.indices[0] = 2**30
    with pytest.raises(ValueError, match="not a valid CSR matrix"):
        model.explain(x)


@every_type
@pytest.mark.parametrize("values", [np.float32, np.float64])
def test_rows_are_taken_as_scipy_takes_them(type, values):
    x = sparse.random_array((50, 20), density=0.3, format="csr", rng=np.random.default_rng(1)).astype(values)
    order = np.random.default_rng(2).integers(0, 50, 70)
    found = take_rows(x.data, x.indices.astype(type), x.indptr.astype(type), order)
    right = x[order]
    assert [array.dtype for array in found] == [values, type, type]
    for own, of_scipy in zip(found, (right.data, right.indices, right.indptr), strict=True):
        np.testing.assert_array_equal(own, of_scipy)
    with pytest.raises(ValueError, match="numbers of rows"):
        take_rows(x.data, x.indices, x.indptr, np.array([50]))


def test_labels_weights_and_orders_are_copied():
    x, y, weights, order = np.eye(4), np.array([1, -1, 1, -1], np.int8), np.ones(4), np.arange(4)
    rows, places = Rows(x), row_numbers(order, 4)
    assert not np.shares_memory(places, order)
    learner = Learner("scw1")
    batch = learner._checked_batch(rows, y, order, weights)
    assert not np.shares_memory(batch.labels, y)
    assert not np.shares_memory(batch.weights, weights)
    assert not np.shares_memory(Learner("scw1", n_classes=2)._checked_batch(rows, (y + 1) // 2, None, None).labels, y)


def test_columns_with_names_are_checked_before_they_are_read():
    values, columns, offsets = np.ones(4), np.array([0, 1, 2, 1], np.int32), np.array([0, 2, 4], np.int32)
    for wrong_columns, wrong_offsets in ((columns + 2, offsets), (columns, offsets + 1), (columns, offsets[::-1])):
        with pytest.raises(ValueError, match=r"columns must|offsets must"):
            appearances(values, wrong_columns, np.ascontiguousarray(wrong_offsets), None, 3)
        with pytest.raises(ValueError, match=r"columns must|offsets must"):
            place_rows(values, wrong_columns, np.ascontiguousarray(wrong_offsets), np.arange(3), None, 3)
