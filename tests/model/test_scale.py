"""The running scale: beside plain NumPy, for every row format, and all or nothing."""

import itertools
import threading

import numpy as np
import pytest
from scipy import sparse

import scwlearn.model.scale
from scale_examples import FEATURES, ROWS, awkward, dense, examples, state
from scwlearn import _native
from scwlearn.data.rows import Rows
from scwlearn.model.scale import RunningScale
from scwlearn.model.scales import SCALE_NAMES

pytestmark = pytest.mark.native


FORMS = {
    "dense": np.asarray,
    "float32": lambda x: x.astype(np.float32),
    "Fortran order": np.asfortranarray,
    "csr": sparse.csr_array,
    "csr, float32": lambda x: sparse.csr_array(x, dtype=np.float32),
    "csr, int64": lambda x: _with_wide_indices(sparse.csr_array(x)),
    "csc": sparse.csc_array,
    "out of order": lambda x: _out_of_order(sparse.csr_array(x)),
}
every_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


def _with_wide_indices(x):
    x.indices, x.indptr = x.indices.astype(np.int64), x.indptr.astype(np.int64)
    return x


def _out_of_order(x):
    for begin, end in zip(x.indptr[:-1], x.indptr[1:], strict=True):
        x.indices[begin:end], x.data[begin:end] = x.indices[begin:end][::-1].copy(), x.data[begin:end][::-1].copy()
    x.has_sorted_indices = False
    return x


def reference(kind, seen, x):
    """Scale a row by all rows seen, the plain way; return it, the centres and the divisors."""
    centres, scales = np.zeros(len(x)), np.ones(len(x))
    for j, values in enumerate(seen.T):
        nonzero = values[values != 0]
        if kind == "standard" and len(nonzero) and 2 * len(nonzero) >= len(values):
            centres[j], deviation = values.mean(), values.std()
            scales[j] = deviation if deviation > 1e-12 * abs(centres[j]) else np.inf
        elif len(nonzero):
            scales[j] = np.sqrt(np.mean(nonzero**2))
    scaled = (x - centres) / scales
    if kind == "standard":
        scaled = np.clip(scaled, -3, 3)
    if kind == "unit" and scaled.any():
        scaled /= np.sqrt(np.sum(scaled**2))
    return scaled, centres, scales


@pytest.mark.usefixtures("instruction_set")
@every_form
@pytest.mark.parametrize("kind", SCALE_NAMES)
@pytest.mark.parametrize("rows", [lambda: examples()[0], awkward], ids=["sizes", "awkward"])
def test_scaling_equals_the_reference(form, kind, rows):
    x = np.float64(np.float32(rows()))
    scale = RunningScale(kind)
    scaled = dense(scale.learn(form(x)))
    expected = np.array([reference(kind, x[: i + 1], x[i])[0] for i in range(len(x))])
    np.testing.assert_allclose(scaled, expected, rtol=1e-8, atol=1e-8)
    _, centres, scales = reference(kind, x, x[0])
    np.testing.assert_allclose(scale.centres, centres, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(scale.scales, scales, rtol=1e-8)
    applied = np.array([reference(kind, x, 2 * row)[0] for row in x])
    np.testing.assert_allclose(dense(scale.apply(form(2 * x))), applied, rtol=1e-8, atol=1e-8)
    assert scale.rows == ROWS


@every_form
def test_every_row_format_gives_the_same_bits(form, instruction_set, new):
    x, _ = examples()
    one, other = new(), new()
    _native.use_instruction_set("portable")
    expected = dense(one.learn(x))
    _native.use_instruction_set(instruction_set)
    assert np.array_equal(dense(other.learn(form(x))), expected)
    assert state(one) == state(other)
    assert np.array_equal(dense(other.apply(form(x))), dense(one.apply(x)))


@every_form
def test_batches_equal_single_rows_bit_for_bit(form, monkeypatch, new):
    x, _ = examples()
    one, many, blocks = new(), new(), new()
    one_by_one = np.vstack([dense(one.learn(form(x[i : i + 1]))) for i in range(len(x))])
    assert np.array_equal(dense(many.learn(form(x))), one_by_one)
    assert state(many) == state(one)
    monkeypatch.setattr(scwlearn.model.scale, "_VALUES_AT_ONCE", 100)
    assert np.array_equal(dense(blocks.learn(form(x))), one_by_one)
    assert state(blocks) == state(one)


def test_zeros_stay_zero_and_sparse_rows_sparse():
    x, _ = examples()
    scale = RunningScale()
    assert scale.learn(sparse.csr_array(x)).stored == np.count_nonzero(x)
    assert np.array_equal(dense(scale.learn(x)) == 0, x == 0)


def test_binary_features_are_unchanged():
    x = (examples()[0] > 0).astype(float)
    scale = RunningScale()
    assert np.array_equal(dense(scale.learn(x)), x)
    assert np.array_equal(dense(scale.apply(x)), x)


def test_the_first_value_of_a_feature_becomes_plus_or_minus_one():
    x, _ = examples()
    scaled = dense(RunningScale().learn(x))[:, :-1]
    first = np.argmax(x[:, :-1] != 0, axis=0)
    values = scaled[first, np.arange(FEATURES - 1)]
    assert np.array_equal(values, np.sign(x[first, np.arange(FEATURES - 1)]))


@every_form
def test_predicting_changes_nothing(form, new):
    x, _ = examples()
    scale = new()
    untouched = dense(scale.apply(form(x)))
    assert scale.kind != "rms" or np.array_equal(untouched, x)
    assert scale.state is None
    scale.learn(form(x))
    before = state(scale)
    scale.apply(form(7 * x))
    assert state(scale) == before


def test_an_unseen_feature_is_not_scaled():
    x, _ = examples()
    scale = RunningScale()
    scale.learn(x)
    row = np.zeros((1, FEATURES))
    row[0, -1] = 123.0
    assert np.array_equal(dense(scale.apply(row)), row)
    assert scale.scales[-1] == 1.0


@every_form
def test_rows_of_weight_zero_are_scaled_but_not_learned(form, new):
    x, _ = examples()
    weights = np.random.default_rng(2).choice([0.0, 0.5, 1.0, 30.0], ROWS)
    kept = weights > 0
    one, other, third = new(), new(), new()
    scaled = dense(one.learn(form(x), weights))
    assert np.array_equal(scaled[kept], dense(other.learn(form(x[kept]))))
    assert state(one) == state(other)
    for row, weight, expected in zip(x, weights, scaled, strict=True):
        # The row is still scaled, by the values before it.
        got = third.apply(form(row[None])) if weight == 0 else third.learn(form(row[None]))
        assert np.array_equal(dense(got)[0], expected)


@every_form
def test_a_given_order_equals_reordered_rows(form, new):
    x, _ = examples()
    rng = np.random.default_rng(4)
    order, weights = rng.permutation(ROWS), rng.choice([0.0, 1.0], ROWS)
    one, other = new(), new()
    scaled = dense(one.learn(form(x), weights, order=order))
    assert np.array_equal(scaled, dense(other.learn(form(x[order]), weights[order])))
    assert state(one) == state(other)
    for wrong in (order[1:], order + 1, order * 0.5):
        with pytest.raises(ValueError, match="order must"):
            one.learn(form(x), order=wrong)
    assert state(one) == state(other)


@every_form
def test_the_input_is_not_modified(form, new):
    x, _ = examples()
    given = form(x.copy())
    scale = new()
    scale.learn(given)
    scale.apply(given)
    assert np.array_equal(given.toarray() if sparse.issparse(given) else given, x)


def bad_batches():
    x, _ = examples()
    for value in (np.nan, np.inf, 1e200):
        wrong = x.copy()
        wrong[-1, 3] = value
        yield wrong, None
        yield sparse.csr_array(wrong), None
    yield x[:, :-1], None
    yield x[0], None
    yield x.astype(str), None
    for weights in (np.ones(ROWS - 1), [1.0] * (ROWS - 1) + [-1.0], [1.0] * (ROWS - 1) + [np.nan], ["a"] * ROWS):
        yield x, weights


@pytest.mark.parametrize("number", range(len(list(bad_batches()))))
def test_bad_input_raises_before_anything_changes(number, new):
    x, _ = examples(1)
    wrong, weights = list(bad_batches())[number]
    scale, new = new(), new()
    scale.learn(x)
    before = state(scale)
    with pytest.raises((ValueError, TypeError)):
        scale.learn(wrong, weights)
    if weights is None:
        with pytest.raises((ValueError, TypeError)):
            scale.apply(wrong)
    assert state(scale) == before
    if np.shape(wrong) == x.shape:
        with pytest.raises((ValueError, TypeError)):
            new.learn(wrong, weights)
        assert new.state is None


@pytest.mark.parametrize("begun", [False, True])
def test_an_interrupted_batch_changes_nothing(monkeypatch, begun, new):
    x, _ = examples()
    scale = new()
    if begun:
        scale.learn(x)
    before, calls = state(scale), []

    def interrupted(*arguments):
        if calls:
            raise KeyboardInterrupt
        calls.append(_native.learn_scales(*arguments))

    monkeypatch.setattr(scwlearn.model.scale, "_VALUES_AT_ONCE", 100)
    monkeypatch.setattr(scwlearn.model.scale, "learn_scales", interrupted)
    with pytest.raises(KeyboardInterrupt):
        scale.learn(x)
    assert state(scale) == before


def test_sparse_rows_gain_the_dense_features_that_they_lack_and_no_others():
    x = np.zeros((40, 1000))
    rng = np.random.default_rng(0)
    x[:, :3] = rng.normal(5, 1, (40, 3))
    x[::4, 2] = 0
    for row in x:
        row[rng.choice(np.arange(3, 1000), 10, replace=False)] = 1.0
    scale = RunningScale("standard")
    scale.learn(sparse.csr_array(x))
    late = np.zeros((2, 1000))
    late[0, [500, 999]] = 1.0
    scaled = scale.apply(sparse.csr_array(late))
    values, columns, offsets = scaled.compressed()
    assert columns.tolist() == [0, 1, 2, 500, 999, 0, 1, 2]
    assert offsets.tolist() == [0, 5, 8]
    assert values[:2].tolist() == [-3.0, -3.0]
    assert np.array_equal(dense(scaled), dense(scale.apply(late)))


def test_scaled_sparse_rows_are_sorted_so_that_they_can_be_scaled_again(new):
    x, _ = examples()
    scaled = RunningScale("standard").learn(sparse.csr_array(x))
    _, columns, offsets = scaled.compressed()
    assert all(np.all(np.diff(columns[a:b]) > 0) for a, b in itertools.pairwise(offsets))
    one, other = new(), new()
    assert np.array_equal(dense(one.learn(scaled)), dense(other.learn(scaled.dense())))
    assert state(one) == state(other)


# Not marked: rows are scaled by statistics that another thread changes.
def test_rows_can_be_scaled_while_another_thread_makes_features_dense():
    width = 5000
    full, empty = sparse.csr_array(np.ones((1, width))), sparse.csr_array((1, width))
    scale, done = RunningScale("standard"), threading.Event()
    scale.learn(sparse.vstack([full, empty, empty], format="csr"))
    batch = Rows(sparse.vstack([full, empty], format="csr"))

    def toggle():
        # In place: every row makes all features dense, or none.
        while not done.is_set():
            for block in batch.blocks(1):
                arrays = block.values, block.indices, block.offsets, block.width
                _native.learn_scales("standard", scale.arrays, *arrays, None, None)

    thread = threading.Thread(target=toggle)
    thread.start()
    x = Rows(sparse.random_array((20, width), density=0.02, format="csr", rng=0))
    try:
        for _ in range(200):
            assert np.abs(scale.apply(x).dense()).max() <= 3.0
    finally:
        done.set()
        thread.join()


def test_standard_values_do_not_depend_on_powers_of_two():
    x, _ = examples()
    sizes = 2.0 ** np.random.default_rng(0).integers(-60, 60, FEATURES)
    one, other = RunningScale("standard"), RunningScale("standard")
    assert np.array_equal(dense(one.learn(x)), dense(other.learn(x * sizes)))
    assert np.array_equal(other.state[1:, [0, 2]], one.state[1:, [0, 2]] * np.stack([sizes**2, sizes], axis=1))


SIZES = [0.0, 5e-324, 1e-310, 1e-300, 1e-150, 1.0, 1e150]


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("kind", SCALE_NAMES)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("seed", range(3))
def test_extreme_values_stay_finite_and_bounded(kind, form, seed):
    rng = np.random.default_rng(seed)
    x = rng.choice(SIZES, (200, FEATURES)) * rng.choice([-1, 1], (200, FEATURES))
    scale, limit = RunningScale(kind), {"standard": 3.0, "unit": 1.0, "rms": np.sqrt(200)}[kind]
    for i in range(0, 200, 50):
        assert np.abs(dense(scale.learn(form(x[i : i + 50])))).max() <= limit
        assert np.isfinite(scale.state).all()
        assert (scale.scales > 0).all()
    small = RunningScale(kind)
    small.learn(form(np.full((3, FEATURES), 1e-150)))
    applied = dense(small.apply(form(x)))
    assert np.abs(applied).max() <= (_native.LARGEST_VALUE if kind == "rms" else limit)
    if kind == "unit":
        np.testing.assert_allclose(np.linalg.norm(applied, axis=1), x.any(axis=1), rtol=1e-14)
    else:
        assert np.array_equal(np.sign(applied), np.sign(x) * (applied != 0))
    # Learners accept these rows.
    Rows(applied)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_values_too_small_to_be_squared_count_as_zeros(form, new):
    tiny, seen = np.full((5, FEATURES), 1e-151), new()
    seen.learn(form(tiny))
    assert not seen.counts.any()
    assert np.array_equal(seen.scales, np.ones(FEATURES))
    seen.learn(form(np.full((5, FEATURES), 1e-150)))
    assert np.array_equal(seen.counts, np.full(FEATURES, 5.0))
