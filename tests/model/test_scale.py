"""The running scale: beside plain NumPy, for every row format, and all or nothing."""

import copy
import pickle
from functools import partial

import numpy as np
import pytest
from scipy import sparse

import scwlearn.model.scale
from scale_examples import FEATURES, ROWS, examples, state
from scwlearn import _native
from scwlearn.data.rows import Rows
from scwlearn.model.scale import RunningScale
from scwlearn.model.scales import SCALE_NAMES

pytestmark = pytest.mark.native


def dense(rows):
    """Return rows as a matrix."""
    parts = [block.matrix() for block in rows.blocks(7)]
    return np.vstack([part.toarray() if sparse.issparse(part) else part for part in parts])


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


@pytest.fixture(params=SCALE_NAMES)
def new(request):
    """Return what makes a scale of each kind."""
    return partial(RunningScale, request.param)


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


def awkward():
    """Return rows with features that are dense, constant, almost constant, binary, late, far from 0, or rare."""
    x, _ = examples()
    rng = np.random.default_rng(5)
    x[:, 0] = 7.3
    x[:, 1] = 0.1 + 0.2 * np.r_[np.zeros(30), np.full(30, 1e-16)]
    x[:, 2] = 1e6 + rng.normal(size=ROWS)
    x[:, 3] = rng.random(ROWS) < 0.5
    x[:, 4] = np.arange(ROWS) >= 40
    x[:, 5] = np.where(np.arange(ROWS) < 5, x[:, 5], 0)
    x[:, 6] = rng.standard_cauchy(ROWS)
    return x


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
    assert scale.rows == (ROWS if kind == "standard" else None)


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


def test_standard_values_do_not_depend_on_powers_of_two():
    x, _ = examples()
    sizes = 2.0 ** np.random.default_rng(0).integers(-60, 60, FEATURES)
    one, other = RunningScale("standard"), RunningScale("standard")
    assert np.array_equal(dense(one.learn(x)), dense(other.learn(x * sizes)))
    assert np.array_equal(other.state[1:, [0, 2]], one.state[1:, [0, 2]] * sizes[:, None])


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("kind", ["standard", "unit"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("seed", range(3))
def test_extreme_values_stay_finite_and_bounded(kind, form, seed):
    rng = np.random.default_rng(seed)
    sizes = [0.0, 5e-324, 1e-310, 1e-300, 1e-150, 1.0, 1e150]
    x = rng.choice(sizes, (200, FEATURES)) * rng.choice([-1, 1], (200, FEATURES))
    scale, limit = RunningScale(kind), 3.0 if kind == "standard" else 1.0
    for i in range(0, 200, 50):
        assert np.abs(dense(scale.learn(form(x[i : i + 50])))).max() <= limit
        assert np.isfinite(scale.state).all()
        assert (scale.scales > 0).all()
    for tiny in (5e-324, 1e-300, 1e-150):
        small = RunningScale(kind)
        small.learn(form(np.full((3, FEATURES), tiny)))
        applied = dense(small.apply(form(x)))
        assert np.abs(applied).max() <= limit
        if kind == "unit":
            np.testing.assert_allclose(np.linalg.norm(applied, axis=1), x.any(axis=1), rtol=1e-14)


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("seed", range(3))
def test_extreme_values_stay_finite(form, seed):
    rng = np.random.default_rng(seed)
    sizes = [0.0, 5e-324, 1e-310, 1e-300, 1e-150, 1.0, 1e150]
    x = rng.choice(sizes, (200, FEATURES)) * rng.choice([-1, 1], (200, FEATURES))
    scale = RunningScale()
    for i in range(0, 200, 50):
        scaled = dense(scale.learn(form(x[i : i + 50])))
        assert np.abs(scaled).max() <= np.sqrt(200)
        assert np.isfinite(scale.state).all()
        assert (scale.scales > 0).all()
    for tiny in (5e-324, 1e-300, 1e-150):
        small = RunningScale()
        small.learn(form(np.full((3, FEATURES), tiny)))
        assert np.array_equal(small.scales, np.full(FEATURES, tiny))
        applied = dense(small.apply(form(x)))
        assert np.abs(applied).max() <= _native.LARGEST_VALUE
        assert np.array_equal(np.sign(applied), np.sign(x) * (applied != 0))
        # Learners accept these rows.
        Rows(applied)


def test_no_rows_and_no_features_change_nothing(new):
    x, _ = examples()
    scale = new()
    scale.learn(x)
    before = state(scale)
    assert len(scale.learn(x[:0])) == len(scale.learn(sparse.csr_array(x[:0]))) == len(scale.apply(x[:0])) == 0
    assert state(scale) == before
    assert dense(new().learn(np.zeros((3, 0)))).shape == (3, 0)


@pytest.mark.parametrize(
    "duplicate",
    [RunningScale.copy, copy.copy, copy.deepcopy, lambda scale: pickle.loads(pickle.dumps(scale))],
    ids=["method", "copy", "deepcopy", "pickle"],
)
def test_a_copy_learns_on_independently(duplicate, new):
    x, _ = examples()
    original, never_stopped = new(), new()
    original.learn(x[:20])
    never_stopped.learn(x)
    before = state(original)
    other = duplicate(original)
    other.learn(x[20:])
    assert state(other) == state(never_stopped)
    assert state(original) == before
    assert state(duplicate(new())) is None


def test_a_read_only_state_is_copied_before_writing(new):
    x, _ = examples()
    scale, writable = new(), new()
    scale.learn(x[:20])
    writable.learn(x)
    kept, before = scale.state, state(scale)
    kept.flags.writeable = False
    scale.apply(x)
    scale.learn(x[20:])
    assert state(scale) == state(writable)
    assert (kept.shape, kept.tobytes()) == before


def test_widening_equals_features_known_from_the_start(new):
    x, _ = examples()
    narrow, wide = new(), new()
    narrow.learn(x[:20, :5])
    narrow.widen(FEATURES)
    x[:20, 5:] = 0
    wide.learn(x)
    narrow.learn(x[20:])
    assert state(narrow) == state(wide)
    with pytest.raises(ValueError, match="n_features must be at least 21"):
        narrow.widen(20)
    new = new()
    new.widen(3)
    assert np.array_equal(new.scales, np.ones(3))


@pytest.mark.parametrize("rows", [lambda: examples()[0], awkward], ids=["sizes", "awkward"])
def test_merged_shards_equal_the_scale_of_all_rows(new, rows):
    x = rows()
    x[:, 13] *= 1e120
    x[:, 14] *= 1e-200
    whole, shards = new(), [new() for _ in range(3)]
    whole.learn(x)
    for k, shard in enumerate(shards):
        shard.learn(x[k::3])
    merged = shards[0].merged(shards[1:])
    np.testing.assert_allclose(merged.state, whole.state, rtol=1e-10 if rows is awkward else 1e-13, atol=1e-17)
    np.testing.assert_allclose(shards[2].merged(shards[:2]).scales, merged.scales, rtol=1e-9)
    np.testing.assert_allclose(dense(merged.apply(x)), dense(whole.apply(x)), rtol=1e-8, atol=1e-8)
    assert state(shards[0].merged(shards[1:])) == state(merged)


def test_scales_of_different_kinds_cannot_be_merged():
    with pytest.raises(ValueError, match="scales of different kinds cannot be merged: rms and unit"):
        RunningScale("rms").merged([RunningScale("unit")])


def test_the_kind_is_checked():
    with pytest.raises(ValueError, match="kind must be one of rms, standard, unit, got 'none'"):
        RunningScale("none")


def test_merging_with_an_empty_scale_changes_no_bit(new):
    x, _ = examples()
    scale, wider = new(), new()
    scale.learn(x)
    wider.learn(np.zeros((2, FEATURES + 2)))
    assert state(scale.merged([new()])) == state(new().merged([scale])) == state(scale)
    merged = scale.merged([wider])
    assert merged.rows is None or merged.rows == ROWS + 2
    columns = 3 if scale.kind == "standard" else 2
    assert np.array_equal(merged.state[-FEATURES - 2 : -2, :columns], scale.state[-FEATURES:, :columns])
    assert new().merged([new()]).state is None


def test_there_are_no_scales_before_the_first_row(new):
    assert new().width is None
    with pytest.raises(ValueError, match="has not seen any row"):
        _ = new().scales


@pytest.mark.parametrize("kind", SCALE_NAMES)
def test_the_native_functions_reject_arrays_that_do_not_fit(kind):
    x = np.ones((4, 3))
    fits = {
        "kind": kind,
        "states": np.zeros((4, 4) if kind == "standard" else (3, 2)),
        "values": x,
        "indices": None,
        "offsets": None,
        "width": 3,
        "scaled": np.zeros(12),
    }
    _native.learn_scales(**fits, weights=None)
    _native.apply_scales(**fits)
    wrong = {
        "the size of the scale": {"states": np.zeros((3, 3))},
        "one number per value": {"scaled": np.zeros(11)},
        "a matrix with": {"width": 4},
        "unless sparse rows are standardised": {"scaled": None},
        "kind must be rms, standard or unit": {"kind": "none"},
    }
    for message, change in wrong.items():
        with pytest.raises(ValueError, match=message):
            _native.learn_scales(**(fits | change), weights=None)
        with pytest.raises(ValueError, match=message):
            _native.apply_scales(**(fits | change))
    with pytest.raises(ValueError, match="one weight per row"):
        _native.learn_scales(**fits, weights=np.ones(3))


def test_a_list_of_dense_features_that_was_tampered_with_is_read_safely():
    x, _ = examples()
    scale = RunningScale("standard")
    scale.learn(x)
    for value in (-1.0, 1e300, np.nan, FEATURES):
        other = scale.copy()
        other.state[1:, 3] = value
        other.state[0, 1] = 1e300
        other.learn(sparse.csr_array(x))
        other.state[0, 1] = np.nan
        other.apply(sparse.csr_array(x))
