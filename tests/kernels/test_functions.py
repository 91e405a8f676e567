"""Kernels: by name, as a function, as a matrix; and the checks of what they return."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels

from kernel_examples import draw, every_axis, every_kind, new, rbf, rings, taught
from scwlearn.kernels import Kernel, KernelLearner
from scwlearn.kernels.functions import PARAMETERS

pytestmark = pytest.mark.native


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "sigmoid", "laplacian", "cosine"])
def test_a_named_kernel_equals_its_function_and_its_matrix(kernel):
    x, y = rings(200)
    parameters = {name: 0.7 for name in ("gamma",) if name in Kernel(kernel).parameters}
    given = Kernel(kernel).parameters | parameters

    def function(a, b):
        return pairwise_kernels(a, b, metric=kernel, **given)

    named = KernelLearner("scw1", kernel=kernel, kernel_parameters=parameters)
    own = KernelLearner("scw1", kernel=function)
    computed = KernelLearner("scw1", kernel="precomputed")
    counts = {named.learn(x, y), own.learn(x, y), computed.learn(function(x, x), y)}
    assert len(counts) == 1
    np.testing.assert_allclose(own.scores(x), named.scores(x), rtol=0, atol=1e-12)
    np.testing.assert_allclose(computed.scores(function(x, x)), named.scores(x), rtol=0, atol=1e-12)
    assert np.array_equal(x[computed.support.examples], named.support.examples)


@every_kind
@every_axis
def test_a_precomputed_kernel_equals_the_named_one(axis, kind):
    x, y = draw(axis, 200)
    named = taught(new(axis, kind), x, y)
    computed = taught(new(axis, kind, kernel="precomputed"), rbf(x, x), y)
    assert computed.counts == named.counts
    np.testing.assert_allclose(computed.scores(rbf(x, x)), named.scores(x), rtol=0, atol=1e-9)
    assert np.array_equal(x[computed.support.examples], named.support.examples)
    with pytest.raises(ValueError, match=r"needs k\(x, x\)"):
        computed.margin_variances(rbf(x, x))


@pytest.mark.parametrize("kernel", [*PARAMETERS])
def test_columns_that_are_empty_change_no_kernel(kernel):
    random = np.random.default_rng(3)
    x, z = ((random.random((rows, 9)) < 0.4) * random.normal(size=(rows, 9)) for rows in (5, 7))
    narrow = [*map(sparse.csr_array, (x, z))]
    wide = [
        sparse.csr_array((m.data, 10**15 * m.indices.astype(np.int64), m.indptr), shape=(m.shape[0], 9 * 10**15))
        for m in narrow
    ]
    np.testing.assert_array_equal(Kernel(kernel)(*wide), Kernel(kernel)(*narrow))


@pytest.mark.parametrize("kernel", [*PARAMETERS])
def test_sparse_rows_without_entries_have_the_kernels_of_dense_ones(kernel):
    rows = np.zeros((2, 3))
    np.testing.assert_array_equal(Kernel(kernel)(*[sparse.csr_array(rows)] * 2), Kernel(kernel)(rows, rows))


def test_a_kernel_function_cannot_write_to_the_rows():
    x, y = rings(50)

    def writes(a, b):
        a *= 2
        return rbf(a, b)

    with pytest.raises(ValueError, match="read-only"):
        KernelLearner("scw1", kernel=writes).learn(x, y)


@pytest.mark.parametrize(
    ("kernel", "error", "message"),
    [
        (lambda a, b: np.zeros(3), ValueError, r"shape \(3,\)"),
        (lambda a, b: np.random.default_rng(0).normal(size=(len(a), len(b))), ValueError, "not symmetric"),
        (lambda a, b: 1e-10 * np.random.default_rng(0).normal(size=(len(a), len(b))), ValueError, "not symmetric"),
        (lambda a, b: np.full((len(a), len(b)), np.inf), ValueError, "inf"),
        (lambda a, b: rbf(a, b) + 0j, TypeError, "complex"),
    ],
)
def test_a_function_that_is_not_a_kernel_is_rejected(kernel, error, message):
    x, y = rings(50)
    with pytest.raises(error, match=message):
        KernelLearner("scw1", kernel=kernel).learn(x, y)


def test_a_precomputed_kernel_must_be_square_and_symmetric():
    x, y = rings(300)
    with pytest.raises(ValueError, match="square"):
        KernelLearner("scw1", kernel="precomputed").learn(rbf(x, x)[:, :40], y)
    lopsided = rbf(x, x)
    lopsided[250, 10] = 0.5
    with pytest.raises(ValueError, match="symmetric"):
        KernelLearner("scw1", kernel="precomputed").learn(lopsided, y)
